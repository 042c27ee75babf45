"""The README's picture is the one that was drawn from a report, and does not grow old unnoticed."""

from __future__ import annotations

import json
import pathlib

import pytest

from tests.unit.roles.collection import ROOT, program

SCREENS = program(ROOT / "docs" / "screens.py")


def test_the_readme_shows_a_picture_only_if_it_was_drawn_and_is_the_noted_one() -> None:
    """Whether pages still look so, `--check` tells: a new picture needs a browser and a report of a run."""
    shown = f"docs/{SCREENS.PICTURE.name}" in (ROOT / "README.md").read_text()
    assert shown == SCREENS.PICTURE.exists() == SCREENS.NOTE.exists()
    assert not shown or SCREENS.another(SCREENS.PICTURE, SCREENS.NOTE) == []


@pytest.fixture
def drawn(tmp_path: pathlib.Path) -> pathlib.Path:
    for name in ("report.html", "summary.json", "picture.png"):
        (tmp_path / name).write_text(name)
    (tmp_path / "note.json").write_text(json.dumps(SCREENS.note(tmp_path, tmp_path / "picture.png")))
    return tmp_path


def test_a_picture_as_it_was_noted_is_current(drawn: pathlib.Path) -> None:
    assert SCREENS.stale(drawn / "picture.png", drawn / "note.json") == []


def test_another_picture_is_noticed(drawn: pathlib.Path) -> None:
    (drawn / "picture.png").write_text("by hand")
    (said,) = SCREENS.stale(drawn / "picture.png", drawn / "note.json")
    assert "not the picture" in said


def test_a_change_of_what_pages_look_like_is_noticed(drawn: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SCREENS, "PAGE", "plugins/module_utils/_proof")
    (said,) = SCREENS.stale(drawn / "picture.png", drawn / "note.json")
    assert "has changed since" in said


def test_a_folder_without_a_report_is_told(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert SCREENS.main([str(tmp_path)]) == 2
    assert "What to do" in capsys.readouterr().err
