"""What every role has to have, and what none may do."""

from __future__ import annotations

import pathlib
import re
from typing import Any, Iterator

import pytest
import yaml

from tests.unit.roles.collection import (
    NAMESPACE,
    PLAYBOOKS,
    ROLES,
    ROOT,
    Use,
    defaults,
    entry_points,
    load,
    role_file,
    task_files,
    tasks,
    uses,
)

_FALLBACK = re.compile(r"\| default\(([^()]*)\) }}$")
_OF_CONTROLLER = "ansible_python_interpreter"
_CONTROL_FLOW = {"include_role", "import_role"}
_RESTARTS = {"reboot", "esxi_reboot", "shutdown", "win_reboot"}
_RESTART_COMMANDS = re.compile(
    r"^(reboot|shutdown|poweroff|halt|kexec|init [06]|telinit [06])\b|systemctl (\S+ )*(reboot|poweroff|halt|kexec)"
)


def options(role: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for entry_point, spec in entry_points(role).items():
        for name, option in spec.get("options", {}).items():
            yield entry_point, name, option


@pytest.mark.parametrize("role", ROLES)
def test_every_entry_point_specifies_exactly_the_variables_that_have_a_default_or_are_required(role: str) -> None:
    for entry_point, spec in entry_points(role).items():
        optional = {name for name, option in spec["options"].items() if not option.get("required")}
        assert optional == set(defaults(role)), entry_point


def variables(node: Any) -> Iterator[dict[str, Any]]:
    """``vars`` of everything in a playbook or task file."""
    for value in node.values() if isinstance(node, dict) else node:
        if isinstance(value, (dict, list)):
            yield from variables(value)
    if isinstance(node, dict) and isinstance(node.get("vars"), dict):
        yield node["vars"]


def test_a_variable_of_another_role_has_a_fallback() -> None:
    """With private_role_vars, or where that role is not in the play, nobody defines it."""
    found = []
    for path in (path for role in ROLES for path in role_file(role).glob("**/*.yml") if path.parent.name != "meta"):
        others = [name for role in ROLES if role != path.relative_to(ROOT).parts[1] for name in defaults(role)]
        lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
        used = re.compile(rf"\b({'|'.join(others)})\b(?! \| default| ?:)")
        found += [(path.relative_to(ROOT), each) for line in lines for each in used.findall(line)]
    assert found == []


def test_tasks_of_the_controller_never_become_root() -> None:
    """A play's become and an ansible_become of the inventory are meant for the nodes; a controller may have no sudo."""
    files = [*task_files(), *(ROOT / "playbooks").glob("**/*.yml")]
    found = [(path, given) for path in files for given in variables(load(path) or []) if _OF_CONTROLLER in given]
    assert len(found) > 25
    assert [path for path, given in found if given.get("ansible_become") is not False] == []


@pytest.mark.parametrize("role", ROLES)
def test_documented_default_is_the_real_one(role: str) -> None:
    """Where the real one is a template of a type that a template cannot have, its fallback counts."""
    for entry_point, name, option in options(role):
        if option.get("required"):
            assert "default" not in option, f"{entry_point}: {name} is required and has a default"
            continue
        real = defaults(role)[name]
        fallback = _FALLBACK.search(real) if isinstance(real, str) else None
        if fallback and option["type"] not in ("str", "path", "raw"):
            real = yaml.safe_load(fallback.group(1))
        assert (option["default"], type(option["default"])) == (real, type(real)), f"{entry_point}: {name}"


@pytest.mark.parametrize("role", ROLES)
def test_every_variable_is_named_after_its_role_and_has_type_and_description(role: str) -> None:
    seen = 0
    for entry_point, name, option in options(role):
        seen += 1
        assert name.startswith(role + "_"), f"{entry_point}: {name}"
        assert option.get("type") and option.get("description"), f"{entry_point}: {name}"
        assert option["type"] != "list" or option.get("elements"), f"{entry_point}: {name}"
    assert seen


@pytest.mark.parametrize("role", ROLES)
def test_every_entry_point_is_a_task_file_with_a_description(role: str) -> None:
    for entry_point, spec in entry_points(role).items():
        assert role_file(role, "tasks", entry_point + ".yml").is_file(), entry_point
        assert spec.get("short_description") and spec.get("description"), entry_point


def secret_options() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (role, name, option)
        for role in ROLES
        for _entry_point, name, option in options(role)
        if re.search("password|token|secret", name)
    ]


def test_secrets_have_no_default_value() -> None:
    found = secret_options()
    assert found
    for role, name, option in found:
        default = str(option.get("default", ""))
        assert default == "" or default.startswith("{{ rocemesh_"), f"{role}: {name}"


def test_playbooks_call_roles() -> None:
    assert {use.role for use in uses()} == {NAMESPACE + role for role in ROLES}


@pytest.mark.parametrize("use", uses(), ids=lambda use: f"{use.playbook}-{use.role}-{use.entry_point}")
def test_what_a_playbook_calls_exists_and_the_readme_names_it(use: Use) -> None:
    role = use.role[len(NAMESPACE) :]
    assert use.role.startswith(NAMESPACE) and role in ROLES
    assert role_file(role, "tasks", use.entry_point + ".yml").is_file()
    readme = role_file(role, "README.md").read_text()
    if use.entry_point == "main":
        assert f"{NAMESPACE}{role}" in readme
    else:
        assert f"`{use.entry_point}`" in readme


@pytest.mark.parametrize("role", ROLES)
def test_readme_names_no_variable_that_the_role_does_not_have(role: str) -> None:
    """A name in backquotes is an option, something that the tasks publish or use, or another role's."""
    known = "\n".join(path.read_text() for path in (ROOT / "roles").rglob("*.yml"))
    named = set(re.findall(rf"`({role}_[a-z0-9_]+)", role_file(role, "README.md").read_text()))
    assert {name for name in named if not re.search(rf"\b{name}\b", known)} == set()


def restarts(task: dict[str, Any]) -> list[str]:
    """What in this task restarts or stops a machine: the module, or the command."""
    found = []
    for key, value in task.items():
        module = key.rsplit(".", 1)[-1]
        if module in _RESTARTS:
            found.append(key)
        if module in ("command", "shell", "raw", "script"):
            argument = value if isinstance(value, str) else value.get("cmd", value.get("argv", ""))
            text = argument if isinstance(argument, str) else " ".join(str(word) for word in argument)
            if any(_RESTART_COMMANDS.search(part.strip()) for part in re.split(r"[;&|\n]+", text)):
                found.append(f"{key}: {text}")
    return found


@pytest.mark.parametrize(
    ("task", "is_restart"),
    [
        ({"ansible.builtin.reboot": None}, True),
        ({"rocemesh.multinode.esxi_reboot": {"esxi_hostname": "a"}}, True),
        ({"ansible.builtin.command": {"argv": ["systemctl", "--no-block", "reboot"]}}, True),
        ({"ansible.builtin.shell": "sync && reboot -f"}, True),
        ({"ansible.builtin.command": "echo reboot needed"}, False),
        ({"name": "reboot", "ansible.builtin.debug": {"msg": "reboot"}}, False),
    ],
)
def test_a_restart_is_recognised(task: dict[str, Any], is_restart: bool) -> None:
    assert bool(restarts(task)) is is_restart


@pytest.mark.parametrize("path", task_files(), ids=lambda path: str(path.relative_to(ROOT / "roles")))
def test_no_role_restarts_a_machine(path: pathlib.Path) -> None:
    assert [found for task in tasks(path) for found in restarts(task)] == []


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda path: path.name)
def test_only_the_window_restarts_a_machine(playbook: pathlib.Path) -> None:
    """Elsewhere esxi_reboot may only end a maintenance mode: without a reason it never reboots."""
    found = []
    for task in tasks(playbook):
        ends_maintenance = task.get("rocemesh.multinode.esxi_reboot")
        if ends_maintenance and not {"required", "pending_settings"} & set(ends_maintenance):
            continue
        found += restarts(task)
    assert bool(found) is (playbook.name == "reboot.yml")


def test_site_imports_existing_playbooks_each_once() -> None:
    imported = [play["ansible.builtin.import_playbook"] for play in load(ROOT / "playbooks" / "site.yml")]
    assert len(imported) == len(set(imported))
    assert {name for name in imported if not (ROOT / "playbooks" / name).is_file()} == set()
    beside = {"site.yml", "benchmark.yml", "compare.yml", "consistency.yml", "doctor.yml", "fabric.yml", "handoff.yml"}
    beside |= {
        "rotate_mesh.yml",
        "collect.yml",
        "drift.yml",
        "undo.yml",
        "add_host.yml",
        "remove_host.yml",
        "replace.yml",
        "upgrade.yml",
    }
    assert {playbook.name for playbook in PLAYBOOKS} - set(imported) == beside


def test_modules_are_called_by_their_full_names() -> None:
    ours = {path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")}
    for path in [*task_files(), *PLAYBOOKS]:
        for task in tasks(path):
            assert not (ours | _CONTROL_FLOW) & set(task), f"{path.name}: {task.get('name')}"


def test_apt_waits_for_a_machine_that_updates_itself_after_its_boot() -> None:
    """Apt's own wait is a minute; unattended-upgrades, which start with a VM that was off, take longer."""
    files = {*task_files(), *PLAYBOOKS, *(ROOT / "playbooks" / "tasks").glob("*.yml")}
    apts = [task for path in files for task in tasks(path) if "ansible.builtin.apt" in task]
    assert len(apts) > 5
    for task in apts:
        wait = task["ansible.builtin.apt"].get("lock_timeout", 60)
        assert str(wait).startswith("{{ __guest_ofed_timeout") or int(wait) >= 600, task["name"]
