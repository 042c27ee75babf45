"""Run the attacks on the doctor. They were written before the first run; wrong answers are known by name."""

from __future__ import annotations

import pytest

from tests.unit.doctor import attacks
from tests.unit.doctor.attack_silent import SILENT
from tests.unit.doctor.attack_sound import SOUND

COUNTS = {
    "silent failures": 100,
    "sound outputs": 150,
    "ordinary kernel lines": 60,
    "logs of other trades": 30,
    "logs of other trades, by name": 30,
    "faults in other layouts": 40,
    "clocks that differ": 30,
    "faults that a release mended": 30,
    "facts against a cause": 20,
    "faults that a release mended, second set": 18,
    "facts against a cause, second set": 20,
}


def test_attacks_have_all_cases() -> None:
    assert {group: len(cases) for group, (_expected, cases) in attacks.GROUPS.items()} == COUNTS
    assert len({*SILENT.values(), *(text for _right, text in SOUND.values())}) == 250


@pytest.mark.parametrize("group", attacks.GROUPS)
def test_attack_outside_the_list_is_right(group: str) -> None:
    """A mended case leaves the list: run `python -m tests.unit.doctor.attacks`."""
    assert sorted(attacks.find_wrong(group)) == sorted(attacks.read_known()["wrong"][group])


def test_list_is_not_longer_than_at_first_sight() -> None:
    listed = attacks.read_known()
    assert set(listed["wrong"]) == set(attacks.GROUPS)
    assert {g for g, names in listed["wrong"].items() if len(names) > listed["first_sight"][g]} == set()


def test_page_has_the_current_figures() -> None:
    """Written by `python -m tests.unit.doctor.attacks`."""
    text = attacks.PAGE.read_text(encoding="utf-8")
    assert all(mark in text for mark in attacks.MARKS)
    assert attacks.page(text, attacks.read_known()) == text


def test_sound_output_is_not_faulty() -> None:
    assert {name for name, (_right, text) in SOUND.items() if attacks.verdict(text) == "faulty"} == set()
