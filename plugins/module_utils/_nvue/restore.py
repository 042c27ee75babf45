"""The way back on a Cumulus switch: settings that an earlier run changed get the values from before that run.

``before`` and ``after`` are those of that run's ``--diff``: path in the configuration -> subtree. A path goes back only
while it still has its subtree of ``after``; any other one belongs to another user and stays.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Iterable, Mapping

from .._layer import Operation
from .._switch import guards
from .._switch.request import Wanted
from .._switch.restoring import Restore, parse, refused
from . import plan as planning
from . import tree as trees
from .nvue import NvueLayer
from .rest import Session
from .state import State
from .uses import LAYER3

# What the switch adds by itself to a thing that was made.
_ADDED = "type"
# A key goes into an address of the API as well: no blank, no control character, no quote.
_PORT = re.compile(r"swp\d+(?:s\d+)?")
_WORD = re.compile(r"[A-Za-z0-9_.:/@,+-]{1,128}")


def request(host: str, given: Mapping[str, Any], params: Mapping[str, Any]) -> tuple[Restore, Wanted]:
    """The option ``restore``, checked path by path, and what the guards know of it."""
    restore = parse(host, given)
    before = restore.before
    for key in before:
        _check(host, key)
    ports = sorted({key.split()[1] for key in before if key.startswith("interface swp")}, key=trees.port_key)
    wanted = planning.request(host, {**params, "mode": "absent", "ports": ports})
    back: trees.Tree = trees.merge(*(trees.at(key.split(), value) for key, value in before.items()))
    return restore, dataclasses.replace(wanted, mode=trees.get(back, "qos", "roce", "mode"), vlan=None, mtu=None)


def _check(host: str, key: str) -> None:
    path = key.split(" ")
    name = path[1] if len(path) > 1 and path[0] == "interface" else ""
    right = (
        (bool(_PORT.fullmatch(name)) and len(path) > 2)
        or bool(re.fullmatch(r"vlan\d+", name))
        or path[:2] == ["qos", "roce"]
        or (path[:2] == ["bridge", "domain"] and len(path) > 2)
    )
    if not right or not all(_WORD.fullmatch(word) for word in path):
        raise refused(host, "restore", key, "take the keys from the journal as they are")


def plan(state: State, restore: Restore) -> tuple[list[Operation], list[dict[str, Any]]]:
    """The operations, all of one revision, and what stays as it is."""
    config = state.config
    due: dict[str, tuple[Any, Any]] = {}
    left: list[dict[str, Any]] = []
    for key, before in restore.before.items():
        now, after = trees.get(config, *key.split()), restore.after[key]
        if _same(now, before):
            continue
        if _same(now, after):
            due[key] = (after, before)
            config = trees.replaced(config, key.split(), before)
        else:
            left.append({"key": key, "value": now, "expected": after, "why": "changed since"})
    moved = {_carrier(row["key"]) for row in left} - {""}
    staying = {key: "what the port carries was changed since" for key in due if _carrier(key) in moved}
    for key in staying:
        config = trees.replaced(config, key.split(), due[key][0])
    staying.update(_used(config, {key: sides for key, sides in due.items() if key not in staying}))
    for key, why in staying.items():
        now, _before = due.pop(key)
        config = trees.replaced(config, key.split(), now)
        left.append({"key": key, "value": now, "expected": now, "why": why})
    return [_operation(state, config, kind, keys) for kind, keys in _kinds(due).items()], left


def _same(now: Any, said: Any) -> bool:
    """Whether a subtree is as it was, whatever the switch has added by itself. 9216 and "9216" are the same."""
    if isinstance(now, Mapping) and isinstance(said, Mapping):
        more = set(map(str, now)) - set(map(str, said))
        return more <= {_ADDED} and all(_same(trees.get(now, key), value) for key, value in said.items())
    return now == said or (now is not None and str(now) == str(said))


def _carrier(key: str) -> str:
    """The port, if the setting is of what it carries: that goes back as a whole, or the two users' parts would mix."""
    kind, name, *rest = key.split()
    return name if kind == "interface" and _PORT.fullmatch(name) and rest[0] in ("bridge", *LAYER3) else ""


def _used(config: Mapping[str, Any], due: Mapping[str, tuple[Any, Any]]) -> dict[str, str]:
    """VLANs and bridges that would be removed, and what still names them then."""
    found: dict[str, str] = {}
    for key, (_now, before) in due.items():
        path = key.split()
        if path[0] != "bridge" or before is not None or len(path) not in (3, 5):
            continue
        users = [
            name
            for name, settings in (config.get("interface") or {}).items()
            if _names(settings or {}, path[2], path[4] if len(path) == 5 else "")
        ]
        users += [f"vlan{path[4]}"] if len(path) == 5 and trees.get(config, "interface", f"vlan{path[4]}") else []
        if users:
            found[key] = f"used by {', '.join(sorted(users, key=trees.port_key))}"
    return found


def _names(settings: Mapping[str, Any], domain: str, vlan: str) -> bool:
    here = trees.get(settings, "bridge", "domain", domain)
    if here is None or not vlan:
        return here is not None
    listed = [number for spec in (here or {}).get("vlan") or {} for number in trees.expand(str(spec))]
    return vlan in (str(here.get("access")), str(here.get("untagged")), *listed)


def _kinds(due: Mapping[str, tuple[Any, Any]]) -> dict[str, dict[str, tuple[Any, Any]]]:
    kinds: dict[str, dict[str, tuple[Any, Any]]] = {}
    for key, sides in due.items():
        kind = "ports" if key.startswith("interface swp") else "roce" if key.startswith("qos") else "vlans"
        kinds.setdefault(kind, {})[key] = sides
    return kinds


def _operation(state: State, config: Mapping[str, Any], kind: str, due: Mapping[str, tuple[Any, Any]]) -> Operation:
    """One for each kind: whom it disturbs is the same for all of its settings. ``config``: as it will be."""
    sets, unsets = _trees(due, state.config, config)
    set_again, unset_again = _trees(due, config, state.config)
    up = tuple(name for name, port in state.ports.items() if port.up)
    ports = tuple(sorted({key.split()[1] for key in due if kind == "ports"}, key=trees.port_key))
    disrupts = {
        "roce": "buffers, scheduling and trust of every port are rewritten, and traffic of any of them may stop for a "
        f"moment (up now: {trees.compressed(up) or 'none'})",
        "ports": f"ports {trees.compressed(ports)} are reconfigured; a link may bounce",
    }.get(kind, "")
    command = trees.commands(sets, unsets)
    return Operation(
        description="as before: " + "; ".join(line.removeprefix("nv ") for line in command.split("\n")),
        command=command,
        changes=dict(due),
        inverse=trees.commands(set_again, unset_again),
        disrupts=disrupts,
        payload={"set": sets, "unset": unsets, "bounces": up if kind == "roce" else ports},
    )


def _trees(keys: Mapping[str, Any], now: Mapping[str, Any], then: Mapping[str, Any]) -> tuple[trees.Tree, trees.Tree]:
    """(to set, to unset): a subtree is removed as a whole, and then set."""
    sets: trees.Tree = {}
    unsets: trees.Tree = {}
    for path in (key.split() for key in keys if not any(key.startswith(f"{other} ") for other in keys)):
        old, new = trees.get(now, *path), trees.get(then, *path)
        if new is not None:
            sets = trees.merge(sets, trees.at(path, new))
        if new is None or isinstance(old, Mapping):
            unsets = trees.merge(unsets, trees.at(path, None))
    return sets, unsets


class RestoreLayer(NvueLayer):
    """The session, guards, confirmation and saving of `NvueLayer` with another plan."""

    def __init__(self, host: str, client: Session, wanted: Wanted, restore: Restore, **options: Any) -> None:
        super().__init__(host, client, wanted, **options)
        self._restore = restore
        self._left: list[dict[str, Any]] | None = None

    def _operations(self, state: State) -> list[Operation]:
        planning.refuse_missing(state, self._wanted.ports)
        operations, left = plan(state, self._restore)
        if self._left is None:
            self._left = left
        guards.refuse_neighbors(self.host, planning.behind(state, planning.touched(operations)), self._wanted)
        guards.refuse_disruption(self.host, operations, self._wanted, trees.compressed)
        return operations

    def _own(self, line: str) -> bool:
        return all(self._reaches(path) for path in line_paths(line))

    def _reaches(self, path: tuple[str, ...]) -> bool:
        """Whether a line lies below a path that goes back, or is what the switch added above it."""
        keys = [tuple(key.split()) for key in self._restore.before]
        return any(path[: len(key)] == key or (path == key[: len(path)]) for key in keys) or any(
            path[-2:-1] == (_ADDED,) and path[:-2] == key[: len(path) - 2] for key in keys
        )

    def _require_health(self, state: State) -> None:
        if any(key.startswith("qos roce") for key in self._restore.before):
            super()._require_health(state)

    def facts(self, state: State) -> dict[str, Any]:
        return {**super().facts(state), "left_alone": list(self._left or ())}


def line_paths(line: str) -> Iterable[tuple[str, ...]]:
    """``+ nv set interface swp1-2 link mtu 9216`` -> one path for each port, its value the last word."""
    words = tuple(line.split()[3:])
    if words[:1] == ("interface",) and len(words) > 1:
        return [("interface", name, *words[2:]) for name in trees.expand(words[1])]
    return [words]
