# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests that kill a run wait for the name of a task: a task that was renamed would never come."""

from __future__ import annotations

import re

import pytest

from tests.faults.test_kill import KILL_AT
from tests.unit.roles.collection import PLAYBOOKS, ROLES, ROOT, tasks

_TEMPLATE_RE = re.compile(r"\{\{.*?\}\}")


def headings() -> list[str]:
    """What Ansible prints above each task; the one step that a template names is the training."""
    found = [(None, path) for path in PLAYBOOKS]
    found += [(role, path) for role in ROLES for path in sorted((ROOT / "roles" / role / "tasks").glob("*.yml"))]
    named = [
        (f"rocemesh.multinode.{role} : " if role else "", str(task.get("name", "")))
        for role, path in found
        for task in tasks(path)
    ]
    return [f"TASK [{role}{_TEMPLATE_RE.sub('train', name)}]" for role, name in named]


@pytest.mark.parametrize("pattern", KILL_AT.values(), ids=KILL_AT)
def test_there_is_a_task_to_be_killed_at(pattern: str) -> None:
    assert any(re.search(pattern, heading) for heading in headings()), pattern
