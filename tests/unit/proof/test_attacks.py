"""No false evidence is PROVEN, and no harmless difference costs the proof; what is open is listed, and may only shrink.

`python -m tests.unit.proof.test_attacks` tries every case and prints the share of each family. The tests try a sample
(ROCEMESH_ATTACKS: how many cases), and every case of the kinds that are open.
"""

from __future__ import annotations

import collections
import functools
import itertools
import os
import pathlib
import random
from typing import Iterator, NamedTuple

import pytest
import yaml

from tests.unit.proof.attack_base import BASES, judge, site_of
from tests.unit.proof.attacks import ATTACKS, Attack
from tests.unit.proof.harmless import HARMLESS
from tests.unit.proof.truth import Run

SAMPLE = int(os.environ.get("ROCEMESH_ATTACKS", "500"))
REPEATS = 4
OPEN: dict[str, str] = yaml.safe_load(pathlib.Path(__file__).with_name("attacks_open.yml").read_text()) or {}
KINDS = {kind.name: kind for kind in (*ATTACKS, *HARMLESS)}


class Case(NamedTuple):
    run: Run
    kind: Attack
    number: int

    @property
    def name(self) -> str:
        return f"{self.kind.name}, {self.run.name}, {self.number}"


def cases() -> Iterator[Case]:
    for number, run, kind in itertools.product(range(REPEATS), BASES, KINDS.values()):
        # Without a switch the path alone can be proven: harmless differences have to leave it so.
        if "no switch" not in run.name or kind in HARMLESS:
            yield Case(run, kind, number)


@functools.lru_cache(maxsize=None)
def _states() -> dict[str, str]:
    return {run.name: judge(site_of(run)) for run in BASES}


def sound(run: Run) -> str:
    return _states()[run.name]


def right(case: Case) -> bool | None:
    """Whether the verdict is as the kind says; None, if the site has nothing of the kind."""
    site = site_of(case.run)
    if case.kind.change(site, random.Random(case.name)) is False:
        return None
    state = judge(site)
    return state == sound(case.run) if case.kind in HARMLESS else state != "PROVEN"


@pytest.mark.parametrize("run", BASES, ids=lambda run: run.name.replace(" ", "-"))
def test_sound_site_is_proven_if_its_switch_was_read(run: Run) -> None:
    assert sound(run) == ("PATH PROVEN" if "no switch" in run.name else "PROVEN")


def test_sample_of_cases_is_judged_right() -> None:
    given = [case for case in cases() if case.kind.name not in OPEN]
    random.Random(SAMPLE).shuffle(given)
    # Every kind once, and then as they come.
    given.sort(key=_first_of_each_kind())
    wrong, tried = [], 0
    for case in given:
        answer = right(case)
        tried += answer is not None
        if answer is False:
            wrong.append(case.name)
        if tried == SAMPLE:
            break
    assert (wrong, tried) == ([], SAMPLE)


def _first_of_each_kind() -> object:
    seen: collections.Counter[str] = collections.Counter()

    def key(case: Case) -> bool:
        seen[case.kind.name] += 1
        return seen[case.kind.name] > 3

    return key


@pytest.mark.parametrize("name", sorted(OPEN))
def test_open_kind_is_still_open(name: str) -> None:
    """If this fails, the kind is judged right in every case: remove its line from attacks_open.yml."""
    assert any(right(case) is False for case in cases() if case.kind.name == name)


def test_open_kinds_are_known() -> None:
    assert set(OPEN) <= set(KINDS)
    assert len(KINDS) == len(ATTACKS) + len(HARMLESS)


def test_every_kind_applies_somewhere() -> None:
    for kind in KINDS.values():
        assert any(kind.change(site_of(run), random.Random(7)) is not False for run in BASES), kind.name


def _share() -> None:
    """All cases: right and tried per family, and the kinds that fail."""
    families: collections.Counter[str] = collections.Counter()
    good: collections.Counter[str] = collections.Counter()
    kinds: dict[str, list[bool]] = {}
    for case in cases():
        answer = right(case)
        if answer is not None:
            family = f"{'harmless' if case.kind in HARMLESS else 'attack'}: {case.kind.family}"
            families[family] += 1
            good[family] += answer
            kinds.setdefault(case.kind.name, []).append(answer)
    for family, tried in families.items():
        print(f"{family:24} {good[family]:5} of {tried:5}  {good[family] / tried:6.1%}")
    print(f"{'all':24} {good.total():5} of {families.total():5}  {good.total() / families.total():6.1%}")
    for name, answers in kinds.items():
        if not all(answers):
            print(f"{name}: wrong in {answers.count(False)} of {len(answers)}")


if __name__ == "__main__":
    _share()
