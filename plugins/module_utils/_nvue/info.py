"""Everything that a Cumulus switch says about RoCE, as one dictionary like that of `_onyx.info`; reads only."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable, Sequence

from .._judge.finding import PROBLEM
from .._switch import judge, observed
from .._switch.request import PRIORITY, Wanted, is_lossless, satisfied
from . import plan as planning
from . import tree as trees
from .reading import NvueReader
from .state import Port, Roce, State, is_on

_STAGED_SHOWN = 20


def survey(
    read: NvueReader, names: Sequence[str] = (), mode: str | None = None, priority: int = PRIORITY
) -> dict[str, Any]:
    """One pass. ``names``: the ports to look at, empty: all; ``mode``: the mode that ought to be, None: any."""
    state = read.state()
    planning.refuse_missing(state, names)
    chosen = sorted(names or state.ports, key=trees.port_key)
    with_counters = {name: read.with_counters(state.ports[name]) for name in chosen}
    state = dataclasses.replace(state, ports={**state.ports, **with_counters}, unsaved=read.unsaved_lines())
    staged = read.staged(read.revisions(), _STAGED_SHOWN)
    found = problems(state, chosen, mode, priority)
    watchdogs = [
        judge.watchdog(name, state.ports[name].pfc_watchdog)
        for name in chosen
        if is_lossless(state.roce.mode) and state.ports[name].up
    ]
    return {
        "version": state.release,
        "roce": roce_fact(state.roce),
        "vlans": {str(number): {"members": list(state.members.get(number, ()))} for number in sorted(state.vlans)},
        "svis": sorted(state.svis),
        "ports": {name: _port(state.ports[name]) for name in chosen},
        "other_qos": list(state.custom_qos),
        "saved": not state.unsaved,
        "unsaved_changes": list(state.unsaved),
        "staged_changes": {f"revision {name}": lines for name, lines in staged.items()},
        "unreadable": [],  # an answer that is not understood is an error
        "problems": found,
        "warnings": [each.sentence() for each in watchdogs if each.level == PROBLEM],
        "healthy": not found,
    }


def problems(state: State, names: Iterable[str], mode: str | None, priority: int = PRIORITY) -> list[str]:
    """What contradicts RoCE, one sentence each; without ``mode`` only contradictions within what is configured."""
    roce = state.roce
    expected = {None: roce.mode, "absent": None}.get(mode, mode)
    found = (
        [] if satisfied(roce.mode, expected) else [f"RoCE mode is {roce.mode or 'absent'}, not {expected or 'absent'}"]
    )
    return found + planning.unhealthy(state, Wanted(mode=roce.mode, ports=tuple(names), priority=priority))


def roce_fact(roce: Roce) -> dict[str, Any]:
    both = is_on(roce.pfc_rx) and is_on(roce.pfc_tx)
    pfc = {"pfc": "enabled" if both else "disabled", "pfc_priorities": sorted(roce.pfc_priorities)}
    dscps = {str(dscp): priority for dscp, priority in roce.dscp.items()} if roce.dscp else None
    return observed.roce_fact(roce, ecn=roce.congestion, dscp_priorities=dscps, **pfc)


def port_fact(port: Port) -> dict[str, Any]:
    systems = [each.system for each in port.neighbors]
    pfc = {"pfc_oper": port.pfc, "pfc_watchdog": port.pfc_watchdog}
    return observed.port_fact(port, **pfc, neighbors=systems, counters=dict(port.counters))


def _port(port: Port) -> dict[str, Any]:
    return {
        **port_fact(port),
        "carries": port.carries,
        "bond": port.bond,
        "neighbors": [{"system": each.system} for each in port.neighbors],
    }
