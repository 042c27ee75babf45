"""Witness beside the verdict: NCCL sees a GPU close to each NIC, in the bus or in a file that tells it. Pure."""

from __future__ import annotations

from typing import Iterator

from ..evidence import Evidence
from ..path_nics import UNREAD, WRONG, PathNic, Word, survey
from ..witness import Doubts

# nvidia-smi topo -m: a single switch, or several switches without the CPU's bridge.
NEAR = ("PIX", "PXB")


def judge(evidence: Evidence, doubts: Doubts) -> str:
    file = str(((evidence.path or {}).get("settings") or {}).get("NCCL_TOPO_FILE", "")).strip()

    def look(nic: PathNic) -> Iterator[Word]:
        links = [str(link.get("link")) for link in nic.node_facts.get("links") or () if link.get("nic") == nic.device]
        if not links:
            yield UNREAD, "nvidia-smi topo -m says nothing of it"
        elif not set(links) & set(NEAR) and not file:
            nearest = next((link for link in ("PHB", "NODE", "SYS") if link in links), links[0])
            yield WRONG, f"no GPU is nearer than {nearest}, and NCCL was given no topology file (NCCL_TOPO_FILE)"

    count = len(survey(evidence, doubts, look))
    if file:
        doubts.notes.append(f"NCCL reads its topology from {file}")
        return f"given for {count} NICs"
    return f"a GPU within {' or '.join(NEAR)} of {count} NICs"
