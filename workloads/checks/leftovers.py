# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what an earlier, killed run left in this container, and end it if told to.

``docker exec ... mpirun`` does not die with its client: mpirun, orted and the ranks live on, hold the port and the GPU,
and make the next run fail or crawl. Only processes in this process's own PID namespace are looked at, never the caller
itself or its ancestors, and only by program: mpirun/orted (and their names in Open MPI 5), a Python interpreter that
runs one of SCRIPTS, and the ``timeout`` around mpirun.

Usage: python3 leftovers.py list|end [seconds to wait before SIGKILL]
Prints one JSON line: {"found": [{"pid", "command"}], "ended": [pid, ...], "left": [pid, ...]}. Exit status 0, or 1 if
something could not be ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from typing import Any, Callable, Sequence

LAUNCHERS = frozenset(("mpirun", "mpiexec", "orterun", "orted", "prterun", "prted"))
SCRIPTS = frozenset(
    ("resnet50.py", "tf_cnn_benchmarks.py", "allreduce.py", "bandwidth.py", "scaling.py", "scoring.py", "training.py")
)


def is_ours(argv: Sequence[str]) -> bool:
    """Judge one process by its argument vector; words inside one argument (a shell script's text) do not count."""
    if not argv:
        return False
    program = os.path.basename(argv[0])
    if program in LAUNCHERS:
        return True
    if program == "timeout":
        return any(os.path.basename(word) in LAUNCHERS for word in argv[1:])
    return program.startswith("python") and any(os.path.basename(word) in SCRIPTS for word in argv[1:])


def _status(proc: str, pid: int) -> dict[str, str]:
    with open(os.path.join(proc, str(pid), "status"), encoding="utf-8", errors="replace") as stream:
        pairs = (line.partition(":") for line in stream)
        return {name: value.strip() for name, _colon, value in pairs}


def _namespace(proc: str, pid: str) -> str:
    return os.readlink(os.path.join(proc, pid, "ns", "pid"))


def ancestors(proc: str, pid: int) -> set[int]:
    """``pid`` and its parents, up to where the namespace ends."""
    family: set[int] = set()
    while pid > 0 and pid not in family:
        family.add(pid)
        try:
            pid = int(_status(proc, pid).get("PPid", "0"))
        except (OSError, ValueError):
            break
    return family


def find(proc: str, own_pid: int) -> list[dict[str, Any]]:
    """[{"pid", "command"}] of live left-over processes, in the order of their numbers; zombies do not count."""
    own_namespace = _namespace(proc, str(own_pid))
    spared = ancestors(proc, own_pid)
    found = []
    for name in sorted((name for name in os.listdir(proc) if name.isdigit()), key=int):
        pid = int(name)
        if pid in spared or pid == 1:
            continue
        try:
            if _namespace(proc, name) != own_namespace or _status(proc, pid).get("State", "Z")[:1] in ("Z", "X"):
                continue
            with open(os.path.join(proc, name, "cmdline"), "rb") as stream:
                argv = stream.read().decode("utf-8", "replace").split("\0")[:-1]
        except OSError:
            continue  # gone meanwhile, or not ours to read
        if is_ours(argv):
            found.append({"pid": pid, "command": " ".join(argv)[:300]})
    return found


def end(
    pids: Sequence[int],
    patience: float,
    alive: Callable[[], set[int]],
    kill: Callable[[int, int], None] = os.kill,
    pause: Callable[[float], None] = time.sleep,
) -> set[int]:
    """SIGTERM, wait at most ``patience`` seconds, SIGKILL the rest; returns what is still there."""

    def send(number: int, targets: set[int]) -> None:
        for pid in sorted(targets):
            with contextlib.suppress(ProcessLookupError):
                kill(pid, number)

    left = set(pids)
    for number in (signal.SIGTERM, signal.SIGKILL):
        left &= alive()
        send(number, left)
        waited = 0.0
        while left and waited < patience:
            pause(0.1)
            waited += 0.1
            left &= alive()
    return left


def main(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] not in ("list", "end"):
        sys.stderr.write("usage: leftovers.py list|end [seconds]\n")
        return 2
    found = find("/proc", os.getpid())
    pids = [entry["pid"] for entry in found]
    left: set[int] = set()
    if arguments[0] == "end" and pids:
        patience = float(arguments[1]) if len(arguments) > 1 else 10.0
        left = end(pids, patience, lambda: {entry["pid"] for entry in find("/proc", os.getpid())})
    ended = [pid for pid in pids if pid not in left] if arguments[0] == "end" else []
    print(json.dumps({"found": found, "ended": ended, "left": sorted(left)}))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
