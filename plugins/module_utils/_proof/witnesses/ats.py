"""Witness beside the verdict: the NIC translates addresses itself (ATS). Pure."""

from __future__ import annotations

from typing import Iterator

from ..evidence import Evidence
from ..path_nics import NOTE, UNREAD, WRONG, PathNic, Word, survey
from ..witness import Doubts

_WITHOUT = {
    "off": "ATS is off",
    "absent": "the NIC shows no ATS (ATS_ENABLED is not in force in its firmware)",
}


def judge(evidence: Evidence, doubts: Doubts) -> str:
    found = survey(evidence, doubts, _look)
    return f"in force on {len(found) - sum(map(_is_unneeded, found))} of {len(found)} NICs"


def _is_unneeded(nic: PathNic) -> bool:
    return nic.facts.get("ats") in _WITHOUT and nic.facts.get("iommu") in ("none", "identity") and not nic.in_vm


def _look(nic: PathNic) -> Iterator[Word]:
    state = nic.facts.get("ats")
    if state == "on":
        if (nic.facts.get("firmware") or {}).get("ATS_ENABLED") == "False":
            yield WRONG, "its firmware has ATS_ENABLED False"
    elif state not in _WITHOUT:
        yield UNREAD, "configuration space is not shown whole (root, and 4096 bytes of it, are needed)"
    elif _is_unneeded(nic):
        yield NOTE, "no IOMMU translates there, so the NIC need not"
    elif nic.in_vm or nic.facts.get("iommu"):
        yield WRONG, _WITHOUT[state]
    else:
        yield UNREAD, "ATS is off, and whether an IOMMU translates the NIC's addresses is not known"
