"""Rules of the plan that both systems share, and those of the plan for NVUE, each by its name, without a switch."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import plan as nvue
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import state as parsing
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue.info import port_fact, roce_fact
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import state as onyx_parsing
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch import guards
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.guards import Neighbor
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted

ROCE = parsing.Roce(
    mode="lossless",
    running="lossless",
    trust="pcp,dscp",
    congestion="ECN",
    ecn_classes=frozenset({0, 3}),
    pfc_priorities=frozenset({3}),
    pfc_rx="enabled",
    pfc_tx="enabled",
)
GPU = Neighbor("gpu01.example.net")


def port(name: str, **changes: Any) -> parsing.Port:
    settings: dict[str, Any] = {"name": name, "mode": "none", "mtu": 9216, "up": True, "neighbors": (GPU,), **changes}
    return parsing.Port(**settings)


def access(name: str, vlan: int = 111, **changes: Any) -> parsing.Port:
    domains = {"br_default": {"access": vlan}}
    return port(name, **{"mode": "access", "access_vlan": vlan, "domains": domains, **changes})


def switch(*ports: parsing.Port, **changes: Any) -> parsing.State:
    known = {"roce": ROCE, "vlans": frozenset({111}), **changes}
    return parsing.State(host="sw02", release="5.11.0", ports={each.name: each for each in ports}, **known)


def planned(state: parsing.State, **request: Any) -> list[str]:
    request = {"vlan": 111, "ports": tuple(state.ports), **request}
    return [each.command for each in nvue.plan(state, Wanted(**request))]


# --- what contradicts RoCE


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ecn_classes": frozenset({0})}, "ECN is on for the traffic classes [0], not for 3"),
        ({"ecn_classes": frozenset()}, "ECN is on for the traffic classes [], not for 3"),
        ({"congestion": "WRED"}, "congestion control is WRED, not ECN"),
        ({"pfc_priorities": frozenset({4})}, "PFC is on for the priorities [4], not for 3"),
        ({"pfc_rx": "disabled"}, "PFC receive is disabled"),
        ({"pfc_tx": "disabled"}, "PFC transmit is disabled"),
        ({"pfc_tx": ""}, "PFC transmit is not shown"),
        ({"trust": "pcp"}, "port trust mode is pcp, without DSCP"),
        ({"running": "lossy"}, "the switch reports mode lossy"),
        ({"exceptions": ("swp1: buffer differs",)}, "exception list: swp1: buffer differs"),
    ],
)
def test_each_part_of_lossless_roce_is_judged_alone(changes: dict[str, Any], words: str) -> None:
    broken = dataclasses.replace(ROCE, **changes)
    assert nvue.unhealthy(switch(access("swp1"), roce=broken), Wanted(ports=("swp1",))) == [words]


def test_a_healthy_switch_has_no_problem_and_lossy_needs_no_pfc() -> None:
    assert nvue.unhealthy(switch(access("swp1", pfc="enabled")), Wanted(ports=("swp1",))) == []
    lossy = parsing.Roce(mode="lossy", running="lossy", trust="dscp", congestion="ECN", ecn_classes=frozenset({3}))
    assert nvue.unhealthy(switch(access("swp1", pfc="disabled"), roce=lossy), Wanted("lossy", ports=("swp1",))) == []


@pytest.mark.parametrize(("up", "problems"), [(True, ["port swp1: PFC is not in force"]), (False, [])])
def test_pfc_of_a_port_counts_only_while_it_has_a_link(up: bool, problems: list[str]) -> None:
    assert nvue.unhealthy(switch(access("swp1", pfc="disabled", up=up)), Wanted(ports=("swp1",))) == problems


@pytest.mark.parametrize(
    ("receive", "transmit", "word"),
    [("enabled", "enabled", "enabled"), ("enabled", "disabled", "disabled"), ("disabled", "enabled", "disabled")],
)
def test_pfc_is_enabled_only_in_both_directions(receive: str, transmit: str, word: str) -> None:
    answer = {"pfc": {"rx-enabled": receive, "tx-enabled": transmit}}
    assert parsing.parse_port_pfc(answer) == word
    assert roce_fact(dataclasses.replace(ROCE, pfc_rx=receive, pfc_tx=transmit))["pfc"] == word


@pytest.mark.parametrize("key", ["exception-list", "Exceptions", "roce-exception", "config-exceptions"])
def test_exceptions_count_under_whatever_name_a_release_has_for_them(key: str) -> None:
    assert parsing.parse_roce("sw02", {}, None, {key: {"swp1": "pool"}}).exceptions == ("swp1: pool",)


# --- who is behind a port


@pytest.mark.parametrize(
    ("neighbors", "words"),
    [
        ((), "swp1 is up, and "),
        ((Neighbor("spine01"),), "behind swp1 is spine01"),
        ((GPU, Neighbor("spine01", description="NVIDIA SN4700")), r"behind swp1 is spine01 \(NVIDIA SN4700\)"),
        ((Neighbor(""),), "behind swp1 is a device without a name"),
    ],
)
def test_a_port_with_a_silent_or_an_unexpected_neighbor_is_refused(neighbors: Any, words: str) -> None:
    state = switch(access("swp1", 10, neighbors=neighbors))
    with pytest.raises(RefusedError, match=words):
        planned(state, neighbors=("gpu*",))
    assert planned(state, neighbors=("gpu*",), strangers=frozenset({"swp1"}))
    assert planned(state, neighbors=("gpu*",), strangers=None)
    assert planned(switch(access("swp1", 10, neighbors=neighbors, up=False)), neighbors=("gpu*",))


def test_a_port_that_is_right_already_may_have_any_neighbor() -> None:
    assert planned(switch(access("swp1", neighbors=(Neighbor("spine01"),))), neighbors=("gpu*",)) == []


@pytest.mark.parametrize(("forwards", "patterns", "warned"), [(True, (), 1), (False, (), 0), (True, ("gpu*",), 0)])
def test_a_neighbor_that_forwards_is_a_warning_where_no_name_was_expected(
    forwards: bool, patterns: tuple[str, ...], warned: int
) -> None:
    behind = {"swp1": [Neighbor("leaf07", forwards=forwards)]}
    found = guards.neighbor_warnings(behind, Wanted(neighbors=patterns))
    assert len(found) == warned and all("swp1" in each and "leaf07" in each for each in found)


@pytest.mark.parametrize(
    ("capability", "forwards"),
    [
        ({"is-router": "on"}, True),
        ({"is-bridge": "on", "is-router": "off"}, True),
        ({"is-bridge": "off"}, False),
        ({}, False),
    ],
)
def test_capabilities_of_a_neighbor_are_read_from_nvue(capability: dict[str, str], forwards: bool) -> None:
    chassis = {"system-name": "leaf07", "capability": capability}
    facts = {"link": {"mtu": 9216, "state": {"up": {}}}, "lldp": {"neighbor": {"leaf07": {"chassis": chassis}}}}
    found = parsing.parse_ports("sw02", {}, {"swp1": facts})["swp1"]
    assert found.neighbors == (Neighbor("leaf07", forwards=forwards),)
    assert port_fact(found)["neighbors"] == ["leaf07"]


@pytest.mark.parametrize(
    ("printed", "forwards"), [("B, R", True), ("Bridge", True), ("R", True), ("W", False), ("", False)]
)
def test_capabilities_of_a_neighbor_are_read_from_onyx(printed: str, forwards: bool) -> None:
    text = f'[{{"Eth1/1": [{{"Remote system name": "leaf07", "Remote system capabilities enabled": "{printed}"}}]}}]'
    assert onyx_parsing.parse_neighbors("sw01", text) == {"1/1": (Neighbor("leaf07", forwards=forwards),)}


# --- ports


def test_an_access_port_of_another_bridge_loses_it_only_with_permission() -> None:
    state = switch(access("swp1", domains={"br_other": {"access": 111}}))
    with pytest.raises(RefusedError, match=r"swp1 is .* carries"):
        planned(state)
    assert planned(state, convertible=frozenset({"swp1"}))[0] == "nv unset interface swp1 bridge domain br_other"


def test_ports_with_subinterfaces_and_members_of_bonds_are_refused_even_for_their_mtu() -> None:
    for busy, words in (
        (port("swp1", above=("swp1.100",)), "swp1.100"),
        (port("swp1", mode="bond", bond="bond3"), "bond3"),
    ):
        for request in ({}, {"vlan": None, "mtu": 9000}, {"convertible": None}):
            with pytest.raises(RefusedError, match=words):
                planned(switch(busy), **request)


def test_members_of_a_bond_are_in_mode_bond_whatever_else_they_have() -> None:
    config = {
        "interface": {"bond1": {"bond": {"member": {"swp1": {}}}}, "swp1": {"ip": {"address": {"10.0.0.1/31": {}}}}}
    }
    facts = {"swp1": {"link": {"mtu": 9216, "state": {"up": {}}}}}
    assert parsing.parse_ports("sw02", config, facts)["swp1"].mode == "bond"


@pytest.mark.parametrize(("base", "found"), [("br_default", {111}), ("br_other", set()), (None, {111})])
def test_the_layer_3_interface_of_another_bridge_is_not_ours(base: str | None, found: set[int]) -> None:
    settings = {"type": "svi", "vlan": 111, **({"base-interface": base} if base else {})}
    link = {"link": {"mtu": 9216, "state": {"up": {}}}}
    state = parsing.parse_state(
        "sw02",
        "br_default",
        system={"product-release": "5.11.0"},
        applied={"interface": {"vlan111": settings}},
        filled_roce=None,
        roce=None,
        interfaces={"swp1": link},
    )
    assert state.svis == found


# --- whose line it is

OURS = Wanted(vlan=111, ports=("swp1", "swp2"), mtu=9216)


@pytest.mark.parametrize(
    ("line", "changes", "own"),
    [
        ("+ nv set qos roce mode lossless", {}, True),
        ("+ nv set qos pfc default-global rx disable", {}, False),
        ("+ nv set bridge domain br_default vlan 111", {}, True),
        ("+ nv set bridge domain br_default vlan 1110", {}, False),
        ("+ nv set bridge domain br_default vlan 112", {}, False),
        ("+ nv set bridge domain br_other vlan 111", {}, False),
        ("+ nv set interface vlan111 type svi", {}, False),
        ("+ nv set interface vlan111 type svi", {"svi": True}, True),
        ("+ nv set interface swp1-2 bridge domain br_default access 111", {}, True),
        ("+ nv set interface swp1-3 bridge domain br_default access 111", {}, False),
        ("+ nv set interface swp3 link mtu 9216", {}, False),
        ("+ nv set interface swp1 link mtu 9216", {}, True),
        ("- nv set interface swp1 link mtu 1500", {}, True),
        ("+ nv set interface swp1 link mtu 9216", {"mtu": None}, False),
        ("+ nv set interface swp1 link speed 100G", {}, False),
        ("+ nv set interface swp1 bridge domain br_default access 111", {"vlan": None}, False),
        ("- nv set interface swp1 ip address 10.0.0.1/31", {}, True),
        ("- nv set interface swp1 ipv4 address 10.0.0.1/31", {}, True),
        ("- nv set interface swp1 vrf STORAGE", {}, True),
        ("+ nv set interface swp1 ip address 10.0.0.1/31", {}, False),
        ("+ nv set interface swp1 vrf STORAGE", {}, False),
        ("- nv set interface swp1 ip address 10.0.0.1/31", {"vlan": None}, False),
        ("+ nv set interface swp1 description mine", {}, False),
        ("nv set qos roce mode lossless", {}, False),
        ("+ nv action reboot system", {}, False),
    ],
)
def test_a_line_is_ours_only_if_the_request_asks_for_it(line: str, changes: dict[str, Any], own: bool) -> None:
    assert nvue.own_line(line, dataclasses.replace(OURS, **changes)) is own


def test_a_run_over_operations_names_only_ports_that_change() -> None:
    state = switch(access("swp1"), access("swp2", 10), access("swp10", 10))
    wanted = Wanted(vlan=111, ports=tuple(state.ports))
    assert nvue.touched(nvue.plan(state, wanted)) == ["swp2", "swp10"]


@pytest.mark.parametrize(("reach", "refused"), [("any", False), ("requested_ports", True), ("none", True)])
def test_a_mode_change_reaches_every_port_that_has_a_link(reach: str, refused: bool) -> None:
    state = switch(access("swp1"), access("swp9"), roce=parsing.Roce())
    if not refused:
        assert planned(state, ports=("swp1",), disruption=reach) == ["nv set qos roce mode lossless"]
        return
    with pytest.raises(RefusedError, match="RoCE mode off -> lossless"):
        planned(state, ports=("swp1",), disruption=reach)
    quiet = switch(access("swp1"), access("swp9", up=False), roce=parsing.Roce())
    if reach == "requested_ports":
        assert planned(quiet, ports=("swp1",), disruption=reach)
