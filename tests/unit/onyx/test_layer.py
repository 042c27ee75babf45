"""The four verbs together, against a switch that remembers what it was told."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    ApplyError,
    RefusedError,
    UnreachableError,
    VerifyError,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted

from lab.switch.grammar import CONFIG, Cli, execute
from lab.switch.state import Switch
from tests.unit.onyx.harness import WANTED, Run, new_switch

FIRST_RUN = [
    "vlan 111 name rdma",
    "roce lossless",
    "interface ethernet 1/1-1/4 switchport access vlan 111",
    "interface ethernet 1/1-1/4 mtu 9216 force",
    "configuration write",
]


def type_in(switch: Switch, *lines: str) -> None:
    cli = Cli(switch, mode=CONFIG)
    for line in lines:
        cli.context = ""
        assert execute(cli, line) == "", line


@pytest.mark.parametrize("version", ["3.8.2004", "3.9.2400", "3.10.4006"])
def test_a_first_run_configures_verifies_and_saves(version: str) -> None:
    switch = new_switch(version)
    run = Run(switch)
    result = run()
    assert run.sent == FIRST_RUN
    assert result["changed"] and result["saved"] and not result["unsaved_before"]
    assert result["version"] == version
    assert result["roce"]["mode"] == "lossless" and result["roce"]["pfc_priorities"] == [3]
    assert result["vlan"] == {
        "id": 111,
        "name": "rdma",
        "members": ["1/1", "1/2", "1/3", "1/4"],
        "unexpected_members": [],
    }
    ports = {name: (entry["mtu"], entry["access_vlan"], entry["oper"]) for name, entry in result["ports"].items()}
    assert ports == dict.fromkeys(WANTED.ports, (9216, 111, "up"))
    assert not switch.unsaved


def test_a_second_run_sends_no_configuration_line() -> None:
    switch = new_switch()
    Run(switch)()
    before = switch.as_json()
    again = Run(switch)
    result = again()
    assert again.sent == [] and not result["changed"] and result["operations"] == []
    assert switch.as_json() == before


def test_check_mode_sends_nothing_and_names_the_commands_and_the_disruption() -> None:
    switch = new_switch()
    before = switch.as_json()
    run = Run(switch)
    result = run(check_mode=True)
    assert run.sent == [] and switch.as_json() == before
    assert [operation["command"] for operation in result["operations"]] == FIRST_RUN[:-1]
    assert [bool(operation["disrupts"]) for operation in result["operations"]] == [False, True, True, True]
    assert result["changed"] and result["diff"]["after"]["port 1/1 mtu"] == 9216


def test_check_mode_and_run_return_the_same_operations_diff_and_undo() -> None:
    checked = Run(new_switch())(check_mode=True)
    done = Run(new_switch())()
    for key in ("operations", "diff", "undo", "changed"):
        assert checked[key] == done[key]


@pytest.mark.parametrize("method", ["force", "shutdown"])
@pytest.mark.parametrize(
    "ports", [("1/1", "1/2"), ("1/27", "1/28", "1/31"), ("1/32/1", "1/32/2")], ids=["access", "converted", "breakout"]
)
def test_undo_takes_the_switch_back_to_where_it_was(method: str, ports: tuple[str, ...]) -> None:
    switch = new_switch()
    before = switch.running.as_json()
    wanted = Wanted(vlan=111, ports=ports, mtu=4200, mtu_method=method, convertible=None, svi=True)
    result = Run(switch, wanted)()
    assert switch.running.as_json() != before
    type_in(switch, *(line for undo in result["undo"] for line in undo.split("\n")))
    assert switch.running.as_json() == before


def test_roce_off_and_on_again() -> None:
    switch = new_switch()
    Run(switch)()
    off = Run(switch, dataclasses.replace(WANTED, mode=None))
    assert off()["roce"]["mode"] == "absent" and off.sent == ["no roce", "configuration write"]
    on = Run(switch)
    assert on()["roce"]["mode"] == "lossless" and on.sent == ["roce lossless", "configuration write"]


@pytest.mark.parametrize("mode", ["lossy", "semi-lossless"])
def test_the_other_modes_are_reached_and_kept(mode: str) -> None:
    switch = new_switch()
    wanted = dataclasses.replace(WANTED, mode=mode)
    assert Run(switch, wanted)()["roce"]["mode"] == mode
    assert not Run(switch, wanted)()["changed"]


def test_only_the_links_that_had_to_bounce_did() -> None:
    switch = new_switch()
    type_in(switch, "roce lossless", "configuration write")
    flaps = dict(switch.flaps)
    Run(switch)()
    bounced = {name for name in switch.flaps if switch.flaps[name] != flaps[name]}
    assert bounced == set(WANTED.ports)


# --- refusals: nothing is sent


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(vlan=111, ports=("1/31",)),
        Wanted(vlan=111, ports=("1/27",)),
        Wanted(vlan=111, ports=("1/28",)),
        Wanted(vlan=111, ports=("1/29",), convertible=None),
        Wanted(ports=("1/29",), mtu=9000),
        Wanted(vlan=111, ports=("1/32",)),
        Wanted(vlan=111, ports=("1/1", "1/99")),
    ],
    ids=["trunk", "hybrid", "routed", "lag", "lag mtu", "split", "missing"],
)
@pytest.mark.parametrize("version", ["3.6.5000", "3.10.4006"])
@pytest.mark.parametrize("check_mode", [False, True])
def test_a_refused_request_leaves_the_switch_untouched(wanted: Wanted, version: str, check_mode: bool) -> None:
    switch = new_switch(version)
    before = switch.as_json()
    run = Run(switch, dataclasses.replace(wanted, mode=None))
    with pytest.raises(RefusedError):
        run(check_mode)
    assert run.sent == [] and switch.as_json() == before


def test_an_old_release_is_refused_untouched() -> None:
    switch = new_switch("3.6.5000")
    run = Run(switch)
    with pytest.raises(RefusedError, match=r"3\.6\.5000"):
        run()
    assert run.sent == []


def test_an_old_release_still_takes_vlan_and_mtu() -> None:
    switch = new_switch("3.6.5000")
    wanted = dataclasses.replace(WANTED, mode=None)
    assert Run(switch, wanted)()["changed"]
    assert not Run(switch, wanted)()["changed"]


# --- verification


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ({"name": "ignore_line", "pattern": "mtu"}, "MTU"),
        ({"name": "ignore_line", "pattern": "^roce"}, "RoCE mode"),
        ({"name": "ignore_line", "pattern": "access vlan"}, "access VLAN"),
        ({"name": "exception", "text": "Eth1/3 buffer differs"}, "Eth1/3 buffer differs"),
        ({"name": "pfc_off", "port": "1/2"}, "port 1/2: PFC"),
        ({"name": "pfc_off"}, "PFC"),
    ],
)
def test_what_is_accepted_but_not_in_force_is_an_error_and_never_saved(fault: dict[str, str], word: str) -> None:
    switch = new_switch()
    switch.faults.inject(fault)
    run = Run(switch)
    with pytest.raises(VerifyError, match=word) as caught:
        run()
    assert "configuration write" not in run.sent and switch.unsaved
    assert caught.value.details["applied"] and caught.value.details["undo"][-1] == "no vlan 111"


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_switch_that_became_unhealthy_is_noticed_without_a_change(check_mode: bool) -> None:
    switch = new_switch()
    Run(switch)()
    switch.faults.inject({"name": "exception", "text": "Eth1/3 buffer differs"})
    run = Run(switch)
    with pytest.raises(VerifyError, match="Eth1/3 buffer differs"):
        run(check_mode)
    assert run.sent == []


def test_a_link_that_does_not_come_back_fails_unsaved_after_the_given_time() -> None:
    switch = new_switch(link_delay=3600)
    run = Run(switch, wait_for_links=30)
    with pytest.raises(VerifyError, match="come back within 30 s: 1/1, 1/2, 1/3, 1/4"):
        run()
    assert 30 <= run.clock.now <= 32 and switch.unsaved


def test_without_waiting_a_lost_link_is_a_warning() -> None:
    switch = new_switch(link_delay=3600)
    run = Run(switch, wait_for_links=0)
    warnings = run()["warnings"]
    assert run.clock.now == 0
    assert any("not waited for" in text and "1/1" in text for text in warnings)


def test_a_link_that_was_down_before_is_not_waited_for() -> None:
    switch = new_switch()
    run = Run(switch, dataclasses.replace(WANTED, ports=("1/7",)))
    assert any("1/7 has no link" in text for text in run()["warnings"])
    assert run.clock.now == 0


def test_strangers_in_the_vlan_are_named() -> None:
    switch = new_switch()
    type_in(switch, "vlan 111", "interface ethernet 1/9 switchport access vlan 111")
    result = Run(switch, save="always")()
    assert result["vlan"]["unexpected_members"] == ["1/9"]
    assert any("not isolated" in text and "1/9" in text for text in result["warnings"])


# --- errors on the way


def test_a_refused_command_stops_and_tells_the_way_back() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "refuse_line", "pattern": "^roce", "message": "no resources"})
    run = Run(switch)
    with pytest.raises(ApplyError, match="no resources") as caught:
        run()
    assert caught.value.details["applied"] == ["vlan 111 name rdma"]
    assert caught.value.details["failed_operation"] == "roce lossless"
    assert caught.value.details["undo"] == ["no vlan 111"]
    assert "configuration write" not in run.sent


def test_a_refused_range_is_tried_port_by_port() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "refuse_line", "pattern": r"1/1-1/4 switchport"})
    result = Run(switch)()
    assert result["saved"] and all(entry["access_vlan"] == 111 for entry in result["ports"].values())
    assert any("one by one" in text for text in result["warnings"])


def test_ports_that_a_refused_range_has_changed_are_not_touched_again() -> None:
    switch = new_switch()
    type_in(switch, "roce lossless", "configuration write")
    switch.faults.inject({"name": "range_partial"})
    switch.faults.inject({"name": "refuse_force", "port": "1/3"})
    flaps = dict(switch.flaps)
    run = Run(switch)
    run()
    # 1/1 and 1/2 were changed by the range before 1/3 refused; 1/3 took the other way; 1/4 came after it.
    assert {name: switch.flaps[name] - flaps[name] for name in WANTED.ports} == dict.fromkeys(WANTED.ports, 1)
    assert [line for line in run.sent if "1/3 " in line] == [
        "interface ethernet 1/3 mtu 9216 force",
        "interface ethernet 1/3 shutdown",
        "interface ethernet 1/3 mtu 9216",
        "interface ethernet 1/3 no shutdown",
    ]


def test_a_port_that_refuses_every_way_is_named_and_left_up() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "refuse_line", "pattern": r"(1/1-1/4|1/3) mtu"})
    run = Run(switch)
    with pytest.raises(ApplyError, match="port '1/3'") as caught:
        run()
    assert switch.running.ports["1/3"].admin and switch.running.ports["1/3"].mtu == 1500
    assert caught.value.details["undo"][:2] == [
        "interface ethernet 1/2 mtu 1500 force",
        "interface ethernet 1/1 mtu 1500 force",
    ]


@pytest.mark.parametrize("executed", [False, True])
@pytest.mark.parametrize("cut_at", range(1, 6))
def test_a_broken_session_is_reported_and_the_next_run_converges_and_saves(cut_at: int, executed: bool) -> None:
    switch = new_switch()
    with pytest.raises(UnreachableError) as caught:
        Run(switch, cut_at=cut_at, executed=executed)()
    assert caught.value.details["failed_operation"] == FIRST_RUN[cut_at - 1]
    assert caught.value.details["applied"] == FIRST_RUN[: cut_at - 1]
    # The line under way may have taken effect, so its inverse is among them; saving has none.
    assert len(caught.value.details["undo"]) == min(cut_at, 4)
    result = Run(switch)()
    assert result["saved"] and not switch.unsaved
    assert not Run(switch)()["changed"]


@pytest.mark.parametrize("executed", [False, True])
@pytest.mark.parametrize("cut_at", range(4, 7))
def test_a_session_that_breaks_after_a_shutdown_does_not_leave_the_port_down(cut_at: int, executed: bool) -> None:
    switch = new_switch()
    wanted = dataclasses.replace(WANTED, mtu_method="shutdown")
    run = Run(switch, wanted, cut_at=cut_at, executed=executed)
    with pytest.raises(UnreachableError) as caught:
        run()
    assert caught.value.details["ports_brought_up"] == ["interface ethernet 1/1-1/4 no shutdown"]
    assert all(switch.running.ports[name].admin for name in wanted.ports)
    assert Run(switch, wanted)()["saved"]


@pytest.mark.parametrize("rollback", [False, True])
@pytest.mark.parametrize("executed", [False, True])
@pytest.mark.parametrize("cut_at", range(4, 7))
def test_a_session_that_breaks_in_the_other_way_of_a_port_does_not_leave_it_down(
    cut_at: int, executed: bool, rollback: bool
) -> None:
    """Where a release takes no "force", the port is shut down, which the operation's own line does not say."""
    switch = new_switch()
    type_in(switch, "vlan 111 name rdma", "roce lossless", "configuration write")
    switch.faults.inject({"name": "refuse_force"})
    run = Run(switch, dataclasses.replace(WANTED, ports=("1/3",)), cut_at=cut_at, executed=executed, rollback=rollback)
    with pytest.raises(UnreachableError) as caught:
        run()
    assert run.sessions[0].sent[3] == "interface ethernet 1/3 shutdown"
    assert caught.value.details["ports_brought_up"] == ["interface ethernet 1/3 no shutdown"]
    assert switch.running.ports["1/3"].admin


# --- saving


def test_somebody_elses_unsaved_changes_are_not_written() -> None:
    switch = new_switch()
    type_in(switch, "interface ethernet 1/9 description mine")
    run = Run(switch)
    result = run()
    assert "configuration write" not in run.sent
    assert not result["saved"] and result["unsaved_before"]
    assert result["foreign_changes"] == ["+ interface ethernet 1/9 description mine"]
    assert any("another user" in text and "1/9 description mine" in text for text in result["warnings"])


def test_save_always_writes_them_even_if_nothing_else_differs() -> None:
    switch = new_switch()
    Run(switch)()
    type_in(switch, "interface ethernet 1/9 description mine")
    assert not Run(switch)()["changed"]
    run = Run(switch, save="always")
    result = run()
    assert run.sent == ["configuration write"] and result["changed"] and result["saved"]
    assert not Run(switch, save="always")()["changed"]


def test_save_never_leaves_it_to_a_person_and_says_so() -> None:
    switch = new_switch()
    run = Run(switch, save="never")
    result = run()
    assert "configuration write" not in run.sent and not result["saved"]
    assert any("reload" in text for text in result["warnings"])
    switch.reload()
    assert switch.running.roce is None


def test_a_session_that_breaks_behind_a_save_alone_is_told() -> None:
    """There is nothing to take back: what was saved was in force before."""
    switch = new_switch()
    Run(switch, save="never")()
    run = Run(switch, cut_at=17, every_line=True, rollback=True)
    with pytest.raises(UnreachableError, match="broke"):
        run()
    assert run.sent == ["configuration write"]


def test_what_is_saved_survives_a_reload() -> None:
    switch = new_switch()
    Run(switch)()
    switch.reload()
    assert not Run(switch)()["changed"]


def test_a_save_that_does_not_work_is_an_error() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "ignore_line", "pattern": "configuration write$"})
    with pytest.raises(ApplyError, match="not be saved"):
        Run(switch)()


def test_an_unreadable_saved_configuration_counts_as_foreign() -> None:
    switch = new_switch()
    type_in(switch, "roce lossless")
    switch.faults.inject({"name": "refuse_line", "pattern": "^show configuration$"})
    result = Run(switch)()
    assert not result["saved"] and "unknown" in result["foreign_changes"][0]


# --- reading


def test_a_switch_that_answers_no_ranges_is_asked_port_by_port() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "refuse_line", "pattern": r"^show .*1/1-1/4"})
    assert Run(switch)()["saved"]


def test_what_was_not_asked_for_is_left_alone() -> None:
    switch = new_switch()
    ports = {name: dataclasses.asdict(port) for name, port in switch.running.ports.items()}
    run = Run(switch, Wanted())
    run()
    assert run.sent == ["roce lossless", "configuration write"]
    assert {name: dataclasses.asdict(port) for name, port in switch.running.ports.items()} == ports
