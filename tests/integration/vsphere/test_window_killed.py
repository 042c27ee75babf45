"""A run killed at each of its requests, and what another controller then finds: it finishes what is proved to be that
run's, and leaves the rest alone with words."""

from __future__ import annotations

import pytest

from .conftest import Result, Vcenter
from .windows import (
    TECHNICIAN,
    WINDOW,
    Killer,
    admin,
    killed_run,
    marks,
    run_as,
    settle,
)

BOTH = ("gpu01", "gpu02")
RECOVER = {"esxi_hostname": "esx01", "in_maintenance": "recover"}
# (request, before or after, which of them): SetField is the lease's name, the trial of the mark, three signs of life,
# the mark, one more sign, and the end of the mark.
POINTS = [
    ("AddCustomFieldDef", "before", 1),
    ("AddCustomFieldDef", "after", 1),
    ("SetField", "after", 1),
    ("SetField", "after", 2),
    ("ShutdownGuest", "before", 1),
    ("ShutdownGuest", "after", 1),
    ("ShutdownGuest", "after", 2),
    ("EnterMaintenanceMode_Task", "before", 1),
    ("EnterMaintenanceMode_Task", "after", 1),
    ("QueryEvents", "after", 1),
    ("SetField", "before", 6),
    ("SetField", "after", 6),
    ("RebootHost_Task", "before", 1),
    ("RebootHost_Task", "after", 1),
    ("ExecuteSoap", "before", 1),
    ("ExitMaintenanceMode_Task", "before", 1),
    ("ExitMaintenanceMode_Task", "after", 1),
    ("SetField", "before", 8),
    ("SetField", "after", 8),
    ("PowerOnVM_Task", "before", 1),
    ("PowerOnVM_Task", "after", 1),
    ("RemoveCustomFieldDef", "before", 1),
    ("RemoveCustomFieldDef", "after", 1),
]
# Between the task's end and the mark nothing proves whose it is.
UNPROVED = {("EnterMaintenanceMode_Task", "after", 1), ("QueryEvents", "after", 1), ("SetField", "before", 6)}


@pytest.fixture
def vcenter(quick: Vcenter) -> Vcenter:
    quick.ask("POST", "/reset")
    return quick


def finish(vcenter: Vcenter) -> Result:
    """What the next site.yml does from another machine: recover, power on what is off, and the window."""
    recovered = run_as(vcenter, "next", **RECOVER)
    assert not recovered.failed, recovered.msg
    return recovered


@pytest.mark.parametrize("point", POINTS, ids=lambda point: "_".join(map(str, point)))
def test_killed_run_is_finished_or_told_by_the_next_one(vcenter: Vcenter, point: tuple[str, str, int]) -> None:
    killed_run(vcenter, Killer(*point), **WINDOW)
    settle(vcenter)
    recovered = finish(vcenter)
    host = vcenter.host("esx01")
    if point in UNPROVED:
        assert host["maintenance"], "not proved to be that run's, so it is left alone"
        told = recovered.warned
        assert (
            "entered by administrator@vsphere.local at" in told
            and "no run of this collection has left its mark" in told
        )
        assert "safe to leave" in told and "-e rocemesh_adopt_maintenance=host-" in told
        adopted = run_as(vcenter, "next", esxi_hostname="esx01", in_maintenance="adopt", power_on=list(BOTH))
        assert not adopted.failed, adopted.msg
    else:
        assert not host["maintenance"]
        on = run_as(vcenter, "next", esxi_hostname="esx01", power_on=list(BOTH))
        assert not on.failed, on.msg
    assert [vcenter.vm(vm)["power"] for vm in BOTH] == ["on", "on"]
    assert vcenter.host("esx01")["boots"] <= 1
    assert [mark for mark in marks(vcenter) if mark.startswith("rocemesh-window")] == []
    again = run_as(vcenter, "later", **RECOVER)
    assert not again["changed"] and again["warnings"] == []


@pytest.mark.parametrize("do", ["reenter", "exit"])
def test_somebody_who_enters_after_a_killed_run_keeps_the_host(vcenter: Vcenter, do: str) -> None:
    killed_run(vcenter, Killer("RebootHost_Task", "before"), **WINDOW)
    admin(vcenter, do, host="esx01")
    recovered = finish(vcenter)
    assert not recovered["changed"]
    assert vcenter.host("esx01")["maintenance"] is (do == "reenter")
    if do == "reenter":
        assert TECHNICIAN.split("\\")[1] in recovered.warned and "of the mark" in recovered.warned
    else:
        assert not any(mark.startswith("rocemesh-window") for mark in marks(vcenter)), "it proves nothing any more"


def test_somebody_who_enters_under_our_account_keeps_the_host_too(vcenter: Vcenter) -> None:
    killed_run(vcenter, Killer("RebootHost_Task", "before"), **WINDOW)
    admin(vcenter, "reenter", host="esx01", user="administrator@vsphere.local")
    assert not finish(vcenter)["changed"] and vcenter.host("esx01")["maintenance"]


def test_report_of_a_host_that_came_back_is_nobody_entering(vcenter: Vcenter) -> None:
    killed_run(vcenter, Killer("RebootHost_Task", "after"), **WINDOW)
    settle(vcenter)
    vcenter.ask("POST", "/admin", {"do": "enter", "host": "esx01", "user": "nobody"})
    assert finish(vcenter)["changed"] and not vcenter.host("esx01")["maintenance"]


def test_mark_that_somebody_wrote_by_hand_proves_nothing(vcenter: Vcenter) -> None:
    killed_run(vcenter, Killer("RebootHost_Task", "before"), **WINDOW)
    vcenter.ask("POST", "/admin", {"do": "rewrite_mark", "host": "esx01", "text": "please leave me alone"})
    recovered = finish(vcenter)
    assert not recovered["changed"] and vcenter.host("esx01")["maintenance"] and "cannot be read" in recovered.warned


def test_recovery_waits_for_a_marked_host_that_still_boots(vcenter: Vcenter) -> None:
    killed_run(vcenter, Killer("RebootHost_Task", "after"), **WINDOW)
    assert finish(vcenter)["changed"]
    host = vcenter.host("esx01")
    assert (host["boots"], host["maintenance"], host["connection"]) == (1, False, "connected")


def test_recovery_says_that_a_marked_host_does_not_come_back(vcenter: Vcenter) -> None:
    vcenter.fault("host_never_returns", host="esx01")
    killed_run(vcenter, Killer("RebootHost_Task", "after"), **WINDOW)
    failed = run_as(vcenter, "next", **RECOVER, reboot_timeout=10)
    assert failed["error_code"] == "unreachable" and "an interrupted run" in failed.msg
    vcenter.heal()
    settle(vcenter)
    assert finish(vcenter)["changed"]


def test_recovery_in_check_mode_changes_nothing(vcenter: Vcenter) -> None:
    killed_run(vcenter, Killer("RebootHost_Task", "before"), **WINDOW)
    before, written = vcenter.state(), marks(vcenter)
    planned = run_as(vcenter, "next", check=True, **RECOVER)
    assert [row["command"] for row in planned["operations"]] == ["ExitMaintenanceMode_Task esx01"]
    assert vcenter.state() == before and marks(vcenter) == written


def test_silent_host_that_nobody_marked_is_left_alone(vcenter: Vcenter) -> None:
    vcenter.fault("wrong_state_after_boot", host="esx01", mode="disconnected")
    run_as(vcenter, "first", **WINDOW, in_maintenance="refuse")
    vcenter.ask("POST", "/admin", {"do": "rewrite_mark", "host": "esx01", "text": ""})
    left = run_as(vcenter, "next", **RECOVER)
    assert not left.failed and not left["changed"], left.msg
