"""Every small change of a decision in a Python file: a text for a text, at a place that the syntax tree names.

Left alone is what decides nothing: messages, annotations, decorators, docstrings, `x or {}` that gives a default.
"""

from __future__ import annotations

import ast
import collections
from collections.abc import Iterator
from typing import NamedTuple, Union

from tests.mutation.mutant import Mutant

_COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
}
_OTHER_CALL = {"min": "max", "max": "min", "any": "all", "all": "any"}
_OTHER_SUM: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}
_Branch = Union[ast.If, ast.IfExp, ast.While]


class _Change(NamedTuple):
    node: ast.expr | ast.stmt
    rule: str
    text: str


def mutants(file: str, source: str) -> list[Mutant]:
    """All of them, in the order of the text. ``nth`` tells those apart that read alike in one function."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    raw, seen = source.encode(), collections.Counter[tuple[str, str, str, str]]()
    found = []
    for scope, change in sorted(
        _walk(ast.parse(source), ""), key=lambda one: (one[1].node.lineno, one[1].node.col_offset)
    ):
        node = change.node
        assert node.end_lineno is not None and node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = raw[begin:end].decode()
        identity = (scope, change.rule, " ".join(before.split()), change.text)
        mutated = raw[:begin].decode() + change.text + raw[end:].decode()
        if before == change.text or not _compiles(mutated):
            continue
        found.append(Mutant(file, node.lineno, *identity, seen[identity], mutated))
        seen[identity] += 1
    return found


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutated", "exec")
    except SyntaxError:
        return False
    return True


def _walk(node: ast.AST, scope: str) -> Iterator[tuple[str, _Change]]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        scope = f"{scope}.{node.name}" if scope else node.name
    for change in _changes(node, at_top=not scope):
        yield scope, change
    for child in _deciding(node):
        yield from _walk(child, scope)


def _deciding(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node in which something is decided."""
    if isinstance(node, (ast.JoinedStr, ast.Raise)) or _is_entry(node):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "keywords") and not isinstance(node, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


def _is_entry(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id in ("TYPE_CHECKING", "__name__") for part in ast.walk(node.test)
    )


def _changes(node: ast.AST, at_top: bool) -> Iterator[_Change]:
    if _is_entry(node):
        return
    if isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield _Change(test, "filter dropped", "True")
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield from _branch(node)
    elif isinstance(node, ast.stmt):
        yield from _statement(node)
    elif isinstance(node, (ast.Tuple, ast.Set, ast.List)):
        yield from _members(node) if at_top else ()
    elif isinstance(node, ast.expr):
        yield from _expression(node)


def _statement(node: ast.stmt) -> Iterator[_Change]:
    if isinstance(node, ast.Raise):
        yield _Change(node, "refusal dropped", "pass")
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield _Change(node, "call dropped", "pass")
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield _Change(node, "result", "return " + _empty(node.value))


def _expression(node: ast.expr) -> Iterator[_Change]:
    if isinstance(node, ast.Compare):
        yield from _comparison(node)
    elif isinstance(node, ast.BoolOp):
        yield from _operands(node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _Change(node, "not dropped", f"({ast.unparse(node.operand)})")
    elif isinstance(node, ast.Constant):
        yield from _constant(node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OTHER_CALL:
        yield _Change(node.func, "other extreme", _OTHER_CALL[node.func.id])
    elif isinstance(node, ast.BinOp) and type(node.op) in _OTHER_SUM and not _is_text(node):
        left, right = ast.unparse(node.left), ast.unparse(node.right)
        yield _Change(node, "arithmetic", f"({left}) {_OTHER_SUM[type(node.op)]} ({right})")


def _comparison(node: ast.Compare) -> Iterator[_Change]:
    for at, operator in enumerate(node.ops):
        for other in _COMPARISONS[type(operator)]:
            parts = [ast.unparse(node.left)]
            for number, right in enumerate(node.comparators):
                parts += [other if number == at else _spelled(node.ops[number]), ast.unparse(right)]
            yield _Change(node, "comparison", "(" + " ".join(parts) + ")")
    for right in node.comparators:
        if isinstance(right, (ast.Tuple, ast.Set, ast.List)):
            yield from _members(right)


def _spelled(operator: ast.cmpop) -> str:
    return ast.unparse(ast.Compare(ast.Name("a"), [operator], [ast.Name("b")]))[2:-2]


def _operands(node: ast.BoolOp) -> Iterator[_Change]:
    if isinstance(node.op, ast.Or) and ast.unparse(node.values[-1]) in ("{}", "[]", "()", "''", "0"):
        return
    parts = [f"({ast.unparse(value)})" for value in node.values]
    ours, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    yield _Change(node, "and, or", "(" + f" {other} ".join(parts) + ")")
    for at in range(len(parts)):
        yield _Change(node, "operand dropped", "(" + f" {ours} ".join(parts[:at] + parts[at + 1 :]) + ")")


def _branch(node: _Branch) -> Iterator[_Change]:
    yield _Change(node.test, "never", "False")
    # A loop that never ends says nothing about the tests but their patience.
    if not isinstance(node, ast.While):
        yield _Change(node.test, "always", "True")


def _constant(node: ast.Constant) -> Iterator[_Change]:
    value = node.value
    if isinstance(value, bool):
        yield _Change(node, "constant", str(not value))
    elif isinstance(value, int):
        yield _Change(node, "constant", str(value + 1))
    elif isinstance(value, float):
        yield _Change(node, "constant", repr(value * 2 if value else 1.0))


def _members(node: ast.Tuple | ast.Set | ast.List) -> Iterator[_Change]:
    """A list of names: one of them is forgotten."""
    if len(node.elts) < 2 or not all(isinstance(each, ast.Constant) for each in node.elts):
        return
    for at in range(len(node.elts)):
        left = [ast.unparse(each) for number, each in enumerate(node.elts) if number != at]
        text = ", ".join(left)
        spelled = {ast.Tuple: f"({text},)", ast.Set: f"{{{text}}}", ast.List: f"[{text}]"}[type(node)]
        yield _Change(node, "member forgotten", spelled)


def _empty(value: ast.expr) -> str:
    if isinstance(value, (ast.List, ast.ListComp)):
        return "[]"
    if isinstance(value, (ast.Dict, ast.DictComp)):
        return "{}"
    return "None"


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.walk(node)
    )
