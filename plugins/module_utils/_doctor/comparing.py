"""Hosts compared with each other: what one log alone cannot show. Pure."""

from __future__ import annotations

from .._judge.packs.model import CERTAINTIES
from .catalogue import catalogue
from .seen import Heard, Hit
from .suspect import Suspect

REPORTED = 3.0  # what a device reports of itself outweighs what any three others say of it


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
