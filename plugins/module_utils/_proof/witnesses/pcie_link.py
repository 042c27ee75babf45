"""Witness beside the verdict: PCIe width, speed, MaxPayload and MaxReadReq of the NICs. Pure."""

from __future__ import annotations

from typing import Iterator

from ..evidence import Evidence
from ..path_nics import NOTE, UNREAD, WRONG, PathNic, Word, survey
from ..witness import Doubts

# Below the specification's 256 and 512 bytes nothing is usual; a request of 4096 is what NIC vendors recommend.
USUAL_PAYLOAD, USUAL_READ, BEST_READ = 256, 512, 4096


def judge(evidence: Evidence, doubts: Doubts) -> str:
    return f"{len(survey(evidence, doubts, _look))} NICs run as wide and as fast as they can"


def _look(nic: PathNic) -> Iterator[Word]:
    payload, read = nic.facts.get("max_payload"), nic.facts.get("max_read_request")
    unread = not (payload and read)
    for key, unit in (("link_speed", "GT/s"), ("link_width", "lanes")):
        now, best = nic.pcie.get(f"current_{key}"), nic.pcie.get(f"max_{key}")
        unread = unread or not now
        if now and best and now < best:
            yield WRONG, f"{now:g} of {best:g} {unit}"
    for value, usual, name in ((payload, USUAL_PAYLOAD, "MaxPayload"), (read, USUAL_READ, "MaxReadReq")):
        if value and value < usual:
            yield WRONG, f"{name} {value} bytes, {usual} or more is usual"
    if unread:
        yield UNREAD, "width, speed, MaxPayload or MaxReadReq is not shown"
    if read and USUAL_READ <= read < BEST_READ:
        yield NOTE, f"MaxReadReq is below {BEST_READ} bytes, which may cost speed"
    if nic.in_vm:
        yield NOTE, "as the VM sees it"
