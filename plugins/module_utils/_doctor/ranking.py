"""Of all that was found: what comes first, and what only follows from it. Pure."""

from __future__ import annotations

from typing import Any, Iterable

from .._judge.packs.model import CANDIDATE, CERTAINTIES, ECHO, FACT, FAULT, Rule
from .alarms import alarms
from .catalogue import layers, listed
from .reading import MILD, Hit, Reading
from .suspect import Suspect

_EVIDENCE = 4
# What a suffering job says whatever the fault is.
SYMPTOMS = frozenset({"slow", "hang", "wc_retry_exceeded", "modify_qp_timeout", "connect_timeout", "connect_refused"})
_OF_ONE_HOST = ("gpu_hardware", "gpu_driver")


def order(finding: Suspect) -> tuple[Any, ...]:
    certain = CERTAINTIES.index(finding.certainty)
    if finding.certainty != CANDIDATE:
        return (certain, list(layers()).index(finding.cause.layer), -finding.weight)
    # What a line says in plain words goes before what it might be as well; of two states that are said as plainly,
    # that of one host before that of every host.
    hosts = {hit.host for hit in finding.hits if hit.host and hit.placed}
    mild = all(MILD.search(hit.quote) for hit in finding.hits)
    return (certain, int(not finding.first), -round(finding.weight, 1), int(mild), len(hosts), -finding.weight)


def fault_line(reading: Reading) -> Hit | None:
    """The line that says what failed: not what only says how another process ended, nor what its program calls no
    trouble, nor what any program says; then what is called an error; then the first."""
    words = alarms()
    heard = [(hit, entry.sign.kind) for entry in reading.seen.values() for hit in entry.hits]
    lines = [*(pair for pair in heard if pair[1] in (FAULT, ECHO)), *((hit, FAULT) for hit in reading.troubled())]
    # A word alone is a heading.
    own = [hit for hit, kind in lines if kind != ECHO and " " in hit.quote and not words.echo.search(hit.quote)]
    own = own or [hit for hit, _kind in lines]
    weak = {hit: (MILD.search(hit.quote) is not None, hit.sign in listed("bare")) for hit in own}
    return min(own, key=lambda hit: (weak[hit], not words.level.search(hit.quote), hit.line), default=None)


def explained(found: list[Suspect], echoes: list[Rule], reading: Reading) -> list[Suspect]:
    """A certain cause takes what follows from it: echoes, and candidates that rest on nothing but its own signs. What a
    device says of itself without being certain takes nothing, but what would only follow from it goes behind the
    rest."""
    certain = [finding for finding in found if finding.certainty != CANDIDATE]
    if not certain:
        for finding in found[:1]:
            finding.explains = _names(echoes, reading)
        reported = [finding for finding in found if finding.reported]
        owned = _owned(reported)
        behind = [
            finding for finding in found if reported and finding not in reported and _follows(finding, owned, reading)
        ]
        return [*(finding for finding in found if finding not in behind), *behind]
    first = certain[0]
    owned = _owned(certain)
    hosts = _on_one_host(certain)
    rest = []
    for finding in found:
        if finding in certain or finding.odd:
            rest.append(finding)
            continue
        needed = {name for rule in finding.rules for name in rule.names if name in reading.seen}
        echo = all(reading.seen[name].sign.kind in (ECHO, FACT) for name in needed)
        if echo or (needed <= owned and not _elsewhere(finding, hosts, reading)):
            continue
        rest.append(finding)
    first.explains = _names(echoes, reading)
    return rest


def _owned(findings: Iterable[Suspect]) -> set[str]:
    return {
        name
        for finding in findings
        for rule in finding.rules
        if rule.causes[0] == finding.cause.id
        for name in (*rule.names, *rule.explains)
    }


def _follows(finding: Suspect, owned: set[str], reading: Reading) -> bool:
    """Of what it rests on, nothing but facts and what any job says that suffers is left."""
    needed = {name for rule in finding.rules for name in rule.names if name in reading.seen}
    return {name for name in needed if reading.seen[name].sign.kind == FAULT and name not in SYMPTOMS} <= owned


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


def _elsewhere(finding: Suspect, hosts: set[str], reading: Reading) -> bool:
    """A rule that thinks of this cause first rests on what hosts say whose own parts are sound."""
    for rule in finding.rules:
        names = {name for name in rule.names if name in reading.seen} - SYMPTOMS
        faults = [reading.seen[name] for name in names if reading.seen[name].sign.kind == FAULT]
        said = {host for entry in faults for host in entry.hosts if host}
        if rule.causes[0] == finding.cause.id and hosts and said and not said & hosts:
            return True
    return False


def _names(rules: Iterable[Rule], reading: Reading) -> list[str]:
    texts = {
        hit.quote: None
        for rule in rules
        for name in rule.names
        if name in reading.seen
        for hit in reading.seen[name].hits[:1]
    }
    return list(texts)[:_EVIDENCE]


def one_per_layer(found: list[Suspect]) -> list[Suspect]:
    """Candidates of layers not named yet before a second one of the same layer."""
    first: list[Suspect] = []
    again: list[Suspect] = []
    layers: set[str] = set()
    for finding in found:
        later = (
            finding.cause.layer in layers and finding.certainty == CANDIDATE and not (finding.reported or finding.first)
        )
        (again if later else first).append(finding)
        layers.add(finding.cause.layer)
    return [*first, *again]
