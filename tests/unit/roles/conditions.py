"""A task's conditions as Ansible answers them, without a playbook: its blocks' and its own `when`, `assert`, `until`,
`failed_when`, `changed_when`, and the message of a refusal. The role's defaults and variables count as in a play."""

from __future__ import annotations

import functools
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from tests.older_core import trust_as_template
from tests.unit.roles.collection import ROOT

_ASSERT = "ansible.builtin.assert"


class Found(NamedTuple):
    """``when``: of the blocks around it as well, outermost first; ``line``: as Ansible names the task's place."""

    task: Mapping[str, Any]
    when: list[str]
    variables: dict[str, Any]
    line: int


def play(role: str, file: str, name: str, variables: Mapping[str, Any]) -> str:
    """skipped, passes, ``refused: MESSAGE``, again, failed, changed or unchanged."""
    place = ROOT / "roles" / role / "tasks" / file
    (found,) = [one for one in _of_file(place) if one.task.get("name") == name]
    _note(place, found.line)
    holds = _Judge({**variables_of(role), **_trusted(found.variables), **variables})
    if not all(holds(condition) for condition in found.when):
        return "skipped"
    asked = found.task.get(_ASSERT)
    if asked:
        return "passes" if all(map(holds, _listed(asked["that"]))) else f"refused: {holds.said(asked['fail_msg'])}"
    if not all(map(holds, _listed(found.task.get("until")))):
        return "again"
    failed = _listed(found.task.get("failed_when"))
    if failed and all(map(holds, failed)):
        return "failed"
    changed = _listed(found.task.get("changed_when"))
    return "changed" if changed and all(map(holds, changed)) else "unchanged"


class _Judge:
    def __init__(self, variables: Mapping[str, Any]) -> None:
        self._templar = Templar(loader=DataLoader(), variables=dict(variables))

    def __call__(self, condition: Any) -> bool:
        answer = condition if isinstance(condition, bool) else self.said("{{ (" + str(condition) + ") }}")
        assert isinstance(answer, bool), f"{condition}: {answer!r} is neither true nor false"
        return answer

    def said(self, text: str) -> Any:
        return self._templar.template(trust_as_template(text))


def _note(place: pathlib.Path, line: int) -> None:
    """Who asks for mutants wants to know which test plays which task (tests/mutation/played.py)."""
    notes = os.environ.get("ROCEMESH_PLAYED")
    if notes:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
        with open(notes, "a", encoding="utf-8") as out:
            out.write(f"{test}\t{place}:{line}\n")


@functools.cache
def _of_file(place: pathlib.Path) -> tuple[Found, ...]:
    return tuple(_tasks(yaml.compose(place.read_text(), yaml.SafeLoader), [], {}))


@functools.cache
def variables_of(role: str) -> dict[str, Any]:
    """The defaults and the variables of a role, not templated."""
    found: dict[str, Any] = {}
    for part in ("defaults", "vars"):
        path = ROOT / "roles" / role / part / "main.yml"
        found.update(_trusted(yaml.load(path.read_text(), _Loader) or {}) if path.exists() else {})
    return found


class _Unsafe(str):
    """Text that Ansible never takes for a template: a template of Docker, for example."""


class _Loader(yaml.SafeLoader):
    pass


_Loader.add_constructor("!unsafe", lambda _loader, node: _Unsafe(node.value))


def _trusted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _trusted(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_trusted(one) for one in value]
    return trust_as_template(value) if isinstance(value, str) and not isinstance(value, _Unsafe) else value


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _tasks(node: yaml.Node | None, when: list[str], variables: dict[str, Any]) -> Iterator[Found]:
    assert isinstance(node, yaml.SequenceNode)
    for each in node.value:
        parts = {key.value: value for key, value in each.value}
        task = _Loader("").construct_document(each)
        around, given = [*when, *_listed(task.get("when"))], {**variables, **task.get("vars", {})}
        for inner in ("block", "rescue", "always"):
            if inner in parts:
                yield from _tasks(parts[inner], around, given)
        if "block" not in parts:
            yield Found(task, around, given, each.start_mark.line + 1)
