"""Mask by default: what a text keeps in clear is known to be harmless, and everything else could be a secret.

Known are the words of the field (words.txt, made by tests/unit/collect/vocabulary.py of the public sources of its
programs and of this collection), also joined to identifiers and paths; figures, times, versions; stand-ins of addresses
and names; up to 18 hexadecimal digits, and digests behind a word that says so. Of each piece of a word it is added up
how odd it is: unknown letters, single letters, digits between letters, rare signs.

The words before say how strict to be: behind the name of a password only words of everyday use stay, behind that of
a token or key only what is hardly odd, and little more near both. A text is read without its escapes (JSON at any
depth, percent, XML, Python).
"""

from __future__ import annotations

import bisect
import functools
import html
import re
from pathlib import Path
from typing import Iterator

from .patterns import form, forms

# Those of the last block are known alone: joined to another, to figures or signs they are how people make passwords.
_COMMON, _FIELD, _ALONE = (
    frozenset(block.split())
    for block in Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split("\n\n")[1:]
)
_LISTED = _COMMON | _FIELD
_KNOWN = _LISTED | _ALONE
# Accounts of every system: alone before the @ of an address they are no secret, and name no person.
USERS = frozenset({"root", "admin", "ubuntu", "nvidia", "git", "ec2-user", "core", "debian", "nobody", "user"})

_ODD = 6  # what is no word of the field
_LIMITS = (5, 3, 3)  # so odd is nothing: anywhere, in the neighbourhood of a secret's name, and behind it


@functools.lru_cache(1 << 16)
def _is_two(letters: str) -> bool:
    """Whether it is two words of the list that join."""
    low = letters.lower()
    return 6 < len(low) < 41 and any({low[:at], low[at:]} <= _LISTED for at in range(3, len(low) - 2))


def _is_word(letters: str) -> bool:
    return letters.lower() in _KNOWN or _is_two(letters)


def _is_alone(letters: str) -> bool:
    """Whether no source joins it to others, or its two halves."""
    low = letters.lower()
    return low in _ALONE or (not letters.startswith("lib") and low not in _LISTED and _is_two(letters))


def _oddity(part: str, strict: int) -> int:
    """How odd a part is that has no point or dash in it."""
    if _is_word(part) or not re.search(r"[^\W_]", part) or form("units").fullmatch(part):
        return 0
    if part.isdigit():
        return _ODD * (len(part) > 7 and strict > 1)
    if form("hexadecimal").fullmatch(part):
        return _ODD * (len(part) > ((18, 18, 10) if part.startswith("0x") else (18, 15, 5))[strict])
    odd, runs = 5 * bool(form("leet").fullmatch(part)), form("run").findall(part)
    for before, run, after in zip(["", *runs], runs, [*runs[1:], ""]):
        if run[0].isdigit():
            glued = before.isalpha() and after.isalpha() and min(len(before), len(after)) < 3
            odd += 2 * glued + (len(run) > 6) * (before.isalpha() or after.isalpha())
        elif not run.isalpha():
            odd += 6 if run == "!" and before.isalpha() and after.isdigit() else 2 + (strict > 1)
        elif not _is_word(run):
            for letters in form("joined_letters").findall(run):
                if len(letters) == 1:
                    odd += 2
                elif len(letters) == 2:
                    odd += 1 if _is_word(letters) else 4
                elif not _is_word(letters):
                    odd += _ODD
    return odd


@functools.lru_cache(1 << 18)
def _strange(token: str, strict: int) -> tuple[int, int] | None:
    """From where to where something in a token could be a secret."""
    if form("address").fullmatch(token):
        return None
    pieces = []
    token = form("mangled").sub(lambda match: "_" * len(match[0]), token)
    for piece in form("piece").finditer(token):
        bare = piece[0].rstrip("*.!?") if re.match(r"[A-Za-z_]+[*.!?]+$|[^A-Za-z]+$", piece[0]) else piece[0]
        if strict > 1 and re.fullmatch(r"(?=.*[a-f])[0-9a-f-]+", bare):
            bare = bare.replace("-", "")
        odd = sum(_oddity(part, strict) for part in re.split(r"[._+~^-]", bare) if part)
        odd += 3 * bool(strict > 1 and form("word_and_figures").search(bare))
        odd = max(odd, _ODD * bool(form("made_by_people").fullmatch(bare))) * (not form("named").fullmatch(bare))
        known = bare.lower() in _ALONE or form("hexadecimal").fullmatch(bare)
        alone = 0 if known else sum(map(_is_alone, form("joined_words").findall(bare)))
        joined = odd + (3 * alone - (strict < 2) + 3 * bool(form("mixed").search(bare)) if alone else 0)
        pieces.append((piece.start(), piece.end(), odd, joined))
    most = max((joined for _start, _end, _odd, joined in pieces), default=0)
    if most < _LIMITS[strict]:
        return None
    # A secret may hold what ends a piece: what is a little odd goes with it.
    taken = [(start, end) for start, end, odd, joined in pieces if odd or joined >= _LIMITS[strict]]
    return taken[0][0], taken[-1][1]


def spans(text: str) -> list[tuple[int, int, str]]:
    """Start, end and value of what could be a secret, in order, none within another. The value is without escapes."""
    view, places = _unescaped(text)
    found = set(_found(view))
    if places:
        found = {(_original(places, one, first=True), _original(places, two, first=False)) for one, two in found}
        # A quote within a value ends it in the view.
        found |= set(_found(text, only_values=True))
    joined: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return [(start, end, _unescaped(text[start:end])[0]) for start, end in joined]


def _found(view: str, only_values: bool = False) -> Iterator[tuple[int, int]]:
    for whole in forms("secrets"):
        for match in whole.finditer(view):
            if match[0] not in USERS and not form("nothing").fullmatch(match[0]):
                yield match.span()
    near = bytearray(len(view))
    for token in form("token").finditer(view):
        if _is_name(token[0]):
            for name in form("secret_name").finditer(view, token.start(), token.end() + 99):
                if name.start() >= token.end():
                    break
                yield from _values(view, name, only_values)
                zone = form("near").match(view, name.end())
                end = zone.end(1 if name["strong"] else 2) if zone else 0
                start = max(view.rfind("\n", 0, name.start()), name.start() - 200, 0)
                near[start:end] = b"\1" * (end - start)
    if not only_values:
        for token in form("token").finditer(view):
            yield from _part(view, token, near[token.start()])


@functools.lru_cache(1 << 18)
def _is_name(token: str) -> bool:
    return form("secret_name").search(f"{token}: {token} x:") is not None


def _part(view: str, token: re.Match[str], strict: int) -> Iterator[tuple[int, int]]:
    """What of a token could be a secret."""
    part = _strange(token[0], strict)
    if part:
        start, end = token.start() + part[0], token.start() + part[1]
        if strict > 1 or not _is_digest(view, start, end):
            yield start, end


def _is_digest(view: str, start: int, end: int) -> bool:
    """Whether it is one in a field where none is secret."""
    if not re.fullmatch(r"[0-9a-f]{19,}", view[start:end]):
        return False
    return bool(form("before_digest").search(view, max(0, start - 40), start) or form("checksum").match(view, start))


def _values(view: str, name: re.Match[str], only_values: bool) -> Iterator[tuple[int, int]]:
    """What is behind a name: its value as a whole, or the words that follow."""
    strong = (name["strong"] or "").lower()
    behind = form("behind_name").match(view, name.end())
    place = behind.end() if behind else name.end()
    value_follows = bool(behind and behind.lastgroup)
    header = value_follows and strong in ("authorization", "cookie")
    if value_follows and re.search(r"\w=[ \t]+$", view[name.start() : place]):
        return  # it is empty
    if strong and behind and value_follows and not header:
        yield from _value_of(view, place, is_said=behind.lastgroup == "said" or view[place - 1] == "\n")
        return
    if only_values:
        return
    line = view.find("\n", place)
    zone = 1 if name["option"] else 1 << 20 if header else 6 if strong else 1 if value_follows else 3
    for number, token in enumerate(form("token").finditer(view, place, line if line >= 0 else len(view))):
        if number >= zone:
            break
        if form("nothing").fullmatch(token[0]):
            continue
        if name["option"]:
            if re.match(r"[^/~-].*[A-Za-z]|[A-Za-z]", token[0]) and not _is_spoken(token[0]):
                yield token.span()
        elif strong and (number < 2 or header) and not _is_spoken(token[0]):
            yield token.span()
        else:
            yield from _part(view, token, strict=2)


def _value_of(view: str, place: int, is_said: bool) -> Iterator[tuple[int, int]]:
    """The whole value behind the name of a password."""
    value = form("value").match(view, place)
    if not value:
        return
    start, end = value.span(value.lastindex or 0)
    bare = view[start:end].rstrip(",;)}] \t")
    path = bare[:1] in ("/", "~") and not _strange(bare, 2)
    spoken = is_said and _is_spoken(bare)
    if bare and not (form("nothing").fullmatch(bare) or form("reference").match(bare) or spoken or path):
        yield start, start + len(bare)


def _is_spoken(token: str) -> bool:
    """Whether a token is a word of everyday use, or names a secret itself."""
    word = form("spoken").fullmatch(token)
    return bool(word and (word[1].lower() in _COMMON or form("secret_name").fullmatch(word[1])))


_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}


def _one(escape: str) -> str:
    if escape[0] in "'\0" or escape[-1].isspace():
        return {"'": "'", "\0": ""}.get(escape[0], " ")
    if escape[0] == "%":
        return chr(int(escape[-2:], 16))
    if escape[0] == "&":
        return html.unescape("&" + escape.rpartition("&")[2].replace("amp;", "", escape.count("amp;") - 1))[:1]
    last = escape.lstrip("\\")
    return (
        chr(int(last[1:], 16))
        if last[0] in "uxUX" and len(last) > 1
        else _LETTERS.get(last, html.unescape(last.replace("amp;", "")))
    )


def _unescaped(text: str) -> tuple[str, list[tuple[int, int, int]]]:
    """The text without escapes; of each escape its place there, its start and its end here. Empty: there are none."""
    places: list[tuple[int, int, int]] = []
    shorter = 0

    def letter(match: re.Match[str]) -> str:
        nonlocal shorter
        found = _one(match[0])
        places.append((match.start() - shorter, *match.span()))
        shorter += len(match[0]) - len(found)
        return found

    text = form("query").sub(lambda match: match[0].replace("+", " "), text)
    return form("escape").sub(letter, text), places


def _original(places: list[tuple[int, int, int]], place: int, first: bool) -> int:
    """Where a place of the text without escapes lies in the original: the start of a span, or the end of one."""
    index = bisect.bisect_right(places, (place if first else place - 1, 1 << 62, 0)) - 1
    if index < 0:
        return place
    at, start, end = places[index]
    return start if first and at == place else end + place - at - 1
