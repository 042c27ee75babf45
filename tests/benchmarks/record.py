# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every comparison does alike: sides take turns, and a file holds every run of one invocation with its machine.

A file is written anew by each invocation: figures of different loads never stand in one table.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parents[2] / "reports" / "bench"
Run = dict[str, float]


def turns(sides: Sequence[str], turn: int) -> list[str]:
    """The order of one round: whoever went first goes last in the next."""
    first = turn % len(sides)
    return [*sides[first:], *sides[:first]]


def medians(runs: dict[str, list[Run]]) -> dict[str, Run]:
    return {side: {key: statistics.median(run[key] for run in each) for key in each[0]} for side, each in runs.items()}


def ratio(slower: Iterable[Run], ours: Iterable[Run], what: str) -> float:
    """Median over the rounds of theirs / ours: above 1, ours is less."""
    return round(statistics.median(a[what] / b[what] for a, b in zip(slower, ours, strict=True)), 2)


class Record:
    """One comparison: `cell` after `cell` is added, and the file is complete after each."""

    def __init__(self, name: str, *, simulated: bool, compared: str) -> None:
        self.path = BENCH / f"{name}.json"
        names = ("ansible-core", "ansible", "asyncssh", "netmiko", "pyvmomi")
        self.content: dict[str, Any] = {
            "simulated": simulated,
            "compared": compared,
            "machine": {"system": platform.platform(), "cpus": os.cpu_count(), "load_before": os.getloadavg()},
            "versions": {"python": platform.python_version(), **{name: metadata.version(name) for name in names}},
            "ratios": {},
            "cells": {},
        }

    def add(self, cell: str, runs: dict[str, list[Run]], ratios: dict[str, float]) -> None:
        self.content["cells"][cell] = {"load_after": os.getloadavg(), "median": medians(runs), "runs": runs}
        self.content["ratios"].update(ratios)
        self.write()
        print(cell, json.dumps(medians(runs), indent=1), json.dumps(ratios, indent=1))

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.content, indent=1) + "\n")
