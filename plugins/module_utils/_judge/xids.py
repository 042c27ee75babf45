"""Xids: what each means, what is at fault, whether the GPU goes on (xids.yml); and which of a host's log are open.

The fabric check, the doctor, the cause of a failed run and the report all read this. An Xid stays in the log until the
host restarts. It is settled by the driver that was loaded again after it and shows the GPU (its ECC counters begin anew
then, too), or by a user who has looked at it and lists it in ``fabric_known_xids``.
"""

from __future__ import annotations

import calendar
import dataclasses
import functools
import time
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, Sequence

from .. import _yaml_files as yaml_files
from .sentences import refusal

CATALOGUE = "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"

# The log counts from the boot; when that was follows from the host's clock, which may have been set meanwhile.
SLACK = 60.0

APPLICATION, DRIVER = "application", "driver"  # parts at fault, beside "GPU" and "NVLink"
# Severity, as the action that the catalogue asks for at once.
NOTHING, RESTART_APP, RESET_GPU, RESTART_HOST = "none", "restart the program", "reset the GPU", "restart the host"


@dataclasses.dataclass(frozen=True)
class Xid:
    number: int
    means: str
    at_fault: str
    action: str
    source: str = CATALOGUE

    @property
    def goes_on(self) -> bool:
        """Whether the GPU takes the next program as it is."""
        return self.action in (NOTHING, RESTART_APP)

    @property
    def cause(self) -> str:
        """The cause that the doctor and a failed run name for it; '' for what is only recorded."""
        if self.action == NOTHING:
            return ""
        if self.at_fault == APPLICATION:
            return "app_illegal_access"
        if self.goes_on:
            return "gpu_error_contained"
        return "driver_bug" if self.at_fault == DRIVER else "gpu_fault"


@functools.lru_cache(maxsize=None)
def table() -> Mapping[int, Xid]:
    """Raises PackError, and ImportError without PyYAML."""
    return {number: Xid(number, **row) for number, row in yaml_files.read(Path(__file__).with_suffix(".yml")).items()}


def stops(number: int) -> bool:
    """Whether the GPU is of no use until a user acts."""
    return number in table() and not table()[number].goes_on


def sentence(number: int) -> str:
    """What a reader of a report has to know of one Xid."""
    entry = table().get(number)
    if entry is None:
        return f"not in NVIDIA's catalogue as known here ({CATALOGUE}), so nothing is concluded from it"
    if entry.action == NOTHING:
        return f"{entry.means}: recorded, the GPU goes on"
    if entry.goes_on:
        fault = "mostly a fault of the program" if entry.at_fault == APPLICATION else f"a fault of the {entry.at_fault}"
        return f"{entry.means}: {fault} that ended the program, the GPU goes on"
    return f"{entry.means}: a fault of the {entry.at_fault}; {entry.action}"


def numbers(cause: str, at_fault: str = "") -> str:
    """The alternatives of a regular expression: Xids with this cause, and with this part at fault if one is named."""
    found = (entry for entry in table().values() if entry.cause == cause and at_fault in ("", entry.at_fault))
    return "|".join(str(entry.number) for entry in found)


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
