# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Left-overs of a killed run: exactly those are found, and nothing else is ever touched."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
from types import ModuleType
from typing import Callable

import pytest

SCRIPT = pathlib.Path(__file__).parents[3] / "workloads" / "checks" / "leftovers.py"


@pytest.fixture
def leftovers(load: Callable[[str, str], ModuleType]) -> ModuleType:
    return load("checks", "leftovers")


@pytest.mark.parametrize(
    ("argv", "ours"),
    [
        (["orted", "-mca", "ess", "env"], True),
        (["/usr/bin/mpirun", "-np", "4", "hostname"], True),
        (["prted"], True),
        (["timeout", "-k", "10", "60", "mpirun", "-np", "4"], True),
        (["python3", "/workspace/resnet50/resnet50.py", "--batch_size", "2"], True),
        (["/usr/bin/python3.11", "-u", "/workspace/benchmarks/scripts/tf_cnn_benchmarks/tf_cnn_benchmarks.py"], True),
        (["sh", "-c", "mpirun -np 4 orted resnet50.py"], False),
        (["python3", "-c", "text that names resnet50.py and orted"], False),
        (["vim", "resnet50.py"], False),
        (["sleep", "infinity"], False),
        (["timeout", "60", "sleep", "5"], False),
        (["sshd: nvidia"], False),
        ([], False),
    ],
)
def test_only_launchers_and_workloads_count(leftovers: ModuleType, argv: list[str], ours: bool) -> None:
    assert leftovers.is_ours(argv) is ours


def fake_proc(base: pathlib.Path, processes: dict[int, tuple[int, str, str, list[str]]]) -> str:
    """pid -> (parent, state, PID namespace, argv)"""
    for pid, (parent, state, namespace, argv) in processes.items():
        entry = base / str(pid)
        (entry / "ns").mkdir(parents=True)
        (entry / "ns" / "pid").symlink_to(f"pid:[{namespace}]")
        (entry / "status").write_text(f"Name:\tx\nState:\t{state} (x)\nPPid:\t{parent}\n")
        (entry / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in argv))
    return str(base)


def test_zombies_strangers_ancestors_and_other_namespaces_are_left_alone(
    leftovers: ModuleType, tmp_path: pathlib.Path
) -> None:
    proc = fake_proc(
        tmp_path,
        {
            1: (0, "S", "7", ["sleep", "infinity"]),
            10: (1, "S", "7", ["orted"]),
            11: (10, "R", "7", ["python3", "/w/resnet50.py"]),
            12: (1, "Z", "7", ["orted"]),
            13: (1, "S", "8", ["orted"]),
            14: (1, "S", "7", ["sshd"]),
            20: (1, "S", "7", ["mpirun", "python3", "leftovers.py"]),
            21: (20, "R", "7", ["python3", "-c", "orted"]),
        },
    )
    assert leftovers.find(proc, 21) == [
        {"pid": 10, "command": "orted"},
        {"pid": 11, "command": "python3 /w/resnet50.py"},
    ]


def test_who_ignores_sigterm_gets_sigkill_and_who_is_gone_gets_nothing(leftovers: ModuleType) -> None:
    living = {10, 11}
    sent: list[tuple[int, int]] = []

    def kill(pid: int, number: int) -> None:
        sent.append((pid, number))
        if number == signal.SIGKILL or pid == 10:
            living.discard(pid)

    assert leftovers.end([10, 11, 12], 0.3, lambda: set(living), kill, lambda _seconds: None) == set()
    assert sent == [(10, signal.SIGTERM), (11, signal.SIGTERM), (11, signal.SIGKILL)]


def test_what_cannot_be_ended_is_told(leftovers: ModuleType) -> None:
    assert leftovers.end([10], 0.2, lambda: {10}, lambda _pid, _number: None, lambda _seconds: None) == {10}


def test_a_process_that_vanishes_in_between_is_no_error(leftovers: ModuleType) -> None:
    def kill(_pid: int, _number: int) -> None:
        raise ProcessLookupError

    calls = iter([{10}, set(), set()])
    assert leftovers.end([10], 0.2, lambda: next(calls, set()), kill, lambda _seconds: None) == set()


def test_listing_touches_nothing_and_sees_a_real_rank(tmp_path: pathlib.Path) -> None:
    rank_script = tmp_path / "resnet50.py"
    rank_script.write_text("import sys; print('up', flush=True); sys.stdin.read()")
    with subprocess.Popen(
        [sys.executable, str(rank_script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as rank:
        assert rank.stdout is not None
        rank.stdout.readline()
        done = subprocess.run([sys.executable, SCRIPT, "list"], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        assert rank.pid in [entry["pid"] for entry in found["found"]]
        assert found["ended"] == found["left"] == []
        assert os.getpid() not in [entry["pid"] for entry in found["found"]]
        assert rank.poll() is None
        rank.communicate("")
