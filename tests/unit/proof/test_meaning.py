"""No change of the meaning of a true run leaves the proof (meaning.py); what is open is listed, and may only shrink.

`PYTHONPATH=collections:. python -m tests.unit.proof.test_meaning` tries 10,000 (ROCEMESH_MEANINGS: how many,
ROCEMESH_SEED: other dice) and prints the share of each kind; the tests try three of each.
"""

from __future__ import annotations

import collections
import functools
import itertools
import os
import pathlib
import random
import zlib
from typing import Iterator, NamedTuple

import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError

from tests.unit.proof.attack_base import GRADES, Site, judge, summary
from tests.unit.proof.meaning import KINDS, Kind
from tests.unit.proof.shapes import SHAPES, Shape, built

EACH = 3  # of each kind, in the tests
ALL = 10_000
LARGE = 8  # ranks
HERE = pathlib.Path(__file__)
OPEN: dict[str, str] = yaml.safe_load(HERE.with_name("meaning_open.yml").read_text(encoding="utf-8")) or {}


class Case(NamedTuple):
    shape: Shape
    kind: Kind
    number: int

    @property
    def name(self) -> str:
        return f"{self.kind.name}, {self.shape.name}, {self.number}"


def cases(seed: int = 0) -> Iterator[Case]:
    """Endless: every kind on every shape, again and again with other dice; each time in another order. Large runs
    take part in a sixteenth of them."""
    for number in itertools.count(seed):
        given = [Case(shape, kind, number) for shape in SHAPES for kind in KINDS]
        given.sort(key=_place)
        yield from (case for case in given if case.shape.run.size <= LARGE or _place(case) % 16 == 0)


def _place(case: Case) -> int:
    return zlib.crc32(case.name.encode())


@functools.lru_cache(maxsize=None)
def graded(name: str) -> str:
    return judge(built(next(shape for shape in SHAPES if shape.name == name)))


def state(case: Case) -> str | None:
    """Of the changed run; None if the run has nothing of the kind, or has no grade to lose."""
    if graded(case.shape.name) not in GRADES[: 1 + case.kind.strict]:
        return None
    site = built(case.shape)
    if case.kind.change(site, random.Random(case.name)) is False:
        return None
    return judge(site)


def right(case: Case, found: str) -> bool:
    return found not in GRADES[: 1 + case.kind.strict]


def test_some_of_each_kind_are_not_proven() -> None:
    tried: collections.Counter[str] = collections.Counter()
    wrong = []
    for case in itertools.islice(cases(), len(SHAPES) * len(KINDS)):
        if case.kind.name in OPEN or tried[case.kind.name] == EACH or case.shape.run.size > LARGE:
            continue
        found = state(case)
        tried[case.kind.name] += found is not None
        if found is not None and not right(case, found):
            wrong.append(case.name)
    assert wrong == [] and set(tried.values()) == {EACH}


def test_a_nic_without_access_to_gpus_is_refused_in_a_merged_one() -> None:
    shape = next(shape for shape in SHAPES if shape.name == "2.24 virtual device")
    kind = next(kind for kind in KINDS if kind.name == "nic_has_no_access_to_gpus")
    case = Case(shape, kind, 0)
    assert right(case, str(state(case)))


def test_the_doctor_improves_no_grade() -> None:
    """What is refused without it is not asked of it (`attack_base.judge`)."""
    small = (case for case in cases() if case.shape.run.size <= LARGE)
    for case in itertools.islice(small, 40):
        site = built(case.shape)
        if case.kind.change(site, random.Random(case.name)) is not False and judge(site) not in GRADES:
            assert state_with_doctor(site) not in GRADES, case.name


def state_with_doctor(site: Site) -> str:
    try:
        return str(summary(site)["verdict"]["state"])
    except RefusedError:
        return "refused"


def test_open_kinds_are_still_open() -> None:
    """If this fails, a kind is judged right in every case: remove its line from meaning_open.yml."""
    given = list(itertools.islice(cases(), 3 * len(SHAPES) * len(KINDS)))
    for name in OPEN:
        found = ((case, state(case)) for case in given if case.kind.name == name)
        assert any(seen is not None and not right(case, seen) for case, seen in found), name


def test_kinds_are_sixty_or_more_and_apply() -> None:
    names = {kind.name for kind in KINDS}
    assert len(names) == len(KINDS) >= 60 and set(OPEN) <= names
    for kind in KINDS:
        assert any(kind.change(built(shape), random.Random(7)) is not False for shape in SHAPES[:16]), kind.name


def _shares(most: int, seed: int) -> None:
    """How many of each kind and family were tried and judged right."""
    tried: collections.Counter[str] = collections.Counter()
    good: collections.Counter[str] = collections.Counter()
    for case in cases(seed):
        found = state(case)
        if found is None:
            continue
        tried[case.kind.name] += 1
        good[case.kind.name] += right(case, found)
        if not right(case, found):
            print(f"{case.name}: {found}", flush=True)
        if tried.total() % 1000 == 0:
            print(f"{good.total()} of {tried.total()}", flush=True)
        if tried.total() == most:
            break
    for family in dict.fromkeys(kind.family for kind in KINDS):
        names = [kind.name for kind in KINDS if kind.family == family]
        passed, number = sum(good[name] for name in names), sum(tried[name] for name in names)
        print(f"{family:10} {passed:5} of {number:5}  {passed / max(1, number):6.1%}")
        for name in names:
            if good[name] < tried[name]:
                print(f"    {name:50} {good[name]:4} of {tried[name]:4}")
    print(f"all        {good.total():5} of {tried.total():5}  {good.total() / tried.total():6.1%}")


if __name__ == "__main__":
    _shares(int(os.environ.get("ROCEMESH_MEANINGS", str(ALL))), int(os.environ.get("ROCEMESH_SEED", "0")))
