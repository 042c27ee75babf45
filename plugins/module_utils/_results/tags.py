# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take apart what mpirun prints: several ranks in one stream, marked by ``--tag-output`` or not at all. Pure.

A tag marks a piece of output, not a line: text written without its newline is followed by the next rank's tag in the
same line, and the newline comes later as an empty tagged line. So nothing here anchors at the start of a line.
Formats: Open MPI 4.1.4 (recorded) and 5.0.11 (recorded; one blank more behind the tag).

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Optional, Sequence, Tuple

_TAG = re.compile(
    r"(?:\[?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\]?)?"
    r"\[\d+,(?P<rank>\d+)\]<(?P<stream>stdout|stderr|stddiag)>:"
)

_Source = Tuple[Optional[int], str]


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of one rank. ``rank`` None: not tagged (mpirun itself, or a run without ``--tag-output``)."""

    rank: int | None
    stream: str
    text: str


class Demultiplexer:
    """Feed text in pieces of any size; get whole lines of single ranks."""

    def __init__(self) -> None:
        self._physical = ""
        self._buffers: dict[_Source, str] = {}

    def feed(self, text: str) -> list[Line]:
        self._physical += text
        *whole, self._physical = self._physical.split("\n")
        return [line for physical in whole for line in self._take(physical, newline=True)]

    def close(self) -> list[Line]:
        """The end of the output: lines that never got their newline."""
        lines = self._take(self._physical, newline=False) if self._physical else []
        self._physical = ""
        for source in list(self._buffers):
            lines += self._flush(source)
        return lines

    def _take(self, physical: str, newline: bool) -> list[Line]:
        tags = list(_TAG.finditer(physical))
        if not tags:
            return self._append((None, "stdout"), physical, newline)
        lines: list[Line] = []
        if tags[0].start():
            # mpirun's own text glued in front of a tag: a line of its own.
            lines += self._append((None, "stdout"), physical[: tags[0].start()], newline=True)
        for index, tag in enumerate(tags):
            last = index + 1 == len(tags)
            text = physical[tag.end() : None if last else tags[index + 1].start()]
            lines += self._append((int(tag["rank"]), tag["stream"]), text, newline=newline and last)
        return lines

    def _append(self, source: _Source, text: str, newline: bool) -> list[Line]:
        self._buffers[source] = self._buffers.get(source, "") + text
        return self._flush(source) if newline else []

    def _flush(self, source: _Source) -> list[Line]:
        # A carriage return ends what a person sees as a line (progress bars); "\r\n" ends one line, not two.
        text = self._buffers.pop(source).rstrip("\r")
        return [Line(source[0], source[1], part) for part in text.split("\r")]


def lines_of(text: str) -> list[Line]:
    """All lines of a complete output, in the order in which they were complete."""
    reader = Demultiplexer()
    return reader.feed(text) + reader.close()


def by_rank(text: str, streams: Sequence[str] = ("stdout",)) -> dict[int, list[str]]:
    """rank -> its non-empty lines; untagged lines are left out."""
    answers: dict[int, list[str]] = {}
    for line in lines_of(text):
        if line.rank is not None and line.stream in streams and line.text.strip():
            answers.setdefault(line.rank, []).append(line.text.strip())
    return answers
