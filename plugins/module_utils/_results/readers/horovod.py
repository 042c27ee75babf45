"""Read what Horovod's synthetic benchmarks print (PyTorch, TensorFlow 2, Keras). Pure.

Only rank 0 prints. ``Img/sec per GPU: 234.8 +-42.0`` is the mean of ITS iterations with 1.96 standard deviations, and
``Total img/sec on 16 GPU(s)`` is that mean times the ranks: extrapolated, not measured. The result says so. The program
for Keras prints its first iteration, which warms up, and leaves it out of the mean.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

from .reading import PartsReader, Problem, Problems, Several, finite, number, plain, plain_problems, spread
from .tags import Line

_ITERATIONS = 4096
_TOLERANCE = 0.005
_N = r"(?:\d{1,15}(?:\.\d{1,9})?|nan|inf)"
_ITERATION = re.compile(rf"Iter #(?P<iter>\d{{1,9}}): (?P<speed>{_N}) img/sec per (?P<device>GPU|CPU)")
_MEAN = re.compile(rf"Img/sec per (?P<device>GPU|CPU): (?P<mean>{_N}) \+- ?(?P<deviation>{_N})")
_TOTAL = re.compile(
    rf"Total img/sec on (?P<ranks>\d{{1,9}}) (?P<device>GPU|CPU)\(s\): (?P<total>{_N}) \+- ?(?P<deviation>{_N})"
)
_PARAMETER = re.compile(r"^(?P<key>Model|Batch size|Number of GPUs|Number of CPUs): (?P<value>\S.{0,120})$")


@dataclasses.dataclass
class Run:
    """img/s. ``total`` is extrapolated by the benchmark from rank 0."""

    parameters: dict[str, str] = dataclasses.field(default_factory=dict)
    device: str | None = None
    iterations: list[tuple[int, float]] = dataclasses.field(default_factory=list)
    mean: float | None = None
    deviation: float | None = None
    total: float | None = None
    ranks: int | None = None
    problems: Problems = dataclasses.field(default_factory=Problems)

    def as_dict(self) -> dict[str, Any]:
        return {
            "ok": self.total is not None and not len(self.problems),
            "ranks": self.ranks,
            "device": self.device,
            "per_device": plain(self.mean),
            "plus_minus": plain(self.deviation),
            "total": plain(self.total),
            "total_is_extrapolated": True,
            "iterations": [{"iteration": count, "images_per_second": plain(speed)} for count, speed in self.iterations],
            "images_per_second": spread(finite(speed for _count, speed in self.iterations)),
            "parameters": dict(self.parameters),
            "problems": plain_problems(self.problems.all()),
        }


@dataclasses.dataclass(frozen=True)
class HorovodSynthetic(Several):
    PARTS = "runs"
    runs: tuple[Run, ...]
    problems: tuple[Problem, ...]


class Reader(PartsReader[HorovodSynthetic, Run]):
    """``expected_ranks``: how many ranks were started; None: believe the log."""

    wants = "line of Horovod's synthetic benchmark (img/sec)"
    needles = (b"mg/sec ", b"Model: ", b"Batch size: ", b"Number of ")

    def __init__(self, expected_ranks: int | None = None) -> None:
        super().__init__()
        self._expected = expected_ranks

    def line(self, line: Line) -> None:
        parameter = _PARAMETER.match(line.text.strip())
        if parameter:
            key = parameter["key"].lower().replace(" ", "_")
            run = self._run(line.rank, lambda run: bool(run.iterations) or key in run.parameters)
            run.parameters[key] = parameter["value"]
        for match in _ITERATION.finditer(line.text):
            run = self._run(line.rank, lambda run: run.mean is not None)
            count, speed = int(match["iter"]), float(match["speed"])
            run.device = match["device"]
            if run.iterations and count <= run.iterations[-1][0]:
                run.problems.add("iterations_repeat", f"iteration {count} twice: several ranks or runs in one log")
            if len(run.iterations) < _ITERATIONS:
                run.iterations.append((count, speed))
        for match in _MEAN.finditer(line.text):
            run = self._run(line.rank, lambda run: run.mean is not None)
            run.mean, run.deviation, run.device = number(match["mean"]), number(match["deviation"]), match["device"]
        for match in _TOTAL.finditer(line.text):
            run = self._run(line.rank, lambda run: run.total is not None)
            run.total, run.ranks = number(match["total"]), int(match["ranks"])

    def result(self) -> HorovodSynthetic:
        self.finish()
        problems = self.problems.copy()
        if self.left_out:
            problems.add("too_many_runs", f"more than {self.MOST} runs; {self.left_out} were left out")
        runs = tuple(run for run in self.parts if run.iterations or run.mean is not None or run.total is not None)
        for run in runs:
            _judge(run, self._expected)
        if not runs and not problems:
            self.nothing(problems)
        return HorovodSynthetic(runs, problems.all())

    def _run(self, rank: int | None, done: Any) -> Run:
        run = self.current.get(rank)
        return self.begin(rank, Run()) if run is None or done(run) else run


def _judge(run: Run, expected: int | None) -> None:
    add = run.problems.add
    speeds = [speed for _count, speed in run.iterations]
    if not all(map(math.isfinite, [*speeds, *(value for value in (run.mean, run.total) if value is not None)])):
        add("not_finite", "a speed is not a finite number")
        return
    if run.total is None or run.mean is None or run.ranks is None:
        add(
            "unfinished", "the closing lines (Img/sec per GPU, Total img/sec) are missing: the run did not end normally"
        )
        return
    if expected is not None and run.ranks != expected:
        add("missing_ranks", f"{expected} ranks were started, the total is of {run.ranks}")
    if abs(run.mean * run.ranks - run.total) > _TOLERANCE * run.total + 0.05 * (run.ranks + 1):
        add(
            "inconsistent_total",
            f"the log contradicts itself: {run.ranks} x {run.mean} is {run.mean * run.ranks:.1f} img/s, the total says "
            f"{run.total}",
        )
    if _means(speeds, run.mean):
        return
    if _means(speeds[1:], run.mean):
        del run.iterations[0]
    elif speeds:
        add(
            "mean_disagrees",
            f"{len(speeds)} iterations average to {math.fsum(speeds) / len(speeds):.1f} img/s, the log says {run.mean}",
        )


def _means(speeds: list[float], mean: float) -> bool:
    return bool(speeds) and abs(math.fsum(speeds) / len(speeds) - mean) <= _TOLERANCE * mean + 0.1


read = Reader.read
