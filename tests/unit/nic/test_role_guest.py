# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role's contract with the people who use it."""

from __future__ import annotations

import pathlib
import re

import yaml

ROLE = pathlib.Path(__file__).resolve().parents[3] / "roles" / "guest"


def load(name: str) -> object:
    return yaml.safe_load((ROLE / name).read_text(encoding="utf-8"))


def test_defaults_are_exactly_the_documented_options_with_their_values() -> None:
    specs = load("meta/argument_specs.yml")["argument_specs"]  # type: ignore[index]
    documented = {name: option["default"] for name, option in specs["main"]["options"].items()}
    assert documented == load("defaults/main.yml")
    assert all(specs[entry]["options"] == specs["main"]["options"] for entry in specs)


def test_every_entry_point_has_a_task_file_and_a_specification() -> None:
    specs = load("meta/argument_specs.yml")["argument_specs"]  # type: ignore[index]
    assert sorted(specs) == ["main", "pending", "verify"]
    assert all((ROLE / "tasks" / f"{entry}.yml").exists() for entry in specs)


def test_the_role_names_no_group_and_restarts_nothing() -> None:
    for path in sorted(ROLE.rglob("*.yml")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"groups\[|group_names|ansible\.builtin\.reboot|mlxfwreset|\bflint\b.*burn", text), path


def test_every_variable_of_the_role_is_used() -> None:
    tasks = "".join(path.read_text() for path in ROLE.rglob("*") if path.is_file() and "meta" not in path.parts)
    for name in load("defaults/main.yml"):  # type: ignore[attr-defined]
        assert len(re.findall(rf"\b{name}\b", tasks)) > 1, name
