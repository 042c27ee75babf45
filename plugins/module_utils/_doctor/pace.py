"""Read whether what a program repeats goes on as it began: rates, times, losses, its number of ranks. Pure.

A program that reaches its end can still have crawled, trained on nothing or written no checkpoint; its last line is
then no proof of a sound job.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import functools
from typing import Iterator, Match

from .._judge.packs import loader
from .._judge.words import Index, all_ways, letters_of
from .._results.readers.reading import number as decimal

_FALLS = 4.0  # the last rate against the best one: a last, smaller batch costs less
_SLOWER = 20.0  # one time against the usual one: a checkpoint between two iterations costs less
_SERIES = 5  # from so many figures on they are compared
_SPEAKERS = 4096
_COUNTED = ("process_ends", "checkpoint_begun", "checkpoint_done")


job_form = functools.partial(loader.form, of="jobs")


@functools.lru_cache(maxsize=1)
def _by_words() -> Index[str]:
    names = loader.load().lists["jobs"].keys() - {"read", "words"}
    return Index((name, way) for name in names for way in all_ways(job_form(name).pattern))


class JobLine:
    """A line or a part of one. A pattern of ``jobs.yml`` is tried only where its words are."""

    __slots__ = ("_possible", "text")

    def __init__(self, text: str) -> None:
        self.text, self._possible = text, _by_words().possible(letters_of(text))

    def every(self, name: str) -> list[Match[str]]:
        return [*job_form(name).finditer(self.text)] if name in self._possible else []

    def search(self, name: str) -> Match[str] | None:
        return job_form(name).search(self.text) if name in self._possible else None


@dataclasses.dataclass(frozen=True)
class Gap:
    """What would have to be shown and was not. ``code``: job, job_end, last_row, last_step, ranks, gpus, finite,
    wrong_values, rows, size, figure, link_speed, line, rest."""

    code: str
    text: str
    file: str = ""
    line: int = 0


class Pace:
    """Of one piece."""

    def __init__(self) -> None:
        self._rates: dict[str, tuple[float, float, int]] = {}  # best that two lines reach, last, its line
        self._times: list[float] = []  # sorted
        self._losses: dict[str, tuple[str, int]] = {}
        self._found: dict[str, Gap] = {}
        self._lost = (0, 0)
        self._worlds: dict[str, int] = {}
        self._counts: collections.Counter[str] = collections.Counter()
        self._launched = self._processes = 0

    def line(self, number: int, who: str, line: JobLine) -> None:
        rates = [figure(next(filter(None, match.groups()))) for match in line.every("rate")]
        if rates and not line.search("idle") and (who in self._rates or len(self._rates) < _SPEAKERS):
            # What only one line reaches is no pace: a first step whose work goes on behind it, a burst.
            best, before, _number = self._rates.get(who, (0.0, 0.0, 0))
            self._rates[who] = (max(best, min(before, *rates)), max(rates), number)
        for time in line.every("milliseconds"):
            self._time(number, figure(time[1]))
        loss = line.search("loss")
        if loss and (who in self._losses or len(self._losses) < _SPEAKERS):
            last, times = self._losses.get(who, ("", 0))
            self._losses[who] = (loss[1], times + 1 if loss[1] == last else 1)
            if self._losses[who][1] >= _SERIES:
                self._say("finite", f"a loss that changes: {loss[1]} {_SERIES} times", number)
        lost = [int(match[1]) for match in line.every("lost")]
        self._lost = (max(lost), number) if lost else self._lost
        skipped = line.search("skipped")
        if skipped and 2 * int(skipped[2]) > int(skipped[1]) > _SERIES:
            self._say("finite", f"steps that are not skipped: {skipped[2]} of {skipped[1]}", number)
        started, launched = line.search("processes"), line.search("launched")
        self._processes += int(started[1]) if started else 0
        for size in line.every("world"):
            self._worlds.setdefault(size[1], number)
        if launched:
            self._launched = int(launched[1])
        elif self._launched > 1 and line.search("alone"):
            self._say("ranks", f"a job of {self._launched} processes: each says that it is alone", number)
        self._counts.update(name for name in _COUNTED if line.search(name))

    def gaps(self) -> Iterator[Gap]:
        yield from self._found.values()
        for best, last, number in self._rates.values():
            if not (best or last):
                yield Gap("figure", "a rate above 0", line=number)
            elif last * _FALLS < best:
                yield Gap("figure", f"a steady rate: {last:g}, and {best:g} before", line=number)
        if self._lost[0]:
            yield Gap("finite", f"no iteration that was skipped or NaN: {self._lost[0]}", line=self._lost[1])
        if len(self._worlds) > 1:
            yield Gap("ranks", f"one world size: {', '.join(self._worlds)}", line=max(self._worlds.values()))
        ended, begun, done = (self._counts[name] for name in _COUNTED)
        if 0 < ended < self._processes:
            yield Gap("ranks", f"the end of {self._processes - ended} of {self._processes} processes")
        if begun > done:
            yield Gap("job_end", f"the end of {begun - done} of {begun} checkpoints")

    def _time(self, number: int, milliseconds: float) -> None:
        usual = self._times[len(self._times) // 2] if self._times else 0.0
        if not milliseconds:
            self._say("figure", "a time above 0 for an iteration", number)
        elif len(self._times) >= _SERIES and milliseconds > _SLOWER * usual:
            self._say("figure", f"even times of iterations: {milliseconds:g} ms, and {usual:g} ms before", number)
        if len(self._times) < _SPEAKERS:
            bisect.insort(self._times, milliseconds)

    def _say(self, code: str, text: str, number: int) -> None:
        self._found.setdefault(code + text[:12], Gap(code, text, line=number))


def figure(text: str) -> float:
    return decimal(text.rstrip(".,").replace(",", "")) or 0.0
