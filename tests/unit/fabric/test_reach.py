"""What interfaces say about themselves; what probes say is tested with real ones in tests/integration/fabric."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import reach, wire
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.model import Fabric

FABRIC = Fabric(("gpu01", "gpu02", "gpu03"), 1)


def said(looks: dict[int, dict[str, Any]], missing: tuple[str, ...] = ()) -> list[tuple[str, str, tuple[int, ...]]]:
    got = wire.Replies({host: {"look": {str(host): look}} for host, look in looks.items()}, missing)
    faults = reach.faults(FABRIC, got, tos=106, netdevs={}, mtu=9000)
    return [(fault.thing, fault.place.kind, fault.place.members) for fault in faults]


@pytest.mark.parametrize(
    ("odd", "thing"),
    [
        ({"vlan": 7}, "vlan"),
        ({"mtu": "1500"}, "mtu"),
        ({"operstate": "down"}, "link"),
        ({"operstate": "lowerlayerdown"}, "link"),
        ({"bind": "EADDRNOTAVAIL"}, "address"),
    ],
)
def test_interface_that_differs_is_named(odd: dict[str, Any], thing: str) -> None:
    right = {"vlan": 111, "mtu": "9000", "operstate": "up"}
    assert said({0: right, 1: {**right, **odd}, 2: right}) == [(thing, "nic", (1,))]
    assert said({0: right, 1: right, 2: right}) == []


def test_host_that_took_no_part_is_named() -> None:
    assert said({}, ("gpu02",)) == [("agent", "host", (1,))]


def test_what_follows_from_faults_of_interfaces_is_not_told_again() -> None:
    """Two of three are down, so nobody hears anybody: the rail is not accused of it."""
    answers: dict[int, dict[str, Any]] = {host: {"look": {}, "probes": []} for host in range(3)}
    for source, target in itertools.permutations(range(3), 2):
        answers[source]["probes"].append({"from": source, "to": target})

    def found() -> list[tuple[str, str, tuple[int, ...]]]:
        faults = reach.faults(FABRIC, wire.Replies(answers, ()), tos=106, netdevs={}, mtu=9000)
        return [(fault.thing, fault.place.kind, fault.place.members) for fault in faults]

    assert found() == [("neighbour", "fabric", ())]
    for host in (0, 1):
        answers[host]["look"] = {str(host): {"operstate": "down"}}
    assert found() == [("link", "nic", (0,)), ("link", "nic", (1,))]
