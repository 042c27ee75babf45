"""What all log readers share: where a log comes from, what was seen in it, what is wrong with it.

Every reader takes a log in pieces (bytes or text, cut anywhere), keeps a bounded number of records, never raises for
the content of a log, and never calls a log good in which it found nothing.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import ipaddress
import math
import re
import statistics
from typing import Any, Callable, Generic, Iterable, Iterator, Mapping, Sequence, TypeVar, Union

from ..._yaml_files import Beside
from .census import Census, died
from .tags import Demultiplexer, Line, bare

PIECE = 1 << 20
RECORD_LIMIT = 1 << 16  # records of one kind that a reader keeps; a log of 65,536 ranks is no log of a run
_COLLECT = 1 << 17
_PER_CODE = 5

_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_TEXTS = Beside(__file__, "problems.yml")
_FAILURES = Beside(__file__, "failures.yml")
_DEATHS = 32  # different ones that are kept

Source = Union[str, bytes, Iterable[Union[str, bytes]]]


@dataclasses.dataclass(frozen=True)
class Problem:
    """``code`` for programs, ``message`` for people."""

    code: str
    message: str


class Problems:
    """What one reader says is wrong, in the words of problems.yml and in order.

    A million times the same stays a handful, with the number of the others.
    """

    def __init__(self, reader: str) -> None:
        self._reader = reader
        self._found: list[Problem] = []
        self.counts: collections.Counter[str] = collections.Counter()  # code -> how many there are

    def add(self, name: str, /, **words: Any) -> None:
        """``name``: CODE, or CODE/WHICH where a code has several texts; ``words``: what its text has in braces."""
        self.put(self.worded(name, **words))

    def add_if(self, wrong: Any, name: str, /, **words: Any) -> None:
        """As `add`, if something is ``wrong``."""
        if wrong:
            self.add(name, **words)

    def worded(self, name: str, /, **words: Any) -> Problem:
        own = _TEXTS[self._reader]
        text = own[name] if name in own else _TEXTS["reading"][name]
        return Problem(name.partition("/")[0], text.format(**words))

    def put(self, *problems: Problem) -> None:
        for problem in problems:
            self.counts[problem.code] += 1
            if self.counts[problem.code] <= _PER_CODE:
                self._found.append(problem)

    def all(self) -> tuple[Problem, ...]:
        more = tuple(
            Problem(code, f"{count - _PER_CODE} more of the kind {code!r}")
            for code, count in self.counts.items()
            if count > _PER_CODE
        )
        return (*self._found, *more)

    def __len__(self) -> int:
        return len(self._found)

    def __contains__(self, code: str) -> bool:
        return code in self.counts


def picked(thing: Any, *names: str) -> dict[str, Any]:
    """Fields and properties of a result by their names, as they are."""
    return {name: getattr(thing, name) for name in names}


def shown(thing: Any, /, *names: str, **more: Any) -> dict[str, Any]:
    """``more``, and fields and properties by their names, all of it `plain`."""
    return {key: plain(value) for key, value in {**more, **picked(thing, *names)}.items()}


Part = TypeVar("Part")
Key = TypeVar("Key")
Thing = TypeVar("Thing")


@dataclasses.dataclass(frozen=True)
class Several(Generic[Part]):
    """A result with several parts: good if there are some, and nothing is wrong with them or with the log.

    ``name``: what `as_dict` calls the parts; ``more``: its further entries.
    """

    name: str
    parts: tuple[Part, ...]
    problems: tuple[Problem, ...]
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def all_problems(self) -> list[Problem]:
        """Of the log, and of each part that has some of its own."""
        own = (part.problems.all() for part in self.parts if hasattr(part, "problems"))
        return [*self.problems, *(problem for problems in own for problem in problems)]

    @property
    def good(self) -> bool:
        return bool(self.parts) and not self.all_problems

    def as_dict(self) -> dict[str, Any]:
        return shown(self, ok=self.good, **{self.name: self.parts}, **self.more, problems=self.all_problems)


# ----------------------------------------------------------------------------------------------------------- sources


def pieces(source: Source) -> Iterator[bytes]:
    """Bytes in pieces of about PIECE, from a text, bytes, or an iterable of either (an open file, lines, chunks).

    The parts of an iterable are joined as they are, so lines must still have their newline. Small ones are collected
    first: line by line would cost more than the reading.
    """
    small: list[bytes] = []
    held = 0
    for part in (source,) if isinstance(source, (str, bytes)) else source:
        for start in range(0, len(part), PIECE):
            piece = part if len(part) <= PIECE else part[start : start + PIECE]
            small.append(piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else bytes(piece))
            held += len(small[-1])
            if held >= _COLLECT:
                yield small[0] if len(small) == 1 else b"".join(small)
                small, held = [], 0
    if small:
        yield b"".join(small)


def file_pieces(path: str) -> Iterator[bytes]:
    """A file in pieces. Raises OSError."""
    with open(path, "rb") as stream:
        yield from iter(lambda: stream.read(PIECE), b"")


def is_path(value: str) -> bool:
    """One line that begins with a slash is the path of a log, anything else is a log. The disk is not asked.

    "/bin/sh: 1: mpirun: not found" is a log: no path has a colon and a blank.
    """
    return value.startswith("/") and "\n" not in value and ": " not in value and len(value) < 4096


def source_of(value: Any) -> Iterator[bytes]:
    """The pieces of what a filter was given: the text of a log, or the absolute path of one.

    Raises ValueError (not a text) and OSError (cannot be read).
    """
    if not isinstance(value, (str, bytes)):
        raise ValueError(f"wants the text of a log or the absolute path of one, not {type(value).__name__}")
    if isinstance(value, str) and is_path(value):
        return file_pieces(value)
    return pieces(value)


# ------------------------------------------------------------------------------------------------------------- readers


Result = TypeVar("Result")


class LogReader(Generic[Result]):
    """Feed a log in pieces; subclasses take the lines and judge at the end.

    ``expected_ranks``: how many were started; None: believe the log.
    """

    name = ""  # of the reader in problems.yml
    wants = ""  # what is looked for, for the message of a log without it
    needles: Sequence[bytes] | None = None
    page = False  # what is read is a page, and what failed in it is no run of its tables

    def __init__(self, expected_ranks: int | None = None) -> None:
        self.expected_ranks = expected_ranks
        self.census = Census()
        self.problems = Problems(self.name)
        self.demultiplexer = Demultiplexer(self.needles)
        self.deaths: dict[str, None] = {}  # what launchers say of processes that failed

    @classmethod
    def read(cls, source: Source, *options: Any, **named: Any) -> Result:
        """Read a log from its pieces (text, bytes, or an iterable of them); options are those of the reader."""
        reader = cls(*options, **named)
        reader.feed(source)
        return reader.result()

    def feed(self, source: Source) -> None:
        for part in pieces(source):
            self.census.add(part)
            # Whole lines while nothing waits for its end: a reader may know a quicker way for lines of a usual shape.
            start = 0 if self.demultiplexer.idle else part.find(b"\n") + 1
            end = part.rfind(b"\n") + 1
            if start:
                self.slow(part[:start])
            if start < end and self.demultiplexer.idle:
                self.quick(part[start:end])
                start = end
            if start < len(part):
                self.slow(part[start:])

    def slow(self, part: bytes) -> None:
        """The way that is right for every log."""
        for line in self.demultiplexer.lines(part):
            self._take(line)

    def quick(self, lines: bytes) -> None:
        """Whole lines, none of them begun before. Must find just what `slow` finds."""
        self.slow(lines)

    def result(self) -> Result:
        """The end of the log, and what it says."""
        for line in self.demultiplexer.rest():
            self._take(line)
        return self.found()

    def line(self, line: Line) -> None:
        raise NotImplementedError

    def found(self) -> Result:
        """What all lines say."""
        raise NotImplementedError

    def _take(self, line: Line) -> None:
        if len(self.deaths) < _DEATHS and (death := died(line.text)):
            self.deaths.setdefault(death)
        if line.dropped:
            said = {"length": len(line.text), "dropped": line.dropped, "start": line.text[:80]}
            self.problems.add("overlong_line", who=who(line.rank), **said)
        else:
            self.line(line._replace(text=_COLOUR.sub("", line.text)) if "\x1b" in line.text else line)

    def failure(self, text: str) -> tuple[str, str] | None:
        """What the program prints in this line when it fails, and what to do; None if it does not fail."""
        for pattern, remedy in _FAILURES[self.name].items():
            if match := re.search(pattern, text):
                return match[0].strip(), remedy
        return None

    def ended(self, measured: Any) -> None:
        """Say what is said of a failure of the run; if nothing was measured and nothing is wrong, what there is."""
        for said in dict.fromkeys((*self.deaths, *self.census.ends())) if measured and not self.page else ():
            self.problems.add("failed/launched", said=said)
        if not measured and not self.problems:
            self.nothing()

    def nothing(self) -> None:
        """Say that what was looked for is not there, and what is."""
        found = self.census.describe()
        if f"({self.name})" in found:
            failed, figures = self.census.failures(), next(iter(self.census.said("figures")), "")
            found = f"it begins, and ends before a result: {failed or 'cut, still running, or hung'}"
            if figures and not failed:
                found = f"there are rows or speeds of a shape that is not known: {figures!r}"
        self.problems.add("no_result", wants=self.wants, found=found)


_TASK = re.compile(r"\[?(?:rank ?)?(\d{1,6})\]?:?")


class PartsReader(LogReader[Several[Part]], Generic[Part]):
    """A log with several parts (tables, tests, runs); each rank writes one at a time. ``MOST`` parts are kept, and the
    open ones of ``MOST_RANKS`` ranks."""

    MOST = 1024
    MOST_RANKS = 1024
    part: type[Part]

    def __init__(self, expected_ranks: int | None = None) -> None:
        super().__init__(expected_ranks)
        self.parts: list[Part] = []
        self.current: dict[int | None, Part] = {}
        self.left_out = self.rows = 0
        self._labels: dict[str, int] = {}

    def bare(self, line: Line) -> Line:
        """The line without what a launcher put before it. A label that is no number of a task is a rank below 0."""
        label, text = bare(line.text)
        rank = line.rank
        if label and rank is None and len(self._labels) < self.MOST_RANKS:
            task = _TASK.match(label)
            rank = int(task[1]) if task else self._labels.setdefault(label, -1 - len(self._labels))
        return line._replace(rank=rank, text=text)

    def several(self, name: str, parts: Iterable[Part], measured: Any, **more: Any) -> Several[Part]:
        """The result; if nothing was measured, it says so."""
        self.problems.add_if(self.left_out, f"too_many_{name}", most=self.MOST, left_out=self.left_out)
        self.ended(measured)
        return Several(name, tuple(parts), self.problems.all(), more)

    def open(self, rank: int | None, done: Callable[[Part], Any]) -> Part:
        """The part of this rank that is open; a new one where there is none, or what is there is ``done``."""
        part = self.current.get(rank)
        return self.begin(rank, self.part()) if part is None or done(part) else part

    def begin(self, rank: int | None, part: Part) -> Part:
        if len(self.parts) < self.MOST:
            self.parts.append(part)
        else:
            self.left_out += 1
        if len(self.current) < self.MOST_RANKS:
            self.current[rank] = part
        return part


def by_key(pairs: Iterable[tuple[Key, Thing]]) -> dict[Key, list[Thing]]:
    """Each key with its things, both in the order in which they come."""
    found: dict[Key, list[Thing]] = {}
    for key, thing in pairs:
        found.setdefault(key, []).append(thing)
    return found


def who(rank: int | None) -> str:
    return "a rank" if rank is None else f"rank {rank}"


def names(numbers: Iterable[Any], most: int = 20) -> str:
    """Numbers or names in a message; of many only the first."""
    shown = list(numbers)
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(str(number) for number in shown[:most]) + more


few = functools.partial(names, most=4)


def short(name: str) -> str:
    """A host's name up to its first dot, as NCCL prints it; an address stays whole."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name.split(".", maxsplit=1)[0]


# ------------------------------------------------------------------------------------------------------------- numbers

_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?|[-+]?(?:nan|inf(?:inity)?)", re.IGNORECASE)


def number(text: str) -> float | None:
    """A decimal number as a program prints it, nan and inf too; None: not a number."""
    return float(text) if _NUMBER.fullmatch(text) else None


def integer(text: str) -> int | None:
    """A whole number of a sensible length; None: not one."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None


def positive(value: Any) -> float | None:
    """A positive, finite number, also one that is text; None: not one."""
    try:
        found = float(value)
    except (OverflowError, TypeError, ValueError):
        return None
    return found if 0 < found < 1e15 else None


def plain(value: Any) -> Any:
    """As JSON can carry it: nan and infinities as text, results, mappings and sequences as dict and list."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Problems):
        value = value.all()
    elif hasattr(value, "as_dict"):
        value = value.as_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return value


def finite(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None and math.isfinite(value)]


def spread(values: Sequence[float]) -> dict[str, float | int | None]:
    """Count, mean, median, extremes, and (max - min) / median of finite values; None where there is none."""
    if not values:
        return {"count": 0, "mean": None, "median": None, "min": None, "max": None, "relative_spread": None}
    low, median, high = min(values), statistics.median(values), max(values)
    return {
        "count": len(values),
        "mean": math.fsum(values) / len(values),
        "median": median,
        "min": low,
        "max": high,
        "relative_spread": (high - low) / median if median > 0 else None,
    }


class Kept:
    """A bounded list: beyond ``limit`` every second entry goes, and only every second (fourth, ...) comes in.

    So what is kept spans the whole log evenly, in constant memory. ``seen`` counts all.
    """

    def __init__(self, limit: int = RECORD_LIMIT) -> None:
        self.seen = 0
        self.entries: list[Any] = []
        self._limit = limit
        self._stride = 1

    def add(self, entry: Any) -> None:
        self.add_all((entry,))

    def add_all(self, entries: Sequence[Any], made: Callable[[Any], Any] | None = None) -> None:
        """``made``: what is kept of an entry."""
        chosen = entries[-self.seen % self._stride :: self._stride]
        self.entries += map(made, chosen) if made else chosen
        self.seen += len(entries)
        while len(self.entries) > self._limit:
            self.entries = self.entries[::2]
            self._stride *= 2
