"""Read the machine lines of this collection's training: one JSON record per rank, several runs in one log. Pure.

A record (workloads/resnet50) carries the rank's own speed over its ``wall_seconds`` and the total of all ranks as this
rank knows it. Everything in it that can be computed a second time is: images / wall_seconds must be the speed, the sum
of the ranks must meet the total, all ranks must name the same total, world and weights.

Also read: the file that ``--json`` writes (``{"format": 1, "ranks": [...]}``), and the one-line text form
``rank 0/4 bs 4 sz 64 params N img/s/rank F total F step_ms mean F min F max F allreduce_ms F ... loss F`` of the
measurements that this collection was designed with.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any, Mapping, Sequence

from . import machine
from .reading import RECORD_LIMIT, PartsReader, Problems, Several, finite, names, number, shown, spread, who
from .tables import Patterns
from .tags import Line

TOLERANCE = 0.01  # sum of the ranks against the total: the slowest rank's clock counts for all
_OWN = 0.001  # a record's own figures against each other: only rounding
_AT_THE_TOP = ("world", "ranks", "hosts", "total", "sum_of_ranks", "agreement", "images_per_second", "per_rank")
_FILE_LIMIT = 1 << 25  # bytes of a --json file

_LINES = Patterns("torch_ranks.yml")


@dataclasses.dataclass
class Run:
    """One run: the records of its ranks in their order (images/s).

    ``total``: the lowest that a rank names; ``relative_difference`` = (sum - total) / total, both None if unknown.
    ``agree``: they meet within 1 %.
    """

    ranks: tuple[Mapping[str, Any], ...]
    world: int
    sum_of_ranks: float
    total: float | None = None
    relative_difference: float | None = None
    agree: bool | None = None
    problems: Problems = dataclasses.field(default_factory=lambda: Problems("torch_ranks"))

    def as_dict(self) -> dict[str, Any]:
        speeds = [float(record["images_per_second"]) for record in self.ranks]
        return shown(
            self,
            *("world", "total", "sum_of_ranks", "problems"),
            ok=self.agree is True and not self.problems,
            ranks=len(self.ranks),
            hosts=sorted({str(record["host"]) for record in self.ranks if record.get("host")}),
            agreement={"ok": self.agree, "relative_difference": self.relative_difference},
            images_per_second=spread(speeds),
            slowest_rank=self.ranks[speeds.index(min(speeds))]["rank"] if speeds else None,
            per_rank=self.ranks,
        )


class Reader(PartsReader[Run]):
    """Of the only run the result has the figures at the top as well; with none or several they are None there."""

    name = "torch_ranks"
    wants = "machine line (ROCEMESH {...})"
    needles = (machine.NEEDLE, b" img/s/rank ")

    def __init__(self, expected_ranks: int | None = None) -> None:
        super().__init__(expected_ranks)
        self._runs: list[dict[int, Mapping[str, Any]]] = []
        self._times: dict[int, int] = {}  # rank -> how many records it has
        self._records = 0
        self._alone: dict[int, list[Mapping[str, Any]]] = {}  # tag -> records that say "I am the only rank"
        self._file: bytearray | None = bytearray()  # the start of what may be the file of --json

    def slow(self, part: bytes) -> None:
        super().slow(part)
        if self._file is not None:
            self._file += part
            start = self._file[:256].lstrip()
            if (start and not start.startswith(b"{")) or len(self._file) > _FILE_LIMIT:
                self._file = None

    def found(self) -> Several[Run]:
        if not self._records and self._file:
            self._json_file(bytes(self._file))
        runs = [_judge(list(records.values()), self.expected_ranks) for records in self._runs]
        runs += [_judge([record], self.expected_ranks) for tag in sorted(self._alone) for record in self._alone[tag]]
        if len(self._alone) > 1:
            self.problems.add("not_one_job", count=len(self._alone))
        elif len(runs) > 1:
            self.problems.add("several_runs", runs=len(runs))
        many = self._records > RECORD_LIMIT
        self.problems.add_if(many, "too_many_records", records=self._records, most=RECORD_LIMIT)
        only: dict[str, Any] = runs[0].as_dict() if len(runs) == 1 else {"per_rank": []}
        return self.several("runs", runs, runs, **{key: only.get(key) for key in _AT_THE_TOP})

    def line(self, line: Line) -> None:
        if machine.MARK in line.text:
            for part in line.text.split("ROCEMESH ")[1:]:  # two in one line where a newline was lost
                if record := machine.record_of("ROCEMESH " + part, line.rank, self.problems):
                    self._add(line.rank, record)
        for match in _LINES["text"].finditer(line.text):
            if line.ended or match.end() < len(line.text):
                self._text(line.rank, match)

    def _text(self, tag: int | None, match: re.Match[str]) -> None:
        loss = number(match["loss"] or "")
        record: dict[str, Any] = {
            **{key: int(match[key]) for key in ("rank", "world", "batch_size", "image_size", "parameters")},
            "images_per_second": number(match["speed"]),
            "total_images_per_second": number(match["total"]),
            "step": {f"{key}_ms": number(match[key]) for key in ("mean", "min", "max")},
            "allreduce_ms": number(match["allreduce"]),
            "loss": loss if loss is not None and math.isfinite(loss) else None,
            "loss_finite": loss is None or math.isfinite(loss),
        }
        try:
            machine.check(record)
        except ValueError as error:
            self.problems.add("unreadable_machine_line/text", who=who(tag), error=error, line=match[0][:200])
            return
        # Two decimals of a figure below 1 are half a percent.
        self._add(tag, {**record, "rounding": 0.005})

    def _add(self, tag: int | None, record: dict[str, Any]) -> None:
        if machine.is_foreign(record, tag, self.problems):
            return
        self._records += 1
        if self._records > RECORD_LIMIT:
            return
        if record["world"] == 1 and tag is not None:
            self._alone.setdefault(tag, []).append(record)
            return
        # The n-th record of a rank belongs to the n-th run, however the ranks are interleaved.
        rank = record["rank"]
        time = self._times[rank] = self._times.get(rank, 0) + 1
        if time > len(self._runs):
            self._runs.append({})
        self._runs[time - 1][rank] = record

    def _json_file(self, data: bytes) -> None:
        try:
            for record in json.loads(data)["ranks"]:
                machine.check(record)
                self._add(None, dict(record))
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            return  # not that file; the census says what it is


def _judge(records: Sequence[Mapping[str, Any]], expected: int | None) -> Run:
    records = sorted(records, key=lambda record: int(record["rank"]))
    worlds = sorted({record["world"] for record in records})
    world = expected or worlds[-1]
    run = Run(tuple(records), world, math.fsum(float(record["images_per_second"]) for record in records))
    problems = run.problems
    problems.add_if(len(worlds) > 1 or world != worlds[-1], "worlds_differ", worlds=names(worlds), world=world)
    missing = sorted(set(range(min(world, RECORD_LIMIT))) - {record["rank"] for record in records})
    problems.add_if(missing, "missing_ranks", world=world, records=len(records), missing=names(missing))
    problems.add_if(machine.weights_differ(records), "weights_differ")
    sick = [record["rank"] for record in records if record.get("loss_finite") is False]
    problems.add_if(sick, "loss_not_finite", ranks=names(sick))
    for key in ("batch_size", "image_size", "precision", "backend", "batches", "torch", "cuda"):
        values = sorted({str(record[key]) for record in records if record.get(key) is not None})
        problems.add_if(len(values) > 1, "ranks_differ", key=key, values=names(values))
    for record in records:
        _own(record, problems)
    _total(run)
    return run


def _own(record: Mapping[str, Any], problems: Problems) -> None:
    """What a record says twice must be the same."""
    rank, speed = record["rank"], float(record["images_per_second"])
    times = {key: machine.real(record.get(key)) for key in ("wall_seconds", "busy_seconds")}
    step = record.get("step")
    steps = {key: machine.real(value) for key, value in step.items()} if isinstance(step, Mapping) else {}
    for key, value in [*times.items(), *steps.items()]:
        problems.add_if(value is not None and value <= 0, "clock_backwards", rank=rank, key=key, value=value)
    wall, busy = times["wall_seconds"], times["busy_seconds"]
    problems.add_if(wall and busy and busy > wall * (1 + _OWN), "clock_backwards/busy", rank=rank, busy=busy, wall=wall)
    low, middle, high = (steps.get(key) for key in ("min_ms", "median_ms", "max_ms"))
    middle = steps.get("mean_ms") if middle is None else middle
    if low is not None and middle is not None and high is not None and not low <= middle <= high:
        problems.add("record_contradicts_itself/step", rank=rank, low=low, middle=middle, high=high)
    batches, batch_size = machine.real(record.get("batches")), machine.real(record.get("batch_size"))
    if wall and wall > 0 and batches and batch_size:
        computed = batches * batch_size / wall
        if abs(computed - speed) > _OWN * speed + 1e-4:
            said = {"batches": batches, "batch_size": batch_size, "wall": wall, "speed": speed}
            problems.add("record_contradicts_itself", rank=rank, computed=computed, **said)


def _total(run: Run) -> None:
    rounding = math.fsum(float(record.get("rounding", 0)) for record in run.ranks)
    totals = finite(machine.real(record.get("total_images_per_second")) for record in run.ranks)
    if not totals or min(totals) <= 0:
        run.problems.add("missing_total")
        return
    lowest, highest = min(totals), max(totals)
    # In the text form each rank's total is its own speed times the ranks: there they differ as the ranks do.
    apart = not rounding and highest - lowest > TOLERANCE * lowest
    run.problems.add_if(apart, "totals_disagree", lowest=lowest, highest=highest)
    run.total, run.relative_difference = lowest, (run.sum_of_ranks - lowest) / lowest
    run.agree = abs(run.sum_of_ranks - lowest) <= TOLERANCE * lowest + rounding
    said = {"sum": run.sum_of_ranks, "total": lowest, "percent": 100 * run.relative_difference}
    run.problems.add_if(not run.agree, "inconsistent_total", ranks=len(run.ranks), **said)


read = Reader.read
