"""Why a run failed: by its lines (``_judge/packs/runs.yml``, most telling first), or how it ended (``endings.yml``)."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Iterable, Mapping

from ..._judge.packs import loader
from ..._judge.packs.model import Rule, Sign
from ..._judge.sentences import Sentences
from ..readers.reading import names

_ENDINGS = Sentences(__file__, "endings.yml")


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """Why a run failed. ``hosts`` is empty if the output does not tell; ``evidence`` is the line that decided."""

    cause: str
    summary: str
    remedy: str
    hosts: tuple[str, ...] = ()
    rank: int | None = None
    evidence: str = ""

    @property
    def message(self) -> str:
        where = names(self.hosts) if self.hosts else "mpirun (no single host named)"
        seen = f" Seen: {self.evidence!r}." if self.evidence else ""
        return f"{where}: {self.summary}.{seen} What to do: {self.remedy}."

    def as_result(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "hosts": list(self.hosts), "message": self.message}


@functools.lru_cache(maxsize=1)
def rules() -> Mapping[Rule, Sign]:
    """Each with the sign that it rests on, most telling first. A rule without causes is not the doctor's. Raises
    PackError, and ImportError without PyYAML."""
    packs = loader.load()
    return {
        Rule(cause, f"run_{cause}", tuple(filter(None, (entry.get("may_be"),))),
             f"recorded: {entry['summary']}", summary=entry["summary"], remedy=entry["remedy"]):
        Sign(f"run_{cause}", packs.pattern(entry["match"]))
        for cause, entry in packs.lists["runs"].items()
    }  # fmt: skip


def ending(
    situation: str, hosts: Iterable[str] = (), rank: int | None = None, evidence: str = "", **words: Any
) -> Diagnosis:
    """``words``: what its summary names in braces, beside the rank."""
    said = _ENDINGS.say(situation, rank=rank, **words)
    return Diagnosis(said.get("cause", situation), said["summary"], said["remedy"], tuple(hosts), rank, evidence)
