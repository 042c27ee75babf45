"""Published right leafs are healthy in the stage switch and the consistency check, and single mistakes are named."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.path_intent import Intent
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.path_switch import switch_rows

from tests.unit.switch.public_leafs import PUBLIC, WRONG

RAILS = Intent(network=["10.78.0.0/24", "10.78.1.0/24", "10.78.2.0/24", "2001:db8::/32"])


def _mismatches(found: dict[str, Any]) -> list[str]:
    rows = switch_rows("leaf01", found, 9000, RAILS)
    return [f"{row.place}: {row.found}, expected {row.expected}" for row in rows if row.level == "problem"]


def _sentences(found: dict[str, Any]) -> list[str]:
    return [*found.get("sentences", found["problems"]), *found.get("warnings", ())]


def test_public_leafs_are_twenty_of_five_systems_in_three_modes() -> None:
    systems = Counter(name.partition("-")[0] for name in PUBLIC)
    assert len(PUBLIC) >= 20 and len(systems) == 5 and min(systems.values()) >= 4
    assert len(WRONG) >= 40 and {case[0] for case in WRONG} == set(PUBLIC)
    for system in systems:
        assert {each.leaf.mode for name, each in PUBLIC.items() if name.startswith(system)} == {
            "access",
            "trunk",
            "routed",
        }


@pytest.mark.parametrize("name", PUBLIC)
def test_public_leaf_right_is_healthy(name: str) -> None:
    found = PUBLIC[name].leaf.judged()
    assert _sentences(found) == [] and found["healthy"] and not found.get("unreadable")
    assert _mismatches(found) == []


@pytest.mark.parametrize("case", WRONG, ids=lambda case: f"{case[0]}-{case[3][:30]}")
def test_public_leaf_mistake_is_named(case: tuple[str, str, str, str]) -> None:
    name, old, new, words = case
    found = PUBLIC[name].leaf.judged(old, new)
    sentences = _sentences(found)
    assert [each for each in sentences if words in each], sentences
    assert not found["healthy"] or "watchdog" in words
