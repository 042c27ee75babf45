"""A bundle in pieces: a folder, an archive (tar, zip), or a single file of any size; also gzip, bzip2 or xz of a file.

Nothing is ever written. Names inside an archive are only shown. What is too large, binary or broken is listed in
``notes``, and what was readable before it is still read.

A piece is known by its content; docs/doctor.md has the layout whose names tell whose it is.
"""

from __future__ import annotations

import bz2
import dataclasses
import functools
import gzip
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any, Callable, Iterator, Mapping, cast

from .._judge.packs.loader import form

MANIFEST = "rocemesh-bundle.json"
CHUNK = 1 << 20
LINE_LIMIT = 1 << 14
LINE_MOST = 64 << 20  # who prints more than this without an end of line prints no log
PIECES = 20_000
PIECE_LIMIT = 8 << 30
TOTAL_LIMIT = 32 << 30
MEMBERS = 200_000  # of one archive, whatever they are
# An archive that unpacks to more than this, and to more than so many times its size, holds no logs.
ROOM = 1 << 30
RATIO = 400
_HEADER = 1 << 20  # a name or a list of attributes; tarfile holds it in memory
_LONG = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
_NESTED = 2  # an archive in an archive (vm-support), and not deeper
_SAMPLE = 1 << 13
_STRANGE = bytes(byte for byte in range(27) if not 9 <= byte <= 13)  # in no text, but for colours
_BROKEN = (OSError, EOFError, tarfile.TarError, zipfile.error, zlib.error, lzma.LZMAError, RuntimeError, ValueError)
_HOSTS = re.compile(r"(?:^|/)(?:hosts|containers|switches|esxi|vms|nodes)/(?P<host>[^/]+)/")
_OURS = re.compile(r"(?:^|/)(?:hosts|containers|switches|esxi|vms)/[^/]+/")
_LAYOUTS = ("sosreport", "fetched", "host_first", "host_last")  # forms
_ENDING = re.compile(r"\.(?:txt|log|out)(?:\.(?:gz|xz|bz2))?$")
_UNPACKERS: Mapping[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
Taken = Callable[[int], None]


def host_of(name: str) -> str:
    """The host that the name of a piece tells, in any layout; empty: none."""
    match = next(filter(None, (pattern.search(name) for pattern in (_HOSTS, *map(form, _LAYOUTS)))), None)
    return _ENDING.sub("", match["host"]) if match else ""


@dataclasses.dataclass
class Piece:
    """One text. ``chunks`` may be taken once: whole lines, without the last newline of each chunk."""

    name: str
    chunks: Iterator[bytes]

    @functools.cached_property
    def host(self) -> str:
        return host_of(self.name)

    def start(self, most: int) -> list[bytes]:
        """Chunks until they have more than ``most`` bytes; ``chunks`` has the rest."""
        taken: list[bytes] = []
        for chunk in self.chunks:
            taken.append(chunk)
            if sum(map(len, taken)) > most:
                break
        return taken

    @property
    def place(self) -> str:
        """Its name in our layout, for what is heard in some pieces alone; its own name where no host is known."""
        if _OURS.search(self.name) or not self.host:
            return self.name
        return f"hosts/{self.host}/{self.name.rpartition('/')[2]}"


@dataclasses.dataclass(frozen=True)
class Selection:
    """Of a folder, the files whose names match; ``prefix`` goes before the names of all pieces."""

    names: re.Pattern[str] = re.compile("")
    prefix: str = ""
    total_limit: int = TOTAL_LIMIT


class Bundle:
    """``pieces()`` may be taken once. Raises OSError only if ``path`` itself cannot be read."""

    def __init__(self, path: str | Path, selection: Selection | None = None) -> None:
        self.path = Path(path)
        self.notes: list[str] = []
        self.bytes = 0
        self.read: list[str] = []
        self.partial: list[str] = []  # pieces and archives that were not read to their end
        self._selection = selection or Selection()
        self._room = ROOM  # bytes that may still be unpacked

    def note(self, text: str, partial: str = "") -> None:
        if len(self.notes) < 200:
            self.notes.append(text)
        if partial and len(self.partial) < 200:
            self.partial.append(partial)

    def pieces(self) -> Iterator[Piece]:
        if not self.path.is_dir():
            yield from self._file(self.path, self.path.name)
            return
        for folder, folders, names in os.walk(self.path):
            folders.sort()
            for name in filter(self._selection.names.search, sorted(names)):
                path = Path(folder, name)
                shown = str(path.relative_to(self.path))
                # A link could lead anywhere, a pipe or device would never end.
                if path.is_symlink() or not path.is_file():
                    self.note(f"{self._name(shown)}: not a plain file, left out")
                    continue
                try:
                    yield from self._file(path, shown)
                except OSError as error:
                    self.note(f"{self._name(shown)}: cannot be read ({error.strerror})", self._name(shown))

    def _name(self, shown: str) -> str:
        return _shown(self._selection.prefix + shown)

    def _file(self, path: Path, shown: str) -> Iterator[Piece]:
        with path.open("rb") as stream:
            self._room = max(ROOM, RATIO * os.fstat(stream.fileno()).st_size)
            yield from self._any(self._name(shown), stream)

    def _any(self, name: str, stream: Any, depth: int = 0, take: Taken | None = None) -> Iterator[Piece]:
        """``depth``: of archives that it lies in; ``take``: see _Source. Raises nothing for what the stream holds."""
        if len(self.read) >= PIECES:
            self.note(f"{name}: more than {PIECES} pieces, the rest is left out", name)
            return
        try:
            source = _Source(stream, take)
            unpacker = next((unpack for magic, unpack in _UNPACKERS.items() if source.head.startswith(magic)), None)
            if unpacker:
                source = _Source(unpacker(source), self._take)
            # Its list is at the end of it: in an archive there is no way there.
            zipped = source.head[:4] == b"PK\x03\x04" and not unpacker and not depth
            if not zipped and source.head[257:262] != b"ustar":
                yield from self._text(name, source)
            elif depth >= _NESTED:
                self.note(f"{name}: an archive within archives, left out")
            else:
                yield from self._zip(stream) if zipped else self._tar(name, source, depth)
        except _BROKEN as error:
            self.note(f"{name}: broken or cut short ({error}); the part before that was read", name)

    def _tar(self, name: str, source: _Source, depth: int) -> Iterator[Piece]:
        with tarfile.open(fileobj=cast(IO[bytes], source), mode="r|", tarinfo=_Member) as archive:
            for number, member in enumerate(archive):
                if number >= MEMBERS:
                    self.note(f"{name}: more than {MEMBERS} members, the rest is left out", name)
                    return
                # tarfile remembers every member that it has seen.
                archive.members = []  # type: ignore[attr-defined]
                part = archive.extractfile(member) if member.isfile() and not member.issparse() else None
                if part is None:
                    if not member.isdir():
                        self.note(f"{name}:{_shown(member.name)}: not a plain file, left out")
                    continue
                yield from self._any(_shown(member.name), part, depth + 1)

    def _zip(self, stream: IO[bytes]) -> Iterator[Piece]:
        stream.seek(0)
        with zipfile.ZipFile(stream) as archive:
            for member in archive.infolist()[:MEMBERS]:
                if member.is_dir():
                    continue
                with archive.open(member) as part:
                    yield from self._any(_shown(member.filename), part, 1, self._take)

    def _take(self, size: int) -> None:
        """Raises OSError when an archive grows out of all proportion."""
        self._room -= size
        if self._room < 0:
            raise OSError(f"unpacks to more than {RATIO} times its size, which no log does")

    def _text(self, name: str, source: _Source) -> Iterator[Piece]:
        coding = _coding(source.head)
        if not source.head:
            self.note(f"{name}: empty")
        elif coding is None:
            self.note(f"{name}: binary, left out")
        else:
            self.read.append(name)
            yield Piece(name, self._lines(name, source, coding))

    def _lines(self, name: str, source: _Source, coding: str) -> Iterator[bytes]:
        """Chunks of whole lines; a line longer than the limit is cut, so that no log can fill the memory."""
        held, here, endless, cut = b"", 0, 0, False
        while True:
            try:
                data = source.read(CHUNK)
            except _BROKEN as error:
                self.note(f"{name}: broken or cut short ({error}); the part before that was read", name)
                data = b""
            if not data:
                break
            here += len(data)
            self.bytes += len(data)
            if here > PIECE_LIMIT or self.bytes > self._selection.total_limit:
                self.note(f"{name}: larger than is read here; the rest is left out", name)
                break
            if coding != "utf-8":
                data = data.decode(coding, "replace").encode()
            complete, newline, rest = data.rpartition(b"\n")
            if not newline:
                if len(held) < LINE_LIMIT:
                    held = (held + rest)[:LINE_LIMIT]
                cut = cut or len(rest) > LINE_LIMIT
                endless += len(rest)
                if endless > LINE_MOST:
                    self.note(f"{name}: has a line of more than {LINE_MOST >> 20} MiB; the rest is left out", name)
                    break
                continue
            endless = 0
            yield held + complete if len(held) < LINE_LIMIT else held + b"\n" + complete.partition(b"\n")[2]
            held = rest[:LINE_LIMIT]
        if held:
            yield held
        if cut:
            self.note(f"{name}: has lines longer than {LINE_LIMIT} characters; only their beginnings were read")


class _Source:
    """A stream with a ``head`` that is looked at first. ``take`` hears how many bytes an unpacker gave."""

    def __init__(self, stream: Any, take: Taken | None = None) -> None:
        self._stream, self._take = stream, take
        self._ahead = b""
        self.head = self._ahead = self.read(_SAMPLE)

    def read(self, size: int = CHUNK) -> bytes:
        if self._ahead:
            part, self._ahead = self._ahead[:size], self._ahead[size:]
            return part
        data: bytes = self._stream.read(size)
        if self._take:
            self._take(len(data))
        return data


class _Member(tarfile.TarInfo):
    """A header says how long a name is; what says a gigabyte is no name."""

    @classmethod
    def frombuf(cls, buf: Any, encoding: Any, errors: Any) -> Any:
        found = super().frombuf(buf, encoding, errors)
        if found.type in _LONG and found.size > _HEADER:
            raise tarfile.ReadError(f"a header of {found.size} bytes")
        return found


def _coding(head: bytes) -> str | None:
    """None: no text."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16-le" if head[:1] == b"\xff" else "utf-16-be"
    # A log that a crash cut short holds blocks of zeros between its lines.
    said = head.replace(b"\x00", b"")
    strange = len(said) - len(said.translate(None, _STRANGE))
    return "utf-8" if strange * 20 <= len(said) and len(said) * 2 >= len(head) else None


def _shown(name: str) -> str:
    """The name of a member, harmless to print; it is never opened or written."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)[:300]
