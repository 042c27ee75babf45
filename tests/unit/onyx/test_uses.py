"""What the running configuration uses a port for, and what only speaks of one."""

from __future__ import annotations

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import uses


@pytest.mark.parametrize(
    "line",
    [
        'vlan 5 name "to ethernet 1/2"',
        "interface port-channel 1 description uplink ethernet 1/2",
        "interface ethernet 1/7 description to ethernet 1/2",
        "snmp-server location rack 4, ethernet 1/2",
    ],
)
def test_references_free_text_uses_no_port(line: str) -> None:
    assert uses.references([line]) == {}


@pytest.mark.parametrize(
    "line",
    [
        "monitor session 1 add source interface ethernet 1/2 direction both",
        "interface vlan 5 ip pim sparse-mode ethernet 1/2",
        "no interface ethernet 1/7 something ethernet 1/2",
    ],
)
def test_references_line_that_names_a_port_is_a_use(line: str) -> None:
    assert list(uses.references([line])) == ["1/2"]
