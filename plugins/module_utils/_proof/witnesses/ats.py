"""Witness beside the verdict: the NIC translates addresses itself (ATS). Pure."""

from __future__ import annotations

from ..evidence import Evidence
from ..path_nics import nics, tell
from ..witness import Doubts, Said, Witness

_CONFIG = "configuration space is not shown whole (root, and 4096 bytes of it, are needed)"
_IOMMU = "ATS is off, and whether an IOMMU translates the NIC's addresses is not known"


def judge(evidence: Evidence) -> Said:
    doubts, count, unneeded = Doubts(), 0, 0
    found: dict[str, list[str]] = {
        "ATS is off": [],
        "the NIC shows no ATS (ATS_ENABLED is not in force in its firmware)": [],
        "its firmware has ATS_ENABLED False": [],
    }
    missing: dict[str, list[str]] = {_CONFIG: [], _IOMMU: []}
    for nic in nics(evidence, doubts):
        count += 1
        state, firmware = nic.facts.get("ats"), (nic.facts.get("firmware") or {}).get("ATS_ENABLED")
        if state not in ("on", "off", "absent"):
            missing[_CONFIG].append(nic.label)
        elif state == "on":
            if firmware == "False":
                found["its firmware has ATS_ENABLED False"].append(nic.label)
        elif nic.facts.get("iommu") in ("none", "identity") and not nic.in_vm:
            unneeded += 1
        elif nic.in_vm or nic.facts.get("iommu"):
            found[list(found)[0 if state == "off" else 1]].append(nic.label)
        else:
            missing[_IOMMU].append(nic.label)
    tell(doubts, found, missing)
    if unneeded:
        doubts.notes.append("no IOMMU translates there, so the NIC need not")
    return doubts.says(f"in force on {count - unneeded} of {count} NICs")


WITNESS = Witness(
    "ats",
    "Address translation by the NIC (ATS)",
    judge,
    "configuration space of each NIC, read as root (ATSCtl), and whether the machine is a VM",
    decides=False,
)
