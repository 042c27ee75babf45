"""Faults of one window: the final state, and that what the message says about it is true."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from .conftest import Vcenter
from .windows import (
    TECHNICIAN,
    WINDOW,
    Killer,
    Prepare,
    admin,
    fault,
    heal_and_resume,
    killed_run,
    lies,
    meanwhile,
    run_as,
    settle,
)


@pytest.fixture
def vcenter(quick: Vcenter) -> Vcenter:
    quick.ask("POST", "/reset")
    return quick


@dataclasses.dataclass(frozen=True)
class Case:
    """``says``: words of the message; ``boots``, ``maintenance``, ``off``: what esx01 must be like at the end, before
    anybody goes on. ``foreign``: the maintenance mode at the end is somebody else's, so going on must not end it."""

    id: str
    prepare: Prepare
    says: tuple[str, ...] = ()
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    fails: bool = True
    boots: int = 0
    maintenance: bool = False
    off: tuple[str, ...] = ()
    foreign: bool = False


def somebody_works_there(vcenter: Vcenter) -> None:
    for vm in BOTH:
        admin(vcenter, "off", vm=vm)
    admin(vcenter, "enter", host="esx01")


BOTH = ("gpu01", "gpu02")
RESTORED = "Powered on again: gpu01, gpu02"
CASES = [
    Case("nothing_happens", lambda _v: None, fails=False, boots=1),
    # guests
    Case(
        "guest_ignores_shutdown", fault("guest_ignores_shutdown", vm="gpu02"), ("gpu02", "still running after", "gpu01")
    ),
    Case(
        "guest_without_tools",
        lambda v: v.ask("POST", "/guest", {"vm": "gpu02", "tools": "notRunning"}),
        ("gpu02 cannot be",),
    ),
    Case(
        "guest_cut_if_told",
        fault("guest_ignores_shutdown", vm="gpu02"),
        options={"hard_off": True},
        fails=False,
        boots=1,
    ),
    Case("foreign_vm", lambda _v: None, ("gpu02 is powered on and not in vm_allowlist",), {"vm_allowlist": ["gpu01"]}),
    Case("vm_question", fault("vm_question", vm="gpu02"), ("gpu02 waits for an answer",)),
    Case("duplicate_vm_name", fault("duplicate_vm", vm="gpu01"), ("several VMs",)),
    Case(
        "vcenter_restarts_after_shutdown_request",
        fault("vcenter_restart_after", method="ShutdownGuest", seconds=0.3, count=1),
        fails=False,
        boots=1,
    ),
    Case(
        "link_drops_at_shutdown_request",
        fault("drop_connection", method="ShutdownGuest", count=1),
        ("gpu01", "still running"),
    ),
    Case("no_privilege_to_stop", fault("no_permission", method="ShutdownGuest"), ("VirtualMachine.Interact.PowerOff",)),
    Case("session_ends_at_shutdown", fault("session_killed", method="ShutdownGuest", count=1), fails=False, boots=1),
    Case("admin_stops_a_vm_first", meanwhile("before", "ShutdownGuest", "off", vm="gpu01"), fails=False, boots=1),
    Case(
        "admin_starts_a_vm_again",
        meanwhile("before", "EnterMaintenanceMode_Task", "on", vm="gpu01"),
        ("not done after", "VMs that are on: gpu01", "gpu02"),
        {"maintenance_timeout": 10},
    ),
    # entering
    Case(
        "maintenance_blocked",
        fault("maintenance_blocked", host="esx01"),
        ("not done after", RESTORED),
        {"maintenance_timeout": 10},
    ),
    Case(
        "vcenter_restarts_after_enter",
        fault("vcenter_restart_after", method="EnterMaintenanceMode_Task", seconds=0.3, count=1),
        fails=False,
        boots=1,
    ),
    Case(
        "session_ends_at_enter",
        fault("session_killed", method="EnterMaintenanceMode_Task", count=1),
        fails=False,
        boots=1,
    ),
    Case("link_drops_at_enter", fault("drop_connection", method="EnterMaintenanceMode_Task", count=1), (RESTORED,)),
    Case(
        "empty_answer_at_enter",
        fault("empty_answer", method="EnterMaintenanceMode_Task", count=1),
        fails=False,
        boots=1,
    ),
    Case(
        "enter_fails",
        fault("task_error", method="EnterMaintenanceMode_Task", fault="InvalidState"),
        ("InvalidState", RESTORED),
    ),
    Case(
        "no_privilege_to_enter",
        fault("no_permission", method="EnterMaintenanceMode_Task"),
        ("Host.Config.Maintenance", RESTORED),
    ),
    Case(
        "admin_enters_while_guests_stop",
        meanwhile("before", "EnterMaintenanceMode_Task", "enter"),
        (f"entered by {TECHNICIAN}", "gpu01", "gpu02"),
        maintenance=True,
        off=BOTH,
        foreign=True,
    ),
    # the mark
    Case("mark_cannot_be_written", fault("no_permission", method="SetField"), ("Global.SetCustomField",)),
    Case("lease_cannot_be_taken", fault("no_permission", method="AddCustomFieldDef"), ("Global.ManageCustomFields",)),
    Case(
        "link_drops_at_the_lease", fault("drop_connection", method="AddCustomFieldDef", count=1), fails=False, boots=1
    ),
    Case(
        "vcenter_restarts_after_the_lease",
        fault("vcenter_restart_after", method="AddCustomFieldDef", seconds=0.3, count=1),
        fails=False,
        boots=1,
    ),
    Case("empty_answers_to_fields", fault("empty_answer", method="SetField", count=3), fails=False, boots=1),
    Case("events_cannot_be_read", fault("no_permission", method="QueryEvents"), fails=False, boots=1),
    # the reboot
    Case(
        "host_never_returns",
        fault("host_never_returns", host="esx01"),
        ("did not come back within",),
        {"reboot_timeout": 20},
        maintenance=True,
        off=BOTH,
    ),
    Case(
        "host_reports_old_boot_time",
        fault("wrong_state_after_boot", host="esx01", mode="same_boot"),
        ("old boot time",),
        {"reboot_timeout": 20},
        maintenance=True,
        off=BOTH,
    ),
    Case(
        "host_comes_back_disconnected",
        fault("wrong_state_after_boot", host="esx01", mode="disconnected"),
        ("disconnected", "reconnect it"),
        {"reboot_timeout": 20},
        boots=1,
        maintenance=True,
        off=BOTH,
    ),
    Case(
        "host_comes_back_without_maintenance",
        fault("wrong_state_after_boot", host="esx01", mode="out_of_maintenance"),
        fails=False,
        boots=1,
    ),
    Case("session_ends_at_reboot", fault("session_killed", method="RebootHost_Task", count=1), fails=False, boots=1),
    Case(
        "link_drops_at_reboot",
        fault("drop_connection", method="RebootHost_Task", count=1),
        ("the request did not arrive", RESTORED),
        {"reboot_timeout": 20},
    ),
    Case("empty_answer_at_reboot", fault("empty_answer", method="RebootHost_Task", count=1), fails=False, boots=1),
    Case(
        "vcenter_restarts_after_reboot",
        fault("vcenter_restart_after", method="RebootHost_Task", seconds=0.3, count=1),
        fails=False,
        boots=1,
    ),
    Case(
        "vcenter_restarts_before_reboot",
        fault("vcenter_restart", method="RebootHost_Task", seconds=0.3, count=1),
        ("the request did not arrive", RESTORED),
        {"reboot_timeout": 40},
    ),
    Case(
        "reboot_task_fails",
        fault("task_error", method="RebootHost_Task", fault="InvalidState"),
        ("was not rebooted", RESTORED),
    ),
    Case(
        "no_privilege_to_reboot",
        fault("no_permission", method="RebootHost_Task"),
        ("Host.Config.Maintenance", RESTORED),
    ),
    Case(
        "kernel_setting_not_in_force",
        fault("wrong_state_after_boot", host="esx01", mode="kernel"),
        ("not be rebooted again",),
        {"required": False, "pending_settings": ["atsSupport"]},
        boots=1,
        maintenance=True,
        off=BOTH,
    ),
    Case("admin_leaves_before_the_reboot", meanwhile("after", "QueryEvents", "exit"), ("ended the maintenance mode",)),
    Case(
        "admin_reenters_before_the_reboot",
        meanwhile("after", "QueryEvents", "reenter"),
        (f"entered by {TECHNICIAN}", "gpu01", "gpu02"),
        maintenance=True,
        off=BOTH,
        foreign=True,
    ),
    Case(
        "admin_reenters_before_our_entry_is_read",
        meanwhile("before", "QueryEvents", "reenter"),
        (f"entered by {TECHNICIAN}", "gpu01", "gpu02"),
        maintenance=True,
        off=BOTH,
        foreign=True,
    ),
    Case(
        "admin_leaves_before_our_entry_is_read",
        meanwhile("before", "QueryEvents", "exit"),
        ("ended the maintenance mode", RESTORED),
    ),
    Case("admin_reboots_first", meanwhile("after", "QueryEvents", "reboot"), fails=False, boots=1),
    Case(
        "admin_leaves_at_the_very_request", meanwhile("before", "RebootHost_Task", "exit"), ("InvalidState", RESTORED)
    ),
    Case(
        "admin_reenters_at_the_very_request",
        meanwhile("before", "RebootHost_Task", "reenter"),
        (f"entered by {TECHNICIAN}", "gpu01", "gpu02"),
        boots=1,
        maintenance=True,
        off=BOTH,
        foreign=True,
    ),
    Case("admin_leaves_when_the_host_is_back", meanwhile("before", "ExecuteSoap", "exit"), fails=False, boots=1),
    Case(
        "admin_reenters_when_the_host_is_back",
        meanwhile("before", "ExecuteSoap", "reenter"),
        (f"entered by {TECHNICIAN}", "gpu01", "gpu02"),
        boots=1,
        maintenance=True,
        off=BOTH,
        foreign=True,
    ),
    Case("lease_lost_while_guests_stop", meanwhile("after", "ShutdownGuest", "remove_lease"), ("has lost it", "gpu01")),
    # leaving
    Case(
        "exit_fails", fault("exit_maintenance_fails", host="esx01"), ("Timedout",), boots=1, maintenance=True, off=BOTH
    ),
    Case(
        "vcenter_restarts_after_exit",
        fault("vcenter_restart_after", method="ExitMaintenanceMode_Task", seconds=0.3, count=1),
        fails=False,
        boots=1,
    ),
    Case(
        "vcenter_restarts_before_exit",
        fault("vcenter_restart", method="ExitMaintenanceMode_Task", seconds=0.3, count=1),
        fails=False,
        boots=1,
    ),
    Case(
        "link_drops_at_exit", fault("drop_connection", method="ExitMaintenanceMode_Task", count=1), fails=False, boots=1
    ),
    Case(
        "empty_answer_at_exit", fault("empty_answer", method="ExitMaintenanceMode_Task", count=1), fails=False, boots=1
    ),
    Case(
        "session_ends_at_exit",
        fault("session_killed", method="ExitMaintenanceMode_Task", count=1),
        fails=False,
        boots=1,
    ),
    Case(
        "no_privilege_to_leave",
        fault("no_permission", method="ExitMaintenanceMode_Task"),
        ("Host.Config.Maintenance",),
        boots=1,
        maintenance=True,
        off=BOTH,
    ),
    Case(
        "admin_leaves_at_the_same_moment", meanwhile("before", "ExitMaintenanceMode_Task", "exit"), fails=False, boots=1
    ),
    # up again
    Case(
        "power_on_fails_once",
        fault("task_error", method="PowerOnVM_Task", vm="gpu01"),
        ("gpu01", "Powered on: gpu02"),
        boots=1,
        off=("gpu01",),
    ),
    Case(
        "admin_reenters_before_power_on",
        meanwhile("before", "PowerOnVM_Task", "reenter"),
        ("gpu01", "gpu02"),
        boots=1,
        maintenance=True,
        off=BOTH,
        foreign=True,
    ),
    Case("admin_starts_a_vm_first", meanwhile("before", "PowerOnVM_Task", "on", vm="gpu01"), fails=False, boots=1),
    Case("empty_answer_at_power_on", fault("empty_answer", method="PowerOnVM_Task", count=1), fails=False, boots=1),
    Case("empty_answers_for_good", fault("empty_answer", method="RebootHost_Task"), fails=False, boots=1),
    Case(
        "already_in_somebodys_maintenance",
        somebody_works_there,
        (f"entered by {TECHNICIAN}", "nothing was changed"),
        maintenance=True,
        off=BOTH,
        foreign=True,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_outcome_is_told_truly_and_can_be_gone_on_from(vcenter: Vcenter, case: Case) -> None:
    if "pending_settings" in case.options:
        run_as(vcenter, "first", "esxi_kernel_setting", esxi_hostname="esx01", settings={"atsSupport": True})
    before = vcenter.state()
    case.prepare(vcenter)
    if case.id.startswith("already"):
        before = vcenter.state()
    options = {**WINDOW, **case.options}
    result = run_as(vcenter, "first", **options)
    assert result.failed is case.fails, result.msg
    if not case.id.startswith("host_"):
        settle(vcenter)
    assert [word for word in case.says if word not in result.msg] == [], result.msg
    assert lies(vcenter, before, result) == [], result.msg
    host = vcenter.host("esx01")
    assert (host["boots"], host["maintenance"]) == (case.boots, case.maintenance), result.msg
    assert tuple(vm for vm in BOTH if vcenter.vm(vm)["power"] == "off") == case.off, result.msg
    if case.off and not case.foreign:
        assert result["resume"]["power_on"] == list(case.off)
        again = heal_and_resume(vcenter, result, **options)
        assert not again.failed, again.msg
        assert not vcenter.host("esx01")["maintenance"] and vcenter.host("esx01")["boots"] <= 1
        assert [vcenter.vm(vm)["power"] for vm in BOTH] == ["on", "on"]
    if case.foreign:
        assert "in_maintenance" not in result.get("resume", {}), "nobody is told to end what is not ours"
        again = run_as(vcenter, "later", esxi_hostname="esx01", in_maintenance="recover")
        assert (
            not again["changed"]
            and vcenter.host("esx01")["maintenance"]
            and TECHNICIAN in again.warned.replace("\\\\", "\\")
        )


SAME_ACCOUNT = "administrator@vsphere.local"


def test_reentry_under_our_own_account_before_the_entry_is_read_is_not_ours(vcenter: Vcenter) -> None:
    meanwhile("before", "QueryEvents", "reenter", user=SAME_ACCOUNT)(vcenter)
    failed = run_as(vcenter, "first", **WINDOW)
    assert failed.failed and f"entered by {SAME_ACCOUNT}" in failed.msg
    assert (vcenter.host("esx01")["boots"], vcenter.host("esx01")["maintenance"]) == (0, True)
    assert "in_maintenance" not in failed["resume"]


@pytest.mark.parametrize("policy", ["adopt", "recover"])
@pytest.mark.parametrize(
    ("when", "method", "boots"),
    [("after", "SetField", 0), ("after", "RebootHost_Task", 1)],
    ids=["before_anything", "while_it_boots"],
)
def test_adopted_maintenance_that_somebody_takes_over_meanwhile_stays(
    vcenter: Vcenter, policy: str, when: str, method: str, boots: int
) -> None:
    """A person has said of the maintenance mode of that moment that it is this run's, and of no later one."""
    killed_run(vcenter, Killer("RebootHost_Task", "before"), **WINDOW)
    options = {**WINDOW, "in_maintenance": policy, "power_on": list(BOTH)}
    meanwhile(when, method, "reenter")(vcenter)
    failed = run_as(vcenter, "second", **options)
    assert failed.failed and f"entered by {TECHNICIAN}" in failed.msg, failed.msg
    host = vcenter.host("esx01")
    assert (host["maintenance"], host["boots"]) == (True, boots), failed.msg
    assert "in_maintenance" not in failed.get("resume", {}), "nobody is told to end what is not ours"
