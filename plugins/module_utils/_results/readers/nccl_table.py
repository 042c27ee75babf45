"""A table of nccl-tests, and what contradicts itself in it. Pure."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Iterator

from .reading import Problems, by_key, names, plain, shown

_AVERAGE_TOLERANCE = 0.005
_FACTOR_TOLERANCE = 0.02
_ROUNDING = 0.005  # GB/s: two decimals


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
    group: int
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
    columns: tuple[str, ...] = ()  # of both halves, from the first time on
    rooted: bool | None = None  # whether there is a root column
    failed: bool = False
    concluded: bool = False  # the last line was seen
    alone: bool = True  # no other table was open when it began
    stepped: bool = False  # sizes grow by bytes, which a collective rounds to the same size
    step: int = 2

    @property
    def finished(self) -> bool:
        return self.concluded or self.average_busbw is not None

    @property
    def largest(self) -> Row | None:
        return max(self.rows, key=lambda row: row.size, default=None)

    @property
    def reached(self) -> bool:
        """No size comes behind the largest one."""
        size = max((row.size for row in self.rows), default=0)
        next_one = size + self.step if self.stepped else size * self.step
        return next_one > (self.max_bytes or 0) or size == self.max_bytes

    @property
    def cut(self) -> tuple[str, ...]:
        """Columns of the in-place half that head and rows have lost."""
        wide = self.columns.index(self.columns[0], 1) if self.columns[:1] and self.columns[0] in self.columns[1:] else 0
        return self.columns[len(self.columns) - wide : wide]

    @property
    def ranks(self) -> int | None:
        """The highest rank and one: who quotes a log often leaves out some of the lines that list the ranks."""
        return max((device.rank for device in self.devices), default=-1) + 1 or None

    @property
    def listed(self) -> int:
        """How many ranks the log names."""
        return len({device.rank for device in self.devices})

    @property
    def checked(self) -> bool:
        """Whether any result was compared with the right one."""
        return any(half.wrong is not None for row in self.rows for half in row.halves)

    @property
    def hosts(self) -> list[str]:
        return sorted({device.host for device in self.devices})

    def sweeps(self) -> Iterator[list[int]]:
        """Sizes of the rows of each type, operation and root."""
        yield from by_key(((row.type, row.redop, row.root), row.size) for row in self.rows).values()

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


def judge(table: Table, expected_ranks: int | None, expected_hosts: int | None) -> None:
    add_if = table.problems.add_if
    ranks, hosts = table.ranks or 0, table.hosts
    others = expected_ranks and ranks and ranks != expected_ranks
    add_if(others, "missing_ranks", expected=expected_ranks, ranks=ranks)
    add_if(table.listed < ranks, "missing_ranks/cut", last=ranks - 1, listed=table.listed)
    elsewhere = expected_hosts and hosts and len(hosts) != expected_hosts
    add_if(elsewhere, "missing_hosts", expected=expected_hosts, hosts=names(hosts))
    add_if(not table.finished, "unfinished")
    add_if(table.cut, "cut_columns", columns=" ".join(table.cut))
    _values(table)
    _sizes(table)
    _average(table)
    # Of groups that test beside each other (NCCL_TESTS_SPLIT) the first one prints.
    first = [device for device in table.devices if device.group == table.devices[0].group]
    _factor(table, len(first) if len(first) < len(table.devices) else ranks or expected_ranks)


def _values(table: Table) -> None:
    add_if = table.problems.add_if
    figures = ((row.size, (half.time_us, half.algbw, half.busbw)) for row in table.rows for half in row.halves)
    bad = [size for size, said in figures if not all(math.isfinite(value) and value >= 0 for value in said)]
    add_if(bad, "not_finite", sizes=names(dict.fromkeys(bad)))
    # Without a root column the last value is the largest error, which only the closing line judges.
    wrong = [row.size for row in table.rows if row.root is not None and any(half.wrong for half in row.halves)]
    add_if(wrong, "wrong_values", sizes=names(dict.fromkeys(wrong)))
    add_if(table.out_of_bounds or table.out_of_bounds_ok is False, "out_of_bounds", count=table.out_of_bounds)
    add_if(table.average_ok is False, "below_minimum", average=table.average_busbw)
    add_if(table.average_busbw == 0 and table.largest and table.largest.busbw == 0, "one_rank")


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
    if table.cut[1:] or table.average_busbw is None or not all(map(math.isfinite, (table.average_busbw, *halves))):
        return
    average = math.fsum(halves) / len(halves)
    if abs(average - table.average_busbw) > _AVERAGE_TOLERANCE * table.average_busbw + 2 * _ROUNDING:
        table.problems.add("average_disagrees", average=average, printed=table.average_busbw)


def _factor(table: Table, ranks: int | None) -> None:
    """busbw / algbw tells how many ranks there were."""
    factor = table.bus_factor()
    if ranks is None or factor is None:
        return
    possible = {"all_reduce": 2 * (ranks - 1) / ranks, "gather or scatter": (ranks - 1) / ranks, "broadcast": 1.0}
    if table.collective and "all_reduce" in table.collective:
        possible = {"all_reduce": possible["all_reduce"]}
    if all(abs(factor - value) > _FACTOR_TOLERANCE * max(value, 0.01) for value in possible.values()):
        given = names(f"{value:.3f}" for value in possible.values())
        table.problems.add("factor_disagrees", factor=factor, ranks=ranks, possible=given)
