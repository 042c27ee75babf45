"""The lease of a datacenter at every age, and what VMs may do meanwhile."""

from __future__ import annotations

import contextlib
import datetime
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere import run_identity
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.ownership import Lease, write_lease
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.run_identity import Run
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import Endpoint, vim

from .conftest import USER, WINDOWS, Pki, Result, Vcenter, run_module, start
from .patience import Quick
from .test_reboot import wait_until
from .windows import WINDOW, Killer, admin, dead_process, killed_run, marks, run_as

ALL = ["esx01", "esx02", "esx03"]


@pytest.fixture
def vcenter(quick: Vcenter) -> Vcenter:
    quick.ask("POST", "/reset")
    return quick


@contextlib.contextmanager
def client(vcenter: Vcenter) -> Iterator[Any]:
    with Quick(Endpoint("127.0.0.1", USER, vcenter.password, vcenter.port, ca_path=str(vcenter.ca))) as connection:
        yield connection


def lease(vcenter: Vcenter, text: str | None) -> None:
    """Somebody has the lease, with this value on the datacenter (None: not signed yet)."""
    with client(vcenter) as connection:
        ((datacenter, _row),) = connection.listed((vim.Datacenter, ["name"]))
        manager = connection.content.customFieldsManager
        made = manager.AddFieldDefinition(name=f"rocemesh.lease.{datacenter._moId}", moType=vim.Datacenter)
        if text is not None:
            manager.SetField(entity=datacenter, key=made.key, value=text)


def held_by(name: str, ends_in: float, process: str = "") -> str:
    now = datetime.datetime.now(datetime.timezone.utc)
    since = now - datetime.timedelta(minutes=7)
    until = now + datetime.timedelta(seconds=ends_in)
    return write_lease(Lease(Run(name, "ctl-" + name, process), "LAB\\anna", since, now, until))


LIVE = {
    "other_machine": "",
    "own_process": f"{run_identity._machine()}.{os.getpid()}.{run_identity._process(os.getpid()).start}",
}


@pytest.mark.parametrize("process", LIVE.values(), ids=LIVE)
def test_live_lease_of_another_run_is_refused_by_name(vcenter: Vcenter, process: str) -> None:
    lease(vcenter, held_by("anna1", 600, process))
    before = vcenter.state()
    failed = run_as(vcenter, "mine", **WINDOW)
    assert failed["error_code"] == "refused" and "nothing was changed" in failed.msg and vcenter.state() == before
    for words in ("run anna1 on controller ctl-anna1 as LAB\\anna", "(7 min ago)", "rocemesh_take_over=anna1"):
        assert words in failed.msg
    assert "run=anna1" in marks(vcenter)[0], "the lease of the other run stays"
    assert run_as(vcenter, "mine", esxi_hostname="esx01", in_maintenance="recover")["error_code"] == "refused"
    assert run_as(vcenter, "mine", "esxi_window", esxi_hostnames=ALL)["error_code"] == "refused"


TAKEN = {
    "expired": held_by("dead1", -1),
    "process_gone": held_by("dead1", 600, dead_process()),
    "pid_of_another_process": held_by("dead1", 600, f"{run_identity._machine()}.{os.getpid()}.1"),
    "not_signed": None,
}


@pytest.mark.parametrize("text", TAKEN.values(), ids=TAKEN)
def test_dead_lease_is_taken_and_nothing_of_it_is_left(vcenter: Vcenter, text: str | None) -> None:
    lease(vcenter, text)
    done = run_as(vcenter, "mine", **WINDOW)
    assert done["rebooted"], done.msg
    assert marks(vcenter) == []


def test_mark_that_is_defined_for_vms_refuses_before_anything_stops(vcenter: Vcenter) -> None:
    with client(vcenter) as connection:
        connection.content.customFieldsManager.AddFieldDefinition(name="rocemesh.window", moType=vim.VirtualMachine)
    before = vcenter.state()
    failed = run_as(vcenter, "mine", **WINDOW)
    assert failed["error_code"] == "refused" and "rocemesh.window" in failed.msg, failed.msg
    assert "another kind of" in failed.msg and vcenter.state() == before
    assert marks(vcenter) == []


def test_process_of_another_boot_or_namespace_is_not_known_to_be_gone(vcenter: Vcenter) -> None:
    lease(vcenter, held_by("far", 600, "0badc0de.1.99999999.1"))
    assert run_as(vcenter, "mine", **WINDOW)["error_code"] == "refused"


def test_lease_is_taken_over_only_under_its_own_name(vcenter: Vcenter) -> None:
    lease(vcenter, held_by("anna1", 600))
    assert run_as(vcenter, "mine", **WINDOW, take_over="bert2")["error_code"] == "refused"
    assert run_as(vcenter, "mine", **WINDOW, take_over="anna1")["rebooted"]


def test_attribute_that_is_no_lease_is_shown_and_left(vcenter: Vcenter) -> None:
    lease(vcenter, "do not touch, Anna")
    failed = run_as(vcenter, "mine", **WINDOW)
    assert failed["error_code"] == "refused" and "do not touch, Anna" in failed.msg and vcenter.calls() == []
    assert marks(vcenter) == ["do not touch, Anna"]


def test_attribute_that_is_no_mark_is_shown_and_left(vcenter: Vcenter) -> None:
    run_as(vcenter, "mine", **WINDOW)
    with client(vcenter) as connection:
        host, _name = connection.find_hosts(["esx01"])[0]
        manager = connection.content.customFieldsManager
        manager.SetField(entity=host, key=manager.field[0].key, value="Anna's note")
    vcenter.ask("DELETE", "/calls")
    failed = run_as(vcenter, "mine", **WINDOW)
    assert failed["error_code"] == "refused" and "Anna's note" in failed.msg and vcenter.calls() == []
    assert marks(vcenter) == ["Anna's note"]


def test_check_mode_takes_no_lease_and_names_the_holder(vcenter: Vcenter) -> None:
    planned = run_as(vcenter, "mine", check=True, **WINDOW)
    assert planned["changed"] and vcenter.ask("GET", "/fields") == {"": {}}
    assert not run_as(vcenter, "mine", "esxi_window", check=True, esxi_hostnames=ALL, lease="held")["changed"]
    assert vcenter.ask("GET", "/fields") == {"": {}}
    lease(vcenter, held_by("anna1", 600))
    assert "anna1" in run_as(vcenter, "mine", "esxi_window", check=True, esxi_hostnames=ALL, lease="held").msg


def test_lease_of_the_play_outlives_each_host_and_ends_when_told(vcenter: Vcenter) -> None:
    assert run_as(vcenter, "mine", "esxi_window", esxi_hostnames=ALL, lease="held")["changed"]
    assert not run_as(vcenter, "mine", "esxi_window", esxi_hostnames=ALL, lease="held")["changed"]
    assert run_as(vcenter, "mine", **WINDOW)["rebooted"]
    assert len(marks(vcenter)) == 1 and "run=mine" in marks(vcenter)[0]
    assert not run_as(vcenter, "other", "esxi_window", esxi_hostnames=ALL, lease="released")["changed"]
    assert "run mine" in run_as(vcenter, "other", **{**WINDOW, "esxi_hostname": "esx02", "vm_allowlist": ["gpu03"]}).msg
    assert run_as(vcenter, "mine", "esxi_window", esxi_hostnames=ALL, lease="released")["changed"]
    assert marks(vcenter) == []


def test_holder_that_slept_through_its_expiry_stops_before_it_stops_anything(vcenter: Vcenter) -> None:
    run_as(vcenter, "slow", "esxi_window", esxi_hostnames=ALL, lease="held")
    with client(vcenter) as connection:
        manager = connection.content.customFieldsManager
        manager.RemoveFieldDefinition(key=next(f.key for f in manager.field if f.name.startswith("rocemesh.lease")))
    lease(vcenter, held_by("next1", 600))
    failed = run_as(vcenter, "slow", **WINDOW)
    assert "run next1" in failed.msg and vcenter.calls() == []


def test_waiting_gives_signs_of_life(vcenter: Vcenter) -> None:
    vcenter.fault("host_never_returns", host="esx01")
    vcenter.ask("DELETE", "/traffic")
    run_as(vcenter, "mine", **{**WINDOW, "reboot_timeout": 60}, lease_seconds=60)
    assert vcenter.ask("GET", "/traffic")["methods"]["SetField"] >= 9, "one each quarter of its time, besides the steps"


def test_reboot_that_was_planned_for_another_boot_is_not_carried_out(vcenter: Vcenter) -> None:
    seen = run_as(vcenter, "mine", "esxi_window", esxi_hostnames=ALL)["hosts"][0]["boot_time"]
    admin(vcenter, "reboot", host="esx01")
    late = run_as(vcenter, "mine", **WINDOW, only_if_booted_at=seen)
    assert not late["changed"] and "another client rebooted" in late.warned and vcenter.calls() == []
    run_as(vcenter, "mine", "esxi_kernel_setting", esxi_hostname="esx01", settings={"atsSupport": True})
    waits = run_as(vcenter, "mine", **WINDOW, only_if_booted_at=seen, pending_settings=["atsSupport"])
    assert waits["rebooted"] and waits["reasons"] == [
        "kernel setting atsSupport is configured TRUE but FALSE is in force"
    ]


def test_required_reboot_happens_while_the_host_runs_since_the_planned_boot(vcenter: Vcenter) -> None:
    seen = run_as(vcenter, "mine", "esxi_window", esxi_hostnames=ALL)["hosts"][0]["boot_time"]
    assert run_as(vcenter, "mine", **WINDOW, only_if_booted_at=seen)["rebooted"]
    assert not run_as(vcenter, "mine", **WINDOW, only_if_booted_at=seen)["changed"], "the second order is the first one"
    assert "ISO 8601" in run_as(vcenter, "mine", **WINDOW, only_if_booted_at="yesterday").msg


# ---------------------------------------------------------------- VMs that are not ours
ESX03 = {**WINDOW, "esxi_hostname": "esx03", "vm_allowlist": ["gpu04"]}


def test_embedded_vcls_is_left_to_vcenter(vcenter: Vcenter) -> None:
    failed = run_as(vcenter, "mine", **ESX03)
    assert "web01 is powered" in failed.msg and "not in vm_allowlist" in failed.msg
    assert "vCLS" not in failed.msg.partition("vms_shut")[0]
    done = run_as(vcenter, "mine", **{**ESX03, "vm_allowlist": ["gpu04", "web01"]})
    assert done["rebooted"], done.msg
    assert not [call for call in vcenter.calls() if "vCLS" in call], "vCenter moves it by itself"


def test_evacuation_moves_what_can_move_and_stops_what_is_listed(vcenter: Vcenter) -> None:
    planned = run_as(vcenter, "mine", check=True, **{**ESX03, "vm_policy": "evacuate"})
    assert [row["command"].split(" evac")[0] for row in planned["operations"]][:3] == [
        "MigrateVM_Task web01 to esx02",
        "ShutdownGuest gpu04",
        "EnterMaintenanceMode_Task esx03",
    ]
    done = run_as(vcenter, "mine", **{**ESX03, "vm_policy": "evacuate"})
    assert done["rebooted"] and done["vms_moved"] == ["web01"], done.msg
    assert (vcenter.vm("web01")["host"], vcenter.vm("web01")["power"]) == ("esx02", "on")
    assert "ShutdownGuest web01" not in vcenter.calls() and vcenter.vm("gpu04")["power"] == "on"


def test_evacuation_does_not_stop_a_passthrough_vm_that_is_not_listed(vcenter: Vcenter) -> None:
    failed = run_as(vcenter, "mine", **{**ESX03, "vm_policy": "evacuate", "vm_allowlist": []})
    assert "gpu04 is powered" in failed.msg and "vm_allowlist, and its passthrough" in failed.msg
    assert vcenter.calls() == []


def test_vm_that_cannot_be_moved_stops_the_reboot_before_anything_else(vcenter: Vcenter) -> None:
    vcenter.fault("task_error", method="MigrateVM_Task", fault="MigrationFault", message="its ISO is local")
    failed = run_as(vcenter, "mine", **{**ESX03, "vm_policy": "evacuate"})
    assert "move web01 to esx02" in failed.msg and "its ISO is local" in failed.msg
    assert vcenter.calls() == ["MigrateVM_Task web01"] and marks(vcenter) == []


def test_evacuation_needs_an_open_host(vcenter: Vcenter) -> None:
    for name, vms in (("esx01", ["gpu01", "gpu02"]), ("esx02", ["gpu03"])):
        for vm in vms:
            admin(vcenter, "off", vm=vm)
        admin(vcenter, "enter", host=name)
    failed = run_as(vcenter, "mine", **{**ESX03, "vm_policy": "evacuate"})
    assert "no other host of its cluster is connected and open for web01" in failed.msg and vcenter.calls() == []


def test_drs_moves_vms_by_itself(binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path) -> None:
    vcenter = start(binary, pki, tmp_path, {**WINDOWS, "drs": True})
    try:
        done = run_as(vcenter, "mine", **{**ESX03, "vm_policy": "evacuate"})
        assert done["rebooted"], done.msg
        assert vcenter.vm("web01")["host"] != "esx03" and "MigrateVM_Task web01" not in vcenter.calls()
    finally:
        vcenter.process.terminate()
        vcenter.process.wait(timeout=10)


def test_vms_are_named_by_id_where_names_repeat(vcenter: Vcenter) -> None:
    vcenter.fault("duplicate_vm", vm="gpu01")
    with client(vcenter) as connection:
        vms = {row["name"]: vm._moId for vm, row in reversed(connection.listed((vim.VirtualMachine, ["name"])))}
    done = run_as(vcenter, "mine", **{**WINDOW, "vm_allowlist": [vms["gpu01"], vms["gpu02"]]})
    assert done["rebooted"] and done["vms_powered_on"] == ["gpu01", "gpu02"], done.msg


def test_failure_before_the_reboot_starts_the_vms_even_if_they_should_stay_off(vcenter: Vcenter) -> None:
    vcenter.fault("no_permission", method="RebootHost_Task")
    failed = run_as(vcenter, "mine", **WINDOW, restore_vms=False)
    assert "Powered on again: gpu01, gpu02" in failed.msg
    vcenter.heal()
    assert run_as(vcenter, "mine", **WINDOW, restore_vms=False)["vms_shut_down"] == ["gpu01", "gpu02"]
    assert vcenter.vm("gpu01")["power"] == "off"


def test_guests_are_asked_side_by_side(vcenter: Vcenter) -> None:
    """Were they asked one after another, the second would only be asked when the first is off."""
    vcenter.fault("guest_ignores_shutdown", vm="gpu01")
    failed: Result = run_as(vcenter, "mine", **WINDOW)
    assert vcenter.calls()[:2] == ["ShutdownGuest gpu01", "ShutdownGuest gpu02"] and "gpu01" in failed.msg


def test_a_guest_is_never_cut_off_unless_told(vcenter: Vcenter) -> None:
    vcenter.fault("guest_ignores_shutdown", vm="gpu01")
    run_as(vcenter, "mine", **WINDOW)
    assert "PowerOffVM_Task gpu01" not in vcenter.calls()


def test_run_is_named_by_its_playbook_process(vcenter: Vcenter) -> None:
    one, two = run_identity.current_run(), run_identity.current_run()
    assert one == two and one.process, "each call in one process is the same run"
    assert not run_identity.is_gone(one.process) and run_identity.is_gone(dead_process())
    assert run_identity.current_run("nightly window").name == "nightly_window"


def test_a_killed_run_does_not_hold_up_its_own_controller(vcenter: Vcenter) -> None:
    killed_run(vcenter, Killer("ShutdownGuest", "after", 2), **WINDOW)
    wait_until(lambda: vcenter.vm("gpu01")["power"] == vcenter.vm("gpu02")["power"] == "off")
    done = run_as(vcenter, "again", **WINDOW, power_on=["gpu01", "gpu02"])
    assert done["rebooted"] and vcenter.vm("gpu01")["power"] == "on"


def test_modules_say_which_run_they_are(vcenter: Vcenter) -> None:
    named = run_module("esxi_window", {**vcenter.login, "esxi_hostnames": ALL, "run_name": "nightly"})
    assert named["run"] == "nightly"
