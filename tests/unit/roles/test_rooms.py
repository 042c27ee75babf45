"""No circle between the rooms of module_utils, every arrow goes down, and the drawing shows them as they are."""

from __future__ import annotations

import pytest

from tests.unit.roles.collection import ROOT, program

ROOMS = program(ROOT / "docs" / "rooms.py")


def test_every_arrow_goes_down() -> None:
    below = ROOMS.arrows()
    level = ROOMS.floors(below)
    assert all(level[room] > level[other] for room, others in below.items() for other in others)
    assert {"_results/readers", "_results/launch", "_results/path", "_results/figures", "_results/report"} <= set(below)
    assert below["_results/readers"] == {"_yaml_files"}, "a log is read without knowing what for"
    assert level["_results/report"] > level["_proof"] > level["_results/figures"]


def test_no_file_imports_itself_through_others() -> None:
    ROOMS.floors(ROOMS.files())


def test_a_circle_is_named() -> None:
    with pytest.raises(ValueError, match="a -> b -> a"):
        ROOMS.floors({"a": {"b"}, "b": {"a"}})


def test_the_drawing_is_what_the_imports_say() -> None:
    """If this fails: python docs/rooms.py, and look at what changed."""
    text = ROOMS.PAGE.read_text(encoding="utf-8")
    assert text == ROOMS.page(text)
