"""One blocking problem of a run, or something that a person should know before it begins. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable, Sequence

from .._judge.sentences import Sentences

PROBLEM, WARNING, NOTE = "problem", "warning", "note"
LEVELS = (PROBLEM, WARNING, NOTE)
SIGNS = {PROBLEM: "!", WARNING: "?", NOTE: " "}


@dataclasses.dataclass(frozen=True)
class Finding:
    """``place``: controller, vCenter or a name of the inventory; ``thing``: what it is about; ``text``: what was seen;
    ``remedy``: what to do, empty for a note. A problem stops the run, a warning does not: it names what could not be
    looked at, or what has another owner."""

    level: str
    place: str
    thing: str
    text: str
    remedy: str = ""

    def as_result(self) -> dict[str, str]:
        return dataclasses.asdict(self)

    def line(self) -> str:
        text = f"{SIGNS[self.level]} {self.place}: {self.thing}: {self.text.rstrip('.')}."
        return f"{text} What to do: {self.remedy.rstrip('.')}." if self.remedy else text


_SENTENCES = Sentences(__file__, "findings.yml")


def found(code: str, place: str, level: str = "", **words: Any) -> Finding:
    """As findings.yml words it; ``level``: another than it says."""
    said = {"level": PROBLEM, **_SENTENCES.say(code, place=place, **words)}
    return Finding(level or said["level"], place, said["thing"], said["text"], said.get("remedy", ""))


def problem(place: str, thing: str, text: str, remedy: str) -> Finding:
    return Finding(PROBLEM, place, thing, text, remedy)


def warning(place: str, thing: str, text: str, remedy: str = "") -> Finding:
    return Finding(WARNING, place, thing, text, remedy)


def note(place: str, thing: str, text: str) -> Finding:
    return Finding(NOTE, place, thing, text)


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Problems first, each once; within a level in the order in which they were found."""
    unique = list(dict.fromkeys(findings))
    return sorted(unique, key=lambda finding: LEVELS.index(finding.level))


def grouped(findings: Sequence[Finding]) -> list[Finding]:
    """The same finding at several places becomes one line that names them all."""
    places: dict[tuple[str, str, str, str], list[str]] = {}
    for finding in findings:
        key = (finding.level, finding.thing, finding.text, finding.remedy)
        places.setdefault(key, []).append(finding.place)
    return [
        Finding(level, ", ".join(dict.fromkeys(where)), thing, text, remedy)
        for (level, thing, text, remedy), where in places.items()
    ]


def summary(findings: Sequence[Finding], looked_at: Sequence[str]) -> dict[str, Any]:
    """What the module returns and what preflight.json holds."""
    given = ordered(findings)
    return {
        "ready": not any(finding.level == PROBLEM for finding in given),
        "looked_at": list(looked_at),
        "problems": [finding.as_result() for finding in given if finding.level == PROBLEM],
        "cautions": [finding.as_result() for finding in given if finding.level == WARNING],
        "notes": [finding.as_result() for finding in given if finding.level == NOTE],
        "table": [finding.line() for finding in grouped(given)],
    }
