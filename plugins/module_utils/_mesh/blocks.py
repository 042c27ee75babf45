"""A marked block inside a file of another owner, edited so that no other byte changes.

A new block comes first in the file. Two reasons: nothing has to be appended after a last line that may lack its
newline, so removing the block gives back the exact bytes; and both readers (sshd for ``authorized_keys``, ssh for
``config``) let the first match win, so a restriction written here cannot be undone by a line that was there before. A
block that was moved is edited at its place.

Pure: bytes in, bytes out.
"""

from __future__ import annotations

import io
from typing import NamedTuple, Sequence

BEGIN = b"# BEGIN rocemesh.multinode mesh"
END = b"# END rocemesh.multinode mesh"
# Appended to BEGIN when the file did not exist, so that removing the block also removes the file, and an empty file of
# another owner stays an empty file.
NEW_FILE = b" [this block made the file]"


class BlockError(ValueError):
    """The markers do not form one block; ``raw`` shows the marker lines that were found, with their line numbers."""

    def __init__(self, what: str, raw: str) -> None:
        super().__init__(what)
        self.raw = raw


class _Split(NamedTuple):
    """A file taken apart: ``before + block + after`` are its bytes; ``body`` is None if there is no block."""

    before: bytes
    body: list[str] | None
    after: bytes
    made_file: bool


def _split(content: bytes | None) -> _Split:
    lines = io.BytesIO(content or b"").readlines()  # lines end at \n only, as sshd and ssh read them
    marks = {BEGIN: "begin", BEGIN + NEW_FILE: "begin", END: "end"}
    found = [(number, marks[line.strip()]) for number, line in enumerate(lines) if line.strip() in marks]
    if not found:
        return _Split(content or b"", None, b"", content is None)
    if [kind for _number, kind in found] != ["begin", "end"]:
        raw = "\n".join(
            f"line {number + 1}: {lines[number].decode('utf-8', 'replace').strip()}" for number, _kind in found
        )
        raise BlockError("the markers of the managed block are not one BEGIN followed by one END", raw)
    (first, _begin), (last, _end) = found
    body = [line.rstrip(b"\r\n").decode("utf-8", "replace") for line in lines[first + 1 : last]]
    made_file = lines[first].strip().endswith(NEW_FILE)
    return _Split(b"".join(lines[:first]), body, b"".join(lines[last + 1 :]), made_file)


def body(content: bytes | None) -> list[str] | None:
    """The lines inside the block, or None where there is no block (or no file)."""
    return _split(content).body


def ensure(content: bytes | None, lines: Sequence[str]) -> bytes:
    """The file with the block holding ``lines``; ``content`` None means that there is no file yet."""
    parts = _split(content)
    text = [BEGIN + (NEW_FILE if parts.made_file else b""), *(line.encode("utf-8") for line in lines), END]
    block = b"".join(line + b"\n" for line in text)
    return block + parts.before if parts.body is None else parts.before + block + parts.after


def remove(content: bytes | None) -> bytes | None:
    """The file without the block; None means that no file should be left."""
    parts = _split(content)
    rest = parts.before + parts.after
    return None if parts.made_file and not rest else rest
