"""Lines that look like trouble, by the words of ``_judge/packs/alarms.yml``. Pure."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple, Pattern

from .._judge.packs import loader
from .._judge.words import any_of


class Alarms(NamedTuple):
    """``words``: a line that alarms begins a word with one of these, or has one of ``inside``: looked for before the
    pattern is asked. ``echo``: tells how another ended; ``level``: its program calls it an error."""

    failure: Pattern[str]
    alarm: Pattern[str]
    words: tuple[str, ...]
    begins: Pattern[str]
    inside: tuple[str, ...]
    nothing: Pattern[str]
    nothing_words: Pattern[str]
    echo: Pattern[str]
    level: Pattern[str]

    def in_line(self, text: str) -> bool:
        """Whether ``alarm`` finds something; most lines are spared the question."""
        lower = text.lower()
        asked = any(word in lower for word in self.inside) or self.begins.search(lower) is not None
        return asked and self.alarm.search(text) is not None

    def bare(self, text: str) -> str:
        """The text without what takes the trouble out."""
        return self.nothing.sub("", text) if self.nothing_words.search(text) else text


@functools.lru_cache(maxsize=None)
def alarms() -> Alarms:
    """Raises PackError, and ImportError without PyYAML."""
    data = loader.load().lists["alarms"]
    said = {key: "|".join(value).replace("\n", "") for key, value in data.items() if not isinstance(value, str)}
    failure, both = (rf"\b(?:{text})\b" for text in (said["failure"], f"{said['failure']}|{said['hint']}"))
    words = any_of(re.compile(both))
    patterns = {"failure": f"{failure}|{data['inside']}", "alarm": f"{both}|{data['inside']}"}
    patterns |= {name: said[name] for name in ("nothing", "nothing_words", "echo")}
    return Alarms(
        level=re.compile(said["level"]),
        words=words,
        begins=re.compile(rf"\b(?:{'|'.join(words)})"),
        inside=tuple(data["inside_words"]),
        **{name: re.compile(text, re.IGNORECASE) for name, text in patterns.items()},
    )
