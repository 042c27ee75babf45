# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Xids of kernel logs: which of them stop a run, and what settles one. Pure.

An Xid stays in the log until the host restarts. It is settled by the driver that was loaded again after it and shows
the GPU (its ECC counters begin anew then, too), or by somebody who has looked at it and says so in
``fabric_known_xids``.
"""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any, Iterable, Iterator, Mapping, Sequence

from .._layer import RefusedError
from .judge import Place
from .reach import Fault

# NVIDIA, "XID Errors": the GPU, its memory, its links or its own processor. Others are mostly of a program.
OF_HARDWARE = frozenset(
    (48, 62, 64, 74, 79, 95, 110, 119, 120, 123, 136, 140, *range(143, 148), *range(149, 152), 155, 156, 160, 171, 172)
)
# Recorded, or an error that was contained: the GPU goes on.
RECORDED = frozenset((63, 92, 94, 154))
# The log counts from the boot; when that was follows from the host's clock, which may have been set meanwhile.
SLACK = datetime.timedelta(seconds=60)
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclasses.dataclass(frozen=True)
class Known:
    """One that somebody has looked at, and all of its kind until then."""

    text: str
    key: tuple[str, str, int]
    until: datetime.datetime


def known_from(texts: Sequence[str]) -> tuple[Known, ...]:
    found = []
    for text in texts:
        try:
            host, bus, xid, until = text.split("/")
            found.append(Known(text, (host, bus.lower(), int(xid)), datetime.datetime.strptime(until, _TIME)))
        except ValueError as error:
            raise RefusedError(
                "is not HOST/BUS/XID/TIME",
                host="fabric",
                thing="fabric_known_xids",
                value=text,
                remedy="copy it from the message about the Xid, for example gpu02/0000:3b:00.0/79/2026-01-31T09:30:00Z",
            ) from error
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
        return {xid: count for xid, count in self.open.items() if xid in OF_HARDWARE}

    @property
    def others(self) -> dict[int, int]:
        return {xid: count for xid, count in self.open.items() if xid not in OF_HARDWARE}

    def cell(self) -> str:
        return "; ".join(
            f"{word}{counted(xids)}"
            for word, xids in (("", self.open), ("known: ", self.known), ("before the driver: ", self.earlier))
            if xids
        )

    def fault(self, place: Place) -> Fault:
        named = [f"{self.host}/{self.bus}/{xid}/{self.last[xid]}" for xid in sorted(self.bad) if self.last[xid]]
        last = max((self.last[xid] for xid in self.bad), default="")
        settle = (
            f"If you have looked at it and go on with this GPU: fabric_known_xids: [{', '.join(named)}]"
            if len(named) == len(self.bad)
            else "The log has no times, so that nothing else settles it"
        )
        return Fault(
            "xid",
            place,
            f"Xid {counted(self.bad)} in the kernel log" + (f", last at {last}" if last else ""),
            "drain the host, and load the driver again or restart the host in a window: older Xids do not count then; "
            f"replace the GPU if the Xid comes back. {settle}",
        )

    def notes(self, where: str) -> Iterator[str]:
        if self.others:
            kept = set(self.others) <= RECORDED
            yield f"{where}: Xid {counted(self.others)} since boot: " + (
                "recorded, the GPU goes on" if kept else "mostly a fault of the program that ran then"
            )
        if self.earlier:
            yield f"{where}: Xid {counted(self.earlier)} before the driver was loaded again: a fault if it comes back"
        if self.known:
            yield f"{where}: Xid {counted(self.known)} is named in fabric_known_xids: a fault if it comes back"


def of_host(host: str, told: Mapping[str, Any], known: Iterable[Known]) -> dict[str, Xids]:
    """Bus address to its Xids. A GPU that the driver does not show any more was not settled by loading it."""
    until = {each.key: each.until for each in known}
    shown = {state.get("bus") for state in told.get("state") or ()}
    found: dict[str, Xids] = {}
    for entry in told.get("xids") or ():
        bus, xid, last = str(entry.get("bus")), int(entry["xid"]), str(entry.get("last") or "")
        mine = found.setdefault(bus, Xids(host, bus))
        moment = until.get((host, bus.lower(), xid))
        if entry.get("earlier") and bus in shown:
            kind = mine.earlier
        elif moment is not None and last and datetime.datetime.strptime(last, _TIME) <= moment + SLACK:
            kind = mine.known
        else:
            kind = mine.open
            mine.last[xid] = last
        kind[xid] = kind.get(xid, 0) + int(entry.get("count") or 1)
    return found


def outlived(known: Iterable[Known], told: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What is said of Xids that are in no log any more. ``told``: host to what it said."""
    logged = {
        (host, str(entry.get("bus")).lower(), int(entry["xid"]))
        for host, each in told.items()
        for entry in each.get("xids") or ()
    }
    for each in known:
        host = each.key[0]
        if host in told and told[host].get("xids") is not None and each.key not in logged:
            yield f"fabric_known_xids: {each.text} is not in the log of {host} any more, take it out"


def counted(xids: Mapping[int, int]) -> str:
    return ", ".join(f"{xid}" + (f" ({count} times)" if count > 1 else "") for xid, count in sorted(xids.items()))
