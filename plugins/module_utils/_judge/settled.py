"""The Xids that a host logged: which are open, and which are settled. Pure.

An Xid stays in the log until the host restarts. It is settled by the driver that was loaded again after it and shows
the GPU (its ECC counters begin anew then, too), or by a user who has looked at it and lists it in
``fabric_known_xids``.
"""

from __future__ import annotations

import calendar
import dataclasses
import time
from typing import Any, Iterable, Iterator, Mapping, Sequence

from .sentences import refusal
from .xids import sentence, stops

# The log counts from the boot; when that was follows from the host's clock, which may have been set meanwhile.
SLACK = 60.0


@dataclasses.dataclass(frozen=True)
class Known:
    """One that a user has looked at, and all of its kind until then."""

    text: str
    key: tuple[str, str, int]
    until: float


def utc(text: str) -> float:
    """Seconds since 1970. Raises ValueError."""
    return float(calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")))


def known_from(texts: Sequence[str]) -> tuple[Known, ...]:
    found = []
    for text in texts:
        try:
            host, bus, xid, until = text.split("/")
            found.append(Known(text, (host, bus.lower(), int(xid)), utc(until)))
        except ValueError as error:
            raise refusal("xid_form", text) from error
    return tuple(found)


@dataclasses.dataclass
class Xids:
    """Of one GPU, Xid to how often. ``last``: when each of the open ones was there last; '' if the log has no times."""

    host: str
    bus: str
    open: dict[int, int] = dataclasses.field(default_factory=dict)
    known: dict[int, int] = dataclasses.field(default_factory=dict)
    earlier: dict[int, int] = dataclasses.field(default_factory=dict)
    last: dict[int, str] = dataclasses.field(default_factory=dict)

    @property
    def bad(self) -> dict[int, int]:
        return {xid: count for xid, count in self.open.items() if stops(xid)}

    @property
    def others(self) -> dict[int, int]:
        return {xid: count for xid, count in self.open.items() if not stops(xid)}

    def cell(self) -> str:
        return "; ".join(
            f"{word}{counted(xids)}"
            for word, xids in (("", self.open), ("known: ", self.known), ("before the driver: ", self.earlier))
            if xids
        )

    def notes(self, where: str) -> Iterator[str]:
        for xid, count in sorted(self.others.items()):
            yield f"{where}: Xid {counted({xid: count})} since boot: {sentence(xid)}"
        if self.earlier:
            yield f"{where}: Xid {counted(self.earlier)} before the driver was loaded again: a fault if it comes back"
        if self.known:
            yield f"{where}: Xid {counted(self.known)} is named in fabric_known_xids: a fault if it comes back"


def of_host(host: str, reading: Mapping[str, Any], known: Iterable[Known]) -> dict[str, Xids]:
    """Bus address to its Xids. A GPU that the driver does not show any more was not settled by loading it. ``reading``:
    what `gpu_info` returned with ``gather_state``."""
    until = {each.key: each.until for each in known}
    shown = {state.get("bus") for state in reading.get("state") or ()}
    found: dict[str, Xids] = {}
    for entry in reading.get("xids") or ():
        bus, xid, last = str(entry.get("bus")), int(entry["xid"]), str(entry.get("last") or "")
        mine = found.setdefault(bus, Xids(host, bus))
        moment = until.get((host, bus.lower(), xid))
        if entry.get("earlier") and bus in shown:
            kind = mine.earlier
        elif moment is not None and last and utc(last) <= moment + SLACK:
            kind = mine.known
        else:
            kind = mine.open
            mine.last[xid] = last
        kind[xid] = kind.get(xid, 0) + int(entry.get("count") or 1)
    return found


def outlived(known: Iterable[Known], readings: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Entries of ``fabric_known_xids`` whose Xid is in no log any more."""
    logged = {
        (host, str(entry.get("bus")).lower(), int(entry["xid"]))
        for host, each in readings.items()
        for entry in each.get("xids") or ()
    }
    for each in known:
        host = each.key[0]
        if host in readings and readings[host].get("xids") is not None and each.key not in logged:
            yield f"fabric_known_xids: {each.text} is not in the log of {host} any more, take it out"


def counted(xids: Mapping[int, int]) -> str:
    return ", ".join(f"{xid}" + (f" ({count} times)" if count > 1 else "") for xid, count in sorted(xids.items()))
