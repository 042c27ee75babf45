"""What came first by clocks whose offsets were read. Pure."""

from __future__ import annotations

import datetime
import re

from .seen import Heard, Hit
from .suspect import Suspect

_OFFSET = "clock_offset"
_TIME = re.compile(r"(?:(?P<iso>\d{4}-\d\d-\d\d[T ][\d:]{8})|(?P<log>[A-Z][a-z]{2} +\d+ [\d:]{8}))")


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
