"""Templates of plays and roles: what YAML and Jinja make of a backslash, and tags that no task has."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.plugin_utils.decision import Context, decide
from ansible_collections.rocemesh.multinode.plugins.plugin_utils.decisions import unread_tags

from tests.unit.roles.collection import ROOT
from tests.unit.roles.test_extra_vars import FILES, Loader, texts

YAML_FILES = [*FILES, *sorted((ROOT / "playbooks" / "tasks").glob("*.yml"))]


def test_a_line_break_in_an_expression_is_one() -> None:
    """Ansible hands a backslash on as it is: in a plain or folded scalar it has to be a double-quoted YAML string."""
    wrong = [
        f"{path.relative_to(ROOT)}: {each}"
        for path in YAML_FILES
        for text in texts(yaml.load(path.read_text(), Loader))
        for each in re.findall(r"{{.*?}}", text, re.DOTALL)
        if "join('\\n')" in each or "split('\\n')" in each
    ]
    assert wrong == []


def tags_of(value: Any) -> set[str]:
    if isinstance(value, list):
        return {tag for inner in value for tag in tags_of(inner)}
    if not isinstance(value, dict):
        return set()
    own = value.get("tags", [])
    return {own} if isinstance(own, str) else {*own, *(tag for inner in value.values() for tag in tags_of(inner))}


def test_all_tags_of_plays_and_tasks_are_known() -> None:
    paths = [*(ROOT / "playbooks").rglob("*.yml"), *(ROOT / "roles").glob("*/tasks/**/*.yml")]
    found = {tag for path in paths for tag in tags_of(yaml.load(path.read_text(), Loader))}
    assert found - unread_tags.TAGS == set() and {*unread_tags.STAGES, *unread_tags.OTHERS} <= found


CASES = [(["imgae"], [], "image"), (["preflight", "reboot"], [], "window"), (["all"], ["gest"], "guest")]


@pytest.mark.parametrize(("run", "skip", "meant"), CASES)
def test_a_tag_that_no_task_has_is_refused(run: list[str], skip: list[str], meant: str) -> None:
    with pytest.raises(ValueError, match=f"is it {meant}"):
        decide("unread_tags", {}, Context({"ansible_run_tags": run, "ansible_skip_tags": skip}))


@pytest.mark.parametrize("tags", [["all"], ["guest", "verify"], ["switches"], ["storage", "mine"]])
def test_tags_of_stages_and_of_other_plays_are_taken(tags: list[str]) -> None:
    assert decide("unread_tags", {}, Context({"ansible_run_tags": tags, "ansible_skip_tags": []})) == {}
