"""The way back on an Onyx switch: settings that an earlier run changed get the values from before that run.

``before`` and ``after`` are those of that run's ``--diff``. A setting goes back only while it still has its value of
``after``; any other value belongs to another user and stays.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Callable, Mapping, Sequence

from .._layer import Operation
from .._switch import guards
from .._switch.judge import has_vlan
from .._switch.request import MTU_MAX, MTU_MIN, VLAN_MAX, VLAN_MIN, Wanted
from .._switch.restoring import Restore, parse, refused
from . import plan as planning
from .layer import SwitchLayer, _value
from .state import SwitchState
from .transport import OnyxSession

_KEY = re.compile(
    r"roce|saved|ip routing|vlan (?P<vlan>\d+)|interface vlan (?P<svi>\d+)|"
    r"port (?P<port>\S+) (?:mode|carried|access_vlan|mtu|ipv4|carries:\d+)"
)
_NOTE = ", as before"
_VLAN_NAME = re.compile(r"[^\"?\\\x00-\x1f]{0,40}")


def request(host: str, given: Mapping[str, Any], params: Mapping[str, Any]) -> tuple[Restore, Wanted]:
    """The option ``restore``, checked value by value, and what the guards know of it."""
    restore = parse(host, given)
    before, after = restore.before, restore.after
    for sides in (before, after):
        for key, value in sides.items():
            _check(host, key, value)
    ports = planning.NAMING.all(host, {key.split()[1] for key in before if key.startswith("port ")})
    vlans = {int(key.split()[-1]) for key in before if key.startswith(("vlan ", "interface vlan "))}
    vlans |= {after[key] for key in before if key.endswith(" access_vlan")}
    wanted = planning.request(host, {**params, "mode": "absent", "ports": ports})
    return restore, dataclasses.replace(
        wanted,
        mode=before.get("roce"),
        vlan=min(vlans, default=None),
        svi=any(key.startswith("interface vlan ") for key in before),
        mtu=next((value for key, value in before.items() if key.endswith(" mtu")), None),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check(host: str, key: str, value: Any) -> None:
    """A value goes into a command line: only what this module itself can have written."""
    if not _KEY.fullmatch(key):
        raise refused(host, "restore", key, "take the keys from the journal as they are")
    if key == "roce":
        right = value is None or (value in planning.MODES and value != "absent")
    elif key.endswith(" mtu"):
        right = _is_number(value) and MTU_MIN <= value <= MTU_MAX
    elif key.endswith(" access_vlan"):
        right = _is_number(value) and VLAN_MIN <= value <= VLAN_MAX
    elif key.startswith("vlan "):
        name = value.get("name") if isinstance(value, dict) else None
        right = value is None or (isinstance(name, str) and bool(_VLAN_NAME.fullmatch(name)))
    elif key.endswith(" carried"):
        line = re.compile(rf"interface ethernet {re.escape(key.split()[1])} [^\"?\\\x00-\x1f]{{1,20000}}")
        right = value is None or (
            isinstance(value, list) and all(isinstance(each, str) and line.fullmatch(each) for each in value)
        )
    else:
        right = True
    if not right:
        raise refused(host, key, value, "take the values from the journal as they are")


def plan(state: SwitchState, restore: Restore) -> tuple[list[Operation], list[dict[str, Any]]]:
    """The operations, the reverse of the order in which `planning.plan` makes them, and what stays as it is."""
    due: dict[str, tuple[Any, Any]] = {}
    left: list[dict[str, Any]] = []
    for key, before in restore.before.items():
        after, now = restore.after[key], _value(state, key) if key != "saved" else before
        if now == before:
            continue
        if key.endswith(" mode") and f"{key[:-5]} carried" not in restore.before:
            why = "the journal has no VLANs of the earlier port mode"
        elif key.endswith((" mode", " carried")) and _is_in_another_vlan(state, key.split()[1], restore):
            why = "its access VLAN was changed since"
        else:
            why = _why_left(state, key, before, after, now)
        if why:
            left.append({"key": key, "value": now, "expected": after, "why": why})
        else:
            due[key] = (now, before)
    left += _held(state, due)
    mtus = [
        planning.mtu_operation(spec, names, now, before, admin=admin, note=_NOTE)
        for spec, names, now, before, admin in _ports(state, due, "mtu")
    ]
    vlans = [
        planning.access_operation(spec, names, now, before, note=_NOTE)
        for spec, names, now, before, _admin in _ports(state, due, "access_vlan")
    ]
    roce = planning.roce_operations(state, Wanted(mode=due["roce"][1])) if "roce" in due else []
    return [*mtus, *vlans, *_modes(due), *roce, *_svis(due), *_vlans(due)], left


def _is_in_another_vlan(state: SwitchState, name: str, restore: Restore) -> bool:
    """An access port whose VLAN is neither run's is another user's as a whole."""
    port = state.ports[name]
    own = [side.get(f"port {name} access_vlan", planning.DEFAULT_VLAN) for side in (restore.before, restore.after)]
    return port.mode == "access" and port.access_vlan not in own


def _why_left(state: SwitchState, key: str, before: Any, after: Any, now: Any) -> str:
    if key.endswith(" carried") and now and before:
        # A way back that was interrupted between these lines leaves some of them, and the VLANs of a port that is new.
        new = (f" switchport access vlan {planning.DEFAULT_VLAN}", " allowed-vlan none", " allowed-vlan all")
        return "" if all(line in before or line.endswith(new) for line in now) else "changed since"
    unnamed = isinstance(after, dict) and after.get("name") == "" and now is not None
    if now != after and not unnamed:
        return "changed since"
    if key == "ip routing" or key.endswith(" ipv4") or " carries:" in key:
        return "it belongs to a port mode, which goes back by hand"
    if key.endswith(" access_vlan") and before not in state.vlans and before != planning.DEFAULT_VLAN:
        return f"VLAN {before} is gone"
    return ""


def _held(state: SwitchState, due: dict[str, tuple[Any, Any]]) -> list[dict[str, Any]]:
    """VLANs that would be deleted and that something else uses now; they leave ``due``."""
    left = []
    for key in [key for key, (_now, before) in due.items() if before is None and key.startswith("vlan ")]:
        vlan = int(key.split()[1])
        users = [
            f"port {name}"
            for name, port in state.ports.items()
            if (port.access_vlan == vlan and due.get(f"port {name} access_vlan", (None, vlan))[1] == vlan)
            or has_vlan(port.allowed_vlans, vlan)
        ]
        users += [member for member in state.vlans[vlan].members if member not in state.ports]  # port-channels
        if vlan in state.svis and due.get(f"interface vlan {vlan}", (None, "present"))[1] is not None:
            users.append(f"interface vlan {vlan}")
        if users:
            now, _before = due.pop(key)
            left.append({"key": key, "value": now, "expected": now, "why": f"used by {', '.join(users)}"})
    return left


def _ports(
    state: SwitchState, due: Mapping[str, tuple[Any, Any]], setting: str
) -> list[tuple[str, tuple[str, ...], Any, Any, bool]]:
    """(range, its ports, value now, value before, whether they are switched on)."""
    groups: dict[tuple[Any, Any, bool], list[str]] = {}
    for key, (now, before) in due.items():
        if key.startswith("port ") and key.endswith(f" {setting}"):
            name = key.split()[1]
            groups.setdefault((now, before, state.ports[name].admin), []).append(name)
    return [(spec, names, *group) for group, members in groups.items() for spec, names in planning.runs(members)]


def _modes(due: Mapping[str, tuple[Any, Any]]) -> list[Operation]:
    """The lines that the port had, as the journal has them."""
    found = []
    for key, (now, lines) in due.items():
        if not key.endswith(" carried") or not lines:
            continue
        port, mode = key.split()[1], f"{key[:-8]} mode"
        back = f"interface ethernet {port} switchport {'force' if 'no switchport force' in lines[0] else 'mode access'}"
        found.append(
            planning.operation(
                f"port {port}: {'; '.join(line.partition(f' {port} ')[2] for line in lines)}{_NOTE}",
                lines,
                {**({mode: due[mode]} if mode in due else {}), key: (now, lines)},
                [back],
                disrupts=f"port {port} is no access port any more",
            )
        )
    return found


def _svis(due: Mapping[str, tuple[Any, Any]]) -> list[Operation]:
    return [
        planning.operation(
            f"{'remove' if before is None else 'create'} {key}{_NOTE}",
            [f"no {key}" if before is None else key],
            {key: (now, before)},
            [key if before is None else f"no {key}"],
        )
        for key, (now, before) in due.items()
        if key.startswith("interface vlan ")
    ]


def _vlans(due: Mapping[str, tuple[Any, Any]]) -> list[Operation]:
    found = []
    for key, (now, before) in due.items():
        if not key.startswith("vlan "):
            continue
        lines, inverse = _vlan_line(key, before, now), _vlan_line(key, now, before)
        what = "remove" if before is None else f"name {before['name'] or '(none)'} for"
        found.append(planning.operation(f"{what} VLAN {key[5:]}{_NOTE}", [lines], {key: (now, before)}, [inverse]))
    return found


def _vlan_line(key: str, value: Any, from_value: Any) -> str:
    if value is None:
        return f"no {key}"
    name = value["name"]
    if name:
        return f'{key} name "{name}"' if " " in name else f"{key} name {name}"
    return key if from_value is None else f"no {key} name"


class RestoreLayer(SwitchLayer):
    """The session, guards, rollback and saving of `SwitchLayer` with another plan."""

    def __init__(
        self, host: str, connect: Callable[[], OnyxSession], wanted: Wanted, restore: Restore, **options: Any
    ) -> None:
        super().__init__(host, connect, wanted, **options)
        self._restore = restore
        self._left: list[dict[str, Any]] | None = None

    def observe(self) -> SwitchState:
        state = super().observe()
        if "roce" not in self._restore.before and self._first is state:
            self._wanted = dataclasses.replace(self._wanted, mode=state.roce.mode)
        return state

    def _foreign(self, lines: Sequence[str], unsaved: bool) -> tuple[str, ...]:
        """What a port gets back is of this run, whatever it is: addresses and all else of a routed port."""
        own = {f"+ {each}" for key, value in self._restore.before.items() if " carried" in key for each in value or ()}
        return tuple(line for line in super()._foreign(lines, unsaved) if line not in own)

    def plan(self, state: SwitchState, wanted: Wanted) -> list[Operation]:
        planning.refuse_missing(self.host, state.ports, wanted.ports)
        operations, left = plan(state, self._restore)
        self._left = left if self._left is None else self._left
        if not self._applied:
            touched = planning.touched(operations)
            self._planned = operations
            if state.neighbors is not None:
                guards.refuse_neighbors(self.host, planning.behind(state, touched), wanted)
            guards.refuse_disruption(self.host, operations, wanted, planning.spelled)
            self._look_behind(touched)
        more = "; nothing was saved, so that a reload of the switch takes everything back"
        guards.links_lost(self.host, self._links_lost, self._wait_for_links, more)
        return operations

    def facts(self, state: SwitchState) -> dict[str, Any]:
        return {**super().facts(state), "left_alone": list(self._left or ())}
