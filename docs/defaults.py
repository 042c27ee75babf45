"""Writes the defaults of roles into their argument specifications: `python docs/defaults.py`.

The truth is `defaults/main.yml`. Of a template that a type such as int cannot have, the fallback is written. A test
compares the two (tests/unit/roles/test_roles.py). Only lines `default: ...` change; comments and order stay.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

ROLES = Path(__file__).resolve().parents[1] / "roles"
_FALLBACK = re.compile(r"\| default\(([^()]*)\) }}$")
_OPTION = re.compile(r"^      (?P<name>[a-z]\w*):$")
_VALUE = re.compile(r"^        (?P<key>type|default): (?P<value>.*)$")


def shown(value: Any, kind: str) -> str:
    """The value as YAML on one line."""
    fallback = _FALLBACK.search(value) if isinstance(value, str) else None
    if fallback and kind not in ("str", "path", "raw"):
        value = yaml.safe_load(fallback.group(1))
    return json.dumps(value)


def updated(text: str, defaults: dict[str, Any]) -> str:
    """The specification with the defaults that differ. A default that is a block of several lines stays."""
    lines, name, kind = text.splitlines(keepends=True), "", "str"
    for number, line in enumerate(lines):
        option, value = _OPTION.match(line), _VALUE.match(line)
        if option:
            name, kind = option["name"], "str"
        elif value and value["key"] == "type":
            kind = value["value"]
        elif value and name in defaults:
            new = shown(defaults[name], kind)
            if yaml.safe_load(value["value"]) != yaml.safe_load(new):
                lines[number] = f"        default: {new}\n"
    return "".join(lines)


def main() -> None:
    for specs in sorted(ROLES.glob("*/meta/argument_specs.yml")):
        defaults = yaml.safe_load((specs.parents[1] / "defaults" / "main.yml").read_text(encoding="utf-8")) or {}
        text = specs.read_text(encoding="utf-8")
        new = updated(text, defaults)
        if new != text:
            specs.write_text(new, encoding="utf-8")
            print(f"written: {specs.relative_to(ROLES.parent)}")


if __name__ == "__main__":
    main()
