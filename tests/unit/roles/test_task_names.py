"""Operators search logs and AWX for task names: each begins with a verb and occurs once in its role."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.roles.collection import ROLES, ROOT, load

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


def names(role: str) -> Iterator[str]:
    def tasks(entries: list[dict[str, Any]]) -> Iterator[str]:
        for entry in entries:
            yield str(entry["name"])
            for part in ("block", "rescue", "always"):
                yield from tasks(entry.get(part, []))

    for path in sorted((ROOT / "roles" / role / "tasks").glob("**/*.yml")):
        yield from tasks(load(path) or [])


@pytest.mark.parametrize("role", ROLES)
def test_task_name_begins_with_a_verb(role: str) -> None:
    wrong = [name for name in names(role) if re.split(r"[ :,]", name.rpartition(" | ")[2])[0] not in VERBS]
    assert not wrong, wrong


@pytest.mark.parametrize("role", ROLES)
def test_task_name_is_unique_in_its_role(role: str) -> None:
    twice = [name for name, number in Counter(names(role)).items() if number > 1]
    assert not twice, twice
