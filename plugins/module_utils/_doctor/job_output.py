"""Read how far the jobs of a piece came: tests, programs, ranks, and the links that bound their figures. Pure.

Forms: nccl-tests, perftest, OSU, IMB, HPL, HPCG, tf_cnn_benchmarks, Horovod, MXNet, Hugging Face, Lightning, Megatron,
MLPerf, vLLM, Slurm, NCCL.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import re
from typing import Iterable, Iterator, Sequence

from .._judge.packs import loader
from .._judge.words import Way, all_ways, way_of
from .._results.readers import nccl_log, nccl_tests, perftest, tags
from .._results.readers.reading import number
from .._results.readers.tags import Line
from .pace import Gap, JobLine, Pace, job_form
from .seen import Hit

_RANKS = 65_536
_TABLE_LINES = 400  # behind these, some lines of a form are left out
_WRONG = ("wrong_values", "not_finite", "out_of_bounds")
_GOES_ON = 10  # lines of work behind a line say that the program outlived it; two, if none is before it
_BROKEN = frozenset({"job_end", "last_row", "last_step", "ranks", "finite", "wrong_values"})
_ALL_SIZES = {"OSU": 1 << 20, "IMB": 1 << 22}  # the last size of a test that was given none, at least
_STEP = 3.0  # a time per byte against that of the size before: protocols that change cost less
_WARM = 1 << 14  # bytes: below, the first exchange and another algorithm make the time of a size fall
_SMALL, _LATE = 4096, 100.0  # bytes and microseconds: RDMA between two hosts takes a twentieth
_SCALES = {"link_mega": 1e-3, "link_giga": 1.0}  # to Gb/s


@dataclasses.dataclass
class Figure:
    """Bandwidth in GB/s (10**9 bytes) at the largest size that was measured."""

    rate: float
    size: int
    line: int
    name: str


@dataclasses.dataclass
class Record:
    """What one piece shows. ``links``: Gb/s; ``devices``: job (of NCCL its communicator) -> host -> numbers of its GPUs
    that take part; ``cards``: GPUs that nvidia-smi lists; ``outlived``: whatever is before this line, the program
    went on."""

    file: str
    host: str
    outlived: int = 0
    ends: list[str] = dataclasses.field(default_factory=list)
    gaps: list[Gap] = dataclasses.field(default_factory=list)
    figures: list[Figure] = dataclasses.field(default_factory=list)
    links: set[float] = dataclasses.field(default_factory=set)
    nics: int = 0
    network: bool = False
    devices: dict[str, dict[str, set[int]]] = dataclasses.field(default_factory=dict)
    gpu_names: set[str] = dataclasses.field(default_factory=set)
    cards: set[int] = dataclasses.field(default_factory=set)
    measured: bool = False  # there is a table of a benchmark
    notes: list[str] = dataclasses.field(default_factory=list)

    @property
    def well(self) -> bool:
        """A job came to its end, and none did not."""
        return bool(self.ends) and not _BROKEN.intersection(gap.code for gap in self.gaps)


@dataclasses.dataclass
class _Sized:
    """A table by message size, of no reader. ``program``: OSU, IMB, or empty: not known; ``measured``: bytes (0 without
    sizes), microseconds and GB/s in one direction, each 0 where there is no such column."""

    line: int
    program: str
    columns: list[str] = dataclasses.field(default_factory=list)
    both: bool = False  # directions are added up
    measured: list[tuple[int, float, float]] = dataclasses.field(default_factory=list)
    ended: bool = False

    @property
    def complete(self) -> bool:
        sizes = [row[0] for row in self.measured]
        return self.ended or (
            self.program in _ALL_SIZES and (len(sizes) == 1 or max(sizes) >= _ALL_SIZES[self.program])
        )


@dataclasses.dataclass
class _Speaker:
    """One rank's output, or the output that names no rank."""

    progressed: int = 0
    ended: int = 0
    counts: dict[str, tuple[int, int, int]] = dataclasses.field(default_factory=dict)  # what -> least, last, of


class JobOutput:
    """One per piece. ``record`` says how far its jobs came."""

    def __init__(self) -> None:
        self._tables = nccl_tests.Reader()
        self._read = nccl_tests.Reader().result()
        self._begins: list[int] = []  # of each table
        self._table_lines = self._closed = 0  # closed: the last line of a benchmark
        self._perftest = perftest.Reader()
        self._perfs: list[int] = []  # where each test begins
        self._sized: list[_Sized] = []
        self._nccl = nccl_log.Reader()
        self._speakers: dict[str, _Speaker] = {}
        self._comms: dict[str, dict[str, set[int]]] = {}
        self._comm_sizes: dict[str, int] = {}
        self._comm_at: dict[tuple[str, str], str] = {}  # its address and a rank -> its name, which its end leaves out
        self._counts: collections.Counter[str] = collections.Counter()
        self._epochs = 0
        self._rank_lines: dict[int, int] = {}
        self._rank_count = 0
        self._last: dict[str, tuple[int, str]] = {}  # speaker -> its last figure, if it is not finite
        self._pace = Pace()
        self._record = Record("", "")
        self._works: collections.deque[int] = collections.deque(maxlen=_GOES_ON)

    @property
    def ways(self) -> Iterator[Way]:
        """Lines that one of these may match are read. Raises PackError, and ImportError without PyYAML."""
        listed = loader.load().lists["jobs"]
        for way in (way for name in listed["read"] for way in all_ways(job_form(name).pattern)):
            # In front of a part of a line there may be marks, and behind it another part.
            yield dataclasses.replace(way, text=re.sub(r"^\^|(?<!\\)\$$", "", way.text))
        yield from map(way_of, listed["words"])

    def line(self, number: int, text: str) -> None:
        text = job_form("prefix").sub("", text)
        for part in job_form("tag").split(text) if "]<std" in text else (text,):
            if part:
                self._part(number, JobLine(part))

    def result(self) -> Iterable[Hit]:
        for problem in self._read.problems if self._table_lines < _TABLE_LINES else ():
            if problem.code == "not_one_job":
                yield Hit("tests_apart", self._begins[0], problem.message)
        jobs = self._record.devices
        whole = all(
            sum(map(len, jobs.get(f"NCCL {key}", {}).values())) == size for key, size in self._comm_sizes.items()
        )
        hosts = {host for job in jobs.values() for host in job}
        if len(hosts) == 1 and whole and not self._record.network:
            yield Hit("one_host", 0, f"every rank that is named is on {hosts.pop()}")

    def record(self, name: str, host: str) -> Record:
        """What was read; call it once, at the end of the piece."""
        found = self._record
        found.file, found.host, found.measured = name, host, bool(self._begins or self._perfs or self._sized)
        gaps = (self._test_gaps, self._table_gaps, self._program_gaps, self._comm_gaps, self._pace.gaps)
        found.gaps += [dataclasses.replace(gap, file=name) for part in gaps for gap in part()]
        found.notes += [said.message for said in self._nccl.result().problems if said.code == "collective_timeout"]
        doubtful = any(gap.code in ("figure", "wrong_values") for gap in found.gaps)
        if not doubtful and (len(self._works) > 1 or (found.well and self._works)):
            found.outlived = self._works[-1 if found.well else 0]
        return found

    def _part(self, number: int, line: JobLine) -> None:
        text = line.text
        self._facts(number, line)
        who = job_form("speaker").match(text)
        name = next((group for group in who.groups() if group), "") if who else ""
        for match in line.every("last_counts"):
            if match["bad"] and len(self._last) < _RANKS:
                self._last[name] = (number, text.strip()[:120])
            elif not match["bad"]:
                self._last.pop(name, None)
        bare = JobLine(text[text.find(":") + 1 :]) if who and name else line
        self._pace.line(number, name, line)
        if not (self._test(number, name, bare) or self._table(number, name, bare)):
            self._program(number, name, line)

    def _facts(self, number: int, line: JobLine) -> None:
        text, found = line.text, self._record
        for form, scale in _SCALES.items():
            for match in line.every(form):
                speed = float(match[1] or match[2])
                if speed > 0 and len(found.links) < 64:
                    found.links.add(speed * scale)
        if line.search("wrong_result") and len(found.gaps) < _RANKS:
            found.gaps.append(Gap("wrong_values", f"a right result: {text.strip()[:120]}", line=number))
        if "Watchdog caught" in text or "last completed" in text:
            self._nccl.line(Line(None, "stdout", text))
        for using in line.every("using"):
            found.nics = max(found.nics, len(job_form("nic").findall(using[1])))
        found.network = found.network or "via NET/" in text
        found.cards.update(int(card[1]) for card in line.every("card"))
        comm = line.search("communicator")
        if comm:
            self._comm(comm, text)

    def _comm(self, match: re.Match[str], text: str) -> None:
        at, begins = (match["at"], match["rank"]), match["what"] == "Init START"
        key = match["id"] or (not begins and self._comm_at.get(at)) or match["of"]
        if len(self._comms) >= 4096 and key not in self._comms:
            return
        self._comm_at.update({at: key} if (match["id"] or begins) and len(self._comm_at) < _RANKS else {})
        self._comm_sizes[key] = int(match["of"])
        ranks = self._comms.setdefault(key, {}).setdefault(match["what"], set())
        if len(ranks) < _RANKS:
            ranks.add(int(match["rank"]))
        host = job_form("host").search(text)
        if host and match["device"]:
            self._device(f"NCCL {key}", host[1], int(match["device"]))

    def _device(self, job: str, host: str, device: int) -> None:
        hosts = self._record.devices.setdefault(job, {})
        if host in hosts or len(hosts) < _RANKS:
            hosts.setdefault(host, set()).add(device)

    def _test(self, number: int, rank: str, line: JobLine) -> bool:
        text, row = line.text, tags.bare(line.text)[1].strip()
        if not line.search("table") and not nccl_tests.LINES["row_start"].match(row):
            return False
        self._tables.line(Line(int(rank) if rank else None, "stdout", text))
        self._table_lines += 1
        self._begins += [number] * (len(self._tables.parts) - len(self._begins))
        gpu = nccl_tests.LINES["rank"].search(text)
        if gpu:
            self._device(f"test {len(self._begins)}", gpu["host"], int(gpu["device"]))
            self._record.gpu_names.add(gpu["model"].strip()[:80])
        if row[:1].isdigit() or "Avg bus bandwidth" in text:
            self._works.append(number)
        return True

    def _test_gaps(self) -> Iterator[Gap]:
        self._read = self._tables.result()
        for table, line in zip(self._tables.parts, self._begins):
            most, row = table.max_bytes, table.largest
            if row is None and table.finished and not (most or table.heads or table.columns):
                continue  # its last lines alone: they show neither a job nor a cut one
            if row is None and table.finished:
                self._record.ends.append("nccl-tests to its end")
                yield Gap("rows", "the rows of nccl-tests: they are broken or of a form that is not known", line=line)
            elif row is None or (most and not table.reached):
                last = f"the last size is {row.size}" if row else "there is no row"
                wanted = f", the largest is {most} bytes" if most else ""
                yield Gap("last_row", f"the last row of nccl-tests: {last}{wanted}", line=line)
            elif not table.finished:
                yield Gap("job_end", "the end of nccl-tests", line=line)
            else:
                self._record.ends.append(f"nccl-tests to {row.size} bytes")
                first = row.out_of_place or row.in_place
                self._record.figures.append(Figure(first.busbw if first else 0.0, row.size, line, "bus bandwidth"))
            times = [(row.size, min(half.time_us for half in row.halves), 0.0) for row in table.rows if row.halves]
            yield from _step("nccl-tests", times, line)
            if any(code in table.problems for code in _WRONG) or not math.isfinite(table.average_busbw or 0):
                yield Gap("wrong_values", "right values of nccl-tests", line=line)

    def _table(self, at: int, rank: str, line: JobLine) -> bool:
        """Whether it is of a table of perftest, or of another one by message size."""
        text = tags.bare(line.text)[1].strip()
        if not job_form("sized").match(text):
            return False
        line = JobLine(text)
        before = self._perftest.rows
        self._perftest.line(Line(int(rank) if rank else None, "stdout", text))
        self._perfs.extend([at] * (len(self._perftest.parts) - len(self._perfs)))
        title, head, last = line.search("sized_title"), line.search("sized_head"), self._sized[-1:]
        if title or (head and not (last and not last[0].measured)):
            known = ["size", "MB/s" if re.search("Bandwidth|Rate", text) else "us"] if title and title["OSU"] else []
            both = line.search("sized_both") is not None
            self._sized.append(_Sized(at, title.lastgroup or "" if title else "", known, both))
        if head and not title:
            self._sized[-1].columns = job_form("sized_gap").split(text)
        for table in self._sized if line.search("sized_end") else ():
            table.ended = table.ended or table.program == "IMB"
        took = self._perftest.rows > before
        row = _row(text.split(), last[0].columns) if last and text[:1].isdigit() and not took else None
        if row and len(last[0].measured) < _TABLE_LINES:
            last[0].measured.append((*row[:2], row[2] / (1 + last[0].both)))
        self._works.extend([at] if row or took else [])
        return bool(row) or took

    def _table_gaps(self) -> Iterator[Gap]:
        lines = {id(part): line for part, line in zip(self._perftest.parts, self._perfs)}
        tests = [(lines[id(part)], "perftest", part) for part in self._perftest.result().parts]
        others = [(each.line, each.program or "a table of a kind not known here", each) for each in self._sized]
        tables: list[tuple[int, str, perftest.Test | _Sized]] = [*tests, *(each for each in others if each[2].columns)]
        for line, name, table in tables:
            size, time, rate = max(table.measured, default=(-1, 0.0, 0.0))
            found = table.problems.all() if isinstance(table, perftest.Test) else ()
            problems = [problem for problem in found if problem.code != "unknown_columns"]
            if size < 0 or not table.complete:
                last = f"the last size is {size}" if size >= 0 else "there is no row"
                yield Gap("last_row", f"the last row of {name}: {last}", line=line)
            else:
                self._record.ends.append(f"{name} to {size} bytes")
            for problem in problems[:1] if size >= 0 else ():
                yield Gap("figure", f"figures of {name} that hold: {problem.message}", line=line)
            yield from _step(name, table.measured, line)
            late = [row for row in table.measured if row[0] <= _SMALL and row[1] > _LATE and name == "perftest"]
            for row in late[:1]:
                yield Gap("figure", f"a time of RDMA: perftest takes {row[1]:g} us for {row[0]} bytes", line=line)
            if time and not rate:
                yield Gap("size", f"a bandwidth: this test of {name} measures times", line=line)
            elif size >= 0 and table.complete and not problems:
                self._record.figures.append(Figure(rate, size, line, f"{name} bandwidth"))

    def _program(self, number: int, name: str, line: JobLine) -> None:
        for form in ("warm_up_begun", "warm_up_done"):
            self._counts[form] += len(line.every(form))
        if name not in self._speakers and len(self._speakers) >= _RANKS:
            return
        rank = line.search("rank_line")
        if rank:
            self._rank_count = max(self._rank_count, int(rank[2]))
            self._rank_lines[int(rank[1])] = self._rank_lines.get(int(rank[1]), 0) + 1
            return
        epochs = line.search("epochs")
        self._epochs = int(epochs["of"]) if epochs and epochs["of"] else self._epochs
        last = epochs is not None and (int(epochs["n"] or -1) + 1 or int(epochs["nth"] or 0)) == (self._epochs or -1)
        totals = line.every("total")
        self._counts["total"] += len(totals)
        end = line.search("end")
        self._closed = number if end and end["rows"] else self._closed
        if totals or last or end:
            self._speakers.setdefault(name, _Speaker()).ended = number
            self._works.append(number)
            return
        bars = [] if line.search("idle") else line.every("bar")
        if bars or line.search("progress") or line.search("step_of"):
            speaker = self._speakers.setdefault(name, _Speaker())
            speaker.progressed = number
            self._works.append(number)
            for match in (*line.every("step_of"), *bars):
                what, n, of = match["what"].strip().lower(), int(match["n"]), int(match["of"])
                least = min(n, speaker.counts.get(what, (n, 0, 0))[0])
                if of and (what in speaker.counts or len(speaker.counts) < 64):
                    speaker.counts[what] = (least, n, of)

    def _program_gaps(self) -> Iterator[Gap]:
        for line, text in list(self._last.values())[:1]:
            yield Gap("figure", f"finite figures: {text}", line=line)
        if self._closed and not (self._begins or self._perfs or self._sized):
            yield Gap("rows", "the rows of a benchmark, in a form that is known", line=self._closed)
        if self._rank_count and (len(self._rank_lines) < self._rank_count or len({*self._rank_lines.values()}) > 1):
            yield Gap("ranks", f"the same lines of all {self._rank_count} ranks: {len(self._rank_lines)} print them")
        elif self._rank_count:
            self._record.ends.append(f"the result of {self._rank_count} ranks")
        ended = any(speaker.ended for speaker in self._speakers.values())
        named = {int(name) for name in self._speakers if name}
        silent = set(range(min(named, default=0), max(named, default=0))) - named
        if len(named) > 1 and silent:
            yield Gap("ranks", f"lines of rank {min(silent)}, as other ranks print them")
        for name, speaker in self._speakers.items():
            who = f" of rank {name}" if name else ""
            counts = speaker.counts.items()
            short = [f"{what or 'bar'} {n} of {of}" for what, (least, n, of) in counts if n < of - (least == 0)]
            if ended and name and not speaker.ended:
                yield Gap("job_end", f"the end of the program{who}, which other ranks print", line=speaker.progressed)
            elif speaker.ended >= speaker.progressed:
                self._record.ends.append(f"a program{who} to its end")
            elif short:
                yield Gap("last_step", f"the last step{who}: {', '.join(short[:3])}", line=speaker.progressed)
            elif speaker.counts:
                self._record.ends.append(f"a program{who} to its last step")
            else:
                yield Gap("job_end", f"the end of the program{who}", line=speaker.progressed)
        begun, totals = max(self._counts["warm_up_begun"], self._counts["warm_up_done"]), self._counts["total"]
        if totals and begun > totals:
            yield Gap("ranks", f"the end of {begun - totals} of {begun} processes")

    def _comm_gaps(self) -> Iterator[Gap]:
        closed = bool(self._comms)
        for key, what in self._comms.items():
            size, up = self._comm_sizes[key], what.get("Init COMPLETE", set())
            late = what.get("Init START", set()) - up
            gone = what.get("Destroy COMPLETE", set())
            if late:
                yield Gap("ranks", f"NCCL's Init COMPLETE of rank {min(late)} of {size}")
            elif 1 < len(up) < size:
                yield Gap("ranks", f"NCCL's Init COMPLETE of {size - len(up)} of {size} ranks")
            closed = closed and len(gone) == size
        if closed and not self._speakers and not self._begins:
            self._record.ends.append("NCCL's communicators to their end")


def _row(words: Sequence[str], columns: Sequence[str]) -> tuple[int, float, float] | None:
    """Bytes, microseconds and GB/s, each 0 where there is no such column; None: it is no row of this table. Of several
    times the average counts, else the first."""
    amount = job_form("sized_amount").fullmatch(words[0])
    sized = bool(columns) and job_form("sized_first").match(columns[0]) is not None
    found: dict[bool, float] = {}
    cells = zip(columns, words) if len(words) >= len(columns) else ()
    for column, word in sorted(cells, key=lambda cell: "avg" not in cell[0].lower()):
        unit, value = job_form("sized_unit").search(column), number(word)
        if unit and value is not None:
            power = " KMG".index(unit["prefix"] or " ")
            rate = (1024.0 if unit["binary"] else 1e3) ** power / (8e9 if unit["bits"] else 1e9)
            found.setdefault(unit["time"] is not None, value * (1.0 if unit["time"] else rate))
    if not found or (sized and amount is None):
        return None
    size = int(amount[1]) << 10 * " KMG".index(amount[2].upper() or " ") if sized and amount else 0
    return size, found.get(True, 0.0), found.get(False, 0.0)


def _step(name: str, measured: Sequence[tuple[int, float, float]], line: int) -> Iterator[Gap]:
    """The greatest step: a message that is hardly longer than the one before takes many times its time, or a part."""
    times = [(size, time or size / (rate or math.inf)) for size, time, rate in measured]
    steps = [
        (max(after / before * size / longer, before / after if size >= _WARM else 0), size, longer, after / before)
        for (size, before), (longer, after) in zip(times, times[1:])
        if 0 < size < longer <= 4 * size and before > 0 < after
    ]
    factor, size, longer, taken = max(steps, default=(0.0, 0, 0, 0.0))
    if factor > _STEP:
        text = f"even times of {name}: {longer} bytes take {taken:.3g} times the time of {size} bytes"
        yield Gap("figure", text, line=line)
