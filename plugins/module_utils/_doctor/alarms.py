"""Lines that look like trouble, by the words of ``_judge/packs/alarms.yml``. Pure."""

from __future__ import annotations

import functools
from typing import Container

from .._judge.packs.loader import form
from .._judge.words import Index, Way, all_ways, letters_of, way_of, ways_of


def says_failure(text: str) -> bool:
    return says("failure", text) or says("inside", text)


def alarms(text: str, *more: str) -> bool:
    """It says that something failed, has another word that complaints have, or says one of ``more``."""
    return says_failure(text) or any(says(what, text) for what in ("hint", *more))


def alarm_ways() -> list[tuple[str, Way]]:
    """Of every line that `alarms`, by what it says."""
    whole = [(name, way) for name in ("failure", "hint", "demand") for way in ways_of(form(name, "alarms").pattern)]
    return [*whole, *(("inside", way_of(way.text)) for way in all_ways(form("inside_words", "alarms").pattern))]


def trouble_of(text: str, may: Container[object] = ("failure", "inside", "hint", "demand")) -> str:
    """alarms: it says that something failed; hints: it has a word that complaints have, too; mild: only such that
    harmless lines have; empty: it has none. ``may``: what it may say, by `alarm_ways`."""
    if any(what in may and form(what, "alarms").search(text) for what in ("failure", "inside")):
        return "hints" if form("warning").search(text) else "alarms"
    if any(what in may and form(what, "alarms").search(text) for what in ("hint", "demand")):
        return "mild" if form("mild").search(text) else "hints"
    return ""


@functools.lru_cache(maxsize=1024)
def has_nothing(text: str) -> bool:
    """Something in it takes trouble out. The answer for a text with 0 for each digit is that for any digits, or yes."""
    return any(ways[0].pattern.search(text) for ways in _nothing().possible(letters_of(text)).values())


def bare(text: str) -> str:
    """The text without what takes the trouble out."""
    for _number, ways in sorted(_nothing().possible(letters_of(text)).items()):
        text = ways[0].pattern.sub("", text)
    return text


@functools.lru_cache(maxsize=1)
def _nothing() -> Index[int]:
    return Index(enumerate(all_ways(form("nothing", "alarms").pattern)))


def says(what: str, text: str) -> bool:
    """``what``: failure, hint, level (its program calls it an error), demand, echo (how another process ended)."""
    return what in _said().possible(letters_of(text)) and form(what, "alarms").search(text) is not None


@functools.lru_cache(maxsize=1)
def _said() -> Index[str]:
    names = ("failure", "hint", "inside", "demand", "level", "echo", "raises", "heading")
    return Index((name, way) for name in names for way in all_ways(form(name, "alarms").pattern))
