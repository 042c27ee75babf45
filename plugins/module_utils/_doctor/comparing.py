"""Hosts compared with each other: what one log alone cannot show, and what came first by their clocks. Pure."""

from __future__ import annotations

import datetime
import re

from .._judge.packs.model import CERTAINTIES
from .catalogue import catalogue
from .seen import Heard, Hit
from .suspect import Suspect

REPORTED = 3.0  # what a device reports of itself outweighs what any three others say of it
_OFFSET = "clock_offset"
_TIME = re.compile(r"(?:(?P<iso>\d{4}-\d\d-\d\d[T ][\d:]{8})|(?P<log>[A-Z][a-z]{2} +\d+ [\d:]{8}))")


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
