"""Read the tables of nccl-tests (all_reduce_perf and its sisters), any number of jobs in one log. Pure.

What the columns mean (NVIDIA/nccl-tests, PERFORMANCE.md): time in us, algbw = size / time and busbw = algbw x the
traffic factor of the collective, both in GB/s of 1e9. ``Avg bus bandwidth`` averages ALL sizes and judges nothing: use
`Table.largest`. Two shapes of row: before NCCL 2.13 without a root column and with a float ``error``, since then with
root and ``#wrong``. A row is read from both ends, because redop may be empty and numbers shrink to ``2e+06``.

The trap: built without ``MPI=1``, mpirun starts n separate jobs of one process each. All print good tables, nothing
crossed the network. Seen by: a head or a rank more than once in one table, all ranks on one host although several were
started, or a traffic factor that belongs to fewer ranks.

A quoted log may have lost the ``#`` of a line; launchers put a label in front of each line; NCCL's lines
(``NCCL_DEBUG``) may break a row, which goes on behind them. A sweep per type and operation is one table, as is a sweep
that is repeated; sizes of two sweeps that take turns are two tests at once.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any, Iterable, Iterator, Sequence

from .reading import RECORD_LIMIT, PartsReader, Problems, Several, integer, names, number, plain, shown
from .tags import Line

_ROWS = 4096  # per table: a sweep has about 30
_AVERAGE_TOLERANCE = 0.005
_FACTOR_TOLERANCE = 0.02
_ROUNDING = 0.005  # GB/s: two decimals

_TYPE = r"(?:u?int(?:8|32|64)|half|float|double|bfloat16|f(?:p)?8(?:e4m3|e5m2)?\w*|f8e4m3|f8e5m2)"
_ROW = re.compile(rf"(?P<size>\d{{1,18}})\s+(?P<count>\d{{1,18}})\s+(?P<type>{_TYPE})\s+(?P<rest>\S.*)")
_ROW_START = re.compile(rf"\d{{1,18}}\s+\d{{1,18}}\s+{_TYPE}(?:\s|$)")
_STAMP = re.compile(r"\s(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)$")
HEAD = re.compile(
    r"(?:# )?nThread (?P<threads>\d{1,9}) nGpus (?P<gpus>\d{1,9}) minBytes (?P<min>\d{1,18}) maxBytes (?P<max>\d{1,18})"
    r"(?: step: (?P<step>\d{1,18})\((?P<way>factor|bytes)\))?"
)
RANK = re.compile(
    r"(?:#\s+)?Rank\s+(?P<rank>\d{1,9}) (?:Group\s+\d{1,9} )?(?:Pid\s+(?P<pid>\d{1,12}) )?on\s+(?P<host>\S+) "
    r"device\s+(?P<device>\d{1,9}) \[(?P<bus>[^\]]{1,40})\]\s*(?P<model>.*)"
)
LESS = re.compile(r"# Reducing maxBytes to (?P<max>\d{1,18})")
BOUNDS = re.compile(r"(?:# )?Out of bounds values : (?P<count>\d{1,18}) (?P<word>OK|FAILED)")
AVERAGE = re.compile(r"(?:# )?Avg bus bandwidth\s+: (?P<value>\S{1,30})(?:\s+(?P<word>OK|FAILED))?")
_NAMED = re.compile(r"# Collective test (?P<when>starting|concluded): (?P<name>\S{1,60})")
_VERSION = re.compile(r"NCCL version (?P<version>\d[\w.+-]{1,40})")
_FAILING = re.compile(r"(?P<host>[^\s:]+)(?: pid \d+)?: Test ")
_PROGRAM = re.compile(
    r"\b(?:all_reduce|all_gather|alltoallv?|broadcast|gather|hypercube|reduce|reduce_scatter|scatter|sendrecv)_perf(?=_mpi\b|\b)"
)


@dataclasses.dataclass(frozen=True)
class Half:
    """Out-of-place or in-place: time (us), algbw and busbw (GB/s, 1e9), wrong values (None: not checked)."""

    time_us: float
    algbw: float
    busbw: float
    wrong: float | None


@dataclasses.dataclass(frozen=True)
class Row:
    """One size (bytes). ``root`` None: the table has no such column."""

    size: int
    count: int
    type: str
    redop: str
    root: int | None
    out_of_place: Half | None
    in_place: Half | None
    stamp: str | None = None

    @property
    def halves(self) -> list[Half]:
        return [half for half in (self.out_of_place, self.in_place) if half is not None]

    @property
    def busbw(self) -> float:
        """The better half: GB/s."""
        return max(half.busbw for half in self.halves)


@dataclasses.dataclass(frozen=True)
class Device:
    rank: int
    host: str
    pid: int
    device: int
    bus: str
    model: str


@dataclasses.dataclass
class Table:
    """One job. ``heads``: how often its head was printed (1 for a sound job); ``average_busbw``: as printed."""

    source: int | None
    collective: str | None = None
    heads: int = 0
    min_bytes: int | None = None
    max_bytes: int | None = None
    devices: list[Device] = dataclasses.field(default_factory=list)
    rows: list[Row] = dataclasses.field(default_factory=list)
    out_of_bounds: int | None = None
    out_of_bounds_ok: bool | None = None
    average_busbw: float | None = None
    average_ok: bool | None = None
    nccl_version: str | None = None
    problems: Problems = dataclasses.field(default_factory=lambda: Problems("nccl_tests"))
    columns: int | None = None  # numbers per half
    rooted: bool | None = None  # whether there is a root column
    failed: bool = False
    alone: bool = True  # no other table was open when it began
    stepped: bool = False  # sizes grow by bytes, which a collective rounds to the same size
    step: int = 2

    @property
    def finished(self) -> bool:
        return self.average_busbw is not None

    @property
    def largest(self) -> Row | None:
        return max(self.rows, key=lambda row: row.size, default=None)

    @property
    def reached(self) -> bool:
        """No size comes behind the largest one."""
        size = max((row.size for row in self.rows), default=0)
        return (size + self.step if self.stepped else size * self.step) > (
            self.max_bytes or 0
        ) or size == self.max_bytes

    @property
    def ranks(self) -> int | None:
        """The highest rank and one: who quotes a log often leaves out some of the lines that list the ranks."""
        return max((device.rank for device in self.devices), default=-1) + 1 or None

    @property
    def checked(self) -> bool:
        """Whether any result was compared with the right one."""
        return any(half.wrong is not None for row in self.rows for half in row.halves)

    @property
    def hosts(self) -> list[str]:
        return sorted({device.host for device in self.devices})

    def sweeps(self) -> Iterator[list[int]]:
        """Sizes of the rows of each type, operation and root."""
        found: dict[tuple[str, str, int | None], list[int]] = {}
        for row in self.rows:
            found.setdefault((row.type, row.redop, row.root), []).append(row.size)
        yield from found.values()

    @property
    def mixed(self) -> bool:
        """Whether two sweeps take turns: one that begins again does so where it began, or below."""
        for sizes in self.sweeps():
            again = [
                size
                for before, size in zip([0, *sizes], sizes)
                if size and (size < before or (size == before and not self.stepped))
            ]
            starts = [size for size in sizes if size][:1] + again
            if any(before < after for before, after in zip(starts, starts[1:])):
                return True
        return False

    def bus_factor(self) -> float | None:
        """busbw / algbw where rounding does not blur it."""
        for row in sorted(self.rows, key=lambda row: -row.size):
            for half in row.halves:
                if math.isfinite(half.algbw) and half.algbw >= 0.5:
                    return half.busbw / half.algbw
        return None

    def as_dict(self) -> dict[str, Any]:
        largest = self.largest
        timed = [row for row in self.rows if row.size > 0]
        names_of = ("collective", "ranks", "checked", "nccl_version", "finished", "hosts", "devices", "rows")
        return shown(
            self,
            *(*names_of, "average_busbw", "problems"),
            ok=bool(self.rows) and not self.problems,
            bytes={"min": self.min_bytes, "max": self.max_bytes},
            largest=None if largest is None else {**plain(largest), "busbw": largest.busbw},
            peak_busbw=max((row.busbw for row in self.rows), default=None),
            smallest=min(timed, key=lambda row: row.size, default=None),
            bus_factor=self.bus_factor(),
            out_of_bounds={"count": self.out_of_bounds, "ok": self.out_of_bounds_ok},
        )


class Reader(PartsReader[Table]):
    """``expected_ranks``, ``expected_hosts``: what was started; None: believe the log.

    ``one_job`` of the result False: processes tested themselves, each alone.
    """

    name = "nccl_tests"
    wants = "table of nccl-tests"
    MOST_RANKS = RECORD_LIMIT

    def __init__(self, expected_ranks: int | None = None, expected_hosts: int | None = None) -> None:
        super().__init__()
        self._expected_ranks = expected_ranks
        self._expected_hosts = expected_hosts
        self._torn: dict[int | None, str] = {}  # rank -> the beginning of a row that NCCL's lines broke
        self._named: set[str] = set()  # programs that were named since the last table
        self._failed: dict[tuple[str, str], set[str]] = {}  # what, remedy -> where

    def line(self, line: Line) -> None:
        whole, line = line.text, self.bare(line)
        text = line.text
        if " NCCL INFO " in text and "NCCL version" not in text:
            if text[:1] == " ":
                self._broken(line.rank, text)
            return
        stripped = text.strip()
        if "Test " in stripped or "Invalid number" in stripped or "failure" in stripped:  # may end a row
            self._failure(line.rank, whole)
        elif stripped[:1].isdigit():
            torn = self._torn.pop(line.rank, "")
            self._row(line, stripped if _ROW_START.match(stripped) else f"{torn} {stripped}".strip())
        elif stripped.startswith(("#", "Rank ", "nThread ")):
            self._comment(line.rank, stripped)
        elif "NCCL version" in stripped:
            self._version(line.rank, stripped)
        if "_perf" in stripped and not stripped.startswith("# Collective test"):
            self._named.update(_PROGRAM.findall(stripped))

    def result(self) -> Several[Table]:
        self.finish()
        problem = self.problems.add
        tables = tuple(table for table in self.parts if table.rows or table.devices or table.heads)
        relayed = [each for each in self._failed if each[0].startswith("Test failure")]
        for said in [each for each in self._failed if each not in relayed] or relayed[:1]:
            problem("failed", where=_on(self._failed[said]), said=said[0], remedy=said[1])
        if self.left_out:
            problem("too_many_tables", most=self.MOST, left_out=self.left_out)
        with_rows = [table for table in tables if table.rows]
        apart = _apart(tables, with_rows)
        if apart:
            problem("not_one_job", where=_on({host for table in tables for host in table.hosts}))
        elif with_rows and any(not table.rows and not table.failed for table in tables):
            problem("head_without_rows")
        for table in with_rows:
            _judge(table, None if apart else self._expected_ranks, None if apart else self._expected_hosts)
        if not with_rows and not self.problems:
            unread = [each for table in self.parts for each in table.problems.all()][:1]
            self.problems.put(*unread)
            if not unread:
                self.nothing()
        listed = any(len(table.devices) > 1 for table in tables)
        one_job = not apart if with_rows or apart or listed else None
        return Several("tables", tables, self.problems.all(), {"one_job": one_job})

    # ------------------------------------------------------------------------------------------------------- lines

    def _failure(self, rank: int | None, text: str) -> None:
        said = self.failure(text)
        if not said[0]:
            return
        table = self._open(rank)
        if table is not None:
            table.failed = True
        host, who = _FAILING.search(text), self._failed.setdefault(said, set())
        if host and len(who) < RECORD_LIMIT:
            who.add(host["host"])
        if rank is not None and rank >= 0 and len(who) < RECORD_LIMIT:
            who.add(f"rank {rank}")

    def _broken(self, rank: int | None, text: str) -> None:
        """Keep what is before a line of NCCL, which the name of its host is glued to."""
        table = self.current.get(rank)
        ends = (text.find(f"{device.host.split('.')[0]}:{device.pid}:") for device in (table.devices if table else ()))
        piece = text[: max(ends, default=0)].strip()
        if _ROW_START.match(piece):
            self._torn[rank] = piece
        elif piece and rank in self._torn:
            self._torn[rank] += f" {piece}"

    def _comment(self, rank: int | None, text: str) -> None:
        head = HEAD.match(text)
        if head:
            self._head(rank, text, head)
            return
        named = _NAMED.match(text)
        if named:
            # The last line names it, too: the first may be cut off.
            table = self._begin(rank) if named["when"] == "starting" else self._open(rank)
            if table is not None:
                table.collective = named["name"]
            return
        if "NCCL version" in text:
            self._version(rank, text)
            return
        less = LESS.match(text)
        if less:
            table = self._table(rank)
            table.max_bytes = min(table.max_bytes or int(less["max"]), int(less["max"]))
        if not re.match(r"(?:#\s+)?(?:Rank|size|Out of|Avg)\s", text, re.IGNORECASE):
            return
        table = self._table(rank)
        device = RANK.match(text)
        if device:
            if len(table.devices) < RECORD_LIMIT:
                rank_at, pid, number_at = (int(device[name] or 0) for name in ("rank", "pid", "device"))
                model = device["model"].strip()[:120]
                table.devices.append(Device(rank_at, device["host"][:255], pid, number_at, device["bus"], model))
            return
        words = text.lstrip("# ").split()
        if words[:2] == ["size", "count"]:
            halves = sum(word in ("time", "cputime") for word in words)
            if halves:
                after = next(index for index, word in enumerate(words) if word in ("time", "cputime"))
                table.columns, table.rooted = (len(words) - after) // halves, "root" in words
            return
        bounds, average = BOUNDS.match(text), AVERAGE.match(text)
        if bounds:
            table.out_of_bounds, table.out_of_bounds_ok = int(bounds["count"]), bounds["word"] == "OK"
        elif average:
            table.average_busbw = number(average["value"])
            table.average_ok = None if average["word"] is None else average["word"] == "OK"

    def _head(self, rank: int | None, text: str, head: re.Match[str]) -> None:
        table = self.current.get(rank)
        # A head before any row of the last one: a second process beside it. Behind rows: the next job.
        if table is None or table.finished or table.rows or table.failed:
            table = self._begin(rank)
        table.heads += 1
        table.stepped, table.step = head["way"] == "bytes", int(head["step"] or 2)
        table.min_bytes, table.max_bytes = int(head["min"]), int(head["max"])

    def _version(self, rank: int | None, text: str) -> None:
        match = _VERSION.search(text)
        table = self.current.get(rank)
        if match and table is not None and not table.finished:
            table.nccl_version = match["version"]

    def _row(self, line: Line, text: str) -> None:
        if not _ROW_START.match(text):
            return
        table = self._table(line.rank, int(text.split(None, 1)[0]))
        row = row_of(text, table.columns, table.rooted)
        # The end of the log cuts a row so that it looks like one with the in-place half only.
        if row is None or (not line.ended and (table.columns is None or row.out_of_place is None)):
            table.problems.add("unreadable_row", row=text[:160])
            return
        if len(table.rows) >= _ROWS:
            table.problems.add("too_many_rows", most=_ROWS)
            return
        before = table.rows[-1].stamp if table.rows else None
        if before and row.stamp and row.stamp < before:
            table.problems.add("clock_backwards", before=before, after=row.stamp)
        table.rows.append(row)

    def _begin(self, rank: int | None) -> Table:
        alone = all(table.finished or table.failed for table in self.current.values())
        name = self._named.pop() if len(self._named) == 1 else None
        self._named.clear()
        return self.begin(rank, Table(rank, name, alone=alone))

    def _open(self, rank: int | None) -> Table | None:
        """The table of this rank; of a rank that has none, or of a line that lost its label, the only one there is."""
        table = self.current.get(rank)
        others = [each for each in self.current.values() if not each.finished] if table is None else []
        return others[0] if len(others) == 1 else table

    def _table(self, rank: int | None, size: int | None = None) -> Table:
        """The table that is open; what comes behind a closing line belongs to the next one, also without a head."""
        table = self._open(rank)
        if table is None or table.finished or (table.source != rank and size is not None and not _follows(table, size)):
            return self._begin(rank)
        return table


def row_of(text: str, columns: int | None = None, rooted: bool | None = None) -> Row | None:
    """A row, read from both ends; None if it is of no shape that is known."""
    stamp = _STAMP.search(text)
    match = _ROW.fullmatch(text[: stamp.start()].rstrip() if stamp else text)
    if match is None:
        return None
    words = match["rest"].split()
    redop = ""
    if number(words[0]) is None and words[0] != "N/A":
        redop, words = words[0], words[1:]
    wide = columns or 4
    if columns is None and len(words) in (16, 17):
        wide = 8
    root: int | None = None
    if rooted or (rooted is None and len(words) in (wide + 1, 2 * wide + 1)):
        root = integer(words[0]) if words else None
        if root is None:
            return None
        words = words[1:]
    if len(words) not in (wide, 2 * wide):
        return None
    halves = [_half(words[start : start + wide]) for start in range(0, len(words), wide)]
    if any(half is None for half in halves):
        return None
    # One half only: out-of-place is left blank when only in-place was run.
    out_of_place, in_place = (halves[0], halves[1]) if len(halves) == 2 else (None, halves[0])
    size, count, of = int(match["size"]), int(match["count"]), match["type"]
    return Row(size, count, of, redop, root, out_of_place, in_place, stamp["stamp"] if stamp else None)


def _half(words: list[str]) -> Half | None:
    time, algbw, busbw = (number(word) for word in words[:3])
    wrong = None if words[3] == "N/A" else number(words[3])
    if time is None or algbw is None or busbw is None or (wrong is None and words[3] != "N/A"):
        return None
    return Half(time, algbw, busbw, wrong)


# ------------------------------------------------------------------------------------------------------------ judgement


def _on(places: Iterable[str]) -> str:
    where = names(sorted(places))
    return f" on {where}" if where else ""


def _follows(table: Table, size: int) -> bool:
    return not table.rows or size > table.rows[-1].size


def _apart(tables: Sequence[Table], with_rows: Sequence[Table]) -> bool:
    """Whether processes tested themselves, each alone, or two jobs print at once."""
    single = {(table.devices[0].host, table.devices[0].pid) for table in tables if table.ranks == 1}
    again = all(table.alone and (table.ranks or 0) > 1 and table.hosts == with_rows[0].hosts for table in with_rows)
    return (
        len(single) > 1
        or (len({table.source for table in with_rows}) > 1 and not again)
        or any(table.heads > 1 or _repeated(table) or table.mixed for table in tables)
    )


def _repeated(table: Table) -> bool:
    seen = [device.rank for device in table.devices]
    return len(set(seen)) != len(seen)


def _judge(table: Table, expected_ranks: int | None, expected_hosts: int | None) -> None:
    add = table.problems.add
    ranks, hosts = table.ranks, table.hosts
    if expected_ranks is not None and ranks is not None and ranks != expected_ranks:
        add("missing_ranks", expected=expected_ranks, ranks=ranks)
    listed = {device.rank for device in table.devices}
    if ranks is not None and len(listed) < ranks:
        add("missing_ranks/cut", last=ranks - 1, listed=len(listed))
    if expected_hosts is not None and hosts and len(hosts) != expected_hosts:
        add("missing_hosts", expected=expected_hosts, hosts=names(hosts))
    if not table.finished:
        add("unfinished")
    _values(table)
    _sizes(table)
    _average(table)
    _factor(table, ranks or expected_ranks)


def _values(table: Table) -> None:
    add = table.problems.add
    bad = [row.size for row in table.rows if not all(map(_sane, row.halves))]
    if bad:
        add("not_finite", sizes=names(dict.fromkeys(bad)))
    # Without a root column the last value is the largest error, which only the closing line judges.
    wrong = [row.size for row in table.rows if row.root is not None and any(half.wrong for half in row.halves)]
    if wrong:
        add("wrong_values", sizes=names(dict.fromkeys(wrong)))
    if table.out_of_bounds or table.out_of_bounds_ok is False:
        add("out_of_bounds", count=table.out_of_bounds)
    if table.average_ok is False:
        add("below_minimum", average=table.average_busbw)
    if table.average_busbw == 0 and (table.largest is not None and table.largest.busbw == 0):
        add("one_rank")


def _sane(half: Half) -> bool:
    return all(math.isfinite(value) and value >= 0 for value in (half.time_us, half.algbw, half.busbw))


def _sizes(table: Table) -> None:
    sizes = [row.size for row in table.rows]
    back = next((pair for sweep in table.sweeps() for pair in zip(sweep, sweep[1:]) if pair[1] < pair[0]), None)
    if back is not None:
        table.problems.add("sizes_go_back/mixed" if table.mixed else "sizes_go_back", before=back[0], after=back[1])
    if table.max_bytes is not None and max(sizes) > table.max_bytes:
        table.problems.add("outside_range", most=table.max_bytes, largest=max(sizes))


def _average(table: Table) -> None:
    """The printed average is that of all halves printed; if not, rows are missing or were changed."""
    halves = [half.busbw for row in table.rows for half in row.halves]
    if table.average_busbw is None or not math.isfinite(table.average_busbw) or not all(map(math.isfinite, halves)):
        return
    average = math.fsum(halves) / len(halves)
    if abs(average - table.average_busbw) > _AVERAGE_TOLERANCE * table.average_busbw + 2 * _ROUNDING:
        table.problems.add("average_disagrees", average=average, printed=table.average_busbw)


def _factor(table: Table, ranks: int | None) -> None:
    """busbw / algbw tells how many ranks there were."""
    factor, largest = table.bus_factor(), table.largest
    if ranks is None or factor is None or largest is None or ranks < 1:
        return
    possible = {"all_reduce": 2 * (ranks - 1) / ranks, "gather or scatter": (ranks - 1) / ranks, "broadcast": 1.0}
    if table.collective and "all_reduce" in table.collective:
        possible = {"all_reduce": possible["all_reduce"]}
    if all(abs(factor - value) > _FACTOR_TOLERANCE * max(value, 0.01) for value in possible.values()):
        given = names(f"{value:.3f}" for value in possible.values())
        table.problems.add("factor_disagrees", factor=factor, ranks=ranks, possible=given)


read = Reader.read
