"""onyx_roce against mellanox.onyx 1.0.0 for the same end state, on the same SIMULATED switch, side by side.

Each cell is a number of ports and a delay that the switch takes per line. In every round the sides take turns (and who
goes first does too), each with a first run (factory switch) and a second run (nothing left to change); `seconds` are
those of the tasks, `wall` those of the whole ansible-playbook, `processor` what the
machine's processors worked meanwhile. Release 3.9.2400, because its modules crash on 3.10.

ranged            one task of `onyx_config` with ranges of ports: its fastest form. It sends all lines again each time
                  and reads nothing back
ranged_verified   the same, then the idempotent modules, which read what became of it: as ours, it ends in a state that
                  was verified
modules           the idempotent modules alone, with `aggregate` for all ports: they send a line per port

Writes switch.json: ratios, and per cell the medians and every single run.
ROCEMESH_BENCH_CELLS=32:100 chooses cells (ports:milliseconds, separated by commas).
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import older_collection
from tests.benchmarks.record import NO_JOURNAL, Record, Run, metered, ratio, tasks_of, turns
from tests.integration.simulated_switch import ADDRESS, PASSWORD, playbook
from tests.integration.switch.harness import Simulator, running

ROUNDS = int(os.environ.get("ROCEMESH_BENCH_ROUNDS", "5"))
CELLS = [
    (int(ports), int(delay))
    for ports, _colon, delay in (
        cell.partition(":")
        for cell in os.environ.get(
            "ROCEMESH_BENCH_CELLS", ",".join(f"{ports}:{delay}" for ports in (4, 32, 64) for delay in (0, 100))
        ).split(",")
    )
]
SIDES = ("ours", "ranged", "ranged_verified", "modules")
NAMES = {
    "ranged": "ranged_lines",
    "ranged_verified": "ranged_lines_and_verifying",
    "modules": "idempotent_modules",
}
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
            "allow_disruption": "any",  # the others ask nobody
        },
        "delegate_to": "localhost",
        "vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable},
    }
    return [{"hosts": "all", "gather_facts": False, "tasks": [task]}], NO_JOURNAL


def theirs(side: str, simulator: Simulator, count: int, place: Path, home: Path) -> tuple[list[Any], dict[str, str]]:
    ranged = older_collection.ranged_tasks(111, "rdma", f"1/1-1/{count}", 9216)
    modules = older_collection.tasks(111, "rdma", names(count), 9216)
    played = {"ranged": ranged, "modules": modules, "ranged_verified": [*ranged, *modules]}[side]
    play = older_collection.play(simulator.port, PASSWORD, played)
    return [play], older_collection.environment(place, home)


def measure(simulator: Simulator, plays: list[Any], env: dict[str, str]) -> Run:
    simulator.forget()
    with metered() as run:
        done = playbook(simulator.directory, plays, **env)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    seconds, _changed = tasks_of(done.stdout)
    log = simulator.log()
    shutil.rmtree(env.get("ANSIBLE_PERSISTENT_CONTROL_PATH_DIR", ""), ignore_errors=True)
    return {"seconds": seconds, **run, "lines": len(log["lines"]), "sessions": log["sessions"]}


def assert_configured(simulator: Simulator, count: int) -> None:
    state = simulator.state()
    ports = state["running"]["ports"]
    assert state["running"]["roce"] == "lossless" and not state["unsaved"]
    assert {(ports[name]["access_vlan"], ports[name]["mtu"]) for name in names(count)} == {(111, 9216)}


@pytest.fixture(scope="module")
def record() -> Record:
    return Record("switch", simulated=True, compared=__doc__ or "")


@pytest.mark.parametrize(("count", "delay"), CELLS, ids=[f"{ports} ports, {delay} ms" for ports, delay in CELLS])
def test_onyx_roce_against_the_older_collection(count: int, delay: int, tmp_path: Path, record: Record) -> None:
    place = older_collection.fetch()
    runs: dict[str, list[Run]] = {}
    # Six ports at the end of the switch are in other use.
    options = ("--version", VERSION, "--ports", str(count + 8), "--command-delay", str(delay / 1000))
    with running(tmp_path / "switch", *options) as simulator:
        for turn in range(ROUNDS):
            for side in turns(SIDES, turn):
                simulator.reset()
                for when in ("first", "again"):
                    plays, env = (
                        ours(simulator, count)
                        if side == "ours"
                        else theirs(side, simulator, count, place, tmp_path / "home")
                    )
                    runs.setdefault(f"{side}_{when}", []).append(measure(simulator, plays, env))
                    assert_configured(simulator, count)
    ratios = {
        f"switch_vs_{NAMES[side]}_{count}_ports_{delay}ms{'' if when == 'first' and 'ranged' in side else '_' + when}"
        f"{tail}": ratio(runs[f"{side}_{when}"], runs[f"ours_{when}"], what)
        for side in SIDES[1:]
        for when in ("first", "again")
        for what, tail in (("seconds", ""), ("wall", "_wall"), ("processor", "_processor"), ("lines", "_lines"))
    }
    record.add(f"{count}_ports_{delay}ms", runs, ratios)
    # What does not depend on the machine: one session, and lines that do not grow with the ports.
    assert all(run["sessions"] == 1 for kind in ("ours_first", "ours_again") for run in runs[kind])
    assert max(run["lines"] for run in runs["ours_first"]) <= 40
