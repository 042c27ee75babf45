"""Conditions on what signs read: ``release_nccl<2.26.5``, ``crash_frame~ncclCommAbort``. Pure.

NAME WAY VALUE without a space. Figures and releases are compared number by number; ``~`` searches a pattern. VALUE may
be a sign, too: ``==`` holds if all values of both are equal, ``!=`` if two of them differ. Any other condition holds if
it does for one value.
"""

from __future__ import annotations

import dataclasses
import operator
import re
from typing import Any, Callable, Sequence

_FORM = re.compile(r"(?P<name>\w+)(?P<way><=|>=|==|!=|<|>|~)(?P<value>\S+)")
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Condition:
    name: str
    way: str
    value: str

    def holds(self, values: Sequence[str], others: Sequence[str]) -> bool:
        """``others``: values of the sign that ``value`` names; empty if it names none."""
        if self.way == "~":
            return any(re.search(self.value, text, re.IGNORECASE) for text in values)
        pairs = [(release(one), release(two)) for one in values for two in others or (self.value,)]
        if self.way not in ("==", "!="):
            pairs = [pair for pair in pairs if all(isinstance(each[0], int) for each in pair)]
        found = [COMPARE[self.way](*pair) for pair in pairs]
        return bool(found) and (all(found) if self.way == "==" else any(found))


def parse(word: str) -> Condition | None:
    """None for the name of a sign."""
    found = _FORM.fullmatch(word)
    return Condition(**found.groupdict()) if found else None


def release(text: str) -> tuple[object, ...]:
    """As it is compared: number by number; a text without numbers is only equal or not."""
    return tuple(map(int, re.findall(r"\d+", text))) or (text,)
