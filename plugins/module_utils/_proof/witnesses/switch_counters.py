# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Witness: Counters of the switch in the lossless class. See `counters`. Pure."""

from __future__ import annotations

from ..binding import around
from ..counters import judge as judge_counters
from ..evidence import Evidence
from ..witness import Doubts, Said, Witness


def judge(evidence: Evidence) -> Said:
    doubts, job = Doubts(), evidence.job
    text = judge_counters(evidence.switches, evidence.due, doubts)
    for place, seen in ((evidence.switches or {}).get("places") or {}).items():
        nodes = seen.get("nodes")
        if nodes != len(job.hosts):
            doubts.wrong.append(f"{place}: counted for {nodes} nodes, the job had {len(job.hosts)}")
        readings = seen.get("readings") or {}
        if not readings:
            doubts.missing.append(f"{place}: when it was read is not known")
        for switch, times in readings.items():
            around(str(switch), times, job, doubts)
    return doubts.says(text)


WITNESS = Witness(
    "switch_counters",
    "Counters of the switch in the lossless class",
    judge,
    "the counters of the switch ports, read shortly before and after the "
    "training: at least 90 % of what the gradients had to move, and nothing discarded",
)
