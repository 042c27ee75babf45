"""Every condition of a role's task file, made true, false or its opposite."""

from __future__ import annotations

import collections
import json
from collections.abc import Iterator
from typing import NamedTuple

import yaml

from tests.mutation.mutant import Mutant

_KEYWORDS = ("when", "until", "failed_when", "changed_when")


class Condition(NamedTuple):
    """``tasks``: the lines at which the tasks begin that it rules; a block's condition rules all that are in it."""

    mutant: Mutant
    tasks: tuple[int, ...]


class _Place(NamedTuple):
    keyword: str
    name: str
    node: yaml.ScalarNode
    tasks: tuple[int, ...]


def conditions(file: str, source: str) -> list[Condition]:
    found, seen = [], collections.Counter[tuple[str, str, str, str]]()
    for place in _places(yaml.compose(source)):
        before = " ".join(str(place.node.value).split())
        for after in _others(place.keyword, before):
            identity = (place.name, place.keyword, before, after)
            begin, end = place.node.start_mark.index, place.node.end_mark.index
            tail = source[begin:end]
            # A block scalar ends with its last line, and the line's end is a part of it.
            closing = tail[len(tail.rstrip()) :]
            text = source[:begin] + json.dumps(after) + closing + source[end:]
            line = place.node.start_mark.line + 1
            found.append(Condition(Mutant(file, line, *identity, seen[identity], text), place.tasks))
            seen[identity] += 1
    return found


def _others(keyword: str, before: str) -> list[str]:
    opposite = f"not ({before})"
    if before in ("true", "false"):
        return ["false" if before == "true" else "true"]
    if keyword in ("until", "that"):
        return ["true"]
    if keyword == "failed_when":
        return ["false", opposite]
    return ["true", "false", opposite]


def _places(node: yaml.Node | None) -> Iterator[_Place]:
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _places(each)
    if not isinstance(node, yaml.MappingNode):
        return
    parts = {key.value: value for key, value in node.value}
    name = parts["name"].value if isinstance(parts.get("name"), yaml.ScalarNode) else "?"
    tasks = tuple(_tasks(node))
    for keyword in _KEYWORDS:
        for scalar in _scalars(parts.get(keyword)):
            yield _Place(keyword, name, scalar, tasks)
    for module in ("ansible.builtin.assert", "assert"):
        if isinstance(parts.get(module), yaml.MappingNode):
            for scalar in _scalars({key.value: value for key, value in parts[module].value}.get("that")):
                yield _Place("that", name, scalar, tasks)
    for inner in ("block", "rescue", "always"):
        yield from _places(parts.get(inner))


def _tasks(node: yaml.MappingNode) -> Iterator[int]:
    parts = {key.value: value for key, value in node.value}
    inner = [each for name in ("block", "rescue", "always") for each in _mappings(parts.get(name))]
    if not inner:
        yield node.start_mark.line + 1
    for each in inner:
        yield from _tasks(each)


def _mappings(node: yaml.Node | None) -> list[yaml.MappingNode]:
    return [each for each in node.value if isinstance(each, yaml.MappingNode)] if node is not None else []


def _scalars(node: yaml.Node | None) -> list[yaml.ScalarNode]:
    if isinstance(node, yaml.ScalarNode):
        return [node]
    if isinstance(node, yaml.SequenceNode):
        return [each for each in node.value if isinstance(each, yaml.ScalarNode)]
    return []
