# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cell of tests/matrix.py: the commands that install it, and what is told of one that fails."""

from __future__ import annotations

import pathlib

import pytest

from tests import matrix


def installed(monkeypatch: pytest.MonkeyPatch, fails: str) -> tuple[list[list[str]], tuple[str, str]]:
    commands: list[list[str]] = []

    def ran(command: list[str], **_more: str) -> tuple[bool, str]:
        commands.append(command)
        return fails not in command, ""

    monkeypatch.setattr(matrix, "ran", ran)
    monkeypatch.setattr(matrix, "requirements", lambda _core: ["ansible-core"])
    return commands, matrix.cell("2.17", "3.10", "python3.10", "", False)


def test_collections_by_file_and_by_name_are_two_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """ansible-galaxy refuses a file of requirements beside names."""
    commands, (outcome, _said) = installed(monkeypatch, fails="nothing")
    galaxy = [command for command in commands if pathlib.Path(command[0]).name == "ansible-galaxy"]
    assert [command[command.index("-p") + 2 :] for command in galaxy] == [
        ["-r", "collections/requirements.yml"],
        ["ansible.posix"],
    ]
    assert outcome == "passed"


@pytest.mark.parametrize(("fails", "outcome"), [("pip", "NOT INSTALLED"), ("pytest", "FAILED")])
def test_a_command_that_fails_in_silence_is_told(monkeypatch: pytest.MonkeyPatch, fails: str, outcome: str) -> None:
    assert installed(monkeypatch, fails)[1] == (outcome, "it said nothing")
