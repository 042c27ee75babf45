"""What the callback ``stages`` shows, from the names of tasks and the times at which they start. Pure."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any, Iterable, Mapping

# In the order of the data path; the names are those that the playbooks give their stages.
STAGES = {
    "preflight": "preflight: all readings and all problems; reads only",
    "switch": "switch: RoCE, VLAN, access ports, MTU",
    "recover": "maintenance windows that an interrupted run left open are finished",
    "esxi": "ESXi hosts: kernel setting for PCIe ATS, for the next boot",
    "power": "VMs that are off are powered on",
    "guest": "guests: NIC tools, ATS for the next boot, MTU",
    "window": "maintenance window: VM keys, one reboot per host",
    "ats": "proof that ATS is in force on every layer",
    "image": "container image: built on one node, pushed, pulled by the others",
    "mesh": "SSH keys, containers, login from the head to every node",
    "run": "mpirun: hostname, GPU check, collective, ResNet-50",
    "report": "report",
}
_MARK = re.compile(r"Stage \| Record the start of (\w+)")
_WIDTH = 120
_FAILURE_LINES, _LAST_LINES = 20, 5


def read_times(text: str) -> dict[str, float]:
    """Seconds of each stage of an earlier run; raises ValueError if the text is something else."""
    read = json.loads(text)
    if not isinstance(read, dict) or not all(isinstance(each, (int, float)) for each in read.values()):
        raise ValueError("expected an object of seconds")
    return {str(name): float(seconds) for name, seconds in read.items()}


def text_of(message: Any) -> list[str]:
    """A message of ``debug`` or of a failure as lines of a screen."""
    parts: Iterable[Any] = message if isinstance(message, (list, tuple)) else [message]
    return [line.rstrip() for part in parts if part not in (None, "") for line in str(part).splitlines()]


class Progress:
    """``before``: seconds of each stage the last time. Each method returns the lines to show."""

    def __init__(self, before: Mapping[str, float]) -> None:
        self._before = dict(before)
        self._times: dict[str, float] = {}
        self._stage, self._begun, self._changes, self._tasks = "", 0.0, 0, 0
        self._start: float | None = None
        self._failures: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def task(self, name: str, now: float) -> list[str]:
        self._start = now if self._start is None else self._start
        mark = _MARK.search(name)
        if not mark:
            self._tasks += not re.search(r"multinode\.stage : | : Validating arguments against arg spec", name)
            return []
        shown = self._close(now)
        self._stage, self._begun, self._changes, self._tasks = mark.group(1), now, 0, 0
        return shown

    def begun(self, host: str, task: str, end: str = " ...") -> list[str]:
        """Of a task that takes minutes. Ansible says that it begins before it knows whether it is skipped."""
        return [f"{'':10} {self._stage:<9} {host}: {task.rpartition(' | ')[2]}{end}"]

    def changed(self) -> None:
        self._changes += 1

    def failed(self, host: str, task: str, result: Mapping[str, Any]) -> None:
        """Shown at the end, unless the failure was rescued and the host went on."""
        self._failures[host] = (task, result)

    def times(self) -> str:
        """A stage that was not played keeps its time of before."""
        return json.dumps({**self._before, **self._times}, indent=2) + "\n"

    def end(self, now: float, lost: Iterable[str], log: str) -> list[str]:
        lost = sorted(lost)
        start = now if self._start is None else self._start
        total, last = now - start, now - (self._begun or start)
        if not lost:
            return [*self._close(now), f"{total:7.1f} s  in all; the whole output: {log}"]
        tasks: dict[str, list[str]] = {}
        for host in lost:
            task, result = self._failures.get(host, ("", {}))
            tasks.setdefault(task, []).extend(_failure(host, result))
        shown = [f"{last:7.1f} s  {self._stage or 'start':<9} FAILED"]
        for task, lines in tasks.items():
            shown += [f"TASK [{task}]", *(f"    {line}" for line in lines)]
        cut = len(shown) - _FAILURE_LINES
        if cut > 0:  # what to do stands at the end
            shown[_FAILURE_LINES - _LAST_LINES : -_LAST_LINES] = [f"    {cut} more lines are in the log"]
        return [*shown, f"Whole output: {log}"]

    def _close(self, now: float) -> list[str]:
        if not self._stage:
            return []
        taken = round(now - self._begun, 1)
        if not self._tasks:
            return [f"{taken:7.1f} s  {self._stage:<9} not played (--tags, --skip-tags or --limit leave nothing of it)"]
        self._times[self._stage] = taken
        left = self._left()
        notes = [
            STAGES.get(self._stage, ""),
            f"{self._changes} changed" if self._changes else "",
            f"about {left:.0f} s left" if left else "",
        ]
        return [f"{taken:7.1f} s  {self._stage:<9} {'; '.join(note for note in notes if note)}".rstrip()]

    def _left(self) -> float:
        """Of the stages that are still to come, as the last time; 0 where that is not known."""
        names = list(STAGES)
        if self._stage not in names:
            return 0.0
        return sum(self._before.get(name, 0.0) for name in names[names.index(self._stage) + 1 :])


def _failure(host: str, result: Mapping[str, Any]) -> list[str]:
    found = [item for item in result.get("results") or () if isinstance(item, Mapping)]
    lines: list[str] = []
    for item in [item for item in found if item.get("failed") or item.get("unreachable")] or [result]:
        said = text_of(item.get("msg")) or ["no message"]
        if item.get("stderr") and "error_code" not in item:
            said += text_of(item["stderr"])[-3:]
        each = item.get(item.get("ansible_loop_var"))
        # A task that runs once is asked of the first host, whichever it is about.
        names = ["" if result.get("run_once") else host, each.get("name") if isinstance(each, Mapping) else each]
        for line in [": ".join([n for n in names if isinstance(n, str) and n not in said[0]] + said[:1]), *said[1:]]:
            lines += textwrap.wrap(line, _WIDTH - 4, break_long_words=False, break_on_hyphens=False) or [""]
    return lines
