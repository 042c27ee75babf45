# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often the fabric check names the right place, on simulated fabrics of 16 to 1,000 hosts with 8 rails.

Needs no lab. ROCEMESH_FABRIC_CASES random cases per size and form (20; docs/fabric.md has the figures of 1,000), and
as many fabrics without a fault. ``pytest -s -k "full-256"`` takes one of them.
"""

from __future__ import annotations

import json
import os
import random
import time

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import schedule
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.model import Fabric

from tests.benchmarks import record
from tests.unit.fabric import simulated

CASES = int(os.environ.get("ROCEMESH_FABRIC_CASES", "20"))
KINDS = {"quick": ("host", "nic"), "full": ("host", "nic", "pair")}


@pytest.mark.parametrize("hosts", [16, 64, 256, 1000])
@pytest.mark.parametrize("form", ["quick", "full"])
def test_right_place_in_99_of_100_and_nobody_accused_without_a_fault(form: str, hosts: int) -> None:
    fabric = Fabric(tuple(f"host{number}" for number in range(hosts)), 8)
    right = accused = most = 0
    start = time.perf_counter()
    for case in range(CASES):
        dice = random.Random(case)
        faults = simulated.some_faults(fabric, dice, dice.randint(1, 3), KINDS[form])
        findings, rounds = simulated.check(fabric, faults, form, case)
        right += {place.key for place in findings.accused} == {fault.key for fault in faults}
        most = max(most, rounds)
        accused += bool(simulated.check(fabric, [], form, CASES + case)[0].accused)
    base = len(schedule.rounds(fabric, form))
    result = {
        "form": form,
        "hosts": hosts,
        "rails": 8,
        "cases": CASES,
        "right": right,
        "accused_without_fault": accused,
        "rounds": base,
        "rounds_with_confirmation": most,
        "seconds_per_case": (time.perf_counter() - start) / CASES,
    }
    print(result)
    record.BENCH.mkdir(parents=True, exist_ok=True)
    (record.BENCH / f"fabric_{form}_{hosts}.json").write_text(
        json.dumps({"simulated": True, **result}, indent=1) + "\n"
    )
    assert accused == 0
    assert right >= 0.99 * CASES
