"""ansible-core before 2.19 leaves a template with an unknown variable as written: what is unknown is named."""

from __future__ import annotations

import pytest
from ansible_collections.rocemesh.multinode.plugins.action import preflight

HOSTVARS = {"gpu01": {"known": "x", "vaulted": "{{ vault_registry }}"}}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("{{ vault_registry }}", "'vault_registry' is undefined"),
        ("a-{{ known }}-{{ other }}", "'other' is undefined"),
        ("{{ known }}", ""),
        ("{{.State.Running}}", ""),
        ("plain", ""),
        (5, ""),
    ],
)
def test_what_is_unknown_in_a_value_left_as_written_is_named(value: object, error: str) -> None:
    assert preflight._left_as_written(HOSTVARS, "gpu01", value) == error


def test_a_value_left_as_written_counts_as_not_set() -> None:
    assert preflight._value(HOSTVARS, "gpu01", "vaulted") is None
    assert preflight._value(HOSTVARS, "gpu01", "known") == "x"
