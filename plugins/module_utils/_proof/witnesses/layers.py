"""Witness: the settings that the roles read back on the job's hosts. Pure."""

from __future__ import annotations

from typing import Mapping

from ..evidence import Evidence
from ..witness import Doubts

# A tenant of a cluster has no account there: what the data did shows at the hosts.
OUTSIDE = ("switch", "esxi", "vm")
# Layers whose role speaks for each node: a node that is not in its findings was not looked at.
PER_NODE = ("vm", "nic", "container")


def judge(evidence: Evidence, doubts: Doubts) -> str:
    layers, titles = evidence.layers, evidence.layer_titles
    for key, title in titles.items():
        verified, found = (layers.get(key, {}).get(word) for word in ("verified", "found"))
        if verified is False:
            doubts.add("layer_wrong", title=title)
        elif verified is not True:
            doubts.add("layer_unseen" if key in OUTSIDE else "layer_missing", title=title)
        elif key in PER_NODE:
            lacking = sorted(set(evidence.job.hosts) - set(found if isinstance(found, Mapping) else ()))
            doubts.add_if(", ".join(lacking[:4]), "layer_nodes", title=title)
    return f"{len(titles) - len(doubts.unseen)} of {len(titles)} layers are as wanted"
