"""Lines that look like trouble, by the words of ``_judge/packs/alarms.yml``. Pure."""

from __future__ import annotations

import functools
import re

from .._judge.packs.loader import form
from .._judge.words import Index, all_ways, any_of, letters_of, tree


def alarm_words() -> tuple[str, ...]:
    """A whole word of a line that alarms begins with one of these."""
    return tuple(word for name in ("failure", "hint", "demand") for word in any_of(form(name, "alarms")))


def says_failure(text: str) -> bool:
    return says("failure", text) or says("inside", text)


def may_alarm(letters: str) -> bool:
    """``letters``: `letters_of` a line."""
    return _asked().search(letters) is not None


def alarms(text: str, *more: str) -> bool:
    """It says that something failed, has another word that complaints have, or says one of ``more``."""
    return may_alarm(letters_of(text)) and (says_failure(text) or any(says(what, text) for what in ("hint", *more)))


@functools.lru_cache(maxsize=1)
def _asked() -> re.Pattern[str]:
    """What a line that alarms has in lower case; most lines are spared the question."""
    return re.compile(rf"\b{tree(alarm_words())}|{form('inside_words', 'alarms').pattern}")


def bare(text: str) -> str:
    """The text without what takes the trouble out."""
    possible = _nothing().possible(letters_of(text))
    return _any_of(tuple(sorted(possible))).sub("", text) if possible else text


@functools.lru_cache(maxsize=1)
def _nothing() -> Index[int]:
    return Index(enumerate(all_ways(form("nothing", "alarms"))))


@functools.lru_cache(maxsize=512)
def _any_of(numbers: tuple[int, ...]) -> re.Pattern[str]:
    """Of what takes trouble out, these alone: the whole is slow."""
    ways = [all_ways(form("nothing", "alarms"))[number] for number in numbers]
    return re.compile("|".join(way.text for way in ways), ways[0].flags)


def says(what: str, text: str) -> bool:
    """``what``: failure, hint, level (its program calls it an error), demand, echo (how another process ended)."""
    return form(what, "alarms").search(text) is not None
