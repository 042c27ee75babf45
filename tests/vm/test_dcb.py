"""DCB by iproute2's own dcb: what the program of role guest sets, and what rdma_info reads, over the kernel's netlink.

The device is the lab's (lab/vm/lab_dcb): it has no queues, and keeps one priority for a DSCP, as mlx5_core does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jinja2
import pytest

from lab import config

from .guests import module, sh

Two = tuple[config.Node, config.Node]
PROGRAM = config.REPO / "roles/guest/templates/usr/local/lib/rocemesh/roce-qos.j2"
EIGHTHS = {str(priority): priority for priority in range(8)}


@pytest.fixture
def guest(two: Two) -> Iterator[config.Node]:
    """With an RDMA device on the lab's DCB device."""
    node = two[0]
    sh(node, "modprobe lab_dcb && ip link set dcb0 up && rdma link add rxe9 type rxe netdev dcb0")
    yield node
    sh(node, "rmmod lab_dcb")


def program(*, trust: str = "dscp", pfc: str = "0,0,0,1,0,0,0,0", named: dict[int, int], used: dict[int, int]) -> str:
    """The role's program; ``named``: guest_qos_dscp_priority, ``used``: with the DSCP of guest_qos_tos."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, autoescape=False)
    return environment.from_string(PROGRAM.read_text()).render(
        guest_qos_trust=trust,
        guest_qos_pfc=pfc,
        guest_qos_dscp_priority=named,
        __guest_qos_map=used,
        guest_qos_tos=0,
    )


def after(node: config.Node, text: str) -> tuple[str, list[int], dict[str, int], dict[str, int], str]:
    """What rdma_info reads after the program has run."""
    sh(node, f"cat > /run/roce-qos <<'TEXT'\n{text}\nTEXT\nsh /run/roce-qos dcb0")
    found = module("rdma_info", node, gather_counters=False, gather_node=False)
    qos: dict[str, Any] = next(device["qos"] for device in found["devices"] if device["netdev"] == "dcb0")
    return qos["trust"], qos["pfc_priorities"], qos["dscp_prio"], qos["prio_tc"], qos["source"]


def test_dcb_sets_what_the_role_asks_and_rdma_info_reads_it(guest: config.Node) -> None:
    text = program(named={46: 6}, used={26: 3, 46: 6})
    assert after(guest, text) == ("dscp", [3], {"26": 3, "46": 6}, EIGHTHS, "dcb")
    text = program(pfc="0,0,0,0,1,0,0,0", named={26: 4}, used={26: 4})
    assert after(guest, text) == ("dscp", [4], {"26": 4, "46": 6}, EIGHTHS, "dcb")
    assert after(guest, program(trust="pcp", named={}, used={26: 3})) == ("pcp", [3], {}, EIGHTHS, "dcb")
