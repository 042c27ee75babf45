"""Read what perftest prints: ib_write_bw, ib_read_bw, ib_send_bw, ib_write_lat and their sisters. Pure.

Units: ``MB/sec`` (before 2024) and ``MiB/sec`` are the same thing, 2^20 bytes; ``Gb/sec`` is 1e9 bits. Here everything
is GB/s of 1e9 and Gb/s = 8 x that. A row says its bandwidth twice: bytes x message rate must be it (twice it in a
bidirectional test, where both directions are added up), so a table in the wrong unit is found out.

Server and client print the same table. Captured together, their lines are interleaved and each head occurs twice: the
same measurement printed twice counts once, two different ones of one size are reported. Below one head, rows without a
peak are those of ``--run_infinitely``: each is a measurement of its own.

Columns that are not known are read around where the message rate proves the row; else the table is refused and shown.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any, Iterable

from .reading import PartsReader, Problems, Several, integer, number, shown
from .tables import Patterns
from .tags import Line

_ROWS = 4096
_ADDRESSES = 64  # per test
UNITS = {**dict.fromkeys(("MB/sec", "MiB/sec"), float(1 << 20)), "Gb/sec": 1e9 / 8}
_SAME = 0.02  # bandwidth against bytes x message rate
_PROOF = 0.1  # what rounding leaves of a proof that it is another unit

_LINES = Patterns("perftest.yml")
_LATENCIES = (
    *(f"t_{name}[usec]" for name in ("avg", "min", "max", "typical", "stdev")),
    *("99% percentile[usec]", "99.9% percentile[usec]"),
)
_ENDS = ("local", "remote")
_ALL = 1 << 23  # the last size of -a


@dataclasses.dataclass(frozen=True)
class Bandwidth:
    """``gigabytes_per_second``: average, 1e9; ``peak`` the same unit, None if it was not measured (-D prints 0)."""

    bytes: int
    iterations: int
    gigabytes_per_second: float
    peak_gigabytes_per_second: float | None
    message_rate_mpps: float | None

    @property
    def gigabits_per_second(self) -> float:
        return 8 * self.gigabytes_per_second

    def as_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "gigabits_per_second": self.gigabits_per_second}


@dataclasses.dataclass(frozen=True)
class Latency:
    """Microseconds; None: this table has no such column."""

    bytes: int
    iterations: int
    average_us: float | None
    minimum_us: float | None
    maximum_us: float | None
    typical_us: float | None
    deviation_us: float | None
    p99_us: float | None
    p999_us: float | None


@dataclasses.dataclass
class Test:
    """One measurement, of one or of both ends. ``unit``: as printed; None for latency."""

    title: str | None = None
    verb: str | None = None
    bidirectional: bool | None = None
    unit: str | None = None
    settings: dict[str, str] = dataclasses.field(default_factory=dict)
    gids: list[str] = dataclasses.field(default_factory=list)
    gpu_memory: bool = False
    bandwidth: dict[int, Bandwidth] = dataclasses.field(default_factory=dict)
    again: list[Bandwidth] = dataclasses.field(default_factory=list)  # later rows of a test that goes on and on
    latency: dict[int, Latency] = dataclasses.field(default_factory=dict)
    problems: Problems = dataclasses.field(default_factory=lambda: Problems("perftest"))
    columns: tuple[str, ...] | None = None
    heads: int = 0
    end: str = ""  # local or remote: whose address was said last
    places: set[tuple[str, str, str]] = dataclasses.field(default_factory=set)  # end, LID or GID, and which
    notes: tuple[str, ...] = ()
    closed: bool = False  # the line of dashes behind the rows was seen, or another program began

    @property
    def rows(self) -> int:
        return len(self.bandwidth) + len(self.latency) + len(self.again)

    @property
    def measured(self) -> list[tuple[int, float, float]]:
        """Of each size: microseconds, and GB/s in one direction; 0: not measured."""
        times = [(row.bytes, row.average_us or row.typical_us or 0.0, 0.0) for row in self.latency.values()]
        ways = 2 if self.bidirectional else 1
        return [*((row.bytes, 0.0, row.gigabytes_per_second / ways) for row in self.bandwidth.values()), *times]

    @property
    def loopback(self) -> str:
        """The address that both ends have: the GID where it is said, else the LID, which is 0 in RoCE."""
        for kind in ("GID", "LID"):
            local, remote = ({at for one, of, at in self.places if (one, of) == (end, kind)} for end in _ENDS)
            if local and remote:
                return f"{kind} {local.pop()}" if local == remote and len(local) == 1 else ""
        return ""

    @property
    def complete(self) -> bool:
        return self.closed or self.rows == 1 or max((*self.bandwidth, *self.latency), default=0) >= _ALL

    @property
    def stopped(self) -> int | None:
        """The last size of a test of all sizes (-a: doubled from 2 on) that neither its end nor a line closes."""
        sizes = [*self.bandwidth, *self.latency]
        last: int | None = _ALL
        if self.settings.get("connection_type") == "UD":  # sends no more than the MTU (perftest_communication.c)
            last = integer(self.settings.get("mtu", "").partition("[")[0])
        whole = self.complete or last is None or len(sizes) < 3 or sizes[-1] >= last
        return None if whole or sizes != [2 << index for index in range(len(sizes))] else sizes[-1]

    def as_dict(self) -> dict[str, Any]:
        largest = self.bandwidth[max(self.bandwidth)] if self.bandwidth else None
        return shown(
            self,
            *("title", "verb", "bidirectional", "unit", "settings", "gids", "notes", "problems"),
            gpu_memory=self.gpu_memory or (False if self.settings else None),
            ok=self.rows > 0 and not self.problems,
            **{key: self.settings.get(key) for key in ("device", "link_type")},
            mtu=integer(self.settings.get("mtu", "").partition("[")[0]),
            gid_index=integer(self.settings.get("gid_index", "")),
            queue_pairs=integer(self.settings.get("number_of_qps", "")),
            bandwidth=[*self.bandwidth.values(), *self.again],
            largest=largest,
            peak_gigabytes_per_second=max((row.gigabytes_per_second for row in self.bandwidth.values()), default=None),
            latency=[*self.latency.values()],
        )


class Reader(PartsReader[Test]):
    name = "perftest"
    wants = "table of perftest"
    part = Test

    def line(self, line: Line) -> None:
        line = self.bare(line)
        text = line.text.replace("**", "").strip()  # bold in a page
        if not text:
            return
        # A page may have taken the marks away.
        head = text.startswith(("#bytes", "bytes ")) and "iterations" in text and "[" in text
        if text.startswith("---") or (text.startswith(("#", "bytes ")) and not head):
            self._close(line.rank, not text.startswith(("-", "#,")))
            return
        if text[0].isdigit():
            self._row(line, text)
        elif head:
            self._header(line.rank, text)
        elif text.endswith("Test") and (title := _LINES["title"].search(text)):
            self._title(line.rank, title)
        elif ":" in text:
            self._settings(line.rank, text)
        if not text[0].isdigit():
            if failed := self.failure(text):
                self.problems.add("failed", said=failed[0], remedy=failed[1])
            if _LINES["gpu"].search(text):
                self._test(line.rank).gpu_memory = True
            elif _LINES["note"].match(text) and text[:200] not in (notes := self._test(line.rank).notes):
                self._test(line.rank).notes = (*notes[:31], text[:200])

    def found(self) -> Several[Test]:
        tests = _once(test for test in self.parts if test.rows or test.title or test.columns is not None)
        why = f". The log tells of a failure: {failed}" if (failed := self.census.failures()) else ""
        for test in tests:
            test.problems.add_if(test.stopped, "unfinished", size=test.stopped)
            test.problems.add_if(test.rows and test.loopback, "loopback", address=test.loopback)
            test.problems.add_if(not test.rows, "no_rows", test=test.title or "without a title", failed=why)
        return self.several("tests", tests, bool(tests))

    # ------------------------------------------------------------------------------------------------------- lines

    def _title(self, rank: int | None, title: re.Match[str]) -> None:
        # The title again before any row: the other end of the same test. Behind rows: the next test.
        test = self.open(rank, lambda test: test.rows or test.title not in (None, title[0]))
        test.title, test.verb, test.bidirectional = title[0], title["verb"], bool(title["both"])

    def _settings(self, rank: int | None, text: str) -> None:
        if gid := _LINES["gid"].search(text):
            test = self._test(rank)
            octets = [int(octet) for octet in gid["gid"].split(":")]
            name = ".".join(map(str, octets[12:])) if octets[10:12] == [255, 255] else gid["gid"]
            if len(test.places) < _ADDRESSES and any(octets):
                test.places.add((test.end, "GID", name))
            if name not in test.gids and len(test.gids) < _ADDRESSES:
                test.gids.append(name)
            return
        if address := _LINES["address"].search(text):
            test = self._test(rank)
            test.end = address["end"]
            if len(test.places) < _ADDRESSES and int(address["lid"], 16):
                test.places.add((test.end, "LID", address["lid"]))
            return
        for pair in _LINES["pair"].finditer(text):
            key = re.sub(r"[^a-z0-9]+", "_", pair["key"].lower()).strip("_")
            test, value = self._test(rank), pair["value"][:120]
            if test.settings.setdefault(key, value) != value and key in ("mtu", "link_type"):
                test.problems.add("ends_differ", setting=pair["key"], one=test.settings[key], other=value)

    def _header(self, rank: int | None, text: str) -> None:
        test = self._test(rank)
        text = _LINES["mark"].sub("#", text).replace("%[", "% percentile[")
        columns = tuple(_LINES["column"].findall(text))
        rest = _LINES["column"].sub("", text).strip()
        known = {column: _LINES["known_column"].fullmatch(column) for column in columns}
        units = {match["unit"] for match in known.values() if match and match["unit"]}
        others = [column for column, match in known.items() if not match]
        if rest or len(units) > 1 or not units <= set(UNITS) or (others and "MsgRate[Mpps]" not in columns):
            test.columns = ()
            test.problems.add("unknown_columns", head=text[:200])
            return
        test.columns, test.closed, test.heads = columns, False, test.heads + 1
        test.unit = units.pop() if units else None
        for column in others:
            if not _LINES["part_column"].fullmatch(column):
                test.problems.add("unknown_columns/left_out", column=column[:60])

    def _close(self, rank: int | None, foreign: bool) -> None:
        """perftest draws a line below its rows; a comment is another program's, which may print rows of its own."""
        if test := self.current.get(rank):
            test.closed = test.closed or test.rows > 0
            test.columns = () if test.columns and foreign else test.columns

    def _row(self, line: Line, text: str) -> None:
        test = self.current.get(line.rank)
        if test is None or not test.columns or not _LINES["row"].fullmatch(text):
            return
        words = text.split()
        if len(words) != len(test.columns):
            if test.closed:
                return
            # Old versions name a column MsgRate and leave it out, never the other way round.
            if len(words) + 1 == len(test.columns) and test.columns[-1] == "MsgRate[Mpps]" and line.ended:
                words.append("nan")
            else:
                test.problems.add("unreadable_row", words=len(words), columns=len(test.columns), row=text[:160])
                return
        values = {column: number(word) for column, word in zip(test.columns, words)}
        size, iterations = integer(words[0]), integer(words[test.columns.index("#iterations")])
        # Rates carry six decimals, all else two: with fewer the output was cut within the number.
        cut = not line.ended and len(words[-1].partition(".")[2]) < (6 if "MsgRate" in test.columns[-1] else 2)
        if cut or size is None or iterations is None or None in values.values():
            test.problems.add("unreadable_row/numbers", row=text[:160])
            return
        self.rows += 1
        if test.rows >= _ROWS:
            test.problems.add("too_many_rows", most=_ROWS)
        elif test.unit is None:
            self._latency(test, size, iterations, values)
        else:
            self._bandwidth(test, size, iterations, values)

    @staticmethod
    def _bandwidth(test: Test, size: int, iterations: int, values: dict[str, float | None]) -> None:
        unit = test.unit or ""
        average, peak = values.get(f"BW average[{unit}]"), values.get(f"BW peak[{unit}]")
        rate = values.get("MsgRate[Mpps]")
        if average is None or not math.isfinite(average) or average < 0:
            test.problems.add("not_finite", size=size, rate=average)
            return
        rate = rate if rate is not None and math.isfinite(rate) else None
        ratios = (1, 2) if test.bidirectional else (1,)
        moved = [times * size * rate * 1e6 for times in ratios] if rate else []  # bytes/s
        # Rounding: the rate carries 6 decimals, the bandwidth 2 (6 below 0.1 Gb/s).
        slack = _SAME + 0.5e-6 / (rate or 1)
        scales = UNITS if average and slack + 0.005 / average < _PROOF else {unit: UNITS[unit]}
        fitting = [
            each for each, by in scales.items() for one in moved if abs(average * by - one) <= slack * one + 0.005 * by
        ]
        scale = UNITS[unit if unit in fitting or not fitting else fitting[0]] / 1e9
        row = Bandwidth(size, iterations, average * scale, peak * scale if peak and math.isfinite(peak) else None, rate)
        known = test.bandwidth.setdefault(size, row)
        if known is not row and not peak and test.heads == 1 and len(test.bandwidth) == 1:
            test.again.append(row)
        elif known != row:
            one, other = known.gigabytes_per_second, row.gigabytes_per_second
            if peak or abs(one - other) > _SAME * other:  # else the other end, which times for itself
                test.problems.add("two_measurements", size=size, one=one, other=other)
                return
        if moved and unit not in fitting:
            said = {"printed": average, "computed": moved[0] / 1e9}
            read = f"read as {fitting[0]}" if fitting else "wrong unit, or not one measurement"
            test.problems.add("unit_disagrees", size=size, rate=rate, unit=unit, read=read, **said)

    @staticmethod
    def _latency(test: Test, size: int, iterations: int, values: dict[str, float | None]) -> None:
        row = Latency(size, iterations, *map(values.get, _LATENCIES))
        given = [value for value in dataclasses.astuple(row)[2:] if value is not None]
        if not given or not all(math.isfinite(value) and value >= 0 for value in given):
            test.problems.add("not_finite/latency", size=size)
            return
        known = test.latency.setdefault(size, row)
        test.problems.add_if(known != row, "two_measurements/latency", size=size)
        low, high = row.minimum_us, row.maximum_us
        if low is not None and high is not None and row.average_us is not None and not low <= row.average_us <= high:
            test.problems.add("clock_backwards", size=size)

    def _test(self, rank: int | None) -> Test:
        """The test that is open; what comes behind the line below the rows is of the next one."""
        return self.open(rank, lambda test: test.rows and test.closed)


def _once(tests: Iterable[Test]) -> tuple[Test, ...]:
    """Both ends of one measurement print it: two tests that follow each other with the same title and rows are one."""
    found: list[Test] = []
    for test in tests:
        before = found[-1] if found else Test()
        same = (before.unit, before.bandwidth, before.latency) == (test.unit, test.bandwidth, test.latency)
        if not (same and test.rows and test.title in (None, before.title)):
            found.append(test)
            continue
        before.notes = (*before.notes, "printed by both ends, counted once")
        before.gids += [gid for gid in test.gids if gid not in before.gids]
        before.gpu_memory |= test.gpu_memory
        before.problems.put(*test.problems.all())
    return tuple(found)


read = Reader.read
