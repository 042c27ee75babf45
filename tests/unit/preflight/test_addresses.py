"""Addresses of a node, as ip prints them; a node that does not print them has none that preflight could judge.
Who listens there, as ss prints it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.node import Node
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.node_reading import addresses, listeners
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


# Of a node of the lab while its container ran a job; and with nginx where the container's server would be.
LISTENING = """\
LISTEN 0      128    10.78.0.13:2222  0.0.0.0:* users:(("sshd",pid=30660,fd=3))
LISTEN 0      4096    127.0.0.1:39369 0.0.0.0:* users:(("containerd",pid=9863,fd=9))
LISTEN 0      128          [::]:22       [::]:* users:(("sshd",pid=9900,fd=4))
LISTEN 0      4096            *:35313       *:* users:(("orted",pid=8119,fd=15))
LISTEN 0      511          [::1]:6010     [::]:* users:(("sshd",pid=9901,fd=9))
LISTEN 0      511  0.0.0.0%ens9:2222  0.0.0.0:* users:(("nginx",pid=7,fd=6),("nginx",pid=8,fd=6))
LISTEN 0      64           [::]:2049     [::]:*
"""
MESH = "984 963 0:68 /etc/rocemesh/mesh/container /root/.ssh ro,relatime - overlay overlay rw\n"
REST = "962 945 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"


def test_listeners_of_ss_are_those_outside_of_the_container(tmp_path: Path) -> None:
    """An address of this host alone hinders nobody, and a process that has ended holds nothing."""
    for pid, mounts in {"30660": REST + MESH, "8119": REST + MESH, "9900": REST, "7": REST, "8": REST}.items():
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "mountinfo").write_text(mounts)
    node = Node("gpu01", run=lambda *_: Finished(0, LISTENING, ""), which=lambda name: f"/sbin/{name}")
    found = [tuple(row.values()) for row in listeners(node, str(tmp_path))]
    assert found[:2] == [("::", 22, "sshd"), ("0.0.0.0", 2222, "nginx")] and found[2][:2] == ("::", 2049)
    assert len(found) == 3


@pytest.mark.parametrize(
    ("row", "address", "port", "taken"),
    [
        ({}, "0.0.0.0", 2222, True),
        ({}, "*", 2222, True),
        ({}, "10.100.0.1", 2222, True),
        ({}, "192.168.0.1", 2222, False),
        ({}, "::", 2222, False),
        ({}, "0.0.0.0", 22, False),
        ({"mesh_ssh_port": "2022"}, "0.0.0.0", 2022, True),
        ({"mesh_ssh_port": 2022}, "0.0.0.0", 2222, False),
        ({"mesh_transport": "guide"}, "0.0.0.0", 22, False),
        ({"rocemesh_address": "fd00::1"}, "::", 2222, True),
        ({"mesh_address": "192.168.0.1"}, "192.168.0.1", 2222, True),
    ],
)
def test_port_of_the_containers_server_is_free(row: dict[str, Any], address: str, port: int, taken: bool) -> None:
    site = {"gpu01": {"rocemesh_address": "10.100.0.1", **row}}
    reading = {
        "addresses": {"eth0": ["10.100.0.1/16", "192.168.0.1/24", "fd00::1/64"]},
        "listeners": [{"address": address, "port": port, "process": "nginx"}],
    }
    found = list(layers.addresses(site, {"gpu01": reading}))
    assert [(each.place, each.thing, each.level) for each in found] == [("gpu01", "mesh_ssh_port", "problem")] * taken
    assert all(word in each.text for each in found for word in (address, str(port), "nginx"))
