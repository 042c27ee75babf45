"""A sound run is PROVEN, and no change of a fact that it rests on goes unnoticed.

In full (ROCEMESH_LIES: lies per small run, a fifth of them per large one; 1500 make 10,800): minutes. By default a
sample with a fixed seed.
"""

from __future__ import annotations

import os
import random
import zlib

import pytest

from tests.unit.proof.irrelevant import FACTS, TOGETHER, because, together
from tests.unit.proof.mutate import lies, mutated
from tests.unit.proof.truth import RUNS, Run, state, verdict

LIES = int(os.environ.get("ROCEMESH_LIES", "0"))


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name.replace(" ", "-"))
def test_a_sound_run_is_proven(run: Run) -> None:
    found = verdict(run.inputs())
    assert found["state"] == "PROVEN", found["reasons"]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name.replace(" ", "-"))
def test_no_lie_is_proven_unless_the_fact_does_not_matter(run: Run) -> None:
    truth = run.inputs()
    told, unnoticed = 0, {}
    # Of a large run fewer by default: a lie about it takes longer to judge, and the small ones have the same facts.
    wanted = (LIES or 100) // (5 if run.size > 8 else 1)
    for mutations in lies(run, truth, random.Random(zlib.crc32(run.name.encode()))):
        inputs = mutated(run, truth, mutations)
        if inputs is None:
            continue
        told += 1
        excused = all(because(one.kind, one.where) for one in mutations) or together([one.where for one in mutations])
        if state(inputs) == "PROVEN" and not excused:
            unnoticed[" and ".join(f"{one.kind}: {one.where}" for one in mutations)] = True
        if told == wanted:
            break
    assert list(unnoticed) == []


def test_every_fact_of_the_list_has_a_reason_and_stands_once() -> None:
    assert all(reason for _fact, _kinds, reason in (*FACTS, *TOGETHER))
    assert len({(fact, kinds) for fact, kinds, _reason in FACTS}) == len(FACTS)
