"""The way back on a switch: to the state before, and past what was changed since."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, RefusedError, converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import restore

from lab.switch.grammar import CONFIG, Cli, execute
from lab.switch.state import Switch
from tests.unit.clock import Clock
from tests.unit.onyx.harness import FakeSession, Run, new_switch

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


def test_restore_cut_at_every_line_is_finished_by_the_next() -> None:
    before = running(new_switch())
    for boundary in itertools.count(1):
        switch = new_switch()
        diff = Run(switch)()["diff"]
        try:
            back(switch, diff, cut_at=boundary)
        except LayerError:
            assert boundary < 20
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
    ],
)
def test_restore_refuses_what_no_run_has_written(key: str, value: Any) -> None:
    with pytest.raises(RefusedError, match="sw01"):
        restore.request("sw01", {"before": {key: value}, "after": {key: None}}, OPTIONS)
