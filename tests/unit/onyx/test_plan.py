"""The plan: which lines are sent, in which order, with which way back, and what is refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError, VerifyError
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import plan as planning
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx.state import (
    Port,
    Roce,
    SwitchState,
    Version,
    Vlan,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted
from hypothesis import given
from hypothesis import strategies as st

LOSSLESS = Roce(mode="lossless", trust="L3", ecn="ecn, absolute", pfc="enabled", priorities={3: "enabled"})
READY = Wanted(vlan=111, ports=("1/1", "1/2"), mtu=9216)


def port(name: str, **changes: Any) -> Port:
    known: dict[str, Any] = {"mode": "access", "mtu": 1500, "admin": True, "oper": "Up", "access_vlan": 1}
    return Port(name=name, **{**known, **changes})


def switch(*ports: Port, **changes: Any) -> SwitchState:
    given_ports = {each.name: each for each in ports} or {f"1/{n}": port(f"1/{n}") for n in range(1, 9)}
    known: dict[str, Any] = {
        "version": Version("3.10.4006", (3, 10, 4006)),
        "roce": Roce(),
        "vlans": {1: Vlan("default", ())},
        "unsaved": False,
    }
    return SwitchState(host="sw01", ports=given_ports, **{**known, **changes})


def healthy(*ports: Port, **changes: Any) -> SwitchState:
    """A switch on which RoCE is in force on all its ports."""
    state = switch(*ports, roce=LOSSLESS, vlans={1: Vlan("default", ()), 111: Vlan("", ())})
    state = dataclasses.replace(
        state,
        pfc=dict.fromkeys(state.ports, ("Auto", "Enabled")),
        ecn={name: {3: "ECN"} for name in state.ports},
        trust=dict.fromkeys(state.ports, "L3"),
    )
    return dataclasses.replace(state, **changes)


def commands(state: SwitchState, wanted: Wanted) -> list[str]:
    return [operation.command for operation in planning.plan(state, wanted)]


# --- what is sent


def test_a_fresh_switch_gets_vlan_roce_ports_and_mtu_in_this_order() -> None:
    wanted = Wanted(vlan=111, vlan_name="rdma", ports=("1/1", "1/2", "1/3", "1/4"), mtu=9216)
    assert commands(switch(), wanted) == [
        "vlan 111 name rdma",
        "roce lossless",
        "interface ethernet 1/1-1/4 switchport access vlan 111",
        "interface ethernet 1/1-1/4 mtu 9216 force",
    ]


def test_nothing_is_sent_when_everything_is_there() -> None:
    ports = [port("1/1", access_vlan=111, mtu=9216), port("1/2", access_vlan=111, mtu=9216)]
    assert commands(healthy(*ports), READY) == []


@pytest.mark.parametrize("mode", ["lossless", "semi-lossless", "lossy", None])
def test_roce_is_not_sent_again_in_the_same_mode(mode: str | None) -> None:
    state = switch(roce=dataclasses.replace(LOSSLESS, mode=mode) if mode else Roce())
    assert commands(state, Wanted(mode=mode)) == []


@pytest.mark.parametrize(
    ("now", "wanted", "command", "inverse"),
    [
        (None, "lossless", "roce lossless", "no roce"),
        ("lossless", "lossy", "roce lossy", "roce lossless"),
        ("lossy", "semi-lossless", "roce semi-lossless", "roce lossy"),
        ("lossless", None, "no roce", "roce lossless"),
    ],
)
def test_a_mode_change_names_every_link_that_may_toggle(
    now: str | None, wanted: str | None, command: str, inverse: str
) -> None:
    state = switch(port("1/1"), port("1/7", oper="Down"), port("1/9"), roce=Roce(mode=now))
    (operation,) = planning.plan(state, Wanted(mode=wanted))
    assert (operation.command, operation.inverse) == (command, inverse)
    assert "every link" in operation.disrupts and "1/1, 1/9" in operation.disrupts
    assert operation.payload["bounces"] == ("1/1", "1/9")


def test_only_ports_that_differ_are_touched() -> None:
    ports = [
        port("1/1", access_vlan=111, mtu=9216),
        port("1/2", access_vlan=111),
        port("1/3", mtu=9216),
        port("1/4"),
    ]
    assert commands(healthy(*ports), Wanted(vlan=111, ports=("1/1", "1/2", "1/3", "1/4"), mtu=9216)) == [
        "interface ethernet 1/3-1/4 switchport access vlan 111",
        "interface ethernet 1/2 mtu 9216 force",
        "interface ethernet 1/4 mtu 9216 force",
    ]


def test_ports_of_different_old_values_have_their_own_way_back() -> None:
    ports = [port("1/1", mtu=1500), port("1/2", mtu=4200)]
    operations = planning.plan(healthy(*ports), Wanted(ports=("1/1", "1/2"), mtu=9216))
    assert [operation.inverse for operation in operations] == [
        "interface ethernet 1/1 mtu 1500 force",
        "interface ethernet 1/2 mtu 4200 force",
    ]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["1/1", "1/2", "1/3"], ["1/1-1/3"]),
        (["1/9", "1/10", "1/11"], ["1/9-1/11"]),
        (["1/1", "1/3"], ["1/1", "1/3"]),
        (["1/2", "2/3"], ["1/2", "2/3"]),
        (["1/9", "1/10/1", "1/10/2", "1/11"], ["1/9", "1/10/1-1/10/2", "1/11"]),
        (["1/10/4", "1/11/1"], ["1/10/4", "1/11/1"]),
    ],
)
def test_a_range_never_crosses_a_slot_a_hole_or_a_breakout(names: list[str], expected: list[str]) -> None:
    assert [spec for spec, _members in planning.runs(reversed(names))] == expected


@given(st.sets(st.integers(1, 64), min_size=1))
def test_ranges_cover_exactly_the_ports_that_were_given(numbers: set[int]) -> None:
    names = {f"1/{number}" for number in numbers}
    covered = [name for spec, _members in planning.runs(names) for name in planning.expand("sw01", spec)]
    assert len(covered) == len(set(covered)) and set(covered) == names


@pytest.mark.parametrize(
    ("method", "admin", "lines"),
    [
        ("force", True, ["mtu 9216 force"]),
        ("shutdown", True, ["shutdown", "mtu 9216", "no shutdown"]),
        ("force", False, ["mtu 9216"]),
        ("shutdown", False, ["mtu 9216"]),
    ],
)
def test_a_port_that_was_shut_down_is_never_brought_up(method: str, admin: bool, lines: list[str]) -> None:
    state = healthy(port("1/1", admin=admin, oper="Up" if admin else "Down"))
    (operation,) = planning.plan(state, Wanted(ports=("1/1",), mtu=9216, mtu_method=method))
    assert operation.command.split("\n") == [f"interface ethernet 1/1 {line}" for line in lines]
    assert bool(operation.disrupts) is admin


def test_the_layer_3_interface_is_made_only_when_asked_for() -> None:
    assert "interface vlan 111" not in commands(switch(), Wanted(vlan=111))
    assert "interface vlan 111" in commands(switch(), Wanted(vlan=111, svi=True))
    assert "interface vlan 111" not in commands(switch(svis=frozenset({111})), Wanted(vlan=111, svi=True))


@pytest.mark.parametrize(
    ("old", "new", "sent", "inverse"),
    [
        ("", "rdma", ["vlan 111 name rdma"], ["no vlan 111 name"]),
        ("old", "rdma", ["vlan 111 name rdma"], ['vlan 111 name "old"']),
        ("rdma", "rdma", [], []),
        ("old", None, [], []),
    ],
)
def test_a_vlan_name_is_changed_only_if_it_differs(
    old: str, new: str | None, sent: list[str], inverse: list[str]
) -> None:
    state = switch(roce=LOSSLESS, vlans={111: Vlan(old, ())})
    operations = planning.plan(state, Wanted(vlan=111, vlan_name=new))
    assert [operation.command for operation in operations] == sent
    assert [operation.inverse for operation in operations] == inverse


# --- what is refused


TRUNK = port("1/1", mode="trunk", access_vlan=None, allowed_vlans="100,200-210")
HYBRID = port("1/1", mode="hybrid", access_vlan=5, allowed_vlans="10")
ROUTED = port(
    "1/1",
    mode="routed",
    access_vlan=None,
    config=("interface ethernet 1/1 no switchport force", "interface ethernet 1/1 ip address 192.0.2.1/31 primary"),
)


@pytest.mark.parametrize(
    ("existing", "words"),
    [
        (TRUNK, ["1/1", "trunk", "100,200-210"]),
        (HYBRID, ["1/1", "hybrid", "10", "untagged VLAN 5"]),
        (ROUTED, ["1/1", "routed", "192.0.2.1/31"]),
        (port("1/1", mode="access-dcb"), ["1/1", "access-dcb"]),
    ],
)
def test_a_port_that_carries_something_is_never_converted_silently(existing: Port, words: list[str]) -> None:
    with pytest.raises(RefusedError) as caught:
        planning.plan(switch(existing), Wanted(vlan=111, ports=("1/1",)))
    assert all(word in str(caught.value) for word in [*words, "sw01", "allow_mode_change"])


@pytest.mark.parametrize(
    ("existing", "sent", "inverse"),
    [
        (
            TRUNK,
            "interface ethernet 1/1 switchport mode access",
            "interface ethernet 1/1 switchport mode trunk\n"
            "interface ethernet 1/1 switchport trunk allowed-vlan 100,200-210",
        ),
        (
            HYBRID,
            "interface ethernet 1/1 switchport mode access",
            "interface ethernet 1/1 switchport mode hybrid\n"
            "interface ethernet 1/1 switchport access vlan 5\n"
            "interface ethernet 1/1 switchport hybrid allowed-vlan 10",
        ),
        (
            ROUTED,
            "interface ethernet 1/1 switchport force",
            "interface ethernet 1/1 no switchport force\ninterface ethernet 1/1 ip address 192.0.2.1/31 primary",
        ),
    ],
)
@pytest.mark.parametrize("allowed", [None, frozenset({"1/1"})], ids=["all", "named"])
def test_an_allowed_conversion_knows_its_way_back(
    existing: Port, sent: str, inverse: str, allowed: frozenset[str] | None
) -> None:
    wanted = Wanted(mode=None, vlan=111, ports=("1/1",), convertible=allowed)
    state = switch(existing, vlans={111: Vlan("", ())})
    conversion, access = planning.plan(state, wanted)
    assert (conversion.command, conversion.inverse) == (sent, inverse)
    assert "loses" in conversion.disrupts
    assert access.command == "interface ethernet 1/1 switchport access vlan 111"


def test_a_routed_port_without_a_line_of_its_own_still_loses_its_routing() -> None:
    bare = port("1/1", mode="routed", access_vlan=None)
    wanted = Wanted(mode=None, vlan=111, ports=("1/1",), convertible=None)
    conversion, _access = planning.plan(switch(bare, vlans={111: Vlan("", ())}), wanted)
    assert conversion.disrupts == "port 1/1 loses routing on it"


def test_a_port_of_another_name_stays_protected() -> None:
    with pytest.raises(RefusedError, match="a trunk port"):
        planning.plan(switch(TRUNK), Wanted(vlan=111, ports=("1/1",), convertible=frozenset({"1/2"})))


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(vlan=111, ports=("1/1",), convertible=None),
        Wanted(ports=("1/1",), mtu=9216),
    ],
    ids=["vlan", "mtu"],
)
def test_a_member_of_a_port_channel_is_always_refused(wanted: Wanted) -> None:
    with pytest.raises(RefusedError, match=r"1/1 is .* Po5"):
        planning.plan(switch(port("1/1", mode="lag", lag="Po5")), wanted)


def test_a_port_of_unknown_kind_is_refused_even_if_conversions_are_allowed() -> None:
    with pytest.raises(RefusedError, match="neither a layer 2"):
        planning.plan(switch(port("1/1", mode="unknown")), Wanted(vlan=111, ports=("1/1",), convertible=None))


def test_an_mtu_alone_does_not_ask_for_a_conversion() -> None:
    assert commands(switch(TRUNK, roce=LOSSLESS), Wanted(ports=("1/1",), mtu=9216)) == [
        "interface ethernet 1/1 mtu 9216 force"
    ]


def test_all_reasons_come_at_once() -> None:
    ports = [TRUNK, port("1/2", mode="lag", lag="Po5")]
    with pytest.raises(RefusedError) as caught:
        planning.plan(switch(*ports), Wanted(vlan=111, ports=("1/1", "1/2")))
    assert len(caught.value.details["reasons"]) == 2


def test_a_missing_port_is_refused_with_the_ports_that_exist() -> None:
    state = switch(port("1/1"), port("1/2"), port("1/3/1"), port("1/3/2"))
    with pytest.raises(RefusedError) as caught:
        planning.plan(state, Wanted(vlan=111, ports=("1/2", "1/3", "1/9")))
    text = str(caught.value)
    assert "1/3 is split into 1/3/1-1/3/2" in text and "1/1-1/2, 1/3/1-1/3/2" in text
    assert caught.value.details["missing"] == ["1/3", "1/9"]


@pytest.mark.parametrize("release", [(3, 6, 5000), (3, 7, 1102), (3, 8, 1999)])
def test_a_release_without_roce_is_refused_and_not_emulated(release: tuple[int, int, int]) -> None:
    text = ".".join(str(number) for number in release)
    state = switch(version=Version(text, release))
    with pytest.raises(RefusedError, match=text):
        planning.plan(state, READY)
    assert planning.plan(state, dataclasses.replace(READY, mode=None))


def test_another_priority_is_refused_before_a_template_is_set_that_does_not_know_it() -> None:
    """It would be sent, fail the check and be taken back, at every run."""
    wanted = dataclasses.replace(READY, priority=4)
    with pytest.raises(RefusedError, match=r"priority 4: .*priority 3 alone.*rocemesh_roce_priority"):
        planning.plan(switch(), wanted)
    assert planning.plan(switch(roce=LOSSLESS), wanted) == planning.plan(switch(roce=LOSSLESS), READY)
    assert planning.plan(switch(), dataclasses.replace(wanted, mode=None)) is not None


# --- the request


@pytest.mark.parametrize(
    ("params", "thing"),
    [
        ({"vlan": 0}, "vlan 0"),
        ({"vlan": 4095}, "vlan 4095"),
        ({"vlan": -5}, "vlan -5"),
        ({"mtu": 99999, "ports": ["1/1"]}, "mtu 99999"),
        ({"mtu": 1499, "ports": ["1/1"]}, "mtu 1499"),
        ({"mtu": 9217, "ports": ["1/1"]}, "mtu 9217"),
        ({"mtu": 9216}, "mtu 9216"),
        ({"vlan_name": "rdma"}, "vlan_name"),
        ({"vlan": 111, "vlan_name": "a b"}, "vlan_name"),
        ({"vlan": 111, "vlan_name": "x\nreload"}, "vlan_name"),
        ({"vlan": 111, "vlan_name": ""}, "vlan_name"),
        ({"svi": True}, "svi"),
        ({"ports": ["1/4-1/1"]}, "1/4-1/1"),
        ({"ports": ["1/1-2/4"]}, "1/1-2/4"),
        ({"ports": ["1/1-1/10/2"]}, "1/1-1/10/2"),
        ({"ports": ["1/1-1/999999"]}, "1/999999"),
        ({"ports": ["eth0"]}, "eth0"),
        ({"ports": ["1/1\nno roce"]}, "no roce"),
        ({"ports": [""]}, "ports"),
        ({"allow_mode_change": "maybe"}, "maybe"),
        ({"allow_mode_change": 7}, "allow_mode_change"),
    ],
)
def test_a_wrong_request_is_refused_before_the_login(params: dict[str, Any], thing: str) -> None:
    with pytest.raises(RefusedError) as caught:
        planning.request("sw01", params)
    assert thing in str(caught.value).replace("\\n", "\n") and "What to do:" in str(caught.value)


@pytest.mark.parametrize("vlan", [1, 111, 4094])
@pytest.mark.parametrize("mtu", [1500, 9216])
def test_the_limits_themselves_are_allowed(vlan: int, mtu: int) -> None:
    wanted = planning.request("sw01", {"vlan": vlan, "mtu": mtu, "ports": ["1/1"]})
    assert (wanted.vlan, wanted.mtu) == (vlan, mtu)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (False, frozenset()),
        (None, frozenset()),
        ("false", frozenset()),
        ("no", frozenset()),
        ([], frozenset()),
        (True, None),
        ("yes", None),
        ("True", None),
        (["1/31"], frozenset({"1/31"})),
        ("1/31,1/1-1/2", frozenset({"1/31", "1/1", "1/2"})),
    ],
)
def test_allow_mode_change_takes_a_boolean_or_ports(value: Any, expected: frozenset[str] | None) -> None:
    assert planning.request("sw01", {"allow_mode_change": value}).convertible == expected


@pytest.mark.parametrize("spec", ["1/1-1/3", "Eth1/1-1/3", "ethernet 1/1-1/3", " 1/1-1/3 "])
def test_ports_may_be_written_as_the_switch_writes_them(spec: str) -> None:
    assert planning.request("sw01", {"ports": [spec, "1/2"]}).ports == ("1/1", "1/2", "1/3")


# --- health


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"roce": dataclasses.replace(LOSSLESS, exceptions=("Eth1/3 buffer",))}, "Eth1/3 buffer"),
        ({"roce": dataclasses.replace(LOSSLESS, trust="L2")}, "trust"),
        ({"roce": dataclasses.replace(LOSSLESS, ecn="none")}, "ECN"),
        ({"roce": dataclasses.replace(LOSSLESS, pfc="disabled")}, "PFC"),
        ({"roce": dataclasses.replace(LOSSLESS, priorities={4: "enabled"})}, "priority 3"),
        ({"pfc": {"1/1": ("On", "Disabled"), "1/2": ("On", "Enabled")}}, "1/1: PFC"),
        ({"pfc": {"1/2": ("On", "Enabled")}}, "1/1: PFC"),
        ({"ecn": {"1/1": {3: "none"}, "1/2": {3: "ECN"}}}, "1/1: traffic class 3"),
        ({"trust": {"1/1": "L2", "1/2": "L3"}}, "1/1 trusts L2"),
    ],
)
def test_a_mode_by_name_alone_is_not_believed(change: dict[str, Any], word: str) -> None:
    with pytest.raises(VerifyError, match=word):
        planning.require_health(healthy(**change), READY)


def test_flow_control_is_operational_even_if_the_admin_column_says_auto() -> None:
    planning.require_health(healthy(), READY)


def test_a_port_without_link_is_not_held_against_the_mode() -> None:
    ports = [port("1/1", oper="Down"), port("1/2")]
    planning.require_health(healthy(*ports, pfc={"1/1": ("On", "Disabled"), "1/2": ("On", "Enabled")}), READY)


def test_lossy_needs_no_flow_control() -> None:
    roce = dataclasses.replace(LOSSLESS, mode="lossy", pfc="disabled", priorities={})
    planning.require_health(healthy(roce=roce, pfc={}), dataclasses.replace(READY, mode="lossy"))


# --- whose unsaved changes


@pytest.mark.parametrize(
    ("line", "foreign"),
    [
        ("+ roce lossless", False),
        ("- no roce", False),
        ("+ vlan 111", False),
        ("+ vlan 111 name rdma", False),
        ("+ interface ethernet 1/1 mtu 9216 force", False),
        ("- interface ethernet 1/1 switchport mode trunk", False),
        ("+ interface ethernet 1/2 switchport access vlan 111", False),
        ("+ interface ethernet 1/1 shutdown", True),
        ("+ interface ethernet 1/1 description x", True),
        ("+ interface ethernet 1/10 mtu 9216 force", True),
        ("+ interface ethernet 1/3 switchport access vlan 111", True),
        ("+ vlan 112", True),
        ("+ interface vlan 111", True),
        ("- hostname sw01", True),
    ],
)
def test_only_lines_of_the_request_count_as_own(line: str, foreign: bool) -> None:
    assert bool(planning.foreign_lines([line], READY)) is foreign


@pytest.mark.parametrize("roce", ["+ roce lossless", "- no roce"])
def test_what_the_roce_mode_of_an_interrupted_run_has_set_is_own(roce: str) -> None:
    line = "+ interface ethernet 1/9 qos trust L3"
    assert planning.foreign_lines([line], READY) == (line,)
    assert planning.foreign_lines([roce, line], READY) == ()
