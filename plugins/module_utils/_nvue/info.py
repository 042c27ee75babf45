"""Everything that a Cumulus switch says about RoCE, as one dictionary like that of `_onyx.info`; reads only."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable, Mapping, Sequence

from .._judge.finding import PROBLEM
from .._switch import judge
from .._switch.request import PRIORITY, Wanted, is_lossless, satisfied
from . import plan as planning
from . import tree as trees
from .facts import port_fact, roce_fact
from .reading import NvueReader
from .state import Port, State

_STAGED_SHOWN = 20


def survey(
    host: str, read: NvueReader, names: Sequence[str] = (), mode: str | None = None, priority: int = PRIORITY
) -> dict[str, Any]:
    """One pass. ``names``: the ports to look at, empty: all; ``mode``: the mode that ought to be, None: any."""
    state = read.state()
    chosen = choose(state, names)
    with_counters = {name: read.with_counters(state.ports[name]) for name in chosen}
    state = dataclasses.replace(state, ports={**state.ports, **with_counters}, unsaved=read.unsaved_lines())
    revisions = read.revisions()
    staged = read.staged(revisions, _STAGED_SHOWN)
    return _result(state, chosen, mode, priority, {f"revision {name}": lines for name, lines in staged.items()})


def choose(state: State, names: Sequence[str]) -> list[str]:
    """The ports to look at, in the switch's order. Raises `RefusedError` for one that is not there."""
    planning.refuse_missing(state, names)
    return sorted(names or state.ports, key=trees.port_key)


def _result(
    state: State, names: Sequence[str], mode: str | None, priority: int, staged: Mapping[str, list[str]]
) -> dict[str, Any]:
    """The result. ``staged``: whose changes wait for an apply or a commit, and what they are."""
    found = problems(state, names, mode, priority)
    watchdogs = [
        judge.watchdog(name, state.ports[name].pfc_watchdog)
        for name in names
        if is_lossless(state.roce.mode) and state.ports[name].up
    ]
    return {
        "version": state.release,
        "roce": roce_fact(state.roce),
        "vlans": {str(number): {"members": list(state.members.get(number, ()))} for number in sorted(state.vlans)},
        "svis": sorted(state.svis),
        "ports": {name: _port(state.ports[name]) for name in names},
        "other_qos": list(state.custom_qos),
        "saved": not state.unsaved,
        "unsaved_changes": list(state.unsaved),
        "staged_changes": dict(staged),
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


def _port(port: Port) -> dict[str, Any]:
    return {
        **port_fact(port),
        "carries": port.carries,
        "bond": port.bond,
        "neighbors": [{"system": each.system} for each in port.neighbors],
    }
