"""Witness beside the verdict: relaxed ordering of PCIe writes, asked for, allowed and in use. Pure."""

from __future__ import annotations

from ..counters import few
from ..evidence import Evidence
from ..path_nics import NOT_READ, nics, tell
from ..witness import Doubts, Said, Witness

_VARIABLE = "NCCL_IB_PCI_RELAXED_ORDERING"
_CONFIG = "DevCtl (RlxdOrd) is not shown"


def judge(evidence: Evidence) -> Said:
    path = evidence.path or {}
    doubts, in_use = Doubts(), path.get("relaxed_ordering")
    asked = str((path.get("settings") or {}).get(_VARIABLE, "")).strip()
    forbidden: list[str] = []
    unread: list[str] = []
    forced, count = 0, 0
    for nic in nics(evidence, doubts):
        count += 1
        allowed = nic.facts.get("relaxed_ordering")
        forced += (nic.facts.get("firmware") or {}).get("PCI_WR_ORDERING") == "force_relax"
        (forbidden if allowed is False else unread if allowed is not True else []).append(nic.label)
    tell(doubts, {"the NIC may not ask for it (DevCtl RlxdOrd-)": forbidden}, {_CONFIG: unread})
    if in_use is False and asked == "0":
        doubts.wrong.append(f"switched off by {_VARIABLE}=0")
    elif in_use is False and not (count and forced == count):
        why = f"although {_VARIABLE}={asked} asked for it" if asked else "neither asked for nor chosen by itself"
        without = path.get("without_relaxed_ordering")
        where = few([str(host) for host in without] if isinstance(without, list) else []) or "a host (name unknown)"
        doubts.wrong.append(f"NCCL does not use it on {where} (no [RO] behind its NICs), {why}")
    elif in_use is False:
        doubts.notes.append("NCCL does not ask; the firmware forces it (PCI_WR_ORDERING force_relax)")
    elif in_use is not True:
        doubts.missing.append(f"{NOT_READ}: NCCL's log names no NIC, so whether it is in use is not known")
    return doubts.says(f"in use by NCCL ([RO]) and allowed on {count} NICs")


WITNESS = Witness(
    "relaxed_ordering",
    "Relaxed ordering",
    judge,
    "NCCL's line of its NICs ([RO]) and its variable, DevCtl (RlxdOrd) and PCI_WR_ORDERING of each NIC",
    decides=False,
)
