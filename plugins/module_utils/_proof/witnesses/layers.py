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
        verified = layers.get(key, {}).get("verified")
        if verified is False:
            doubts.wrong.append(f"not as wanted: {title}")
        elif verified is not True:
            (doubts.unseen if key in OUTSIDE else doubts.missing).append(f"not checked: {title}")
    for key in PER_NODE:
        found = layers.get(key, {}).get("found")
        if key not in titles or layers.get(key, {}).get("verified") is not True:
            continue
        seen = set(found) if isinstance(found, Mapping) else set()
        lacking = sorted(set(evidence.job.hosts) - seen)
        if lacking:
            doubts.missing.append(f"{titles[key]}: not checked on {', '.join(lacking[:4])}")
    return f"{len(titles) - len(doubts.unseen)} of {len(titles)} layers are as wanted"
