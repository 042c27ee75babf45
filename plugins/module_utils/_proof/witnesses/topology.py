"""Witness beside the verdict: NCCL sees a GPU close to each NIC, in the bus or in a file that tells it. Pure."""

from __future__ import annotations

from ..evidence import Evidence
from ..path_nics import nics, tell
from ..witness import Doubts, Said, Witness

# nvidia-smi topo -m: a single switch, or several switches without the CPU's bridge.
NEAR = ("PIX", "PXB")
_UNREAD = "nvidia-smi topo -m says nothing of it"
_FAR = "no GPU is nearer than"


def judge(evidence: Evidence) -> Said:
    file = str(((evidence.path or {}).get("settings") or {}).get("NCCL_TOPO_FILE", "")).strip()
    doubts, count = Doubts(), 0
    found: dict[str, list[str]] = {}
    missing: dict[str, list[str]] = {_UNREAD: []}
    for nic in nics(evidence, doubts):
        count += 1
        name = nic.name.split(":", maxsplit=1)[0]
        links = [str(link.get("link")) for link in nic.node_facts.get("links") or () if link.get("nic") == name]
        if not links:
            missing[_UNREAD].append(nic.label)
        elif not set(links) & set(NEAR) and not file:
            nearest = next((link for link in ("PHB", "NODE", "SYS") if link in links), links[0])
            found.setdefault(f"{_FAR} {nearest}, and NCCL was given no topology file (NCCL_TOPO_FILE)", []).append(
                nic.label
            )
    tell(doubts, found, missing)
    if file:
        doubts.notes.append(f"NCCL reads its topology from {file}")
    return doubts.says(f"a GPU within {' or '.join(NEAR)} of {count} NICs" if not file else f"given for {count} NICs")


WITNESS = Witness(
    "topology",
    "Distance of GPU and NIC",
    judge,
    "nvidia-smi topo -m on every node, or NCCL_TOPO_FILE in NCCL's log",
    decides=False,
)
