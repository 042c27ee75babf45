# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays playbooks/site.yml on the twin: one line per stage, and the whole output in a file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from . import config

LOG = config.REPO / "reports" / "site.log"
# What each stage does, in the order of the data path; the names are those that the playbooks give their stages.
STAGES = {
    "preflight": "everything that stands in the way, in one list; reads only",
    "switch": "switch: RoCE, VLAN, access ports, MTU",
    "esxi": "ESXi hosts: kernel setting for PCIe ATS, for the next boot",
    "power": "VMs that are off are powered on",
    "guest": "guests: NIC tools, ATS for the next boot, MTU",
    "window": "maintenance window: VM keys, one reboot per host",
    "ats": "proof that ATS is in force on every layer",
    "image": "container image: built on one node, pushed, pulled by the others",
    "mesh": "ssh keys, containers, login from the head to every node",
    "run": "mpirun: hostname, GPU check, collective, ResNet-50",
    "report": "report",
}
_MARK = re.compile(r"^TASK \[.*Stage \| Record the start of (\w+)\]")
_FAILED = re.compile(r"^(fatal:|failed:|\[ERROR\]|ERROR!)")
# An error that the run goes on after is told in the log alone.
_FORGIVEN = re.compile(r"^\.\.\.ignoring")
_HEADING = re.compile(r"^(TASK|PLAY|RUNNING HANDLER)\b")
_TOLD = 25  # lines of the first failure


class Progress:
    """Reads the output line by line and shows each stage when the next one begins."""

    def __init__(self, show: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._show, self._clock = show, clock
        self._stage, self._begun = "", clock()
        self._task = ""
        self._failure: list[str] = []
        self._collecting = False

    def line(self, text: str) -> None:
        marked = _MARK.match(text)
        if marked:
            self._close()
            self._stage, self._begun = marked.group(1), self._clock()
        if _HEADING.match(text):
            self._collecting = False
            # What a task before this one failed with was rescued or ignored, or the run would have ended.
            if text.startswith("TASK"):
                self._task, self._failure = text.rstrip(" *"), []
        elif _FORGIVEN.match(text):
            self._collecting, self._failure = False, []
        elif _FAILED.match(text):
            self._collecting = True
        if self._collecting and len(self._failure) < _TOLD:
            self._failure.append(text)

    def _close(self) -> None:
        if self._stage:
            self._show(f"{self._clock() - self._begun:7.1f} s  {self._stage:<8} {STAGES.get(self._stage, '')}".rstrip())

    def end(self, rc: int) -> None:
        if rc == 0:
            self._close()
            return
        self._show(
            f"{self._clock() - self._begun:7.1f} s  {self._stage or 'start':<8} FAILED at {self._task or 'the start'}"
        )
        for text in self._failure:
            self._show(f"    {text}")


def follow(lines: Iterable[str], log: Path, progress: Progress, everything: bool) -> None:
    with log.open("w", encoding="utf-8") as output:
        for line in lines:
            output.write(line)
            output.flush()
            if everything:
                print(line, end="", flush=True)
            progress.line(line.rstrip("\n"))


def play(arguments: Sequence[str], *, everything: bool) -> int:
    """The exit status of ansible-playbook. ``everything``: its output as well."""
    LOG.parent.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    progress = Progress((lambda _line: None) if everything else (lambda line: print(line, flush=True)))
    with subprocess.Popen(
        [
            *(str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/site.yml"),
            *(word for inventory in config.SHAPE.inventories for word in ("-i", inventory)),
            # The lab is the one place where a restart needs no further word: it is simulated.
            *("-e", "rocemesh_allow_reboot=true", *arguments),
        ],
        cwd=config.REPO,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **({} if everything else {"ANSIBLE_NOCOLOR": "1"})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        follow(process.stdout, LOG, progress, everything)
        rc = process.wait()
    progress.end(rc)
    if rc:
        print(
            f"site.yml stopped with rc {rc}; the whole output: {LOG}\nNothing needs cleaning up: put right what the "
            "message names and run the same command again; it goes on from there."
        )
        return rc
    print(f"{time.monotonic() - begun:7.1f} s  site.yml; the whole output: {LOG} (V=1 shows it)")
    print(f"Report (SIMULATED devices): {config.REPO / 'reports' / 'latest' / 'report.html'}")
    return 0
