"""Read what MXNet's tools/bandwidth/measure.py prints: push and pull of all arrays of a network. Pure.

A line says the same thing twice: GB/s per GPU = size * 2 (n - 1) / n / seconds / 1000, with the size in MB of 1e6 and n
the number of LOCAL GPUs. It is computed again; if it does not fit, the line is reported. The first iteration is a
warm-up that is not printed. In the ``dist_*`` kinds n leaves out the other workers: there the figure compares settings,
but it is not what crossed the wire.

Two generations: ``iter 1, 0.023242 sec, 11.100222 GB/sec per gpu, error 0.000000`` with six decimals, and the same
words with as many as a float has.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

from .reading import PartsReader, Problems, Several, finite, integer, number, picked, shown, spread
from .tables import Patterns
from .tags import Line

WRONG = 1e-4  # measure.py's own test asserts that the error is below this
_ITERATIONS = 4096
_LINES = Patterns("mxnet_bandwidth.yml")


@dataclasses.dataclass(frozen=True)
class Iteration:
    """``error``: relative difference to the CPU's result; -1: not tested."""

    iteration: int
    seconds: float
    gigabytes_per_second: float
    error: float | None


@dataclasses.dataclass
class Run:
    """One start of measure.py. ``size_mb``: MB of 1e6 bytes; ``gpus``: local ones, None if the log does not say."""

    command: str | None = None
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    arrays: int | None = None
    size_mb: float | None = None
    iterations: list[Iteration] = dataclasses.field(default_factory=list)
    problems: Problems = dataclasses.field(default_factory=lambda: Problems("mxnet_bandwidth"))

    @property
    def gpus(self) -> int | None:
        listed = self.options.get("gpus")
        return len([gpu for gpu in listed.split(",") if gpu.strip()]) if listed else None

    def as_dict(self) -> dict[str, Any]:
        return shown(
            self,
            *("command", "gpus", "arrays", "options", "size_mb", "iterations", "problems"),
            ok=bool(self.iterations) and not self.problems,
            distributed=self.options["kv_store"].startswith("dist") if "kv_store" in self.options else None,
            **{key: self.options.get(key) for key in ("network", "kv_store")},
            gigabytes_per_second=spread(finite(entry.gigabytes_per_second for entry in self.iterations)),
            seconds=spread(finite(entry.seconds for entry in self.iterations)),
            checked=any(entry.error is not None and entry.error >= 0 for entry in self.iterations),
        )


def bandwidth(size_mb: float, gpus: int, seconds: float) -> float:
    """GB/s (1e9) per GPU that an all-reduce of ``size_mb`` (1e6 bytes) in ``seconds`` moves; ``gpus`` >= 1."""
    return size_mb * 2 * (gpus - 1) / gpus / seconds / 1000


class Reader(PartsReader[Run]):
    name = "mxnet_bandwidth"
    wants = "line of MXNet's measure.py"
    part = Run
    needles = (b"GB/sec per gpu", b"num of arrays = ", b"Namespace(", b"measure.py")

    def line(self, line: Line) -> None:
        if options := _LINES["options"].search(line.text):
            run = self.open(line.rank, lambda run: run.options or run.iterations)
            for option in _LINES["option"].finditer(options["options"]):
                if len(run.options) < 64:
                    run.options[option["key"]] = option["value"].strip("'\"")
        elif size := _LINES["size"].search(line.text):
            run = self.open(line.rank, lambda run: run.size_mb is not None or run.iterations)
            run.arrays, run.size_mb = int(size["arrays"]), number(size["size"])
        elif "GB/sec" not in line.text and (started := _LINES["command"].search(line.text)):
            command = started["command"].strip()
            if "--" in command:
                self.open(line.rank, lambda run: run.command is not None or run.iterations).command = command
        for match in _LINES["iteration"].finditer(line.text):
            self._iteration(line, match)

    def found(self) -> Several[Run]:
        runs = [run for run in self.parts if run.iterations or run.size_mb is not None or run.options]
        for run in runs:
            _judge(run)
        return self.several("runs", runs, any(run.iterations for run in runs))

    def _iteration(self, line: Line, match: re.Match[str]) -> None:
        count, whole = int(match["iter"]), line.ended or match.end() < len(line.text)
        # A run begins behind one that was a run, with the first number again.
        run = self.open(line.rank, lambda run: len(run.iterations) > 1 and count == run.iterations[0].iteration)
        seconds, rate, error = number(match["seconds"]), number(match["rate"]), number(match["error"])
        if seconds is None or rate is None or not math.isfinite(seconds) or not math.isfinite(rate) or rate < 0:
            run.problems.add("not_finite", iteration=count, line=match[0])
            return
        if seconds <= 0:
            run.problems.add("clock_backwards", iteration=count, seconds=seconds)
            return
        if run.iterations and count <= run.iterations[-1].iteration:
            run.problems.add("iterations_repeat", iteration=count, before=run.iterations[-1].iteration)
        if len(run.iterations) < _ITERATIONS:
            run.iterations.append(Iteration(count, seconds, rate, error if whole else None))
        else:
            run.problems.add("too_many_iterations", most=_ITERATIONS)


def _judge(run: Run) -> None:
    add, add_if = run.problems.add, run.problems.add_if
    if not run.iterations:
        add("no_iterations", run=run.command or "a run")
        return
    add_if(run.gpus == 1, "one_gpu")
    options = {"disp_batches": "1", **run.options}  # a line at each multiple of it, up to num_batches
    batches, step = (integer(options.get(name, "")) for name in ("num_batches", "disp_batches"))
    last = run.iterations[-1].iteration
    add_if(batches is not None and step and last + step <= batches, "unfinished", last=last, announced=batches)
    wrong = [entry for entry in run.iterations if entry.error is not None and not entry.error < WRONG]
    if wrong:
        add("wrong_values", allowed=WRONG, **picked(wrong[0], "iteration", "error"))
    if run.size_mb is None or run.gpus is None or not math.isfinite(run.size_mb):
        return
    for entry in run.iterations:
        computed = bandwidth(run.size_mb, run.gpus, entry.seconds)
        # Six decimals of the seconds, and of the rate.
        slack = 1e-3 * computed + computed * 0.5e-6 / entry.seconds + 1e-6
        if abs(computed - entry.gigabytes_per_second) > slack:
            said = picked(entry, "iteration", "seconds", "gigabytes_per_second")
            add("bandwidth_disagrees", computed=computed, **picked(run, "size_mb", "gpus"), **said)


read = Reader.read
