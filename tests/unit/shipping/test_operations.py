"""docs/operations.md is read when a run fails: its stages, variables, playbooks and quoted messages are those of the
sources."""

from __future__ import annotations

import functools
import re

import pytest
from ansible_collections.rocemesh.multinode.plugins.plugin_utils import inventory_names

from tests.unit.roles.collection import ROOT, load

PAGE = (ROOT / "docs" / "operations.md").read_text()
# File of a stage in site.yml -> its name in the table.
RENAMED = {"reboot": "window"}


def rows(heading: str) -> list[list[str]]:
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    table = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[1:]]


@functools.cache
def sources() -> str:
    """Everything that can print something, with the breaks inside a sentence taken out."""
    files = [path for folder in ("plugins", "roles", "playbooks") for path in sorted((ROOT / folder).rglob("*"))]
    text = " ".join(path.read_text() for path in files if path.suffix in (".py", ".yml"))
    return " ".join(re.sub(r'"\s+f?"', "", text).split())


def test_the_table_of_stages_has_those_of_the_site_in_their_order() -> None:
    played = [
        play["ansible.builtin.import_playbook"].removesuffix(".yml") for play in load(ROOT / "playbooks/site.yml")
    ]
    told = [row[0].split()[0] for row in rows("Stages")]
    assert told == [RENAMED.get(name, name) for name in played if name not in ("plan", "approved")]


def test_every_variable_that_is_named_is_one() -> None:
    known, prefixes = inventory_names.known_variables()
    named = set(re.findall(r"`(?:-e )?([a-z0-9]+_[a-z0-9_]+)", PAGE)) | set(re.findall(r"-e ([a-z_]+)=", PAGE))
    own = {name for name in named if any(name.startswith(prefix) for prefix in prefixes)}
    assert len(own) > 12 and sorted(own - known) == []


def test_every_playbook_that_is_named_is_there() -> None:
    named = set(re.findall(r"playbooks/(\w+)\.yml", PAGE))
    assert named and all((ROOT / "playbooks" / f"{name}.yml").is_file() for name in named)


@pytest.mark.parametrize(
    "words", sorted(set(re.findall(r'"([^"]+)"', "\n".join(row[0] for row in rows("Troubleshooting")))))
)
def test_a_message_that_is_quoted_is_printed(words: str) -> None:
    assert words in sources()
