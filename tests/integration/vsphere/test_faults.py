"""Faults in the middle of a task. After each: a clear message or a finished job, no wrong claim, and a second run that
reaches the same end state.
"""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Run, Vcenter
from .patience import shorten
from .test_reboot import ATS, IF_PENDING, STEPS, wait_until

P2P, ACS = "pciPassthru.allowP2P", "pciPassthru.RelaxACSforP2P"


@pytest.fixture
def pending(run: Run, vcenter: Vcenter) -> None:
    run("esxi_kernel_setting", **ATS)
    vcenter.ask("DELETE", "/calls")


def rebooted_once(vcenter: Vcenter) -> None:
    host = vcenter.host("esx01")
    assert (host["maintenance"], host["entering_maintenance"], host["boots"]) == (False, False, 1)
    assert host["kernel"]["atsSupport"]["runtime"] == "TRUE"
    assert vcenter.vm("gpu01")["power"] == vcenter.vm("gpu02")["power"] == "on"
    assert vcenter.calls().count("RebootHost_Task esx01") == 1


# Where the lab's vCenter goes away: while a task is watched, and just after it took (or before it saw) a request.
MOMENTS = [
    {"name": "vcenter_restart", "method": "RetrievePropertiesEx"},
    {"name": "vcenter_restart_after", "method": "EnterMaintenanceMode_Task"},
    {"name": "vcenter_restart", "method": "EnterMaintenanceMode_Task"},
    {"name": "vcenter_restart_after", "method": "RebootHost_Task"},
    {"name": "vcenter_restart_after", "method": "ExitMaintenanceMode_Task"},
    {"name": "vcenter_restart_after", "method": "PowerOnVM_Task"},
    {"name": "vcenter_restart_after", "method": "ShutdownGuest"},
]


@pytest.mark.usefixtures("pending")
@pytest.mark.parametrize("moment", MOMENTS, ids=lambda m: f"{m['name']}-{m['method']}")
def test_vcenter_restarted_during_a_reboot(
    run: Run, vcenter: Vcenter, moment: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 4.0)
    vcenter.fault(**moment, seconds=1, count=1)
    first = run("esxi_reboot", **IF_PENDING)
    if first.failed:
        assert first["error_code"] in ("unreachable", "session_lost", "apply_failed", "object_gone")
        assert "127.0.0.1" in first.msg or "esx01" in first.msg or "gpu0" in first.msg
        assert "What to do" in first.msg
        wait_until(lambda: vcenter.host("esx01")["connection"] == "connected")
        wait_until(lambda: not run("esxi_pci_info", esxi_hostname="esx01").failed)
        resumed = run("esxi_reboot", **{**IF_PENDING, **first.get("resume", {})})
        assert not resumed.failed, resumed.msg
    else:
        assert first["rebooted"]
    rebooted_once(vcenter)
    assert not run("esxi_reboot", **IF_PENDING)["changed"]


def test_vcenter_restarted_while_a_task_is_watched_is_followed_to_the_end(run: Run, vcenter: Vcenter) -> None:
    run("esxi_kernel_setting", **ATS)
    vcenter.ask("DELETE", "/calls")
    vcenter.fault("vcenter_restart_after", method="RebootHost_Task", seconds=1, count=1)
    done = run("esxi_reboot", **IF_PENDING)
    assert done["rebooted"], "the answer was lost, the host's boot time is the proof"
    assert vcenter.calls() == STEPS
    rebooted_once(vcenter)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, 3.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", ["vcenter_restart", "vcenter_restart_after"])
def test_vcenter_restarted_while_keys_are_set(run: Run, vcenter: Vcenter, name: str) -> None:
    vcenter.fault(name, method="ReconfigVM_Task", seconds=1, count=1)
    first = run("vmx_passthru", vm="split")
    if name == "vcenter_restart":
        assert first["error_code"] == "unreachable" and "split" in first.msg and "What to do" in first.msg
        assert run("vmx_passthru", vm="split")["changed"]
    else:
        assert first["changed"], "the answer was lost, the VM's file is the proof"
    extra = vcenter.vm("split")["extra_config"]
    assert (extra[P2P], extra[ACS]) == ("TRUE", "TRUE")
    assert not run("vmx_passthru", vm="split")["changed"]


METHODS = ["RetrievePropertiesEx", "CreateContainerView", "RetrieveManagedMethodExecuter", "ExecuteSoap"]


@pytest.mark.parametrize("method", METHODS)
def test_session_killed_is_renewed_once(run: Run, vcenter: Vcenter, method: str) -> None:
    vcenter.fault("session_killed", method=method, count=1)
    done = run("esxi_kernel_setting", **ATS)
    assert done["changed"] and not done.failed
    assert vcenter.calls() == ["esxcli system.settings.kernel.set esx01"]
    assert not run("esxi_kernel_setting", **ATS)["changed"]


@pytest.mark.parametrize("method", ["ReconfigVM_Task", "PowerOnVM_Task", "ShutdownGuest"])
def test_session_killed_at_a_change_does_it_once(run: Run, vcenter: Vcenter, method: str) -> None:
    vcenter.fault("session_killed", method=method, count=1)
    done = run("vmx_passthru", vm="gpu01", power_policy="shutdown")
    assert not done.failed and done["power_state"] == "poweredOn"
    assert vcenter.calls() == ["ShutdownGuest gpu01", "ReconfigVM_Task gpu01", "PowerOnVM_Task gpu01"]


def test_session_that_is_killed_again_and_again_is_given_up(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("session_killed", method="ExecuteSoap")
    failed = run("esxi_kernel_setting", **ATS)
    assert failed["error_code"] == "session_lost" and "run again" in failed.msg and vcenter.calls() == []
    vcenter.heal()
    assert run("esxi_kernel_setting", **ATS)["changed"]


@pytest.mark.usefixtures("pending")
def test_refused_reboot_leaves_the_host_as_it_was_found(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("task_error", method="RebootHost_Task", host="esx01", fault="NotSupported", message="not here")
    failed = run("esxi_reboot", **IF_PENDING)
    assert failed["error_code"] == "apply_failed" and "not here" in failed.msg and "was not rebooted" in failed.msg
    assert "Powered on again: gpu01, gpu02" in failed.msg and "resume" not in failed
    host = vcenter.host("esx01")
    assert (host["maintenance"], host["boots"]) == (False, 0)
    assert vcenter.vm("gpu01")["power"] == vcenter.vm("gpu02")["power"] == "on"
    vcenter.heal()
    assert run("esxi_reboot", **IF_PENDING)["rebooted"]


@pytest.mark.usefixtures("pending")
@pytest.mark.parametrize("mode", ["kernel", "same_boot", "disconnected", "out_of_maintenance"])
def test_host_that_returns_in_another_state_is_never_called_done(run: Run, vcenter: Vcenter, mode: str) -> None:
    vcenter.fault("wrong_state_after_boot", host="esx01", mode=mode)
    first = run("esxi_reboot", **IF_PENDING, reboot_timeout=4)
    assert first.failed is (mode != "out_of_maintenance")
    if first.failed:
        assert "esx01" in first.msg and "What to do" in first.msg
        assert vcenter.calls().count("RebootHost_Task esx01") == 1
        vcenter.heal()
        wait_until(lambda: vcenter.host("esx01")["connection"] == "connected")
        resumed = run("esxi_reboot", **IF_PENDING, **first["resume"])
        assert not resumed.failed, resumed.msg
    host = vcenter.host("esx01")
    assert not host["maintenance"] and host["kernel"]["atsSupport"]["runtime"] == "TRUE"
    assert vcenter.vm("gpu01")["power"] == vcenter.vm("gpu02")["power"] == "on"


@pytest.mark.usefixtures("pending")
def test_blocked_maintenance_then_a_second_run(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("maintenance_blocked", host="esx01")
    assert "Timedout" in run("esxi_reboot", **IF_PENDING, maintenance_timeout=1).msg
    vcenter.heal()
    vcenter.ask("DELETE", "/calls")
    assert run("esxi_reboot", **IF_PENDING)["rebooted"]
    rebooted_once(vcenter)


def test_dropped_key_then_a_second_run(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("drop_key", vm="split", key=P2P)
    assert run("vmx_passthru", vm="split")["dropped_keys"] == [P2P]
    vcenter.heal()
    done = run("vmx_passthru", vm="split")
    assert done["diff"]["after"] == {P2P: "TRUE"} and not run("vmx_passthru", vm="split")["changed"]
