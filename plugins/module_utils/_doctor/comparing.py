"""Hosts compared with each other: what one log alone cannot show. Pure."""

from __future__ import annotations

from .._judge.packs.model import CANDIDATE, CERTAINTIES, Rule
from .catalogue import catalogue
from .reading import Hit, Reading
from .suspect import Suspect

REPORTED = 3.0  # what a device reports of itself outweighs what any three others say of it


def compare(reading: Reading, table: dict[str, Suspect]) -> None:
    """Enters into ``table`` (cause -> finding) what differs between hosts."""
    for wanted in catalogue().compares:
        values: dict[str, dict[str, Hit]] = {}
        for name in wanted.sign.split("+"):
            entry = reading.seen.get(name)
            if entry is None:
                continue
            if "+" in wanted.sign:
                values[name] = dict(entry.hosts)
            for (host, value), hit in entry.values.items() if "+" not in wanted.sign else ():
                values.setdefault(value, {}).setdefault(host, hit)
        hosts = [{host for host in by_host if host} for by_host in values.values()]
        if len(values) < 2 or not all(hosts) or len(set.union(*hosts)) < 2 or set.intersection(*hosts):
            continue
        # The host that differs from most comes first.
        ordered = sorted(values.values(), key=len)
        hits = [next(hit for host, hit in by_host.items() if host) for by_host in ordered]
        rule = Rule(wanted.id, wanted.sign.replace("+", "|"), wanted.certainty, (wanted.cause,), wanted.source)
        found = table.setdefault(wanted.cause, Suspect(catalogue().causes[wanted.cause], CANDIDATE, 0.0, [], []))
        found.certainty = min(found.certainty, wanted.certainty, key=CERTAINTIES.index)
        found.weight += 2 + REPORTED
        # Of two hosts it is not known which one is right: both are named.
        found.odd += [hit.host for by_host, hit in zip(ordered, hits) if len(by_host) == len(ordered[0])]
        found.reported = found.reported or hits[0].placed
        found.hits = [*hits, *found.hits]
        found.rules.append(rule)
