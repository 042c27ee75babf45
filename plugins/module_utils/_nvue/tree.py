"""Configuration trees as NVUE knows them, and port names. Pure: no I/O, no Ansible.

A tree is what the API sends and takes: nested dictionaries with scalars at the ends; an empty dictionary is a thing
that exists without settings, None (in a patch) is a thing to remove. Keys may be ranges ("swp1-4", "swp3s0-1,9",
VLANs "10-20") where a user wrote them so.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Iterator, Mapping, Sequence

Tree = dict[str, Any]
Path = tuple[str, ...]

_PORT_RE = re.compile(r"([A-Za-z_]+)(\d+)(?:s(\d+))?")
# One part of a selector: a prefix that ends in a number, and where the range of that number ends.
_PART_RE = re.compile(r"(.*?)(\d+)(?:-(\d+))?")
# "swp1-8s0-3": lanes of several ports at once.
_LANES_RE = re.compile(r"([A-Za-z]+)(\d+)-(\d+)(s\d+(?:-\d+)?)")
_SELECTOR_LIMIT = 4096


def port_key(name: str) -> tuple[Any, ...]:
    """Sorts swp2 before swp10 and swp3s1 after swp3."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))


def split_port(name: str) -> tuple[str, int] | None:
    """``swp3s1`` -> ("swp3s", 1), ``swp10`` -> ("swp", 10); None if it is no port name."""
    match = _PORT_RE.fullmatch(name)
    if not match:
        return None
    kind, number, lane = match.groups()
    return (f"{kind}{number}s", int(lane)) if lane is not None else (kind, int(number))


def expand(selector: str) -> list[str]:
    """``swp1-3,7`` -> swp1, swp2, swp3, swp7. Text that is no range is returned as it is.

    A part that has only a number continues the prefix of the part before it. Raises ValueError for a range that runs
    backwards or covers more than 4096 names.
    """
    names: list[str] = []
    prefix = ""
    for part in selector.split(","):
        lanes = _LANES_RE.fullmatch(part)
        match = _PART_RE.fullmatch(part)
        if lanes:
            kind, low, high, lane = lanes.groups()
            names += [name for number in _range(part, low, high) for name in expand(f"{kind}{number}{lane}")]
        elif match:
            before, low, high = match.groups()
            prefix = before or prefix
            numbers = [low] if high is None else [str(number) for number in _range(part, low, high)]
            names += [prefix + number for number in numbers]
        else:
            names.append(part)
    return names


def _range(part: str, low: str, high: str) -> range:
    if not 0 <= int(high) - int(low) < _SELECTOR_LIMIT:
        raise ValueError(f"not an upward range of at most {_SELECTOR_LIMIT}: {part!r}")
    return range(int(low), int(high) + 1)


def runs(names: Iterable[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Contiguous names as ranges: ``[("swp1-4", ("swp1", ...)), ("swp7", ("swp7",))]``."""
    groups: list[list[str]] = []
    for name in sorted(names, key=port_key):
        here = split_port(name)
        last = split_port(groups[-1][-1]) if groups else None
        if here and last and here[0] == last[0] and here[1] == last[1] + 1:
            groups[-1].append(name)
        else:
            groups.append([name])
    result = []
    for group in groups:
        end = split_port(group[-1])
        spec = group[0] if len(group) == 1 or end is None else f"{group[0]}-{end[1]}"
        result.append((spec, tuple(group)))
    return result


def compressed(names: Iterable[str]) -> str:
    """Names for a person or a command line: ``swp1-4,swp7``."""
    return ",".join(spec for spec, _members in runs(names))


def get(tree: Any, *path: str) -> Any:
    """The value at ``path``, or None."""
    for key in path:
        if not isinstance(tree, dict) or key not in tree:
            return None
        tree = tree[key]
    return tree


def at(path: Sequence[str], value: Any) -> Tree:
    """A tree with one value."""
    tree = value
    for key in reversed(path):
        tree = {key: tree}
    return dict(tree)


def merge(*trees: Mapping[str, Any]) -> Tree:
    """Later trees win; the arguments are left as they are, and share with the result what one of them alone has."""
    result: Tree = {}
    for tree in trees:
        for key, value in tree.items():
            both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
            result[key] = merge(result[key], value) if both else value
    return result


def leaves(tree: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every end of the tree: (path, value), the value a scalar, None, or {} for a thing without settings."""
    for key, value in tree.items():
        here = (*path, str(key))
        if isinstance(value, Mapping) and value:
            yield from leaves(value, here)
        else:
            yield here, {} if isinstance(value, Mapping) else value


def words(path: Path, value: Any) -> Path:
    """The words after ``nv set`` for one leaf."""
    return path if value is None or value == {} else (*path, str(value))


def nv_lines(verb: str, tree: Mapping[str, Any]) -> list[str]:
    """A tree as commands of the ``nv`` command line, ports that share a setting as one range.

    ``verb``: set or unset; unset names the path alone.
    """
    grouped: dict[Path, list[str]] = {}
    for path, value in leaves(tree):
        line = path if verb == "unset" else words(path, value)
        if line[0] == "interface" and len(line) > 1:
            grouped.setdefault(("interface", "", *line[2:]), []).append(line[1])
        else:
            grouped.setdefault(line, [])
    lines = []
    for line, names in grouped.items():
        if names:
            line = ("interface", compressed(names), *line[2:])  # noqa: PLW2901 - the range takes its place
        lines.append(" ".join(("nv", verb, *line)))
    return lines


def commands(to_set: Mapping[str, Any], to_unset: Mapping[str, Any]) -> str:
    """A patch as lines: first what it unsets."""
    return "\n".join([*nv_lines("unset", to_unset), *nv_lines("set", to_set)])


def inverse(set_tree: Mapping[str, Any], unset_tree: Mapping[str, Any], before: Mapping[str, Any]) -> tuple[Tree, Tree]:
    """(set, unset) that take a patch back to ``before``, touching nothing that the patch did not touch."""
    back: Tree = {}
    away: Tree = {}
    for path, _value in (*leaves(set_tree), *leaves(unset_tree)):
        old = get(before, *path)
        if old is not None:
            back = merge(back, at(path, old))
            continue
        away = merge(away, at(_made(path, before), None))
    return back, away


def changes(set_tree: Mapping[str, Any], unset_tree: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """What a patch changes: path, its words separated by blanks -> (subtree before, subtree after)."""
    after: Mapping[str, Any] = before
    for path, _value in leaves(unset_tree):
        after = replaced(after, path, None)
    after = merge(after, set_tree)
    paths = {_made(path, before) for path, _value in (*leaves(set_tree), *leaves(unset_tree))}
    sides = {" ".join(path): (get(before, *path), get(after, *path)) for path in sorted(paths)}
    return {key: (old, new) for key, (old, new) in sides.items() if old != new}


def replaced(tree: Mapping[str, Any], path: Sequence[str], value: Any) -> Tree:
    """A copy with another value at ``path``; None removes it."""
    if value is not None:
        return merge(replaced(tree, path, None), at(path, value))
    key, below = path[0], tree.get(path[0])
    if len(path) > 1 and isinstance(below, Mapping):
        return {**tree, key: replaced(below, path[1:], None)}
    return {each: value for each, value in tree.items() if len(path) > 1 or each != key}


def _made(path: Path, before: Mapping[str, Any]) -> Path:
    """The highest thing of a path that did not exist, or the way back would leave its empty parents behind."""
    lengths = range(min(_thing(path), len(path)), len(path) + 1)
    return path[: next((length for length in lengths if get(before, *path[:length]) is None), len(path))]


def _thing(path: Path) -> int:
    """Up to which length a path names a whole branch or port, which no inverse may remove as a whole."""
    if path[0] == "interface":
        return 2 if len(path) > 1 and path[1].startswith("vlan") else 3
    return {"bridge": 3}.get(path[0], 2)


def expanded_interfaces(tree: Mapping[str, Any]) -> dict[str, Tree]:
    """The ``interface`` branch with every range written out, settings of ranges and of single names merged."""
    result: dict[str, Tree] = {}
    entries = (tree.get("interface") or {}).items()
    # A single name is more specific than a range that contains it.
    for selector, settings in sorted(entries, key=lambda entry: len(expand(str(entry[0]))), reverse=True):
        for name in expand(str(selector)):
            result[name] = merge(result.get(name, {}), settings or {})
    return result
