"""The list of preflight: findings as findings.yml words them, in order, once, with all their places. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterable, Sequence

from .._judge.finding import NOTE, PROBLEM, WARNING, Finding
from .._judge.sentences import Sentences
from .._results.readers.reading import by_key, names

LEVELS = (PROBLEM, WARNING, NOTE)
SIGNS = {PROBLEM: "!", WARNING: "?", NOTE: " "}
found = Sentences(__file__, "findings.yml").finding


def from_sentence(place: str, thing: str, sentence: str, remedy: str, level: str = PROBLEM) -> Finding:
    """Of a sentence of a module that has its place and its remedy already; ``remedy``: where it has none."""
    text, _said, given = sentence.removeprefix(f"{place}: ").partition(" What to do: ")
    return Finding(place, thing, text, given or remedy, level)


def line(finding: Finding) -> str:
    text = f"{SIGNS[finding.level]} {finding.place}: {finding.thing}: {finding.text.rstrip('.')}."
    return f"{text} What to do: {finding.remedy.rstrip('.')}." if finding.remedy else text


def grouped(findings: Iterable[Finding], names: Callable[[Sequence[str]], str] = ", ".join) -> list[Finding]:
    """The same finding at several places becomes one that names them all, or what ``names`` makes of them."""
    places = by_key((dataclasses.replace(finding, place="", code=""), finding.place) for finding in findings)
    return [dataclasses.replace(key, place=names([*dict.fromkeys(where)])) for key, where in places.items()]


def summary(findings: Iterable[Finding], looked_at: Sequence[str]) -> dict[str, Any]:
    """What the module returns and what preflight.json holds: each finding once, problems first, then in the order in
    which they were found."""
    unique = dict.fromkeys(dataclasses.replace(finding, code="") for finding in findings)
    given = sorted(unique, key=lambda finding: LEVELS.index(finding.level))
    rows = {level: [each.fields("level", "place", "thing", "text", "remedy") for each in given if each.level == level]
            for level in LEVELS}  # fmt: skip
    return {
        "ready": not rows[PROBLEM],
        "looked_at": list(looked_at),
        "problems": rows[PROBLEM],
        "cautions": rows[WARNING],
        "notes": rows[NOTE],
        "table": [line(finding) for finding in grouped(given, names)],
    }
