"""What the search holds of one cause while it looks for all that speaks for it; the answer is its ``as_dict``. Pure.

Hosts compared with each other say what one log alone cannot show, and what came first by their clocks.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
from typing import Any

from .._judge.packs.model import CANDIDATE, CERTAINTIES, Cause, Rule
from .catalogue import catalogue, layers, listed
from .seen import Heard, Hit

EVIDENCE = 4
REPORTED = 3.0  # what a device reports of itself outweighs what any three others say of it
_OFFSET = "clock_offset"
_TIME = re.compile(r"(?:(?P<iso>\d{4}-\d\d-\d\d[T ][\d:]{8})|(?P<log>[A-Z][a-z]{2} +\d+ [\d:]{8}))")


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


def compare(seen: Heard, table: dict[str, Suspect]) -> None:
    """Enters into ``table`` (cause -> finding) what differs between hosts."""
    for rule in catalogue().compares:
        values: dict[str, dict[str, Hit]] = {}
        for entry in seen.of(rule.names):
            if len(rule.names) > 1:
                values[entry.sign.name] = entry.hosts
            else:
                for (host, value), hit in entry.values.items():
                    values.setdefault(value, {}).setdefault(host, hit)
        hosts = [{host for host in by_host if host} for by_host in values.values()]
        if len(values) < 2 or not all(hosts) or len(set.union(*hosts)) < 2 or set.intersection(*hosts):
            continue
        # The host that differs from most comes first.
        ordered = sorted(values.values(), key=len)
        hits = [next(hit for host, hit in by_host.items() if host) for by_host in ordered]
        found = Suspect.of(rule.causes[0], table)
        found.certainty = min(found.certainty, rule.certainty, key=CERTAINTIES.index)
        found.weight += 2 + REPORTED
        # Of two hosts it is not known which one is right: both are named.
        found.odd += [hit.host for by_host, hit in zip(ordered, hits) if len(by_host) == len(ordered[0])]
        found.reported = found.reported or hits[0].placed
        found.hits = [*hits, *found.hits]
        found.rules.append(rule)


def put_first(finding: Suspect, seen: Heard) -> None:
    """Order its hits by true time, where the offset of each host that it names was read."""
    offsets = {host: _seconds(value) for host, value in seen[_OFFSET].values} if _OFFSET in seen else {}
    times = {hit: _time(hit.quote) for hit in finding.hits}
    hosts = {hit.host for hit, time in times.items() if time}
    if len(hosts) < 2 or not hosts <= offsets.keys():
        return

    def true(hit: Hit) -> datetime.datetime:
        time = times[hit]
        return time - datetime.timedelta(seconds=offsets[hit.host]) if time else datetime.datetime.max

    finding.hits = sorted(finding.hits, key=true)
    finding.odd = [host for host in dict.fromkeys(hit.host for hit in finding.hits) if host in finding.odd]


def _seconds(text: str) -> float:
    """How far a clock is fast."""
    return float(text.split(maxsplit=1)[0]) * (-1 if text.endswith("slow") else 1)


def _time(text: str) -> datetime.datetime | None:
    found = _TIME.match(text)
    try:
        if found and found["log"]:
            return datetime.datetime.strptime("2000 " + found["log"], "%Y %b %d %H:%M:%S")
        return datetime.datetime.fromisoformat(found["iso"]).replace(year=2000) if found else None
    except ValueError:
        return None
