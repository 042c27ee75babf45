"""Which interface is the RoCE network's: by RDMA device and network, and never the one that the VM is managed over."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError, RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic import interface_state as states
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_choice import (
    Wanted,
    choose,
    in_networks,
    no_roce,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_state import Link

LAN = Link("ens192", 2, 1500, addresses=("192.0.2.11/24",), driver="vmxnet3")
ROCE = Link(
    "ens224", 3, 1500, addresses=("198.51.100.11/24", "fe80::1/64"), driver="mlx5_core", devices=("mlx5_0",),
    link_layer="Ethernet",
)  # fmt: skip
SECOND = dataclasses.replace(ROCE, name="ens256", index=4, addresses=("198.51.101.11/24",), devices=("mlx5_1",))
BARE = dataclasses.replace(ROCE, addresses=())
DEFAULT = frozenset({"ens192"})


def world(*links: Link) -> dict[str, Link]:
    return {link.name: link for link in links}


def refusal(*links: Link, defaults: frozenset[str] = DEFAULT, **wanted: Any) -> str:
    with pytest.raises(RefusedError) as refused:
        choose(world(*links), defaults, Wanted(**wanted), "gpu01")
    return " ".join(str(refused.value).split())


def test_the_one_interface_of_a_connectx_with_an_address_is_taken() -> None:
    assert choose(world(LAN, ROCE), DEFAULT, Wanted(), "gpu01") == ("ens224",)
    # Without an address, or managed over, it is no second candidate.
    assert choose(world(LAN, ROCE, dataclasses.replace(SECOND, addresses=("fe80::2/64",))), DEFAULT, Wanted(), "") == (
        "ens224",
    )
    assert choose(world(LAN, ROCE, SECOND), frozenset({"ens256"}), Wanted(), "gpu01") == ("ens224",)


def test_networks_decide_before_addresses_and_may_be_of_several_interfaces() -> None:
    networks = ("198.51.100.0/24", "198.51.101.0/24")
    assert choose(world(LAN, SECOND, ROCE), DEFAULT, Wanted(networks=networks), "gpu01") == ("ens224", "ens256")
    assert choose(world(LAN, SECOND, ROCE), DEFAULT, Wanted(networks=networks[1:]), "gpu01") == ("ens256",)


def test_several_candidates_without_a_network_are_no_choice() -> None:
    told = refusal(LAN, ROCE, SECOND)
    assert "have an address: ens224, ens256" in told and "guest_networks" in told


def test_no_candidate_names_those_that_there_are() -> None:
    assert "there are: ens224 (no address)" in refusal(LAN, BARE)
    assert "an address in 203.0.113.0/24" in refusal(LAN, ROCE, networks=("203.0.113.0/24",))
    assert "there are: none" in refusal(LAN)


def test_what_is_named_is_taken_in_that_order_and_once() -> None:
    assert choose(world(LAN, ROCE, SECOND), DEFAULT, Wanted(("ens256", "ens224", "ens256")), "gpu01") == (
        "ens256",
        "ens224",
    )
    assert "no such interface" in refusal(ROCE, interfaces=("ens999",))
    assert "ens192 has no RDMA device (driver vmxnet3)" in refusal(LAN, ROCE, interfaces=("ens192",))
    assert "the only entry" in refusal(ROCE, interfaces=("auto", "ens224"))


@pytest.mark.parametrize("interfaces", [("ens224",), ("auto",)], ids=["named", "found"])
@pytest.mark.parametrize(
    ("defaults", "session", "why"),
    [
        (frozenset({"ens224"}), "", "carries a default route"),
        (DEFAULT, "198.51.100.11", "has the address 198.51.100.11 that this connection came in on"),
    ],
    ids=["default-route", "session"],
)
def test_the_interface_that_the_vm_is_managed_over_is_refused_unless_allowed(
    interfaces: tuple[str, ...], defaults: frozenset[str], session: str, why: str
) -> None:
    wanted: dict[str, Any] = {"interfaces": interfaces, "networks": ("198.51.100.0/24",), "session": session}
    told = refusal(LAN, ROCE, defaults=defaults, **wanted)
    assert why in told and "would cut the VM off" in told
    assert choose(world(LAN, ROCE), defaults, Wanted(**wanted, management=True), "gpu01") == ("ens224",)


def test_a_session_over_another_interface_hinders_nothing() -> None:
    wanted = Wanted(("ens224",), session="192.0.2.11")
    assert choose(world(LAN, ROCE), DEFAULT, wanted, "gpu01") == ("ens224",)


def test_a_member_of_a_bond_is_never_taken_and_says_whose_it_is() -> None:
    bond = Link("bond0", 9, 1500, kind="bond", addresses=ROCE.addresses)
    members = [dataclasses.replace(each, master="bond0", addresses=()) for each in (ROCE, SECOND)]
    assert choose(world(LAN, bond, *members), DEFAULT, Wanted(), "gpu01") == ("bond0",)
    assert "a member of bond0" in refusal(bond, *members, interfaces=("ens224",))


SICK = [
    ({"devices": (), "driver": ""}, False, "ens224 has no RDMA device (no driver)"),
    ({"devices": (), "driver": "", "kind": "dummy"}, False, "ens224 has no RDMA device (kind dummy)"),
    ({"driver": "irdma"}, False, "ens224 has driver irdma, not mlx5_core"),
    ({"driver": ""}, False, "ens224 has driver unknown, not mlx5_core"),
    ({"driver": ""}, True, ""),  # a twin's device
    ({"driver": "irdma"}, True, "ens224 has driver irdma, not mlx5_core"),
    ({"link_layer": "InfiniBand"}, False, "ens224 is InfiniBand, and only RoCE (Ethernet) is in scope"),
    ({"link_layer": ""}, False, "ens224 is of unknown kind"),
    ({"devices": ()}, False, ""),  # the RDMA part of the driver is not loaded yet
]


@pytest.mark.parametrize(("changes", "simulated", "why"), SICK)
def test_what_is_no_connectx_in_ethernet_mode_says_why(changes: dict[str, Any], simulated: bool, why: str) -> None:
    link = dataclasses.replace(ROCE, **changes)
    told = no_roce(world(link), link, Wanted(simulated=simulated))
    assert told.startswith(why) and bool(told) is bool(why)


def test_one_function_without_rdma_device_beside_others_that_have_theirs_is_not_taken() -> None:
    link = dataclasses.replace(ROCE, devices=())
    assert "ens224 has no RDMA device (driver mlx5_core)" in no_roce(world(link, SECOND), link, Wanted())


def test_a_bond_stands_for_its_members_and_a_vlan_for_what_it_lies_on() -> None:
    bond = Link("bond0", 9, 1500, kind="bond")
    first = dataclasses.replace(ROCE, master="bond0")
    lag = dataclasses.replace(SECOND, master="bond0", devices=())
    assert no_roce(world(bond, first, lag), bond, Wanted()) == ""  # RoCE LAG: one device, at the first function
    assert no_roce(world(bond), bond, Wanted()) == "the bond has no member"
    other = dataclasses.replace(LAN, name="ens160", master="bond0")
    assert no_roce(world(bond, first, other), bond, Wanted()).startswith("its member ens160 has no RDMA device")
    vlan = Link("roce", 10, 1500, kind="vlan", parent="ens192")
    assert no_roce(world(LAN, vlan), vlan, Wanted()).startswith("its parent ens192 has no RDMA device")
    above = dataclasses.replace(vlan, parent="ens224")
    assert no_roce(world(ROCE, above), above, Wanted()) == ""
    other_kind = dataclasses.replace(above, kind="macvlan")
    assert no_roce(world(ROCE, other_kind), other_kind, Wanted()) == "roce has no RDMA device (kind macvlan)"


def test_networks_are_of_the_address_own_family() -> None:
    assert in_networks(ROCE, ["198.51.100.0/24"]) and in_networks(ROCE, ["fe80::/10"])
    assert not in_networks(LAN, ["198.51.100.0/24", "fe80::/10"])
    assert ROCE.global_addresses == ("198.51.100.11/24",)


# ---- what the tools print -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ['[{"ifname": "ens224"}]', "[1]", "none", '{"ifname": 1}'])
def test_a_list_of_interfaces_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="no list of interfaces"):
        states.parse_links(text, "gpu01")


def test_links_and_routes_are_read_as_iproute2_prints_them() -> None:
    found = states.parse_links(
        '[{}, {"ifname": "roce", "ifindex": 7, "mtu": 9000, "link": "ens224", "master": "vrf1", '
        '"linkinfo": {"info_kind": "vlan"}, "addr_info": [{"local": "198.51.100.11", "prefixlen": 24}]}]',
        "gpu01",
    )
    address = "198.51.100.11/24"
    assert list(found.values()) == [Link("roce", 7, 9000, "vlan", "vrf1", "ens224", (address,), {address: False})]
    assert states.parse_links("", "gpu01") == {}
    routes = '[{"dst": "default", "dev": "ens192"}, {"dst": "default", "nexthops": [{"dev": "ens1"}, {"dev": "ens2"}]}]'
    assert set(states.parse_routes(routes, 4, "gpu01")) == {"ens192", "ens1", "ens2"}
    assert states.parse_routes('[{"dst": "default"}]', 4, "gpu01") == {}
    with pytest.raises(ParseError, match="no list of routes"):
        states.parse_routes("[1]", 4, "gpu01")


UNIT = """# a comment
; another
[Match]
Name=ens224
[Link]
MTUBytes=1500
MTUBytes = 9000
[Network]
Description=two \\
lines
[DHCPv4]
UseMTU=yes
nonsense
"""


def test_a_unit_file_is_read_as_systemd_does() -> None:
    settings, parts = states.parse_unit_file(UNIT), states.sections(UNIT)
    assert ("Network", "Description", "two  lines") in settings and len(settings) == 5
    assert states.last(parts, "Link", "MTUBytes") == "9000" and states.last(parts[:1], "Link", "MTUBytes") == ""
    assert states.uses_dhcp_mtu(parts) and not states.uses_dhcp_mtu(parts[:-1])
    for text in ("[Link]\nUseMTU=yes\n", "[DHCP]\nUseMTU=no\n", "[DHCP]\nUseMTU=yes\nUseMTU=no\n"):
        assert not states.uses_dhcp_mtu(states.sections(text))
    assert [setting[1] for setting in states.without_mtu(settings)] == ["Name", "Description", "UseMTU"]


@pytest.mark.parametrize(
    ("key", "value", "one"),
    [
        ("Name", "ens224", True),
        ("Name", "ens224 ens256", False),
        ("Name", "ens*", False),
        ("Name", "!ens192", False),
        ("Name", "", False),
        ("MACAddress", "00:50:56:00:00:02", True),
        ("PermanentMACAddress", "00:50:56:00:00:02", True),
        ("Driver", "mlx5_core", False),
    ],
)
def test_only_a_whole_name_or_one_mac_address_is_for_one_interface(key: str, value: str, one: bool) -> None:
    assert states.matches_one_only([("Match", key, value)]) is one
    assert states.matches_one_only([("Network", key, value)]) is False


def test_other_outputs_are_taken_apart_as_their_programs_write_them() -> None:
    assert states.parse_pairs("# comment=1\nNETWORK_FILE=/etc/x.network\nodd\n") == {"NETWORK_FILE": "/etc/x.network"}
    assert states.netplan_id("/run/systemd/network/10-netplan-id1.network") == "id1"
    assert states.netplan_id("/etc/systemd/network/10-netplan-id1.network") is None
    assert states.parse_terse("802-3-ethernet.mtu:auto\nconnection.id:a\\:b\nodd\n") == {
        "802-3-ethernet.mtu": "auto", "connection.id": "a:b",
    }  # fmt: skip
    assert states.split_terse("uuid:/a\\:b:ens224") == ["uuid", "/a:b", "ens224"]
    values = {"802-3-ethernet.mtu": "9000", "connection.timestamp": "1", "GENERAL.STATE": "up", "ipv4.method": "auto"}
    assert states.profile_settings(values) == {"ipv4.method": "auto"}
    assert states.profile_settings({"802-3-ethernet.wake-on-lan": "default"})


def test_the_result_names_ports_devices_and_who_sets_it_up() -> None:
    bond = Link("bond0", 9, 9000, kind="bond", addresses=("198.51.100.11/24",))
    links = world(bond, *(dataclasses.replace(each, master="bond0") for each in (SECOND, ROCE)))
    found = states.Interfaces(links, DEFAULT, keepers={"bond0": states.Keeper(states.NETWORKD, path="/x")})
    assert found.as_result("bond0") == {
        "name": "bond0", "kind": "bond", "ports": ["ens224", "ens256"], "devices": ["mlx5_0", "mlx5_1"],
        "addresses": ["198.51.100.11/24"], "mtu": 9000, "set_up_by": "systemd-networkd by /x",
    }  # fmt: skip
    assert found.as_result("ens224")["kind"] == "ethernet" and found.as_result("ens224")["set_up_by"] == ""
