"""How an MTU is stored: in what sets the interface up, if that is for it alone; else by a unit, or not at all."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic import interface_plan as plans
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_choice import Wanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_state import (
    IFUPDOWN,
    NETWORK_MANAGER,
    NETWORKD,
    Interfaces,
    Keeper,
    Link,
)

from .test_interface_choice import DEFAULT, LAN, ROCE, SECOND, world

PATH = "/run/systemd/network/10-netplan-ens224.network"
ALONE = Keeper(NETWORKD, path=PATH, exact=True)
PROFILE = Keeper(NETWORK_MANAGER, name="roce", exact=True)
VLAN = Link("roce", 7, 1500, kind="vlan", parent="ens224", addresses=("198.51.100.11/24",))


def ways(keeper: Keeper, link: Link = ROCE, mtu: int = 9000) -> str:
    return plans.way("ens224", link, keeper, mtu, "gpu01")


def planned(*links: Link, chosen: tuple[str, ...] = ("ens224",), mtu: int = 9000, **more: Any) -> list[Any]:
    wanted = Wanted(mtu=mtu, **{name: more.pop(name) for name in ("management", "session") if name in more})
    state = Interfaces(world(*links), more.pop("defaults", DEFAULT), chosen, more.pop("keepers", {}))
    return plans.plan(state, wanted, "gpu01")


def texts(operations: list[Any]) -> list[str]:
    return [f"{operation.payload['how']} {operation.payload['name']}" for operation in operations]


WAYS = [
    (ALONE, {}, "drop-in"),
    (PROFILE, {}, "profile"),
    (dataclasses.replace(ALONE, mtu="9000"), {}, "stored"),
    (dataclasses.replace(ALONE, mtu="9000", later="/etc/x.conf"), {}, "stored"),
    (dataclasses.replace(ALONE, mtu="1500"), {}, "drop-in"),
    # For others too, or for whatever has that driver: what was not asked for stays as it is.
    (dataclasses.replace(ALONE, others=("ens256",)), {}, "unit"),
    (dataclasses.replace(ALONE, exact=False), {}, "unit"),
    (dataclasses.replace(PROFILE, others=("ens256",)), {}, "unit"),
    (dataclasses.replace(PROFILE, exact=False), {}, "unit"),
    # A VLAN's MTU needs its parent's first, which no file of its own can say.
    (ALONE, {"kind": "vlan"}, "unit"),
    (PROFILE, {"kind": "vlan"}, "unit"),
    (Keeper(IFUPDOWN), {}, "unit"),
    (Keeper(), {}, "unit"),
    (Keeper(unit_mtu="9000"), {}, "stored"),
    (Keeper(unit_mtu="4200"), {}, "unit"),
    (Keeper(dhcp_mtu="9000"), {}, "unit"),
]


@pytest.mark.parametrize(("keeper", "changes", "expected"), WAYS)
def test_an_mtu_is_stored_where_nothing_else_changes(keeper: Keeper, changes: dict[str, Any], expected: str) -> None:
    assert ways(keeper, dataclasses.replace(ROCE, **changes)) == expected


REFUSED = [
    (dataclasses.replace(ALONE, refused="its file differs from netplan's"), "its file differs from netplan's"),
    (
        dataclasses.replace(ALONE, later="/etc/x.conf", mtu="1500"),
        "/etc/x.conf is read after /etc/systemd/network/10-netplan-ens",
    ),
    (dataclasses.replace(ALONE, mtu="1500", others=("ens256",)), "also for ens256, and that sets MTU 1500"),
    (Keeper(dhcp_mtu="1500"), "takes MTU 1500 from the DHCP server"),
]


@pytest.mark.parametrize(("keeper", "why"), REFUSED)
def test_what_would_fight_with_another_setting_is_refused(keeper: Keeper, why: str) -> None:
    with pytest.raises(RefusedError) as refused:
        ways(keeper)
    assert why in " ".join(str(refused.value).split())


def test_stored_first_live_second_and_nothing_where_nothing_differs() -> None:
    assert texts(planned(LAN, ROCE, keepers={"ens224": ALONE})) == ["drop-in ens224", "live ens224"]
    right = dataclasses.replace(ROCE, mtu=9000)
    assert planned(LAN, right, keepers={"ens224": dataclasses.replace(ALONE, mtu="9000")}) == []
    assert texts(planned(LAN, right)) == ["unit ens224"]
    assert planned(LAN, ROCE, mtu=0) == []


def test_each_way_writes_its_own_and_says_how_to_undo_it() -> None:
    dropin, live = planned(LAN, ROCE, keepers={"ens224": ALONE})
    place = "/etc/systemd/network/10-netplan-ens224.network.d/90-rocemesh-mtu.conf"
    assert dropin.payload["path"] == place and dropin.payload["text"].endswith("[Link]\nMTUBytes=9000\n")
    assert dropin.inverse == f"rm {place}" and dropin.changes == {f"ens224 file {place}": (None, "9000")}
    assert live.changes == {"ens224 mtu": (1500, 9000)} and live.inverse == "ip link set dev ens224 mtu 1500"
    mine = dataclasses.replace(ALONE, mtu="4200", own=True)
    assert planned(LAN, ROCE, keepers={"ens224": mine})[0].inverse == f"write MTUBytes=4200 into {place}"
    assert (
        planned(LAN, ROCE, keepers={"ens224": PROFILE})[0].inverse
        == "nmcli connection modify roce 802-3-ethernet.mtu 0"
    )
    (unit, _live) = planned(LAN, ROCE)
    assert unit.payload["text"] == "ens224 9000\n" and unit.inverse.startswith(
        "rm /etc/systemd/system/sys-subsystem-net"
    )
    older = {"ens224": Keeper(unit_mtu="4200")}
    assert planned(LAN, ROCE, keepers=older)[0].inverse == "write MTU 4200"


def test_an_older_unit_of_ours_does_not_win_over_the_file_at_the_next_boot() -> None:
    keeper = dataclasses.replace(ALONE, unit_mtu="4200")
    assert texts(planned(LAN, ROCE, keepers={"ens224": keeper})) == ["drop-in ens224", "unit ens224", "live ens224"]
    same = dataclasses.replace(ALONE, unit_mtu="9000")
    assert texts(planned(LAN, ROCE, keepers={"ens224": same})) == ["drop-in ens224", "live ens224"]


def test_what_a_vlan_lies_on_comes_first_and_is_never_lowered() -> None:
    below = dataclasses.replace(ROCE, addresses=())
    assert texts(planned(LAN, below, VLAN, chosen=("roce",))) == [
        "unit ens224", "unit roce", "live ens224", "live roce",
    ]  # fmt: skip
    large = dataclasses.replace(below, mtu=9216)
    assert texts(planned(LAN, large, VLAN, chosen=("roce",))) == ["unit roce", "live roce"]
    assert plans.lines("roce", world(below, VLAN), 9000) == "ens224 9000\nroce 9000\n"
    assert plans.lines("roce", world(dataclasses.replace(below, mtu=9000), VLAN), 9000) == "ens224 9000\nroce 9000\n"
    assert plans.lines("roce", world(large, VLAN), 9000) == "roce 9000\n"
    assert plans.lines("ens224", world(ROCE), 9000) == "ens224 9000\n"
    # Two VLANs on one interface: it is set once.
    other = dataclasses.replace(VLAN, name="more")
    found = texts(planned(LAN, below, VLAN, other, chosen=("roce", "more")))
    assert found.count("live ens224") == 1 and found.index("live ens224") < found.index("live roce")


def test_a_vlan_on_the_interface_of_the_management_is_refused_unless_allowed() -> None:
    links = (dataclasses.replace(ROCE, addresses=()), VLAN)
    managed: dict[str, Any] = {"chosen": ("roce",), "defaults": frozenset({"ens224"})}
    with pytest.raises(RefusedError, match=r"VLAN on ens224, which has MTU 1500.*default route"):
        planned(*links, **managed)
    assert "live ens224" in texts(planned(*links, **managed, management=True))
    enough = (dataclasses.replace(links[0], mtu=9000), VLAN)
    assert texts(planned(*enough, **managed))[-1] == "live roce"


def test_a_member_that_is_set_up_with_another_mtu_than_its_bond_is_refused() -> None:
    bond = Link("bond0", 9, 1500, kind="bond", addresses=ROCE.addresses)
    links = (bond, *(dataclasses.replace(each, master="bond0", addresses=()) for each in (ROCE, SECOND)))
    keepers = {"bond0": ALONE, "ens256": Keeper(NETWORKD, path="/x", mtu="1500")}
    with pytest.raises(RefusedError, match=r"member ens256 .* MTU 1500"):
        planned(*links, chosen=("bond0",), keepers=keepers)
    for mtu in ("", "9000"):
        keepers["ens256"] = Keeper(NETWORKD, path="/x", mtu=mtu)
        assert texts(planned(*links, chosen=("bond0",), keepers=keepers)) == ["drop-in bond0", "live bond0"]


def test_names_of_units_are_escaped_as_systemd_does() -> None:
    assert plans.instance("ens224") == "ens224" and plans.instance("a-b.1_2:3") == "a\\x2db.1_2:3"
    assert plans.instance(".odd") == "\\x2eodd"
    assert plans.wants_link("a-b").endswith("net-devices-a\\x2db.device.wants/rocemesh-mtu@a\\x2db.service")


def test_an_address_outside_of_the_networks_is_warned_of() -> None:
    state = Interfaces(world(LAN, ROCE), DEFAULT, ("ens224",))
    assert plans.warnings(state, Wanted(networks=("203.0.113.0/24",))) == [
        "ens224 has no address in 203.0.113.0/24: 198.51.100.11/24, fe80::1/64",
    ]  # fmt: skip
    assert plans.warnings(state, Wanted(networks=("198.51.100.0/24",))) == []
    assert plans.warnings(state, Wanted()) == []
