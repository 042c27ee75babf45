"""Read how far the jobs of a piece came: tests, programs, ranks, and the links that bound their figures. Pure.

Forms: nccl-tests, perftest, OSU, HPL, tf_cnn_benchmarks, Horovod, MXNet, Hugging Face, Lightning, Megatron, MLPerf,
Slurm, NCCL.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import re
from typing import Iterable, Iterator

from .._judge.packs.model import FACT, sign
from .._judge.words import any_of
from .._results.readers import nccl_tests
from .._results.readers.tags import Line
from .pace import WORDS, Pace
from .readers import Found

_RANKS = 65_536
_TABLE_LINES = 400  # behind these, some lines of a form are left out
_WRONG = ("wrong_values", "not_finite", "out_of_bounds")
_GOES_ON = 10  # lines of work behind a line say that the program outlived it; two, if none is before it
_BROKEN = frozenset({"job_end", "last_row", "last_step", "ranks", "finite", "wrong_values"})
_TAG = re.compile(r"(?=\[\d+,\d+\]<std(?:out|err)>:)")
_SPEAKER = re.compile(r"^\[\d+,(\d+)\]<std|^\[rank(\d+)\]:?|^(\d+): ")
# What a launcher, kubectl or a container puts before a line.
_PREFIX = re.compile(
    r"^(?:\[pod/[^\]]*\]\s+)?(?:\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)\s+)?(?:std(?:out|err) F )?"
)
_HOST = re.compile(r"(?:^|<std(?:out|err)>: ?)([A-Za-z0-9][\w.-]*):\d+:\d+ \[\d+\]")
_TABLE = re.compile(r"^#?\s*#?\s+size\s+count\s+type\b")
_COMM = re.compile(
    r"comm 0x\w+ rank (?P<rank>\d+) nranks (?P<of>\d+)(?: cudaDev (?P<device>\d+))?.*?(?:commId (?P<id>0x\w+))?"
    r" - (?P<what>Init START|Init COMPLETE|Abort COMPLETE|Destroy COMPLETE)"
)
_PERF_HEAD = re.compile(r"#bytes\s+#iterations\s+BW peak\[(?P<unit>\w+)/sec\]|# OSU (?P<osu>\S.*) Test\b")
_PERF_ROW = re.compile(r"^\s*(?P<size>\d+)\s+\d+\s+[\d.]+\s+(?P<rate>[\d.]+)(?:\s+[\d.]+)+\s*$")
_OSU_ROW = re.compile(r"^\s*(?:(?P<size>\d+)\s+)?(?P<rate>\d+\.\d+)(?:\s+(?:[\d.]+|Pass))*\s*$")
_ALL_SIZES = {"perftest": 1 << 23, "OSU": 1 << 20}  # the last size of perftest -a, of OSU's collectives
_LINKS = (
    (re.compile(r"\bSpeed:\s*(\d+)Mb/s"), 1e-3),
    (re.compile(r"NET/IB\b.*\bspeed=(\d+)"), 1e-3),
    (re.compile(r"\brate:\s*(\d+) Gb/sec"), 1.0),
    (re.compile(r"^\s*Rate:\s*(\d+)\s*$"), 1.0),
)
_USING = re.compile(r"NET/IB : Using (.*)")
_NIC = re.compile(r"\[\d+\][\w-]+:\d+/(?:RoCE|IB)")
_CARD = re.compile(r"^\|\s+(\d+)\s+(?:NVIDIA|Tesla|Quadro|A\d|H\d|GeForce)")
_BEGUN = (re.compile("Running warm ?up", re.IGNORECASE), re.compile("Done warm ?up", re.IGNORECASE))
_PROGRESS = re.compile(
    r"images/sec:|img/sec|samples/s(?:ec)?\b|\bit/s\b|\bs/it\b|tokens/s"
    r"|\bloss['\"]?(?:\s*[=:]\s*|\s+)[-+]?(?:\d|nan|inf)|\b(?:step|epoch|iter|iteration|batch)\b ?[:=#\[/]* ?\d",
    re.IGNORECASE,
)
_OF = re.compile(
    r"\b(?P<what>step|iter|iteration|epoch|batch|update)s?\b[\s:=#\[({]*(?P<n>\d+)\s*(?:/|of)\s*(?P<of>\d+)",
    re.IGNORECASE,
)
_BAR = re.compile(r"(?P<what>[^|\r]{0,60}?)\d+%\|[^|]*\|\s*(?P<n>\d+)/(?P<of>\d+) ")
_BATCHES = re.compile(r"\bnum_batches=(\d+)")
_ITER = re.compile(r"\biter (\d+), [\d.]+ sec, (\S+) GB/sec per gpu, error \S")
_RANK_LINE = re.compile(r"\brank (\d+)/(\d+) .*\bimg/s/rank ([\d.]+|nan)")
_TOTAL = re.compile(r"total images/sec:\s*([\d.]+|nan|inf)", re.IGNORECASE)
_EPOCHS = re.compile(r"\bnum_epochs=(?P<of>\d+)|\bEpoch\[(?P<n>\d+)\] Validation-\w+=")
_END = re.compile(
    r"\bTraining (?:complete\w*|finished|done)\b|\bFinished training\b|['\"]train_runtime['\"]"
    r"|\bTotal img/sec on \d+ [CG]PU\(s\): \d|\*\*\* Best metric: \d"
    r"|Trainer\.fit` stopped: .*\breached|\[after training is done\]"
    r"|exiting program at iteration \d|\bProcess \d+ exits successfully\b|(?:^|[:>] ?)done\.?$"
    r"|\bEnd of Tests\.$|\brun_stop\b.*\"status\": \"success\"|:::MLPv\S+ .*\brun_final\b|\bCOMPLETED +0:0\b",
    re.IGNORECASE,
)
# Not finite where a scale of the loss was tried, or nothing was counted: the last one counts, and it breaks nothing.
_LAST_COUNTS = re.compile(r"\b\w*(?:grad_norm|accuracy)['\"]?\s*[=:]?\s*[-+]?(?:(?P<bad>nan|inf)\b|\d)", re.IGNORECASE)

# Lines that are read: those that may match one of these, rows of nccl-tests by their types, and what has no pattern or
# none with a word: the kind of a channel, a card, a row of perftest.
_WANTED: tuple[re.Pattern[str], ...] = tuple(pattern for pattern, _scale in _LINKS)
_TEST = (nccl_tests.HEAD, nccl_tests.RANK, nccl_tests.BOUNDS, nccl_tests.AVERAGE, nccl_tests.LESS, _TABLE)
_WANTED += (*_TEST, _COMM, _PERF_HEAD)
_WANTED += (_USING, *_BEGUN, _PROGRESS, _OF, _BATCHES, _ITER, _RANK_LINE, _TOTAL, _END, _EPOCHS)
_WANTED += (_LAST_COUNTS,)
_TYPES = (" float ", " half ", " double ", " int", " uint", "bfloat", "f8e")
_PLAIN: tuple[str, ...] = ("via net", "nvidia", "tesla", ".00     ", ".000000     ")
_PLAIN += tuple(f"{'':7}{'0' * figures}.00" for figures in range(1, 8))  # rows of OSU


@dataclasses.dataclass(frozen=True)
class Gap:
    """What would have to be shown and was not. ``code``: job, job_end, last_row, last_step, ranks, gpus, finite,
    wrong_values, rows, size, figure, link_speed, line, rest."""

    code: str
    text: str
    file: str = ""
    line: int = 0


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

    APART = sign("tests_apart", "processes that each ran nccl-tests alone")
    ONE_HOST = sign("one_host", "all ranks of the job are on one host", FACT)
    words: tuple[str, ...] = (
        *sorted({word for pattern in _WANTED for word in any_of(pattern)}),
        *_TYPES,
        *_PLAIN,
        *WORDS,
    )

    def __init__(self) -> None:
        self._tables = nccl_tests.Reader()
        self._read = self._tables.result()
        self._begins: list[int] = []  # of each table
        self._table_lines = 0
        self._perfs: list[_Perf] = []
        self._speakers: dict[str, _Speaker] = {}
        self._comms: dict[str, dict[str, set[int]]] = {}
        self._comm_sizes: dict[str, int] = {}
        self._begun = [0, 0]
        self._totals = 0
        self._epochs = 0
        self._batches: tuple[int, int] | None = None
        self._iter: tuple[int, float, int] = (0, 0.0, 0)
        self._rank_lines: dict[int, int] = {}
        self._rank_count = 0
        self._last: dict[str, tuple[int, str]] = {}  # speaker -> its last figure, if it is not finite
        self._pace = Pace()
        self._record = Record("", "")
        self._works: collections.deque[int] = collections.deque(maxlen=_GOES_ON)

    def line(self, number: int, text: str) -> None:
        text = _PREFIX.sub("", text)
        for part in _TAG.split(text) if "]<std" in text else (text,):
            if part:
                self._part(number, part)

    def result(self) -> Iterable[Found]:
        for problem in self._read.problems if self._table_lines < _TABLE_LINES else ():
            if problem.code == "not_one_job":
                yield Found(self.APART, self._begins[0], problem.message)
        jobs = self._record.devices
        whole = all(
            sum(map(len, jobs.get(f"NCCL {key}", {}).values())) == size for key, size in self._comm_sizes.items()
        )
        hosts = {host for job in jobs.values() for host in job}
        if len(hosts) == 1 and whole and not self._record.network:
            yield Found(self.ONE_HOST, 0, f"every rank that is named is on {hosts.pop()}")

    def record(self, name: str, host: str) -> Record:
        """What was read; call it once, at the end of the piece."""
        found = self._record
        found.file, found.host, found.measured = name, host, bool(self._begins or self._perfs)
        pace = (Gap(code, text, line=line) for code, text, line in self._pace.gaps())
        for gap in (*self._test_gaps(), *self._perf_gaps(), *self._program_gaps(), *self._comm_gaps(), *pace):
            found.gaps.append(dataclasses.replace(gap, file=name))
        if len(self._works) > 1 or (found.well and self._works):
            found.outlived = self._works[-1 if found.well else 0]
        return found

    def _part(self, number: int, text: str) -> None:
        self._facts(number, text)
        who = _SPEAKER.match(text)
        name = next((group for group in who.groups() if group), "") if who else ""
        for match in _LAST_COUNTS.finditer(text):
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
        for pattern, scale in _LINKS:
            for match in pattern.finditer(text):
                if float(match[1]) > 0 and len(found.links) < 64:
                    found.links.add(float(match[1]) * scale)
        using = _USING.search(text)
        if using:
            found.nics = max(found.nics, len(_NIC.findall(using[1])))
        found.network = found.network or "via NET/" in text
        card = _CARD.match(text)
        if card:
            found.cards.add(int(card[1]))
        comm = _COMM.search(text)
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
        host = _HOST.search(text)
        if host and match["device"]:
            self._device(f"NCCL {key}", host[1], int(match["device"]))

    def _device(self, job: str, host: str, device: int) -> None:
        hosts = self._record.devices.setdefault(job, {})
        if host in hosts or len(hosts) < _RANKS:
            hosts.setdefault(host, set()).add(device)

    def _test(self, number: int, rank: str, text: str) -> bool:
        row = "#" not in text and nccl_tests.row_of(text.strip()) is not None
        if not row and not any(pattern.search(text) for pattern in _TEST):
            return False
        self._tables.line(Line(int(rank) if rank else None, "stdout", text))
        self._table_lines += 1
        self._begins += [number] * (len(self._tables.parts) - len(self._begins))
        gpu = nccl_tests.RANK.search(text)
        if gpu:
            self._device(f"test {len(self._begins)}", gpu["host"], int(gpu["device"]))
            self._record.gpu_names.add(gpu["model"].strip()[:80])
        if row or nccl_tests.AVERAGE.search(text):
            self._works.append(number)
        return True

    def _test_gaps(self) -> Iterator[Gap]:
        self._read = self._tables.result()
        for table, line in zip(self._tables.parts, self._begins):
            most, row = table.max_bytes, table.largest
            if row is None and table.finished and not most:
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
        head = _PERF_HEAD.search(text)
        if head:
            unit = head["unit"] or ("M" if re.search("Bandwidth|Rate", head["osu"]) else "us")
            if not self._perfs or self._perfs[-1].rows:  # both ends of a test may write into one log
                self._perfs.append(_Perf(number, unit, "OSU" if head["osu"] else "perftest"))
            return True
        perf = self._perfs[-1] if self._perfs else None
        row = (_OSU_ROW if perf.kind == "OSU" else _PERF_ROW).match(text) if perf else None
        if perf and row:
            self._works.append(number)
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
            if perf.unit == "us":
                yield Gap("size", f"a bandwidth: this test of {perf.kind} measures times", line=perf.line)
                continue
            self._record.figures.append(Figure(rate, perf.size, perf.line, f"{perf.kind} bandwidth"))

    def _program(self, number: int, name: str, text: str) -> None:
        if "warm" in text:
            self._begun = [count + len(pattern.findall(text)) for count, pattern in zip(self._begun, _BEGUN)]
        if name not in self._speakers and len(self._speakers) >= _RANKS:
            return
        batches, each, rank = _BATCHES.search(text), _ITER.search(text), _RANK_LINE.search(text)
        if batches:
            self._batches = (int(batches[1]), number)
        if each:
            self._iter = (int(each[1]), _number(each[2]), number)
            return
        if rank:
            self._rank_count = max(self._rank_count, int(rank[2]))
            self._rank_lines[int(rank[1])] = self._rank_lines.get(int(rank[1]), 0) + 1
            return
        epochs = _EPOCHS.search(text)
        if epochs and epochs["of"]:
            self._epochs = int(epochs["of"])
        last = epochs is not None and epochs["n"] is not None and int(epochs["n"]) + 1 == self._epochs
        totals = _TOTAL.findall(text)
        self._totals += len(totals)
        if totals or last or _END.search(text):
            self._speakers.setdefault(name, _Speaker()).ended = number
            self._works.append(number)
            return
        bars = list(_BAR.finditer(text)) if "%|" in text else []
        if bars or _PROGRESS.search(text) or _OF.search(text):
            speaker = self._speakers.setdefault(name, _Speaker())
            speaker.progressed = number
            self._works.append(number)
            for match in (*_OF.finditer(text), *bars):
                what, n, of = match["what"].strip().lower(), int(match["n"]), int(match["of"])
                least = min(n, speaker.counts.get(what, (n, 0, 0))[0])
                if of and (what in speaker.counts or len(speaker.counts) < 64):
                    speaker.counts[what] = (least, n, of)

    def _program_gaps(self) -> Iterator[Gap]:
        for line, text in list(self._last.values())[:1]:
            yield Gap("figure", f"finite figures: {text}", line=line)
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
        begun = max(self._begun)
        if self._totals and begun > self._totals:
            yield Gap("ranks", f"the end of {begun - self._totals} of {begun} processes")

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


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
