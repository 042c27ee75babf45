"""Read a training run's output: tf_cnn_benchmarks lines and this collection's machine lines. Pure, streaming.

What the lines mean (tensorflow/benchmarks, benchmark_cnn.py): a step line is the running speed of ONE rank since its
warm-up, so the last one represents the run; ``total images/sec`` is printed by EVERY rank and is already the total of
all ranks. Hence totals are never added, step lines are never averaged over steps, and the sum of the ranks must meet
the total. If it does not, the log contradicts itself and this reader says so instead of choosing a figure; but the
total may count time outside the steps, and workers of which nothing says how many there are and that print no steps.

Constant memory: of the step lines a bounded, even selection is kept (`RunResult.steps`), and each rank's last one.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any, Mapping, NamedTuple

from . import machine
from .reading import RECORD_LIMIT, Kept, LogReader, Problem, integer, names, shown, who
from .tables import Patterns
from .tags import Line

TOLERANCE = 0.01
_STEP_ROUNDING = 0.05  # images/s: step lines carry one decimal
_TOTAL_ROUNDING = 0.005
_OUTSIDE = 0.25  # of the time at most is outside the steps, which their rate leaves out and the total counts

_STEP_LIMIT = 20_000  # step lines that are kept for a curve

_LINES = Patterns("tf_cnn.yml")
# What a line must contain to be looked at. In the header most parameters have two blanks behind the colon.
_HEADER = (b":  ", b"Num batches:", b"Data format:", b"Horovod on:", b" per device")
_NEEDLES = (b"images/sec: ", machine.NEEDLE, *_HEADER)
# The line that a log of millions of lines consists of: tagged once, at its start, complete and finite.
_USUAL = re.compile(
    rb"^(\[1,(\d{1,9})\]<stdout>:(\d{1,12})\timages/sec: \d{1,9}\.\d \+/- \d{1,9}\.\d \(jitter = \d{1,9}\.\d\)"
    rb"\t\d{1,6}\.\d{3})\n",
    re.MULTILINE,
)
_USUAL_SPAN = 1 << 16  # bytes that are looked at together
_UNGLUE_MINIMUM = 3  # lines; fewer prove nothing about a numbered listing


class StepLine(NamedTuple):
    """Running speed (images/s) of one rank at ``step``; ``rank`` None if the output does not tell."""

    rank: int | None
    step: int
    images_per_second: float
    loss: float | None


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
    """``totals``: as printed (images/s); ``total``: the lowest of them, None if none; ``sum_of_ranks``: per rank.

    ``agree`` is None if one of the two is missing. ``relative_difference`` = (sum - total) / total.
    ``steps``: at most 20,000, evenly over the log; ``step_lines`` counts all; ``note``: why both hold that differ.
    """

    ranks: tuple[RankResult, ...]
    totals: tuple[float, ...]
    total: float | None
    sum_of_ranks: float | None
    relative_difference: float | None
    agree: bool | None
    steps: tuple[StepLine, ...]
    parameters: Mapping[str, str]
    numbered_listing: bool
    problems: tuple[Problem, ...]
    step_lines: int = 0
    last_step: int | None = None
    note: str = ""

    @property
    def good(self) -> bool:
        """A complete run whose figures support each other."""
        return self.agree is True and not self.problems

    def as_dict(self) -> dict[str, Any]:
        return shown(
            self,
            *("total", "sum_of_ranks", "last_step", "step_lines", "numbered_listing", "parameters", "note", "problems"),
            ok=self.good,
            ranks=len(self.ranks),
            per_rank=self.ranks,
            agreement={"ok": self.agree, "relative_difference": self.relative_difference},
            printed_totals=self.totals,
        )


class _Found:
    """What one way of reading the lines has found so far; bounded."""

    def __init__(self) -> None:
        self.steps = Kept(_STEP_LIMIT)
        self.last: dict[int, StepLine] = {}  # of each tagged rank, the one of its highest step
        self.end = 0  # highest step of the lines without a tag
        self.at_end: list[StepLine] = []  # these lines of that step: one per rank, but of which one is not known
        self.highest: int | None = None
        self.back: dict[int, tuple[int, int]] = {}  # rank -> (from, to): a step that went backwards
        self.first: int | None = None  # step of the first line without a tag
        self.again = False  # it came once more, behind a total
        self.totals: list[float] = []
        self.parameters: dict[str, str] = {}
        self.sick_loss = False
        self.sick_speed: set[int | None] = set()
        self.cut: str | None = None

    def take(self, rank: int | None, text: str, ended: bool) -> None:
        if "images/sec" in text:
            for match in _LINES["step"].finditer(text):
                if not ended and "." not in match["speed"]:
                    self.cut = match[0]  # tf_cnn_benchmarks prints one decimal: the rest of this number is missing
                    continue
                loss = None if match["loss"] is None else float(match["loss"])
                self._step(StepLine(rank, self._number(match["step"]), float(match["speed"]), loss))
            for match in _LINES["total"].finditer(text) if "total" in text else ():
                if not ended and match["total"][-3:-2] != ".":
                    self.cut = match[0]
                elif len(self.totals) < RECORD_LIMIT:
                    self.totals.append(float(match["total"]))
            return
        for key in ("batch_size_global", "batch_size_per_device"):
            if found := _LINES[key].search(text):
                self.parameters.setdefault(key, found[1])
        if parameter := _LINES["parameter"].match(text.strip()):
            self.parameters.setdefault(parameter["name"].lower().replace(" ", "_"), parameter["value"].strip()[:300])

    def _number(self, digits: str) -> int:
        """The step. Above the last one it is glued: ranks without a mark began their lines at once (2020: 20, 20)."""
        batches = integer(self.parameters.get("num_batches", ""))
        above = batches is not None and int(digits) > batches
        again = _LINES["repeated"].fullmatch(digits) if above else None
        return int(again["step"] if again else digits)

    def take_usual(self, lines: list[tuple[bytes, bytes, bytes]]) -> bool:
        """Step lines of the usual shape (line, rank, step), as `take` of each. False, none taken: a step went back."""
        ends: dict[bytes, tuple[int, bytes]] = {}
        for text, rank, number in lines:
            step = int(number)
            if rank not in ends:
                ends[rank] = self.last[int(rank)].step if int(rank) in self.last else 0, b""
            if step < ends[rank][0]:
                return False
            ends[rank] = step, text
        if len(self.last) + len(ends) > RECORD_LIMIT:
            return False
        self.steps.add_all(lines, lambda line: _step_line(*line[:2]))
        for rank, (step, text) in ends.items():
            self.last[int(rank)] = _step_line(text, rank)
            self.highest = max(self.highest or 0, step)
        return True

    def _step(self, step: StepLine) -> None:
        self.steps.add(step)
        self.highest = max(self.highest or 0, step.step)
        self.sick_loss |= step.loss is not None and not math.isfinite(step.loss)
        if not math.isfinite(step.images_per_second):
            self.sick_speed.add(step.rank)
        elif step.rank is None:
            self.first = step.step if self.first is None else self.first
            self.again = self.again or (bool(self.totals) and self.first == step.step < self.end)
            if step.step > self.end:
                self.end, self.at_end = step.step, []
            if step.step == self.end and len(self.at_end) < RECORD_LIMIT:
                self.at_end.append(step)
        else:
            last = self.last.get(step.rank)
            if last is not None and step.step < last.step:
                self.back.setdefault(step.rank, (last.step, step.step))
            elif last is not None or len(self.last) < RECORD_LIMIT:
                self.last[step.rank] = step


def _step_line(text: bytes, rank: bytes) -> StepLine:
    """A line of the usual shape."""
    words = text.decode().rpartition(">:")[2].split()
    return StepLine(int(rank), int(words[0]), float(words[2]), float(words[8]))


class Reader(LogReader[RunResult]):
    name = "tf_cnn"
    wants = "step line, total or machine line"

    def __init__(self, expected_ranks: int | None = None) -> None:
        super().__init__(expected_ranks)
        self._plain = _Found()
        # The second reading: a web page's listing, where each line begins with its own number ("91   images/sec" is
        # line 9, step 1). Kept beside the first one until a line does not fit; until then every line is looked at.
        self._unglued: _Found | None = _Found()
        self._untagged_lines = 0
        self._machine: list[tuple[int | None, dict[str, Any]]] = []  # tag and record

    def quick(self, lines: bytes) -> None:
        """Runs of step lines of the usual shape are taken together."""
        if self._unglued is not None:
            self.slow(lines)
            return
        start, length = 0, len(lines)
        while start < length:
            end = lines.rfind(b"\n", start, start + _USUAL_SPAN) + 1 or lines.index(b"\n", start) + 1
            part = lines[start:end]
            start = end
            # The first line and the last: where either is something else, the search would be in vain.
            usual = all(b"\timages/sec: " in end_of for end_of in (part[:100], part[-100:]))
            if usual and self.demultiplexer.idle:
                found = _USUAL.findall(part)
                if len(found) == part.count(b"\n") and self._plain.take_usual(found):
                    continue
            self.slow(part)

    def found(self) -> RunResult:
        if self._untagged_lines >= _UNGLUE_MINIMUM and self._unglued is not None and self._unglued.steps.seen:
            return self._judge(self._unglued, numbered=True)
        return self._judge(self._plain, numbered=False)

    def line(self, line: Line) -> None:
        mark = line.text.find(machine.MARK)
        if line.rank is not None or mark >= 0:
            self._unglued, self.demultiplexer.needles = None, _NEEDLES
        if line.stream != "stdout" and mark < 0 and "images/sec" not in line.text:
            return
        if mark >= 0:
            record = machine.record_of(line.text[mark:], line.rank, self.problems)
            foreign = record and machine.is_foreign(record, line.rank, self.problems)
            if record and not foreign and len(self._machine) < RECORD_LIMIT:
                self._machine.append((line.rank, record))
        elif line.rank is None:
            self._listing(line.text.strip(), line.ended)
        self._plain.take(line.rank, line.text[:mark] if mark >= 0 else line.text, line.ended or mark >= 0)

    def _listing(self, text: str, ended: bool) -> None:
        if self._unglued is None or not text:
            return
        self._untagged_lines += 1
        number = str(self._untagged_lines)
        if text.startswith(number):
            self._unglued.take(None, text[len(number) :], ended)
        else:
            self._unglued, self.demultiplexer.needles = None, _NEEDLES

    # ----------------------------------------------------------------------------------------------------- judgement

    def _judge(self, found: _Found, numbered: bool) -> RunResult:
        problem = self.problems.add
        records = [record for _tag, record in self._machine]
        separate = len(records) > 1 and all(record["world"] == 1 for record in records)
        self.problems.add_if(separate, "not_one_job", count=len(records))
        ranks = self._ranks(found, separate)
        said = self.expected_ranks or (None if separate else _world(found, records))
        self._complete(ranks, found, said or (None if separate else len(found.totals) or None))
        self._sane(ranks, found, records)

        totals = tuple(found.totals)
        sound = [total for total in totals if math.isfinite(total)]
        lowest = min(sound, default=None)
        self.problems.add_if(len(sound) < len(totals), "speed_not_finite/total")
        apart = not found.last and not records and len(found.at_end) == len(totals) > 1
        apart = apart and all(
            abs(step.images_per_second - total) <= TOLERANCE * total + _STEP_ROUNDING
            for step, total in zip(found.at_end, totals)
        )
        if apart or found.again:
            problem("not_one_job/totals", count=len(totals))
        elif lowest is not None and max(sound) - lowest > TOLERANCE * lowest + 2 * _TOTAL_ROUNDING:
            problem("totals_disagree", lowest=lowest, highest=max(sound))
        self.problems.add_if(not totals and (ranks or found.steps.seen), "missing_total")
        sum_of_ranks = math.fsum(rank.images_per_second for rank in ranks) if ranks and not found.again else None
        agree: bool | None = None
        relative: float | None = None
        note = ""
        if sum_of_ranks and lowest and not apart:
            relative = (sum_of_ranks - lowest) / lowest
            rounding = _TOTAL_ROUNDING + _STEP_ROUNDING * sum(1 for rank in ranks if rank.source == "step_line")
            agree = abs(sum_of_ranks - lowest) <= TOLERANCE * lowest + rounding
            share = round(lowest / sum_of_ranks)
            if share > 1 and not said and abs(share * sum_of_ranks - lowest) <= TOLERANCE * lowest + share * rounding:
                agree, note = True, f"the total is {share} times what is printed: some workers print no steps"
            elif not agree and -_OUTSIDE * sum_of_ranks <= lowest - sum_of_ranks < 0 and not records:
                agree, note = True, f"{100 * (1 - lowest / sum_of_ranks):.1f} % of the time is not in the steps"
            if not agree:
                parts = {"sum": sum_of_ranks, "total": lowest, "percent": 100 * relative}
                problem("inconsistent_total", ranks=len(ranks), **parts)
        self.ended(ranks or totals)
        if not (ranks or totals or "no_result" in self.problems):
            self.nothing()
        figures = (ranks, totals, lowest, sum_of_ranks, relative, agree, tuple(found.steps.entries), found.parameters)
        return RunResult(*figures, numbered, self.problems.all(), found.steps.seen, found.highest, note)

    def _ranks(self, found: _Found, separate: bool) -> tuple[RankResult, ...]:
        results: dict[int, RankResult] = {}
        for position, (tag, record) in enumerate(self._machine):
            # Separate jobs all call themselves rank 0: number them by tag, else by order.
            rank = (position if tag is None else tag) if separate else int(record["rank"])
            if rank in results:
                self.problems.add("duplicate_rank", rank=rank)
                continue
            host = record.get("host")
            name, speed = host if isinstance(host, str) else None, float(record["images_per_second"])
            loss = math.nan if record.get("loss_finite") is False else machine.real(record.get("loss"))
            results[rank] = RankResult(rank, name, speed, "machine_line", loss, record)
        for rank, (before, after) in found.back.items():
            self.problems.add("steps_go_back", rank=rank, before=before, after=after)
        end = max((step.step for step in found.last.values()), default=0)
        behind = sorted(rank for rank, step in found.last.items() if step.step < end)
        self.problems.add_if(behind, "unfinished", ranks=names(behind), end=end)
        # Without any mark the lines of the last step are one per rank, but of which one is not known.
        unmarked = [] if results or found.last else found.at_end
        steps = [*(step for rank, step in found.last.items() if rank not in results), *unmarked]
        stepped = [RankResult(step.rank, None, step.images_per_second, "step_line", step.loss) for step in steps]
        return tuple(sorted([*results.values(), *stepped], key=lambda result: result.rank or 0))

    def _complete(self, ranks: tuple[RankResult, ...], found: _Found, world: int | None) -> None:
        if world is None or not (ranks or found.totals) or len(ranks) == world:
            return
        if len(ranks) > world:
            self.problems.add("too_many_ranks", world=world, ranks=len(ranks))
        elif not ranks:
            self.problems.add("missing_ranks/all")
        else:
            known = {rank.rank for rank in ranks}
            missing = names(rank for rank in range(world) if rank not in known)
            without = "" if None in known else f"; without a result: rank(s) {missing}"
            self.problems.add("missing_ranks", world=world, ranks=len(ranks), without=without)

    def _sane(self, ranks: tuple[RankResult, ...], found: _Found, records: list[dict[str, Any]]) -> None:
        self.problems.add_if(machine.weights_differ(records), "weights_differ")
        self.problems.add_if(found.sick_speed, "speed_not_finite", ranks=names(who(rank) for rank in found.sick_speed))
        self.problems.add_if(found.cut is not None, "cut_line", figure=found.cut)
        if found.sick_loss or any(rank.loss is not None and not math.isfinite(rank.loss) for rank in ranks):
            self.problems.add("loss_not_finite")


read = Reader.read


def _world(found: _Found, records: list[dict[str, Any]]) -> int | None:
    """How many ranks the log itself says there were."""
    if records:
        return max(int(record["world"]) for record in records)
    whole, part = (found.parameters.get(key) for key in ("batch_size_global", "batch_size_per_device"))
    if whole and part and int(part) and int(whole) % int(part) == 0:
        devices = int(whole) // int(part)
        own = len(_LINES["own_device"].findall(found.parameters.get("devices", "")))
        return devices // own if own and devices % own == 0 else devices
    return None
