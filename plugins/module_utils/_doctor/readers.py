"""Signs that take more than one line: a routing table, a table of GIDs, tables of priorities. One per piece."""

from __future__ import annotations

import functools
import ipaddress
from typing import Callable, Iterable, Iterator, NamedTuple, Sequence

from .._judge.packs import loader
from .._judge.packs.loader import form
from .._judge.packs.model import Sign
from .._judge.packs.predicates import path_mtu
from .._judge.words import way_of
from .seen import Hit

_ROWS = 4096  # of one form
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}
_MANY = 10_000_000
_FRAMES = 60  # lines between the head of an exception and its name, of several ranks that print at once
_COUNTED = {"port_errors": 100, "port_discards": 1000}  # since they were cleared; a few are in every switch


@functools.lru_cache(maxsize=1)
def reader_signs() -> dict[str, Sign]:
    """By name, the signs of ``readers.yml``: no pattern finds them."""
    return {name: Sign(name, name, kind) for name, kind in loader.load().lists["readers"]["signs"].items()}


class Row(NamedTuple):
    line: int
    text: str
    groups: dict[str, str]

    def found(self, sign: str) -> Hit:
        return Hit(sign, self.line, self.text)


class TableReader:
    """Takes the lines of one piece that have one of these ``words``; keeps those that match one of the forms at their
    start; ``judge`` says what they show together."""

    def __init__(self, words: tuple[str, ...], judge: Callable[[Sequence[Row]], Iterator[Hit]], *forms: str) -> None:
        self.ways = tuple(map(way_of, words))
        self._judge = judge
        self._rows: dict[str, list[Row]] = {name: [] for name in forms}

    def line(self, number: int, text: str) -> None:
        text = text.strip()
        for name, rows in self._rows.items():
            match = form(name).match(text)
            if match:
                if len(rows) < _ROWS:
                    rows.append(Row(number, text, match.groupdict()))
                return

    def result(self) -> Iterable[Hit]:
        return self._judge([row for rows in self._rows.values() for row in rows])


def _routes(rows: Sequence[Row]) -> Iterator[Hit]:
    """``ip route``: one network on two interfaces. Which one the kernel takes differs from host to host."""
    routes = [(network, row) for row in rows for network in _networks(row.groups["net"])]
    for number, (network, row) in enumerate(routes):
        for other, other_row in routes[:number]:
            if row.groups["dev"] != other_row.groups["dev"] and network.overlaps(other):
                yield Hit("routes_twice", row.line, f"{other_row.text} | {row.text}")
                return


def _networks(text: str) -> list[ipaddress.IPv4Network]:
    """None if it is no network."""
    try:
        return [ipaddress.IPv4Network(text)]
    except ValueError:
        return []


def _gids(rows: Sequence[Row]) -> Iterator[Hit]:
    """``show_gids``: what kinds of GIDs each device has."""
    for device in dict.fromkeys(row.groups["dev"] for row in rows):
        own = [row for row in rows if row.groups["dev"] == device]
        kind = kind_of_gids([(row.groups["version"].lower(), _is_link_local(row)) for row in own])
        if kind:
            yield own[0].found(f"gids_{kind}")


def kind_of_gids(gids: Sequence[tuple[str, bool]]) -> str:
    """What is wrong with GIDs of a device, or that one is routable. Of each: version, and whether it is link-local."""
    if len(gids) > 1 and all(local for _version, local in gids):
        return "link_local_only"
    if len(gids) > 1 and all(version == "v1" for version, _local in gids):
        return "v1_only"
    return "routable" if ("v2", False) in gids else ""


def _is_link_local(row: Row) -> bool:
    return row.groups["gid"].lower().startswith("fe80")


def _chosen(rows: Sequence[Row]) -> Iterator[Hit]:
    """The GID index that was set, and what the table of the device (``show_gids``, ``ibv_devinfo -v``) has there."""
    chosen = next((row for row in rows if "chosen" in row.groups), None)
    table = [row for row in rows if "gid" in row.groups]
    if chosen is None:
        return
    there = [row for row in table if int(row.groups["index"]) == int(chosen.groups["chosen"])]
    if any(map(_is_link_local, there)):
        yield chosen.found("gid_chosen_link_local")
    elif not there and len({int(row.groups["index"]) for row in table}) > 1:
        yield chosen.found("gid_chosen_absent")


def _priorities(rows: Sequence[Row]) -> Iterator[Hit]:
    """``ethtool -S``."""
    counts = [(row.groups["priority"], float(row.groups["count"]) * _UNITS[row.groups["unit"]]) for row in rows]
    if on_priority_0(counts):
        yield [row for row in rows if row.groups["priority"] == "0"][-1].found("all_on_priority_0")


def on_priority_0(counts: Sequence[tuple[str, float]]) -> bool:
    """All bytes (or packets) are in priority 0 while others exist and stay empty."""
    first, others = ([count for priority, count in counts if (priority == "0") is own] for own in (True, False))
    return bool(others) and max(first, default=0.0) > max(_MANY, 1000 * max(others))


def _links(rows: Sequence[Row]) -> Iterator[Hit]:
    """``nvidia-smi nvlink --status``: some links carry something, others nothing."""
    inactive = [row for row in rows if row.groups["state"] == "<inactive>"]
    if 0 < len(inactive) < len(rows):
        yield inactive[0].found("links_some_inactive")


def _mtus(rows: Sequence[Row]) -> Iterator[Hit]:
    """Path MTUs that a log names, other than in the tables of a host's interfaces."""
    first: dict[int, Row] = {}
    for row in rows:
        for match in form("mtu").finditer(row.text):
            text = match["after"] or match["before"]
            size = path_mtu(int(text[0]) * 1024 if text[-1] in "kK" else int(text))
            if size:
                first.setdefault(size, row)
    if len(first) > 1:
        yield first[min(first)].found("mtus_several")


def _behind(rows: Sequence[Row]) -> Iterator[Hit]:
    """PyTorch's watchdogs: ranks that have not begun the collective in which as many others wait, or more."""
    groups: dict[str, dict[int, Row]] = {}
    for row in rows:
        groups.setdefault(row.groups["group"], {})[int(row.groups["rank"] or row.groups["own"])] = row
    for ranks in groups.values():
        works = {rank: (int(row.groups["enqueued"]), int(row.groups["completed"])) for rank, row in ranks.items()}
        awaited = 1 + max((done for begun, done in works.values() if begun > done), default=-2)
        late = [rank for rank, (begun, _done) in works.items() if begun < awaited]
        for rank in late if 2 * len(late) <= len(works) else ():
            yield Hit("rank_behind", ranks[rank].line, ranks[rank].text, rank=rank)


def _ignored(rows: Sequence[Row]) -> Iterator[Hit]:
    """Python: every exception that is named was raised where no code catches it, and ended nothing."""
    heads: list[int] = []
    first = next((row for row in rows if "ignored" in row.groups), None)
    for row in sorted(rows, key=lambda row: row.line):
        if "ignored" in row.groups:
            heads.append(row.line)
        elif not heads or row.line > heads.pop(0) + _FRAMES:
            return
    yield from [first.found("exceptions_ignored")] if first else []


def _port_counters(rows: Sequence[Row]) -> Iterator[Hit]:
    """``show interface counters errors`` of switches: a head of names, and rows of figures below it."""
    names: list[str] = []
    for row in sorted(rows, key=lambda row: row.line):
        names = row.groups["names"].split() if "names" in row.groups else names
        figures = row.groups.get("figures", "").split()
        for name, figure in zip(names, figures) if len(names) == len(figures) else ():
            sign = next((sign for sign in _COUNTED if form(sign).match(name)), "")
            if sign and figure.isdigit() and int(figure) >= _COUNTED[sign]:
                yield Hit(sign, row.line, f"{row.groups['port']}: {name} {figure}", device=row.groups["port"])


# Of GIDs the version as well: a global IPv6 GID has no part that others lack.
_GID_WORDS = ("fe80:", "ffff:", "\tv2", " v2 ")
READERS: tuple[Callable[[], TableReader], ...] = (
    functools.partial(TableReader, (" dev ",), _routes, "route"),
    functools.partial(TableReader, _GID_WORDS, _gids, "gid"),
    functools.partial(TableReader, ("_prio",), _priorities, "priority"),
    functools.partial(TableReader, ("link 0",), _links, "nvlink"),
    functools.partial(
        TableReader, ("gid_index", "gid index", "gid[", *_GID_WORDS), _chosen, "gid", "gid_of_devinfo", "gid_index"
    ),
    functools.partial(TableReader, ("mtu",), _mtus, "mtu_line"),
    functools.partial(TableReader, ("last completed",), _behind, "work_status"),
    functools.partial(TableReader, ("exception", "error", "no module"), _ignored, "ignored", "raised"),
    functools.partial(TableReader, ("port  ", "eth/"), _port_counters, "port_head", "port_row"),
)
