from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import Connection, Endpoint

from .conftest import ROOT, USER, Run, Vcenter

ATS = {"esxi_hostname": "esx01", "settings": {"atsSupport": True}}
IF_PENDING = {
    "esxi_hostname": "esx01",
    "pending_settings": ["atsSupport"],
    "vm_policy": "shutdown",
    "vm_allowlist": ["gpu01", "gpu02"],
}
STEPS = [
    "ShutdownGuest gpu01",
    "ShutdownGuest gpu02",
    "EnterMaintenanceMode_Task esx01",
    "RebootHost_Task esx01",
    "ExitMaintenanceMode_Task esx01",
    "PowerOnVM_Task gpu01",
    "PowerOnVM_Task gpu02",
]


@pytest.fixture
def pending(run: Run, vcenter: Vcenter) -> None:
    run("esxi_kernel_setting", **ATS)
    vcenter.ask("DELETE", "/calls")


def test_nothing_pending_means_no_reboot(run: Run, vcenter: Vcenter) -> None:
    done = run("esxi_reboot", **IF_PENDING)
    assert not done["changed"] and not done["rebooted"] and done["reasons"] == []
    assert vcenter.calls() == []


@pytest.mark.usefixtures("pending")
def test_pending_setting_is_brought_into_force_by_one_orderly_reboot(run: Run, vcenter: Vcenter) -> None:
    done = run("esxi_reboot", **IF_PENDING)
    assert vcenter.calls() == STEPS
    assert done["rebooted"] and done["entered_maintenance"] and not done["in_maintenance"]
    assert done["vms_shut_down"] == done["vms_powered_on"] == ["gpu01", "gpu02"]
    assert done["boot_time_after"] > done["boot_time_before"] and done["elapsed"] > 0
    assert not done["reboot_required"] and done["undo"] == []
    assert "atsSupport is configured TRUE" in done["reasons"][0]
    host = vcenter.host("esx01")
    assert host["kernel"]["atsSupport"]["runtime"] == "TRUE"
    assert (host["maintenance"], host["boots"]) == (False, 1)
    again = run("esxi_reboot", **IF_PENDING)
    assert not again["changed"]
    assert vcenter.host("esx01")["boots"] == 1


@pytest.mark.usefixtures("pending")
def test_check_mode_lists_the_steps_and_touches_nothing(run: Run, vcenter: Vcenter) -> None:
    before = vcenter.state()
    planned = run("esxi_reboot", check=True, **IF_PENDING)
    assert [
        operation["command"].split(" evacuate")[0].split(" force")[0] for operation in planned["operations"]
    ] == STEPS
    assert planned["reboot_scope"] == "esxi_host" and not planned["rebooted"]
    assert vcenter.state() == before and vcenter.calls() == []


def test_required_reboots_without_a_pending_setting_and_says_why(run: Run, vcenter: Vcenter) -> None:
    done = run(
        "esxi_reboot", esxi_hostname="esx04", required=True, reason=["NIC firmware of gpu01 waits"], restore_vms=True
    )
    assert done["rebooted"] and done["reasons"] == ["NIC firmware of gpu01 waits"]
    assert vcenter.host("esx04")["boots"] == 1


def test_powered_off_vms_are_never_evacuated_and_the_reboot_never_forced(run: Run, vcenter: Vcenter) -> None:
    run("esxi_reboot", esxi_hostname="esx04", required=True)
    details = {call["method"]: call["detail"] for call in vcenter.ask("GET", "/calls") if call.get("detail")}
    assert details["EnterMaintenanceMode_Task"]["evacuate_powered_off_vms"] == "false"
    assert details["EnterMaintenanceMode_Task"]["timeout"] == "600"
    assert details["RebootHost_Task"] == {"force": "false"}


@pytest.mark.usefixtures("pending")
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"vm_policy": "refuse"}, "gpu01 is powered on (vm_policy is 'refuse'), and its passthrough devices keep it"),
        ({"vm_allowlist": ["gpu01"]}, "gpu02 is powered on and not in vm_allowlist"),
        ({"vm_allowlist": []}, "gpu01 is powered on and not in vm_allowlist"),
    ],
)
def test_vm_that_is_not_permitted_stops_the_reboot(
    run: Run, vcenter: Vcenter, changed: dict[str, Any], reason: str
) -> None:
    failed = run("esxi_reboot", **{**IF_PENDING, **changed})
    assert failed["error_code"] == "refused" and reason in failed.msg and "nothing was changed" in failed.msg
    assert vcenter.calls() == []


def test_host_that_runs_this_vcenter_is_refused_even_if_listed(run: Run, vcenter: Vcenter) -> None:
    failed = run(
        "esxi_reboot", esxi_hostname="esx03", required=True, vm_policy="shutdown", vm_allowlist=["vcsa"], hard_off=True
    )
    assert "vcsa is this vCenter itself" in failed.msg
    assert vcenter.calls() == []


@pytest.mark.usefixtures("pending")
def test_guest_without_tools_is_refused_before_anything_happens(run: Run, vcenter: Vcenter) -> None:
    vcenter.ask("POST", "/guest", {"vm": "gpu02", "tools": "notRunning"})
    assert "gpu02 cannot be shut" in run("esxi_reboot", **IF_PENDING).msg
    assert vcenter.calls() == []
    done = run("esxi_reboot", **IF_PENDING, hard_off=True)
    assert done["rebooted"] and "PowerOffVM_Task gpu02" in vcenter.calls()


@pytest.mark.usefixtures("pending")
def test_guest_that_does_not_stop_brings_the_others_back(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("guest_ignores_shutdown", vm="gpu02")
    failed = run("esxi_reboot", **IF_PENDING, shutdown_timeout=1)
    assert "gpu02" in failed.msg and "still running after 1 s" in failed.msg
    assert vcenter.vm("gpu01")["power"] == "on"
    assert vcenter.host("esx01") | {"kernel": None} == {
        "boots": 0,
        "connection": "connected",
        "entering_maintenance": False,
        "kernel": None,
        "maintenance": False,
    }


@pytest.mark.usefixtures("pending")
def test_blocked_maintenance_is_cancelled_and_the_vms_run_again(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("maintenance_blocked", host="esx01")
    failed = run("esxi_reboot", **IF_PENDING, maintenance_timeout=1)
    assert "Timedout" in failed.msg and "Powered on again: gpu01, gpu02" in failed.msg
    assert failed["vms_shut_down"] == [] and not failed["entered_maintenance"]
    host = vcenter.host("esx01")
    assert (host["maintenance"], host["entering_maintenance"], host["boots"]) == (False, False, 0)
    assert vcenter.vm("gpu01")["power"] == vcenter.vm("gpu02")["power"] == "on"


@pytest.mark.usefixtures("pending")
def test_host_that_does_not_return_ends_with_the_timeout_and_the_way_on(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("host_never_returns", host="esx01")
    failed = run("esxi_reboot", **IF_PENDING, reboot_timeout=2)
    assert failed["error_code"] == "unreachable" and "come back within 2 s" in failed.msg
    assert failed["resume"] == {"in_maintenance": "adopt", "power_on": ["gpu01", "gpu02"]}
    silent = run("esxi_reboot", **IF_PENDING)
    assert "notResponding" in silent.msg and silent["error_code"] == "refused"
    vcenter.heal()
    wait_until(lambda: vcenter.host("esx01")["connection"] == "connected")
    resumed = run("esxi_reboot", **IF_PENDING, **failed["resume"])
    assert resumed["changed"] and not resumed["rebooted"] and resumed["vms_powered_on"] == ["gpu01", "gpu02"]
    assert (vcenter.host("esx01")["maintenance"], vcenter.host("esx01")["boots"]) == (False, 1)


@pytest.mark.usefixtures("pending")
def test_reboot_that_does_not_bring_the_setting_into_force_is_not_repeated(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("wrong_state_after_boot", host="esx01", mode="kernel")
    failed = run("esxi_reboot", **IF_PENDING)
    assert failed["error_code"] == "not_in_force"
    assert "atsSupport is configured TRUE and FALSE is in force" in failed.msg and "not be rebooted" in failed.msg
    assert vcenter.host("esx01")["boots"] == 1
    assert vcenter.calls().count("RebootHost_Task esx01") == 1


@pytest.mark.usefixtures("pending")
def test_same_boot_time_is_not_taken_for_a_reboot(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("wrong_state_after_boot", host="esx01", mode="same_boot")
    failed = run("esxi_reboot", **IF_PENDING, reboot_timeout=2)
    assert failed["error_code"] == "not_in_force" and "old boot time" in failed.msg


@pytest.mark.usefixtures("pending")
def test_disconnected_host_is_reported_with_the_cure(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("wrong_state_after_boot", host="esx01", mode="disconnected")
    failed = run("esxi_reboot", **IF_PENDING, reboot_timeout=4)
    assert "disconnected" in failed.msg and "reconnect it in vCenter" in failed.msg


@pytest.mark.usefixtures("pending")
def test_lost_maintenance_mode_does_not_stop_the_return(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("wrong_state_after_boot", host="esx01", mode="out_of_maintenance")
    done = run("esxi_reboot", **IF_PENDING)
    assert done["rebooted"] and not done["in_maintenance"]


@pytest.mark.usefixtures("pending")
def test_session_that_ends_while_waiting_is_renewed(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("session_killed", method="RebootHost_Task", count=1)
    assert run("esxi_reboot", **IF_PENDING)["rebooted"]
    assert vcenter.calls() == STEPS, "what vCenter refused was not carried out, and is asked for once more"
    assert vcenter.host("esx01")["boots"] == 1


@pytest.mark.usefixtures("pending")
def test_connection_cut_while_waiting_is_made_anew(run: Run, vcenter: Vcenter) -> None:
    process = spawn(vcenter, IF_PENDING)
    wait_until(lambda: vcenter.host("esx01")["connection"] == "notResponding")
    vcenter.fault("session_killed", count=1)
    output, _errors = process.communicate(timeout=60)
    done = json.loads(output.strip().splitlines()[-1])
    assert done["rebooted"], done
    assert vcenter.vm("gpu01")["power"] == "on"


def test_host_in_somebody_elses_maintenance_is_refused_allowed_or_adopted(run: Run, vcenter: Vcenter) -> None:
    enter_maintenance(vcenter, "esx04")
    refused = run("esxi_reboot", esxi_hostname="esx04", required=True)
    assert refused["error_code"] == "refused" and "is in maintenance" in refused.msg and "adopt" in refused.msg
    idle = run("esxi_reboot", esxi_hostname="esx04", pending_settings=["atsSupport"])
    assert not idle["changed"] and "stays there" in idle.warned
    allowed = run("esxi_reboot", esxi_hostname="esx04", required=True, in_maintenance="allow")
    assert allowed["rebooted"] and allowed["in_maintenance"] and not allowed["entered_maintenance"]
    assert vcenter.host("esx04")["boots"] == 1
    adopted = run("esxi_reboot", esxi_hostname="esx04", in_maintenance="adopt", power_on=["split"])
    assert adopted["changed"] and not adopted["rebooted"] and not adopted["in_maintenance"]
    assert adopted["undo"] == ["ShutdownGuest split", "EnterMaintenanceMode_Task esx04"]
    assert vcenter.vm("split")["power"] == "on"
    assert not run("esxi_reboot", esxi_hostname="esx04", in_maintenance="adopt", power_on=["split"])["changed"]


POINTS: dict[str, Callable[[Any], bool]] = {
    "first_guest_down": lambda state: state["vms"]["gpu01"]["power"] == "off",
    "in_maintenance": lambda state: state["hosts"]["esx01"]["maintenance"],
    "host_down": lambda state: state["hosts"]["esx01"]["connection"] == "notResponding",
    "host_back": lambda state: state["hosts"]["esx01"]["boots"] == 1,
    "out_of_maintenance": lambda state: (
        state["hosts"]["esx01"]["boots"] == 1 and not state["hosts"]["esx01"]["maintenance"]
    ),
}


@pytest.mark.usefixtures("pending")
@pytest.mark.parametrize("point", POINTS)
def test_killed_controller_is_resumed_by_adopting_and_the_host_boots_once(
    run: Run, vcenter: Vcenter, point: str
) -> None:
    process = spawn(vcenter, IF_PENDING)
    wait_until(lambda: POINTS[point](vcenter.state()))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: settled(vcenter))
    resumed = run("esxi_reboot", **IF_PENDING, in_maintenance="adopt", power_on=["gpu01", "gpu02"])
    assert not resumed.failed, resumed.msg
    host = vcenter.host("esx01")
    assert (host["maintenance"], host["boots"]) == (False, 1)
    assert host["kernel"]["atsSupport"]["runtime"] == "TRUE"
    assert vcenter.vm("gpu01")["power"] == vcenter.vm("gpu02")["power"] == "on"


def test_power_on_takes_only_vms_of_this_host(run: Run, vcenter: Vcenter) -> None:
    failed = run("esxi_reboot", esxi_hostname="esx01", power_on=["db"])
    assert "'db'" in failed.msg and "no such VM is registered on this host" in failed.msg
    assert vcenter.calls() == []


# ---------------------------------------------------------------- helpers
def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the state did not come"
        time.sleep(0.01)


def spawn(vcenter: Vcenter, parameters: dict[str, Any]) -> subprocess.Popen[str]:
    """The module in a process group of its own, as a controller that can be killed."""
    code = (
        "import json, sys\n"
        "from ansible.module_utils.testing import patch_module_args\n"
        "from ansible_collections.rocemesh.multinode.plugins.modules import esxi_reboot\n"
        "with patch_module_args(json.load(sys.stdin)):\n"
        "    esxi_reboot.main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps({**vcenter.login, **parameters}))
    process.stdin.close()
    process.stdin = None
    return process


def settled(vcenter: Vcenter) -> bool:
    """Whatever the killed run had asked for is done: one boot for each reboot, and nothing under way."""
    host = vcenter.host("esx01")
    asked = vcenter.calls().count("RebootHost_Task esx01")
    return host["connection"] == "connected" and not host["entering_maintenance"] and host["boots"] == asked


def enter_maintenance(vcenter: Vcenter, name: str) -> None:
    """What somebody else does in the vSphere client."""
    endpoint = Endpoint("127.0.0.1", USER, vcenter.password, vcenter.port, ca_path=str(vcenter.ca))
    with Connection(endpoint) as connection:
        host, _name = connection.find_hosts([name])[0]
        connection.wait(host.EnterMaintenanceMode_Task(timeout=10), "enter", name, 10)
