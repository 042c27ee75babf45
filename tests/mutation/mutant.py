"""One change of one file, and which of them are tried: the same ones again, as long as the code stays as it is."""

from __future__ import annotations

import collections
import hashlib
from collections.abc import Iterable
from typing import NamedTuple

SEED = "rocemesh-1"


class Mutant(NamedTuple):
    """``scope`` is the function, or the task's name; with rule, texts and ``nth`` it stays the same when lines move."""

    file: str
    line: int
    scope: str
    rule: str
    before: str
    after: str
    nth: int
    text: str

    @property
    def key(self) -> str:
        return f"{self.file} | {self.scope} | {self.rule} | {self.before} -> {self.after} | {self.nth}"

    @property
    def dice(self) -> str:
        return hashlib.sha256(f"{SEED} {self.key}".encode()).hexdigest()


def drawn(found: Iterable[Mutant], count: int) -> list[Mutant]:
    """``count`` of them by the fixed seed, a fourth of them at most of one rule."""
    by_rule: collections.Counter[str] = collections.Counter()
    chosen: list[Mutant] = []
    for mutant in sorted(found, key=lambda one: one.dice):
        if len(chosen) < count and by_rule[mutant.rule] <= count // 4:
            chosen.append(mutant)
            by_rule[mutant.rule] += 1
    return chosen
