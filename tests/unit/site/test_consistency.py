"""One mismatch at a time, at each layer: it is found where it is, and nothing else is; a right site is quiet."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rocemesh.multinode.plugins.filter.path_consistency import path_consistency
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.consistency import ITEMS, report
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.path_container import selects
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.path_intent import Intent, rdma_mtu

from tests.unit.site.rails_site import lossless, qos

INTENT = Intent(network="10.78.0.0/24")


def switch() -> dict[str, Any]:
    port = {"mode": "access", "access_vlan": 111, "mtu": 9216, "oper": "up", "pfc_oper": "enabled", "trust": "L3"}
    return {
        "roce": lossless(),
        "vlan": {"id": 111},
        "ports": {"1/1": dict(port), "1/2": dict(port)},
    }


def node(number: int) -> dict[str, Any]:
    address = f"10.78.0.{number}"
    return {
        "nic": {
            "devices": [
                {
                    "name": "mlx5_0",
                    "port": 1,
                    "netdev": "ens192",
                    "link_layer": "Ethernet",
                    "pci": "0000:13:00.0",
                    "state": "ACTIVE",
                    "rate": "100 Gb/sec (2X HDR)",
                    "pcie": {
                        "current_link_speed": 16.0,
                        "max_link_speed": 16.0,
                        "current_link_width": 16,
                        "max_link_width": 16,
                    },
                    "firmware": "22.31.1014",
                    "psid": "MT_0000000359",
                    "netdev_mtu": 9000,
                    "active_mtu": 4096,
                    "gids": [{"index": 3, "type": "RoCE v2", "ipv4": address, "netdev": "ens192"}],
                    "roce_gid_index": 3,
                    "roce_gid_ipv4": address,
                    "qos": qos({"0": 1, "1": 0, "2": 2, "3": 3}),
                    "roce_tos": 106,
                    "traffic_class": 106,
                }
            ]
        },
        "container": {
            "name": "mpicont",
            "env": {"NCCL_IB_TC": "106", "NCCL_IB_GID_INDEX": "3", "NCCL_IB_HCA": "=mlx5_0:1"},
            "network_mode": "host",
            "infiniband": True,
            "mtu": 9000,
        },
    }


def site() -> dict[str, Any]:
    return {"switches": {"sw01": switch()}, "nodes": {f"gpu0{n}": node(10 + n) for n in (1, 2)}}


def look(world: dict[str, Any], intent: Intent = INTENT) -> dict[str, Any]:
    return report(world["switches"], world["nodes"], intent)


def test_a_right_site_is_quiet_and_every_item_was_compared_at_every_layer() -> None:
    result = look(site())
    assert (result["consistent"], result["complete"], result["mismatches"], result["unknown"]) == (True, True, [], [])
    compared = {(row["item"], row["layer"]) for row in result["rows"]}
    assert compared == {(item, layer) for item in ITEMS for layer in ("switch", "nic", "container")}
    json.dumps(result)


# path into the site, wrong value, layer, item that has to be named, the place
SW, NIC, CONTAINER = ("switches", "sw01"), ("nodes", "gpu02", "nic", "devices", 0), ("nodes", "gpu02", "container")
SINGLE = [
    ((*SW, "ports", "1/2", "mtu"), 1500, "switch", "MTU", "sw01 1/2"),
    ((*SW, "roce", "trust"), "L2", "switch", "DSCP", "sw01 trust"),
    ((*SW, "ports", "1/2", "trust"), "L2", "switch", "DSCP", "sw01 1/2 trust"),
    ((*SW, "roce", "ecn"), "disabled", "switch", "traffic class", "sw01 ECN"),
    ((*SW, "roce", "pfc_priorities"), [4], "switch", "priority", "sw01 PFC"),
    ((*SW, "roce", "pfc_priorities"), [3, 4], "switch", "priority", "sw01 PFC"),
    ((*SW, "roce", "pfc"), "disabled", "switch", "priority", "sw01 PFC"),
    ((*SW, "ports", "1/2", "pfc_oper"), "disabled", "switch", "priority", "sw01 1/2 PFC"),
    ((*SW, "ports", "1/2", "pfc_priorities"), [3, 4], "switch", "priority", "sw01 1/2"),
    ((*SW, "roce", "dscp_priorities"), {"26": 4}, "switch", "DSCP", "sw01 DSCP 26"),
    ((*SW, "ports", "1/2", "access_vlan"), 1, "switch", "GID", "sw01 1/2"),
    ((*SW, "ports", "1/2", "roce_priority"), 0, "switch", "DSCP", "sw01 1/2"),
    ((*NIC, "active_mtu"), 1024, "nic", "MTU", "RDMA"),
    ((*NIC, "qos", "trust"), "pcp", "nic", "DSCP", "trust"),
    ((*NIC, "traffic_class"), 0, "nic", "traffic class", "forced"),
    ((*NIC, "roce_tos"), 104, "nic", "traffic class", "rdma_cm"),
    ((*NIC, "qos", "pfc_priorities"), [], "nic", "priority", "PFC"),
    ((*NIC, "qos", "pfc_priorities"), [3, 5], "nic", "priority", "PFC"),
    ((*NIC, "qos", "prio_tc"), {"0": 3, "3": 3}, "nic", "priority", "TC of 3"),
    ((*NIC, "state"), "DOWN", "nic", "link", "mlx5_0"),
    ((*NIC, "rate"), "25 Gb/sec (1X EDR)", "nic", "link", "rate"),
    ((*NIC, "pcie", "current_link_width"), 8, "nic", "link", "PCIe width"),
    ((*NIC, "pcie", "current_link_speed"), 8.0, "nic", "link", "PCIe speed"),
    ((*NIC, "firmware"), "22.28.1002", "nic", "link", "firmware"),
    ((*CONTAINER, "mtu"), 1500, "container", "MTU", "interface"),
    ((*CONTAINER, "env", "NCCL_IB_DISABLE"), "1", "container", "link", "NCCL_IB_DISABLE"),
    ((*CONTAINER, "env", "NCCL_NET"), "Socket", "container", "link", "NCCL_NET"),
    ((*CONTAINER, "env", "NCCL_SOCKET_IFNAME"), "docker0", "container", "link", "NCCL_SOCKET_IFNAME"),
    ((*CONTAINER, "env", "NCCL_IB_PCI_RELAXED_ORDERING"), "0", "container", "link", "RELAXED_ORDERING"),
    ((*CONTAINER, "network_mode"), "bridge", "container", "MTU", "network"),
    ((*CONTAINER, "env", "NCCL_IB_TC"), "104", "container", "traffic class", "NCCL_IB_TC"),
    ((*CONTAINER, "env", "UCX_IB_TRAFFIC_CLASS"), "0", "container", "traffic class", "UCX_IB_TRAFFIC_CLASS"),
    ((*CONTAINER, "env", "NCCL_IB_FIFO_TC"), "0x20", "container", "traffic class", "NCCL_IB_FIFO_TC"),
    ((*CONTAINER, "env", "NCCL_IB_SL"), "0", "container", "priority", "NCCL_IB_SL"),
    ((*CONTAINER, "env", "NCCL_IB_GID_INDEX"), "1", "container", "GID", "NCCL_IB_GID_INDEX"),
    ((*CONTAINER, "env", "NCCL_IB_HCA"), "=mlx5_1", "container", "GID", "NCCL_IB_HCA"),
    ((*CONTAINER, "infiniband"), False, "container", "GID", "/dev/infiniband"),
]


def broken(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    world = site()
    place: Any = world
    for key in path[:-1]:
        place = place[key]
    assert place.get(path[-1]) != value
    place[path[-1]] = value
    return world


@pytest.mark.parametrize("case", SINGLE, ids=lambda case: f"{case[2]}-{case[3]}-{case[0][-1]}-{case[1]}")
def test_each_single_mismatch_is_found_where_it_is_and_nowhere_else(case: tuple[Any, ...]) -> None:
    path, value, layer, item, place = case
    result = look(broken(path, value))
    wrong = [row for row in result["rows"] if row["verdict"] == "mismatch"]
    assert [(row["layer"], row["item"]) for row in wrong] == [(layer, item)]
    assert path[1] in wrong[0]["where"] and place in wrong[0]["where"]
    assert wrong[0]["remedy"]
    assert result["consistent"] is False
    assert wrong[0]["found"] in result["mismatches"][0]
    assert [line for line in result["table"] if line.startswith("!")] != []


# Some faults are one fault with consequences at other layers: each consequence is named, and the host is right.
SPREADING = [
    ((*NIC, "netdev_mtu"), 1500, {("nic", "MTU")}),
    ((*NIC, "qos", "dscp_prio"), {"26": 0}, {("nic", "priority"), ("container", "priority")}),
    ((*NIC, "roce_gid_index"), 5, {("container", "GID")}),
    ((*NIC, "roce_gid_index"), None, {("nic", "GID")}),
    ((*NIC, "roce_gid_ipv4"), "10.78.0.11", {("nic", "GID")}),
    ((*NIC, "link_layer"), "InfiniBand", {("nic", "GID")}),
    ((*CONTAINER, "env", "NCCL_IB_TC"), "192",
     {("container", "DSCP"), ("container", "traffic class"), ("container", "priority")}),
    ((*CONTAINER, "env"), {"NCCL_IB_GID_INDEX": "3"},
     {("container", "DSCP"), ("container", "traffic class"), ("container", "priority")}),
]  # fmt: skip


@pytest.mark.parametrize("case", SPREADING, ids=lambda case: f"{case[0][-1]}-{case[1]}")
def test_a_fault_with_consequences_names_them_and_the_right_host(case: tuple[Any, ...]) -> None:
    path, value, expected = case
    result = look(broken(path, value))
    wrong = [row for row in result["rows"] if row["verdict"] == "mismatch"]
    assert {(row["layer"], row["item"]) for row in wrong} == expected
    assert all("gpu02" in row["where"] for row in wrong)


UNTOLD = [
    (*SW, "roce", "trust"),
    (*SW, "roce", "ecn"),
    (*SW, "roce", "pfc_priorities"),
    (*SW, "ports", "1/2", "mtu"),
    (*SW, "ports", "1/2", "access_vlan"),
    (*NIC, "netdev_mtu"),
    (*NIC, "active_mtu"),
    (*NIC, "qos"),
    (*NIC, "roce_tos"),
    (*NIC, "state"),
    (*CONTAINER, "network_mode"),
    (*CONTAINER, "infiniband"),
    ("nodes", "gpu02", "container"),
    ("nodes", "gpu02", "nic"),
    ("switches",),
]


@pytest.mark.parametrize("path", UNTOLD, ids=lambda path: str(path[-1]))
def test_what_a_layer_does_not_tell_is_unknown_and_never_right_or_wrong(path: tuple[Any, ...]) -> None:
    result = look(broken(path, {} if path == ("switches",) else None))
    assert (result["consistent"], result["complete"]) == (True, False)
    assert all("What to do: " in text for text in result["unknown"])
    assert [line for line in result["table"] if line.startswith("?")] != []


@pytest.mark.parametrize(
    ("version", "verdict"), [("2.21.5", "ok"), ("2.20.3", "mismatch"), ("2.9.8", "mismatch"), (None, "unknown")]
)
def test_without_a_gid_index_the_version_of_nccl_decides(version: str | None, verdict: str) -> None:
    world = site()
    container = world["nodes"]["gpu01"]["container"]
    del container["env"]["NCCL_IB_GID_INDEX"]
    container["nccl_version"] = version
    (row,) = [
        row
        for row in look(world)["rows"]
        if row["where"] == "gpu01 mpicont NCCL_IB_GID_INDEX" and row["layer"] == "container"
    ]
    assert row["verdict"] == verdict


def test_the_wanted_mtu_is_asked_for_even_if_all_agree_on_another() -> None:
    world = site()
    for each in world["nodes"].values():
        each["nic"]["devices"][0].update(netdev_mtu=1500, active_mtu=1024)
        each["container"]["mtu"] = 1500
    assert look(world)["consistent"] is True
    assert look(world, Intent(network="10.78.0.0/24", mtu=9000))["consistent"] is False


def test_ports_outside_the_network_are_left_out() -> None:
    world = site()
    other = copy.deepcopy(world["nodes"]["gpu01"]["nic"]["devices"][0])
    other.update(name="mlx5_1", netdev="ens224", roce_gid_ipv4="172.16.0.1", netdev_mtu=1500,
                 gids=[{"index": 3, "type": "RoCE v2", "ipv4": "172.16.0.1"}], qos=None)  # fmt: skip
    world["nodes"]["gpu01"]["nic"]["devices"].append(other)
    result = look(world)
    assert result["complete"] is True
    assert result["left_out"] == ["gpu01 mlx5_1:1 (ens224): not compared, 172.16.0.1 is in none of 10.78.0.0/24"]
    other["gids"] = [{"index": 1, "type": "RoCE v2", "ipv4": None}]
    assert look(world)["left_out"] == ["gpu01 mlx5_1:1 (ens224): not compared, it has no IPv4 address in 10.78.0.0/24"]


@pytest.mark.parametrize(
    ("selector", "device", "port", "taken"),
    [
        ("mlx5_1", "mlx5_10", 1, True),  # a beginning, which is a well-known trap
        ("=mlx5_1", "mlx5_10", 1, False),
        ("=mlx5_1:1", "mlx5_1", 1, True),
        ("=mlx5_1:2", "mlx5_1", 1, False),
        ("^mlx5_1", "mlx5_0", 1, True),
        ("^=mlx5_0", "mlx5_0", 1, False),
        ("mlx4,mlx5_0", "mlx5_0", 1, True),
    ],
)
def test_device_selectors_of_nccl(selector: str, device: str, port: int, taken: bool) -> None:
    assert selects(selector, device, port) is taken


@pytest.mark.parametrize(
    ("mtu", "size"), [(9000, 4096), (4192, 4096), (4191, 2048), (1500, 1024), (1119, 512), (68, 256)]
)
def test_room_for_the_rdma_mtu(mtu: int, size: int) -> None:
    assert rdma_mtu(mtu) == size


@pytest.mark.parametrize(
    "arguments",
    [{"dscp": 64}, {"dscp": 26, "traffic_class": 96}, {"priority": 8}, {"mtu": -1}, {"network": "10.78.0.1/24"}],
)
def test_a_wish_that_contradicts_itself_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(RefusedError, match=r"is not within|What to do"):
        Intent(**arguments)


def test_the_filter_returns_the_table_and_names_what_it_cannot_read() -> None:
    world = site()
    assert path_consistency(world["nodes"], world["switches"], network="10.78.0.0/24")["consistent"] is True
    world["nodes"]["gpu01"]["container"]["env"]["NCCL_IB_TC"] = "high"
    with pytest.raises(AnsibleFilterError, match="gpu01 mpicont: is no number"):
        path_consistency(world["nodes"], world["switches"])
    with pytest.raises(AnsibleFilterError, match="path_consistency"):
        path_consistency({"gpu01": {"nic": {"devices": [7]}}}, {})


def test_the_text_table_is_aligned_and_marks_what_is_wrong() -> None:
    table = look(broken((*CONTAINER, "mtu"), 1500))["table"]
    start = table[0].index("layer")
    assert all(line[start:].split()[0] in ("layer", "switch", "nic", "container") for line in table)
    assert sum(line.startswith("!") for line in table) == 1
