"""`-e guest_mtu=9000` is a text. Where a role compares or computes it says `| int`, and every condition of
condition_table.py comes out the same if numbers and booleans of the role are texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jinja2 import nodes

from tests.unit.roles.collection import ROOT, defaults
from tests.unit.roles.condition_table import Task
from tests.unit.roles.conditions import play
from tests.unit.roles.test_conditions import rows
from tests.unit.roles.test_extra_vars import all_texts, judged, name_of, options_of, parse, through_default

ARITHMETIC = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow)
_HOST = {"inventory_hostname": "gpu01", "ansible_check_mode": False, "role_name": "role"}


def numbers() -> set[str]:
    """Options of that type, and whatever is made one anywhere."""
    found = set(options_of("int", "float"))
    for _path, text in all_texts():
        for each in parse(text).find_all(nodes.Filter):
            inner = through_default(each.node) if each.name in ("int", "float") and each.node else None
            if isinstance(inner, nodes.Name) and not inner.name.startswith("__"):
                found.add(inner.name)
    return found


def operands(tree: nodes.Node) -> Iterator[nodes.Node]:
    """What is compared, computed with, counted by or asked whether it is zero."""
    for each in tree.find_all(nodes.Compare):
        yield from (each.expr, *(operand.expr for operand in each.ops))
    for each in tree.find_all(ARITHMETIC):
        yield from (each.left, each.right)
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name == "range":
            yield from call.args
    for each in tree.find_all(nodes.Filter):
        if each.name in ("round", "abs", "sum", "max", "min") and each.node is not None:
            yield each.node
    # The last one of `a or b` is handed on as it is.
    handed_on = {id(each.right) for each in tree.find_all(nodes.Or)}
    yield from (each for each in judged(tree) if id(each) not in handed_on)


def bare(text: str, known: set[str]) -> list[str]:
    found = {through_default(node) for node in operands(parse(text))}
    return sorted({name_of(node) for node in found if name_of(node) in known})


def test_no_number_is_compared_or_computed_with_as_it_comes() -> None:
    known = numbers()
    assert len(known) > 60 and {"guest_mtu", "container_memlock", "benchmark_scaling.dropped"} <= known
    assert [f"{path.relative_to(ROOT)}: {name}" for path, text in all_texts() for name in bare(text, known)] == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{% if n > 0 %}{% endif %}", ["n"]),
        ("{% if other == n | default(1) %}{% endif %}", ["n"]),
        ("{{ n // 5 }}", ["n"]),
        ("{{ range(n) }}", ["n"]),
        ("{% if n and x %}{% endif %}", ["n"]),
        ("{{ limit or n }}", []),
        ("{% if n | int > 0 and n is defined %}{% endif %}", []),
        ("{{ n }} and {{ 'so ' ~ n }}", []),
        ("{{ __o.n // 5 }}", ["o.n"]),
        ("{{ __o.n | int // 5 }}", []),
    ],
)
def test_a_bare_number_is_found(text: str, named: list[str]) -> None:
    assert bare(text, {"n", "o.n"}) == named


def as_text(variables: dict[str, Any]) -> dict[str, Any]:
    """Numbers and booleans of roles as the command line gives them."""
    typed = options_of("int", "float", "bool")
    return {
        name: str(value).lower() if name in typed and isinstance(value, (bool, int, float)) else value
        for name, value in variables.items()
    }


@pytest.mark.parametrize(("task", "changes", "expected"), rows())
def test_a_condition_holds_for_texts_as_well(task: Task, changes: dict[str, Any], expected: str) -> None:
    own = {name: value for name, value in defaults(task.role).items() if isinstance(value, (bool, int, float))}
    said = play(task.role, task.file, task.name, {**_HOST, **as_text({**own, **task.right, **changes})})
    assert said == expected or (said.startswith("refused: ") and expected in said)
