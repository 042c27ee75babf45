"""Tasks pass readings on and get decisions back: no program stands in a template of a role or a playbook.

A file that is rendered (roles/*/templates) may repeat its lines; what it repeats is decided elsewhere.
"""

from __future__ import annotations

import re

import pytest

from tests.unit.roles.collection import ROOT

PROGRAM = re.compile(r"\{%-?\s*(?:for|set|macro|call)\b|namespace\(")
FOLDERS = ("roles", "playbooks", "inventories", "molecule")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.yml") if "templates" not in path.parts)


def programs(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if PROGRAM.search(line)]


def test_no_file_computes_in_a_loop_of_its_templates() -> None:
    assert len(FILES) > 150
    found = {str(path.relative_to(ROOT)): programs(path.read_text()) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "text",
    [
        "x: >-\n  {%- for a in b -%}",
        "{% set _ = found.append(a) %}",
        "{% set ns = namespace(a=1) %}",
        "{%- set  x=1 %}",
    ],
)
def test_a_program_is_seen(text: str) -> None:
    assert programs(text)
    assert not programs("{{ a | map('b') | list }} {% raw %}{{.Names}}{% endraw %} {{ 'x' if y else 'z' }}")
