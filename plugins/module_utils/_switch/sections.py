# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A configuration that is printed as lines with blocks indented below them, as a tree. Pure.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import dataclasses
from typing import Iterator


@dataclasses.dataclass
class Line:
    """One line without its indentation, and the block below it."""

    text: str
    below: list[Line] = dataclasses.field(default_factory=list)

    def lines(self, beginning: str) -> Iterator[Line]:
        """Those of the block that begin with these words."""
        return (line for line in self.below if line.text == beginning or line.text.startswith(beginning + " "))

    def rest(self, beginning: str) -> list[str]:
        """What stands behind these words, line by line."""
        return [line.text[len(beginning) :].strip() for line in self.lines(beginning)]

    def has(self, text: str) -> bool:
        return any(line.text == text for line in self.below)


def tree(text: str) -> Line:
    """The whole, as the block of a line without words. Lines that begin with "!" only separate."""
    root = Line("")
    open_blocks: list[tuple[int, Line]] = [(-1, root)]
    for printed in text.splitlines():
        words = printed.strip()
        if not words or words.startswith("!"):
            continue
        indent = len(printed) - len(printed.lstrip())
        while open_blocks[-1][0] >= indent:
            open_blocks.pop()
        line = Line(words)
        open_blocks[-1][1].below.append(line)
        open_blocks.append((indent, line))
    return root
