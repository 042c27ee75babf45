"""How often the fabric check names the right place on simulated fabrics of 16 to 1,000 hosts with 8 rails, and how long
the controller thinks about every pair of 256 hosts. SIMULATED. Needs no lab.

ROCEMESH_FABRIC_CASES random cases per size and form (20), and as many fabrics without a fault, in
ROCEMESH_FABRIC_JOBS processes (one per CPU). ``pytest -s -k "full-256"`` takes one of them. `python -m
tests.benchmarks.fabric_table --publish` makes the tables of docs/fabric.md.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import random
import time
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import schedule
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.check import next_part
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.model import Fabric

from tests.benchmarks import record
from tests.unit.fabric import simulated
from tests.unit.fabric.test_check import printed, site

CASES = int(os.environ.get("ROCEMESH_FABRIC_CASES", "20"))
KINDS = {"quick": ("host", "nic"), "full": ("host", "nic", "pair")}
MOST_FAULTS = 3


def keep(name: str, result: dict[str, Any]) -> None:
    result = {"simulated": True, "measured": time.strftime("%Y-%m-%d", time.gmtime()), **result}
    print(result)
    record.BENCH.mkdir(parents=True, exist_ok=True)
    (record.BENCH / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")


def some_cases(form: str, hosts: int, cases: range) -> tuple[int, int, int]:
    """Right ones, right fabrics with somebody accused, and most rounds."""
    fabric = Fabric(tuple(f"host{number}" for number in range(hosts)), 8)
    plan = schedule.rounds(fabric, form)
    right = accused = most = 0
    for case in cases:
        dice = random.Random(case)
        faults = simulated.some_faults(fabric, dice, dice.randint(1, MOST_FAULTS), KINDS[form])
        findings, rounds = simulated.check(fabric, faults, form, case, plan=plan)
        right += {place.key for place in findings.accused} == {fault.key for fault in faults}
        most = max(most, rounds)
        accused += bool(simulated.check(fabric, [], form, CASES + case, plan=plan)[0].accused)
    return right, accused, most


@pytest.mark.parametrize("hosts", [16, 64, 256, 1000])
@pytest.mark.parametrize("form", ["quick", "full"])
def test_right_place_in_99_of_100_and_nobody_accused_without_a_fault(form: str, hosts: int) -> None:
    parts = [range(first, min(first + 50, CASES)) for first in range(0, CASES, 50)]
    base = len(schedule.rounds(Fabric(tuple(map(str, range(hosts))), 8), form))
    bound = 2 * MOST_FAULTS * (hosts - 1).bit_length() + (hosts - 1 if form == "full" else 0)
    right = accused = most = 0
    with concurrent.futures.ProcessPoolExecutor(int(os.environ.get("ROCEMESH_FABRIC_JOBS", "0")) or None) as pool:
        found = pool.map(some_cases, [form] * len(parts), [hosts] * len(parts), parts)
        for part, (rights, accusations, rounds) in zip(parts, found, strict=True):
            right, accused, most = right + rights, accused + accusations, max(most, rounds)
            # After each part: what was done stays if the rest is too long for somebody.
            keep(
                f"fabric_{form}_{hosts}",
                {
                    "form": form,
                    "hosts": hosts,
                    "rails": 8,
                    "cases": part.stop,
                    "right": right,
                    "accused_without_fault": accused,
                    "rounds": base,
                    "rounds_with_confirmation": most,
                    "bound": bound,
                },
            )
    assert accused == 0
    assert right >= 0.99 * CASES
    assert most <= bound


@pytest.mark.parametrize(("form", "hosts"), [("quick", 256), ("full", 256), ("quick", 1000)])
def test_controller_takes_a_tenth_of_the_time_of_the_plan_at_most(form: str, hosts: int) -> None:
    """Its own time for every part, with what stand-in nodes print; one slow NIC, so that it is measured again."""
    options = {"networks": [f"10.{rail}.0.0/16" for rail in range(8)], "form": form}
    what = {**site(hosts, 8), "options": options}
    for number, host in enumerate(what["hosts"]):
        for rail, device in enumerate(what["readings"][host["name"]]["devices"]):
            device["roce_gid_ipv4"] = f"10.{rail}.{number // 250}.{number % 250 + 1}"
    outputs: list[str] = []
    spent, parts, fabric = {}, 0, Fabric(tuple(host["name"] for host in what["hosts"]), 8)
    while True:
        start = time.process_time()
        part = next_part(what, outputs)
        spent[part["part"]] = round(time.process_time() - start, 2)
        if part["part"] == "done":
            break
        parts += 1
        outputs.append(printed(part, lambda pair: 150.0 if 9 in pair else 390.0))
    assert [fault["place"] for fault in part["report"]["faults"]] == [f"{fabric.hosts[1]} rail 1 (mlx5_1) at leaf1 1/2"]
    plan = schedule.cost(
        fabric, schedule.rounds(fabric, form), seconds=1.0, programs=1, follow_up=schedule.follow_up_limit(hosts)
    )
    total = round(sum(spent.values()), 1)
    keep(
        f"fabric_controller_{form}_{hosts}",
        {
            "form": form,
            "hosts": hosts,
            "rails": 8,
            "measurements": plan.tests,
            "plan_seconds": plan.seconds,
            "controller_seconds": total,
            "share": round(total / plan.seconds, 4),
            "by_part": spent,
            "megabytes_read": round(sum(map(len, outputs)) / 1e6, 1),
        },
    )
    assert plan.seconds <= 15 * 60
    assert total <= 0.1 * plan.seconds
