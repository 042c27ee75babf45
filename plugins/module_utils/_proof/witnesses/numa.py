"""Witness beside the verdict: each NIC has a GPU on its own NUMA node. Pure."""

from __future__ import annotations

from typing import Iterator

from ..evidence import Evidence
from ..path_nics import UNREAD, WRONG, PathNic, Word, survey
from ..witness import Doubts


def judge(evidence: Evidence, doubts: Doubts) -> str:
    return f"{len(survey(evidence, doubts, _look))} NICs each have a GPU on their own node"


def _look(nic: PathNic) -> Iterator[Word]:
    own = nic.facts.get("numa_node")
    nodes = [gpu.get("numa_node") for gpu in nic.node_facts.get("gpus") or ()]
    known = [node for node in nodes if isinstance(node, int) and node >= 0]
    if not isinstance(own, int) or own < 0:
        yield UNREAD, "the bus of this machine names no NUMA node, as in a VM without one"
    elif own in known:
        return
    elif not known or len(known) != len(nodes):
        yield UNREAD, "no GPU is on the bus, or its NUMA node is not named"
    else:
        yield WRONG, "every GPU is on another NUMA node than the NIC"
