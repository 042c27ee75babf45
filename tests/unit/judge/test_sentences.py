"""What judges say lies in YAML files: each code is used, each use has its code, and every word in braces is given."""

from __future__ import annotations

import ast
import string
from pathlib import Path
from typing import Iterator

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils import _yaml_files as yaml_files

ROOMS = Path(yaml_files.__file__).parent
# Function that says a sentence -> its file, place of the code among its arguments, and words that it gives itself.
SAYS = {
    "found": ("_preflight/findings.yml", 0, {"place"}),
    "fault": ("_fabric/faults.yml", 0, set()),
    "remedy": ("_fabric/faults.yml", 0, set()),
    "ending": ("_results/launch/endings.yml", 0, {"rank"}),
    "of": ("_results/launch/endings.yml", 0, {"rank", "who"}),
    "refusal": ("_judge/refusals.yml", 0, set()),
    "_wrong": ("_preflight/values.yml", 1, {"variable"}),
    "doubts.add": ("_proof/doubts.yml", 0, set()),
    "doubts.add_if": ("_proof/doubts.yml", 1, {"these"}),
}
FILES = sorted({file for file, _place, _words in SAYS.values()})


def codes(file: str) -> dict[str, dict[str, str]]:
    table = yaml_files.read(ROOMS / file)
    return table["contradictions"] if file == "_preflight/values.yml" else table


def constants(node: ast.expr) -> list[str]:
    return [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Function, code and call, of each code that is written at its call."""
    for path in ROOMS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name in SAYS and len(node.args) > SAYS[name][1]:
                code = node.args[SAYS[name][1]]
                texts = [code.body, code.orelse] if isinstance(code, ast.IfExp) else [code]
                yield from ((name, text.value, node) for text in texts if isinstance(text, ast.Constant))


def words(sentence: dict[str, str]) -> set[str]:
    return {name for text in sentence.values() for _text, name, _spec, _way in string.Formatter().parse(text) if name}


def test_calls_name_codes_that_exist_and_give_their_words() -> None:
    seen = list(calls())
    assert len(seen) > 130
    for name, code, call in seen:
        file, place, own = SAYS[name]
        assert code in codes(file), (file, code)
        given = {keyword.arg for keyword in call.keywords}
        # A remedy alone has no words; a mapping of words is looked at by the tests of its room.
        if name != "remedy" and None not in given and not (name == "of" and len(call.args) > place + 2):
            assert words(codes(file)[code]) <= given | own, (file, code)


@pytest.mark.parametrize("file", FILES)
def test_codes_are_used(file: str) -> None:
    room = (ROOMS / file).parent if file != "_judge/refusals.yml" else ROOMS
    texts = {text for path in room.rglob("*.py") for text in constants(ast.parse(path.read_text()))}  # type: ignore[arg-type]
    # What a probe's error means, and what NICs of a rail have in common, is named by the table alone.
    named = {
        code for code, said in codes(file).items() if code.startswith("slow_") or {"errors", "alike"} & said.keys()
    }
    assert codes(file).keys() - texts - named == set()
