"""What the search holds of one cause while it looks for all that speaks for it; the answer is its ``as_dict``. Pure."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from .._judge.packs.model import CANDIDATE, Cause, Rule
from .catalogue import catalogue, layers, listed
from .seen import Hit

EVIDENCE = 4


@dataclasses.dataclass
class Suspect:
    cause: Cause
    weight: float = 0.0
    hits: list[Hit] = dataclasses.field(default_factory=list)
    rules: list[Rule] = dataclasses.field(default_factory=list)
    certainty: str = CANDIDATE
    explains: list[str] = dataclasses.field(default_factory=list)
    reported: bool = False  # by the device itself, not by who suffers from it
    first: bool = False  # what a rule thinks of first, not what it might be as well
    said: list[str] = dataclasses.field(default_factory=list)  # hosts of which the job alone says it
    odd: list[str] = dataclasses.field(default_factory=list)  # hosts that differ from the others
    releases: dict[str, tuple[str, str]] = dataclasses.field(default_factory=dict)  # product -> what mends it, was read

    @property
    def is_certain(self) -> bool:
        return self.certainty != CANDIDATE

    @classmethod
    def of(cls, cause: str, table: dict[str, Suspect]) -> Suspect:
        """That of this cause; enters a new one into ``table``."""
        return table.setdefault(cause, cls(catalogue().causes[cause]))

    def add(self, hits: list[Hit], rule: Rule, weight: float, reported: bool = False) -> None:
        """What a rule says. What the device reports of itself goes before what others say of it."""
        first, then = (hits, self.hits) if reported and not self.reported else (self.hits, hits)
        self.hits = list(dict.fromkeys([*first, *then]))
        self.weight = max(self.weight, weight) + 0.3 * min(self.weight, weight)
        self.rules.append(rule)
        self.reported |= reported

    def as_dict(self) -> dict[str, Any]:
        sources = [*sorted({rule.source for rule in self.rules}), *([] if self.rules else [self.cause.source])]
        mended = [f"{name} {good} or later ({read} was read)" for name, (good, read) in self.releases.items()]
        mine = [rule for rule in self.rules if rule.causes[0] == self.cause.id]
        # A rule that is less sure has no say in what to do.
        own = [rule.fix for rule in [each for each in mine if each.certainty == self.certainty] or mine if rule.fix]
        said = self.hits[0].quote if self.hits else ""
        own += [fix for words, fix in listed("remedies").get(self.cause.id, {}).items() if re.search(words, said)][:1]
        hosts = [hit.host for hit in self.hits if hit.host and hit.placed == self.reported and not self.odd]
        return {
            "layer": self.cause.layer,
            "cause": self.cause.id,
            "certainty": self.certainty,
            "means": self.cause.means,
            "host": next((hit.host for hit in self.hits if hit.host), ""),
            "hosts": list(dict.fromkeys([*self.odd, *hosts, *(self.said if self.reported else ())])),
            "rank": next((hit.rank for hit in self.hits if hit.rank is not None), None),
            "device": next((hit.device for hit in self.hits if hit.device), ""),
            "evidence": [hit.as_dict() for hit in self.hits[:EVIDENCE]],
            "explains": self.explains,
            "next": {"where": self.cause.where, "run": self.cause.look, "cost": self.cause.cost},
            "fix": {
                "what": "; ".join([*mended, *([*dict.fromkeys(own)][:2] or [self.cause.fix])]),
                "who": layers()[self.cause.layer],
                "role": self.cause.role,
                "interrupts": self.cause.interrupts,
            },
            "rests_on": sources if self.hits else [],
        }
