"""A configuration that is printed as lines with blocks indented below them, as a tree. Pure."""

from __future__ import annotations

import dataclasses
import re
from typing import Iterable, Iterator

from .._layer import ParseError
from .observed import Marking

_THRESHOLDS = re.compile(
    r"minimum-threshold (?P<least>\d+) (?P<unit>\w+) maximum-threshold (?P<most>\d+) (?P<unit2>\w+)(?P<rest>.*)"
)
_BURST = re.compile(r"threshold (?P<kind>burst-optimized|mesh-optimized)(?P<rest>.*)")
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
        """The text after these words, line by line."""
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


def trunk(host: str, block: Line) -> tuple[str | None, int | None]:
    """(VLANs that a trunk carries tagged, the one that it carries untagged) by the lines of EOS and NX-OS.

    Without a line a trunk carries all of them, and VLAN 1 untagged. Raises `ParseError`.
    """
    allowed: set[int] | None = None
    for rest in block.rest("switchport trunk allowed vlan"):
        word, _blank, more = rest.partition(" ")
        if word in ("all", "none"):
            allowed = None if word == "all" else set()
        elif word in ("add", "remove", "except"):
            every = set(range(1, 4095))
            base = every if allowed is None or word == "except" else allowed
            allowed = base | set(numbers(host, more)) if word == "add" else base - set(numbers(host, more))
        else:
            allowed = set(numbers(host, rest))
    native: int | None = 1
    for rest in block.rest("switchport trunk native vlan"):
        native = int(rest) if rest.isdigit() else None
    return spans(range(1, 4095) if allowed is None else allowed), native


def spans(values: Iterable[int]) -> str:
    """{1, 2, 3, 7} -> 1-3, 7."""
    found: list[list[int]] = []
    for each in sorted(values):
        if found and each == found[-1][1] + 1:
            found[-1][1] = each
        else:
            found.append([each, each])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def addresses(block: Line) -> tuple[str, ...]:
    """Of a routed port, IPv4 and IPv6, those that ``ip address`` and ``ipv6 address`` give it."""
    words = [rest.split()[0] for kind in ("ip", "ipv6") for rest in block.rest(f"{kind} address") if rest]
    return tuple(word for word in words if "/" in word)


def thresholds(host: str, text: str, units: tuple[str, ...]) -> tuple[Marking, list[str]]:
    """``minimum-threshold A UNIT maximum-threshold B UNIT ...`` -> (what it means, the words behind it).

    ``units``: that the system has; those that are no sizes are shown and not converted. ``threshold burst-optimized``
    and ``threshold mesh-optimized`` of NX-OS leave the sizes to the switch. Raises `ParseError`.
    """
    burst = _BURST.fullmatch(text)
    if burst and "packets" in units:
        return Marking(burst["kind"]), burst["rest"].split()
    match = _THRESHOLDS.fullmatch(text)
    if match is None or match["unit"] != match["unit2"] or match["unit"] not in units:
        raise ParseError("thresholds of random-detect that are not known", host=host, raw=text)
    size = _KB.get(match["unit"])
    words = f"{match['least']} to {match['most']} {match['unit']}"
    sizes = [None if size is None else int(match[end]) * size for end in ("least", "most")]
    return Marking(words, *sizes), match["rest"].split()
