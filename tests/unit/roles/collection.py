"""What the collection consists of, read from its files."""

from __future__ import annotations

import dataclasses
import importlib.util
import pathlib
from types import ModuleType
from typing import Any, Iterator

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir() if path.is_dir())
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yml"))
NAMESPACE = "rocemesh.multinode."

_LISTS_OF_TASKS = ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always")


def program(path: pathlib.Path) -> ModuleType:
    """A script of this repository that lies in no package, as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(path: pathlib.Path) -> Any:
    return yaml.safe_load(path.read_text())


def role_file(role: str, *parts: str) -> pathlib.Path:
    return ROOT.joinpath("roles", role, *parts)


def defaults(role: str) -> dict[str, Any]:
    return load(role_file(role, "defaults", "main.yml")) or {}


def entry_points(role: str) -> dict[str, dict[str, Any]]:
    """Entry point -> its argument spec."""
    specs: dict[str, dict[str, Any]] = load(role_file(role, "meta", "argument_specs.yml"))["argument_specs"]
    return specs


def tasks(path: pathlib.Path) -> Iterator[dict[str, Any]]:
    """Every task of a playbook or task file, those in blocks too."""
    for item in load(path) or []:
        yield from _flat(item)


def _flat(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    inner = [item[key] for key in _LISTS_OF_TASKS if key in item]
    if not inner:
        yield item
    for each in inner:
        for task in each or []:
            yield from _flat(task)


def task_files() -> list[pathlib.Path]:
    return sorted(path for kind in ("tasks", "handlers") for path in (ROOT / "roles").glob(f"*/{kind}/**/*.yml"))


@dataclasses.dataclass(frozen=True)
class Use:
    """A playbook calls an entry point of a role."""

    playbook: str
    role: str
    entry_point: str


def uses() -> list[Use]:
    found = []
    for playbook in PLAYBOOKS:
        for play in load(playbook):
            for role in play.get("roles") or []:
                name = role if isinstance(role, str) else role.get("role", role.get("name"))
                found.append(Use(playbook.name, name, "main"))
        for task in tasks(playbook):
            for verb in ("include_role", "import_role"):
                call = task.get("ansible.builtin." + verb, task.get(verb))
                if call:
                    found.append(Use(playbook.name, call["name"], call.get("tasks_from", "main")))
    return found
