"""Signs in the pieces of a bundle: what a line says, and where it is. One pass, bounded memory.

Lines that differ in their figures alone have one form. A form without any word of a sign is looked at once and passed
over from then on; that is what makes a log of a gigabyte a matter of seconds.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import re
from typing import Any, Callable, Iterable, Mapping, Match, Sequence, Union

from .._judge.packs.loader import form
from .._judge.packs.model import ECHO, FACT, FAULT, HARMLESS, NORMAL, QUIET, SIGNS, Sign, groups_of
from .._judge.words import Index, Way, all_ways, letters_of, ways_of
from . import facts
from .alarms import alarm_ways, alarms, bare, has_nothing, says, says_failure, trouble_of
from .bundle import Piece
from .job_output import JobOutput, Record
from .readers import READERS as SIGN_READERS
from .readers import TableReader, reader_signs
from .seen import Heard, Hit, Seen

Reader = Union[TableReader, JobOutput]
READERS: tuple[Callable[[], Reader], ...] = (*SIGN_READERS, JobOutput)
_FIELD = {"field", "beside"}
_VALUES = 4096
_QUOTE = 300
_LONG = 4096  # characters of a line that patterns are asked for at once: some take its square
_OVERLAP = 256
_FORMS = 100_000
_SHAPES = 10_000
_ZEROS = str.maketrans("123456789", "0" * 9)
_ALARMS = 20
_LAST = 4096
_OPENING = 64  # first lines of a text that is no piece: a few lines of a thread are read as a whole
_FEW = 10
PER_FORM = 400  # lines of one form in one piece that are read one by one
_THERE, _MAYBE = 2, 1
_FIGURES = (b"xid", b"status", b"error", b"count")  # forms whose figures say which fault it is: many more of them
PER_FIGURE = 20_000
PER_QUIET = 64  # lines of one form in which nothing was found, while other figures might mean something
_NO_DIGITS = b"0123456789"
# What a person or a shell wrote before an output, and how many lines of it are read together with the command; the row
# of torchrun's table, and of a message of Open MPI or PMIx, that names a host, and how many lines below and above are
# of it.
_PROMPT = re.compile(
    rb"(?m)^(?:\[?[\w.-]+@(?P<host>[\w.-]+)[^\n]{0,40}?[#$]|[$#]|\++) (?P<command>[a-z/][^\n]{2,200})$"
    rb"|^ *host +: (?P<row>[\w.-]+)$|^ *(?:Local host: |(?:Host|Node)(?:name)?:  ) *(?P<box>[\w.-]+)$"
)
# What such a command prints is of other hosts than the prompt's.
_ELSEWHERE = re.compile(rb"(?:sudo )?(?:kubectl|oc|ssh|pdsh|clush|ansible|srun|mpi(?:run|exec)\b.*host)\b")
_ANSWERS = 8
_ROWS, _ABOVE = 6, 12
_TAG = re.compile(r"^\[\d+,\d+\]<std(?:out|err)>: ?")


@dataclasses.dataclass(frozen=True)
class _Shape:
    """What all lines of one shape have. ``signs``: those that may match, and the alternatives that have to be asked;
    none for a sign that matches whatever the digits are, and takes nothing out of the line. ``read``: readers that want
    it; ``trouble``: see `trouble_of`; ``figures``: with other figures it may mean something: a counter that is 0."""

    signs: tuple[tuple[Sign, tuple[Way, ...]], ...]
    read: tuple[int, ...]
    trouble: str
    figures: bool


@functools.lru_cache(maxsize=4)
def _index(signs: tuple[Sign, ...]) -> Index[int | str]:
    """Of the numbers of signs and, behind them, of readers; of names: what alarms, and the field."""
    of_signs = [(number, way) for number, entry in enumerate(signs) for way in ways_of(entry.text)]
    of_readers = [(n, way) for n, reader in enumerate(READERS, len(signs)) for way in {*reader().ways}]
    of_field = [(name, way) for name in _FIELD for way in all_ways(form(name).pattern)]
    return Index([*of_signs, *of_readers, *alarm_ways(), *of_field])


class Reading:
    """Feed it pieces; then ``seen``, and lines that no sign knows: ``alarms`` say that something failed, ``hints`` have
    a word that complaints have, too, or say what a program asks for."""

    def __init__(self, signs: Sequence[Sign]) -> None:
        self.seen = Heard()
        self.alarms: list[Hit] = []
        self.hints: list[Hit] = []
        self.jobs: list[Record] = []
        self.opening: list[Hit] = []
        self.lines = self.skipped = 0
        self.field = self.nccl = self.machines = False  # machines: there are pieces of machines, not a text alone
        self._beside: set[str] = set()
        self._prompts: list[tuple[int, str]] = []  # line of a prompt, and the host that it names
        # NCCL names the host of each rank once; other programs print the rank alone.
        self.ranks: dict[int, str] = {}
        self._signs = tuple(signs)
        self._named = {sign.name: sign for sign in signs} | reader_signs()
        self._index = _index(self._signs)
        # Shape of a line: each digit a 0.
        self._shapes: dict[str, _Shape] = {}
        # Forms without a word of any sign: the same in every piece, for words hold no digits.
        self._dull: set[bytes] = set()
        # Lines of trouble of one piece: number and text.
        self._troubles: dict[str, list[tuple[int, str]]] = {"alarms": [], "hints": []}

    def piece(self, piece: Piece) -> None:
        whole = facts.is_whole(piece.name)
        text = b"\n".join(piece.start(facts.LARGEST)).decode("utf-8", "replace") if whole else ""
        found = facts.read(piece.name, text) if whole else None
        if found is None:
            self._log(Piece(piece.name, iter((text.encode(),))) if whole else piece)
            return
        self.lines += text.count("\n") + 1
        self.field, self.machines = self.field or bool(found), self.machines or bool(piece.host)
        self._told(found, piece)

    def _log(self, piece: Piece) -> None:
        boring: set[bytes] = set()
        counts: dict[bytes, int] = {}
        readers: list[Reader] = [*(reader() for reader in SIGN_READERS), job := JobOutput()]
        # The last line of each form that is no longer read one by one says how far a job came.
        latest: dict[bytes, tuple[int, bytes]] = {}
        number = 0
        self._prompts.clear()
        for chunk in piece.chunks:
            lines = chunk.split(b"\n")
            self._look_ahead(piece, number, chunk)
            if not piece.host and len(self.opening) < _OPENING:
                self._open(piece, number, lines)
            forms = chunk.translate(None, _NO_DIGITS).split(b"\n")
            if set(forms) - boring - self._dull:
                for offset, form in enumerate(forms):
                    if form in boring or form in self._dull:
                        continue
                    count = counts.get(form, 0)
                    # A heading is read with the line below it.
                    known = _FIELD if self.field else set()
                    if not (count or form.rstrip().endswith(b":") or self._index.possible(form.lower()).keys() - known):
                        if len(self._dull) >= _FORMS // 8:
                            self._dull.clear()
                        self._dull.add(form)
                        continue
                    if count == 0 and len(counts) >= _FORMS:
                        counts.clear()
                        boring.clear()  # each of them was counted
                    counts[form] = count + 1
                    limit = PER_FIGURE if count >= PER_FORM and _figures(form) else PER_FORM
                    text = _headed(lines, offset)
                    if count >= limit:
                        boring.add(form)
                        self.skipped += 1
                        if len(latest) < _LAST:
                            latest[form] = (0, b"")
                        continue
                    there = self._parts(piece, number + offset + 1, text, readers)
                    if there < _THERE and (count >= PER_QUIET or not there) and not _figures(form):
                        boring.add(form)
            last = {form: at for at, form in enumerate(forms) if form in latest} if latest else {}
            latest.update((form, (number + at + 1, lines[at])) for form, at in last.items())
            number += len(lines)
        self.lines += number
        self._finish(piece, readers, job, sorted(latest.values()))

    def _look_ahead(self, piece: Piece, number: int, chunk: bytes) -> None:
        """Note hosts of prompts and words of the field, and hear the facts that a command and a line of its output say
        together: ``ulimit -l: unlimited``."""
        self.nccl, self.machines = self.nccl or b"NCCL" in chunk, self.machines or bool(piece.host)
        self.field = self.field or bool(piece.host)
        signs, at, past = (b"$ ", b"# ", b"+ ", b"host ", b"ost:", b"ode:"), number + 1, 0
        for match in _PROMPT.finditer(chunk) if any(sign in chunk for sign in signs) else ():
            at, past = at + chunk.count(b"\n", past, match.start()), match.start()
            if match["row"] or match["box"]:
                above = chunk.count(b"\n", max(chunk.rfind(b"\n---", 0, match.start()), 0), match.start())
                top = at - min(above, _ABOVE) if match["box"] else at
                for each in [(top, (match["row"] or match["box"]).decode()), (at + _ROWS, "")]:
                    bisect.insort(self._prompts, each)
                del self._prompts[_VALUES:]
                continue
            if match["host"] and len(self._prompts) < _VALUES:
                self._prompts.append((at, "" if _ELSEWHERE.match(match["command"]) else match["host"].decode()))
            for offset, line in enumerate(chunk[match.end() + 1 : match.end() + _LONG].split(b"\n")[:_ANSWERS], 1):
                if _PROMPT.match(line):
                    break
                text = (b"%s: %s" % (match["command"], line.strip())).decode("utf-8", "replace")
                for entry, heard in self._heard(piece, self._shape(text), text):
                    if entry.kind == FACT:
                        self._add(entry, _hit(entry, heard, self._where(piece, at + offset, text)))

    def _finish(
        self, piece: Piece, readers: Sequence[Reader], job: JobOutput, latest: Iterable[tuple[int, bytes]]
    ) -> None:
        for at, line in latest:
            self._parts(piece, at, line.decode("utf-8", "replace").strip("\r"), readers)
        for kept, rows in ((self.alarms, self._troubles["alarms"]), (self.hints, self._troubles["hints"])):
            kept += [self._where(piece, *row) for row in rows]
            _shorten(kept)
            rows.clear()
        self.jobs.append(job.record(piece.name, piece.host))
        self.field = self.field or self.jobs[-1].measured
        for reader in readers:
            self._told(reader.result(), piece)

    def _told(self, found: Iterable[Hit], piece: Piece) -> None:
        """What readers found in it."""
        for each in found:
            host, placed = each.host or piece.host, bool(piece.host) and not each.host
            hit = dataclasses.replace(each, file=piece.name, quote=each.quote[:_QUOTE], host=host, placed=placed)
            if each.sign in self._named:
                self._add(self._named[each.sign], hit)
            elif each.sign == "trouble":
                self.alarms.append(hit)

    def _open(self, piece: Piece, number: int, lines: Sequence[bytes]) -> None:
        for offset, line in enumerate(lines[:_OPENING]):
            text = line[:_QUOTE].decode("utf-8", "replace").strip()
            if text and len(self.opening) < _OPENING:
                self.opening.append(Hit("", number + offset + 1, text, file=piece.name))

    @property
    def spoken(self) -> bool:
        """All that it read is a few lines that a person may have written, and no output of a command."""
        if not self.is_short or any(job.measured and job.ends for job in self.jobs):
            return False
        return 2 * sum(form("data").search(hit.quote) is not None for hit in self.opening) <= len(self.opening)

    @property
    def is_short(self) -> bool:
        """A few lines that a person chose."""
        return self.lines <= _FEW

    @property
    def printed(self) -> bool:
        """Not a few lines of a person: more than these, in a frame, or most of them have the form of a program's."""
        own = [hit.quote for hit in self.opening if form("printed").search(hit.quote)]
        return not self.spoken or 2 * len(own) > len(self.opening) or any(form("frame").match(text) for text in own)

    def troubled(self) -> list[Hit]:
        """Alarms; and hints of a few lines or a host's own piece, unless a job came to its end there."""
        ended = {job.file for job in self.jobs if job.well}
        few = self.spoken and not any(entry.sign.kind in HARMLESS for entry in self.seen.values())
        hits = [*self.alarms, *(hit for hit in self.hints if hit.file not in ended and (hit.placed or few))]
        return sorted(self._left(hits), key=lambda hit: hit.line)

    def open_hints(self) -> list[Hit]:
        """Those that are worth a question."""
        left, warns = self._left(self.hints), form("warns").search
        return [hit for hit in left if hit.placed or self.spoken or warns(hit.quote) or says_failure(hit.quote)]

    def _left(self, hits: list[Hit]) -> list[Hit]:
        """Those that no job and no boot outlived, and that do not only ask for something."""
        outlived = {record.file: record.outlived for record in self.jobs}
        left = [hit for hit in hits if hit.line > outlived.get(hit.file, 0) and not form("boot").match(hit.quote)]
        return [hit for hit in left if alarms(hit.quote) or not says("demand", hit.quote)]

    def _parts(self, piece: Piece, number: int, text: str, readers: Sequence[Reader]) -> int:
        """As ``_line``; a long line is read in parts that overlap."""
        if len(text) <= _LONG:
            return self._line(piece, number, text, readers)
        starts = range(0, len(text) - _OVERLAP, _LONG - _OVERLAP)
        return max(self._line(piece, number, text[at : at + _LONG], readers) for at in starts)

    def _line(self, piece: Piece, number: int, text: str, readers: Sequence[Reader]) -> int:
        """_THERE if there was anything in it, _MAYBE if there might be with other figures, else 0."""
        whole, text = text, _untagged(text)
        shape = self._shape(text)
        found = self._heard(piece, shape, text) if shape.signs else []
        if " nranks " in text:
            self._rank(piece, number, whole)
        if not (found or shape.read or shape.trouble):
            return _MAYBE if shape.figures else 0
        doubted = shape.trouble or any(entry.kind in (FAULT, ECHO) for entry, _match in found)
        said = bare(text) if doubted and has_nothing(text.translate(_ZEROS)) else text
        if said != text:  # a counter that is 0 is no fault
            found = [pair for pair in found if pair[0].kind not in (FAULT, ECHO) or pair[0].pattern.search(said)]
        silent = any(entry.kind in (NORMAL, QUIET) for entry, _match in found)
        if len(found) > 1 and any(entry.kind == FAULT and not entry.alone for entry, _match in found):
            found = [(entry, match) for entry, match in found if not entry.alone]
        where: Hit | None = None
        for entry, match in found:
            if silent and entry.kind in (FAULT, ECHO):
                continue
            seen = self.seen.get(entry.name)
            if match is None and piece.host and seen is not None and seen.full(piece.host):
                seen.last = dataclasses.replace(seen.last, file=piece.name, line=number, host=piece.host)
                continue
            where = where or self._where(piece, number, whole)
            self._add(entry, _hit(entry, match, where))
        for index in shape.read:
            readers[index].line(number, whole)
        # A fact or a good word says nothing of the rest of its line.
        known = any(entry.kind in (FAULT, ECHO, NORMAL, QUIET) for entry, _match in found)
        trouble = "" if known else shape.trouble if said == text else shape.trouble and trouble_of(said)
        if trouble in self._troubles:
            self._troubles[trouble].append((number, whole))
            _shorten(self._troubles[trouble])
        return _THERE if found or shape.read else _MAYBE if shape.figures or trouble else 0

    @staticmethod
    def _heard(piece: Piece, shape: _Shape, text: str) -> list[tuple[Sign, Match[str] | None]]:
        found: list[tuple[Sign, Match[str] | None]] = []
        for entry, ways in shape.signs:
            here = entry.piece is None or entry.piece.search(piece.place)
            # Of a long line, also to quote its place.
            asked = any(way.pattern.search(text) for way in ways) or (not ways and len(text) > _QUOTE)
            match = entry.heard(text) if here and asked else None
            if match or not ways:
                found.append((entry, match))
        return found

    def _rank(self, piece: Piece, number: int, text: str) -> None:
        match = form("rank_of").search(text)
        host = self._where(piece, number, text).host if match else ""
        if match and host and len(self.ranks) < _VALUES:
            self.ranks.setdefault(int(match["rank"]), host)

    def _shape(self, text: str) -> _Shape:
        """Most lines of a site have the shape of a line of another host: what was asked there is not asked again."""
        shape = text.translate(_ZEROS)
        known = self._shapes.get(shape)
        if known is None:
            signs: list[tuple[Sign, tuple[Way, ...]]] = []
            found, first_reader = self._index.possible(letters_of(text)), len(self._signs)
            numbers = sorted(key for key in found if isinstance(key, int))
            read = tuple(n - first_reader for n in numbers if n >= first_reader and _any(found[n], text))
            if not self.field and not _FIELD.isdisjoint(found):
                self._look_for_field(found, text)
            trace, typed = (bool(found and form(name).match(text)) for name in ("trace", "command"))
            kinds = () if trace else (FACT,) if typed else SIGNS
            possible = {n: found[n] for n in numbers if n < first_reader and self._signs[n].kind in kinds}
            for number, ways in possible.items():
                entry = self._signs[number]
                sure = any(way.pattern.search(text) for way in ways if not way.digits)
                plain = entry.test is None and entry.piece is None and not entry.pattern.groupindex
                asked = tuple(way for way in ways if way.digits or sure)
                if asked:
                    signs.append((entry, () if sure and plain else asked))
            tested = any(self._signs[number].test is not None for number in possible)
            figures = tested or any(way.figures for ways in possible.values() for way in ways)
            signs.sort(key=lambda pair: bool(pair[1]))
            trouble = "" if trace or typed else trouble_of(text, found)
            known = _Shape(tuple(signs), read, trouble, figures)
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            self._shapes[shape] = known
        return known

    def _look_for_field(self, found: Mapping[int | str, Sequence[Way]], text: str) -> None:
        self._beside.update(word.lower() for way in found.get("beside", ()) for word in way.pattern.findall(text))
        self.field = len(self._beside) > 1 or any(way.pattern.search(text) for way in found.get("field", ()))

    def _add(self, entry: Sign, hit: Hit) -> None:
        self.seen.setdefault(entry.name, Seen(entry)).add(hit)

    def _where(self, piece: Piece, number: int, text: str) -> Hit:
        host = piece.host
        bare = _untagged(text)
        for name in ("line_of_program", "line_of_other", "line_of_syslog", "prefix"):
            match = None if host else form(name).search(bare)
            if match and not form("no_host").match(match["host"]):
                host = match["host"]
        if not host and self._prompts and self._prompts[0][0] <= number:
            host = self._prompts[bisect.bisect(self._prompts, (number + 1,)) - 1][1]
        who, named = form("rank").search(text), form("device").search(text)
        rank = int(next(filter(None, who.groups()))) if who else None
        device = named["device"] if named else ""
        return Hit("", number, text.strip()[:_QUOTE], host, device, "", rank, piece.name, bool(piece.host))


def _untagged(text: str) -> str:
    """Without mpirun's tag of a rank, so that the line begins where its program began it."""
    return _TAG.sub("", text) if text[:1] == "[" else text


def _shorten(kept: list[Any]) -> None:
    """To the first ones, and the last: what is said before a program works is seldom what ends it."""
    del kept[_ALARMS // 2 : -_ALARMS // 2]


def _any(ways: Iterable[Way], text: str) -> bool:
    """One may match the line or what is below the marks in front of it, with any digits."""
    return any(way.digits or "^" in way.text or "$" in way.text or way.pattern.search(text) for way in ways)


def _headed(lines: Sequence[bytes], offset: int) -> str:
    """A line; a heading of trouble with the line below it, or nothing if that denies it."""
    text = lines[offset].decode("utf-8", "replace").strip("\r")
    if not text.rstrip().endswith(":") or not (says("heading", text.rstrip()) or says("level", text)):
        return text
    letters = (line for line in lines[offset + 1 : offset + 3] if line.strip(b" \t\r=-*#"))
    below = next(letters, b"").decode("utf-8", "replace").strip()
    return "" if alarms(below) and not alarms(bare(below)) else f"{text.rstrip()} {below}"


def _figures(form: bytes) -> bool:
    return any(word in form.lower() for word in _FIGURES)


def _hit(entry: Sign, match: Match[str] | None, where: Hit) -> Hit:
    said = groups_of(match)
    far = match.string[: match.end()] if match and match.end() > _QUOTE else ""  # behind what is quoted of a line
    quote, value = f"... {far[-_QUOTE:]}" if far else where.quote, said.get("value", "").strip()
    host, device = said.get("host") or where.host, said.get("device") or where.device
    rank = int(said["rank"]) if "rank" in said else where.rank
    return Hit(entry.name, where.line, quote, host, device, value, rank, where.file, where.placed)
