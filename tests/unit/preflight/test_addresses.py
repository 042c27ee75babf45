"""Addresses of a node, as ip prints them; a node that does not print them has none that preflight could judge."""

from __future__ import annotations

import json

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.node import Node
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.node_reading import addresses
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Finished
from ansible_collections.rocemesh.multinode.plugins.module_utils._preflight import layers

PRINTED = json.dumps(
    [
        {"ifindex": 1, "ifname": "lo", "mtu": 65536, "addr_info": [{"local": "127.0.0.1", "prefixlen": 8}]},
        {
            "ifindex": 2,
            "ifname": "eth0",
            "mtu": 1500,
            "addr_info": [{"local": "10.100.0.2", "prefixlen": 16}, {"local": "fd00::2", "prefixlen": 64}],
        },
        {"ifindex": 3, "ifname": "eth1", "mtu": 1500, "addr_info": []},
    ]
)


@pytest.mark.parametrize(
    ("printed", "code", "expected"),
    [
        (PRINTED, 0, {"lo": ["127.0.0.1/8"], "eth0": ["10.100.0.2/16", "fd00::2/64"]}),
        ("", 255, {}),
        ("1: lo: <LOOPBACK,UP>", 0, {}),
    ],
    ids=["json", "refused", "busybox"],
)
def test_addresses_of_ip_are_read(printed: str, code: int, expected: dict[str, list[str]]) -> None:
    node = Node("gpu01", run=lambda *_: Finished(code, printed, ""), which=lambda name: f"/sbin/{name}")
    assert addresses(node) == expected


def test_address_of_another_vm_is_named_with_both() -> None:
    site = {host: {"rocemesh_address": "10.100.0.2", "run_network": "10.100.0.0/16"} for host in ("gpu01", "gpu02")}
    nodes = {f"gpu0{number}": {"addresses": {"eth0": [f"10.100.0.{number}/16"]}} for number in (1, 2)}
    (finding,) = layers.addresses(site, nodes)
    assert (finding.place, finding.thing) == ("gpu01", "rocemesh_address")
    assert "an address of gpu02" in finding.text and "10.100.0.1" in finding.text


def test_node_that_told_no_addresses_is_not_judged() -> None:
    site = {"gpu01": {"rocemesh_address": "10.100.0.2", "rocemesh_roce_networks": ["10.101.0.0/16"]}}
    for reading in ({}, {"unreachable": True}, {"addresses": {}, "rdma_devices": ["mlx5_0"]}):
        assert list(layers.addresses(site, {"gpu01": reading})) == []
