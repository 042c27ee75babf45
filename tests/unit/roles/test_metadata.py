"""What the collection says about itself: dependencies, action groups, versions."""

from __future__ import annotations

import ast
import pathlib
import re
from typing import Any

import ansible.modules
import pytest
import yaml
from ansible.parsing.plugin_docs import read_docstring

from tests.unit.roles.collection import NAMESPACE, PLAYBOOKS, ROOT, load, task_files, tasks

MODULES = {path.stem: path for path in sorted((ROOT / "plugins" / "modules").glob("*.py"))}
GROUPS: dict[str, list[str]] = load(ROOT / "meta" / "runtime.yml")["action_groups"]


def documentation(module: pathlib.Path) -> dict[str, Any]:
    for node in ast.parse(module.read_text()).body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "DOCUMENTATION"
        ):
            result: dict[str, Any] = yaml.safe_load(ast.literal_eval(node.value))
            return result
    raise AssertionError(f"{module.name} has no DOCUMENTATION")


def fragment(name: str, block: str) -> dict[str, Any]:
    text = (ROOT / "plugins" / "doc_fragments" / (name + ".py")).read_text()
    result: dict[str, Any] = yaml.safe_load(re.findall(rf'{block} = r"""(.*?)"""', text, re.DOTALL)[0])
    return result


def memberships(module: pathlib.Path) -> set[str]:
    """Action groups that the module's documentation names, in its own text or in a fragment that it extends."""
    document = documentation(module)
    attributes = dict(document.get("attributes", {}))
    for name in document.get("extends_documentation_fragment", []):
        if name.startswith(NAMESPACE):
            file, _dot, part = name[len(NAMESPACE) :].partition(".")
            attributes.update(fragment(file, part.upper() or "DOCUMENTATION").get("attributes", {}))
    return set(attributes.get("action_group", {}).get("membership", []))


@pytest.mark.parametrize("module", MODULES)
def test_documented_action_groups_are_those_of_the_runtime_file(module: str) -> None:
    assert memberships(MODULES[module]) == {NAMESPACE + group for group, members in GROUPS.items() if module in members}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_with_the_login_options_of_a_group_is_a_member(module: str) -> None:
    """Else module_defaults of the group would silently miss it."""
    extends = documentation(MODULES[module]).get("extends_documentation_fragment", [])
    expected = {name for name in ("vsphere", "switch") if NAMESPACE + name in extends}
    assert {group for group, members in GROUPS.items() if module in members} == expected


def test_action_groups_list_only_modules_that_exist() -> None:
    assert {name for members in GROUPS.values() for name in members} - set(MODULES) == set()


def used_collections() -> set[str]:
    names = set()
    for path in [*task_files(), *PLAYBOOKS]:
        for task in tasks(path):
            for key in task:
                found = re.fullmatch(r"(\w+\.\w+)\.\w+", key)
                if found:
                    names.add(found.group(1))
        names |= set(re.findall(r"(?:lookup|query)\(['\"](\w+\.\w+)\.\w+", path.read_text()))
        names |= set(re.findall(r"(?:\||\bis)\s+(\w+\.\w+)\.\w+", path.read_text()))
    return names - {"ansible.builtin", "rocemesh.multinode"}


def test_dependencies_are_the_collections_that_roles_and_playbooks_use() -> None:
    assert set(load(ROOT / "galaxy.yml")["dependencies"]) == used_collections()


def test_requirements_for_users_agree_with_the_collection() -> None:
    wanted = {each["name"]: each["version"] for each in load(ROOT / "collections" / "requirements.yml")["collections"]}
    assert wanted == load(ROOT / "galaxy.yml")["dependencies"]


def python_requirements(text: str) -> set[str]:
    return {line.split("#")[0].strip() for line in text.splitlines()} - {""}


def test_requirements_of_execution_environments_agree_with_pyproject() -> None:
    """The modules' own: those of ansible-core and of the lab do not belong there."""
    environment = load(ROOT / "meta" / "execution-environment.yml")["dependencies"]
    listed = python_requirements((ROOT / environment["python"]).read_text())
    project = (ROOT / "pyproject.toml").read_text()
    block = re.findall(r"^dependencies = \[\n(.*?)^\]", project, re.DOTALL | re.MULTILINE)[0]
    assert listed == set(re.findall(r'^\s*"([^"]+)"', block, re.MULTILINE)) - {"ansible-core>=2.17"}
    assert (ROOT / environment["system"]).is_file()


def test_one_version_everywhere() -> None:
    version = load(ROOT / "galaxy.yml")["version"]
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text()
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_options_of_builtin_modules_are_those_of_the_oldest_ansible_core() -> None:
    oldest = re.findall(r"\d+", load(ROOT / "meta" / "runtime.yml")["requires_ansible"])[:2]
    newer = set()
    for path in [*task_files(), *PLAYBOOKS, *(ROOT / "playbooks" / "tasks").glob("*.yml")]:
        for task in tasks(path):
            for name in task:
                module = pathlib.Path(ansible.modules.__path__[0], f"{name.rpartition('.')[2]}.py")
                if not name.startswith("ansible.builtin.") or not module.exists() or not isinstance(task[name], dict):
                    continue
                options = (read_docstring(str(module))["doc"] or {}).get("options") or {}
                since = {option: options.get(option, {}).get("version_added") or "0" for option in task[name]}
                newer |= {
                    (path.name, name, option)
                    for option, version in since.items()
                    if [int(part) for part in str(version).split(".")[:2]] > [int(part) for part in oldest]
                }
    assert newer == set()
