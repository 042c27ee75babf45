"""Roles say what modules do: a role option that feeds a module option has its type, its choices and its meaning.

What feeds what is found in the tasks. Only a value that is the role's variable and nothing else, or that variable with
"empty means not given", is compared: an expression of several things has a meaning of its own.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import pathlib
import re
from typing import Any, Iterator

import pytest
import yaml

from tests.unit.roles.collection import NAMESPACE, ROLES, ROOT, defaults, entry_points, load

# A variable, or a key of one with the defaults of the role's vars: __switch_options.timeout.
_PLAIN = re.compile(r"^{{\s*((?:__\w+\.)?\w+)\s*}}$")
_OMIT_EMPTY = re.compile(r"^{{\s*((?:__\w+\.)?\w+)\s*\|\s*default\(omit, true\)\s*}}$")
_OMIT_EMPTY_TEXT = re.compile(r"^{{\s*omit if (\w+) == '' else \1\s*}}$")
EMPTY = ("", [], {}, 0)


@dataclasses.dataclass(frozen=True)
class Feed:
    """``how``: plain; falsy (whatever is falsy means not given); text ('' means not given)."""

    module: str
    option: str
    variable: str
    how: str


def documented(module: str) -> dict[str, Any]:
    """Options of a module with those of its fragments."""
    text = (ROOT / "plugins" / "modules" / f"{module}.py").read_text()
    found = _documentation(text)
    options: dict[str, Any] = {}
    for fragment in found.get("extends_documentation_fragment") or []:
        parts = fragment.removeprefix(NAMESPACE).split(".")
        name = parts[1].upper() if len(parts) > 1 else "DOCUMENTATION"
        source = (ROOT / "plugins" / "doc_fragments" / f"{parts[0]}.py").read_text()
        options.update((_documentation(source, name) or {}).get("options") or {})
    return {**options, **(found.get("options") or {})}


def _documentation(source: str, name: str = "DOCUMENTATION") -> dict[str, Any]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if name in names:
                return dict(yaml.safe_load(str(node.value.value)))
    return {}


def specified(path: pathlib.Path) -> dict[str, Any]:
    """Options of a private decision."""
    spec = importlib.import_module(f"{DECISIONS}.{path.stem}").SPEC
    return {name: {"type": "str", **option} for name, option in spec.items()}


DECISIONS = "ansible_collections.rocemesh.multinode.plugins.plugin_utils.decisions"
MODULES = {
    **{path.stem: documented(path.stem) for path in sorted((ROOT / "plugins" / "modules").glob("[a-z]*.py"))},
    **{path.stem: specified(path) for path in (ROOT / "plugins" / "plugin_utils" / "decisions").glob("[a-z]*.py")},
}


def _calls(thing: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(thing, dict):
        for key, value in thing.items():
            name = str(key).removeprefix(NAMESPACE)
            if name == "decide" and isinstance(value, dict):
                yield value["function"], value.get("options", {})
            elif str(key).startswith(NAMESPACE) and name in MODULES and isinstance(value, dict):
                yield name, value
            yield from _calls(value)
    elif isinstance(thing, list):
        for each in thing:
            yield from _calls(each)


@functools.cache
def feeds(role: str) -> list[Feed]:
    found, variables = set(), {*defaults(role), *(name for name in specification(role) if "." in name)}
    for path in sorted((ROOT / "roles" / role / "tasks").glob("**/*.yml")):
        for module, arguments in _calls(load(path)):
            for option, value in arguments.items():
                for how, pattern in (("plain", _PLAIN), ("falsy", _OMIT_EMPTY), ("text", _OMIT_EMPTY_TEXT)):
                    match = pattern.match(str(value).strip())
                    name = match.group(1) if match else ""
                    name = name.removeprefix("__") if "." in name else name
                    if name in variables:
                        found.add(Feed(module, option, name, how))
    return sorted(found, key=dataclasses.astuple)


@functools.cache
def specification(role: str) -> dict[str, dict[str, Any]]:
    """Options of all entry points, and their keys as ``option.key``."""
    found = {name: option for entry in entry_points(role).values() for name, option in entry.get("options", {}).items()}
    keys = {
        f"{name}.{key}": each
        for name, option in found.items()
        if option["type"] == "dict"
        for key, each in (option.get("options") or {}).items()
    }
    return {**found, **keys}


def drifts(feed: Feed, role: dict[str, Any]) -> list[str]:
    """What the role says of the variable and the module does not do."""
    module = MODULES[feed.module].get(feed.option)
    if module is None:
        return ["the module has no such option"]
    found = []
    mine, own = role.get("type", "str"), module.get("type", "str")
    either = mine == "raw" and (feed.how == "text" or own == "list")  # the module's type, or '' or a single element
    if mine != own and not either and {mine, own} != {"str", "path"}:
        found.append(f"type {mine}, module {own}")
    if role.get("elements") != module.get("elements") and not either:
        found.append(f"elements {role.get('elements')}, module {module.get('elements')}")
    choices = [choice for choice in role.get("choices") or [] if choice != "" or feed.how == "plain"]
    if choices != (module.get("choices") or []):
        found.append(f"choices {choices}, module {module.get('choices')}")
    given, otherwise = role.get("default"), module.get("default")
    unset = given in EMPTY if feed.how == "falsy" else given == "" if feed.how == "text" else given is None
    if feed.how == "falsy" and own == "bool" and otherwise is not False:
        found.append(f"false means not given, and the module has {otherwise} then")
    if feed.how == "plain" and given in EMPTY and given is not False and otherwise != given:
        found.append(f"empty ({given!r}) is handed on, and the module's default is {otherwise!r}")
    if not unset and not module.get("required") and otherwise is not None and given != otherwise:
        found.append(f"default {given!r}, module {otherwise!r}")
    return found


# (role, variable, module, option) -> why it differs, and when the line can go
ON_PURPOSE: dict[tuple[str, str, str, str], str] = {
    ("benchmark", "benchmark_hosts", "benchmark_plan", "hosts"): "no host is refused before anything is planned",
    ("benchmark", "benchmark_hosts", "mpi_hosts", "hosts"): "the same",
    (
        "guest",
        "guest_ofed_version",
        "guest_driver",
        "ofed_wanted",
    ): "the role knows the guide's release, the module none",
    ("run", "run_hosts", "mpi_hosts", "hosts"): "no host is refused by the role, with the names of the inventory",
    ("mesh", "mesh_state", "ssh_container_mesh", "state"): "identity is a step, and no state of the mesh",
    ("mesh", "mesh_transport", "ssh_container_mesh", "transport"): "mesh_guide_compatible brings the guide's transport",
    ("preflight", "preflight_dest", "preflight", "dest"): "the role leaves its findings beside the reports",
    ("run", "run_container", "mpi_job", "container"): "the role runs in the container that role container made",
    ("switch", "switch_roce_mode", "onyx_roce", "mode"): (
        "the role knows the modes of both systems, and refuses in words what the kind of switch does not have"
    ),
    ("switch", "switch_port", "switch_roce", "port"): "the role's default is that of SSH, or of this system",
    ("switch", "switch_driver", "switch_roce_info", "system"): "the role takes drivers that configure, too, and roles",
}


@pytest.mark.parametrize("role", ROLES)
def test_role_options_say_what_the_modules_do(role: str) -> None:
    found = {
        (role, feed.variable, feed.module, feed.option): drifts(feed, specification(role).get(feed.variable, {}))
        for feed in feeds(role)
    }
    problems = {key: drift for key, drift in found.items() if drift and key not in ON_PURPOSE}
    assert not problems, "\n".join(f"{key}: {'; '.join(drift)}" for key, drift in problems.items())
    stale = [key for key in ON_PURPOSE if key[0] == role and not found.get(key)]
    assert not stale, f"on the list and no drift any more: {stale}"


def written(path: pathlib.Path) -> Iterator[tuple[str, str, Any]]:
    """Module, option and value of what a file of tasks or plays writes down, and does not compute."""
    for module, arguments in _calls(load(path)):
        for option, value in arguments.items():
            for each in value if isinstance(value, list) else [value]:
                if not isinstance(each, dict) and "{{" not in str(each):
                    yield module, option, each


@pytest.mark.parametrize(
    "path",
    [*sorted(ROOT.glob("playbooks/**/*.yml")), *sorted(ROOT.glob("roles/*/tasks/**/*.yml"))],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_value_that_is_written_down_is_one_that_the_module_takes(path: pathlib.Path) -> None:
    """A task that may fail (failed_when) would hide a refusal, and its reading would be empty at every run."""
    for module, option, value in written(path):
        assert option in MODULES[module], f"{module} has no {option}"
        choices = MODULES[module][option].get("choices")
        assert not choices or value in choices, f"{module}: {option} is {value!r}, expected one of {choices}"


def test_there_is_something_to_compare() -> None:
    counted = {role: len(feeds(role)) for role in ROLES}
    assert sum(counted.values()) > 50 and counted["gpu_vm"] >= 4, counted


@pytest.mark.parametrize(
    ("feed", "role", "drift"),
    [
        (Feed("vmx_passthru", "final_power", "v", "plain"), {"choices": ["as_found", "off"]}, "choices"),
        (Feed("vmx_passthru", "reserve_memory", "v", "falsy"), {"type": "bool"}, "false means not given"),
        (Feed("vmx_passthru", "shutdown_timeout", "v", "plain"), {"type": "str", "default": "300"}, "type str"),
        (Feed("vmx_passthru", "power_timeout", "v", "plain"), {"type": "int", "default": 60}, "default 60"),
        (Feed("vmx_passthru", "folder", "v", "plain"), {"type": "str", "default": ""}, "empty ('') is handed on"),
        (Feed("vmx_passthru", "numa", "v", "plain"), {}, "no such option"),
        (Feed("esxi_kernel_setting", "settings", "v", "plain"), {"type": "list", "elements": "str"}, "elements"),
    ],
    ids=["choices", "meaning_of_false", "type", "default", "meaning_of_empty", "name", "elements"],
)
def test_drift_is_seen(feed: Feed, role: dict[str, Any], drift: str) -> None:
    assert any(drift in text for text in drifts(feed, role)), drifts(feed, role)
