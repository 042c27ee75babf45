# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""onyx_roce against mellanox.onyx 1.0.0 for the same end state, on the same SIMULATED switch, side by side.

Each cell is a number of ports and a delay that the switch takes per line. In every round the two take turns, each with
a first run (factory switch) and a second run (nothing left to change); the time is that of the whole ansible-playbook,
and of its tasks alone. The older collection gets its fastest form: `aggregate` for all ports, RoCE and save in one
task. Release 3.9.2400, because its modules crash on 3.10.

Writes reports/bench/switch.json: `ratios`, and per cell the medians and every single run. Cells of earlier runs are
kept, so that one can be repeated alone: ROCEMESH_BENCH_CELLS=32:100 (ports:milliseconds, separated by commas).
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests import older_collection
from tests.integration.switch.harness import ADDRESS, PASSWORD, Simulator, playbook, running

ROUNDS = int(os.environ.get("ROCEMESH_BENCH_ROUNDS", "5"))
CELLS = [
    (int(ports), int(delay))
    for ports, _colon, delay in (
        cell.partition(":")
        for cell in os.environ.get(
            "ROCEMESH_BENCH_CELLS", ",".join(f"{ports}:{delay}" for ports in (4, 32, 64) for delay in (0, 50, 100))
        ).split(",")
    )
]
REPORT = older_collection.ROOT / "reports" / "bench" / "switch.json"
VERSION = "3.9.2400"


def names(count: int) -> list[str]:
    return [f"1/{number}" for number in range(1, count + 1)]


def ours(simulator: Simulator, count: int) -> tuple[list[Any], dict[str, str]]:
    task = {
        "rocemesh.multinode.onyx_roce": {
            "hostname": ADDRESS,
            "port": simulator.port,
            "username": "admin",
            "password": PASSWORD,
            "known_hosts": str(simulator.known_hosts),
            "vlan": 111,
            "vlan_name": "rdma",
            "ports": [f"1/1-1/{count}"],
            "mtu": 9216,
        },
        "delegate_to": "localhost",
        "vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable},
    }
    return [{"hosts": "all", "gather_facts": False, "tasks": [task]}], {}


def theirs(simulator: Simulator, count: int, place: Path, home: Path) -> tuple[list[Any], dict[str, str]]:
    tasks = older_collection.tasks(111, "rdma", names(count), 9216)
    play = {
        "hosts": "all",
        "gather_facts": False,
        "vars": older_collection.variables(simulator.port, PASSWORD),
        # Ends the persistent connection, so that every run logs in; after the last task, so not among their seconds.
        "tasks": [*tasks, {"ansible.builtin.meta": "reset_connection"}],
    }
    return [play], older_collection.environment(place, home)


def measure(simulator: Simulator, plays: list[Any], env: dict[str, str]) -> dict[str, float]:
    simulator.forget()
    begun = time.monotonic()
    done = playbook(simulator.directory, plays, **env)
    wall = time.monotonic() - begun
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    seconds = 0.0
    for task in json.loads(done.stdout)["plays"][0]["tasks"]:
        duration = task["task"]["duration"]
        if "end" in duration:
            ends = [datetime.fromisoformat(duration[key].replace("Z", "+00:00")) for key in ("start", "end")]
            seconds += (ends[1] - ends[0]).total_seconds()
    log = simulator.log()
    shutil.rmtree(env.get("ANSIBLE_PERSISTENT_CONTROL_PATH_DIR", ""), ignore_errors=True)
    return {"wall": wall, "tasks": seconds, "lines": len(log["lines"]), "sessions": log["sessions"]}


def assert_configured(simulator: Simulator, count: int) -> None:
    state = simulator.state()
    ports = state["running"]["ports"]
    assert state["running"]["roce"] == "lossless" and not state["unsaved"]
    assert {(ports[name]["access_vlan"], ports[name]["mtu"]) for name in names(count)} == {(111, 9216)}


@pytest.mark.parametrize(("count", "delay"), CELLS, ids=[f"{ports} ports, {delay} ms" for ports, delay in CELLS])
def test_onyx_roce_against_the_older_collection(count: int, delay: int, tmp_path: Path) -> None:
    try:
        place = older_collection.fetch()
    except older_collection.NotAvailable as reason:
        pytest.skip(str(reason))
    runs: dict[str, list[dict[str, float]]] = {
        kind: [] for kind in ("ours_first", "ours_again", "theirs_first", "theirs_again")
    }
    # Six ports at the end of the switch are in other use.
    options = ("--version", VERSION, "--ports", str(count + 8), "--command-delay", str(delay / 1000))
    with running(tmp_path / "switch", *options) as simulator:
        for _round in range(ROUNDS):
            for who in ("ours", "theirs"):
                simulator.reset()
                for when in ("first", "again"):
                    plays, env = (
                        ours(simulator, count) if who == "ours" else theirs(simulator, count, place, tmp_path / "home")
                    )
                    runs[f"{who}_{when}"].append(measure(simulator, plays, env))
                    assert_configured(simulator, count)
    write(count, delay, runs)


def write(count: int, delay: int, runs: dict[str, list[dict[str, float]]]) -> None:
    report = json.loads(REPORT.read_text()) if REPORT.exists() else {"ratios": {}, "cells": {}}
    report["simulated"] = True
    report["compared"] = (
        "one task of onyx_roce with mellanox.onyx 1.0.0 over ansible.netcommon.network_cli: onyx_vlan, "
        "onyx_l2_interface (aggregate), onyx_interface (aggregate), onyx_config (roce lossless, save)"
    )
    medians = {
        kind: {key: statistics.median(run[key] for run in measured) for key in measured[0]}
        for kind, measured in runs.items()
    }
    key = f"{count}_ports_{delay}ms"
    report["cells"][key] = {"rounds": ROUNDS, "median": medians, "runs": runs}
    for when, suffix in (("first", ""), ("again", "_nothing_to_change")):
        for measure_of, tail in (("wall", ""), ("tasks", "_tasks_only")):
            pairs = zip(runs[f"theirs_{when}"], runs[f"ours_{when}"], strict=True)
            report["ratios"][f"onyx_roce_vs_collection_{key}{suffix}{tail}"] = round(
                statistics.median(their[measure_of] / our[measure_of] for their, our in pairs), 2
            )
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1) + "\n")
    print(key, json.dumps(medians, indent=1))
    # What does not depend on the machine: one session, and lines that do not grow with the ports.
    assert all(run["sessions"] == 1 for kind in ("ours_first", "ours_again") for run in runs[kind])
    assert max(run["lines"] for run in runs["ours_first"]) <= 40
