"""tests/matrix.py: the commands that install a cell, what is told of one that fails, and which are played again."""

from __future__ import annotations

import pathlib
import re
import sys

import pytest

from tests import matrix


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> list[list[str]]:
    """What would be called; a command with the word in ``fails`` fails in silence."""
    called: list[list[str]] = []

    def ran(command: list[str], **_more: str) -> tuple[bool, str]:
        called.append(command)
        (tmp_path / "py3.10").mkdir(exist_ok=True)
        return not set(FAILS) & set(command), ""

    monkeypatch.setattr(matrix, "ran", ran)
    monkeypatch.setattr(matrix, "PLACE", tmp_path)
    monkeypatch.setattr(matrix, "requirements", lambda: ["pytest>=8"])
    FAILS.clear()
    return called


FAILS: list[str] = []


def play(core: str = "2.17") -> matrix.Cell:
    return matrix.play(core, "3.10", "python3.10", "", "digest")


def test_collections_by_file_and_by_name_are_two_commands(commands: list[list[str]]) -> None:
    """ansible-galaxy refuses a file of requirements beside names."""
    assert play().outcome == "passed"
    galaxy = [command for command in commands if pathlib.Path(command[0]).name == "ansible-galaxy"]
    assert [command[command.index("-p") + 2 :] for command in galaxy] == [
        ["-r", "collections/requirements.yml"],
        ["ansible.posix"],
    ]


@pytest.mark.parametrize(("fails", "outcome"), [("pip", "NOT INSTALLED"), ("pytest", "FAILED")])
def test_a_command_that_fails_in_silence_is_told(commands: list[list[str]], fails: str, outcome: str) -> None:
    FAILS.append(fails)
    cell = play()
    assert (cell.outcome, cell.said) == (outcome, "it said nothing")


def test_an_environment_is_made_once_per_python_and_its_core_is_exchanged(commands: list[list[str]]) -> None:
    play("2.17")
    commands.clear()
    play("2.18")
    installs = [command for command in commands if "pip" in command]
    assert [command[-1] for command in installs] == ["ansible-core==2.18.*"]
    assert not [command for command in commands if "venv" in command]


def test_a_half_made_environment_is_made_again(commands: list[list[str]]) -> None:
    FAILS.append("pytest>=8")
    assert play().outcome == "NOT INSTALLED"
    FAILS.clear()
    commands.clear()
    assert play().outcome == "passed" and any("venv" in command for command in commands)


def test_a_quick_cell_plays_conditions_alone_and_does_not_count_as_done(commands: list[list[str]]) -> None:
    cell = matrix.play("2.17", "3.10", "python3.10", "", "digest", quick=True)
    tests = next(command for command in commands if "pytest" in command)
    assert cell.said.startswith("conditions alone: ") and cell.sources == ""
    assert [word for word in tests if word.startswith("tests/")] == list(matrix.QUICK)


def test_only_a_cell_that_passed_with_the_same_sources_is_not_played_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setattr(matrix, "PLACE", tmp_path)
    passed = matrix.Cell("2.17", "3.10", "passed", sources="as now")
    failed = matrix.Cell("2.17", "3.11", "FAILED", sources="as now")
    matrix.keep([failed, passed])
    known = matrix.remembered()
    assert known == {"2.17-py3.10": passed, "2.17-py3.11": failed}
    assert matrix.done_before(known, "2.17", "3.10", "as now") == passed
    assert matrix.done_before(known, "2.17", "3.10", "changed") is None
    assert matrix.done_before(known, "2.17", "3.11", "as now") is None
    assert matrix.done_before({"2.17-py3.10": matrix.Cell("2.17", "3.10", "passed")}, "2.17", "3.10", "") is None
    assert "| 2.17 | 3.10 | passed |" in (tmp_path / "results.txt").read_text()


def test_a_python_that_is_not_there_fails_nothing_and_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(matrix, "PLACE", tmp_path)
    monkeypatch.setattr(matrix, "interpreter", lambda _python: "")
    monkeypatch.setattr(sys, "argv", ["matrix.py", "--core", "2.21", "--python", "3.14"])
    assert matrix.main() == 2
    assert "| 2.21 | 3.14 | no such Python |" in capsys.readouterr().out


def test_unit_tests_take_what_older_releases_lack_from_one_place() -> None:
    """Or the jobs of the workflow with ansible-core 2.17 and 2.18 do not even collect them."""
    lacked = re.compile(
        r"^from ansible\.(module_utils\.testing import|template import .*trust_as_template)", re.MULTILINE
    )
    files = [*(matrix.ROOT / "tests" / "unit").rglob("*.py")]
    assert len(files) > 100 and [path.name for path in files if lacked.search(path.read_text())] == []


def test_every_test_of_a_cell_is_there() -> None:
    for test in matrix.TESTS:
        path, _colons, name = test.partition("::")
        assert (matrix.ROOT / path).is_file() and name in (matrix.ROOT / path).read_text(), test
