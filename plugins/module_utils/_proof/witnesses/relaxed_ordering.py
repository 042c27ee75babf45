"""Witness beside the verdict: relaxed ordering of PCIe writes, asked for, allowed and in use. Pure."""

from __future__ import annotations

from typing import Iterator

from ..counters import few
from ..evidence import Evidence
from ..path_nics import NOT_READ, UNREAD, WRONG, PathNic, Word, survey
from ..witness import Doubts

_VARIABLE = "NCCL_IB_PCI_RELAXED_ORDERING"


def judge(evidence: Evidence, doubts: Doubts) -> str:
    path = evidence.path or {}
    in_use, asked = path.get("relaxed_ordering"), str((path.get("settings") or {}).get(_VARIABLE, "")).strip()
    found = survey(evidence, doubts, _look)
    forced = [(nic.facts.get("firmware") or {}).get("PCI_WR_ORDERING") == "force_relax" for nic in found]
    if in_use is False and asked == "0":
        doubts.wrong.append(f"switched off by {_VARIABLE}=0")
    elif in_use is False and not (forced and all(forced)):
        why = f"although {_VARIABLE}={asked} asked for it" if asked else "neither asked for nor chosen by itself"
        without = path.get("without_relaxed_ordering")
        where = few([str(host) for host in without] if isinstance(without, list) else []) or "a host (name unknown)"
        doubts.wrong.append(f"NCCL does not use it on {where} (no [RO] behind its NICs), {why}")
    elif in_use is False:
        doubts.notes.append("NCCL does not ask; the firmware forces it (PCI_WR_ORDERING force_relax)")
    elif in_use is not True:
        doubts.missing.append(f"{NOT_READ}: NCCL's log names no NIC, so whether it is in use is not known")
    return f"in use by NCCL ([RO]) and allowed on {len(found)} NICs"


def _look(nic: PathNic) -> Iterator[Word]:
    allowed = nic.facts.get("relaxed_ordering")
    if allowed is False:
        yield WRONG, "the NIC may not ask for it (DevCtl RlxdOrd-)"
    elif allowed is not True:
        yield UNREAD, "DevCtl (RlxdOrd) is not shown"
