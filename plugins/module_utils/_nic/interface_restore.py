"""The way back for the MTU of interfaces: what an earlier run stored and set gets the values from before that run.

``before`` and ``after`` are those of that run's ``--diff``. A value goes back only while it is still the one of
``after``; any other value belongs to another user and stays. Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any, Mapping

from .._layer import Operation, RefusedError
from . import interface_plan as planning
from .interface_choice import Wanted
from .interface_layer import InterfaceLayer
from .interface_reading import InterfaceReader
from .interface_state import NETWORK_MANAGER, Interfaces

LIVE, UNIT, FILE, PROFILE = "mtu", "unit mtu", "file", "profile"
_KEY = re.compile(r"(?P<name>\S+) (?:(?P<kind>mtu|unit mtu)|(?P<of>file|profile) (?P<what>.+))")
_MTU_MIN, _MTU_MAX = 68, 65535


@dataclasses.dataclass(frozen=True)
class Setting:
    """``sides``: after and before as they were given, for the diff; ``before``, ``after``: the same as numbers."""

    key: str
    name: str
    kind: str
    what: str
    before: int | None
    after: int | None
    sides: tuple[Any, Any]


def request(host: str, given: Mapping[str, Any]) -> tuple[Setting, ...]:
    """The option ``restore``, checked value by value."""
    before, after = dict(given.get("before") or {}), dict(given.get("after") or {})
    found = []
    for key in [*before, *(key for key in after if key not in before)]:
        match = _KEY.fullmatch(key)
        if not match or key not in before or key not in after:
            raise RefusedError(
                "this is no change that this module makes",
                host=host,
                thing="restore",
                value=key,
                remedy="take the keys and both values of each from the journal as they are",
            )
        kind, what = match["kind"] or match["of"], match["what"] or ""
        old, new = _mtu(host, key, before[key]), _mtu(host, key, after[key])
        found.append(Setting(key, match["name"], kind, what, old, new, (after[key], before[key])))
    return tuple(found)


def _mtu(host: str, key: str, value: Any) -> int | None:
    if value is None:
        return None
    if str(value).isdigit() and _MTU_MIN <= int(value) <= _MTU_MAX:
        return int(value)
    raise RefusedError(
        "no MTU", host=host, thing=key, value=value, remedy="take the values from the journal as they are"
    )


def present(state: Interfaces, one: Setting) -> int | None:
    """What is there now, in the notation of the diff."""
    link, keeper = state.links[one.name], state.keepers[one.name]
    value: Any = {LIVE: link.mtu, UNIT: keeper.unit_mtu}.get(one.kind)
    if one.kind == FILE and keeper.own and planning.dropin_path(keeper) == one.what:
        value = keeper.mtu
    if one.kind == PROFILE and keeper.kind == NETWORK_MANAGER and keeper.name == one.what:
        value = keeper.mtu
    return int(value) if str(value or "").isdigit() else None


def plan(state: Interfaces, wanted: tuple[Setting, ...]) -> tuple[list[Operation], list[dict[str, Any]]]:
    """What is stored first, what is set live last, as `interface_plan.plan` does it; and what stays as it is."""
    found: list[Operation] = []
    left: list[dict[str, Any]] = []
    for one in sorted(wanted, key=lambda each: each.kind == LIVE):
        if one.name not in state.links:
            left.append(_left(one, None, "there is no such interface"))
            continue
        now = present(state, one)
        if now == one.before:
            continue
        if now != one.after or (one.kind == LIVE and one.before is None):
            left.append(_left(one, now, "changed since"))
        else:
            found.append(_operation(state, one))
    return found, left


def _left(one: Setting, now: int | None, why: str) -> dict[str, Any]:
    return {"key": one.key, "value": now, "expected": one.after, "why": why}


def _operation(state: Interfaces, one: Setting) -> Operation:
    """One call of what `InterfaceLayer` does anyway, or the removal of what it wrote."""
    keeper, name, mtu = state.keepers[one.name], one.name, one.before
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        LIVE: (f"ip link set dev {name} mtu {mtu}", {"how": "live"}),
        PROFILE: (f"nmcli connection modify {one.what} 802-3-ethernet.mtu {mtu or 0}", {"how": planning.BY_PROFILE}),
        FILE: (
            f"write MTUBytes={mtu} into {one.what}",
            {"how": planning.BY_DROPIN, "path": one.what, "text": planning.dropin_text(name, mtu or 0)},
        ),
        UNIT: (
            f"write {planning.LIST_DIRECTORY}/{name}",
            {"how": planning.BY_UNIT, "text": planning.lines(name, state.links, mtu or 0)},
        ),
    }
    command, payload = ways[one.kind]
    if mtu is None and one.kind in (FILE, UNIT):
        paths = [one.what] if one.kind == FILE else [planning.wants_link(name), f"{planning.LIST_DIRECTORY}/{name}"]
        command, payload = f"rm {' '.join(paths)}", {"how": "remove", "paths": paths}
    return Operation(
        f"{one.key}: {one.after} -> {one.before}, as before",
        command,
        {one.key: one.sides},
        f"{one.key}: {one.after}",
        disrupts=f"traffic of {name} for a moment (some drivers open their queues anew)" if one.kind == LIVE else "",
        payload={"keeper": keeper, "name": name, "mtu": mtu or 0, **payload},
    )


class RestoreLayer(InterfaceLayer):
    """The interfaces that the settings name, and no other."""

    def __init__(self, reader: InterfaceReader, settings: tuple[Setting, ...]) -> None:
        super().__init__(reader, Wanted(simulated=reader.sysfs.simulated))
        self.settings = settings
        self._left: list[dict[str, Any]] | None = None

    def observe(self) -> Interfaces:
        links, defaults = self.reader.links(), self.reader.default_routes()
        names = tuple(dict.fromkeys(one.name for one in self.settings if one.name in links))
        return Interfaces(links, defaults, names, {name: self.reader.keeper(links[name], links) for name in names})

    def plan(self, state: Interfaces, wanted: Wanted) -> list[Operation]:
        operations, left = plan(state, self.settings)
        if self._left is None:
            self._left = left
        return operations

    def apply(self, operation: Operation) -> None:
        if operation.payload["how"] != "remove":
            super().apply(operation)
            return
        paths = list(operation.payload["paths"])
        for path in paths:
            os.unlink(self.reader.path(path))
        # The unit is for all interfaces: it goes with the last one.
        if planning.LIST_DIRECTORY in map(os.path.dirname, paths) and not os.listdir(
            self.reader.path(planning.LIST_DIRECTORY)
        ):
            paths.append(f"{planning.UNIT_DIRECTORY}/{planning.UNIT}")
            os.unlink(self.reader.path(paths[-1]))
        for folder in {os.path.dirname(path) for path in paths} - {planning.UNIT_DIRECTORY}:
            if not os.listdir(self.reader.path(folder)):
                os.rmdir(self.reader.path(folder))

    def facts(self, state: Interfaces) -> dict[str, Any]:
        return {**super().facts(state), "left_alone": list(self._left or ())}
