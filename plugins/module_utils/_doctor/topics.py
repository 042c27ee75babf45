"""Where no rule says more: what the nouns of a person's lines are about, and the last words of a program. Pure."""

from __future__ import annotations

import re
from typing import Iterable, Iterator

from .._judge.packs.loader import form
from .._judge.packs.model import HARMLESS, Rule
from .alarms import says
from .catalogue import catalogue, listed
from .ranking import fault_line
from .reading import Reading
from .seen import Hit
from .suspect import Suspect

_LAST = 6  # lines of a text in which a program says why it ended
_NARROW, _BROAD, _LATER = 1.0, 0.5, 0.1  # weights: what a topic is about first, and what else it may be
_SOURCE = "the words of the field: what a line that no rule knows is about"


def with_topics(found: list[Suspect], reading: Reading) -> list[Suspect]:
    """Narrow topics of lines that a person wrote, what was found, broad topics, and what else each of them may be.
    Lines without a word of trouble are heard, too, if none of them is a good word."""
    quiet = not any(entry.sign.kind in HARMLESS for entry in reading.seen.values())
    about = sorted(_about(reading.opening if quiet else reading.troubled()), key=lambda each: -each.weight)
    ordered: dict[str, Suspect] = {}
    for finding in (*(each for each in about if each.weight == _NARROW), *found, *about):
        ordered.setdefault(finding.cause.id, finding)
    return list(ordered.values())


def own_words(reading: Reading) -> list[Suspect]:
    """A program that ended says itself what failed, in words that no rule knows, and not that it reached no other."""
    line = None if any(reading.seen.of(listed("unreached"))) else fault_line(reading)
    ends = [hit for entry in reading.seen.of(listed("aborts")) for hit in entry.hits[:1]]
    if line is None or line.sign or line.placed or says("echo", line.quote) or form("of_system").search(line.quote):
        return []
    last = not reading.is_short and line.line > reading.lines - _LAST and says("level", line.quote)
    if not (ends or last) or not reading.field:
        return []
    rule = Rule("own_words", "own_words", ("application_failed",), "the program's own words")
    return [Suspect(catalogue().causes["application_failed"], 1.0, [line, *ends], [rule])]


def _about(lines: Iterable[Hit]) -> Iterator[Suspect]:
    kept = [line for line in lines if not form("routine").search(line.quote)]
    telling = [(line, form("source_line").sub("", line.quote)) for line in kept]
    for topic in catalogue().topics:
        hits = [line for line, text in telling if re.search(topic.text, text, re.I)]
        rule = Rule(f"topic_{topic.name}", f"topic_{topic.name}", topic.causes, _SOURCE)
        for place, cause in enumerate(topic.causes if hits else ()):
            weight = _LATER if place else _BROAD if topic.broad else _NARROW
            yield Suspect(catalogue().causes[cause], weight, hits[:2], [rule])
