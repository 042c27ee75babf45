"""How many hosts at once, and when."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.schedule import batch_size, change_window
from hypothesis import given
from hypothesis import strategies as st

NIGHT = {"start": "22:00", "end": "04:00"}
WEEKEND = {"start": "22:00", "end": "04:00", "days": ["sat"], "timezone": "Europe/Berlin"}
ONCE = {"from": "2026-11-21T22:00:00+00:00", "to": "2026-11-22T02:00:00+00:00"}


def at(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text + "+00:00")


@pytest.mark.parametrize(
    ("given_value", "hosts", "expected"),
    [
        (1, 8, 1),
        ("2", 8, 2),
        (20, 8, 8),
        ("25%", 8, 2),
        ("25%", 3, 1),
        ("100%", 8, 8),
        ("0%", 8, 1),
        (1, 0, 1),
    ],
)
def test_batch(given_value: Any, hosts: int, expected: int) -> None:
    assert batch_size(given_value, hosts) == expected


@pytest.mark.parametrize("wrong", [0, "0", -1, "half", "101%", "", None, True, 1.5, "25 %"])
def test_wrong_batch_is_refused_with_what_to_write(wrong: Any) -> None:
    with pytest.raises(ValueError, match="What to do"):
        batch_size(wrong, 8)


@given(st.integers(1, 100), st.integers(0, 300))
def test_a_percentage_never_takes_more_than_it_says_but_always_one(percent: int, hosts: int) -> None:
    size = batch_size(f"{percent}%", hosts)
    assert size == 1 or size * 100 <= percent * hosts


@pytest.mark.parametrize(
    ("windows", "now", "is_open", "left"),
    [
        ([], "2026-11-21T12:00:00", True, None),
        (NIGHT, "2026-11-21T22:00:00", True, 360),
        ([NIGHT], "2026-11-22T03:59:00", True, 1),
        ([NIGHT], "2026-11-22T04:00:00", False, None),
        ([NIGHT], "2026-11-21T21:59:59", False, None),
        # Saturday 21 November, 22:00 in Berlin is 21:00 UTC
        ([WEEKEND], "2026-11-21T20:59:00", False, None),
        ([WEEKEND], "2026-11-21T21:00:00", True, 360),
        ([WEEKEND], "2026-11-22T02:30:00", True, 30),  # Sunday, of the window that began on Saturday
        ([WEEKEND], "2026-11-22T21:30:00", False, None),
        ([ONCE], "2026-11-21T23:00:00", True, 180),
        ([ONCE], "2026-11-22T02:00:00", False, None),
        ([WEEKEND, ONCE], "2026-11-21T23:00:00", True, 240),  # the one that lasts longer counts
        ({"start": "06:00", "end": "06:00"}, "2026-11-21T05:00:00", True, 60),  # once around the clock
        ({"start": "06:00", "end": "06:00"}, "2026-11-21T06:00:00", True, 1440),
        ([{"start": 1320, "end": "04:00"}], "2026-11-21T22:30:00", True, 330),  # YAML's reading of an unquoted 22:00
    ],
)
def test_window(windows: Any, now: str, is_open: bool, left: int | None) -> None:
    found = change_window(windows, at(now))
    assert (found["open"], found["minutes_left"]) == (is_open, left)
    assert found["reason"]


def test_too_little_time_left_counts_as_closed_and_says_so() -> None:
    found = change_window([NIGHT], at("2026-11-22T03:45:00"), 30)
    assert not found["open"] and "15 minutes before" in found["reason"] and "30 minutes" in found["reason"]
    assert change_window([NIGHT], at("2026-11-22T03:30:00"), 30)["open"]


@pytest.mark.parametrize(
    ("window", "text"),
    [
        ({"start": "25:00", "end": "04:00"}, "25:00"),
        ({"start": "22:00"}, "start"),
        ({"start": "22:00", "end": "04:00", "weekdays": ["sat"]}, "weekdays"),
        ({"start": "22:00", "end": "04:00", "days": ["someday"]}, "som"),
        ({"start": "22:00", "end": "04:00", "timezone": "Europe/Nowhere"}, "Europe/Nowhere"),
        ({"from": "tonight", "to": "2026-11-22T02:00:00"}, "tonight"),
        ({"from": "2026-11-22T02:00:00", "to": "2026-11-21T02:00:00"}, "before it begins"),
        ({}, "none"),
    ],
)
def test_window_that_nobody_understands_is_an_error_not_an_open_door(window: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        change_window([window], at("2026-11-21T23:00:00"))
