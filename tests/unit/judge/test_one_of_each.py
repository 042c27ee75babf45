"""Rooms that judge have one class each for a finding, a rule, and the words of evidence; others are listed with why."""

from __future__ import annotations

import ast
import re
from typing import Iterator

import pytest

from tests.unit.judge.test_size import PARTS, ROOMS

# The switch's judge and the rows of the consistency check belong to these rooms as well.
JUDGES = (*PARTS, "_switch/judge.py", "_switch/observed.py", *(f"_site/path_{part}.py" for part in (
    "intent", "switch", "nic", "container")))  # fmt: skip
NAME = re.compile(r"(?:Fact|Finding|Fault|Problem|Rule|Answer|Verdict|Evidence|Seen)s?$")
# A class that has all fields of one of these sets says what is wrong, or when.
FINDING = ({"remedy"}, {"fix"}, {"expected", "found"}, {"code", "message"}, {"code", "text"})
RULE = ({"when"}, {"causes"}, {"pattern", "cause"})
MAY = {
    "_judge/finding.py Finding": "the finding",
    "_judge/packs/model.py Rule": "the rule, with the words of a failed run",
    "_judge/packs/model.py Cause": "what a rule names: its fix is the remedy of every finding of this cause",
    "_doctor/facts.py Fact": "the fact: what was read of a device, typed",
    "_doctor/catalogue.py Catalogue": "all causes, signs and rules",
    "_doctor/pace.py Gap": "what was not read of a job: there is no trouble and no remedy in it",
    "_doctor/seen.py Seen": "all hits of one sign",
    "_proof/evidence.py Evidence": "all that witnesses are asked about",
    "_results/launch/causes.py Diagnosis": "the one cause of a failed run, with hosts and rank as modules return it",
    "_results/path/path_verdict.py PathVerdict": "the verdict on the data path, which is evidence of that on the run",
    "_results/readers/reading.py Problem": "of a log, where readers import nothing of what judges",
    "_results/readers/reading.py Problems": "a bounded list of these",
    "_switch/observed.py PortSeen": "a port as it was read",
}


def fields(node: ast.ClassDef) -> set[str]:
    """Of a dataclass or a named tuple, and what a class sets of itself."""
    return {ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)} | {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and ast.unparse(each.value) == "self"
    }


def suspects(text: str) -> Iterator[str]:
    """Classes with the name or the fields of one of those that there is one of."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            has = fields(node)
            if NAME.search(node.name) or any(known <= has for known in (*FINDING, *RULE)):
                yield node.name


def test_a_second_class_of_one_role_is_named_with_its_reason() -> None:
    paths = [ROOMS / part for part in JUDGES]
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))]
    found = {f"{file.relative_to(ROOMS)} {name}" for file in files for name in suspects(file.read_text())}
    assert found == MAY.keys()


@pytest.mark.parametrize(
    "text",
    [
        "class Finding: pass",
        "class SwitchFinding: pass",
        "class RunRules: pass",
        "class Row:\n    where: str\n    remedy: str",
        "class Row(NamedTuple):\n    expected: str\n    found: str",
        "class Row:\n    def __init__(self):\n        self.code = self.message = ''",
        "class Entry:\n    pattern: str\n    cause: str",
        "def inside():\n    class Fault: pass",
    ],
)
def test_name_or_fields_give_a_second_class_away(text: str) -> None:
    assert list(suspects(text))


@pytest.mark.parametrize("text", ["class Seed: pass", "class Ruler: pass", "class Row:\n    found: str"])
def test_another_class_is_none_of_them(text: str) -> None:
    assert not list(suspects(text))
