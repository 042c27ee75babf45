"""Operators search logs and AWX for task names: each begins with a verb and occurs once in its role or playbook."""

from __future__ import annotations

import pathlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tests.unit.roles.collection import PLAYBOOKS, ROLES, ROOT, load

VERBS = frozenset(
    [
        "Accept",
        "Add",
        "Append",
        "Apply",
        "Assert",
        "Bind",
        "Bring",
        "Build",
        "Check",
        "Collect",
        "Compare",
        "Compute",
        "Configure",
        "Converge",
        "Copy",
        "Count",
        "Create",
        "Decide",
        "Detect",
        "Download",
        "Enable",
        "End",
        "Evaluate",
        "Exchange",
        "Fetch",
        "Find",
        "Finish",
        "Gather",
        "Group",
        "Hold",
        "Inspect",
        "Install",
        "Join",
        "Keep",
        "List",
        "Load",
        "Log",
        "Look",
        "Make",
        "Measure",
        "Merge",
        "Move",
        "Open",
        "Parse",
        "Plan",
        "Power",
        "Prepare",
        "Probe",
        "Publish",
        "Pull",
        "Push",
        "Query",
        "Read",
        "Record",
        "Refuse",
        "Reinstall",
        "Release",
        "Reload",
        "Remove",
        "Render",
        "Restore",
        "Repeat",
        "Report",
        "Reset",
        "Restart",
        "Restrict",
        "Rotate",
        "Run",
        "Save",
        "Score",
        "Select",
        "Set",
        "Show",
        "Skip",
        "Sort",
        "Split",
        "Start",
        "Stop",
        "Store",
        "Take",
        "Train",
        "Unpack",
        "Use",
        "Validate",
        "Verify",
        "Wait",
        "Warn",
        "Write",
    ]
)


def _named(entries: list[dict[str, Any]] | None) -> Iterator[str]:
    for entry in entries or []:
        if not {"hosts", "ansible.builtin.import_playbook"} & set(entry):
            yield str(entry["name"])
        for part in ("pre_tasks", "tasks", "post_tasks", "handlers", "block", "rescue", "always"):
            yield from _named(entry.get(part))


def _in(files: Iterable[pathlib.Path]) -> list[str]:
    return [name for path in files for name in _named(load(path))]


NAMES = {
    **{f"role {role}": _in(sorted((ROOT / "roles" / role / "tasks").glob("**/*.yml"))) for role in ROLES},
    **{
        str(path.relative_to(ROOT)): _in([path])
        for path in [*PLAYBOOKS, *sorted((ROOT / "playbooks" / "tasks").glob("*.yml"))]
    },
}


@pytest.mark.parametrize("place", NAMES)
def test_task_name_begins_with_a_verb(place: str) -> None:
    wrong = [name for name in NAMES[place] if re.split(r"[ :,]", name.rpartition(" | ")[2])[0] not in VERBS]
    assert not wrong, wrong


@pytest.mark.parametrize("place", NAMES)
def test_task_name_is_unique_in_its_role_or_playbook(place: str) -> None:
    twice = [name for name, number in Counter(NAMES[place]).items() if number > 1]
    assert not twice, twice


def test_task_names_of_roles_and_playbooks_are_found() -> None:
    assert len([name for place in NAMES if place.startswith("role ") for name in NAMES[place]]) > 400
    assert len([name for place in NAMES if place.startswith("playbooks/") for name in NAMES[place]]) > 100
