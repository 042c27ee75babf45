"""`-e name=true` is a string. Conditions on what is meant as a boolean say `| bool`: ansible-core since 2.19 refuses a
string, and before, "false" was true."""

from __future__ import annotations

import functools
import pathlib
import re
from typing import Any, Iterator

import jinja2
import pytest
import yaml
from jinja2 import nodes

from tests.unit.roles.collection import PLAYBOOKS, ROLES, ROOT, entry_points, load

FILES = [*PLAYBOOKS, *sorted((ROOT / "playbooks" / "vars").glob("*.yml")), *sorted((ROOT / "roles").glob("*/**/*.yml"))]
FILES = [path for path in FILES if path.parent.name != "meta"]
TEMPLATES = sorted((ROOT / "roles").glob("**/*.j2"))
CONDITIONS = ("when", "that", "until", "failed_when", "changed_when")
JINJA = jinja2.Environment()


class Loader(yaml.SafeLoader):
    """Of what is marked as no template nothing is read."""


Loader.add_constructor("!unsafe", lambda _loader, _node: None)


def parse(text: str) -> nodes.Template:
    return JINJA.parse(text)


def texts(value: Any, key: str = "") -> Iterator[str]:
    """Every template in a file; a condition as the template that it stands for."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from texts(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, key)
    elif isinstance(value, str):
        if key in CONDITIONS and "{{" not in value:
            yield f"{{% if {value} %}}{{% endif %}}"
        elif "{{" in value or "{%" in value:
            yield value


def all_texts() -> Iterator[tuple[pathlib.Path, str]]:
    for path in FILES:
        for text in texts(yaml.load(path.read_text(), Loader)):
            yield path, text
    for path in TEMPLATES:
        yield path, path.read_text()


def names_made_boolean(tree: nodes.Node) -> Iterator[str]:
    for each in tree.find_all(nodes.Filter):
        inner = through_default(each.node) if each.name == "bool" and each.node else None
        if isinstance(inner, nodes.Name):
            yield inner.name


def through_default(node: nodes.Node) -> nodes.Node:
    while isinstance(node, nodes.Filter) and node.name in ("default", "d") and node.node is not None:
        node = node.node
    return node


def name_of(node: nodes.Node) -> str:
    """Of a variable, or of the key of a role's dictionary (``__switch_options.svi`` is switch_options.svi)."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name) and node.node.name.startswith("__"):
        return f"{node.node.name.removeprefix('__')}.{node.attr}"
    return ""


@functools.cache
def options_of(*types: str) -> frozenset[str]:
    """Role options of these types, and such keys of their dictionaries."""
    found = set()
    for role in ROLES:
        for spec in entry_points(role).values():
            for name, option in (spec.get("options") or {}).items():
                keys = (option.get("options") or {}) if option.get("type") == "dict" else {}
                each = {name: option, **{f"{name}.{key}": one for key, one in keys.items()}}
                found |= {which for which, one in each.items() if one.get("type") in types}
    return frozenset(found)


def judged(tree: nodes.Node) -> Iterator[nodes.Node]:
    """What is asked whether it is true, taken apart."""
    for each in tree.find_all((nodes.If, nodes.CondExpr)):
        yield from parts(each.test)
    for each in tree.find_all((nodes.And, nodes.Or, nodes.Not)):
        yield from parts(each)


def parts(node: nodes.Node) -> Iterator[nodes.Node]:
    if isinstance(node, (nodes.And, nodes.Or)):
        yield from parts(node.left)
        yield from parts(node.right)
    elif isinstance(node, nodes.Not):
        yield from parts(node.node)
    else:
        yield node


def bare(text: str, booleans: set[str]) -> list[str]:
    found = {through_default(node) for node in judged(parse(text))}
    return sorted({name_of(node) for node in found if name_of(node) in booleans})


def booleans() -> set[str]:
    """Options of that type, and whatever is made one anywhere."""
    return options_of("bool") | {name for _path, text in all_texts() for name in names_made_boolean(parse(text))}


def test_conditions_on_booleans_take_a_string_as_well() -> None:
    names = booleans()
    assert len(names) > 45 and "rocemesh_allow_reboot" in names
    found = [f"{path.relative_to(ROOT)}: {name}" for path, text in all_texts() for name in bare(text, names)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{% if x and y %}{% endif %}", ["x"]),
        ("{% if not x | default(false) %}{% endif %}", ["x"]),
        ("{{ 1 if x else 2 }}", ["x"]),
        ("{{ y or x }}", ["x"]),
        ("{% if x | bool and not x | default(false) | bool %}{% endif %}", []),
        ("{% if x == 'any' or x is defined %}{% endif %}", []),
        ("{{ x }}", []),
        ("{{ 1 if __y.x else 2 }}", ["y.x"]),
        ("{{ 1 if __y.x | bool else 2 }}", []),
    ],
)
def test_a_bare_boolean_is_found(text: str, named: list[str]) -> None:
    assert bare(text, {"x", "y.x"}) == named


def test_every_condition_is_read() -> None:
    text = (ROOT / "roles" / "guest" / "tasks" / "preflight.yml").read_text()
    assert len(list(texts(load(ROOT / "roles" / "guest" / "tasks" / "preflight.yml")))) >= len(
        re.findall("when:", text)
    )
