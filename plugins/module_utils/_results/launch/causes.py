"""What the lines of a failed run mean: the rules of ``_judge/packs/runs.yml``, most telling line first."""

from __future__ import annotations

import dataclasses
import functools
from typing import Pattern

from ..._judge import words
from ..._judge.packs import loader


@dataclasses.dataclass(frozen=True)
class RunRule:
    """If a line matches ``pattern``, the cause is ``cause``; ``may_be``: what the doctor makes of such a line."""

    cause: str
    pattern: Pattern[str]
    summary: str
    remedy: str
    may_be: str

    @functools.cached_property
    def words(self) -> tuple[str, ...]:
        return words.any_of(self.pattern)


@functools.lru_cache(maxsize=1)
def rules() -> tuple[RunRule, ...]:
    """Raises PackError, and ImportError without PyYAML."""
    packs = loader.load()
    return tuple(
        RunRule(cause, packs.pattern(entry["match"]), entry["summary"], entry["remedy"], entry.get("may_be", ""))
        for cause, entry in packs.lists["runs"].items()
    )
