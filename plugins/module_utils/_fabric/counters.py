"""What the NICs' own counters say of the rounds: each host reads them right before and right after. Pure."""

from __future__ import annotations

import collections
import dataclasses
import statistics
from typing import Any, Iterable, Mapping, Sequence

from .._judge.finding import Finding
from .._results.readers.reading import by_key
from .._yaml_files import Beside
from .judge import Place
from .model import Fabric
from .reach import fault

NAMES = Beside(__file__, "counters.yml")
MANY = 10  # lost packets, and times the rail's median, from which on a NIC differs
Moved = Mapping[int, Mapping[str, int]]


def moved(answers: Iterable[Mapping[str, Any]]) -> dict[int, dict[str, int]]:
    """NIC to its counters that grew, over all parts. One that went back was cleared: what it counted is not known."""
    found: dict[int, dict[str, int]] = {}
    for answer in answers:
        for nic, pairs in (answer.get("counters") or {}).items():
            for name, (before, after) in pairs.items():
                if after > before:
                    mine = found.setdefault(int(nic), {})
                    mine[name] = mine.get(name, 0) + after - before
    return found


def text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} +{count:,}" for name, count in sorted(counts.items()))


def losses(fabric: Fabric, grown: Moved) -> list[str]:
    """NICs that lost far more than the others of their rail, as notes: a NIC that sends badly raises the counters of
    all that it was paired with, so these alone accuse no part."""
    there = (nic for host in range(len(fabric.hosts)) for nic in fabric.nics_of(host))
    rails = by_key(
        (fabric.rail_of(nic), sum(grown.get(nic, {}).get(name, 0) for name in NAMES["loss"])) for nic in there
    )
    usual = {rail: statistics.median_low(counts) for rail, counts in rails.items()}
    found = []
    for nic, counts in sorted(grown.items()):
        lost = {name: count for name, count in counts.items() if name in NAMES["loss"]}
        if sum(lost.values()) >= MANY * max(1.0, usual[fabric.rail_of(nic)]):
            found.append(
                f"{fabric.name(nic)} missed packets during the rounds ({text(lost)}; its rail has few): either end of "
                "the way lost them. If the rail is slow: PFC and its priority on switch ports and NICs, buffers, DSCP"
            )
    return found


def joined(fabric: Fabric, measured: Sequence[Finding], grown: Moved) -> list[Finding]:
    """Measured faults with what the counters of their NICs say, then what only the counters show."""
    given: list[Finding] = []
    explained: set[int] = set()
    for each in measured:
        own = each.place.nics(fabric, "pair")
        explained.update(own if each.place.kind != "pair" else ())
        total: collections.Counter[str] = collections.Counter()
        for nic in own:
            total.update(grown.get(nic, {}))
        given.append(dataclasses.replace(each, text=each.text + (f"; counters: {text(total)}" if total else "")))
    for nic in sorted(grown.keys() - explained):
        damaged = {name: count for name, count in grown[nic].items() if name in NAMES["damage"]}
        given += [fault("damage", Place("nic", (nic,)), counts=text(damaged))] if damaged else []
    return given
