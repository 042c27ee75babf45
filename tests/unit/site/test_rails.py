"""Several rails per VM: variables, topology file and counters are right line by line; what is left out is said."""

from __future__ import annotations

import copy
import dataclasses
import re
from typing import Any, Callable

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rocemesh.multinode.plugins.filter.nccl_topology import nccl_topology
from ansible_collections.rocemesh.multinode.plugins.filter.nccl_variables import nccl_variables
from ansible_collections.rocemesh.multinode.plugins.filter.path_consistency import path_consistency
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof import evidence, snapshots
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.rails import natural

from .rails_site import BIG, GOLDEN, SITES, SMALL, Site, _gids

FILES = [(site, name) for site in SITES for name in sorted(site.golden())]


@pytest.mark.parametrize(("site", "name"), FILES, ids=[f"{site.name}-{name}" for site, name in FILES])
def test_what_is_computed_for_the_site_is_its_golden_file(site: Site, name: str) -> None:
    assert site.golden()[name] == (GOLDEN / site.name / name).read_text()


def test_golden_folders_hold_no_file_that_nobody_computes() -> None:
    there = {f"{path.parent.name}/{path.name}" for path in GOLDEN.glob("rails_*/*")}
    assert there == {f"{site.name}/{name}" for site, name in FILES}


def test_topology_files_of_hosts_of_one_kind_differ_in_their_name_alone() -> None:
    first = BIG.topology("gpu01")["xml"]
    for node in BIG.nodes[1:]:
        assert BIG.topology(node)["xml"] == first.replace("gpu01", node)


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_each_gpu_is_put_beside_the_nics_of_its_own_pcie_switch(site: Site) -> None:
    """By the facts of the host, whatever order the guest shows them in."""
    found = site.topology("gpu01")
    assert found["gpudirect"] is True
    for pair in found["pairs"]:
        gpu = next(rail for rail in range(site.rails) if site.guest_address("gpu", rail) == pair["gpu"])
        nic = next(rail for rail in range(site.rails) if site.guest_address("nic", rail) == pair["nic"])
        assert (pair["relation"] == "PIX") == (site.pcie_switch(gpu) == site.pcie_switch(nic)), pair


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_a_right_site_with_rails_is_consistent_and_complete(site: Site) -> None:
    found = site.consistency()
    assert (found["mismatches"], found["unknown"]) == ([], [])
    assert len(found["left_out"]) == (site.hosts if site.storage else 0)


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_counters_of_the_plan_are_those_that_the_proof_reads(site: Site) -> None:
    plan = site.variables()["rails"]
    readings = {node: site.reading(node) for node in site.nodes}
    for node, reading in readings.items():
        planned = sorted(port["device"] for rail in plan for port in rail["ports"] if port["node"] == node)
        read = sorted(evidence.port_name(port) for port in evidence.training_ports(reading, site.networks))
        assert planned == read
    counters = {name for rail in plan for port in rail["ports"] for name in port["counters"]}
    before, after = copy.deepcopy(readings), copy.deepcopy(readings)
    for grown, world in ((0, before), (1000, after)):
        for at, reading in enumerate(world.values()):
            reading["at"] = 1000.0 * (1 + bool(grown)) + at
            for port in reading["devices"]:
                told = dict.fromkeys(counters, grown)
                port["counters"] = {"counters": told, "ethtool": told}
    places = snapshots.rdma(
        {node: {"before": before[node], "after": after[node]} for node in readings}, site.nodes, site.networks
    )["places"]
    for place in places.values():
        assert place["sent_bytes"] == place["received_bytes"] == 4000 * site.rails
        assert (place["discards"], place["pauses"]) == (1000 * site.rails, 2000 * site.rails)


# ------------------------------------------------------------------------------------------------- the way to the plan


def facts(site: Site = SMALL, change: Callable[[dict[str, Any]], Any] = lambda facts: None) -> dict[str, Any]:
    found = {node: copy.deepcopy(site.reading(node)) for node in site.nodes}
    change(found)
    return found


def second(found: dict[str, Any], node: str = "gpu02") -> dict[str, Any]:
    """The port of the second rail."""
    port: dict[str, Any] = found[node]["devices"][1]
    return port


def compute(site: Site = SMALL, change: Callable[[dict[str, Any]], Any] = lambda facts: None, **options: Any) -> Any:
    return nccl_variables(facts(site, change), list(site.networks), control_network=site.control, **options)


LEFT_OUT = [
    pytest.param(
        {"gids": _gids("ens1600np0", "172.16.0.11")}, "172.16.0.11 is in no RoCE network that was given", id="storage"
    ),
    pytest.param({"gids": []}, "it has no RoCE v2 IPv4 address", id="no_address"),
    pytest.param({"gids": _gids("ens1600np0", "10.79.0.99")[:3]}, "it has no RoCE v2 IPv4 address", id="roce_v1_alone"),
    pytest.param(
        {"gids": _gids("ens1600np0", "10.79.0.99"), "state": "DOWN"}, "its port is DOWN", id="link_down"
    ),
    pytest.param({"link_layer": "InfiniBand"}, "link layer InfiniBand; only RoCE", id="infiniband"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "why"), LEFT_OUT)
def test_each_port_that_is_left_out_is_named_with_the_reason(changes: dict[str, Any], why: str) -> None:
    def third(found: dict[str, Any]) -> None:
        port = {**found["gpu01"]["devices"][1], "name": "mlx5_9", "netdev": "ens1600np0", **changes}
        found["gpu01"]["devices"].append(port)

    found = compute(change=third)
    (entry,) = found["left_out"]
    assert (entry["node"], entry["name"], entry["netdev"]) == ("gpu01", "mlx5_9", "ens1600np0")
    assert why in entry["why"]
    assert any(note.startswith("gpu01 mlx5_9:1 (ens1600np0) is left out: ") for note in found["notes"])
    assert "mlx5_9" not in str(found["shared"]) + str(found["per_node"])


def test_devices_that_were_not_asked_for_are_named_too() -> None:
    found = compute(devices=["mlx5_0"])
    assert [entry["name"] for entry in found["left_out"]] == ["mlx5_1", "mlx5_1"]
    assert found["shared"]["NCCL_IB_HCA"] == "=mlx5_0:1" and "NCCL_CROSS_NIC" not in found["shared"]


def foreign(address: str) -> Callable[[dict[str, Any]], Any]:
    """Another RoCE v2 address on the second rail's port, before its own."""
    return lambda found: second(found)["gids"].insert(2, {**_gids("x", address)[3], "index": 2})


REFUSED = [
    pytest.param(
        lambda found: second(found).update(state="DOWN"), "", r"gpu02.*in 10\.79\.0\.0/24.*is DOWN", id="rail_down"
    ),
    pytest.param(
        lambda found: second(found).update(gids=_gids("x", "172.16.0.1")), "", r"gpu02.*172\.16\.0\.1", id="renumbered"
    ),
    pytest.param(
        lambda found: found["gpu02"]["devices"].pop(), "", r"gpu02.*mlx5_0:1 10\.78\.0\.12", id="rail_is_missing"
    ),
    pytest.param(
        foreign("10.78.200.1"), "2.21.5", r"ADDR_RANGE.*10\.78\.200\.1 \(GID 2\)", id="foreign_address_in_the_range"
    ),
    pytest.param(
        lambda found: [gid.update(index=gid["index"] + 2) for gid in second(found)["gids"]],
        "",
        r"gpu02.*mlx5_1:1 has 10\.79\.0\.12 at 5",
        id="two_indexes_before_2_21",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "version", "says"), REFUSED)
def test_rails_that_cannot_be_given_to_nccl_are_refused_with_the_facts(
    change: Callable[[dict[str, Any]], Any], version: str, says: str
) -> None:
    with pytest.raises(AnsibleFilterError) as refusal:
        compute(change=change, nccl_version=version)
    assert re.search(says, str(refusal.value)), refusal.value


def test_foreign_address_outside_of_the_range_does_no_harm() -> None:
    found = compute(change=foreign("172.16.0.9"), nccl_version="2.21.5")
    assert found["shared"]["NCCL_IB_ADDR_RANGE"] == "10.78.0.0/15"
    assert [port["gid_index"] for port in found["rails"][1]["ports"]] == [3, 3]


def test_networks_that_overlap_are_refused() -> None:
    with pytest.raises(AnsibleFilterError, match="overlap"):
        nccl_variables(facts(), ["10.78.0.0/15", "10.79.0.0/24"])


def test_networks_can_be_one_text() -> None:
    found = nccl_variables(facts(), "10.78.0.0/24, 10.79.0.0/24", control_network=SMALL.control)
    assert found == compute()


def test_index_that_all_ports_have_is_taken_before_the_lowest_of_each() -> None:
    def both(found: dict[str, Any]) -> None:
        for reading in found.values():
            first, other = reading["devices"]
            first["gids"].append({**first["gids"][3], "index": 5})
            other["gids"][3]["index"] = 5

    found = compute(change=both)
    assert found["shared"]["NCCL_IB_GID_INDEX"] == "5"
    assert {port["gid_index"] for rail in found["rails"] for port in rail["ports"]} == {5}


def test_rails_in_another_order_on_one_node_are_noted() -> None:
    def swapped(found: dict[str, Any]) -> None:
        one, two = found["gpu02"]["devices"]
        one["pci"], two["pci"] = two["pci"], one["pci"]

    (note,) = compute(change=swapped)["notes"]
    assert note.startswith("gpu02: the rails are")


def test_notes_of_a_large_site_name_the_odd_nodes_also_where_the_head_is_one() -> None:
    def swapped(found: dict[str, Any]) -> None:
        one, two = found["gpu01"]["devices"]
        one["pci"], two["pci"] = two["pci"], one["pci"]
        found["gpu07"]["devices"][1]["active_mtu"] = 1024
        found["gpu09"]["devices"].append({**found["gpu09"]["devices"][1], "name": "mlx5_2", "pci": "0000:ff:00.0"})

    notes = compute(dataclasses.replace(SMALL, hosts=200), swapped)["notes"]
    order, *others = [note for note in notes if "another order" in note]
    assert order.startswith("gpu01: ") and "gpu05 and 194 more" in order and len(others) == 1
    assert any("1024: gpu07 mlx5_1; 4096: gpu01" in note for note in notes) and max(map(len, notes)) < 600


def test_each_rail_has_an_mtu_of_its_own() -> None:
    def small(found: dict[str, Any]) -> None:
        for reading in found.values():
            reading["devices"][1]["active_mtu"] = 1024

    assert compute(change=small)["notes"] == [
        "rail 10.79.0.0/24: the RoCE MTU is 1024 on all 2 port(s); 4096 needs an interface MTU of 4200 or more"
    ]
    assert (
        "rail 10.79.0.0/24: the RoCE MTU differs"
        in compute(change=lambda found: second(found).update(active_mtu=1024))["notes"][0]
    )


def test_another_number_of_ports_on_one_node_is_noted() -> None:
    def more(found: dict[str, Any]) -> None:
        port = {**second(found), "name": "mlx5_2", "gids": _gids("ens1", "10.79.0.77")}
        found["gpu02"]["devices"].append(port)

    assert any("of ports in 10.79.0.0/24" in note for note in compute(change=more)["notes"])


def test_one_network_needs_no_word_about_rails() -> None:
    found = nccl_variables(facts(), "10.78.0.0/24", control_network=SMALL.control)
    assert "NCCL_CROSS_NIC" not in found["shared"]
    assert [rail["network"] for rail in found["rails"]] == ["10.78.0.0/24"]


def test_names_are_ordered_as_people_count() -> None:
    assert sorted(["mlx5_10", "mlx5_2", "mlx5_bond_0"], key=natural) == ["mlx5_2", "mlx5_10", "mlx5_bond_0"]


# ------------------------------------------------------------------------------------------------ which device is which


def test_alike_devices_are_told_apart_by_their_slot_and_refused_without_it() -> None:
    rows = BIG.pci_facts("gpu01")
    for row in rows["devices"]:
        row.pop("vm_slot", None)
    with pytest.raises(AnsibleFilterError, match="alike devices"):
        nccl_topology(rows, BIG.lspci(), "gpu01")
    without = re.sub(r"PhySlot:.*\n", "", BIG.lspci())
    with pytest.raises(AnsibleFilterError, match="alike devices"):
        nccl_topology(BIG.pci_facts("gpu01"), without, "gpu01")


def test_a_slot_that_two_devices_have_says_nothing() -> None:
    rows = SMALL.pci_facts("gpu01")
    for row in rows["devices"]:
        if row["kind"] == "gpu":
            row["vm_slot"] = 256
        if row["address"] == SMALL.host_address("gpu", 1):
            row["parent_bridge"] = "0000:10:00.0"  # elsewhere than the other one
    with pytest.raises(AnsibleFilterError, match="alike devices"):
        nccl_topology(rows, SMALL.lspci(), "gpu01")


def test_an_address_that_a_person_gave_goes_before_the_slot() -> None:
    given = {SMALL.host_address("gpu", 0): SMALL.guest_address("gpu", 1)}
    found = SMALL.topology("gpu01", addresses=given)
    pairs = {pair["host_gpu"]: pair["gpu"] for pair in found["pairs"]}
    assert pairs[SMALL.host_address("gpu", 0)] == SMALL.guest_address("gpu", 1)


# ---------------------------------------------------------------------------- one fault at a time on the second rail

SWITCH2, NIC2 = ("switches", "sw02"), ("nodes", "gpu02", "nic", "devices", 1)
BOX = ("nodes", "gpu02", "container")
SECOND_RAIL: list[tuple[tuple[Any, ...], Any, set[tuple[str, str]]]] = [
    ((*NIC2, "netdev_mtu"), 1500, {("nic", "MTU")}),
    ((*NIC2, "active_mtu"), 1024, {("nic", "MTU")}),
    ((*NIC2, "qos", "trust"), "pcp", {("nic", "DSCP")}),
    ((*NIC2, "qos", "pfc_priorities"), [], {("nic", "priority")}),
    ((*NIC2, "qos", "pfc_priorities"), [4], {("nic", "priority")}),
    ((*NIC2, "qos", "dscp_prio"), {"26": 0}, {("nic", "priority"), ("container", "priority")}),
    ((*NIC2, "qos", "prio_tc"), {"0": 3, "3": 3}, {("nic", "priority")}),
    ((*NIC2, "roce_tos"), 0, {("nic", "traffic class")}),
    ((*NIC2, "traffic_class"), 96, {("nic", "traffic class")}),
    ((*NIC2, "ecn"), {"np": [3], "rp": []}, {("nic", "traffic class")}),
    ((*NIC2, "state"), "DOWN", {("nic", "link")}),
    ((*NIC2, "rate"), "100 Gb/sec (4X EDR)", {("nic", "link")}),
    ((*NIC2, "firmware"), "28.35.2000", {("nic", "link")}),
    ((*NIC2, "pcie", "current_link_width"), 8, {("nic", "link")}),
    ((*NIC2, "link_layer"), "InfiniBand", {("nic", "GID")}),
    ((*NIC2, "roce_gid_index"), None, {("nic", "GID")}),
    ((*NIC2, "roce_gid_index"), 5, {("container", "GID")}),
    ((*NIC2, "pci"), "0000:01:00.0", {("nic", "GID")}),
    ((*SWITCH2, "ports", "1/2", "mtu"), 1500, {("switch", "MTU")}),
    ((*SWITCH2, "ports", "1/2", "trust"), "L2", {("switch", "DSCP")}),
    ((*SWITCH2, "ports", "1/2", "pfc_oper"), "disabled", {("switch", "priority")}),
    ((*SWITCH2, "ports", "1/2", "access_vlan"), 1, {("switch", "GID")}),
    ((*SWITCH2, "roce", "trust"), "L2", {("switch", "DSCP")}),
    ((*SWITCH2, "roce", "pfc_priorities"), [4], {("switch", "priority")}),
    ((*SWITCH2, "roce", "ecn"), "disabled", {("switch", "traffic class")}),
    ((*BOX, "mtus"), {"ens1184np0": 9000, "ens1216np0": 1500}, {("container", "MTU")}),
    ((*BOX, "env", "NCCL_IB_HCA"), "=mlx5_0:1", {("container", "GID")}),
    ((*BOX, "env", "NCCL_CROSS_NIC"), "1", {("container", "link")}),
]


@pytest.mark.parametrize("case", SECOND_RAIL, ids=lambda case: f"{case[0][1]}-{case[0][-1]}-{case[1]}")
def test_each_single_mismatch_on_the_second_rail_is_found_and_nothing_else(case: Any) -> None:
    path, value, expected = case
    found = compare(path, value)
    wrong = [row for row in found["rows"] if row["verdict"] == "mismatch"]
    assert {(row["layer"], row["item"]) for row in wrong} == expected
    assert all(path[1] in row["where"] for row in wrong)
    if path[:5] == NIC2 and ("container", "priority") not in expected:
        assert any(re.search(r"mlx5_1|10\.79\.0\.0/24|order of the rails", row["where"]) for row in wrong)
    assert all(row["remedy"] for row in wrong)


def compare(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    world = SMALL.world()
    # With a third host most are right, as on a real site.
    world["nodes"]["gpu03"] = copy.deepcopy(world["nodes"]["gpu01"])
    for port, network in zip(world["nodes"]["gpu03"]["nic"]["devices"], SMALL.networks):
        address = network.replace("0/24", "13")
        port.update(roce_gid_ipv4=address, gids=_gids(port["netdev"], address))
    place: Any = world
    for key in path[:-1]:
        place = place[key]
    assert place.get(path[-1]) != value
    place[path[-1]] = value
    found: dict[str, Any] = path_consistency(world["nodes"], world["switches"], network=list(SMALL.networks))
    return found


def test_two_nics_of_a_host_on_one_rail_are_not_taken_for_right() -> None:
    found = compare((*NIC2, "roce_gid_ipv4"), "10.78.0.99")
    wrong = {row["where"] for row in found["rows"] if row["verdict"] == "mismatch"}
    assert "gpu02 rail 10.79.0.0/24" in wrong
    assert any("gpu02 rail 10.78.0.0/24" in text and "arp_ignore" in text for text in found["unknown"])


def test_each_rail_may_have_an_mtu_of_its_own() -> None:
    world = SMALL.world()
    for node in world["nodes"].values():
        port = node["nic"]["devices"][1]
        port.update(netdev_mtu=4200, active_mtu=4096)
        node["container"]["mtus"][port["netdev"]] = 4200
    found = path_consistency(world["nodes"], world["switches"], network=list(SMALL.networks))
    assert (found["mismatches"], found["unknown"]) == ([], [])


def test_rails_may_share_a_switch_with_a_vlan_each() -> None:
    world = dataclasses.replace(SMALL, hosts=3).world()
    one = world["switches"].pop("sw01")
    world["switches"]["sw02"]["ports"].update({f"2/{name}": port for name, port in one["ports"].items()})
    found = path_consistency(world["nodes"], world["switches"], network=list(SMALL.networks))
    assert found["mismatches"] == []
    world["switches"]["sw02"]["ports"]["2/1/1"]["access_vlan"] = 1
    (text,) = path_consistency(world["nodes"], world["switches"], network=list(SMALL.networks))["mismatches"]
    assert "sw02 2/1/1" in text and "VLAN 112 or 111" in text
