"""Configuration trees of the SIMULATED switch: patches, differences, lines."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

Tree = dict[str, Any]


def merged(base: Tree, patch: Any) -> Any:
    """A merge patch: null removes, everything else is put into what is there."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result: Tree = copy.deepcopy(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key, {}), value)
    return result


def overlaid(base: Any, patch: Any) -> Any:
    """Like `merged`, for two patches: null stays null."""
    if not isinstance(patch, dict) or not isinstance(base, dict):
        return copy.deepcopy(patch)
    return {**copy.deepcopy(base), **{key: overlaid(base.get(key), value) for key, value in patch.items()}}


def difference(ours: Any, theirs: Any) -> Any:
    """What of ``ours`` is not in ``theirs``; null stands for what only ``theirs`` has. {} if they agree."""
    result: Tree = {}
    for key in [*ours, *(key for key in theirs if key not in ours)]:
        if key not in ours:
            result[key] = None
        elif key not in theirs:
            result[key] = copy.deepcopy(ours[key])
        elif isinstance(ours[key], dict) and isinstance(theirs[key], dict):
            inner = difference(ours[key], theirs[key])
            if inner:
                result[key] = inner
        elif ours[key] != theirs[key]:
            result[key] = copy.deepcopy(ours[key])
    return result


def lines(tree: Tree, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every end of a tree: (path, value)."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from lines(value, (*path, key))
        else:
            yield (*path, key), value


def at(tree: Any, *path: str) -> Any:
    for key in path:
        if not isinstance(tree, dict) or key not in tree:
            return None
        tree = tree[key]
    return tree


def expanded(config: Tree) -> Tree:
    """What a client calls swp1-4 is kept as four interfaces."""
    result = copy.deepcopy(config)
    interfaces: Tree = {}
    for selector, settings in (config.get("interface") or {}).items():
        found = re.fullmatch(r"(\D+)(\d+)-(\d+)", selector)
        names = [selector]
        if found:
            names = [f"{found[1]}{number}" for number in range(int(found[2]), int(found[3]) + 1)]
        for name in names:
            interfaces[name] = overlaid(interfaces.get(name, {}), settings)
    if interfaces:
        result["interface"] = interfaces
    return result
