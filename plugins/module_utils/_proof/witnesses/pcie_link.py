"""Witness beside the verdict: PCIe width, speed, MaxPayload and MaxReadReq of the NICs. Pure."""

from __future__ import annotations

from typing import Any, Mapping

from ..evidence import Evidence
from ..path_nics import nics, tell
from ..witness import Doubts, Said, Witness

# Below the specification's 256 and 512 bytes nothing is usual; a request of 4096 is what NIC vendors recommend.
USUAL_PAYLOAD, USUAL_READ, BEST_READ = 256, 512, 4096
_UNREAD = "width, speed, MaxPayload or MaxReadReq is not shown"


def judge(evidence: Evidence) -> Said:
    doubts, count = Doubts(), 0
    found: dict[str, list[str]] = {}
    unread: list[str] = []
    small: list[str] = []
    for nic in nics(evidence, doubts):
        count += 1
        link = _link(evidence.start[nic.node], nic.name)
        payload, read = nic.facts.get("max_payload"), nic.facts.get("max_read_request")
        for key, unit in (("link_speed", "GT/s"), ("link_width", "lanes")):
            now, best = link.get(f"current_{key}"), link.get(f"max_{key}")
            if now and best and now < best:
                found.setdefault(f"{now:g} of {best:g} {unit}", []).append(nic.label)
        for value, usual, name in ((payload, USUAL_PAYLOAD, "MaxPayload"), (read, USUAL_READ, "MaxReadReq")):
            if value and value < usual:
                found.setdefault(f"{name} {value} bytes, {usual} or more is usual", []).append(nic.label)
        if not all(link.get(f"current_{key}") for key in ("link_speed", "link_width")) or not (payload and read):
            unread.append(nic.label)
        if read and USUAL_READ <= read < BEST_READ:
            small.append(nic.label)
    tell(doubts, found, {_UNREAD: unread})
    if small:
        doubts.notes.append(f"MaxReadReq is below {BEST_READ} bytes on {len(small)} NICs, which may cost speed")
    if any(nic.in_vm for nic in nics(evidence, Doubts())):
        doubts.notes.append("as the VM sees them")
    return doubts.says(f"{count} NICs run as wide and as fast as they can")


def _link(start: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    for port in start.get("devices") or ():
        if isinstance(port, Mapping) and port.get("name") == name.split(":", maxsplit=1)[0]:
            return port.get("pcie") or {}
    return {}


WITNESS = Witness(
    "pcie_link",
    "PCIe links of the NICs",
    judge,
    "width and speed (sysfs), MaxPayload and MaxReadReq (DevCtl, as root) of each NIC",
    decides=False,
)
