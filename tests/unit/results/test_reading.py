"""What all readers share."""

from __future__ import annotations

import ast
import pathlib
import string
from typing import Any, Iterator

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import machine, nccl_log, reading
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.perf_tables import Table
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.reading import Problem, Several

ROOM = pathlib.Path(reading.__file__).parent
TEXTS = yaml.safe_load((ROOM / "problems.yml").read_text(encoding="utf-8"))
ODD = Problem("odd", "looks odd")


def table(*problems: str) -> Table:
    made = Table(("batch", "resnet"), None, "scoring", None, [(1.0, 2.0)])
    for problem in problems:
        made.problems.put(Problem(problem, "is wrong"))
    return made


@pytest.mark.parametrize(
    ("tables", "problems", "good", "codes"),
    [
        ((table(), table()), (), True, []),
        ((), (), False, []),
        ((table(),), (ODD,), False, ["odd"]),
        ((table(), table("cut")), (), False, ["cut"]),
        ((table("cut"), table("odd")), (ODD,), False, ["odd", "cut", "odd"]),
    ],
    ids=["right", "nothing", "the log", "a part", "both"],
)
def test_a_result_of_several_parts_is_good_if_there_are_some_and_nothing_is_wrong(
    tables: tuple[Table, ...], problems: tuple[Problem, ...], good: bool, codes: list[str]
) -> None:
    found = Several("tables", tables, problems)
    assert found.good is found.as_dict()["ok"] is good
    assert [problem["code"] for problem in found.as_dict()["problems"]] == codes
    assert found.as_dict()["tables"] == [part.as_dict() for part in tables]


# ------------------------------------------------------------------------------------------------------- problems.yml


def fields(text: str) -> set[str]:
    return {name for _text, name, _form, _how in string.Formatter().parse(text) if name}


def keys(value: ast.expr, known: dict[str, set[str]]) -> set[str]:
    """Names that ``**value`` gives: of a dictionary, of `picked`, or of a variable that is one of these."""
    if isinstance(value, ast.Dict):
        return {str(key.value) for key in value.keys if isinstance(key, ast.Constant)}
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "picked":
        return {str(name.value) for name in value.args[1:] if isinstance(name, ast.Constant)}
    return known[ast.unparse(value)]


def calls(tree: ast.AST) -> Iterator[tuple[str, set[str]]]:
    """Each problem that a reader adds, with the words that it fills in."""
    known: dict[str, set[str]] = {"entry.groupdict()": {"run", "figure"}}
    for node in sorted(ast.walk(tree), key=lambda node: getattr(node, "lineno", 0)):
        if isinstance(node, ast.Assign):
            value = node.value
            if isinstance(value, ast.Dict) or (isinstance(value, ast.Call) and ast.unparse(value.func) == "picked"):
                known[ast.unparse(node.targets[0])] = keys(value, known)
            elif ast.unparse(value).startswith("functools.partial(self.problems.add"):
                known[ast.unparse(node.targets[0])] = {str(word.arg) for word in getattr(value, "keywords", ())}
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        names = next(iter(node.args[1:] if called.endswith("add_if") else node.args), None)
        if called.rpartition(".")[2] not in ("add", "add_if", "problem", "_problem", "worded"):
            continue
        if not isinstance(names, (ast.Constant, ast.IfExp)):
            continue
        words = set(known.get(called, ()))
        for word in node.keywords:
            words |= {word.arg} if word.arg else keys(word.value, known)
        for name in (names.body, names.orelse) if isinstance(names, ast.IfExp) else (names,):
            if isinstance(name, ast.Constant):
                yield str(name.value), words


def test_the_words_of_each_problem_are_those_of_its_text() -> None:
    used: set[tuple[str, str]] = set()
    for reader, texts in TEXTS.items():
        for name, words in calls(ast.parse((ROOM / f"{reader}.py").read_text(encoding="utf-8"))):
            assert fields({**TEXTS["reading"], **texts}[name]) == words, (reader, name)
            used.add((reader, name))
    for name, words in calls(ast.parse((ROOM / "machine.py").read_text(encoding="utf-8"))):
        for reader in ("tf_cnn", "torch_ranks"):
            assert fields(TEXTS[reader][name]) == words, name
            used.add((reader, name))
    for name, words in calls(ast.parse((ROOM / "nccl_table.py").read_text(encoding="utf-8"))):
        assert fields(TEXTS["nccl_tests"][name]) == words, name
        used.add(("nccl_tests", name))
    for name in SHAPES:
        assert fields(TEXTS["nccl_log"][name]) == {"process", "line"}, name
        used.add(("nccl_log", name))
    unused = {(reader, name) for reader, texts in TEXTS.items() for name in texts} - used
    assert {(reader, name) for reader, name in unused if not name.startswith(("ib_", "too_many_"))} == {
        ("tf_cnn", "no_result")  # instead of that of every reader
    }


# Problems by the shape of a line.
SHAPES = {code for table in ("nic_changed", "warned", "failed") for code in nccl_log.LINES.table[table].values()}


def test_each_text_has_words_for_its_fields_that_format_takes() -> None:
    class Anything(str):
        def __format__(self, form: str) -> str:
            return form

    for texts in TEXTS.values():
        for text in texts.values():
            words: dict[str, Any] = {name: Anything("x") for name in fields(text)}
            assert text.format(**words) is not None


class Tagged(float):
    """As a number of Ansible's, which knows where it comes from."""


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (3, 3.0),
        (Tagged(2.5), 2.5),
        (True, None),
        ("1", None),
        (float("nan"), None),
        (float("-inf"), None),
        (10**400, None),
    ],
)
def test_a_finite_figure_is_one_of_any_class_of_numbers(value: Any, found: float | None) -> None:
    assert machine.real(value) == found
