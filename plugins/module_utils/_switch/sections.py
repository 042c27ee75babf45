# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A configuration that is printed as lines with blocks indented below them, as a tree. Pure."""

from __future__ import annotations

import dataclasses
import re
from typing import Iterator

from .._layer import ParseError
from .observed import Marking

_THRESHOLDS = re.compile(
    r"minimum-threshold (?P<least>\d+) (?P<unit>\w+) maximum-threshold (?P<most>\d+) (?P<unit2>\w+)(?P<rest>.*)"
)
_KB = {"bytes": 0.001, "kbytes": 1.0, "mbytes": 1000.0}


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


def numbers(host: str, text: str) -> Iterator[int]:
    """24 25,26-28 -> the numbers. Raises `ParseError`."""
    for each in re.split(r"[ ,]+", text.strip()):
        first, _dash, last = each.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise ParseError("not a list of numbers", host=host, raw=text)
        yield from range(int(first), int(last or first) + 1)


def thresholds(host: str, text: str, units: tuple[str, ...]) -> tuple[Marking, list[str]]:
    """``minimum-threshold A UNIT maximum-threshold B UNIT ...`` -> (what it means, the words behind it).

    ``units``: that the system has; those that are no sizes are shown and not converted. Raises `ParseError`.
    """
    match = _THRESHOLDS.fullmatch(text)
    if match is None or match["unit"] != match["unit2"] or match["unit"] not in units:
        raise ParseError("thresholds of random-detect that are not known", host=host, raw=text)
    size = _KB.get(match["unit"])
    words = f"{match['least']} to {match['most']} {match['unit']}"
    sizes = [None if size is None else int(match[end]) * size for end in ("least", "most")]
    return Marking(words, *sizes), match["rest"].split()
