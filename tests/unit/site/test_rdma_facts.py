"""What the nodes did not tell leaves NCCL its own choice, with the node's name; it never fails a run."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rocemesh.multinode.plugins.filter.nccl_variables import nccl_variables
from ansible_collections.rocemesh.multinode.plugins.filter.rdma_facts import rdma_facts

NODES = ["gpu01", "gpu02"]


def switch_dscp(
    switches: dict[str, Any], readings: dict[str, Any] | None = None, priority: int | str = 3
) -> dict[str, Any]:
    found: dict[str, Any] = rdma_facts(readings or {}, NODES, switches, priority)["dscp"]
    return found


PORT = {
    "name": "mlx5_0",
    "port": 1,
    "netdev": "ens192",
    "link_layer": "Ethernet",
    "active_mtu": 4096,
    "gids": [{"index": 3, "gid": "0000:0000:0000:0000:0000:ffff:c633:640b", "type": "RoCE v2", "netdev": "ens192"}],
    "qos": {"trust": "dscp", "pfc_priorities": [3], "dscp_prio": {"26": 3}},
}
READ: dict[str, Any] = {"devices": [PORT], "simulated": False, "unreadable": [], "error": ""}
EMPTY = {
    "devices": [],
    "simulated": False,
    "unreadable": [{"what": "RDMA devices", "why": "/sys/class/infiniband has none", "remedy": "load the driver"}],
    "error": "",
}
ROCE = {"roce": {"mode": "lossless", "trust": "L3", "pfc_priorities": [3]}}


def test_readings_of_all_nodes_are_facts_for_nccls_variables() -> None:
    found = rdma_facts(dict.fromkeys(NODES, READ), NODES)
    assert (sorted(found["facts"]), found["missing"], found["simulated"]) == (NODES, [], False)
    variables = nccl_variables(found["facts"], "198.51.100.0/24", required=False)
    assert variables["shared"]["NCCL_IB_GID_INDEX"] == "3"


def test_interfaces_are_facts_where_they_were_told() -> None:
    told = {**READ, "interfaces": [{"name": "ens160", "addresses": ["192.0.2.11/24"]}]}
    facts = rdma_facts(dict.fromkeys(NODES, told), NODES)["facts"]
    found = nccl_variables(facts, "198.51.100.0/24", control_network="192.0.2.0/24")
    assert found["shared"]["NCCL_SOCKET_IFNAME"] == "=ens160"
    silent = rdma_facts({"gpu01": told, "gpu02": {**READ, "interfaces": None}}, NODES)["facts"]
    assert (
        "NCCL_SOCKET_IFNAME" not in nccl_variables(silent, "198.51.100.0/24", control_network="192.0.2.0/24")["shared"]
    )


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        ({}, "devices were not read"),
        (None, "devices were not read"),
        ({**EMPTY, "error": "sudo: a password\nis required"}, "(sudo: a password is required)"),
        (EMPTY, "no RDMA device (/sys/class/infiniband has none; load the driver)"),
        ({**EMPTY, "unreadable": []}, "no RDMA device"),
    ],
    ids=["not-read", "null", "failed", "no-device", "no-device-no-reason"],
)
def test_one_silent_node_leaves_the_choice_to_nccl_and_is_named(reading: Any, words: str) -> None:
    found = rdma_facts({"gpu01": READ, "gpu02": reading}, NODES)
    assert found["facts"] == {}
    (text,) = found["missing"]
    assert text.startswith("gpu02: ") and words in text


def test_simulated_devices_are_marked() -> None:
    assert rdma_facts({"gpu01": READ, "gpu02": {**READ, "simulated": True}}, NODES)["simulated"] is True


def test_facts_that_allow_no_choice_fail_only_where_they_were_given_on_purpose() -> None:
    facts = rdma_facts(dict.fromkeys(NODES, READ), NODES)["facts"]
    with pytest.raises(AnsibleFilterError, match=r"no RoCE v2 address in 203\.0\.113\.0/24"):
        nccl_variables(facts, "203.0.113.0/24")
    soft = nccl_variables(facts, "203.0.113.0/24", required=False)
    assert (soft["shared"], soft["per_node"], soft["launcher"], soft["reasons"]) == ({}, {}, [], [])
    assert "no RoCE v2 address in 203.0.113.0/24" in soft["notes"][0] and "gpu01" in soft["notes"][0]


def test_dscp_of_the_roce_profile_is_taken_if_every_switch_shows_it_in_force() -> None:
    found = switch_dscp({"leaf01": ROCE, "leaf02": ROCE}, dict.fromkeys(NODES, READ))
    assert found["dscp"] == 26 and "leaf01, leaf02" in found["reason"]
    assert "DSCP 24 to 31 there, and 26 is" in found["reason"]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({}, "leaf02: its RoCE state was not read"),
        ({"roce": None}, "leaf02: its RoCE state was not read"),
        ({"roce": {**ROCE["roce"], "mode": "absent"}}, "leaf02: RoCE is off"),
        ({"roce": {**ROCE["roce"], "trust": "L2"}}, "(trust L2)"),
        ({"roce": {**ROCE["roce"], "mode": None}}, "leaf02: whether RoCE is on was not read"),
        ({"roce": {**ROCE["roce"], "trust": None}}, "(trust unknown)"),
        ({"roce": {**ROCE["roce"], "trust": "dscp, not configured"}}, "(trust dscp, not configured)"),
        ({"roce": {**ROCE["roce"], "dscp_priorities": {"26": 1}}}, "leaf02: DSCP 26 is in priority 1, not in 3"),
        ({"roce": {**ROCE["roce"], "dscp_priorities": {}}}, "leaf02: DSCP 26 is not among those that it tells of"),
        ({"roce": {**ROCE["roce"], "pfc_priorities": [4]}}, "flow control is not on priority 3 (on [4])"),
    ],
    ids=[
        "empty",
        "unreadable",
        "off",
        "trust-L2",
        "mode-unknown",
        "trust-unknown",
        "one-port-trusts-nothing",
        "mapped-elsewhere",
        "map-unknown",
        "other-priority",
    ],
)
def test_dscp_is_not_guessed(other: dict[str, Any], words: str) -> None:
    found = switch_dscp({"leaf01": ROCE, "leaf02": other})
    assert found["dscp"] is None and words in found["reason"]


def test_dscp_follows_the_priority_of_the_site() -> None:
    moved = {"roce": {**ROCE["roce"], "pfc_priorities": [4]}}
    card = {**READ, "devices": [{**PORT, "qos": {"dscp_prio": {"26": 3, "34": 4}}}]}
    found = switch_dscp({"leaf01": moved}, {"gpu01": card}, 4)
    assert found["dscp"] == 34 and "DSCP 32 to 39 there, 34 among" in found["reason"]
    assert "priority 4 (on [3])" in switch_dscp({"leaf01": ROCE}, {}, "4")["reason"]
    other = {**READ, "devices": [{**PORT, "qos": {"dscp_prio": {"34": 3}}}]}
    assert "DSCP 34 into priority 3" in switch_dscp({"leaf01": moved}, {"gpu01": other}, 4)["reason"]
    assert switch_dscp({"leaf01": ROCE}, {}, 8)["dscp"] is None


def test_no_switch_is_no_dscp() -> None:
    assert switch_dscp({})["dscp"] is None


def test_a_nic_that_puts_the_dscp_elsewhere_contradicts_the_switch() -> None:
    nic = {**READ, "devices": [{**PORT, "qos": {"dscp_prio": {"26": 0}}}]}
    found = switch_dscp({"leaf01": ROCE}, {"gpu01": READ, "gpu02": nic})
    assert found["dscp"] is None and "gpu02 mlx5_0" in found["reason"]


def test_cumulus_spells_its_trust_with_a_comma() -> None:
    cumulus = {"roce": {**ROCE["roce"], "trust": "pcp,dscp", "dscp_priorities": {"26": 3}}}
    assert switch_dscp({"leaf01": cumulus})["dscp"] == 26
