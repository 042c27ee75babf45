"""A marked block inside a file of another owner, edited so that no other byte changes.

A new block comes first in the file. Two reasons: nothing has to be appended after a last line that may lack its
newline, so removing the block gives back the exact bytes; and both readers (sshd for ``authorized_keys``, ssh for
``config``) let the first match win, so a restriction written here cannot be undone by a line that was there before. A
block that was moved is edited at its place.

Pure: bytes in, bytes out.
"""

from __future__ import annotations

import io
from typing import Sequence

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


def edit(content: bytes | None, lines: Sequence[str] | None) -> tuple[list[str] | None, bytes | None]:
    """The lines that the block had (None: there was none), and the file with the block holding ``lines``, or without a
    block. A file that is None does not exist, or should not any more. Raises `BlockError`."""
    rows = io.BytesIO(content or b"").readlines()  # lines end at \n only, as sshd and ssh read them
    marks = {BEGIN: "begin", BEGIN + NEW_FILE: "begin", END: "end"}
    found = [number for number, row in enumerate(rows) if row.strip() in marks]
    if found and [marks[rows[number].strip()] for number in found] != ["begin", "end"]:
        raw = "\n".join(f"line {number + 1}: {rows[number].decode('utf-8', 'replace').strip()}" for number in found)
        raise BlockError("the markers of the managed block are not one BEGIN followed by one END", raw)
    first, last = found or (0, -1)
    before, after = b"".join(rows[:first]), b"".join(rows[last + 1 :])
    had = [row.rstrip(b"\r\n").decode("utf-8", "replace") for row in rows[first + 1 : last]] if found else None
    made_file = rows[first].strip().endswith(NEW_FILE) if found else content is None
    if lines is None:
        return had, before + after or (None if made_file else b"")
    text = [BEGIN + (NEW_FILE if made_file else b""), *(line.encode("utf-8") for line in lines), END]
    return had, before + b"".join(row + b"\n" for row in text) + after
