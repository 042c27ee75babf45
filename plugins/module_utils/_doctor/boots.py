"""What a system's log said in a boot before the run's, or of a GPU whose driver was loaded again before the run. Pure.

It is about another state. A boot begins with the kernel's first line, the journal's separator, or where its seconds
fall back. Such logs give neither year nor zone of their times: a line is earlier only if it is so in every zone, or if
the boot is known by its id or by lines that the host's own kernel log has as well. Where that is not known, it stays.
"""

from __future__ import annotations

import collections
import functools
import re
import time
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from .._judge.packs.loader import form
from .._judge.xids import SLACK, known_from, utc
from .bundle import Piece
from .host_output import booted, sections

_MOST = 1 << 25  # bytes of a log that is looked at as a whole; what is longer stays as it is
_NEWS = re.compile(rb"Linux version \d|(?m:^)-- (?:Boot |Reboot)|NVRM: (?:loading NVIDIA|Xid)")
_LOGS = ("log_of_day", "log_of_date", "log_of_kernel")  # forms
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ZONES = 12 * 3600.0  # no clock is more behind UTC
_EARLY = 1.0  # until then the lines of all boots are alike
_NEVER = float("inf")


class _Line(NamedTuple):
    """``latest``: seconds since 1970 at which it was said at the latest; ``since``: from its boot on."""

    host: str
    latest: float
    since: float | None
    text: str
    kernel: bool


class _Event(NamedTuple):
    """``part``: host, and how many boots began before, this one included."""

    number: int
    line: _Line
    part: tuple[str, int]
    what: Mapping[str, Any]


class Boots:
    """``evidence``: as module run_report takes it; ``names``: what a host calls itself -> its name in the inventory."""

    def __init__(self, evidence: Mapping[str, Any], names: Mapping[str, str], started: float) -> None:
        self._names, self._started = names, started
        self._known = known_from((evidence.get("job") or {}).get("known_xids") or ())
        self._booted: dict[str, float] = {}
        self._said: dict[str, set[tuple[float | None, str]]] = collections.defaultdict(set)
        self._ids: dict[str, str] = {}
        self._gpus: dict[str, list[str]] = {}
        for host in set(names.values()):
            answer, reading = ((evidence.get(key) or {}).get(host) or {} for key in ("hosts", "rdma"))
            at = booted(answer)
            if at is not None and at + SLACK <= started:
                self._booted[host] = at
                kernel = sections(str(answer["said"])).get("dmesg.txt", "").splitlines()
                lines = filter(None, map(form("log_of_kernel").match, kernel))
                said = ((float(line["since"]), line["text"]) for line in lines)
                self._said[host] = {(since, text) for since, text in said if since > _EARLY}
            self._ids[host] = str((reading.get("before") or {}).get("boot_id") or "-").replace("-", "")
            state = ((reading.get("start") or {}).get("gpus") or {}).get("state")
            self._gpus[host] = [str(gpu.get("bus")).lower() for gpu in state] if state else [""]

    def of_the_run(self, piece: Piece) -> Piece:
        """The same lines; those of another state are empty."""
        return Piece(piece.name, self._chunks(piece))

    def _chunks(self, piece: Piece) -> Iterator[bytes]:
        held = piece.start(_MOST)
        if sum(map(len, held)) <= _MOST and any(map(_NEWS.search, held)):
            lines = b"\n".join(held).decode("utf-8", "replace").split("\n")
            for number in list(self._of_another_state(lines, piece.host)):
                lines[number] = ""
            held = ["\n".join(lines).encode()]
        yield from held
        yield from piece.chunks

    def _of_another_state(self, lines: Sequence[str], place: str) -> Iterator[int]:
        events, ours = self._events(lines, place)
        began: dict[str, _Event] = {}
        loaded: dict[str, int] = {}
        for event in events:
            earlier = self._at(event, ours) + SLACK <= self._started
            if event.what.get("boot") and (earlier or event.part in ours):
                began[event.line.host] = event
            elif event.what.get("load") and earlier:
                loaded[event.line.host] = event.number
        for event in events:
            host, bus = event.line.host, str(event.what.get("bus") or "").lower()
            if not bus:
                continue
            if event.number < loaded.get(host, 0) and any(gpu.startswith(bus) or not gpu for gpu in self._gpus[host]):
                yield event.number
            for known in self._known:
                same = known.key[0] == host and known.key[1].startswith(bus) and known.key[2] == int(event.what["xid"])
                if same and self._at(event, ours) <= known.until + SLACK:
                    yield event.number
        for number in range(max((event.number for event in began.values()), default=0)):
            line = self._line(lines[number], place)
            last = began.get(line.host) if line else None
            # A clock that went back tells no order.
            if line and last and number < last.number and not last.line.latest + SLACK < line.latest < _NEVER:
                yield number

    def _events(self, lines: Sequence[str], place: str) -> tuple[list[_Event], set[tuple[str, int]]]:
        """What the kernels say of boots, drivers and Xids; the parts that are of the boot in which the run was."""
        events: list[_Event] = []
        ours: set[tuple[str, int]] = set()
        boots: collections.Counter[str] = collections.Counter()
        since: dict[str, float] = {}
        separator = None
        for number, text in enumerate(lines):
            separator = form("boot_separator").match(text) or separator
            line = self._line(text, place)
            if line is None:
                continue
            host, what = line.host, form("boot_event").search(line.text) if line.kernel else None
            back = line.since is not None and line.since + _EARLY < since.get(host, 0.0)
            begins = bool(separator or back or (what and what["boot"]))
            boots[host] += begins
            part = (host, boots[host])
            if begins or what:
                events.append(_Event(number, line, part, what.groupdict() if what and not begins else {"boot": True}))
            if (separator and separator["id"] == self._ids[host]) or (line.since, line.text) in self._said[host]:
                ours.add(part)
            separator = None
            if line.since is not None:
                since[host] = line.since
        return events, ours

    def _at(self, event: _Event, ours: set[tuple[str, int]]) -> float:
        line = event.line
        if event.part in ours and line.since is not None and line.host in self._booted:
            return min(line.latest, self._booted[line.host] + line.since)
        return line.latest

    def _line(self, text: str, place: str) -> _Line | None:
        """None: not of a system's log, or of no host of the run."""
        found = next(filter(None, (form(name).match(text) for name in _LOGS)), None)
        host = self._names.get((found["host"] or place).partition(".")[0].lower()) if found else None
        if not found or host is None:
            return None
        since = None if found["since"] is None else float(found["since"])
        latest = _latest(found["at"], found["zone"] or "", self._started)
        return _Line(host, latest, since, found["text"], found["program"] in (None, "kernel"))


@functools.lru_cache(maxsize=4096)
def _latest(at: str, zone: str, near: float) -> float:
    """In seconds since 1970: without a year in the one nearest to the run, without a zone in the last one."""
    try:
        if "T" in at:
            seconds = utc(f"{at}Z")
            ahead = 0 if zone in ("", "Z") else int(zone[:3]) * 3600 + int(zone[0] + zone[-2:]) * 60
            return seconds - ahead + (0 if zone else _ZONES)
        month, day, clock = at.split()
        year = int(time.strftime("%Y", time.gmtime(near)))
        days = (f"{each}-{_MONTHS.index(month) + 1:02}-{int(day):02}T{clock}Z" for each in (year - 1, year, year + 1))
        return min(map(utc, days), key=lambda found: abs(found - near)) + _ZONES
    except ValueError:
        return _NEVER
