"""Lines that look like trouble, by the words of ``_judge/packs/alarms.yml``. Pure."""

from __future__ import annotations

import functools
import re

from .._judge.packs.loader import form
from .._judge.words import Index, all_ways, any_of, letters_of


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
    """What a line that alarms has in lower case, at the head of a word; most lines are spared the question."""
    return re.compile(
        rf"\b(?:{'|'.join(map(re.escape, alarm_words(inside=False)))})|{form('inside_words', 'alarms').pattern}"
    )


def alarm_words(inside: bool = True) -> list[str]:
    """Of these words, in lower case, every line for which `may_alarm` has one; ``inside``: those within a word, too."""
    words = [word for name in ("failure", "hint", "demand") for word in any_of(form(name, "alarms"))]
    return [*words, *(way.text for way in all_ways(form("inside_words", "alarms")) if inside)]


def bare(text: str) -> str:
    """The text without what takes the trouble out."""
    for _number, ways in sorted(_nothing().possible(letters_of(text)).items()):
        text = ways[0].pattern.sub("", text)
    return text


@functools.lru_cache(maxsize=1)
def _nothing() -> Index[int]:
    return Index(enumerate(all_ways(form("nothing", "alarms"))))


def says(what: str, text: str) -> bool:
    """``what``: failure, hint, level (its program calls it an error), demand, echo (how another process ended)."""
    return form(what, "alarms").search(text) is not None
