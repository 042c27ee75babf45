"""Which read-only command to run next: the one that is expected to split the candidates best for its cost. Pure.

Where a job only suffers, the candidates are what one suspects then.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Iterable, Mapping

from .catalogue import catalogue, listed
from .reading import Reading
from .seen import Heard
from .suspect import Suspect

# A cause of which a command said nothing that would have shown it: a device can be wrong between two looks.
_SILENT = 0.05
_RUN = 3  # cost from which a question takes a job
_CLUE = 4.0  # what a fact makes suspect goes before what a symptom does
_LEFT = 0.3  # of the best candidate's weight: less is as good as excluded


@dataclasses.dataclass(frozen=True)
class Question:
    """``cost``: 1 one look here, 2 another machine or root, 3 a short job, 5 something that needs a window. ``look``:
    name of the command in ``looks.yml``, empty if it is a cause's own."""

    where: str
    run: str
    cost: int = 1
    look: str = ""


def general(failed: bool, nccl: bool, only: str = "") -> list[Question]:
    """Where nothing tells more. ``nccl``: it has a word in what was read; ``only``: the one to ask, by name."""
    names = [only] if only else ["failed", "again"] if failed else ["again"] if nccl else ["sound"]
    return [Question(**listed("questions")[name]) for name in names]


def rank(candidates: Iterable[tuple[str, float]], looks: Mapping[str, Mapping[Question, float]]) -> list[Question]:
    """Commands, best first. ``candidates``: cause and weight; ``looks``: commands that show a cause, and how likely.

    A command says that it is one of its causes, or none of them, so it removes the entropy of that split; what is
    compared is this gain per cost. A command that shows several causes counts for all of them.
    """
    weights = [(cause, max(weight, 0.01)) for cause, weight in candidates]
    total = sum(weight for _cause, weight in weights)
    shares: dict[Question, float] = {}
    for cause, weight in weights:
        for look, chance in looks.get(cause, {}).items():
            shares[look] = shares.get(look, 0.0) + chance * weight / total
    return sorted(shares, key=lambda look: (-_gain(shares[look]) / look.cost, look.cost))


def _gain(share: float) -> float:
    """Bits that a yes or no of this probability tells; what is nearly certain is still worth confirming."""
    if share > 0.5:
        return 1.0
    return -share * math.log2(share) - (1 - share) * math.log2(1 - share)


def looks_done(reading: Reading, read: Iterable[str], looked: Iterable[str]) -> frozenset[str]:
    """Commands whose output is there."""
    names = list(read)
    return frozenset(looked) | {
        look.id
        for look in catalogue().looks
        if any(look.printed(name) for name in names) or any(name in reading.seen for name in look.heard)
    }


def open_causes(found: list[Suspect], seen: Heard, done: frozenset[str]) -> dict[str, float]:
    """Causes that it may be, with their weights. What a command would have shown and did not is as good as excluded."""
    plain = [finding for finding in found if any(map(seen.is_plain, finding.rules))]
    weights = {finding.cause.id: finding.weight for finding in plain or found}
    if not plain:
        suffered = {symptom for name, symptom in listed("suffers").items() if name in seen}
        weights = dict(next((causes for name, causes in listed("suspects").items() if name in suffered), weights))
        for name in seen:
            weights |= {cause: _CLUE * weight for cause, weight in listed("clues").get(name, {}).items()}
    reported = {finding.cause.id for finding in found if finding.reported or finding.is_certain}
    kept = reported | {finding.cause.id for finding in plain[:1]}
    hidden = _hidden(found, seen) - reported
    if hidden and found[0].reported and any(_left(cause, done) >= _LEFT for cause in hidden):
        # The device says what it sees: only what would look the same is still to be asked for.
        return dict.fromkeys(hidden, found[0].weight)
    if hidden:
        weights |= dict.fromkeys(hidden, found[0].weight)
    return {cause: weight if cause in kept else weight * _left(cause, done) for cause, weight in weights.items()}


def to_ask(causes: Mapping[str, float], done: frozenset[str]) -> list[Question]:
    looks: dict[str, dict[Question, float]] = {}
    for cause in causes:
        ready = [look for look in catalogue().looks if cause in look.chances]
        looks[cause] = {
            Question(look.where, look.run, look.cost, look.id): look.chances[cause]
            for look in ready
            if look.id not in done
        }
        own = catalogue().causes[cause]
        if not ready or own.cost >= _RUN:
            looks[cause][Question(own.where, own.look, own.cost)] = 1.0
    return rank(causes.items(), looks)


def settled(found: list[Suspect], causes: Mapping[str, float], seen: Heard) -> str:
    """The one cause that is left: certain, said by the device itself, or the only one that no command has excluded."""
    if not found:
        return ""
    first = found[0]
    if first.is_certain or first.reported:
        hidden = _hidden(found, seen)
        return "" if any(causes.get(cause, 0.0) >= first.weight * _LEFT for cause in hidden) else first.cause.id
    best = max(causes.values(), default=0.0)
    left = [cause for cause, weight in causes.items() if weight >= best * _LEFT]
    return first.cause.id if any(map(seen.is_plain, first.rules)) and left == [first.cause.id] else ""


def _left(cause: str, done: frozenset[str]) -> float:
    """How likely it is still, where the commands that were run did not show it."""
    looks = (look for look in catalogue().looks if look.id in done)
    return max(_SILENT, math.prod(1 - look.chances.get(cause, 0.0) for look in looks))


def _hidden(found: list[Suspect], seen: Heard) -> set[str]:
    """What would look the same from the host."""
    if not found or found[0].is_certain or found[0].cause.layer not in ("cabling", "host_routing"):
        return set()
    return {cause for name, cause in listed("behind").items() if name in seen}
