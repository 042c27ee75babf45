"""Words of which every line that matches a pattern has one: found in the pattern itself, not written by hand.

Most lines of a log are harmless, and looking for words is a hundred times faster than trying patterns. Words hold no
digits, so that lines that differ in their figures alone have the same words.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import re
import sys
from typing import Any, Callable, Collection, Generic, Iterable, Mapping, Pattern, TypeVar

parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
Key = TypeVar("Key")
SHORTEST = 3
_NO_DIGITS = str.maketrans("", "", "0123456789")
_ZERO, _NINE = ord("0"), ord("9")
_FIGURE = re.compile(r"\\d|[0-9]")
_COMMON = re.compile("[etaoinshrdl ]")
_MARK = re.compile(r"[^\w\s]")


@dataclasses.dataclass(frozen=True)
class Way:
    """One alternative of a pattern. ``needs``: of each set, a matching line has a word at least, in lower case; the
    first set has the rarest, and the last ones may be marks such as ``(`` or two letters. ``digits``: lines that differ
    in some digits alone may differ for it (``\\d`` takes any); ``figures``: it has digits at all.
    """

    needs: tuple[tuple[str, ...], ...]
    digits: bool
    figures: bool
    text: str
    flags: int

    @functools.cached_property
    def pattern(self) -> Pattern[str]:
        return re.compile(self.text, self.flags)

    @property
    def has_words(self) -> bool:
        """The first set holds words of three letters or more."""
        return bool(self.needs) and min(map(len, self.needs[0])) >= SHORTEST


def letters_of(text: str) -> str:
    """In lower case, without digits."""
    return text.lower().translate(_NO_DIGITS)


def way_of(word: str) -> Way:
    """Of all lines with this word."""
    return Way(((letters_of(word),),), False, False, re.escape(word), 0)


@functools.lru_cache(maxsize=None)
def all_ways(pattern: Pattern[str]) -> tuple[Way, ...]:
    """Also those that match without a word of three letters."""
    found = []
    for text in _alternatives(pattern.pattern):
        flags = pattern.flags & ~re.UNICODE
        parsed = parser.parse(text, flags)
        found.append(Way(_needs(parsed), _digits(parsed), _FIGURE.search(text) is not None, text, flags))
    return tuple(found)


def ways_of(pattern: Pattern[str]) -> tuple[Way, ...]:
    """Raises ValueError if there is a way to match without any word of three letters."""
    for way in all_ways(pattern):
        if not way.has_words:
            raise ValueError(f"matches without a word of {SHORTEST} letters: {way.text}")
    return all_ways(pattern)


def any_of(pattern: Pattern[str]) -> tuple[str, ...]:
    """Of these words, in lower case, every line that matches has one. Raises ValueError as `ways_of`."""
    return tuple(sorted({word for way in ways_of(pattern) for word in way.needs[0]}))


def _alternatives(text: str) -> list[str]:
    """A pattern, cut at the bars that no parenthesis or set contains."""
    cuts, depth, inside, at = [-1], 0, -1, 0
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 1
        elif inside >= 0:
            # A bracket that comes first is one of the set.
            inside = -1 if sign == "]" and text[inside + 1 : at] not in ("", "^") else inside
        elif sign == "[":
            inside = at
        elif sign in "()":
            depth += 1 if sign == "(" else -1
        elif sign == "|" and not depth:
            cuts.append(at)
        at += 1
    return [text[start + 1 : end] for start, end in zip(cuts, [*cuts[1:], len(text)])]


def _worth(words: Collection[str]) -> tuple[bool, int]:
    """The commonest word decides how many harmless lines get through: ``err`` is met more often than ``fcs``."""
    return min(map(len, words)) >= SHORTEST, min(2 * len(word) - len(_COMMON.findall(word)) for word in words)


def _needs(parsed: Any) -> tuple[tuple[str, ...], ...]:
    found: set[frozenset[str]] = set()
    literal = ""
    for operation, value in [*parsed, (None, None)]:
        name = str(operation)
        if name == "LITERAL" and not chr(value).isdigit() and value < 128:
            literal += chr(value).lower()
            continue
        if len(literal) > 1 or _MARK.search(literal):
            found.add(frozenset({literal}))
        literal = ""
        found.update(map(frozenset, _inner(name, value)))
    return tuple(map(tuple, sorted(map(sorted, found), key=lambda words: (_worth(words), words), reverse=True)))


def _inner(name: str, value: Any) -> tuple[tuple[str, ...], ...]:
    if name == "SUBPATTERN":
        return _needs(value[-1])
    if name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] >= 1:
        return _needs(value[2])
    if name == "IN" and all(str(inner) == "LITERAL" and _MARK.match(chr(what)) for inner, what in value):
        return (tuple({chr(what) for _literal, what in value}),)
    if name == "BRANCH":
        parts = [_needs(part) for part in value[1]]
        return (tuple({word for part in parts for word in part[0]}),) if all(parts) else ()
    return ()


def _digits(parsed: Any) -> bool:
    if isinstance(parsed, tuple) and len(parsed) == 2:
        name, value = str(parsed[0]), parsed[1]
        if name in ("LITERAL", "NOT_LITERAL"):
            return bool(_ZERO <= value <= _NINE)
        if name == "RANGE":
            low, high = value
            return bool(low <= _NINE and high >= _ZERO and (low > _ZERO or high < _NINE))
        if name.startswith("GROUPREF"):
            return True
        return name not in ("CATEGORY", "AT", "ANY") and _digits(value)
    if isinstance(parsed, (list, tuple, parser.SubPattern)):
        return any(_digits(part) for part in parsed)
    return False


class Index(Generic[Key]):
    """Which of many patterns a line may match. Lines have many tokens in common: what is in a token is kept."""

    _TOKENS = 1 << 22  # letters of all tokens that are kept

    def __init__(self, ways: Iterable[tuple[Key, Way]]) -> None:
        # A word -> which ways need it, and what else they need; "": those without a word of three letters.
        self._ways: dict[str, list[tuple[Key, Way, tuple[tuple[str, ...], ...]]]] = {"": []}
        for key, way in ways:
            for word in way.needs[0] if way.has_words else ("",):
                self._ways.setdefault(word, []).append((key, way, way.needs[1:] if word else way.needs))
        # What is between two spaces is a token -> the words with it. Of other words the longest part is within a token;
        # parts by their first letters.
        self._whole: dict[str, list[str]] = {}
        self._parts: dict[str, dict[str, list[str]]] = {}
        for word in sorted(self._ways.keys() - {""}):
            parts = word.split(" ")
            inner, part = max(parts[1:-1], key=len, default=""), max(parts, key=len)
            if inner:
                self._whole.setdefault(inner, []).append(word)
            else:
                self._parts.setdefault(part[:SHORTEST], {}).setdefault(part, []).append(word)
        self._lengths = {len(start) for start in self._parts}
        self._known: set[str] = set()  # tokens; those with words, and which; letters of all
        self._words: dict[str, tuple[str, ...]] = {}
        self._size = 0
        # As `asked`. Answers are kept: most lines differ in their figures alone.
        self.possible: Callable[[str], Mapping[Key, list[Way]]] = functools.lru_cache(maxsize=1024)(self.asked)

    def asked(self, letters: str) -> Mapping[Key, list[Way]]:
        """``letters``: `letters_of` a line."""
        if self._size > self._TOKENS:
            self._known, self._words, self._size = set(), {}, 0
        tokens = set(letters.split(" "))
        for token in tokens - self._known:
            self._learn(token)
        words = {"", *(word for token in tokens & self._words.keys() for word in self._words[token])}
        found: dict[Key, list[Way]] = {}
        for word in words:
            if " " not in word or word in letters:
                for key, way, needs in self._ways[word]:
                    for others in needs:
                        for other in others:
                            if other in letters:
                                break
                        else:
                            break
                    else:
                        found.setdefault(key, []).append(way)
        return found

    def _learn(self, token: str) -> None:
        starts = {token[at : at + length] for length in self._lengths for at in range(len(token) - length + 1)}
        parts = (each for start in starts & self._parts.keys() for each in self._parts[start].items())
        words = (*self._whole.get(token, ()), *(word for part, words in parts if part in token for word in words))
        self._known.add(token)
        self._size += len(token)
        if words:
            self._words[token] = words
