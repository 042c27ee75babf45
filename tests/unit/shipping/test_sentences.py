"""Tests hold codes, places and values, and seldom a sentence: a message can be written anew without touching them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.unit.roles.collection import ROOT

MOST = 150
_SENTENCE = re.compile(r"(?<![\w/-])[A-Za-z][a-z']*(?:,? [A-Za-z][a-z']*){3,}(?![\w/-])")  # four words or more


def _holds_sentence(node: ast.expr) -> bool:
    texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
    return any(isinstance(text, str) and _SENTENCE.search(text) for text in texts)


def _sentences(source: str) -> Iterator[int]:
    """Lines of asserts (their messages apart) and of patterns for ``match`` that hold a sentence."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert):
            held = node.test
        elif isinstance(node, ast.keyword) and node.arg == "match":
            held = node.value
        else:
            continue
        if _holds_sentence(held):
            yield held.lineno


def test_few_asserts_hold_a_sentence() -> None:
    files = sorted((ROOT / "tests").rglob("*.py"))
    found = [f"{path.relative_to(ROOT)}:{line}" for path in files for line in _sentences(path.read_text())]
    assert len(files) > 300
    assert len(found) <= MOST, "hold a code, a place or a value instead:\n" + "\n".join(found)


def test_sentence_in_assert_or_match_is_counted() -> None:
    source = """
assert "the host is down" in text
assert code == "host_down", "the host is down"
assert "esx01 is down" in text
with raises(Error, match="no other host is open"):
    pass
"""
    assert list(_sentences(source)) == [2, 5]
