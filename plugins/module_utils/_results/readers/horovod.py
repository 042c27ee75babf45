"""Read what Horovod's synthetic benchmarks print (PyTorch, TensorFlow 2, Keras). Pure.

Only rank 0 prints. ``Img/sec per GPU: 234.8 +-42.0`` is the mean of ITS iterations with 1.96 standard deviations, and
``Total img/sec on 16 GPU(s)`` is that mean times the ranks: extrapolated, not measured. The result says so. The program
for Keras prints its first iteration, which warms up, and leaves it out of the mean. Bagua's (synthetic_benchmark.py)
prints ``Iter #0: 4081.0 img/sec GPU``: that, too, is the speed of rank 0 times the ranks, and is given per device.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from .reading import PartsReader, Problems, Several, finite, number, picked, shown, spread
from .tables import Patterns
from .tags import Line

_ITERATIONS = 4096
_TOLERANCE = 0.005
_LINES = Patterns("horovod.yml")


@dataclasses.dataclass
class Run:
    """img/s. ``total`` is extrapolated by the benchmark from rank 0."""

    parameters: dict[str, str] = dataclasses.field(default_factory=dict)
    device: str | None = None
    iterations: list[tuple[int, float]] = dataclasses.field(default_factory=list)
    of_all: bool = False  # the iterations say the speed of all ranks
    mean: float | None = None
    deviation: float | None = None
    total: float | None = None
    ranks: int | None = None
    problems: Problems = dataclasses.field(default_factory=lambda: Problems("horovod"))

    def as_dict(self) -> dict[str, Any]:
        return shown(
            self,
            *("ranks", "device", "total", "parameters", "problems"),
            ok=self.total is not None and not self.problems,
            per_device=self.mean,
            plus_minus=self.deviation,
            total_is_extrapolated=True,
            iterations=[{"iteration": count, "images_per_second": speed} for count, speed in self.iterations],
            images_per_second=spread(finite(speed for _count, speed in self.iterations)),
        )


class Reader(PartsReader[Run]):
    name = "horovod"
    wants = "line of Horovod's synthetic benchmark (img/sec)"
    part = Run
    needles = (b"mg/sec ", b"Model: ", b"Batch size: ", b"Number of ")

    def line(self, line: Line) -> None:
        if parameter := _LINES["parameter"].match(line.text.strip()):
            key = parameter["key"].lower().replace(" ", "_")
            run = self.open(line.rank, lambda run: run.iterations or key in run.parameters)
            run.parameters[key] = parameter["value"]
        for match in _LINES["iteration"].finditer(line.text):
            run = self.open(line.rank, lambda run: run.mean is not None)
            count, speed = int(match["iter"]), float(match["speed"])
            run.device, run.of_all = match["device"], not match["each"]
            run.problems.add_if(run.iterations and count <= run.iterations[-1][0], "iterations_repeat", iteration=count)
            if len(run.iterations) < _ITERATIONS:
                run.iterations.append((count, speed))
        for match in _LINES["mean"].finditer(line.text):
            run = self.open(line.rank, lambda run: run.mean is not None)
            run.mean, run.deviation, run.device = number(match["mean"]), number(match["deviation"]), match["device"]
        for match in _LINES["total"].finditer(line.text):
            run = self.open(line.rank, lambda run: run.total is not None)
            run.total, run.ranks, run.device = number(match["total"]), int(match["ranks"]), match["device"]

    def found(self) -> Several[Run]:
        measured = any(run.device for run in self.parts)
        runs = [run for run in self.parts if run.device or (measured and "number_of_gpus" in run.parameters)]
        for run in runs:
            _judge(run, self.expected_ranks)
        return self.several("runs", runs, measured)


def _judge(run: Run, expected: int | None) -> None:
    add, add_if = run.problems.add, run.problems.add_if
    if run.of_all:
        run.iterations = [(count, speed / run.ranks) for count, speed in run.iterations] if run.ranks else []
    speeds = [speed for _count, speed in run.iterations]
    if not all(map(math.isfinite, [*speeds, *(value for value in (run.mean, run.total) if value is not None)])):
        add("not_finite")
        return
    if run.total is None or run.mean is None or run.ranks is None:
        add("unfinished")
        return
    add_if(expected is not None and run.ranks != expected, "missing_ranks", expected=expected, ranks=run.ranks)
    computed = run.mean * run.ranks
    if abs(computed - run.total) > _TOLERANCE * run.total + 0.05 * (run.ranks + 1):
        add("inconsistent_total", computed=computed, **picked(run, "ranks", "mean", "total"))
    if _means(speeds, run.mean):
        return
    if _means(speeds[1:], run.mean):
        del run.iterations[0]
    elif speeds:
        add("mean_disagrees", count=len(speeds), average=math.fsum(speeds) / len(speeds), mean=run.mean)


def _means(speeds: list[float], mean: float) -> bool:
    return bool(speeds) and abs(math.fsum(speeds) / len(speeds) - mean) <= _TOLERANCE * mean + 0.1


read = Reader.read
