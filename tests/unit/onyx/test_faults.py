"""Twenty operations, something breaks at each boundary: no wrong claim is made, and the next run gets there."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    ApplyError,
    LayerError,
    UnreachableError,
    VerifyError,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted

from lab.switch.state import Switch
from tests.unit.onyx.harness import FakeSession, Run, new_switch

# Every other port, so that no range joins two of them: VLAN, RoCE mode, 9 access VLANs, 9 MTUs.
PORTS = tuple(f"1/{number}" for number in range(1, 19, 2))
TWENTY = Wanted(vlan=111, vlan_name="rdma", ports=PORTS, mtu=9216)
OPERATIONS = 20
SAVE = OPERATIONS + 1


def reference(method: str = "force") -> Switch:
    """What an undisturbed run makes of the same switch."""
    switch = new_switch()
    run = Run(switch, dataclasses.replace(TWENTY, mtu_method=method))
    assert len(run()["operations"]) == OPERATIONS
    return switch


EXPECTED = reference()
LINES = Run(new_switch(), TWENTY)


def claims(error: LayerError) -> list[str]:
    """The lines that the failed run says have taken effect."""
    return [line for command in error.details.get("applied", []) for line in command.split("\n")]


def assert_next_run_gets_there(switch: Switch, wanted: Wanted = TWENTY) -> None:
    result = Run(switch, wanted)()
    assert result["saved"] and result["roce"]["mode"] == "lossless"
    assert switch.running == switch.saved == EXPECTED.running
    assert not Run(switch, wanted)()["changed"]


def assert_claims_are_true(switch: Switch, error: LayerError) -> None:
    for line in claims(error):
        if line.startswith("vlan"):
            assert switch.running.vlans[111] == "rdma"
        elif line.startswith("roce"):
            assert switch.running.roce == "lossless"
        else:
            port = switch.running.ports[line.split()[2]]
            assert port.access_vlan == 111 if "access vlan" in line else port.mtu == 9216 or "shutdown" in line


@pytest.mark.parametrize("executed", [False, True], ids=["line lost", "line executed"])
@pytest.mark.parametrize("boundary", range(1, SAVE + 1))
def test_cut_at_every_command_boundary(boundary: int, executed: bool) -> None:
    switch = new_switch()
    factory = switch.saved.as_json()
    with pytest.raises(UnreachableError) as caught:
        Run(switch, TWENTY, cut_at=boundary, executed=executed)()
    assert len(caught.value.details["applied"]) == boundary - 1
    assert_claims_are_true(switch, caught.value)
    # Nothing is saved before everything was verified; only the very last line saves.
    if boundary == SAVE and executed:
        assert switch.saved == EXPECTED.running
    else:
        assert switch.saved.as_json() == factory
    assert_next_run_gets_there(switch)


def all_lines() -> int:
    run = Run(new_switch(), TWENTY)
    run()
    return run.lines


@pytest.mark.parametrize("line", range(1, all_lines() + 1))
def test_cut_at_every_line_reads_included(line: int) -> None:
    switch = new_switch()
    run = Run(switch, TWENTY, cut_at=line, every_line=True)
    result: dict[str, Any] = {}
    try:
        result = run()
    except UnreachableError as error:
        assert_claims_are_true(switch, error)
        assert "rolled_back" not in error.details
    else:
        # Only counters are read after saving; without them the run has still done all that it claims.
        assert result["saved"] and switch.saved == EXPECTED.running
        assert all("rx_roce_packets" not in port["counters"] for port in list(result["ports"].values())[-1:])
    assert_next_run_gets_there(switch)


@pytest.mark.parametrize("executed", [False, True], ids=["line lost", "line executed"])
@pytest.mark.parametrize("boundary", range(1, SAVE))
def test_cut_and_rolled_back(boundary: int, executed: bool) -> None:
    switch = new_switch()
    before = switch.running.as_json()
    run = Run(switch, TWENTY, cut_at=boundary, executed=executed, rollback=True)
    with pytest.raises(UnreachableError, match="taken back and") as caught:
        run()
    details = caught.value.details
    assert details["rolled_back"] and details["undo"] == [] and details["rollback_left"] == []
    assert switch.running.as_json() == before == switch.saved.as_json()
    # Only what had taken effect was taken back.
    assert len(details["rollback_commands"]) == (boundary if executed else boundary - 1)
    assert_next_run_gets_there(switch)


@pytest.mark.parametrize("executed", [False, True], ids=["line lost", "line executed"])
@pytest.mark.parametrize("boundary", range(12, 12 + 27))
def test_cut_between_shutdown_and_no_shutdown(boundary: int, executed: bool) -> None:
    """Lines 12 to 38 are shutdown, mtu, no shutdown of nine ports."""
    switch = new_switch()
    wanted = dataclasses.replace(TWENTY, mtu_method="shutdown")
    with pytest.raises(UnreachableError) as caught:
        Run(switch, wanted, cut_at=boundary, executed=executed)()
    assert caught.value.details["ports_brought_up"]
    assert all(port.admin for port in switch.running.ports.values())
    assert_next_run_gets_there(switch, wanted)


RANGE = Wanted(vlan=111, vlan_name="rdma", ports=tuple(f"1/{number}" for number in range(1, 21)), mtu=9216)


@pytest.mark.parametrize("rollback", [False, True], ids=["left", "rolled back"])
@pytest.mark.parametrize("partial", [False, True], ids=["all or nothing", "member by member"])
@pytest.mark.parametrize("member", [1, 2, 10, 20])
@pytest.mark.parametrize("setting", ["switchport access vlan", "mtu"])
def test_error_in_the_middle_of_a_range(setting: str, member: int, partial: bool, rollback: bool) -> None:
    switch = new_switch()
    before = switch.running.as_json()
    switch.faults.inject({"name": "refuse_port", "port": f"1/{member}", "pattern": setting})
    if partial:
        switch.faults.inject({"name": "range_partial"})
    run = Run(switch, RANGE, rollback=rollback)
    with pytest.raises(ApplyError) as caught:
        run()
    error = caught.value
    assert f"1/{member}" in str(error) and "nothing was saved" in str(error) and "configuration write" not in run.sent
    assert switch.saved.as_json() == before
    if rollback:
        assert error.details["rolled_back"] and switch.running.as_json() == before
    else:
        # The ports before it were changed one by one; the way back names exactly them.
        changed = [f"1/{number}" for number in range(1, member)]
        listed = [line.split()[2] for line in "\n".join(error.details["undo"]).splitlines() if setting in line]
        if setting == "mtu":
            assert sorted(listed) == sorted(changed)
            assert {n for n, p in switch.running.ports.items() if p.mtu != 1500 and n in RANGE.ports} >= set(changed)
    switch.faults.clear()
    result = Run(switch, RANGE)()
    assert result["saved"] and not Run(switch, RANGE)()["changed"]
    clean = new_switch()
    Run(clean, RANGE)()
    assert switch.running == clean.running == switch.saved


def test_a_refused_range_whose_ports_all_take_it_one_by_one_is_no_failure() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "refuse_line", "pattern": r"1/1-1/20 "})
    result = Run(switch, RANGE)()
    assert result["saved"] and sum("one by one" in text for text in result["warnings"]) == 2


# --- roll back


@pytest.mark.parametrize(
    "fault",
    [
        {"name": "refuse_line", "pattern": "1/17 mtu"},
        {"name": "ignore_line", "pattern": "1/17 mtu"},
        {"name": "exception", "text": "Eth1/3 buffer differs"},
        {"name": "pfc_off", "port": "1/3"},
        {"name": "bad_json", "pattern": "congestion-control"},
    ],
    ids=json.dumps,
)
def test_every_kind_of_failure_is_rolled_back_when_told(fault: dict[str, Any]) -> None:
    switch = new_switch()
    before = switch.running.as_json()
    switch.faults.inject(fault)
    with pytest.raises(LayerError, match="taken back") as caught:
        Run(switch, TWENTY, rollback=True)()
    assert caught.value.details["rolled_back"] and switch.running.as_json() == before == switch.saved.as_json()


def test_a_link_that_does_not_come_back_is_rolled_back_when_told() -> None:
    switch = new_switch(link_delay=3600)
    before = switch.running.as_json()
    with pytest.raises(VerifyError, match="not come back"):
        Run(switch, TWENTY, rollback=True, wait_for_links=5)()
    assert switch.running.as_json() == before


def test_a_roll_back_that_is_refused_says_what_is_left_and_keeps_the_way_back() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "refuse_line", "pattern": "1/17 mtu 9216|1/5 mtu 1500", "message": "busy"})
    with pytest.raises(ApplyError, match="did not succeed") as caught:
        Run(switch, TWENTY, rollback=True)()
    details = caught.value.details
    assert not details["rolled_back"] and "1/5 mtu 1500" in details["rollback_left"][0] and details["undo"]
    switch.faults.clear()
    assert_next_run_gets_there(switch)


def test_converted_ports_come_back_with_their_vlans_and_addresses() -> None:
    switch = new_switch()
    before = switch.running.as_json()
    wanted = Wanted(vlan=111, ports=("1/27", "1/28", "1/31"), mtu=4200, convertible=None, svi=True)
    switch.faults.inject({"name": "refuse_line", "pattern": "1/31 mtu"})
    with pytest.raises(ApplyError):
        Run(switch, wanted, rollback=True)()
    assert switch.running.as_json() == before


def test_a_failed_save_is_not_rolled_back_because_everything_is_in_force() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "refuse_line", "pattern": "configuration write$", "message": "disk full"})
    run = Run(switch, TWENTY, rollback=True)
    with pytest.raises(ApplyError, match="not be saved: % disk full") as caught:
        run()
    assert "rolled_back" not in caught.value.details and switch.running == EXPECTED.running


def test_nothing_is_rolled_back_when_nothing_was_sent() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "bad_json", "pattern": "show vlan"})
    run = Run(switch, TWENTY, rollback=True)
    with pytest.raises(LayerError) as caught:
        run()
    assert run.sent == [] and "rolled_back" not in caught.value.details


# --- snapshot


def test_the_snapshot_holds_what_ran_before_the_first_change() -> None:
    switch = new_switch()
    before = switch.running.as_json()
    run = Run(switch, dataclasses.replace(TWENTY, snapshot="before-rdma"))
    result = run()
    assert run.sent[0] == "configuration write to before-rdma no-switch"
    assert switch.snapshots["before-rdma"].as_json() == before
    assert any("before-rdma" in text for text in result["warnings"])
    # Nothing has to change: no snapshot, and the existing file is no obstacle.
    again = Run(switch, dataclasses.replace(TWENTY, snapshot="before-rdma"))
    assert not again()["changed"] and again.sent == []


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_snapshot_never_overwrites_a_file(check_mode: bool) -> None:
    switch = new_switch()
    run = Run(switch, dataclasses.replace(TWENTY, snapshot="initial.bak"))
    with pytest.raises(LayerError, match="would be overwritten"):
        run(check_mode)
    assert run.sent == []


def test_saving_alone_is_no_reason_for_a_snapshot() -> None:
    switch = new_switch()
    Run(switch, TWENTY, save="never")()
    run = Run(switch, dataclasses.replace(TWENTY, snapshot="initial.bak"), save="always")
    assert run()["saved"] and run.sent == ["configuration write"] and switch.snapshots == {}


def test_a_port_that_somebody_else_takes_meanwhile_is_no_refusal_any_more() -> None:
    """Refused means that nothing was changed; here something was."""
    switch = new_switch()
    run = Run(switch, TWENTY)
    connect = run.layer._connect

    def meddled() -> FakeSession:
        session = connect()
        configure = session.configure

        def intrude(line: str) -> str:
            answer = configure(line)
            if "1/17 mtu" in line:
                switch.running.ports["1/3"].lag = 7
            return str(answer)

        session.configure = intrude  # type: ignore[method-assign]
        return session  # type: ignore[return-value]

    run.layer._connect = meddled
    with pytest.raises(VerifyError, match=r"1/3 is .* Po7") as caught:
        run()
    assert len(caught.value.details["applied"]) == OPERATIONS and "configuration write" not in run.sent


@pytest.mark.parametrize("name", ["refuse_line", "ignore_line"])
def test_without_the_snapshot_nothing_is_changed(name: str) -> None:
    switch = new_switch()
    before = switch.running.as_json()
    switch.faults.inject({"name": name, "pattern": "no-switch"})
    with pytest.raises(ApplyError, match="nothing was changed"):
        Run(switch, dataclasses.replace(TWENTY, snapshot="before"))()
    assert switch.running.as_json() == before


# --- LLDP guard, reach


def test_a_port_with_a_stranger_behind_it_is_refused_before_anything_is_sent() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "neighbor", "port": "1/3", "system": "spine-7.example.net"})
    run = Run(switch, dataclasses.replace(TWENTY, neighbors=("simulated host*",)))
    with pytest.raises(LayerError, match=r"behind 1/3 is spine-7\.example\.net") as caught:
        run()
    assert run.sent == [] and len(caught.value.details["reasons"]) == 1


@pytest.mark.parametrize(
    ("system", "pattern", "fits"),
    [
        ("gpu01", "gpu01", True),
        ("gpu01.example.net", "gpu01", True),
        ("GPU01.example.net", "gpu*", True),
        ("gpu01.example.net", "gpu01.example.org", False),
        ("spine1", "gpu*", False),
        ("", "*", False),
        ("", "gpu*", False),
    ],
)
def test_names_fit_with_and_without_domain_and_case(system: str, pattern: str, fits: bool) -> None:
    switch = new_switch()
    switch.faults.inject({"name": "neighbor", "port": "1/1", "system": system})
    run = Run(switch, Wanted(vlan=111, ports=("1/1",), neighbors=(pattern,)))
    if fits:
        assert run()["saved"]
    else:
        with pytest.raises(LayerError, match="1/1"):
            run()
        assert run.sent == []


def test_the_guard_lets_pass_what_is_named_what_has_no_link_and_what_is_right_already() -> None:
    switch = new_switch()
    Run(switch, Wanted(vlan=111, ports=("1/1", "1/9")))()
    switch.faults.inject({"name": "neighbor", "system": "spine"})
    strict: dict[str, Any] = {"vlan": 111, "neighbors": ("gpu*",)}
    assert not Run(switch, Wanted(ports=("1/1", "1/9"), **strict))()["changed"]  # right already
    assert Run(switch, Wanted(ports=("1/10",), **strict))()["changed"]  # no link
    with pytest.raises(LayerError, match="behind 1/2 is spine"):
        Run(switch, Wanted(ports=("1/2",), **strict))()
    assert Run(switch, Wanted(ports=("1/2",), strangers=frozenset({"1/2"}), **strict))()["saved"]
    assert Run(switch, Wanted(ports=("1/3",), strangers=None, **strict))()["saved"]


def test_the_guard_is_read_before_the_links_bounce() -> None:
    switch = new_switch(link_delay=0.05)
    wanted = dataclasses.replace(TWENTY, neighbors=("simulated host*",))
    assert Run(switch, wanted)()["saved"]


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize(
    ("reach", "wanted", "words"),
    [
        ("requested_ports", TWENTY, "RoCE mode off -> lossless"),
        ("none", TWENTY, "RoCE mode off -> lossless"),
        ("none", dataclasses.replace(TWENTY, mode=None), "access VLAN 1 -> 111"),
    ],
)
def test_a_change_that_reaches_too_far_is_refused(reach: str, wanted: Wanted, words: str, check_mode: bool) -> None:
    switch = new_switch()
    before = switch.as_json()
    run = Run(switch, dataclasses.replace(wanted, disruption=reach))
    with pytest.raises(LayerError, match=words):
        run(check_mode)
    assert run.sent == [] and switch.as_json() == before


def test_a_change_within_reach_is_made() -> None:
    switch = new_switch()
    assert Run(switch, Wanted(mode=None, vlan=111, disruption="none"))()["changed"]
    assert Run(switch, dataclasses.replace(TWENTY, mode=None, disruption="requested_ports"))()["changed"]
    alone = Switch("sw01", "3.10.4006", 8, 0.0)  # only the first four ports have a cable
    ports = ("1/1", "1/2", "1/3", "1/4")
    assert Run(alone, Wanted(vlan=111, ports=ports, disruption="requested_ports"))()["changed"]
