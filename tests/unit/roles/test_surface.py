"""How much there is to learn: few modules, few role options, and dictionaries whose keys are documented as they are."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.unit.roles import conditions
from tests.unit.roles.collection import ROLES, ROOT, entry_points
from tests.unit.roles.test_role_module_drift import documented

MODULES = [path.stem for path in (ROOT / "plugins" / "modules").glob("[a-z]*.py")]


def options(role: str) -> dict[str, dict[str, Any]]:
    return {name: option for entry in entry_points(role).values() for name, option in entry.get("options", {}).items()}


def constants(role: str) -> dict[str, Any]:
    return conditions.variables_of(role)


# Files that serve one purpose beside the chain of the guide, in the order of the table in docs/architecture.md.
APART = [
    re.compile(files)
    for files in (
        r"journal|restor|undo|upgrade|replacement|approved_plan|planned|child_play|container/tasks/(absent|remount)",
        r"_nic/(boot_|manifest)|node_manifest",
        r"node_info|/stages\.py|stage/tasks/left",
        r"_preflight/(relations|values|layers)\.|decisions/(esxi_batches|site_windows|site_plan|system_support)"
        r"|_site/support|many_vms|pending_together|inventory_names|stage_options",
        r"_onyx/lease|_switch/judge",
        r"_collect/(mask|spellings|second_opinion)",
        r"(?!)",
    )
]


DICTIONARIES = [(role, name) for role in ROLES for name in options(role) if f"__{name}_defaults" in constants(role)]


def limits() -> tuple[int, int]:
    text = (ROOT / "docs" / "architecture.md").read_text()
    modules, role_options = re.findall(r"at most (\d+) (?:modules|role options)", text, re.IGNORECASE)
    return int(modules), int(role_options)


def test_limits_of_the_architecture_are_those_of_the_project() -> None:
    modules, role_options = limits()
    assert modules <= 25 and role_options <= 220


def test_modules_are_at_most_as_many_as_promised() -> None:
    assert len(MODULES) <= limits()[0]


def test_role_options_are_at_most_as_many_as_promised() -> None:
    counted = {role: len(options(role)) for role in ROLES}
    assert sum(counted.values()) <= limits()[1], counted


def test_lines_are_at_most_as_many_as_promised() -> None:
    counted = {
        str(path.relative_to(ROOT)): len(path.read_bytes().splitlines())
        for room in ("plugins", "roles")
        for path in (ROOT / room).rglob("*")
        if path.suffix in (".py", ".yml", ".j2", ".md") and not re.search(r"/packs/|sample", str(path))
    }
    text = (ROOT / "docs" / "architecture.md").read_text()
    (said,) = re.findall(r"`roles` together: ([\d,]+) lines(.*?)\nWithout these ([\d,]+) lines", text, re.DOTALL)
    most, rest = (int(each.replace(",", "")) for each in (said[0], said[2]))
    rows = [
        (int(own.replace(",", "")), int(within.replace(",", "")))
        for own, within in re.findall(r"\| ([\d,]+) \| ([\d,]+) \|", said[1])
    ]
    assert sum(counted.values()) <= most, f"{sum(counted.values()):,}"
    for pattern, (own, _) in zip(APART, rows, strict=True):
        found = sum(count for name, count in counted.items() if pattern.search(name))
        assert found >= own, (pattern.pattern, found)
    assert rest == most - sum(map(sum, rows)) <= 58_000


@pytest.mark.parametrize(("role", "name"), DICTIONARIES)
def test_documented_keys_have_the_real_defaults(role: str, name: str) -> None:
    documented_keys = {key: each.get("default") for key, each in options(role)[name]["options"].items()}
    assert documented_keys == constants(role)[f"__{name}_defaults"]
    assert constants(role)[f"__{name}"] == f"{{{{ __{name}_defaults | combine({name}) }}}}"


def test_dictionaries_are_found() -> None:
    assert {("switch", "switch_options"), ("run", "run_tuning"), ("benchmark", "benchmark_scaling")} <= set(
        DICTIONARIES
    )


def test_keys_of_a_vm_are_those_of_the_module() -> None:
    module = documented("vmx_passthru")
    for key, each in options("gpu_vm")["gpu_vm_wanted"]["options"].items():
        assert key in module and each["type"] == module[key]["type"], key
        assert each.get("default", module[key].get("default")) == module[key].get("default"), key
        assert each.get("choices", module[key].get("choices")) == module[key].get("choices"), key
