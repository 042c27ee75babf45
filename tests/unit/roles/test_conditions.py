"""Roles refuse what they should, say why, and refuse nothing else: conditions asked without a playbook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.roles.condition_table import TASKS, Task
from tests.unit.roles.conditions import play

_HOST = {"inventory_hostname": "gpu01", "ansible_check_mode": False, "role_name": "role"}


def rows() -> Iterator[Any]:
    for task in TASKS:
        for number, (changes, expected) in enumerate([({}, task.well), *task.cases]):
            yield pytest.param(task, changes, expected, id=f"{task.role}-{task.name.split(' | ')[-1]}-{number}")


@pytest.mark.parametrize(("task", "changes", "expected"), rows())
def test_a_condition_holds_where_it_should(task: Task, changes: dict[str, Any], expected: str) -> None:
    said = play(task.role, task.file, task.name, {**_HOST, **task.right, **changes})
    if expected in ("passes", "skipped", "again", "failed", "changed", "unchanged"):
        assert said == expected
    else:
        assert said.startswith("refused: ") and expected in said


def test_each_task_is_refused_left_out_or_failed_by_something() -> None:
    """A row of which every case ends well says nothing."""
    assert not [task.name for task in TASKS if {expected for _changes, expected in task.cases} <= {task.well}]
