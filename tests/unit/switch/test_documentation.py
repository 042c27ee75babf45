"""What ansible-doc shows: every option says its type, its default, and what it does to traffic."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.doc_fragments.switch import ModuleDocFragment
from ansible_collections.rocemesh.multinode.plugins.modules import (
    onyx_roce,
    switch_roce,
    switch_roce_info,
)

MODULES = (onyx_roce, switch_roce, switch_roce_info)
FRAGMENTS = ("DOCUMENTATION", "CHANGES", "SSH", "HTTPS")
OPTIONS = [
    (f"{module.__name__.rpartition('.')[2]}.{name}", option)
    for module in MODULES
    for name, option in yaml.safe_load(module.DOCUMENTATION)["options"].items()
] + [
    (f"{fragment}.{name}", option)
    for fragment in FRAGMENTS
    for name, option in yaml.safe_load(getattr(ModuleDocFragment, fragment))["options"].items()
]
ROLE = Path(__file__).parents[3] / "roles" / "switch"
UNITS = dict.fromkeys(("timeout", "wait_for_links", "apply_timeout", "confirm_timeout"), "seconds") | {"mtu": "bytes"}


@pytest.mark.parametrize("option", [row[1] for row in OPTIONS], ids=[row[0] for row in OPTIONS])
def test_every_option_says_type_default_and_effect(option: dict[str, Any]) -> None:
    text = option["description"] if isinstance(option["description"], str) else " ".join(option["description"])
    assert option["type"]
    assert "default" in option or option.get("required") or re.search(r"not set|is written .* first change", text)
    assert re.search(r"(?i)traffic|\blinks?\b|disturb|lose|toggle", text), "says nothing about traffic"


@pytest.mark.parametrize(("name", "unit"), UNITS.items())
def test_what_has_a_unit_names_it(name: str, unit: str) -> None:
    for identity, option in OPTIONS:
        if identity.endswith("." + name):
            text = option["description"] if isinstance(option["description"], str) else " ".join(option["description"])
            assert unit in text.lower()


def test_the_role_takes_every_system_of_the_modules() -> None:
    read_only = yaml.safe_load((ROLE / "vars" / "main.yml").read_text())["__switch_read_only"]
    systems = yaml.safe_load(switch_roce_info.DOCUMENTATION)["options"]["system"]["choices"]
    configured = ["onyx", *yaml.safe_load(switch_roce.DOCUMENTATION)["options"]["system"]["choices"]]
    assert [*configured, *read_only] == systems
    assert [system for system in systems if (ROLE / "tasks" / system / "converge.yml").exists()] == configured
