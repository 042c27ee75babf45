"""Words of which every line that matches a pattern has one: found in the pattern itself, not written by hand.

Most lines of a log are harmless, and looking for words is a hundred times faster than trying patterns. Words hold no
digits, so that lines that differ in their figures alone have the same words.
"""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any, Iterable, Pattern

_parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
SHORTEST = 3
_ZERO, _NINE = ord("0"), ord("9")


def words_of(pattern: Pattern[str]) -> tuple[str, ...]:
    """Lower case. Raises ValueError if there is a way to match without any word of three letters."""
    found = _words(_parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))
    if not found:
        raise ValueError(f"matches without a word of {SHORTEST} letters: {pattern.pattern}")
    return tuple(sorted(found))


def _worth(words: Iterable[str]) -> int:
    """The shortest word decides how many harmless lines get through."""
    return min(map(len, words), default=0)


def _words(parsed: Any) -> frozenset[str]:
    best: frozenset[str] = frozenset()
    literal = ""
    for operation, value in [*parsed, (None, None)]:
        name = str(operation)
        if name == "LITERAL" and not chr(value).isdigit() and value < 128:
            literal += chr(value).lower()
            continue
        if len(literal) >= SHORTEST and len(literal) > _worth(best):
            best = frozenset({literal})
        literal = ""
        inner = _inner(name, value)
        if _worth(inner) > _worth(best):
            best = inner
    return best


def _inner(name: str, value: Any) -> frozenset[str]:
    if name == "SUBPATTERN":
        return _words(value[-1])
    if name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] >= 1:
        return _words(value[2])
    if name == "BRANCH":
        parts = [_words(part) for part in value[1]]
        return frozenset().union(*parts) if all(parts) else frozenset()
    return frozenset()


def where_digits_matter(pattern: Pattern[str]) -> tuple[str, ...] | None:
    """Lines that differ in some digits alone may differ for this pattern only if they have one of these words, those of
    its alternatives that name a digit or some of them (``\\d`` takes any). None: wherever it is."""
    parsed = _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    items = list(parsed)
    branched = len(items) == 1 and str(items[0][0]) == "BRANCH"
    found = [_words(part) for part in (items[0][1][1] if branched else [parsed]) if _apart(part)]
    empty: frozenset[str] = frozenset()
    return tuple(sorted(empty.union(*found))) if all(found) else None


def _apart(parsed: Any) -> bool:
    if isinstance(parsed, tuple) and len(parsed) == 2:
        name, value = str(parsed[0]), parsed[1]
        if name in ("LITERAL", "NOT_LITERAL"):
            return bool(_ZERO <= value <= _NINE)
        if name == "RANGE":
            low, high = value
            return bool(low <= _NINE and high >= _ZERO and (low > _ZERO or high < _NINE))
        if name.startswith("GROUPREF"):
            return True
        return name not in ("CATEGORY", "AT", "ANY") and _apart(value)
    if isinstance(parsed, (list, tuple, _parser.SubPattern)):
        return any(_apart(part) for part in parsed)
    return False


def one_of(words: Iterable[str], whole: Iterable[str]) -> Pattern[bytes]:
    """A pattern that finds any of the words, and any that begins with one of ``whole``. As a tree: alternatives one by
    one would cost a try per word and place."""
    return re.compile(f"{_spell(_tree(words))}|\\b{_spell(_tree(whole))}".encode())


def _tree(words: Iterable[str]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for word in words:
        node = tree
        for letter in word:
            node = node.setdefault(letter, {})
        node[""] = {}
    return tree


def _spell(node: dict[str, Any]) -> str:
    if "" in node:
        return ""  # a shorter word is found already
    parts = [re.escape(letter) + _spell(rest) for letter, rest in sorted(node.items())]
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"
