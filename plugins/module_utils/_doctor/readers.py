"""Signs that take more than one line: a routing table, a table of GIDs, tables of priorities. One per piece."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import Callable, Iterable, Protocol

from .._judge.packs.model import FACT, FAULT, Sign, sign

_ROWS = 4096


@dataclasses.dataclass(frozen=True)
class Found:
    """``host``, ``device``: where a line is not about the host or device that printed it."""

    sign: Sign
    line: int
    quote: str
    host: str = ""
    device: str = ""


class Reader(Protocol):
    words: tuple[str, ...]

    def line(self, number: int, text: str) -> None: ...

    def result(self) -> Iterable[Found]: ...


class Routes:
    """``ip route``: one network on two interfaces. Which one the kernel takes differs from host to host."""

    words: tuple[str, ...] = (" dev ",)
    SIGN = sign("routes_twice", "two routes to one network")
    _ROUTE = re.compile(
        r"^(?P<net>\d+\.\d+\.\d+\.\d+/\d+) dev (?P<dev>\S+).*\bscope link\b(?:.*metric (?P<metric>\d+))?"
    )

    def __init__(self) -> None:
        self._routes: list[tuple[ipaddress.IPv4Network, str, int, str]] = []

    def line(self, number: int, text: str) -> None:
        match = self._ROUTE.match(text.strip())
        if match and len(self._routes) < _ROWS and not match["dev"].startswith(("docker", "veth", "br-", "cni", "lo")):
            try:
                self._routes.append((ipaddress.IPv4Network(match["net"]), match["dev"], number, text.strip()))
            except ValueError:
                return

    def result(self) -> Iterable[Found]:
        for index, (net, dev, number, text) in enumerate(self._routes):
            for other, other_dev, _number, other_text in self._routes[:index]:
                if dev != other_dev and net.overlaps(other):
                    yield Found(self.SIGN, number, f"{other_text} | {text}")
                    return


class Gids:
    """``show_gids``: what kinds of GIDs there are."""

    # The version as well: a global IPv6 GID has no part that others lack.
    words: tuple[str, ...] = ("fe80:", "ffff:", "\tv2", " v2 ")
    LOCAL_ONLY = sign("gids_link_local_only", "only link-local GIDs")
    V1_ONLY = sign("gids_v1_only", "only RoCE v1")
    GOOD = sign("gids_routable", "a routable RoCE v2 GID", FACT)
    ROW = re.compile(
        r"^\s*(?P<dev>[a-z]\w*_?\d+)\s+\d+\s+(?P<index>\d+)\s+(?P<gid>[0-9a-f]{4}(?::[0-9a-f]{4}){7})\s+"
        r"(?:(?P<ip>\d+\.\d+\.\d+\.\d+)\s+)?(?P<version>v[12])\b",
        re.IGNORECASE,
    )

    def __init__(self) -> None:
        self._rows: list[tuple[str, bool, str, int, str]] = []

    def line(self, number: int, text: str) -> None:
        match = self.ROW.match(text)
        if match and len(self._rows) < _ROWS:
            local = match["gid"].lower().startswith("fe80")
            self._rows.append((match["dev"], local, match["version"].lower(), number, text.strip()))

    def result(self) -> Iterable[Found]:
        for device in {row[0] for row in self._rows}:
            rows = [row for row in self._rows if row[0] == device]
            first = rows[0]
            if all(row[1] for row in rows) and len(rows) > 1:
                yield Found(self.LOCAL_ONLY, first[3], first[4])
            elif all(row[2] == "v1" for row in rows) and len(rows) > 1:
                yield Found(self.V1_ONLY, first[3], first[4])
            elif any(row[2] == "v2" and not row[1] for row in rows):
                yield Found(self.GOOD, first[3], first[4])


class Priorities:
    """``ethtool -S``: all bytes in priority 0 while others exist and stay empty."""

    words: tuple[str, ...] = ("_prio",)
    SIGN = sign("all_on_priority_0", "all traffic on priority 0", FAULT)
    _COUNT = re.compile(
        r"^\s*(?P<way>[rt]x)_prio(?P<prio>\d)_(?:bytes|packets)\s*[:=]\s*(?P<count>[\d.]+)\s*(?P<unit>[KMGBT]?)"
    )
    _MANY = 10_000_000

    def __init__(self) -> None:
        self._most: dict[int, float] = {}
        self._first: tuple[int, str] = (0, "")

    def line(self, number: int, text: str) -> None:
        match = self._COUNT.match(text)
        if match:
            scale = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}[match["unit"]]
            prio = int(match["prio"])
            self._most[prio] = max(self._most.get(prio, 0.0), float(match["count"]) * scale)
            if prio == 0:
                self._first = (number, text.strip())

    def result(self) -> Iterable[Found]:
        others = [count for prio, count in self._most.items() if prio]
        if others and self._most.get(0, 0.0) > self._MANY and max(others) * 1000 < self._most[0]:
            yield Found(self.SIGN, *self._first)


class Links:
    """``nvidia-smi nvlink --status``: some links carry something, others nothing."""

    words: tuple[str, ...] = ("link 0",)
    SIGN = sign("links_some_inactive", "inactive NVLinks beside active ones")
    _LINK = re.compile(r"^\s*Link \d+: (?P<state><inactive>|[\d.]+ GB/s)")

    def __init__(self) -> None:
        self._active = False
        self._first: tuple[int, str] | None = None

    def line(self, number: int, text: str) -> None:
        match = self._LINK.match(text)
        if match and match["state"] != "<inactive>":
            self._active = True
        elif match and self._first is None:
            self._first = (number, text.strip())

    def result(self) -> Iterable[Found]:
        if self._active and self._first:
            yield Found(self.SIGN, *self._first)


class Chosen:
    """The GID index that was set, and what the table of the device (``show_gids``, ``ibv_devinfo -v``) has there."""

    words: tuple[str, ...] = ("gid_index", "gid index", "gid[", *Gids.words)
    LOCAL = sign("gid_chosen_link_local", "the chosen index is a link-local GID")
    ABSENT = sign("gid_chosen_absent", "the chosen index is not in the table")
    _SET = re.compile(r"GID[_ ]INDEX\s*(?:=|set by environment to|:)?\s*(?P<index>\d+)\b", re.IGNORECASE)
    _DEVINFO = re.compile(r"^\s*GID\[\s*(?P<index>\d+)\]:?\s+(?P<gid>[0-9a-f:.]+)", re.IGNORECASE)

    def __init__(self) -> None:
        self._set: tuple[int, int, str] | None = None
        self._rows: dict[int, list[str]] = {}

    def line(self, number: int, text: str) -> None:
        row = Gids.ROW.match(text) or self._DEVINFO.match(text)
        if row and len(self._rows) < _ROWS:
            self._rows.setdefault(int(row["index"]), []).append(row["gid"].lower())
            return
        found = self._SET.search(text)
        if found and self._set is None:
            self._set = (int(found["index"]), number, text.strip())

    def result(self) -> Iterable[Found]:
        if self._set is None or not self._rows:
            return
        index, number, text = self._set
        gids = self._rows.get(index, [])
        if any(gid.startswith("fe80") for gid in gids):
            yield Found(self.LOCAL, number, text)
        elif not gids and len(self._rows) > 1:
            yield Found(self.ABSENT, number, text)


class Mtus:
    """Path MTUs that a log names, other than in the tables of a host's interfaces."""

    words: tuple[str, ...] = ("mtu",)
    SEVERAL = sign("mtus_several", "several path MTUs", FACT)
    _MTU = re.compile(
        r"mtu\b\D{0,12}\b(?P<after>\d{3,4})\b|\b(?P<before>\d{3,4}|[49]k)(?:-byte)? ?mtu\b", re.IGNORECASE
    )
    _TABLE = re.compile(r"\bmax_mtu|<[A-Z,_]+> mtu|^\s*MTU:|\bqdisc\b|docker|veth|virbr|\bbr-|\blo\b", re.IGNORECASE)
    _SIZES = (256, 512, 1024, 2048, 4096)
    _HEADERS = 80

    def __init__(self) -> None:
        self._first: dict[int, tuple[int, str]] = {}

    def line(self, number: int, text: str) -> None:
        if self._TABLE.search(text):
            return
        for match in self._MTU.finditer(text):
            figure = match["after"] or match["before"]
            mtu = int(figure[0]) * 1024 if figure[-1] in "kK" else int(figure)
            size = max((size for size in self._SIZES if size == mtu or size + self._HEADERS <= mtu), default=0)
            if size:
                self._first.setdefault(size, (number, text.strip()))

    def result(self) -> Iterable[Found]:
        if len(self._first) > 1:
            number, text = self._first[min(self._first)]
            yield Found(self.SEVERAL, number, text)


READERS: tuple[Callable[[], Reader], ...] = (Routes, Gids, Priorities, Links, Chosen, Mtus)
