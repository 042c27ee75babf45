"""Lines that look like trouble, by the words of ``_judge/packs/alarms.yml``. Pure."""

from __future__ import annotations

import functools
import re

from .._judge.packs.loader import form
from .._judge.words import any_of, tree


def alarm_words() -> tuple[str, ...]:
    """A whole word of a line that alarms begins with one of these."""
    return tuple(word for name in ("failure", "hint", "demand") for word in any_of(form(name, "alarms")))


def says_failure(text: str) -> bool:
    return says("failure", text) or says("inside", text)


def may_alarm(lower: str) -> bool:
    """``lower``: a line in lower case, with its digits or without."""
    return _asked().search(lower) is not None


def alarms(text: str, *more: str) -> bool:
    """It says that something failed, has another word that complaints have, or says one of ``more``."""
    return may_alarm(text.lower()) and (says_failure(text) or any(says(what, text) for what in ("hint", *more)))


@functools.lru_cache(maxsize=1)
def _asked() -> re.Pattern[str]:
    """What a line that alarms has in lower case; most lines are spared the question."""
    return re.compile(rf"\b{tree(alarm_words())}|{form('inside_words', 'alarms').pattern}")


def bare(text: str) -> str:
    """The text without what takes the trouble out."""
    return form("nothing", "alarms").sub("", text) if form("nothing_words", "alarms").search(text) else text


def says(what: str, text: str) -> bool:
    """``what``: failure, hint, level (its program calls it an error), demand, echo (how another process ended)."""
    return form(what, "alarms").search(text) is not None
