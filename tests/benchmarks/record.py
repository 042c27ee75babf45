"""What every comparison does alike: sides take turns, and a file holds every run of one invocation with its machine.

A file is written anew by each invocation: figures of different loads never stand in one table. It lies in
reports/bench, or with ROCEMESH_BENCH_PUBLISH=1 in docs/benchmarks, from which `python -m tests.benchmarks.page` makes
the tables of docs/benchmarks.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "docs" / "benchmarks"
BENCH = PUBLISHED if os.environ.get("ROCEMESH_BENCH_PUBLISH") == "1" else ROOT / "reports" / "bench"
Run = dict[str, float]
# The modules that ours are compared with write no journal; without it, ours start once, too.
NO_JOURNAL = {"ANSIBLE_CALLBACKS_ENABLED": "rocemesh.multinode.doctor_status"}
# Above this load of the last minute nothing is published: sides that take turns still meet different weather.
MOST_LOAD = 2.0


def load() -> list[float]:
    return [round(value, 1) for value in os.getloadavg()]


def processor() -> float:
    """Seconds that this machine's processors have worked since it started: for controller, nodes and simulated devices,
    which all run here, and for whatever else does."""
    user, nice, system, _idle, _waiting, interrupts, soft = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def metered() -> Iterator[Run]:
    """`wall` seconds and `processor` seconds of what is done in it, there when it ends."""
    run: Run = {}
    begun, used = time.monotonic(), processor()
    yield run
    run |= {"wall": round(time.monotonic() - begun, 2), "processor": round(processor() - used, 2)}


def turns(sides: Sequence[str], turn: int) -> list[str]:
    """The order of one round: whoever went first goes last in the next."""
    first = turn % len(sides)
    return [*sides[first:], *sides[:first]]


def medians(runs: dict[str, list[Run]]) -> dict[str, Run]:
    return {
        side: {key: round(statistics.median(run[key] for run in each), 3) for key in each[0]}
        for side, each in runs.items()
    }


def tasks_of(output: str) -> tuple[float, int]:
    """Seconds of all tasks, and how many changed something, from the output of the callback `ansible.posix.json`."""
    content = json.loads(output[output.index("{") :])
    seconds = 0.0
    for task in [task for play in content["plays"] for task in play["tasks"]]:
        duration = task["task"]["duration"]
        if "end" in duration:
            begin, end = (datetime.fromisoformat(duration[key].replace("Z", "+00:00")) for key in ("start", "end"))
            seconds += (end - begin).total_seconds()
    return round(seconds, 3), sum(host["changed"] for host in content["stats"].values())


def ratio(slower: Iterable[Run], ours: Iterable[Run], what: str) -> float:
    """Median over the rounds of theirs / ours: above 1, ours is less."""
    return round(statistics.median(a[what] / b[what] for a, b in zip(slower, ours, strict=True)), 3)


class Record:
    """One comparison: `cell` after `cell` is added, and the file is complete after each."""

    def __init__(self, name: str, *, simulated: bool, compared: str) -> None:
        self.path = BENCH / f"{name}.json"
        if BENCH == PUBLISHED and load()[0] > MOST_LOAD:
            raise RuntimeError(
                f"{name}: the load is {load()[0]:g}, published is up to {MOST_LOAD:g}. Wait until nothing else runs."
            )
        names = ("ansible-core", "ansible", "asyncssh", "netmiko", "pyvmomi")
        self.content: dict[str, Any] = {
            "simulated": simulated,
            "compared": compared,
            "measured": time.strftime("%Y-%m-%d", time.gmtime()),
            "machine": {"system": platform.platform(), "cpus": os.cpu_count(), "load_before": load()},
            "versions": {"python": platform.python_version(), **{name: metadata.version(name) for name in names}},
            "ratios": {},
            "cells": {},
        }

    def add(self, cell: str, runs: dict[str, list[Run]], ratios: dict[str, float]) -> None:
        self.content["cells"][cell] = {"load_after": load(), "median": medians(runs), "runs": runs}
        self.content["ratios"].update(ratios)
        self.write()
        print(cell, json.dumps(medians(runs), indent=1), json.dumps(ratios, indent=1))

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.content, indent=1)
        # A run in one line: a hundred of them are read as a table.
        text = re.sub(r"\{\s+([^{}\[\]]*?)\s+\}", lambda found: "{" + re.sub(r"\s*\n\s*", " ", found[1]) + "}", text)
        self.path.write_text(text + "\n")
