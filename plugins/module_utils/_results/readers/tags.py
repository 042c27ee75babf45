"""Take apart what mpirun prints: several ranks in one stream, marked by ``--tag-output`` or not at all. Pure.

A tag marks a piece of output, not a line: text written without its newline is followed by the next rank's tag in the
same line, and the newline comes later as an empty tagged line. So nothing here anchors at the start of a line.
Formats: Open MPI 4.1.4 (recorded) and 5.0.11 (recorded; one blank more behind the tag).

Works on bytes and in constant memory, whatever the output: a line has at most ``LINE_LIMIT`` bytes (the rest is
counted and thrown away), all lines that wait for their end together ``OPEN_LIMIT``.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Iterator, NamedTuple, Optional, Sequence, Tuple

from .tables import Patterns

LINE_LIMIT = 1 << 16
OPEN_LIMIT = 1 << 24
OPEN_SOURCES = 1 << 16
# A physical line longer than this is taken in pieces. No tag is longer than _TAG_LIMIT.
_SPAN = 1 << 16
_TAG_LIMIT = 64

_PLAIN = re.compile(rb"\[\d{1,10},(\d{1,10})\]<(stdout|stderr|stddiag)>:")
_STREAM = re.compile(rb"<(stdout|stderr|stddiag)>:")
# What is in front of it: the date of --timestamp-output, in brackets (Open MPI 5) or without (4.1), and job and rank.
_FRONT = re.compile(
    rb"(?:(\[)?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}(?(1)\]))?"
    rb"(?:\[\d{1,10},(?P<rank>\d{1,10})\])?\Z"
)
# "<std" that is not the tag of job 1 at the start of a line: something is glued (or unusual, and looked at one by one).
_GLUED = re.compile(b"<std" + b"".join(rb"(?<!\n\[1,\d{%d}\]<std)" % digits for digits in (1, 2, 3, 4)))

_LINES = Patterns("tags.yml")

_Source = Tuple[Optional[int], str, bool]  # rank, stream, marked by a tag
_Tag = Tuple[int, int, _Source]  # start, end
_UNTAGGED: _Source = (None, "stdout", False)


class Line(NamedTuple):
    """One line of one rank. ``rank`` None: not tagged (mpirun itself, or a run without ``--tag-output``).

    ``dropped``: bytes that were cut off (such a line is not whole); ``ended``: False if the output ended before the
    line did, so that its last word may be cut.
    """

    rank: int | None
    stream: str
    text: str
    dropped: int = 0
    ended: bool = True


def bare(text: str) -> tuple[str, str]:
    """The label in front of a line, without dates, and the line as its program printed it."""
    label = ""
    while lead := _LINES["lead"].match(text):
        label += "" if lead["date"] else lead[0].strip()
        text = text[lead.end() :]
    return label, text


@dataclasses.dataclass
class _Open:
    """A line that waits for its end. ``carriage``: a carriage return was the last thing seen."""

    text: bytearray = dataclasses.field(default_factory=bytearray)
    dropped: int = 0
    carriage: bool = False


class Demultiplexer:
    """Feed output in pieces of any size; get whole lines of single ranks.

    ``needles``: if given, only lines that contain one of them come out (others are passed over at the speed of a
    search). A line torn by tags is put together first, so a needle that is torn is found as well. May be changed
    between two lines.
    """

    def __init__(self, needles: Sequence[bytes] | None = None) -> None:
        self.needles = needles
        self._physical = b""
        self._open: dict[_Source, _Open] = {}
        self._held = 0
        self._inside: _Source | None = None  # the middle of a physical line too long to wait for: whose text it is

    @property
    def idle(self) -> bool:
        """Nothing waits for its end: the next byte begins a line."""
        return not self._physical and not self._open and self._inside is None

    def lines(self, data: str | bytes) -> Iterator[Line]:
        """The lines that end in this piece of the output."""
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogatepass")
        end = data.rfind(b"\n")
        if end < 0:
            self._physical += data
        else:
            # The newline in front makes the first line like every other one.
            block = b"".join((b"\n", self._physical, data[: end + 1]))
            self._physical = data[end + 1 :]
            yield from self._block(block)
        if len(self._physical) > _SPAN:
            yield from self._part()

    def rest(self) -> Iterator[Line]:
        """The end of the output: lines that never got their newline."""
        physical, self._physical = self._physical, b""
        if physical:
            yield from self._pieces(physical, newline=False)
        for source in list(self._open):
            yield from self._end(source, ended=False)

    def _block(self, block: bytes) -> Iterator[Line]:
        """``block`` begins with a newline that is not part of it and ends with the newline of its last line."""
        position, length = 1, len(block)
        if self._inside is not None:
            position = block.index(b"\n", 1) + 1
            yield from self._pieces(block[1 : position - 1], newline=True)
        ahead: dict[bytes, int] = {}
        while position < length:
            start = position
            if self.needles is not None:
                hit = self._next(block, position, ahead)
                if hit >= length:
                    return
                start = max(block.rfind(b"\n", 0, hit) + 1, position)
            end = block.index(b"\n", start)
            line = self._whole(block, start, end)
            if line is None:
                yield from self._pieces(block[start:end], newline=True)
            elif self._is_wanted(block[start:end]):
                yield line
            position = end + 1

    def _next(self, block: bytes, position: int, ahead: dict[bytes, int]) -> int:
        """Where the next line is that has a needle, is glued, or goes on with something open.

        ``ahead`` remembers, so that nothing is searched twice.
        """
        if ahead.get(b"", -1) < position:
            glued = _GLUED.search(block, position)
            ahead[b""] = glued.start() if glued else len(block)
        for needle in self.needles or ():
            if ahead.get(needle, -1) < position:
                found = block.find(needle, position)
                ahead[needle] = len(block) if found < 0 else found
        hit = min(ahead.values())
        for rank, stream, _tagged in self._open:
            tag = f"<{stream}>:" if rank is None else f",{rank}]<{stream}>:"
            found = block.find(tag.encode(), position, hit)
            hit = hit if found < 0 else found
        return hit

    def _is_wanted(self, text: bytes | bytearray) -> bool:
        return self.needles is None or any(needle in text for needle in self.needles)

    def _whole(self, block: bytes, start: int, end: int) -> Line | None:
        """The usual line: at most one tag, at its start, and nothing of its source waits. None: it is not that."""
        if end - start > LINE_LIMIT or block.find(b"\r", start, end) >= 0:
            return None
        stream = block.find(b"<std", start, end)
        if stream < 0:
            return Line(None, "stdout", block[start:end].decode("utf-8", "replace"))
        tag = _PLAIN.match(block, start, end)
        if tag is None or block.find(b"<std", stream + 1, end) >= 0:
            return None
        rank, name = int(tag[1]), tag[2].decode()
        if (rank, name, True) in self._open:
            return None
        return Line(rank, name, block[tag.end() : end].decode("utf-8", "replace"))

    def _part(self) -> Iterator[Line]:
        """Take what there is of a physical line that does not end; nothing that may be the start of a tag."""
        cut = len(self._physical) - _TAG_LIMIT
        for start, end, _source in _tags(self._physical, cut - _TAG_LIMIT):
            if start < cut < end:
                cut = end
        text, self._physical = self._physical[:cut], self._physical[cut:]
        yield from self._pieces(text, newline=False)

    def _pieces(self, physical: bytes, newline: bool) -> Iterator[Line]:
        inside, self._inside = self._inside, None
        tags = _tags(physical) if b"<std" in physical else []
        front = physical[: tags[0][0]] if tags else physical
        source = inside or _UNTAGGED
        if front or not tags:
            yield from self._add(source, front)
        if tags and source is _UNTAGGED:
            # mpirun's own text glued in front of a tag: a line of its own.
            yield from self._end(source)
        for index, (_start, end, source) in enumerate(tags):
            yield from self._add(source, physical[end : tags[index + 1][0] if index + 1 < len(tags) else None])
        if newline:
            yield from self._end(source)
        else:
            self._inside = source

    def _add(self, source: _Source, text: bytes) -> Iterator[Line]:
        """A carriage return ends what a person sees as a line (progress bars); "\\r\\n" ends one line, not two."""
        line = self._open.get(source)
        if line is None:
            line = self._open[source] = _Open()
        for index, part in enumerate(text.split(b"\r") if b"\r" in text else (text,)):
            line.carriage |= index > 0
            if not part:
                continue
            if line.carriage:
                yield from self._end(source)
                line = self._open[source] = _Open()
            room = LINE_LIMIT - len(line.text)
            line.text += part[:room]
            line.dropped += max(0, len(part) - room)
            self._held += min(len(part), room)
        if self._held > OPEN_LIMIT or len(self._open) > OPEN_SOURCES:
            yield from self._evict()

    def _end(self, source: _Source, ended: bool = True) -> Iterator[Line]:
        line = self._open.pop(source, None)
        if line is None:
            return
        self._held -= len(line.text)
        if line.dropped or self._is_wanted(line.text):
            yield Line(source[0], source[1], line.text.decode("utf-8", "replace"), line.dropped, ended)

    def _evict(self) -> Iterator[Line]:
        """Too much is open: no program prints this. What is open is given up, and named as cut."""
        keep = len(self._open) <= OPEN_SOURCES
        for source, line in list(self._open.items()):
            if line.text:
                line.dropped += 1
                yield from self._end(source, ended=False)
                if keep:  # so that what follows of this line is known to be a rest
                    self._open[source] = _Open(dropped=1)
        if not keep:
            self._open.clear()


def _tags(text: bytes, position: int = 0) -> list[_Tag]:
    """The tags of --tag-output, of --timestamp-output, and of both; read backwards, as "<std" is quick to find."""
    found: list[_Tag] = []
    for stream in _STREAM.finditer(text, position):
        front = _FRONT.search(text, max(0, stream.start() - _TAG_LIMIT), stream.start())
        if front and front[0]:
            rank = int(front["rank"]) if front["rank"] else None
            found.append((front.start(), stream.end(), (rank, stream[1].decode(), True)))
    return found


def lines_of(text: str | bytes) -> list[Line]:
    """All lines of a complete output, in the order in which they were complete."""
    reader = Demultiplexer()
    return [*reader.lines(text), *reader.rest()]
