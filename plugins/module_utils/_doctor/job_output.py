"""Read how far the jobs of a piece came: tests, programs, ranks, and the links that bound their figures. Pure.

Forms: nccl-tests, perftest, OSU, HPL, tf_cnn_benchmarks, Horovod, MXNet, Hugging Face, Lightning, Megatron, MLPerf,
Slurm, NCCL.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import re
from typing import Iterable, Iterator

from .._judge.packs import loader
from .._judge.words import any_of
from .._results.readers import nccl_tests, perftest
from .._results.readers.tags import Line
from .pace import Gap, Pace, figure, job_form
from .readers import Found

_RANKS = 65_536
_TABLE_LINES = 400  # behind these, some lines of a form are left out
_WRONG = ("wrong_values", "not_finite", "out_of_bounds")
_GOES_ON = 10  # lines of work behind a line say that the program outlived it; two, if none is before it
_BROKEN = frozenset({"job_end", "last_row", "last_step", "ranks", "finite", "wrong_values"})
_ALL_SIZES = {"perftest": 1 << 23, "OSU": 1 << 20}  # the last size of perftest -a, of OSU's collectives
_SCALES = {"link_mega": 1e-3, "link_giga": 1.0}  # to Gb/s
_OF_TESTS = (nccl_tests.HEAD, nccl_tests.RANK, nccl_tests.BOUNDS, nccl_tests.AVERAGE, nccl_tests.LESS)


@functools.lru_cache(maxsize=1)
def _words() -> tuple[str, ...]:
    """Lines with one of these are read. Raises PackError, and ImportError without PyYAML."""
    listed = loader.load().lists["jobs"]
    patterns = (*_OF_TESTS, *map(job_form, listed["read"]))
    return (*sorted({word for pattern in patterns for word in any_of(pattern)}), *listed["words"])


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
    that take part; ``cards``: GPUs that nvidia-smi lists; ``outlived``: whatever stands before this line, the program
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
    measured: bool = False  # there is a table of nccl-tests, perftest or OSU

    @property
    def well(self) -> bool:
        """A job came to its end, and none did not."""
        return bool(self.ends) and not _BROKEN.intersection(gap.code for gap in self.gaps)


@dataclasses.dataclass
class _Perf:
    line: int
    unit: str
    kind: str
    reader: perftest.Reader = dataclasses.field(default_factory=perftest.Reader)  # perftest says a rate twice
    rows: int = 0
    size: int = 0
    rate: float = 0.0


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
        self._heads: set[int] = set()  # numbers of the tables whose head was there
        self._table_lines = self._closed = 0  # closed: the last line of a benchmark
        self._perfs: list[_Perf] = []
        self._speakers: dict[str, _Speaker] = {}
        self._comms: dict[str, dict[str, set[int]]] = {}
        self._comm_sizes: dict[str, int] = {}
        self._counts: collections.Counter[str] = collections.Counter()
        self._epochs = 0
        self._batches: tuple[int, int] | None = None
        self._iter: tuple[int, float, int] = (0, 0.0, 0)
        self._rank_lines: dict[int, int] = {}
        self._rank_count = 0
        self._last: dict[str, tuple[int, str]] = {}  # speaker -> its last figure, if it is not finite
        self._pace = Pace()
        self._record = Record("", "")
        self._works: collections.deque[int] = collections.deque(maxlen=_GOES_ON)

    @property
    def words(self) -> tuple[str, ...]:
        return _words()

    def line(self, number: int, text: str) -> None:
        text = job_form("prefix").sub("", text)
        for part in job_form("tag").split(text) if "]<std" in text else (text,):
            if part:
                self._part(number, part)

    def result(self) -> Iterable[Found]:
        for problem in self._read.problems if self._table_lines < _TABLE_LINES else ():
            if problem.code == "not_one_job":
                yield Found("tests_apart", self._begins[0], problem.message)
        jobs = self._record.devices
        whole = all(
            sum(map(len, jobs.get(f"NCCL {key}", {}).values())) == size for key, size in self._comm_sizes.items()
        )
        hosts = {host for job in jobs.values() for host in job}
        if len(hosts) == 1 and whole and not self._record.network:
            yield Found("one_host", 0, f"every rank that is named is on {hosts.pop()}")

    def record(self, name: str, host: str) -> Record:
        """What was read; call it once, at the end of the piece."""
        found = self._record
        found.file, found.host, found.measured = name, host, bool(self._begins or self._perfs)
        gaps = (self._test_gaps, self._perf_gaps, self._program_gaps, self._comm_gaps, self._pace.gaps)
        found.gaps += [dataclasses.replace(gap, file=name) for part in gaps for gap in part()]
        if len(self._works) > 1 or (found.well and self._works):
            found.outlived = self._works[-1 if found.well else 0]
        return found

    def _part(self, number: int, text: str) -> None:
        self._facts(number, text)
        who = job_form("speaker").match(text)
        name = next((group for group in who.groups() if group), "") if who else ""
        for match in job_form("last_counts").finditer(text):
            if match["bad"] and len(self._last) < _RANKS:
                self._last[name] = (number, text.strip()[:120])
            elif not match["bad"]:
                self._last.pop(name, None)
        bare = text[text.index(":") + 1 :] if who and name else text
        self._pace.line(number, name, text)
        if not (self._test(number, name, bare) or self._perf(number, bare)):
            self._program(number, name, text)

    def _facts(self, number: int, text: str) -> None:
        found = self._record
        for form, scale in _SCALES.items():
            for match in job_form(form).finditer(text):
                speed = float(match[1] or match[2])
                if speed > 0 and len(found.links) < 64:
                    found.links.add(speed * scale)
        using = job_form("using").search(text)
        if using:
            found.nics = max(found.nics, len(job_form("nic").findall(using[1])))
        found.network = found.network or "via NET/" in text
        card = job_form("card").match(text)
        if card:
            found.cards.add(int(card[1]))
        comm = job_form("communicator").search(text)
        if comm:
            self._comm(comm, text)

    def _comm(self, match: re.Match[str], text: str) -> None:
        key = match["id"] or match["of"]
        if len(self._comms) >= 4096 and key not in self._comms:
            return
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

    def _test(self, number: int, rank: str, text: str) -> bool:
        row = "#" not in text and nccl_tests.row_of(text.strip()) is not None
        if not row and not any(form.search(text) for form in (*_OF_TESTS, job_form("table"))):
            return False
        self._tables.line(Line(int(rank) if rank else None, "stdout", text))
        self._table_lines += 1
        self._begins += [number] * (len(self._tables.parts) - len(self._begins))
        if job_form("table").search(text):
            self._heads.add(len(self._begins))
        gpu = nccl_tests.RANK.search(text)
        if gpu:
            self._device(f"test {len(self._begins)}", gpu["host"], int(gpu["device"]))
            self._record.gpu_names.add(gpu["model"].strip()[:80])
        if row or nccl_tests.AVERAGE.search(text):
            self._works.append(number)
        return True

    def _test_gaps(self) -> Iterator[Gap]:
        self._read = self._tables.result()
        for place, (table, line) in enumerate(zip(self._tables.parts, self._begins), 1):
            most, row = table.max_bytes, table.largest
            if row is None and table.finished and not most and place not in self._heads:
                continue  # its last lines alone: they show neither a job nor a cut one
            if row is None and table.finished:
                self._record.ends.append("nccl-tests to its end")
                yield Gap("rows", "the rows of nccl-tests: they are broken or of a form that is not known", line=line)
            elif most and (row is None or not table.reached):
                last = f"the last size is {row.size}" if row else "there is no row"
                yield Gap("last_row", f"the last row of nccl-tests: {last}, the largest is {most} bytes", line=line)
            elif row is None:
                yield Gap("last_row", "a row of nccl-tests", line=line)
            elif not table.finished:
                yield Gap("job_end", "the end of nccl-tests", line=line)
            else:
                self._record.ends.append(f"nccl-tests to {row.size} bytes")
                first = row.out_of_place or row.in_place
                self._record.figures.append(Figure(first.busbw if first else 0.0, row.size, line, "bus bandwidth"))
            if any(code in table.problems for code in _WRONG) or not math.isfinite(table.average_busbw or 0):
                yield Gap("wrong_values", "right values of nccl-tests", line=line)

    def _perf(self, number: int, text: str) -> bool:
        head = job_form("perf_head").search(text)
        if head:
            unit = head["unit"] or ("M" if re.search("Bandwidth|Rate", head["osu"] or "") else "us")
            if not self._perfs or self._perfs[-1].rows:  # both ends of a test may write into one log
                self._perfs.append(_Perf(number, unit, "OSU" if head["osu"] else "perftest"))
            self._perfs[-1].reader.line(Line(None, "stdout", text))
            return True
        perf = self._perfs[-1] if self._perfs else None
        row = job_form(f"{perf.kind}_row").match(text) if perf else None
        if perf and row:
            self._works.append(number)
            perf.reader.line(Line(None, "stdout", text))
            perf.rows, perf.size, perf.rate = perf.rows + 1, int(row["size"] or 0), float(row["rate"])
        return bool(row)

    def _perf_gaps(self) -> Iterator[Gap]:
        for perf in self._perfs:
            if not perf.rows or (perf.rows > 1 and perf.size < _ALL_SIZES[perf.kind]):
                last = f"the last size is {perf.size}" if perf.rows else "there is no row"
                yield Gap("last_row", f"the last row of {perf.kind}: {last}", line=perf.line)
                continue
            mebi = 1 << 20 if perf.kind == "perftest" else 10**6
            rate = perf.rate / 8 if perf.unit.startswith("G") else perf.rate * mebi / 1e9
            self._record.ends.append(f"{perf.kind} to {perf.size} bytes")
            wrong = [
                each for each in perf.reader.result().all_problems if each.message.startswith(f"{perf.size} bytes x")
            ]
            if wrong:
                yield Gap("figure", f"a bandwidth: {wrong[0].message}", line=perf.line)
                continue
            if perf.unit == "us":
                yield Gap("size", f"a bandwidth: this test of {perf.kind} measures times", line=perf.line)
                continue
            self._record.figures.append(Figure(rate, perf.size, perf.line, f"{perf.kind} bandwidth"))

    def _program(self, number: int, name: str, text: str) -> None:
        for form in ("warm_up_begun", "warm_up_done") if "warm" in text else ():
            self._counts[form] += len(job_form(form).findall(text))
        if name not in self._speakers and len(self._speakers) >= _RANKS:
            return
        batches, each, rank = (job_form(form).search(text) for form in ("batches", "iteration", "rank_line"))
        if batches:
            self._batches = (int(batches[1]), number)
        if each:
            self._iter = (int(each[1]), figure(each[2]), number)
            return
        if rank:
            self._rank_count = max(self._rank_count, int(rank[2]))
            self._rank_lines[int(rank[1])] = self._rank_lines.get(int(rank[1]), 0) + 1
            return
        epochs = job_form("epochs").search(text)
        if epochs and epochs["of"]:
            self._epochs = int(epochs["of"])
        last = epochs is not None and epochs["n"] is not None and int(epochs["n"]) + 1 == self._epochs
        totals = job_form("total").findall(text)
        self._counts["total"] += len(totals)
        end = job_form("end").search(text)
        self._closed = number if end and end["rows"] else self._closed
        if totals or last or end:
            self._speakers.setdefault(name, _Speaker()).ended = number
            self._works.append(number)
            return
        bars = list(job_form("bar").finditer(text)) if "%|" in text else []
        if bars or job_form("progress").search(text) or job_form("step_of").search(text):
            speaker = self._speakers.setdefault(name, _Speaker())
            speaker.progressed = number
            self._works.append(number)
            for match in (*job_form("step_of").finditer(text), *bars):
                what, n, of = match["what"].strip().lower(), int(match["n"]), int(match["of"])
                least = min(n, speaker.counts.get(what, (n, 0, 0))[0])
                if of and (what in speaker.counts or len(speaker.counts) < 64):
                    speaker.counts[what] = (least, n, of)

    def _program_gaps(self) -> Iterator[Gap]:
        for line, text in list(self._last.values())[:1]:
            yield Gap("figure", f"finite figures: {text}", line=line)
        if self._closed and not (self._begins or self._perfs):
            yield Gap("rows", "the rows of a benchmark, in a form that is known", line=self._closed)
        yield from self._loop_gaps()
        ended = any(speaker.ended for speaker in self._speakers.values())
        named = {int(name) for name in self._speakers if name}
        silent = set(range(min(named, default=0), max(named, default=0))) - named
        if len(named) > 1 and silent:
            yield Gap("ranks", f"lines of rank {min(silent)}, as other ranks print them")
        for name, speaker in self._speakers.items():
            who = f" of rank {name}" if name else ""
            short = [
                f"{what or 'bar'} {n} of {of}"
                for what, (least, n, of) in speaker.counts.items()
                if n < of - (1 if least == 0 else 0)
            ]
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

    def _loop_gaps(self) -> Iterator[Gap]:
        n, rate, line = self._iter
        if n and self._batches and n < self._batches[0]:
            yield Gap("last_step", f"the last iteration: {n} of {self._batches[0]}", line=line)
        elif n and self._batches and rate > 0:
            self._record.ends.append(f"{n} exchanges of gradients")
        elif n:
            yield Gap("job_end", "the number of iterations", line=line)
        counts = set(self._rank_lines.values())
        if self._rank_count and (len(self._rank_lines) < self._rank_count or len(counts) > 1):
            yield Gap("ranks", f"the same lines of all {self._rank_count} ranks: {len(self._rank_lines)} print them")
        elif self._rank_count:
            self._record.ends.append(f"the result of {self._rank_count} ranks")

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
