"""Witness beside the verdict: each NIC has a GPU on its own NUMA node. Pure."""

from __future__ import annotations

from ..evidence import Evidence
from ..path_nics import nics, tell
from ..witness import Doubts, Said, Witness

_FLAT = "the bus of this machine names no NUMA node, as in a VM without one"
_GPUS = "no GPU is on the bus, or its NUMA node is not named"


def judge(evidence: Evidence) -> Said:
    doubts, count = Doubts(), 0
    found: dict[str, list[str]] = {"every GPU is on another NUMA node than the NIC": []}
    missing: dict[str, list[str]] = {_FLAT: [], _GPUS: []}
    for nic in nics(evidence, doubts):
        count += 1
        own = nic.facts.get("numa_node")
        nodes = [gpu.get("numa_node") for gpu in nic.node_facts.get("gpus") or ()]
        known = [node for node in nodes if isinstance(node, int) and node >= 0]
        if not isinstance(own, int) or own < 0:
            missing[_FLAT].append(nic.label)
        elif own in known:
            continue
        elif not known or len(known) != len(nodes):
            missing[_GPUS].append(nic.label)
        else:
            found["every GPU is on another NUMA node than the NIC"].append(nic.label)
    tell(doubts, found, missing)
    return doubts.says(f"{count} NICs each have a GPU on their own node")


WITNESS = Witness(
    "numa",
    "NUMA nodes of GPU and NIC",
    judge,
    "numa_node of every NIC and GPU (sysfs)",
    decides=False,
)
