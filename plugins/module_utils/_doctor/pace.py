"""Read whether what a program repeats goes on as it began: rates, times, losses, its number of ranks. Pure.

A program that reaches its end can still have crawled, trained on nothing or written no checkpoint; its last line is
then no proof of a sound job.
"""

from __future__ import annotations

import bisect
import re
from typing import Iterator

_RATE = re.compile(
    r"(?P<before>\d[\d,.]*) ?(?:images|img|samples|tokens|examples|sequences)/s(?:ec)?\b"
    r"|\b(?:images|img|samples|tokens|examples|sequences)/s(?:ec)?\b ?[:=] ?(?P<after>\d[\d,.]*)"
    r"|, (?P<alone>\d+\.\d+)/s\b",
    re.IGNORECASE,
)
_MILLISECONDS = re.compile(r"\belapsed time per iteration \(ms\): (\d[\d.]*)")
_LOSS = re.compile(r"\bloss['\"]?\s*[:=]?\s*(\d+\.\d{4,})", re.IGNORECASE)
_LOST = re.compile(r"\bnumber of (?:nan|skipped) iterations:\s*(\d+)")
_SKIPPED = re.compile(r"\bstep=(\d+), skipped=(\d+)")
_PROCESSES = (re.compile(r"\bnum_local_procs=(\d+)"), re.compile(r"\bProcess \d+ exits successfully\b"))
_WORLD = re.compile(r"(?<!-)\bworld[ _]size\s*[:=]\s*(\d+)", re.IGNORECASE)
_LAUNCHED = re.compile(r"\b(?:torchrun\b.*--nproc[_-]per[_-]node[ =]|(?:mpi|horovod)run\b.* -np )(\d+)")
_ALONE = re.compile(r"\bTraining with a single process\b|\bNumber of GPUs: 1$")
_CHECKPOINT = (re.compile(r"\bsaving checkpoint at\b"), re.compile(r"\bsuccessfully saved checkpoint\b"))
WORDS = (
    "/s", "elapsed time", "loss", " iterations:", "world", "checkpoint", "done", "exits", "torchrun", "mpirun",
    "horovodrun", "a single process", "number of gpus", "num_local_procs", "best metric", "total img",
)  # fmt: skip

_FALLS = 4.0  # the last rate against the best one: a last, smaller batch costs less
_SLOWER = 20.0  # one time against the usual one: a checkpoint between two iterations costs less
_SERIES = 5  # from so many figures on they are compared
_SPEAKERS = 4096


class Pace:
    """Of one piece. ``gaps``: code of a gap (`Gap`), text, line."""

    def __init__(self) -> None:
        self._rates: dict[str, tuple[float, float, int]] = {}  # best, last, line of the last
        self._times: list[float] = []  # sorted
        self._losses: dict[str, tuple[str, int]] = {}
        self._found: dict[str, tuple[str, str, int]] = {}
        self._lost = (0, 0)
        self._worlds: dict[str, int] = {}
        self._checkpoints = [0, 0]
        self._launched = self._alone = self._processes = self._exits = 0

    def line(self, number: int, who: str, text: str) -> None:
        for match in _RATE.finditer(text):
            self._rate(number, who, _figure(next(filter(None, match.groups()))))
        for milliseconds in _MILLISECONDS.findall(text):
            self._time(number, _figure(milliseconds))
        loss = _LOSS.search(text)
        if loss and (who in self._losses or len(self._losses) < _SPEAKERS):
            last, times = self._losses.get(who, ("", 0))
            self._losses[who] = (loss[1], times + 1 if loss[1] == last else 1)
            if self._losses[who][1] >= _SERIES:
                self._say("finite", f"a loss that changes: {loss[1]} {_SERIES} times", number)
        lost = _LOST.findall(text)
        if lost:
            self._lost = (max(map(int, lost)), number)
        skipped = _SKIPPED.search(text)
        if skipped and 2 * int(skipped[2]) > int(skipped[1]) > _SERIES:
            self._say("finite", f"steps that are not skipped: {skipped[2]} of {skipped[1]}", number)
        started = _PROCESSES[0].search(text)
        self._processes += int(started[1]) if started else 0
        self._exits += bool(_PROCESSES[1].search(text))
        for size in _WORLD.findall(text):
            self._worlds.setdefault(size, number)
        launched = _LAUNCHED.search(text)
        if launched:
            self._launched = max(self._launched, int(launched[1]))
        elif _ALONE.search(text):
            self._alone = self._alone or number
        if "checkpoint" in text:
            self._checkpoints = [
                count + bool(pattern.search(text)) for count, pattern in zip(self._checkpoints, _CHECKPOINT)
            ]

    def gaps(self) -> Iterator[tuple[str, str, int]]:
        yield from self._found.values()
        for best, last, number in self._rates.values():
            if last * _FALLS < best:
                yield "figure", f"a steady rate: {last:g}, and {best:g} before", number
        if self._lost[0]:
            yield "finite", f"no iteration that was skipped or NaN: {self._lost[0]}", self._lost[1]
        if len(self._worlds) > 1:
            yield "ranks", f"one world size: {', '.join(self._worlds)}", max(self._worlds.values())
        if self._launched > 1 and self._alone:
            yield "ranks", f"a job of {self._launched} processes: each says that it is alone", self._alone
        if 0 < self._exits < self._processes:
            yield "ranks", f"the end of {self._processes - self._exits} of {self._processes} processes", 0
        begun, done = self._checkpoints
        if begun > done:
            yield "job_end", f"the end of {begun - done} of {begun} checkpoints", 0

    def _rate(self, number: int, who: str, rate: float) -> None:
        if not rate:
            self._say("figure", "a rate above 0", number)
        elif who in self._rates or len(self._rates) < _SPEAKERS:
            self._rates[who] = (max(self._rates.get(who, (0.0,))[0], rate), rate, number)

    def _time(self, number: int, milliseconds: float) -> None:
        usual = self._times[len(self._times) // 2] if self._times else 0.0
        if not milliseconds:
            self._say("figure", "a time above 0 for an iteration", number)
        elif len(self._times) >= _SERIES and milliseconds > _SLOWER * usual:
            self._say("figure", f"even times of iterations: {milliseconds:g} ms, and {usual:g} ms before", number)
        if len(self._times) < _SPEAKERS:
            bisect.insort(self._times, milliseconds)

    def _say(self, code: str, text: str, number: int) -> None:
        self._found.setdefault(code + text[:12], (code, text, number))


def _figure(text: str) -> float:
    try:
        return float(text.rstrip(".,").replace(",", ""))
    except ValueError:
        return 0.0
