"""Lines that look like trouble, by the words of ``_judge/packs/alarms.yml``. Pure."""

from __future__ import annotations

import functools
import re

from .._judge.packs.loader import form
from .._judge.words import any_of, tree


def alarm_words() -> tuple[str, ...]:
    """A whole word of a line that alarms begins with one of these."""
    return (*any_of(form("failure", "alarms")), *any_of(form("hint", "alarms")))


def says_failure(text: str) -> bool:
    return any(form(name, "alarms").search(text) for name in ("failure", "inside"))


def alarms(text: str) -> bool:
    """It says that something failed, or has another word that complaints have."""
    if not _asked().search(text.lower()):
        return False
    return says_failure(text) or form("hint", "alarms").search(text) is not None


@functools.lru_cache(maxsize=1)
def _asked() -> re.Pattern[str]:
    """What a line that alarms has in lower case; most lines are spared the question."""
    return re.compile(rf"\b{tree(alarm_words())}|{form('inside_words', 'alarms').pattern}")


def bare(text: str) -> str:
    """The text without what takes the trouble out."""
    return form("nothing", "alarms").sub("", text) if form("nothing_words", "alarms").search(text) else text


def is_error(text: str) -> bool:
    """Its program calls it an error."""
    return form("level", "alarms").search(text) is not None


def is_echo(text: str) -> bool:
    """It tells how another process ended."""
    return form("echo", "alarms").search(text) is not None
