"""What is found: the one class of all that judges. Pure; modules on nodes import it."""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

PROBLEM, WARNING, NOTE = "problem", "warning", "note"
OK, UNKNOWN = "ok", "unknown"


@dataclasses.dataclass(frozen=True)
class Finding:
    """``place``: controller, vCenter, a name of the inventory, a port, "" for the whole device, or a part of the
    fabric; ``thing``: what it is about; ``text``: what was seen; ``remedy``: what to do, empty for a note.

    ``level``: a problem stops the run, a warning does not: it names what could not be looked at, or what has another
    owner. A comparison has ``expected``, ``found`` (None: not read) and also the levels OK and UNKNOWN.
    """

    place: Any
    thing: str
    text: str = ""
    remedy: str = ""
    level: str = PROBLEM
    code: str = ""
    expected: str = ""
    found: str | None = None

    def sentence(self) -> str:
        place = f"{self.place}: " if self.place else ""
        return f"{place}{self.thing} is {self.found or 'unknown'}, expected {self.expected}"

    def fields(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}


def compared(  # noqa: PLR0917 (the columns of a table, in their order)
    code: str, place: str, thing: str, found: Any, expected: str, right: bool | None, remedy: str
) -> Finding:
    """``right`` None: not known; so is ``found``."""
    level = UNKNOWN if right is None else OK if right else PROBLEM
    return Finding(place, thing, "", remedy, level, code, expected, None if found is None else str(found))


def text_table(rows: Sequence[Sequence[str]], widest: int = 1000) -> list[str]:
    """Lines with cells below each other; ``widest``: characters up to which a column grows. The last has no width."""
    widths = [min(widest, max(map(len, column))) for column in list(zip(*rows))[:-1]]
    return ["  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows]
