"""Everything that an Onyx switch says about RoCE, as one dictionary; reads only.

A table that cannot be read does not hide the others: it is named under ``unreadable``, with the switch's own text, and
counts as a problem.
"""

from __future__ import annotations

from typing import Any, Sequence

from .._switch.observed import Sections, neighbor_fact, port_fact
from .._switch.request import PRIORITY, Wanted
from . import plan as planning
from . import state as parsing
from .layer import counted, roce_fact
from .reading import Reader
from .state import Roce, SwitchState
from .transport import OnyxSession

_NONE: tuple[str, ...] = ()


def survey(
    host: str, cli: OnyxSession, ports: Sequence[str] = (), mode: str | None = None, priority: int = PRIORITY
) -> dict[str, Any]:
    """One pass over one switch. ``ports``: the names to look at, empty: all; ``mode``: the mode that ought to be."""
    read, section = Reader(host, cli), Sections()
    version = read.version()  # without it, and without the ports, nothing else means anything
    lines = section("running configuration", read.running, _NONE)
    existing = read.ports(lines)
    planning.refuse_missing(host, existing, ports)
    names = sorted(ports or existing, key=parsing.port_key)
    unread: tuple[bool | None, tuple[str, ...]] = (None, ())
    unsaved, files = section("configuration files", read.files, unread)
    roce = section("roce", lambda: read.roce(version), None)
    empty: dict[str, Any] = {}
    ecn, marked = section("congestion control", lambda: read.congestion(names), (empty, empty))
    state = SwitchState(
        host,
        version,
        roce or Roce(),
        section("vlans", read.vlans, {}),
        existing,
        bool(unsaved),
        pfc=section("priority flow control", read.pfc, empty),
        ecn=ecn,
        marked=marked,
        trust=section("trust", lambda: read.trust(names), {}),
        neighbors=section("neighbors", read.neighbors, empty),
        svis=parsing.parse_svis(lines),
        files=files,
    )
    changes = _NONE
    if unsaved:
        changes = section("saved configuration", lambda: parsing.difference(lines, read.saved()), _NONE)
    counters = read.counters(names, priority)
    unreadable = [what for what, _why in section.unreadable]
    problems = [f"could not be read: {what}" for what in unreadable]
    if roce is not None:
        problems += _problems(state, mode, names, priority, unreadable)
    return {
        "version": version.text,
        "model": version.model,
        "serial": version.serial,
        "role": cli.role,
        "roce": None if roce is None else {**roce_fact(roce), **_template(roce)},
        "vlans": {
            str(number): {"name": vlan.name, "members": list(vlan.members)} for number, vlan in state.vlans.items()
        },
        "svis": sorted(state.svis),
        "ports": {name: _port(state, name, counters.get(name, {}), priority) for name in names},
        "saved": None if unsaved is None else not unsaved,
        "unsaved_changes": list(changes),
        "files": list(files),
        "unreadable": section.as_result(),
        "problems": problems,
        "healthy": not problems,
    }


def _problems(
    state: SwitchState, mode: str | None, names: Sequence[str], priority: int, unreadable: Sequence[str]
) -> list[str]:
    """What contradicts RoCE, as far as it could be read."""
    now = state.roce.mode
    expected = {None: now, "absent": None}.get(mode, mode)
    problems = [] if now == expected else [f"RoCE mode is {now or 'absent'}, not {expected or 'absent'}"]
    # What RoCE does to a port that is down says nothing: it has no operational state.
    judged = tuple(name for name in names if state.ports[name].up)
    if {"congestion control", "priority flow control", "trust"} & set(unreadable):
        judged = ()
    return problems + planning.unhealthy(state, Wanted(mode=now, ports=judged, priority=priority))


def _template(roce: Roce) -> dict[str, Any]:
    return {
        "traffic_classes": [
            {"priority": priority, "traffic_class": number, "application": application, "ets": ets}
            for priority, number, application, ets in roce.classes
        ],
        "pools": [{"name": name, "type": kind, "max_usage": usage} for name, kind, usage in roce.pools],
    }


def _port(state: SwitchState, name: str, counters: dict[str, int], priority: int) -> dict[str, Any]:
    port = state.ports[name]
    admin, oper = state.pfc.get(name, ("", ""))
    return port_fact(
        port,
        lag=port.lag,
        trust=state.trust.get(name),
        pfc_admin=admin.lower() or None,
        pfc_oper=oper.lower() or None,
        congestion_control=state.ecn.get(name, {}).get(planning.roce_class(state.roce, priority)),
        neighbors=[neighbor_fact(neighbor) for neighbor in (state.neighbors or {}).get(name, ())],
        counters=counted(state, name, counters),
    )
