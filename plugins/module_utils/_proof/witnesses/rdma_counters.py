# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Witness: RDMA counters of the NICs. See `counters`. Pure.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

from ..binding import around
from ..counters import few
from ..counters import judge as judge_counters
from ..evidence import Evidence
from ..witness import Doubts, Said, Witness


def judge(evidence: Evidence) -> Said:
    doubts, job = Doubts(), evidence.job
    text = judge_counters(evidence.rdma, evidence.due, doubts)
    places = (evidence.rdma or {}).get("places") or {}
    if places:
        lacking, strange = sorted(set(job.hosts) - set(places)), sorted(set(places) - set(job.hosts))
        if lacking:
            doubts.missing.append(f"nobody read those of {few(lacking)}")
        if strange:
            doubts.wrong.append(f"they are of {few(strange)}, which took no part")
    for place, seen in places.items():
        if seen.get("strange"):
            doubts.wrong.append(f"{place}: {seen['strange']}")
        around(place, seen, job, doubts)
    return doubts.says(text)


WITNESS = Witness(
    "rdma_counters",
    "RDMA counters of the NICs",
    judge,
    "the RDMA counters of the NICs that NCCL used, on every host of the job, "
    "read shortly before and after the "
    "training: at least 90 % of what the gradients had to move, and nothing discarded",
)
