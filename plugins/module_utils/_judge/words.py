"""Words of which every line that matches a pattern has one: found in the pattern itself, not written by hand.

Most lines of a log are harmless, and looking for words is a hundred times faster than trying patterns. Words hold no
digits, so that lines that differ in their figures alone have the same words. A token is what is between all that is no
letter: logs repeat tokens far more often than lines, and each is searched once.
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
EDGE = "\b"  # in a word of a pattern: a word of the line begins or ends here
_LETTERS = bytes(at if at > 127 or chr(at) in "_abcdefghijklmnopqrstuvwxyz" else 32 for at in range(256))
_ASCII = _LETTERS[:128] + b" " * 128
_KNOWN = 1 << 20  # bytes of tokens that are kept
_ZERO, _NINE = ord("0"), ord("9")
_FIGURE = re.compile(r"\\d|[0-9]|\(\?P=")  # what a group took may be digits
_COMMON = re.compile("[etaoinshrdl ]")
_MARK = re.compile(r"[^\w\s]")
_SIGN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]|[()|]", re.DOTALL)  # a bracket that comes first is one of the set
# What many lines have: another word tells more.
_OFTEN = b"""all change client connection data device driver error failed for from gpu host info invalid is kernel link
manager name net network no node not of on open port server service size start state status system time to""".split()
_WORD = re.compile(rf"{EDGE}*[a-z_]+{EDGE}*$")


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

    @functools.cached_property
    def pattern(self) -> Pattern[str]:
        return re.compile(self.text, re.IGNORECASE)


def letters_of(text: str) -> bytes:
    """In lower case, without digits."""
    return text.lower().encode("utf-8", "replace").translate(None, b"0123456789")


def way_of(word: str) -> Way:
    """Of all lines with this word."""
    return Way((((letters_of(word).decode()),),), False, False, "")


@functools.lru_cache(maxsize=None)
def all_ways(pattern: str) -> tuple[Way, ...]:
    """Also those that match without a word of three letters. Raises re.error."""
    found = []
    for text in _alternatives(pattern):
        parsed, figures = parser.parse(text, re.IGNORECASE), _FIGURE.search(text) is not None
        found.append(Way(_needs(parsed), figures and _digits(parsed), figures, text))
    return tuple(found)


def ways_of(pattern: str) -> tuple[Way, ...]:
    """Raises ValueError if there is a way to match without any word of three letters."""
    for way in all_ways(pattern):
        if not way.needs or not _worth(way.needs[0])[0]:
            raise ValueError(f"matches without a word of {SHORTEST} letters: {way.text}")
    return all_ways(pattern)


def _alternatives(text: str) -> list[str]:
    """A pattern, cut at the bars that no parenthesis or set contains."""
    cuts, depth = [-1], 0
    for sign in _SIGN.finditer(text):
        depth += {"(": 1, ")": -1}.get(sign[0], 0)
        if sign[0] == "|" and not depth:
            cuts.append(sign.start())
    return [text[start + 1 : end] for start, end in zip(cuts, [*cuts[1:], len(text)])]


def _plain(word: str) -> str:
    return word.replace(EDGE, "")


def _worth(words: Collection[str]) -> tuple[bool, int]:
    """The commonest word decides how many harmless lines get through: ``err`` is met more often than ``fcs``."""
    plain = [_plain(word) for word in words]
    return min(map(len, plain)) >= SHORTEST, min(2 * len(word) - len(_COMMON.findall(word)) for word in plain)


def _needs(parsed: Any, before: bool = False, after: bool = False) -> tuple[tuple[str, ...], ...]:
    """``before``, ``after``: it has an edge there."""
    found: set[frozenset[str]] = set()
    literal = EDGE * before
    items = [(EDGE if op is parser.AT and "NON" not in value.name else op.name, value) for op, value in parsed.data]
    items += [(EDGE * after, None), ("", None)]
    for (name, value), (following, _value) in zip(items, [*items[1:], ("", None)]):
        if name == EDGE:
            literal += EDGE
        elif name == "LITERAL" and value < 128:
            literal += "" if chr(value).isdigit() else chr(value).lower()
        else:
            if len(_plain(literal)) > 1 or _MARK.search(literal.strip(EDGE)):
                found.add(frozenset({literal}))
            found.update(map(frozenset, _inner(name, value, literal[-1:] == EDGE, following == EDGE)))
            literal = ""
    return tuple(map(tuple, sorted(map(sorted, found), key=lambda words: (_worth(words), words), reverse=True)))


def _inner(name: str, value: Any, before: bool, after: bool) -> tuple[tuple[str, ...], ...]:
    if name == "SUBPATTERN":
        return _needs(value[-1], before, after)
    if name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] >= 1:
        return _needs(value[2])
    if name == "IN" and all(inner.name == "LITERAL" and _MARK.match(chr(what)) for inner, what in value):
        return (tuple({chr(what) for _literal, what in value}),)
    if name == "BRANCH":
        parts = [_needs(part, before, after) for part in value[1]]
        return (tuple({word for part in parts for word in part[0]}),) if all(parts) else ()
    return ()


def _digits(parsed: Any) -> bool:
    if isinstance(parsed, tuple) and len(parsed) == 2:
        name, value = getattr(parsed[0], "name", ""), parsed[1]
        if name in ("LITERAL", "NOT_LITERAL", "RANGE"):
            low, high = value if name == "RANGE" else (value, value)
            return bool(low <= _NINE and high >= _ZERO and (low > _ZERO or high < _NINE))
        if name.startswith("GROUPREF"):
            return True
        return name not in ("CATEGORY", "AT", "ANY") and _digits(value)
    return isinstance(parsed, (list, tuple, parser.SubPattern)) and any(map(_digits, parsed))


def _rarity(part: bytes) -> tuple[bool, int]:
    return bool(part) and part.strip() not in _OFTEN, len(part)


def _part(word: str) -> bytes:
    """Its rarest part within a token, with a space where the token begins or ends; empty: it is too short."""
    text = word.encode().translate(_LETTERS)
    parts = (text[max(match.start() - 1, 0) : match.end() + 1] for match in re.finditer(rb"[^ ]+", text))
    return max((part for part in parts if len(part) >= SHORTEST), key=_rarity, default=b"")


class Index(Generic[Key]):
    """Which of many patterns a line may match."""

    def __init__(self, ways: Iterable[tuple[Key, Way]]) -> None:
        # Its first letters -> a part -> ways that need it, each with the other sets of which a line has a word each.
        self._starts: dict[bytes, dict[bytes, list[Any]]] = {}
        self._always: list[tuple[str, Any]] = []  # a word -> ways without such a part
        for key, way in ways:
            sets = sorted(way.needs, key=lambda words: min(map(_rarity, map(_part, words))), reverse=True) or [("",)]
            parts = set(map(_part, sets[0]))
            certain = all(parts) and all(map(_WORD.match, sets[0]))  # by its parts
            needs = [[_plain(word).encode().decode("latin-1") for word in words] for words in sets[certain:]]
            for part in parts if all(parts) else ():
                self._starts.setdefault(part[:SHORTEST], {}).setdefault(part, []).append((key, way, needs))
            self._always += [] if all(parts) else [(word, (key, way, needs[1:])) for word in needs[0]]
        self._known: set[bytes] = set()  # tokens; the size of all; those with a part, and which ways need it
        self._size = 0
        self._entries: dict[bytes, list[Any]] = {}
        # As `asked`. Answers are kept: most lines differ in their figures alone.
        self.possible: Callable[[bytes], Mapping[Key, list[Way]]] = functools.lru_cache(maxsize=1024)(self.asked)

    def asked(self, letters: bytes) -> Mapping[Key, list[Way]]:
        """``letters``: `letters_of` a line."""
        tokens = letters.translate(_LETTERS).split()
        if not self._known.issuperset(tokens):
            self._learn(tokens)
        text = letters.decode("latin-1")
        found: dict[Key, list[Way]] = {}
        always = [entry for word, entry in self._always if word in text]
        for entries in (always, *map(self._entries.__getitem__, self._entries.keys() & tokens)):
            for key, way, needs in entries:
                for words in needs:
                    for word in words:
                        if word in text:
                            break
                    else:
                        break
                else:
                    found.setdefault(key, []).append(way)
        return found

    def _learn(self, tokens: Iterable[bytes]) -> None:
        if self._size > _KNOWN:
            self._known, self._entries, self._size = set(), {}, 0
        for token in set(tokens) - self._known:
            # Letters of other scripts are part of a word, and their marks are not.
            text = b" %s " % token if token.isascii() else b" %s %s " % (token, token.translate(_ASCII))
            parts = map(self._starts.get, {text[at : at + SHORTEST] for at in range(len(text) - SHORTEST + 1)})
            entries = [entry for some in filter(None, parts) for part in some if part in text for entry in some[part]]
            self._known.add(token)
            self._size += sys.getsizeof(token)
            self._entries.update({token: entries} if entries else {})
