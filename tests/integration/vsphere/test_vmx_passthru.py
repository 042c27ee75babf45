from __future__ import annotations

import pytest

from .conftest import Run, Vcenter, change_while_on

P2P, ACS, NUMA = "pciPassthru.allowP2P", "pciPassthru.RelaxACSforP2P", "numa.nodeAffinity"


def test_running_vm_is_not_touched_under_the_default_policy(run: Run, vcenter: Vcenter) -> None:
    before = vcenter.state()
    failed = run("vmx_passthru", vm="gpu01")
    assert failed["error_code"] == "refused"
    for part in ("gpu01", f"{P2P}=TRUE", f"{ACS}=TRUE", "power_policy", "nothing was changed"):
        assert part in failed.msg
    assert vcenter.state() == before and vcenter.calls() == []


def test_check_mode_shows_the_power_off_even_where_the_policy_forbids_it(run: Run, vcenter: Vcenter) -> None:
    planned = run("vmx_passthru", check=True, vm="gpu01", numa_node_affinity=["auto"])
    assert planned["changed"] and planned["power_cycle_required"]
    assert planned["reboot_scope"] == "vm_power_cycle"
    assert any("powered off" in operation["disrupts"] for operation in planned["operations"])
    assert "real run refuses" in planned["operations"][0]["description"]
    assert vcenter.calls() == []


@pytest.mark.parametrize(("policy", "call"), [("shutdown", "ShutdownGuest"), ("poweroff", "PowerOffVM_Task")])
def test_allowed_power_cycle_brings_the_keys_into_force(run: Run, vcenter: Vcenter, policy: str, call: str) -> None:
    done = run("vmx_passthru", vm="gpu02", numa_node_affinity=["auto"], power_policy=policy)
    assert done["changed"] and done["power_state"] == "poweredOn" and not done["power_cycle_required"]
    assert vcenter.calls() == [f"{call} gpu02", "ReconfigVM_Task gpu02", "PowerOnVM_Task gpu02"]
    in_force = vcenter.vm("gpu02")["in_force"]
    assert {key: in_force[key] for key in (P2P, ACS, NUMA)} == {P2P: "TRUE", ACS: "TRUE", NUMA: "1"}
    again = run("vmx_passthru", vm="gpu02", numa_node_affinity=["auto"], power_policy=policy)
    assert not again["changed"] and again["operations"] == []


def test_only_owned_keys_are_sent_and_the_others_survive(run: Run, vcenter: Vcenter) -> None:
    before = vcenter.vm("split")["extra_config"]
    run("vmx_passthru", vm="split")
    (call,) = vcenter.ask("GET", "/calls")
    assert call["detail"] == {P2P: "TRUE", ACS: "TRUE"}
    assert {k: v for k, v in vcenter.vm("split")["extra_config"].items() if k not in (P2P, ACS)} == before


def test_key_in_another_spelling_is_the_same_key(run: Run, vcenter: Vcenter) -> None:
    run("vmx_passthru", vm="twin", folder="vm", relax_acs=False)
    assert vcenter.vm("twin")["extra_config"][ACS] == "FALSE"
    done = run("vmx_passthru", vm="twin", folder="vm", relax_acs=True)
    assert done["diff"]["before"] == {ACS: "FALSE"}


def test_final_power_on_starts_a_vm_that_was_off(run: Run, vcenter: Vcenter) -> None:
    assert vcenter.vm("db")["power"] == "off"
    done = run("vmx_passthru", vm="db", final_power="on")
    assert done["changed"] and vcenter.vm("db")["power"] == "on"
    assert not run("vmx_passthru", vm="db", final_power="on")["changed"]
    assert "peer-to-peer needs a GPU and a NIC" in done.warned


def test_as_found_leaves_a_vm_off_that_was_off(run: Run, vcenter: Vcenter) -> None:
    run("vmx_passthru", vm="split")
    assert vcenter.vm("split")["power"] == "off"


def test_silently_dropped_key_is_an_error_that_names_it_and_the_vm_runs_again(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("drop_key", vm="gpu01", key="pciPassthru.allowp2p")
    failed = run("vmx_passthru", vm="gpu01", power_policy="shutdown")
    assert failed["error_code"] == "not_in_force"
    assert failed["dropped_keys"] == [P2P]
    assert "silently left out" in failed.msg and P2P in failed.msg and "powered on again" in failed.msg
    assert vcenter.vm("gpu01")["power"] == "on"


def test_foreign_change_in_between_is_read_again_and_survives(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("concurrent_change", vm="split", count=1)
    assert run("vmx_passthru", vm="split")["changed"]
    assert vcenter.calls() == ["ReconfigVM_Task split"] * 2


def test_vm_that_keeps_changing_is_given_up(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("concurrent_change", vm="split")
    failed = run("vmx_passthru", vm="split")
    assert "ConcurrentAccess" in failed.msg and failed["error_code"] == "apply_failed"
    assert len(vcenter.calls()) == 2


def test_gpu_and_nic_on_different_nodes_are_refused_with_the_topology(run: Run, vcenter: Vcenter) -> None:
    failed = run("vmx_passthru", vm="split", numa_node_affinity=["auto"])
    assert failed["error_code"] == "refused"
    for part in ("split", "esx04", "0000:3b:00.0", "NUMA node 0", "0000:b1:00.0", "NUMA node 1", "nothing was changed"):
        assert part in failed.msg
    assert vcenter.calls() == []
    vcenter.fault("numa_mismatch", vm="gpu01")
    assert "different NUMA nodes" in run("vmx_passthru", vm="gpu01", numa_node_affinity=["auto"]).msg


def test_host_that_names_no_node_is_not_guessed(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("numa_unknown", vm="split")
    done = run("vmx_passthru", vm="split", numa_node_affinity=["auto"])
    assert done["changed"] and NUMA not in vcenter.vm("split")["extra_config"]
    assert "which node" in done.warned and "0000:3b:00.0" in done.warned


def test_missing_node_is_refused(run: Run) -> None:
    assert "NUMA nodes 0, 1" in run("vmx_passthru", vm="split", numa_node_affinity=["7"]).msg


def test_empty_list_leaves_the_affinity_alone_and_absent_removes_it(run: Run, vcenter: Vcenter) -> None:
    run("vmx_passthru", vm="split", numa_node_affinity=["0", "1"])
    assert vcenter.vm("split")["extra_config"][NUMA] == "0,1"
    assert not run("vmx_passthru", vm="split", numa_node_affinity=["1", "0"])["changed"]
    assert not run("vmx_passthru", vm="split", numa_node_affinity=[])["changed"]
    assert vcenter.vm("split")["extra_config"][NUMA] == "0,1"
    done = run("vmx_passthru", vm="split", numa_node_affinity=["absent"])
    assert done["settings"][NUMA] is None
    assert NUMA not in vcenter.vm("split")["extra_config"]


def test_missing_vm_lists_those_that_exist(run: Run) -> None:
    failed = run("vmx_passthru", vm="gpu99")
    assert "'gpu99'" in failed.msg and "gpu01" in failed.msg and "nothing was changed" in failed.msg


def test_two_vms_of_one_name_need_a_folder_or_id(run: Run, vcenter: Vcenter) -> None:
    failed = run("vmx_passthru", vm="twin")
    assert failed["error_code"] == "refused"
    assert "lab-dc/vm/twin" in failed.msg and "lab-dc/vm/archive/twin" in failed.msg
    assert vcenter.calls() == []
    one = run("vmx_passthru", vm="twin", folder="lab-dc/vm/archive")
    assert one["vm_moid"] in failed["candidates"]
    assert run("vmx_passthru", vm=failed["candidates"][0], check=True)["vm"] == "twin"
    assert "not with folder" in run("vmx_passthru", vm="twin", folder="nowhere").msg


def test_duplicate_that_appears_later_is_refused_too(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("duplicate_vm", vm="gpu03")
    assert "lab-dc/vm/copies/gpu03" in run("vmx_passthru", vm="gpu03").msg
    vcenter.heal()
    assert run("vmx_passthru", vm="gpu03", check=True)["vm"] == "gpu03"


@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        ({"0": "0000:3b:00.0"}, "not an NVIDIA GPU"),
        ({"1": "0000:ff:00.0"}, "no such PCI device"),
        ({"5": "0000:3d:00.0"}, "2 passthrough devices"),
        ({"1": "3d"}, "not a PCI address"),
        ({"first": "0000:3d:00.0"}, "device numbers are 0, 1, 2"),
    ],
)
def test_wrong_gpu_address_is_refused(run: Run, vcenter: Vcenter, ids: dict[str, str], reason: str) -> None:
    failed = run("vmx_passthru", vm="split", gpu_pci_ids=ids)
    assert reason in failed.msg and failed["error_code"] == "refused"
    assert vcenter.calls() == []


def test_gpu_address_is_written_in_canonical_form(run: Run, vcenter: Vcenter) -> None:
    run("vmx_passthru", vm="split", gpu_pci_ids={"1": "3D:00.0"})
    assert vcenter.vm("split")["extra_config"]["pciPassthru1.cfg.gpu-pci-id"] == "0000:3d:00.0"
    assert not run("vmx_passthru", vm="split", gpu_pci_ids={"1": "0000:3d:00.0"})["changed"]


def test_missing_prerequisites_are_warned_about_and_power_on_failure_names_the_reason(run: Run) -> None:
    found = run("vmx_passthru", vm="bare", check=True).warned
    assert "not fully reserved" in found and "firmware is bios" in found
    failed = run("vmx_passthru", vm="bare", final_power="on")
    assert "memory reservation" in failed.msg and failed["undo"]


def test_guest_without_tools_is_not_shut_down(run: Run, vcenter: Vcenter) -> None:
    vcenter.ask("POST", "/guest", {"vm": "gpu01", "tools": "notRunning"})
    failed = run("vmx_passthru", vm="gpu01", power_policy="shutdown")
    assert "Tools do not" in failed.msg and vcenter.calls() == []


def test_guest_that_ignores_the_shutdown_ends_with_the_timeout(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("guest_ignores_shutdown", vm="gpu01")
    failed = run("vmx_passthru", vm="gpu01", power_policy="shutdown", shutdown_timeout=1)
    assert "still running after 1 s" in failed.msg
    assert vcenter.calls() == ["ShutdownGuest gpu01"]


def test_vm_that_waits_for_an_answer_is_refused(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("vm_question", vm="split", text="moved or copied?")
    assert "moved or copied?" in run("vmx_passthru", vm="split").msg


def test_failed_task_is_reported_with_fault_and_sentence(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("task_error", method="ReconfigVM_Task", vm="split", fault="InvalidVmConfig", message="no such luck")
    failed = run("vmx_passthru", vm="split")
    assert "InvalidVmConfig" in failed.msg and "no such luck" in failed.msg


def test_keys_changed_after_power_on_wait_for_a_power_cycle(run: Run, vcenter: Vcenter) -> None:
    """Older releases let a running VM's keys change; the file is then right and nothing is in force."""
    vcenter.fault("hot_change_allowed", vm="gpu01")
    change_while_on(vcenter, "gpu01", {P2P: "TRUE", ACS: "TRUE"})
    seen = run("vmx_passthru", vm="gpu01")
    assert not seen["changed"] and seen["power_cycle_required"] and seen["reboot_scope"] == "vm_power_cycle"
    cycled = run("vmx_passthru", vm="gpu01", power_policy="shutdown")
    assert cycled["changed"] and not cycled["power_cycle_required"]
    assert vcenter.vm("gpu01")["in_force"][P2P] == "TRUE"
