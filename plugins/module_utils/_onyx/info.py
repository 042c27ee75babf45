"""Everything that an Onyx switch says about RoCE, as one dictionary; reads only.

A table that cannot be read does not hide the others: it is named under ``unreadable``, with the switch's own text, and
counts as a problem.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

from .._switch.observed import Sections, neighbor_fact, port_fact
from .._switch.request import PRIORITY, Wanted
from . import plan as planning
from . import state as parsing
from .layer import counted, roce_fact
from .reading import Reader
from .state import Pfc, Port, Roce, SwitchState
from .transport import Cli

_NONE: tuple[str, ...] = ()


class Survey:
    """One pass over one switch. ``ports``: the names to look at, empty: all; ``mode``: the mode that ought to be."""

    def __init__(
        self, host: str, cli: Cli, ports: Sequence[str] = (), mode: str | None = None, priority: int = PRIORITY
    ) -> None:
        self._host = host
        self._cli = cli
        self._read = Reader(host, cli)
        self._ports = tuple(ports)
        self._mode = mode
        self._priority = priority
        self._section = Sections()

    def __call__(self) -> dict[str, Any]:
        read = self._read
        version = read.version()  # without it, and without the ports, nothing else means anything
        lines = self._section("running configuration", read.running, _NONE)
        ports = read.ports(lines)
        names = self._choose(ports)
        unread: tuple[bool | None, tuple[str, ...]] = (None, ())
        unsaved, files = self._section("configuration files", read.files, unread)
        roce = self._section("roce", lambda: read.roce(version), None)
        empty: dict[str, Any] = {}
        ecn, marked = self._section("congestion control", lambda: read.congestion(names), (empty, empty))
        state = SwitchState(
            self._host,
            version,
            roce or Roce(),
            self._section("vlans", read.vlans, {}),
            ports,
            bool(unsaved),
            pfc=self._section("priority flow control", read.pfc, Pfc({})),
            ecn=ecn,
            marked=marked,
            trust=self._section("trust", lambda: read.trust(names), {}),
            neighbors=self._section("neighbors", read.neighbors, empty),
            svis=parsing.parse_svis(lines),
            files=files,
        )
        changes = _NONE
        if unsaved:
            changes = self._section("saved configuration", lambda: parsing.difference(lines, read.saved()), _NONE)
        counters = read.counters(names, self._priority)
        problems = self._problems(state, roce, names)
        return {
            "version": version.text,
            "model": version.model,
            "serial": version.serial,
            "role": self._cli.role,
            "roce": None if roce is None else {**roce_fact(roce), **_template(roce)},
            "vlans": {
                str(number): {"name": vlan.name, "members": list(vlan.members)} for number, vlan in state.vlans.items()
            },
            "svis": sorted(state.svis),
            "ports": {name: _port(state, name, counters.get(name, {}), self._priority) for name in names},
            "saved": None if unsaved is None else not unsaved,
            "unsaved_changes": list(changes),
            "files": list(files),
            "unreadable": self._section.as_result(),
            "problems": problems,
            "healthy": not problems,
        }

    def _choose(self, ports: dict[str, Port]) -> list[str]:
        planning.refuse_missing(self._host, ports, self._ports)
        return sorted(self._ports or ports, key=parsing.port_key)

    def _problems(self, state: SwitchState, roce: Roce | None, names: Sequence[str]) -> list[str]:
        unread = [what for what, _why in self._section.unreadable]
        problems = [f"could not be read: {what}" for what in unread]
        if roce is None:
            return problems
        expected = {None: roce.mode, "absent": None}.get(self._mode, self._mode)
        if roce.mode != expected:
            problems.append(f"RoCE mode is {roce.mode or 'absent'}, not {expected or 'absent'}")
        # What RoCE does to a port that is down says nothing: it has no operational state.
        looked_at = tuple(name for name in names if state.ports[name].up)
        wanted = Wanted(mode=roce.mode, ports=looked_at, priority=self._priority)
        if {"congestion control", "priority flow control", "trust"} & set(unread):
            wanted = dataclasses.replace(wanted, ports=())
        return problems + planning.unhealthy(state, wanted)


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
    admin, oper = state.pfc.ports.get(name, ("", "")) if state.pfc else ("", "")
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
