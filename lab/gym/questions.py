"""How many commands the doctor asks for from a job's log alone to one cause, and how many a check list takes."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.bundle import Piece
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.catalogue import catalogue
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.judge import answer
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.reading import Reading

from . import model, site
from .faults import FAULTS
from .model import Fault

Set = Sequence["tuple[Fault, str]"]
_LOOKS = {look.id: look for look in catalogue().looks}
CHECK_LIST = tuple(look.id for look in catalogue().looks if look.id != "job_log")


@dataclasses.dataclass(frozen=True)
class Game:
    """``asked``: commands in their order; ``right``: the cause that was named at the end is one of the faults."""

    names: tuple[str, ...]
    symptom: str
    asked: tuple[str, ...]
    cause: str
    right: bool


def names_it(finding: dict[str, Any], fault: Fault, host: str) -> bool:
    """The finding is this fault, at its place."""
    place = model.where(fault, host)
    return (
        finding["cause"] in fault.causes
        and finding["layer"] == fault.layer
        and (not place or place in finding["hosts"])
    )


def play(faults: Set, check_list: bool = False) -> Game:
    """Starts with the job's log alone; each command gives what the site with these faults prints. Both ways end when
    the doctor says that one cause is left, or when no command is left."""
    pieces = model.broken(faults)
    reading = Reading(catalogue().signs)
    names: list[str] = []
    asked: list[str] = []

    def give(name: str) -> None:
        reading.piece(Piece(name, iter((pieces[name].encode(),))))
        names.append(name)

    give(site.JOB)
    while True:
        found = answer(reading, (), names, asked)
        ready = CHECK_LIST if check_list else [question["look"] for question in found["next"]]
        ready = [look for look in ready if look and look not in asked]
        if found["settled"] or not ready:
            first = found["findings"][0] if found["findings"] else {"cause": "", "layer": "", "hosts": []}
            right = any(names_it(first, fault, host) for fault, host in faults)
            return Game(
                tuple(fault.name for fault, _host in faults),
                faults[0][0].symptom,
                tuple(asked),
                str(first["cause"]),
                right,
            )
        asked.append(ready[0])
        for name in pieces:
            if name not in names and _LOOKS[ready[0]].printed(name):
                give(name)


def sets(pairs: int, seed: int = 11) -> list[Set]:
    """Every fault alone, and ``pairs`` random pairs."""
    rng = random.Random(seed)
    found: list[Set] = [[(fault, "gpu02")] for fault in FAULTS.values()]
    while len(found) < len(FAULTS) + pairs:
        one, other = rng.sample(sorted(FAULTS), 2)
        both = [(FAULTS[one], "gpu02"), (FAULTS[other], "gpu03")]
        try:
            model.broken(both)
        except model.Clash:
            continue
        found.append(both)
    return found
