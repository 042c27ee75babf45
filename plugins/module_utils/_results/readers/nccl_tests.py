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

import re
from typing import Iterable, Sequence

from .nccl_table import Device, Half, Row, Table, judge
from .reading import RECORD_LIMIT, PartsReader, Several, integer, names, number
from .tables import Patterns
from .tags import Line

_ROWS = 4096  # per table: a sweep has about 30
_NONE = ("", "none")  # the operation of a collective that reduces nothing
_COLUMNS = ("time", "algbw", "busbw", "#wrong")  # of each half

LINES = Patterns("nccl_tests.yml")


class Reader(PartsReader[Table]):
    """``one_job`` of the result False: processes tested themselves, each alone."""

    name = "nccl_tests"
    wants = "table of nccl-tests"
    MOST_RANKS = RECORD_LIMIT

    def __init__(self, expected_ranks: int | None = None, expected_hosts: int | None = None) -> None:
        super().__init__(expected_ranks)
        self._expected_hosts = expected_hosts
        self._torn: dict[int | None, str] = {}  # rank -> the beginning of a row that NCCL's lines broke
        self._named: set[str] = set()  # programs that were named since the last table
        self._library: dict[int | None, str] = {}  # rank -> the version that the last line in front of a table says
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
        elif (row := stripped.lstrip("# "))[:1].isdigit():
            torn = self._torn.pop(line.rank, "")
            self._row(line, row if LINES["row_start"].match(row) else f"{torn} {row}".strip())
        elif stripped.startswith(("#", "Rank ", "nThread ", "size  ", "Out of bounds ", "Avg bus ", "Collective test")):
            self._comment(line.rank, stripped)
        elif (version := LINES["version"].search(stripped)) and (table := self.current.get(line.rank)):
            table.nccl_version = table.nccl_version if table.finished else version["version"]
        if "_perf" in stripped and not LINES["named"].match(stripped):
            self._named.update(LINES["program"].findall(stripped))

    def found(self) -> Several[Table]:
        tables = tuple(table for table in self.parts if table.rows or table.devices or table.heads)
        relayed = [each for each in self._failed if each[0].startswith("Test failure")]
        for said in [each for each in self._failed if each not in relayed] or relayed[:1]:
            self.problems.add("failed", where=_on(self._failed[said]), said=said[0], remedy=said[1])
        with_rows = [table for table in tables if table.rows]
        apart = _apart(tables, with_rows)
        if apart:
            self.problems.add("not_one_job", where=_on({host for table in tables for host in table.hosts}))
        elif with_rows and any(not table.rows and not table.failed for table in tables):
            self.problems.add("head_without_rows")
        for table in with_rows:
            judge(table, None if apart else self.expected_ranks, None if apart else self._expected_hosts)
        if not with_rows and not self.problems:
            self.problems.put(*[each for table in self.parts for each in table.problems.all()][:1])
        listed = any(len(table.devices) > 1 for table in tables)
        named = listed or any(table.devices for table in with_rows)
        one_job = not apart if apart or named else None
        return self.several("tables", tables, with_rows, one_job=one_job)

    # ------------------------------------------------------------------------------------------------------- lines

    def _failure(self, rank: int | None, text: str) -> None:
        if not (said := self.failure(text)):
            return
        if table := self._open(rank):
            table.failed = True
        where = self._failed.setdefault(said, set())
        if (host := LINES["failing"].search(text)) and len(where) < RECORD_LIMIT:
            where.add(host["host"])
        if rank is not None and rank >= 0 and len(where) < RECORD_LIMIT:
            where.add(f"rank {rank}")

    def _broken(self, rank: int | None, text: str) -> None:
        """Keep what is before a line of NCCL, which the name of its host is glued to."""
        table = self.current.get(rank)
        ends = (text.find(f"{device.host.split('.')[0]}:{device.pid}:") for device in (table.devices if table else ()))
        piece = text[: max(ends, default=0)].strip()
        if LINES["row_start"].match(piece):
            self._torn[rank] = piece
        elif piece and rank in self._torn:
            self._torn[rank] += f" {piece}"

    def _comment(self, rank: int | None, text: str) -> None:
        if head := LINES["head"].match(text):
            self._head(rank, head)
        elif named := LINES["named"].match(text):
            # The last line names it, too: the first may be cut off.
            if begun := self._begin(rank) if named["when"] == "starting" else self._open(rank):
                begun.collective = named["name"]
            if begun and named["when"] == "concluded":
                begun.concluded = True
        elif library := LINES["library"].match(text):
            # NCCL_VERSION_CODE; up to 2.8 with one digit of the minor version.
            major, rest = divmod(int(library["code"]), 10000 if len(library["code"]) > 4 else 1000)
            self._library = {rank: f"{major}.{rest // 100}.{rest % 100}"}
        elif repeats := LINES["repeats"].match(text):
            self._table(rank).problems.add("not_repeatable", count=repeats["count"])
        elif less := LINES["less"].match(text):
            table = self._table(rank)
            table.max_bytes = min(table.max_bytes or int(less["max"]), int(less["max"]))
        elif LINES["of_table"].match(text):
            self._of_table(self._table(rank), text)

    @staticmethod
    def _of_table(table: Table, text: str) -> None:
        words = text.lstrip("# ").removesuffix("timestamp").split()
        if device := LINES["rank"].match(text):
            if len(table.devices) < RECORD_LIMIT:
                rank, group, pid, number_at = (int(device[name] or 0) for name in ("rank", "group", "pid", "device"))
                said = device["host"][:255], pid, number_at, device["bus"], device["model"].strip()[:120]
                table.devices.append(Device(rank, group, *said))
        elif words[:2] in (["size", "count"], ["bytes", "N"]):
            halves = [index for index, word in enumerate(words) if word in ("time", "cputime")]
            if halves:
                table.columns, table.rooted = tuple(words[halves[0] :]), "root" in words
        elif bounds := LINES["bounds"].match(text):
            table.out_of_bounds, table.out_of_bounds_ok = int(bounds["count"]), bounds["word"] == "OK"
        elif average := LINES["average"].match(text):
            table.average_busbw = number(average["value"])
            table.average_ok = None if average["word"] is None else average["word"] == "OK"

    def _head(self, rank: int | None, head: re.Match[str]) -> None:
        table = self.current.get(rank)
        # A head before any row of the last one: a second process beside it. Behind rows: the next job.
        if table is None or table.finished or table.rows or table.failed:
            table = self._begin(rank)
        table.heads += 1
        table.stepped, table.step = head["way"] == "bytes", int(head["step"] or 2)
        table.min_bytes, table.max_bytes = int(head["min"]), int(head["max"])

    def _row(self, line: Line, text: str) -> None:
        if not LINES["row_start"].match(text):
            return
        table = self._table(line.rank, int(text.split(None, 1)[0]))
        row = row_of(text, table.columns, table.rooted)
        # The end of the log cuts a row so that it looks like one with one half only.
        if row is None or (not line.ended and (not table.columns or None in (row.out_of_place, row.in_place))):
            table.problems.add("unreadable_row", row=text[:160])
            return
        if len(table.rows) >= _ROWS:
            table.problems.add("too_many_rows", most=_ROWS)
            return
        if table.rows and (row.redop in _NONE) != (table.rows[-1].redop in _NONE):  # the next program, without a head
            columns, rooted = table.columns, table.rooted
            table = self._begin(table.source)
            table.columns, table.rooted = columns, rooted
        before = table.rows[-1].stamp if table.rows else None
        if before and row.stamp and row.stamp < before:
            table.problems.add("clock_backwards", before=before, after=row.stamp)
        table.rows.append(row)

    def _begin(self, rank: int | None) -> Table:
        alone = all(table.finished or table.failed for table in self.current.values())
        name = self._named.pop() if len(self._named) == 1 else None
        self._named.clear()
        return self.begin(rank, Table(rank, name, nccl_version=self._library.pop(rank, None), alone=alone))

    def _open(self, rank: int | None) -> Table | None:
        """The table of this rank; of a rank that has none, or of a line that lost its label, the only one there is."""
        table = self.current.get(rank)
        others = [each for each in self.current.values() if not each.finished] if table is None else []
        return others[0] if len(others) == 1 else table

    def _table(self, rank: int | None, size: int | None = None) -> Table:
        """The table that is open; what comes behind a closing line belongs to the next one, also without a head."""
        table = self._open(rank)
        if table is None or table.finished:
            return self._begin(rank)
        back = size is not None and table.rows and size <= table.rows[-1].size
        return self._begin(rank) if back and table.source != rank else table


def row_of(text: str, columns: Sequence[str] = (), rooted: bool | None = None) -> Row | None:
    """A row, read from both ends; None if it is of no shape that is known. ``columns``: from the first time on, as the
    head names them. A paste may have cut the last ones off head and rows."""
    stamp = LINES["stamp"].search(text)
    match = LINES["row"].fullmatch(text[: stamp.start()].rstrip() if stamp else text)
    if match is None:
        return None
    words = match["rest"].split()
    redop = ""
    if number(words[0]) is None and words[0] != "N/A":
        redop, words = words[0], words[1:]
    columns = columns or 2 * (*_COLUMNS, *(4 * [""] if len(words) in (16, 17) else []))
    wide = columns.index(columns[0], 1) if columns[0] in columns[1:] else len(columns)
    root: int | None = None
    if rooted or (rooted is None and len(words) in (wide + 1, len(columns) + 1)):
        root = integer(words[0]) if words else None
        if root is None:
            return None
        words = words[1:]
    if len(words) not in (wide, len(columns)):
        return None
    unit = 1e3 if "res" in columns else 1.0  # the oldest tables have milliseconds
    out_of_place, in_place = _half(words[:wide], unit), _half(words[wide:], unit)
    if out_of_place is None or (in_place is None and len(words) == 2 * wide):
        return None
    # A program that runs in-place alone leaves the other half blank (src/util.cu, "only do in-place for trace replay").
    if len(words) < len(columns) and LINES["blank_half"].search(text):
        out_of_place, in_place = None, out_of_place
    size, count, of = int(match["size"]), int(match["count"]), match["type"]
    return Row(size, count, of, redop, root, out_of_place, in_place, stamp["stamp"] if stamp else None)


def _half(words: Sequence[str], unit: float) -> Half | None:
    """``wrong`` may be cut off; ``unit``: of the time, in microseconds."""
    time, algbw, busbw, wrong = (number(word) for word in (*words[:4], *[""] * (4 - len(words))))
    if time is None or algbw is None or busbw is None or (wrong is None and words[3:4] not in ([], ["N/A"])):
        return None
    return Half(time * unit, algbw, busbw, wrong)


def _on(places: Iterable[str]) -> str:
    where = names(sorted(places))
    return f" on {where}" if where else ""


def _apart(tables: Sequence[Table], with_rows: Sequence[Table]) -> bool:
    """Whether processes tested themselves, each alone, or two jobs print at once."""
    single = {(table.devices[0].host, table.devices[0].pid) for table in tables if table.ranks == 1}
    again = all(table.alone and (table.ranks or 0) > 1 and table.hosts == with_rows[0].hosts for table in with_rows)
    return (
        len(single) > 1
        or (len({table.source for table in with_rows}) > 1 and not again)
        or any(table.heads > 1 or table.listed < len(table.devices) or table.mixed for table in tables)
    )


read = Reader.read
