"""Where consistency and NCCL's variables draw their lines: a value on each side of every one."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rocemesh.multinode.plugins.filter.nccl_variables import nccl_variables
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.consistency import Intent
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.rdma_facts import usable

from tests.unit.site.test_consistency import NIC, SW, broken, look, site
from tests.unit.site.test_nccl_variables import NETWORK, SAME, nodes, port, usual


def wrong(world: dict[str, Any], intent: Intent | None = None) -> list[tuple[str, str]]:
    rows = look(world, intent)["rows"] if intent else look(world)["rows"]
    return [(row["layer"], row["item"]) for row in rows if row["verdict"] == "mismatch"]


@pytest.mark.parametrize(("mtu", "found"), [(9000, []), (8999, [("switch", "MTU")])])
def test_a_switch_port_needs_the_size_of_the_nics_and_no_more(mtu: int, found: list[tuple[str, str]]) -> None:
    assert wrong(broken((*SW, "ports", "1/2", "mtu"), mtu)) == found


@pytest.mark.parametrize("ecn", ["ECN disabled", "disabled (ecn, absolute)", "none"])
def test_congestion_marking_that_is_switched_off_by_name_does_not_mark(ecn: str) -> None:
    assert wrong(broken((*SW, "roce", "ecn"), ecn)) == [("switch", "traffic class")]


def test_a_nic_with_a_larger_mtu_than_wanted_is_not_as_wanted() -> None:
    world = site()
    for switch_port in world["switches"]["sw01"]["ports"].values():
        switch_port["mtu"] = 9600
    world["nodes"]["gpu02"]["nic"]["devices"][0]["netdev_mtu"] = 9500
    assert ("nic", "MTU") in wrong(world, Intent(network="10.78.0.0/24", mtu=9000))


def test_a_gid_of_another_network_is_no_gid_of_this_one() -> None:
    world = broken((*NIC, "roce_gid_ipv4"), "192.0.2.12")
    assert wrong(world) == [], "the port has another GID in the network"
    for gid in world["nodes"]["gpu02"]["nic"]["devices"][0]["gids"]:
        gid["type"] = "RoCE v1"
    assert wrong(world) == [("nic", "GID")]


def test_the_table_of_a_nic_that_does_not_trust_dscp_is_not_judged() -> None:
    world = broken((*NIC, "qos"), {"trust": "pcp", "pfc_priorities": [3], "dscp_prio": {"26": 0}})
    assert ("nic", "DSCP") in wrong(world)
    assert ("nic", "priority") not in wrong(world)


@pytest.mark.parametrize("layer", ["", "InfiniBand", "Unspecified"])
def test_only_ethernet_is_roce(layer: str) -> None:
    with pytest.raises(AnsibleFilterError, match=f"link layer {layer or 'unknown'}"):
        nccl_variables(nodes(usual(11, link_layer=layer)), NETWORK)


def test_one_of_two_named_devices_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(AnsibleFilterError) as refusal:
        nccl_variables(SAME, NETWORK, devices=["mlx5_0", "mlx5_9"])
    assert re.search(r"mlx5_9.*no RoCE v2 address|no RoCE v2 address.*mlx5_9", str(refusal.value))


@pytest.mark.parametrize(("size", "noted"), [(4096, False), (2048, True), (1024, True)])
def test_every_rdma_mtu_below_4096_gets_a_note(size: int, noted: bool) -> None:
    found = nccl_variables(nodes(usual(11, active_mtu=size), usual(12, active_mtu=size)), NETWORK)
    assert any(f"the RoCE MTU is {size} on all 2 port" in note for note in found["notes"]) is noted


def test_a_port_without_any_gid_is_no_port_of_the_network() -> None:
    with pytest.raises(AnsibleFilterError, match="no RDMA device"):
        nccl_variables(nodes(port("mlx5_0")), NETWORK)


@pytest.mark.parametrize("none", ["", " , ", []])
def test_no_network_at_all_is_refused(none: str | list[str]) -> None:
    with pytest.raises(AnsibleFilterError, match=r"no network.*one per rail"):
        nccl_variables(SAME, none)


def test_without_a_vlan_of_the_switch_the_port_that_differs_from_the_others_is_named() -> None:
    world = broken((*SW, "ports", "1/2", "access_vlan"), 7)
    del world["switches"]["sw01"]["vlan"]
    world["switches"]["sw01"]["ports"]["1/3"] = dict(world["switches"]["sw01"]["ports"]["1/1"])
    rows = [row for row in look(world)["rows"] if row["verdict"] == "mismatch"]
    assert [(row["where"], row["expected"], row["found"]) for row in rows] == [("sw01 1/2", "VLAN 111", "VLAN 7")]


def test_no_node_has_no_facts() -> None:
    assert usable({}, []) == {"facts": {}, "missing": [], "simulated": False}
    assert usable({"gpu01": {"devices": [1]}}, ["gpu01"])["facts"] == {"gpu01": {"devices": [1]}}
    assert usable({"gpu01": {"devices": [1]}}, ["gpu01", "gpu02"])["facts"] == {}
