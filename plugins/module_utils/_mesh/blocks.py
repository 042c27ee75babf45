# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A marked block inside a file that belongs to somebody else, edited so that no other byte changes.

The block stands at the top of the file. Two reasons: nothing has to be appended after a last line that may lack its
newline, so removing the block gives back the exact bytes; and both readers (sshd for ``authorized_keys``, ssh for
``config``) let the first match win, so a restriction written here cannot be undone by a line that was there before.
A block that somebody moved is edited where it stands.

Pure: bytes in, bytes out.
"""

from __future__ import annotations

import io
from typing import NamedTuple, Sequence

BEGIN = b"# BEGIN rocemesh.multinode mesh"
END = b"# END rocemesh.multinode mesh"
# Appended to BEGIN when the file did not exist, so that removing the block also removes the file, and an empty file
# that somebody else made stays an empty file.
NEW_FILE = b" [this block made the file]"


class BlockError(ValueError):
    """The markers do not form one block; ``raw`` shows the marker lines that were found, with their line numbers."""

    def __init__(self, what: str, raw: str) -> None:
        super().__init__(what)
        self.raw = raw


class Split(NamedTuple):
    """A file taken apart: ``before + block + after`` are its bytes; ``body`` is None if there is no block."""

    before: bytes
    body: list[bytes] | None
    after: bytes
    made_file: bool = False


def split(content: bytes) -> Split:
    """Find the block. Raises `BlockError` for markers that are unpaired, doubled or in the wrong order."""
    lines = io.BytesIO(content).readlines()  # lines end at \n only, as sshd and ssh read them
    found = []
    for number, line in enumerate(lines):
        text = line.strip()
        if text in (BEGIN, BEGIN + NEW_FILE):
            found.append((number, "begin"))
        elif text == END:
            found.append((number, "end"))
    if not found:
        return Split(content, None, b"")
    if [kind for _number, kind in found] != ["begin", "end"]:
        raw = "\n".join(
            "line {}: {}".format(number + 1, lines[number].decode("utf-8", "replace").strip())
            for number, _kind in found
        )
        raise BlockError("the markers of the managed block are not one BEGIN followed by one END", raw)
    first, last = found[0][0], found[1][0]
    return Split(
        before=b"".join(lines[:first]),
        body=[line.rstrip(b"\r\n") for line in lines[first + 1 : last]],
        after=b"".join(lines[last + 1 :]),
        made_file=lines[first].strip().endswith(NEW_FILE),
    )


def body(content: bytes | None) -> list[str] | None:
    """The lines inside the block, or None where there is no block (or no file)."""
    if content is None:
        return None
    found = split(content).body
    return None if found is None else [line.decode("utf-8", "replace") for line in found]


def ensure(content: bytes | None, lines: Sequence[str]) -> bytes:
    """The file with the block holding ``lines``; ``content`` None means that there is no file yet."""
    parts = split(content or b"")
    made_file = content is None or parts.made_file
    block = b"".join(
        [
            BEGIN + (NEW_FILE if made_file else b"") + b"\n",
            *(line.encode("utf-8") + b"\n" for line in lines),
            END + b"\n",
        ]
    )
    if parts.body is None:
        return block + parts.before
    return parts.before + block + parts.after


def remove(content: bytes | None) -> bytes | None:
    """The file without the block; None means that no file should be left."""
    if content is None:
        return None
    parts = split(content)
    if parts.body is None:
        return content
    rest = parts.before + parts.after
    return None if parts.made_file and not rest else rest
