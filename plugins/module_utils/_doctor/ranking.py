"""Of all that was found: what comes first, and what only follows from it. Pure.

Where no rule says more: what the nouns of a person's lines are about, and the last words of a program.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator

from .._judge.packs.loader import form
from .._judge.packs.model import CANDIDATE, CERTAINTIES, ECHO, FACT, FAULT, HARMLESS, Rule
from .alarms import says
from .catalogue import catalogue, layers, listed
from .reading import Reading
from .seen import SYMPTOMS, Heard, Hit
from .suspect import EVIDENCE, Suspect

_OF_ONE_HOST = ("gpu_hardware", "gpu_driver")
_LAST = 6  # lines of a text in which a program says why it ended
_NARROW, _BROAD, _LATER = 1.0, 0.5, 0.1  # weights: what a topic is about first, and what else it may be


def order(finding: Suspect) -> tuple[Any, ...]:
    certain = CERTAINTIES.index(finding.certainty)
    if finding.is_certain:
        return (certain, list(layers()).index(finding.cause.layer), -finding.weight)
    # What a line says in plain words goes before what it might be as well; of two states that are said as plainly,
    # that of one host before that of every host.
    hosts = {hit.host for hit in finding.hits if hit.host and hit.placed}
    mild = all(form("mild").search(hit.quote) for hit in finding.hits)
    return (certain, int(not finding.first), -round(finding.weight, 1), int(mild), len(hosts), -finding.weight)


def fault_line(reading: Reading) -> Hit | None:
    """The line that says what failed: not what only says how another process ended, nor what its program calls no
    trouble, nor what any program says; then what is called an error; then what a rule knows. Of a program that ended
    itself and names no failure, what it asked for last."""
    heard = [(hit, entry.sign.kind) for entry in reading.seen.values() for hit in entry.hits]
    lines = [*(pair for pair in heard if pair[1] in (FAULT, ECHO)), *((hit, FAULT) for hit in reading.troubled())]
    # A word alone is a heading, or the whole of what was raised.
    said = [hit for hit, kind in lines if kind != ECHO and (" " in hit.quote or says("level", hit.quote))]
    said = [hit for hit in said if not says("echo", hit.quote)]
    ends = [hit.line for entry in reading.seen.of(listed("aborts")) for hit in entry.hits]
    asked = [hit for hit in reading.hints if says("demand", hit.quote) and hit.line < max(ends, default=0)]
    own = [hit for hit in said if not says("raises", hit.quote)] or said or asked[-1:] or [hit for hit, _kind in lines]
    weak = {hit: (form("mild").search(hit.quote) is not None, hit.sign in listed("bare")) for hit in own}
    return min(own, key=lambda hit: (weak[hit], not says("level", hit.quote), not hit.sign, hit.line), default=None)


def explained(found: list[Suspect], echoes: list[Rule], seen: Heard) -> list[Suspect]:
    """A certain cause takes what follows from it: echoes, and candidates that rest on nothing but its own signs. What a
    device says of itself without being certain takes nothing, but what would only follow from it goes behind the
    rest."""
    certain = [finding for finding in found if finding.is_certain]
    for finding in (certain or found)[:1]:
        texts = [hit.quote for rule in echoes for entry in seen.of(rule.names) for hit in entry.hits[:1]]
        finding.explains = list(dict.fromkeys(texts))[:EVIDENCE]
    if not certain:
        reported = [finding for finding in found if finding.reported]
        owned = _owned(reported)
        behind = [each for each in found if reported and each not in reported and _follows(each, owned, seen)]
        return [*(finding for finding in found if finding not in behind), *behind]
    owned = _owned(certain)
    hosts = _on_one_host(certain)
    rest = []
    for finding in found:
        needed = {entry.sign.name: entry.sign.kind for rule in finding.rules for entry in seen.of(rule.names)}
        own = needed.keys() <= owned and not _elsewhere(finding, hosts, seen)
        if finding in certain or finding.odd or not (own or {ECHO, FACT}.issuperset(needed.values())):
            rest.append(finding)
    return rest


def _owned(findings: Iterable[Suspect]) -> set[str]:
    rules = [rule for finding in findings for rule in finding.rules if rule.causes[0] == finding.cause.id]
    return {name for rule in rules for name in (*rule.names, *rule.explains)}


def _follows(finding: Suspect, owned: set[str], seen: Heard) -> bool:
    """Of what it rests on, nothing but facts and what any job says that suffers is left."""
    return all(seen.faults(rule) - SYMPTOMS <= owned for rule in finding.rules)


def _on_one_host(certain: Iterable[Suspect]) -> set[str]:
    """Hosts whose own parts are faulty, if that is all that is: a GPU or a driver makes no other host say what it says
    of itself."""
    if any(finding.cause.layer not in _OF_ONE_HOST for finding in certain):
        return set()
    deciding = {
        name
        for finding in certain
        for rule in finding.rules
        if rule.causes[0] == finding.cause.id and {rule.certainty, rule.reported} != {CANDIDATE}
        for name in rule.names
    }
    return {hit.host for finding in certain for hit in finding.hits if hit.host and hit.placed and hit.sign in deciding}


def _elsewhere(finding: Suspect, hosts: set[str], seen: Heard) -> bool:
    """A rule that thinks of this cause first rests on what hosts say whose own parts are sound."""
    for rule in finding.rules:
        said = {host for entry in seen.of(seen.faults(rule) - SYMPTOMS) for host in entry.hosts if host}
        if rule.causes[0] == finding.cause.id and hosts and said and not said & hosts:
            return True
    return False


def one_per_layer(found: list[Suspect]) -> list[Suspect]:
    """Candidates of layers not named yet before a second one of the same layer."""
    first: list[Suspect] = []
    again: list[Suspect] = []
    layers: set[str] = set()
    for finding in found:
        later = finding.cause.layer in layers and not finding.is_certain and not (finding.reported or finding.first)
        (again if later else first).append(finding)
        layers.add(finding.cause.layer)
    return [*first, *again]


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
    for rule, sign in catalogue().topics.items():
        hits = [line for line, text in telling if sign.heard(text)]
        for place, cause in enumerate(rule.causes if hits else ()):
            weight = _LATER if place else _BROAD if sign.alone else _NARROW
            yield Suspect(catalogue().causes[cause], weight, hits[:2], [rule])
