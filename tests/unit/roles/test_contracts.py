"""A role publishes what its README lists, and takes of another role only that: its entry points and its facts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

import pytest

from tests.unit.roles.collection import PLAYBOOKS, ROLES, ROOT, defaults, entry_points, tasks

PRIVATE = re.compile(rf"\b__({'|'.join(sorted(ROLES, key=len, reverse=True))})_\w+")
INCLUDES = ("ansible.builtin.include_role", "ansible.builtin.import_role")


def task_files(role: str) -> list[Path]:
    return sorted((ROOT / "roles" / role / "tasks").rglob("*.yml"))


def readme(role: str) -> str:
    return (ROOT / "roles" / role / "README.md").read_text()


def files_outside(role: str) -> Iterator[Path]:
    yield from (path for path in (ROOT / "playbooks").rglob("*.yml"))
    for other in ROLES:
        if other != role:
            yield from (ROOT / "roles" / other).rglob("*.yml")


def facts(role: str) -> set[str]:
    """What its tasks set or register without the underscores that make a name private."""
    found: set[str] = set()
    for path in task_files(role):
        for task in tasks(path):
            found |= set(task.get("ansible.builtin.set_fact") or {}) - {"cacheable"}
            found |= {str(task["register"])} if "register" in task else set()
    return {name for name in found if not name.startswith("__")}


@pytest.mark.parametrize("role", ROLES)
def test_nobody_else_uses_a_private_variable_of_a_role(role: str) -> None:
    used = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in files_outside(role)
        for match in PRIVATE.finditer(path.read_text())
        if match[1] == role
    }
    assert used == set()


@pytest.mark.parametrize("role", ROLES)
def test_what_a_role_publishes_stands_in_its_readme_and_has_its_name(role: str) -> None:
    assert {name for name in facts(role) if not name.startswith(f"{role}_")} == set()
    assert {name for name in facts(role) if f"`{name}`" not in readme(role)} == set()


def test_only_entry_points_of_another_role_are_played() -> None:
    """Those that its argument specification has, or its README names."""
    unknown = set()
    places = [(path, "") for path in PLAYBOOKS] + [(path, role) for role in ROLES for path in task_files(role)]
    for path, owner in places:
        for task in tasks(path):
            for include in INCLUDES:
                given = task.get(include)
                if not isinstance(given, dict) or "{{" in str(given["name"]):
                    continue
                role, entry = str(given["name"]).rpartition(".")[2], str(given.get("tasks_from", "main"))
                if role == owner or entry in entry_points(role) or f"`{entry}`" in readme(role):
                    continue
                unknown.add(f"{path.relative_to(ROOT)}: {role} {entry}")
    assert unknown == set()


@pytest.mark.parametrize("role", ROLES)
def test_facts_that_others_use_are_published(role: str) -> None:
    """A word with the role's name that is neither an option nor published is somebody's guess."""
    known = (
        facts(role)
        | set(defaults(role))
        | {option for spec in entry_points(role).values() for option in spec["options"]}
    )
    pattern = re.compile(rf"hostvars\[[^]]*\]\.({role}_\w+)|attribute='({role}_\w+)")
    used = {
        name
        for path in files_outside(role)
        for match in pattern.finditer(path.read_text())
        for name in [match[1] or match[2]]
        if not any(name.startswith(f"{other}_") for other in ROLES if len(other) > len(role))
    }
    assert used - known == set()


# Of configure.yml: later entry points register the same name, so that one variable judges both.
HIDDEN_ON_PURPOSE = {("guest", "__guest_observed")}


@pytest.mark.parametrize("role", ROLES)
def test_no_variable_of_a_task_is_hidden_by_a_fact_of_the_same_name(role: str) -> None:
    """What was set or registered goes before the variables of a task, in whatever file of the play that was."""
    kept: set[str] = set()
    own: set[str] = set()
    for path in task_files(role):
        for task in tasks(path):
            kept |= set(task.get("ansible.builtin.set_fact") or {}) | {str(task.get("register", ""))}
            if not {"ansible.builtin.include_tasks", "ansible.builtin.include_role"} & set(task):
                own |= set(task.get("vars") or {})
    assert {(role, name) for name in kept & own} - HIDDEN_ON_PURPOSE == set()
