"""What the signs found, and which rules that meets. Pure."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Dict, Iterable

from .._judge.packs.model import FACT, FAULT, Condition, Rule, Sign
from .catalogue import listed

_KEPT = 6  # hits of one sign that are kept whole; the others are counted
_VALUES = 4096
_HOSTS = 64  # that a finding names
_OWN = re.compile(r"(?:^|/)(?:hosts|containers)/")
# What a suffering job says whatever the fault is.
SYMPTOMS = frozenset({"slow", "hang", "wc_retry_exceeded", "modify_qp_timeout", "connect_timeout", "connect_refused"})


@dataclasses.dataclass(frozen=True)
class Hit:
    """What a sign found, or a line that no sign knows. Of a reader, ``host`` and ``device`` where the line is about
    another one than printed it, and no ``file``. ``value``: hosts are compared by it; ``placed``: said in a piece of
    the device's own."""

    sign: str
    line: int
    quote: str
    host: str = ""
    device: str = ""
    value: str = ""
    rank: int | None = None
    file: str = ""
    placed: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "text": self.quote}


@dataclasses.dataclass
class Seen:
    """All that one sign found. ``values``: (host, value) -> first hit; ``hosts``: host -> first hit."""

    sign: Sign
    hits: list[Hit] = dataclasses.field(default_factory=list)
    values: dict[tuple[str, str], Hit] = dataclasses.field(default_factory=dict)
    hosts: dict[str, Hit] = dataclasses.field(default_factory=dict)
    last: Hit = Hit("", 0, "")

    def full(self, host: str) -> bool:
        """Another hit of this host, without a value, would change nothing."""
        return len(self.hits) >= _KEPT and (host in self.hosts or len(self.hosts) >= _VALUES)

    def add(self, hit: Hit) -> None:
        self.last = hit
        if len(self.hits) < _KEPT:
            self.hits.append(hit)
        if hit.host not in self.hosts and len(self.hosts) < _VALUES:
            self.hosts[hit.host] = hit
        if hit.value and len(self.values) < _VALUES:
            self.values.setdefault((hit.host, hit.value), hit)

    def of_hosts(self) -> list[Hit]:
        """A few hits, and the first of each host."""
        return list(dict.fromkeys([*self.hits[:2], *list(self.hosts.values())[:_HOSTS]]))


class Heard(Dict[str, Seen]):
    """Name of each sign that was found -> what it found."""

    def of(self, names: Iterable[str]) -> list[Seen]:
        return [self[name] for name in names if name in self]

    def faults(self, rule: Rule) -> set[str]:
        """Signs of a fault that the rule rests on."""
        return {entry.sign.name for entry in self.of(rule.names) if entry.sign.kind == FAULT}

    def is_fault(self, hit: Hit) -> bool:
        return self[hit.sign].sign.kind == FAULT

    def has_places(self) -> bool:
        """The bundle tells of its pieces whose they are: then nearly every fault is reported in plain words."""
        return any(hit.placed for entry in self.values() for hit in entry.hits)

    def is_vague(self, rule: Rule) -> bool:
        """The rule rests on nothing but what a suffering job says, whatever the fault is."""
        return self.faults(rule) <= SYMPTOMS

    def is_unspecific(self, rule: Rule) -> bool:
        """None of its faults is more than a word for trouble."""
        faults = self.faults(rule)
        return bool(faults) and faults <= set(listed("unspecific"))

    def is_plain(self, rule: Rule) -> bool:
        """A line says in words what fails: more than what a job suffers whatever it is."""
        return bool(self.faults(rule) - set(listed("suffers")))

    def is_reported(self, rule: Rule) -> bool:
        """Every fault that it rests on was said by a device itself, in a piece of its own."""
        faults = self.faults(rule) - SYMPTOMS
        groups = [self.of(faults.intersection(group)) for group in rule.needed]
        placed = [any(hit.placed for entry in group for hit in entry.hosts.values()) for group in groups if group]
        return bool(placed) and all(placed)

    def fires(self, rule: Rule) -> bool:
        if any(map(self.keys().isdisjoint, rule.needed)):
            return False
        if not all(self._holds(condition, rule) for condition in rule.conditions):
            return False
        against = [self._own_hosts([entry]) for entry in self.of(rule.excluded) if not self._is_above(entry, rule)]
        if not against:
            return True
        here = self._own_hosts(self.of(set(rule.names) - SYMPTOMS))
        return bool(here) and all(against) and here.isdisjoint(set().union(*against))

    def _is_above(self, back: Seen, rule: Rule) -> bool:
        """It worked again, and the fault came back: its last line is below, in the same piece."""
        last = [entry.last for entry in self.of(self.faults(rule))] if back.sign.again else []
        return any(hit.file == back.last.file and hit.line > back.last.line for hit in last)

    def values_of(self, name: str, rule: Rule) -> list[str]:
        """Of the hosts that say what is wrong; of all where these read nothing, or are not known."""
        said = {host for entry in self.of(rule.names) if entry.sign.kind != FACT for host in entry.hosts}
        values = list(self[name].values) if name in self else []
        return [value for host, value in values if host in said] or [value for _host, value in values]

    def _holds(self, condition: Condition, rule: Rule) -> bool:
        if condition.name == condition.value:
            values = [value for _host, value in self[condition.name].values]
            return len(values) > 1 and condition.holds(values, values)
        return condition.holds(self.values_of(condition.name, rule), self.values_of(condition.value, rule))

    @staticmethod
    def _own_hosts(entries: Iterable[Seen]) -> set[str]:
        """Hosts that say of themselves what these signs hear: what one of them says is no word about another. Empty
        where another host says it, or the host is not known."""
        hits = [hit for entry in entries if entry.sign.kind == FAULT for hit in entry.of_hosts()]
        own = all(hit.placed and hit.host and _OWN.search(hit.file) for hit in hits)
        return {hit.host for hit in hits} if own else set()
