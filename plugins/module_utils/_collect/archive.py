"""An archive that the doctor reads: redacted texts and a manifest. The same material makes the same bytes."""

from __future__ import annotations

import dataclasses
import errno
import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Iterable, Mapping, Sequence

from .._doctor.bundle import MANIFEST, Bundle, Selection, host_of
from . import patterns
from .redact import Redactor

TOTAL_LIMIT = 512 << 20  # texts are held in memory: a name in the last piece is replaced in the first, too


@dataclasses.dataclass(frozen=True)
class Pieces:
    """Name -> text, in the order in which the doctor reads them; and what was left out, and why."""

    texts: Mapping[str, str]
    notes: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Redacted(Pieces):
    """``stand_ins``: kind -> how many different things have one."""

    stand_ins: Mapping[str, int] = dataclasses.field(default_factory=dict)


def of_folder(path: str | Path) -> Pieces:
    """Texts of a file, folder or archive. Raises OSError if it cannot be read."""
    bundle = Bundle(path, Selection(total_limit=TOTAL_LIMIT))
    texts: dict[str, str] = {}
    for piece in bundle.pieces():
        text = b"\n".join(piece.chunks).decode("utf-8", "replace")
        if Path(piece.name).name != MANIFEST:
            texts[_free(piece.name, texts)] = text
    return Pieces(texts, list(bundle.notes))


def redacted(pieces: Pieces, secrets: Iterable[str], names: Iterable[str]) -> Redacted:
    """Everything with stand-ins. Hosts that are known only from the texts themselves are found first."""
    clean: dict[str, str] = {}
    for name, text in pieces.texts.items():
        inside = "/".join(part for part in _utf8(name).split("/") if part not in ("", ".", "..")) or "unnamed"
        clean[_free(inside, clean)] = _utf8(text)
    seed = hashlib.sha256()
    for name, text in clean.items():
        seed.update(name.encode() + b"\0" + text.encode() + b"\0")
    redactor = Redactor(map(_utf8, secrets), map(_utf8, names), seed.digest())
    printed = (host for text in clean.values() for host in patterns.hosts_in(text))
    redactor.learn([*printed, *map(host_of, clean)])
    texts: dict[str, str] = {}
    for name, text in clean.items():
        texts[_free(redactor.piece(name), texts)] = redactor.text(text)
    return Redacted(texts, stand_ins=redactor.counts(), notes=[redactor.text(_utf8(note)) for note in pieces.notes])


def packed(found: Redacted) -> bytes:
    """A gzipped tar; no time, no owner, no name of the machine in it."""
    stream = io.BytesIO()
    manifest = {
        "format": 1,
        "redacted": True,
        "pieces": [
            {"name": name, "bytes": len(text.encode()), "sha256": hashlib.sha256(text.encode()).hexdigest()}
            for name, text in found.texts.items()
        ],
        "stand_ins": dict(found.stand_ins),
    }
    listed = json.dumps(manifest, indent=2, sort_keys=True) + "\n"
    with gzip.GzipFile(fileobj=stream, mode="wb", filename="", mtime=0) as zipped, tarfile.open(
        fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT
    ) as archive:
        for name, text in [(MANIFEST, listed), *found.texts.items()]:
            data = text.encode()
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(data), 0o600, 0
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def check_free(path: Path) -> None:
    """Before anything is read. Raises ValueError if there is anything at ``path``, even a link, and FileNotFoundError
    if its folder is none."""
    if os.path.lexists(path):
        raise _taken(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))


def write(data: bytes, path: Path) -> None:
    """For the owner alone. Raises ValueError if there is anything at ``path``, even a link, and OSError."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise _taken(path) from None
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)


def _taken(path: Path) -> ValueError:
    said = "there is something already, and it is left alone. What to do: name another file, or move that one away"
    return ValueError(f"collect: dest {str(path)!r}: {said}")


def table(found: Redacted, path: str, written: bool = True) -> list[str]:
    """For a person, before anything is sent anywhere."""
    first = (
        f"{path}: {len(found.texts)} pieces. Nothing was sent anywhere; look through it before you do."
        if written
        else f"{path} would hold {len(found.texts)} pieces. Nothing was written or sent anywhere."
    )
    kinds = ", ".join(f"{count} {_PLURAL.get(kind, kind)}" for kind, count in found.stand_ins.items() if count)
    return [
        first,
        f"Stand-ins were put for: {kinds or 'nothing'}.",
        *(f"  {name}  {len(text.encode())} bytes" for name, text in found.texts.items()),
        *(f"note: {note}" for note in found.notes),
    ]


_PLURAL = {kind: f"{kind}s" for kind in ("domain", "host", "network", "other network", "secret", "user")}
_PLURAL.update(address="addresses", mac="MAC addresses", masked="masked words", serial="serial numbers")


def _utf8(text: str) -> str:
    """Without the stand-ins of bytes that are not UTF-8 (PEP 383): they can be written nowhere."""
    return text.encode("utf-8", "replace").decode()


def _free(name: str, taken: Mapping[str, str]) -> str:
    """Two members of an archive may have one name, and so may two pieces whose names were redacted."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}.{number}", number + 1
    return free
