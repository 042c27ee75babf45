"""The facts and the findings of a switch that is only read. Pure."""

from __future__ import annotations

import dataclasses
import re
import types
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, TypeVar

from .._judge.finding import OK, PROBLEM, Finding, compared
from .._layer import ParseError
from . import judge
from .guards import Neighbor, refuse_missing
from .judge import Need

T = TypeVar("T")
UNTRUSTED = "not configured"  # said of a port that was read and trusts neither DSCP nor anything else
_WARNINGS = ("pfc_watchdog",)  # of a switch that works without it
NOTHING: Any = types.MappingProxyType({})
_LAST_NUMBER = re.compile(r"(?P<before>.*?)(?P<first>\d+)(?:-(?P<last>\d+))?")


@dataclasses.dataclass(frozen=True)
class Marking:
    """ECN of one queue. Thresholds in thousands of bytes; None: printed in another unit, which ``text`` has."""

    text: str
    min_kb: float | None = None
    max_kb: float | None = None


@dataclasses.dataclass(frozen=True)
class PortSeen:
    """One port; None: not read, or the switch does not say.

    ``lossless``: priorities with PFC as configured; None: its QoS was not read and is not judged;
    ``pfc_oper``: whether PFC works there; ``watchdog``: that of PFC; ``dscp``: DSCP -> priority in effect, the system's
    defaults included; ``marking``: priority -> ECN; ``counters``: name -> packets, as far as they are there;
    ``allowed_vlans``: those that a trunk carries tagged, as text (``1-4094``); ``addresses``: of a routed port, with
    prefix length.
    """

    mtu: int | None = None
    admin: bool | None = None
    up: bool | None = None
    mode: str | None = None
    access_vlan: int | None = None
    allowed_vlans: str | None = None
    native_vlan: int | None = None
    addresses: tuple[str, ...] | None = None
    trust: str | None = None
    lossless: frozenset[int] | None = None
    pfc_oper: bool | None = None
    watchdog: bool | None = None
    dscp: Mapping[int, int] = dataclasses.field(default_factory=dict)
    marking: Mapping[int, Marking] = dataclasses.field(default_factory=dict)
    neighbors: tuple[Neighbor, ...] = ()
    counters: Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Observed:
    """One switch. ``vlans``: number -> its access ports; ``saved`` None: not known; ``unreadable``: what, and why."""

    version: str
    ports: Mapping[str, PortSeen]
    saved: bool | None = None
    unreadable: tuple[tuple[str, str], ...] = ()

    @property
    def vlans(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for name, port in self.ports.items():
            if port.access_vlan is not None:
                found.setdefault(port.access_vlan, []).append(name)
        return found


class Sections:
    """Reads a table at a time: what cannot be read does not hide the others, and is named."""

    def __init__(self) -> None:
        self.unreadable: list[tuple[str, str]] = []

    def __call__(self, name: str, read: Callable[[], T], otherwise: T) -> T:
        try:
            return read()
        except ParseError as error:
            self.unreadable.append((name, str(error)))
            return otherwise

    def as_result(self) -> list[dict[str, str]]:
        return [{"what": what, "reason": why} for what, why in self.unreadable]


def chosen(host: str, specs: Sequence[str], existing: Iterable[str]) -> list[str]:
    """The ports that are looked at, in the switch's order; all of them if none is named.

    A range such as Ethernet1/1-4 means those of its ports that there are; a port that is not there is refused.
    """
    names = list(existing)
    if not specs:
        return names
    wanted: set[str] = set()
    missing: list[str] = []
    for spec in (part.strip() for each in specs for part in each.split(",")):
        match = _LAST_NUMBER.fullmatch(spec)
        found = [spec] if spec in names else []
        if not found and match and match["last"]:
            span = range(int(match["first"]), int(match["last"]) + 1)
            found = [name for name in names if any(name == f"{match['before']}{number}" for number in span)]
        wanted |= set(found)
        missing += [] if found else [spec]
    refuse_missing(host, missing, {}, ", ".join(missing), ", ".join(names))
    return [name for name in names if name in wanted]


def facts(seen: Observed, names: Sequence[str], need: Need) -> dict[str, Any]:
    """The result of a module that reads, in the shape that roles/switch/README.md asks of a driver."""
    ports = {name: seen.ports[name] for name in names}
    shown = {name: _port(port, need) for name, port in ports.items()}
    findings = list(_findings(ports, shown, need))
    problems = [each.sentence() for each in findings if each.code not in _WARNINGS]
    problems += [f"could not be read: {what}" for what, _why in seen.unreadable]
    return {
        "version": seen.version,
        "roce": _roce(ports, need.priority),
        "vlans": {str(number): {"members": members} for number, members in sorted(seen.vlans.items())},
        "ports": shown,
        "saved": seen.saved,
        "unreadable": [{"what": what, "reason": why} for what, why in seen.unreadable],
        "findings": [judge.as_result(each) for each in findings],
        "problems": problems,
        "warnings": [each.sentence() for each in findings if each.code in _WARNINGS],
        "healthy": not problems,
    }


def _roce(ports: Mapping[str, PortSeen], priority: int) -> dict[str, Any]:
    """Where ports differ, ``trust`` has all their words and ``pfc_priorities`` only what is lossless at each."""
    judged = [port for port in ports.values() if port.up] or list(ports.values())
    known = [port.lossless for port in judged if port.lossless is not None]
    whole = len(known) == len(judged) > 0
    lossless = sorted(frozenset.intersection(*known)) if whole else None
    trusts = sorted({_trust(port) or "" for port in judged} - {""})
    marks = [port.marking.get(priority) for port in judged]
    marking = marks[0] if marks and all(mark == marks[0] for mark in marks) else None
    maps = [port.dscp for port in judged]
    common = {dscp: to for dscp, to in maps[0].items() if all(each.get(dscp) == to for each in maps)} if maps else {}
    return {
        "mode": _mode(judged, priority),
        "trust": ", ".join(trusts) or None,
        "ecn": None if not whole else "ECN" if all(marks) else "disabled",
        "ecn_min_kb": marking.min_kb if marking else None,
        "ecn_max_kb": marking.max_kb if marking else None,
        "ecn_thresholds": marking.text if marking else None,
        "pfc": None if lossless is None else "enabled" if lossless else "disabled",
        "pfc_priorities": lossless,
        "dscp_priorities": {str(dscp): to for dscp, to in sorted(common.items())},
    }


def _mode(ports: Sequence[PortSeen], priority: int) -> str | None:
    """As the words of systems that have a RoCE mode; None: not known."""
    if not ports or any(port.lossless is None for port in ports):
        return None
    if all(priority in (port.lossless or ()) for port in ports):
        return "lossless"
    return "lossy" if all(port.marking.get(priority) for port in ports) else "absent"


def _trust(port: PortSeen) -> str | None:
    return port.trust or (None if port.lossless is None else UNTRUSTED)


def _port(port: PortSeen, need: Need) -> dict[str, Any]:
    mark = port.marking.get(need.priority)
    return port_fact(
        port,
        native_vlan=port.native_vlan,
        trust=_trust(port),
        pfc_priorities=None if port.lossless is None else sorted(port.lossless),
        pfc_oper=_word(port.pfc_oper, "enabled", "disabled"),
        pfc_watchdog=_word(port.watchdog, "enabled", "disabled"),
        roce_priority=port.dscp.get(need.dscp),
        cnp_priority=port.dscp.get(judge.CNP_DSCP),
        congestion_control=mark.text if mark else None if port.lossless is None else "",
        neighbors=[neighbor_fact(each) for each in port.neighbors],
        counters=dict(port.counters),
    )


def roce_fact(roce: Any, **own: Any) -> dict[str, Any]:
    """A RoCE mode as a result: what systems that have one call alike, and what each has of its ``own``."""
    same = {name: getattr(roce, name) for name in ("trust", "ecn_min_kb", "ecn_max_kb", "lldp")}
    return {"mode": roce.mode or "absent", **same, "exceptions": list(roce.exceptions), **own}


def port_fact(port: Any, **own: Any) -> dict[str, Any]:
    """A port in the same way."""
    same = {name: getattr(port, name) for name in ("mode", "access_vlan", "allowed_vlans", "mtu")}
    same["addresses"] = None if port.mode != "routed" or port.addresses is None else list(port.addresses)
    return {**same, "admin": _word(port.admin, "up", "down"), "oper": _word(port.up, "up", "down"), **own}


def neighbor_fact(neighbor: Neighbor) -> dict[str, str]:
    return {"system": neighbor.system, "port": neighbor.port, "description": neighbor.description}


def _word(value: bool | None, yes: str, no: str) -> str | None:
    return None if value is None else yes if value else no


def _findings(ports: Mapping[str, PortSeen], shown: Mapping[str, Mapping[str, Any]], need: Need) -> Iterator[Finding]:
    """What is not as it ought to be, the switch as a whole first. What was not read counts only if it was asked for."""
    mode = _mode([port for port in ports.values() if port.up] or list(ports.values()), need.priority)
    if need.mode is not None and mode != need.mode:
        remedy = "configure PFC, ECN and the map of DSCPs, or correct the expected mode"
        yield compared("mode", "", "RoCE mode", mode, need.mode, False, remedy)
    judged = mode if need.mode is None else need.mode
    for name, port in shown.items():
        asked = [judge.mtu(name, port["mtu"], need.mtu)] if need.mtu else []
        yield from (each for each in (*asked, *judge.design(name, port, need)) if each.level != OK)
        if port["oper"] == "up" and judged in ("lossless", "lossy") and port["pfc_priorities"] is not None:
            yield from (each for each in _of_queues(name, port, need, judged == "lossless") if each.level == PROBLEM)
    yield from _shared_networks(shown)


def _of_queues(name: str, port: Mapping[str, Any], need: Need, lossless: bool) -> Iterator[Finding]:
    """What keeps RoCE from working at a port that has a link and whose QoS was read."""
    trusted = judge.trust(name, port["trust"])
    yield trusted
    if trusted.level == OK:  # else the map decides nothing
        yield judge.dscp(name, port["roce_priority"], need)
        yield judge.cnp(name, port["cnp_priority"], port["pfc_priorities"], need)
    yield judge.ecn(name, port["congestion_control"], need)
    if lossless:
        yield judge.pfc(name, port["pfc_priorities"], need)
        yield judge.pfc_oper(name, port["pfc_oper"])
        yield judge.watchdog(name, port["pfc_watchdog"])


def _shared_networks(shown: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """Each routed port leads to a network of its own."""
    owners: dict[Any, str] = {}
    for name, address, network in judge.networks(shown):
        twin = next((other for known, other in owners.items() if known.overlaps(network)), None)
        if twin is not None:
            expected = f"a network apart from that of {twin}"
            yield compared(
                "network", name, "address", address, expected, False, "give each routed port its own network"
            )
        owners.setdefault(network, name)
