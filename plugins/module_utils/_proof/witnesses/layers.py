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
    wrong = [titles[key] for key in titles if layers.get(key, {}).get("verified") is False]
    unread = [key for key in titles if layers.get(key, {}).get("verified") not in (True, False)]
    if wrong:
        doubts.wrong.append("not as wanted: " + ", ".join(wrong))
    for said, lacking in (
        (doubts.unseen, [titles[key] for key in unread if key in OUTSIDE]),
        (doubts.missing, [titles[key] for key in unread if key not in OUTSIDE]),
    ):
        if lacking:
            said.append("not checked: " + ", ".join(lacking))
    for key in PER_NODE:
        found = layers.get(key, {}).get("found")
        if key not in titles or layers.get(key, {}).get("verified") is not True:
            continue
        seen = set(found) if isinstance(found, Mapping) else set()
        lacking = sorted(set(evidence.job.hosts) - seen)
        if lacking:
            doubts.missing.append(f"{titles[key]}: not checked on {', '.join(lacking[:4])}")
    return f"{len(titles) - len(unread)} of {len(titles)} layers are as wanted"
