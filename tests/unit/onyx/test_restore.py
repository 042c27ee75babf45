"""The way back on a switch: to the state before, and past what was changed since."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, RefusedError, converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import restore
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted

from lab.switch.grammar import CONFIG, Cli, execute
from lab.switch.state import Switch
from tests.unit.clock import Clock
from tests.unit.onyx.harness import WANTED, FakeSession, Run, new_switch

OPTIONS: dict[str, Any] = {"allow_disruption": "any"}


def running(switch: Switch) -> str:
    return execute(Cli(switch, mode=CONFIG), "show running-config")


def type_in(switch: Switch, *lines: str) -> None:
    for line in lines:
        assert execute(Cli(switch, mode=CONFIG), line) == "", line


def back(
    switch: Switch, diff: dict[str, Any], cut_at: int = 0, check: bool = False, **options: Any
) -> tuple[dict[str, Any], list[str]]:
    """The result, and what was sent."""
    way, wanted = restore.request("sw01", diff, {**OPTIONS, **options})
    sessions: list[FakeSession] = []

    def connect() -> FakeSession:
        sessions.append(FakeSession(switch, 0 if sessions else cut_at))
        return sessions[-1]

    clock = Clock()
    layer = restore.RestoreLayer("sw01", connect, wanted, way, clock=clock, sleep=clock.sleep)
    return converge(layer, wanted, check), [line for session in sessions for line in session.sent]


def test_restore_after_a_run_gives_the_old_configuration_saved() -> None:
    switch = new_switch()
    before = running(switch)
    diff = Run(switch)()["diff"]
    assert running(switch) != before
    planned, sent = back(switch, diff, check=True)
    assert planned["changed"] and sent == []
    found, _sent = back(switch, diff)
    assert running(switch) == before and found["saved"] and found["left_alone"] == []
    again, sent = back(switch, diff)
    assert not again["changed"] and sent == []


CARRYING = (
    "vlan 20",
    "interface ethernet 1/1 switchport mode trunk",
    "interface ethernet 1/1 switchport trunk allowed-vlan 20",
    "interface ethernet 1/2 switchport mode hybrid",
    "interface ethernet 1/2 switchport access vlan 20",
    "interface ethernet 1/3 no switchport force",
    "interface ethernet 1/3 ip address 198.51.100.1/31",
)
CONVERTED = dataclasses.replace(WANTED, convertible=None)


def carrying() -> Switch:
    """Ports that a run may make access ports: trunk, hybrid, routed."""
    switch = new_switch()
    type_in(switch, *CARRYING)
    execute(Cli(switch, mode=CONFIG), "configuration write")
    return switch


def test_restore_gives_trunk_hybrid_and_routed_ports_what_they_had() -> None:
    switch = carrying()
    before = running(switch)
    diff = Run(switch, CONVERTED)()["diff"]
    assert "1/1 switchport mode trunk" not in running(switch) and "198.51.100.1" not in running(switch)
    found, _sent = back(switch, diff)
    assert running(switch) == before and found["left_alone"] == []
    assert found["saved"] and found["warnings"] == found["foreign_changes"] == []
    again, sent = back(switch, diff)
    assert not again["changed"] and sent == []


def test_restore_of_a_routed_port_asks_nothing_of_its_description() -> None:
    switch = new_switch()
    type_in(switch, *CARRYING, 'interface ethernet 1/3 description the "old" uplink', "configuration write")
    before = running(switch)
    back(switch, Run(switch, CONVERTED)()["diff"])
    assert running(switch) == before


@pytest.mark.parametrize("mode", ["trunk", "hybrid"])
def test_restore_of_a_port_without_tagged_vlans_gives_it_none(mode: str) -> None:
    """A port that becomes a trunk carries every VLAN until it is told which."""
    switch, port = new_switch(), "interface ethernet 1/1 switchport"
    type_in(switch, f"{port} mode {mode}", f"{port} {mode} allowed-vlan none", "configuration write")
    _found, sent = back(switch, Run(switch, CONVERTED)()["diff"])
    assert f"{port} {mode} allowed-vlan none" in sent


def test_restore_takes_a_trunk_of_many_vlans() -> None:
    vlans = ",".join(map(str, range(100, 1100, 2)))
    before = {"port 1/1 carried": [f"interface ethernet 1/1 switchport trunk allowed-vlan {vlans}"]}
    way, _wanted = restore.request("sw01", {"before": before, "after": dict.fromkeys(before)}, OPTIONS)
    assert way.before == before


def test_restore_leaves_what_was_changed_since() -> None:
    switch = new_switch()
    diff = Run(switch)()["diff"]
    type_in(switch, "interface ethernet 1/2 mtu 4000 force")
    found, _sent = back(switch, diff)
    assert [(row["key"], row["value"], row["expected"]) for row in found["left_alone"]] == [
        ("port 1/2 mtu", 4000, 9216)
    ]
    assert found["ports"]["1/2"]["mtu"] == 4000 and found["ports"]["1/1"]["mtu"] == 1500


def test_restore_keeps_a_vlan_that_another_port_uses() -> None:
    switch = new_switch()
    diff = Run(switch)()["diff"]
    type_in(switch, "interface ethernet 1/9 switchport access vlan 111")
    found, _sent = back(switch, diff)
    assert [(row["key"], row["why"]) for row in found["left_alone"]] == [("vlan 111", "used by port 1/9")]
    assert found["ports"]["1/1"]["access_vlan"] == 1 and found["vlan"]["members"] == ["1/9"]


def test_restore_keeps_a_vlan_that_a_port_channel_uses() -> None:
    """A port-channel is a member by its own name (Po5), as `show vlan` of real switches has it."""
    switch = new_switch()
    diff = Run(switch)()["diff"]
    way, wanted = restore.request("sw01", diff, OPTIONS)
    state = restore.RestoreLayer("sw01", lambda: FakeSession(switch), wanted, way).observe()
    rdma = dataclasses.replace(state.vlans[111], members=(*state.vlans[111].members, "Po5"))
    operations, left = restore.plan(dataclasses.replace(state, vlans={**state.vlans, 111: rdma}), way)
    assert [(row["key"], row["why"]) for row in left] == [("vlan 111", "used by Po5")]
    assert not [each.command for each in operations if each.command.startswith("no vlan")]


@pytest.mark.parametrize(("make", "wanted"), [(new_switch, WANTED), (carrying, CONVERTED)], ids=["access", "carrying"])
def test_restore_cut_at_every_line_is_finished_by_the_next(make: Callable[[], Switch], wanted: Wanted) -> None:
    before = running(make())
    for boundary in itertools.count(1):
        switch = make()
        diff = Run(switch, wanted)()["diff"]
        try:
            back(switch, diff, cut_at=boundary)
        except LayerError:
            assert boundary < 40
            back(switch, diff)
            assert running(switch) == before, boundary
            continue
        assert boundary > 4 and running(switch) == before
        break


def test_restore_keeps_the_guards_of_the_module() -> None:
    switch = new_switch()
    diff = Run(switch)()["diff"]
    with pytest.raises(RefusedError, match="allow_disruption"):
        back(switch, diff, allow_disruption="none")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("port 1/1 speed", 1),
        ("port 1/1 mtu", "1500\nreload"),
        ("port 1/1 access_vlan", 4095),
        ("roce", "lossless\nreload"),
        ("vlan 7", {"name": 'a"\nreload'}),
        ("reload", None),
        ("port 1/1 carried", ["reload"]),
        ("port 1/1 carried", ["interface ethernet 1/2 shutdown"]),
        ("port 1/1 carried", ["interface ethernet 1/1 shutdown\nreload"]),
    ],
)
def test_restore_refuses_what_no_run_has_written(key: str, value: Any) -> None:
    with pytest.raises(RefusedError, match="sw01"):
        restore.request("sw01", {"before": {key: value}, "after": {key: None}}, OPTIONS)


def test_a_port_that_another_user_has_put_into_a_vlan_since_keeps_it_and_its_mode() -> None:
    switch = carrying()
    diff = Run(switch, CONVERTED)()["diff"]
    type_in(switch, "vlan 200", "interface ethernet 1/1 switchport access vlan 200", "configuration write")
    planned, _sent = back(switch, diff, check=True)
    found, _sent = back(switch, diff)
    port = switch.running.ports["1/1"]
    assert (port.mode, port.access_vlan) == ("access", 200)
    assert [row["why"] for row in found["left_alone"] if row["key"].startswith("port 1/1 ")] == [
        "its access VLAN was changed since",
        "its access VLAN was changed since",
        "changed since",
    ]
    assert found["left_alone"] == planned["left_alone"]
    assert switch.running.ports["1/2"].mode == "hybrid"
