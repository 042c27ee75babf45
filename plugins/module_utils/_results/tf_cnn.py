# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a training run's output: tf_cnn_benchmarks lines and this collection's machine lines. Pure, streaming.

What the lines mean (tensorflow/benchmarks, benchmark_cnn.py): a step line is the running speed of ONE rank since its
warm-up, so the last one stands for the run; ``total images/sec`` is printed by EVERY rank and is already the total of
all ranks. Hence totals are never added, step lines are never averaged over steps, and the sum of the ranks must meet
the total. If it does not, the log contradicts itself and this reader says so instead of choosing a figure.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any, Mapping

from .tags import Demultiplexer, Line

TOLERANCE = 0.01
_STEP_ROUNDING = 0.05  # images/s: step lines carry one decimal
_TOTAL_ROUNDING = 0.005

_STEP = re.compile(
    r"(?P<step>\d+)\s+images/sec: (?P<speed>\d+(?:\.\d+)?)"
    r"(?: \+/- (?P<uncertainty>\d+\.\d|nan) \(jitter = (?P<jitter>\d+\.\d|nan)\))?"
    # Three decimals in the original; a glued next line may follow at once, so the count of digits matters.
    r"(?:\s+(?P<loss>-?\d+\.\d{3}|-?\d+\.\d+(?=\s|$)|nan|-?inf))?"
)
_TOTAL = re.compile(r"total images/sec: (?P<total>\d+\.\d{2}|\d+(?:\.\d+)?)")
_GLOBAL = re.compile(r"Batch size:\s+(?P<global>\d+) global")
_PER_DEVICE = re.compile(r"(?P<device>\d+) per device")
_PARAMETERS = re.compile(
    r"^(?P<name>Model|Dataset|Mode|Num batches|Variables|Image size|Precision|PyTorch|TensorFlow):\s+(?P<value>\S.*)"
)
_MACHINE = "ROCEMESH {"
_UNGLUE_MINIMUM = 3  # lines; fewer prove nothing about a numbered listing


@dataclasses.dataclass(frozen=True)
class StepLine:
    """Running speed (images/s) of one rank at ``step``; ``rank`` None if the output does not tell."""

    rank: int | None
    step: int
    images_per_second: float
    uncertainty: float | None
    jitter: float | None
    loss: float | None


@dataclasses.dataclass(frozen=True)
class Total:
    rank: int | None
    images_per_second: float


@dataclasses.dataclass(frozen=True)
class Problem:
    """``code`` for programs, ``message`` for people."""

    code: str
    message: str


@dataclasses.dataclass(frozen=True)
class RankResult:
    """One rank's figure. ``source``: machine_line (exact) or step_line (one decimal)."""

    rank: int | None
    host: str | None
    images_per_second: float
    source: str
    loss: float | None = None
    machine: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class RunResult:
    """``total``: the lowest printed total (images/s), None if none; ``sum_of_ranks``: of the per-rank figures.

    ``agree`` is None if one of the two is missing. ``relative_difference`` = (sum - total) / total.
    """

    ranks: tuple[RankResult, ...]
    totals: tuple[Total, ...]
    total: float | None
    sum_of_ranks: float | None
    relative_difference: float | None
    agree: bool | None
    steps: tuple[StepLine, ...]
    parameters: Mapping[str, str]
    numbered_listing: bool
    problems: tuple[Problem, ...]

    @property
    def good(self) -> bool:
        """A complete run whose figures support each other."""
        return self.agree is True and not self.problems

    def as_result(self) -> dict[str, Any]:
        """Plain types, for a filter or a module."""
        return {
            "ok": self.good,
            "ranks": len(self.ranks),
            "total": self.total,
            "per_rank": [
                {
                    "rank": rank.rank,
                    "host": rank.host,
                    "images_per_second": rank.images_per_second,
                    "source": rank.source,
                    "loss": rank.loss if rank.loss is None or math.isfinite(rank.loss) else str(rank.loss),
                    "machine": dict(rank.machine),
                }
                for rank in self.ranks
            ],
            "sum_of_ranks": self.sum_of_ranks,
            "agreement": {"ok": self.agree, "relative_difference": self.relative_difference},
            "printed_totals": [total.images_per_second for total in self.totals],
            "last_step": max((step.step for step in self.steps), default=None),
            "parameters": dict(self.parameters),
            "numbered_listing": self.numbered_listing,
            "problems": [dataclasses.asdict(problem) for problem in self.problems],
        }


@dataclasses.dataclass
class _Found:
    """What one way of reading the lines has found so far."""

    steps: list[StepLine] = dataclasses.field(default_factory=list)
    totals: list[Total] = dataclasses.field(default_factory=list)
    parameters: dict[str, str] = dataclasses.field(default_factory=dict)

    def take(self, rank: int | None, text: str) -> list[StepLine]:
        new = []
        for match in _STEP.finditer(text):
            new.append(
                StepLine(
                    rank,
                    int(match["step"]),
                    float(match["speed"]),
                    _number(match["uncertainty"]),
                    _number(match["jitter"]),
                    _number(match["loss"]),
                )
            )
        self.steps += new
        self.totals += [Total(rank, float(match["total"])) for match in _TOTAL.finditer(text)]
        for key, pattern in (("batch_size_global", _GLOBAL), ("batch_size_per_device", _PER_DEVICE)):
            found = pattern.search(text)
            if found:
                self.parameters.setdefault(key, found[1])
        parameter = _PARAMETERS.match(text.strip())
        if parameter:
            self.parameters.setdefault(parameter["name"].lower().replace(" ", "_"), parameter["value"].strip())
        return new


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


class Reader:
    """Feed output in pieces of any size; `feed` returns the new step lines (live progress), `result` the judgement.

    ``expected_ranks``: how many ranks were started; None: believe the log.
    """

    def __init__(self, expected_ranks: int | None = None) -> None:
        self._expected = expected_ranks
        self._demultiplexer = Demultiplexer()
        self._plain = _Found()
        # The second reading: a web page's listing, where each line begins with its own number ("91   images/sec" is
        # line 9, step 1). Kept beside the first one until a line does not fit.
        self._unglued: _Found | None = _Found()
        self._untagged_lines = 0
        self._machine: list[tuple[int | None, dict[str, Any]]] = []
        self._problems: list[Problem] = []

    def feed(self, text: str) -> list[StepLine]:
        return [step for line in self._demultiplexer.feed(text) for step in self._line(line)]

    def result(self) -> RunResult:
        """End of the output."""
        for line in self._demultiplexer.close():
            self._line(line)
        numbered = self._untagged_lines >= _UNGLUE_MINIMUM and self._unglued is not None and bool(self._unglued.steps)
        found = self._unglued if numbered and self._unglued is not None else self._plain
        return _judge(found, self._machine, self._problems, self._expected, numbered)

    def _line(self, line: Line) -> list[StepLine]:
        if line.stream != "stdout" and "ROCEMESH" not in line.text and "images/sec" not in line.text:
            return []
        mark = line.text.find(_MACHINE)
        if mark >= 0:
            self._machine_line(line.rank, line.text[mark + len(_MACHINE) - 1 :])
            return self._plain.take(line.rank, line.text[:mark])
        if line.rank is None:
            self._listing(line.text.strip())
        else:
            self._unglued = None
        return self._plain.take(line.rank, line.text)

    def _listing(self, text: str) -> None:
        if self._unglued is None or not text:
            return
        self._untagged_lines += 1
        number = str(self._untagged_lines)
        if text.startswith(number):
            self._unglued.take(None, text[len(number) :])
        else:
            self._unglued = None

    def _machine_line(self, tag: int | None, text: str) -> None:
        self._unglued = None
        who = "a rank" if tag is None else f"rank {tag}"
        try:
            record, _end = json.JSONDecoder().raw_decode(text)
            rank, world, speed = int(record["rank"]), int(record["world"]), float(record["images_per_second"])
        except (ValueError, KeyError, TypeError) as error:
            self._problem(
                "unreadable_machine_line", f"the machine line of {who} cannot be read ({error}): {text[:200]!r}"
            )
            return
        if not math.isfinite(speed) or speed <= 0 or not 0 <= rank < world:
            self._problem("unreadable_machine_line", f"the machine line of {who} makes no sense: {text[:200]!r}")
        elif tag is not None and tag != rank and world > 1:
            self._problem("rank_conflict", f"mpirun's tag says rank {tag}, the machine line in it says rank {rank}")
        else:
            self._machine.append((tag, record))

    def _problem(self, code: str, message: str) -> None:
        self._problems.append(Problem(code, message))


def parse(text: str, expected_ranks: int | None = None) -> RunResult:
    """Read a complete output."""
    reader = Reader(expected_ranks)
    reader.feed(text)
    return reader.result()


def _judge(
    found: _Found,
    machine: list[tuple[int | None, dict[str, Any]]],
    problems: list[Problem],
    expected: int | None,
    numbered: bool,
) -> RunResult:
    problems = list(problems)

    def problem(code: str, message: str) -> None:
        problems.append(Problem(code, message))

    separate = len(machine) > 1 and all(record["world"] == 1 for _tag, record in machine)
    if separate:
        problem(
            "not_one_job",
            f"{len(machine)} processes each trained alone (each says that it is the only rank): they were not one job",
        )
    ranks = _rank_results(found, machine, separate, problem)
    world = expected or _world(found, machine, separate)
    _complete(ranks, found, world, problem)
    _sane(ranks, found, machine, problem)

    totals = tuple(found.totals)
    lowest = min((total.images_per_second for total in totals), default=None)
    if totals and lowest is not None:
        highest = max(total.images_per_second for total in totals)
        if highest - lowest > TOLERANCE * lowest + 2 * _TOTAL_ROUNDING:
            problem(
                "totals_disagree",
                f"the ranks print different totals, {lowest:.2f} to {highest:.2f} images/s; "
                "each should be the total of all ranks",
            )
    if not totals and (ranks or found.steps):
        problem("missing_total", "no 'total images/sec' line: the run did not end normally")
    sum_of_ranks = math.fsum(rank.images_per_second for rank in ranks) if ranks else None
    agree: bool | None = None
    relative: float | None = None
    if sum_of_ranks is not None and lowest:
        relative = (sum_of_ranks - lowest) / lowest
        rounding = _TOTAL_ROUNDING + _STEP_ROUNDING * sum(1 for rank in ranks if rank.source == "step_line")
        agree = abs(sum_of_ranks - lowest) <= TOLERANCE * lowest + rounding
        if not agree:
            problem(
                "inconsistent_total",
                f"the log contradicts itself: the {len(ranks)} ranks add up to {sum_of_ranks:.2f} images/s, "
                f"but the printed total is {lowest:.2f} ({100 * relative:+.1f} %). Neither figure is a result",
            )
    if not ranks and not totals:
        problem("no_result", "no step line, no total and no machine line in this output: nothing was measured")
    return RunResult(
        ranks=ranks,
        totals=totals,
        total=lowest,
        sum_of_ranks=sum_of_ranks,
        relative_difference=relative,
        agree=agree,
        steps=tuple(found.steps),
        parameters=found.parameters,
        numbered_listing=numbered,
        problems=tuple(problems),
    )


def _rank_results(
    found: _Found, machine: list[tuple[int | None, dict[str, Any]]], separate: bool, problem: Any
) -> tuple[RankResult, ...]:
    results: dict[int, RankResult] = {}
    for position, (tag, record) in enumerate(machine):
        # Separate jobs all call themselves rank 0: number them by tag, else by order.
        rank = (position if tag is None else tag) if separate else int(record["rank"])
        if rank in results:
            problem("duplicate_rank", f"rank {rank} reported twice: two runs in one log, or two jobs at once")
            continue
        loss = record.get("loss")
        if record.get("loss_finite") is False:
            loss = math.nan
        host = record.get("host")
        results[rank] = RankResult(
            rank,
            host if isinstance(host, str) else None,
            float(record["images_per_second"]),
            "machine_line",
            float(loss) if isinstance(loss, (int, float)) else None,
            record,
        )
    last: dict[int, StepLine] = {}
    for step in found.steps:
        if step.rank is not None and (step.rank not in last or step.step >= last[step.rank].step):
            last[step.rank] = step
    if last:
        end = max(step.step for step in last.values())
        behind = sorted(rank for rank, step in last.items() if step.step < end)
        if behind:
            problem("unfinished", f"rank(s) {_list(behind)} stopped before step {end}, where the others ended")
    for rank, step in last.items():
        if rank not in results:
            results[rank] = RankResult(rank, None, step.images_per_second, "step_line", step.loss)
    if results:
        return tuple(results[rank] for rank in sorted(results))
    # No marks at all: the lines of the last step are one per rank, but nobody knows whose.
    steps = [step for step in found.steps if step.rank is None]
    end = max((step.step for step in steps), default=0)
    return tuple(
        RankResult(None, None, step.images_per_second, "step_line", step.loss) for step in steps if step.step == end
    )


def _world(found: _Found, machine: list[tuple[int | None, dict[str, Any]]], separate: bool) -> int | None:
    """How many ranks the log itself says there were."""
    if separate:
        return None
    if machine:
        return max(int(record["world"]) for _tag, record in machine)
    whole, part = (found.parameters.get(key) for key in ("batch_size_global", "batch_size_per_device"))
    if whole and part and int(part) and int(whole) % int(part) == 0:
        return int(whole) // int(part)
    return len(found.totals) or None


def _complete(ranks: tuple[RankResult, ...], found: _Found, world: int | None, problem: Any) -> None:
    if world is None or not (ranks or found.totals) or len(ranks) == world:
        return
    known = {rank.rank for rank in ranks}
    missing = [rank for rank in range(world) if rank not in known]
    if len(ranks) < world:
        which = "" if None in known or not ranks else f"; without a result: rank(s) {_list(missing)}"
        problem("missing_ranks", f"{world} ranks were started, {len(ranks)} have a result{which}")
    else:
        problem(
            "too_many_ranks",
            f"{world} ranks were started, but {len(ranks)} have a result: not one job, or two logs in one",
        )


def _sane(
    ranks: tuple[RankResult, ...], found: _Found, machine: list[tuple[int | None, dict[str, Any]]], problem: Any
) -> None:
    checksums = {str(record["checksum"]) for _tag, record in machine if record.get("checksum")}
    if len(checksums) > 1:
        problem("weights_differ", "the ranks ended with different weights: they did not train together")
    sick = [rank for rank in ranks if rank.loss is not None and not math.isfinite(rank.loss)]
    if sick or any(step.loss is not None and not math.isfinite(step.loss) for step in found.steps):
        problem("loss_not_finite", "the loss is not a finite number: the arithmetic broke down, whatever the speed")


def _list(numbers: list[int]) -> str:
    return ", ".join(str(number) for number in numbers)
