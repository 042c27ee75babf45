"""Limits from what the nodes' devices say: the least counts, a silent node makes a figure unknown, nothing is usual."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.found_limits import find
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import page
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import Inputs, build

from tests.unit.results.report_samples import faults

NETWORK = "198.51.100.0/24"
NODES = ["gpu01", "gpu02"]
PCIE = {"current_link_speed": 16.0, "max_link_speed": 16.0, "current_link_width": 16, "max_link_width": 16}


def port(**changes: Any) -> dict[str, Any]:
    gid = {"index": 3, "gid": "0000:0000:0000:0000:0000:ffff:c633:640b", "type": "RoCE v2", "netdev": "ens192"}
    facts = {
        "name": "mlx5_0",
        "port": 1,
        "netdev": "ens192",
        "link_layer": "Ethernet",
        "rate": "100 Gb/sec (4X EDR)",
        "active_mtu": 4096,
        "netdev_mtu": 9000,
        "is_vf": False,
        "gids": [gid],
        "pcie": {**PCIE, "max_payload": 256},
    }
    return {**facts, **changes}


def found(*second: dict[str, Any], simulated: bool = False) -> dict[str, Any]:
    readings = {"gpu01": {"devices": [port()]}, "gpu02": {"devices": list(second), "simulated": simulated}}
    return find(readings, NODES, [NETWORK])


def test_every_value_has_a_source() -> None:
    told = found(port())
    assert told["limits"] == {
        "nic_link_gbit_per_s": 100.0,
        "roce_mtu_bytes": 4096,
        "interface_mtu_bytes": 9000,
        "pcie_max_payload_bytes": 256,
        "pcie_generation": 4,
        "pcie_width": 16,
        "vlan_tagged": False,
        "nics_per_node": 1,
        "ip_version": 4,
    }
    assert sorted(told["sources"]) == sorted(told["limits"]) and all(told["sources"].values())
    assert (told["unknown"], told["notes"]) == ({}, [])


def test_the_least_of_all_nodes_counts_and_is_named() -> None:
    slow = port(rate="25 Gb/sec (1X EDR)", active_mtu=1024, pcie={**PCIE, "current_link_width": 8, "max_payload": 128})
    told = found(slow)
    assert told["limits"]["nic_link_gbit_per_s"] == 25.0 and told["limits"]["roce_mtu_bytes"] == 1024
    assert (told["limits"]["pcie_generation"], told["limits"]["pcie_width"]) == (4, 8)
    for key in ("nic_link_gbit_per_s", "roce_mtu_bytes", "pcie_width", "pcie_max_payload_bytes"):
        assert "gpu02 mlx5_0" in told["sources"][key]
    assert told["notes"] == ["gpu02 mlx5_0: PCIe runs with 8 of 16 lanes: look at slot and firmware"]


def test_the_weakest_link_is_generation_and_width_together() -> None:
    told = found(port(pcie={**PCIE, "current_link_speed": 8.0, "current_link_width": 16, "max_payload": 256}))
    assert (told["limits"]["pcie_generation"], told["limits"]["pcie_width"]) == (3, 16)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"rate": None}, "nic_link_gbit_per_s"),
        ({"rate": "fast"}, "nic_link_gbit_per_s"),
        ({"rate": "18446744073709551615 Gb/sec"}, "nic_link_gbit_per_s"),
        ({"active_mtu": None}, "roce_mtu_bytes"),
        ({"netdev_mtu": None}, "interface_mtu_bytes"),
        ({"pcie": {}}, "pcie_generation"),
        ({"pcie": {**PCIE, "current_link_speed": 7.0}}, "pcie_generation"),
        ({"pcie": PCIE}, "pcie_max_payload_bytes"),
        ({"is_vf": True}, "vlan_tagged"),
        ({"netdev": "ens224"}, "vlan_tagged"),
    ],
)
def test_what_one_node_does_not_tell_is_unknown_for_all(changes: dict[str, Any], key: str) -> None:
    told = found(port(**changes))
    assert key not in told["limits"] and key not in told["sources"]
    assert "gpu02 mlx5_0" in told["unknown"][key]


def test_a_vlan_interface_means_tags_and_a_mixture_means_nothing() -> None:
    tagged = port()
    tagged["gids"] = [{**tagged["gids"][0], "netdev": "ens192.111", "vlan_of": "ens192"}]
    assert "vlan_tagged" in found(tagged)["unknown"]
    both = {node: {"devices": [copy.deepcopy(tagged)]} for node in NODES}
    assert find(both, NODES, [NETWORK])["limits"]["vlan_tagged"] is True


@pytest.mark.parametrize(
    ("name", "below", "tagged"),
    [("ens192.100", "ens192", True), ("vlan100", "ens192", True), ("roce0", "ens192", True),
     ("storage.100", "ens192", True), ("vlan100", "ens224", None), ("roce0", "", None),
     ("ens192.100", "ens192.7", None)],
)  # fmt: skip
def test_a_vlan_is_known_by_what_it_lies_on(name: str, below: str, tagged: bool | None) -> None:
    vlan = port()
    vlan["gids"] = [{**vlan["gids"][0], "netdev": name, "vlan_of": below}]
    both = {node: {"devices": [copy.deepcopy(vlan)]} for node in NODES}
    assert find(both, NODES, [NETWORK])["limits"].get("vlan_tagged") is tagged


def test_rails_in_networks_of_their_own_all_count() -> None:
    other = [{**port()["gids"][0], "gid": "0000:0000:0000:0000:0000:ffff:c000:0201"}]
    readings = {node: {"devices": [port(), port(name="mlx5_1", gids=other)]} for node in NODES}
    assert find(readings, NODES, [NETWORK])["limits"]["nics_per_node"] == 1
    assert find(readings, NODES, [NETWORK, "192.0.2.0/24"])["limits"]["nics_per_node"] == 2
    named = {node: {"mlx5_0", "mlx5_1"} for node in NODES}
    told = find(readings, NODES, [NETWORK], named)
    assert told["limits"]["nics_per_node"] == 2 and "NCCL names" in told["sources"]["nics_per_node"]
    assert find(readings, NODES, [NETWORK], {"gpu02": {"mlx5_9"}})["limits"] == {}


def test_nodes_with_different_numbers_of_ports_count_as_the_poorest() -> None:
    told = found(port(), port(name="mlx5_1"))
    assert told["limits"]["nics_per_node"] == 1 and "fewest" in told["sources"]["nics_per_node"]


@pytest.mark.parametrize("devices", [[], [port(link_layer="InfiniBand")], [port(gids=[])]])
def test_a_node_without_roce_port_leaves_everything_unknown(devices: list[dict[str, Any]]) -> None:
    told = found(*devices)
    assert told["limits"] == {} and "gpu02" in told["notes"][0]


def test_nothing_is_taken_from_simulated_devices() -> None:
    told = found(port(), simulated=True)
    assert told["limits"] == {} and "SIMULATED" in told["notes"][0]


def test_the_report_names_the_source_of_each_value() -> None:
    slow = port(pcie={**PCIE, "current_link_width": 8, "max_payload": 256}, is_vf=True)
    readings = {"gpu01": {"start": {"devices": [port()]}}, "gpu02": {"start": {"devices": [slow]}}}
    evidence = {"job": {"hosts": {node: node for node in NODES}, "cluster_network": NETWORK}, "rdma": readings}
    summary = build(Inputs("one", evidence=evidence, limits={"roce_mtu_bytes": 1024, "vlan_tagged": True}))
    assert faults(summary) == []
    wire = next(limit for limit in summary["limits"]["limits"] if limit["name"] == "wire payload per node")
    assert wire["value"] is not None and "1024" in wire["how"]
    text, html = page.markdown(summary), page.report(summary)
    assert "| roce_mtu_bytes | 1024 | given |" in text
    assert not any("vlan_tagged" in note for note in summary["limits"]["notes"]), "what you said is not unknown"
    for shown in (text, html):
        assert "rdma_info: rate of" in shown and "PCIe runs with 8 of 16 lanes" in shown


def test_a_value_without_source_was_given() -> None:
    summary = build(Inputs("one", limits={"nodes": 2}))
    assert summary["limits"]["sources"] == {"nodes": "given"}
