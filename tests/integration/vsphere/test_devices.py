"""Devices that the VM does not name itself, VMs that come with nothing set, and a cluster with DRS."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from .conftest import Pki, Result, Vcenter, run_module, start
from .patience import shorten

NUMA, SIZE, MMIO = "numa.nodeAffinity", "pciPassthru.64bitMMIOSizeGB", "pciPassthru.use64bitMMIO"
DYNAMIC_GPU, FIXED_NIC = {"kind": "gpu", "backing": "dynamic"}, {"kind": "nic"}
VGPU = {"kind": "gpu", "backing": "vgpu", "profile": "grid_a100-40c"}


def off(name: str, *devices: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"name": name, "power": "off", "node": 0, **({"devices": list(devices)} if devices else {}), **rest}


SITE = {
    "datacenter": "lab-dc",
    "cluster": "lab",
    "drs": True,
    "boot_seconds": 0.3,
    "shutdown_seconds": 0.05,
    "hosts": [
        {
            "name": "esx01",
            "vms": [
                off("dynamic", DYNAMIC_GPU, {"kind": "nic", "backing": "sriov"}),
                off("vgpu", FIXED_NIC, VGPU, node=1),
                off("group", {**VGPU, "group": 1}, {"kind": "nic", "backing": "dynamic", "group": 1}, node=1),
                off("gap", {"kind": "gpu", "number": 1}),
                off("many", *[{"kind": "gpu", "address": "0000:8a:00.0"}] * 20, hardware=21, node=1),
                off("few", *[{"kind": "gpu", "address": "0000:8a:00.0"}] * 20, hardware=19, node=1),
                off("fresh", configured=False),
            ],
        },
        {"name": "esx02", "vms": []},
        {"name": "esx03", "firmware_tables": "incomplete", "vms": [off("placeless")]},
    ],
}


@pytest.fixture(scope="module")
def site(binary: pathlib.Path, pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vcenter]:
    vcenter = start(binary, pki, tmp_path_factory.mktemp("devices"), SITE)
    yield vcenter
    vcenter.process.terminate()
    vcenter.process.wait(timeout=10)


@pytest.fixture
def vcenter(site: Vcenter) -> Vcenter:
    site.ask("POST", "/reset")
    return site


def vmx(vcenter: Vcenter, vm: str, check: bool = False, **options: Any) -> Result:
    return run_module("vmx_passthru", {**vcenter.login, "vm": vm, **options}, check)


AUTO: dict[str, Any] = {"numa_node_affinity": ["auto"], "mmio_size_gb": "auto", "final_power": "on"}


@pytest.mark.parametrize(
    ("vm", "reason"),
    [
        ("dynamic", "Dynamic DirectPath, chosen at power-on) is decided at the next power-on, on host esx01"),
        ("vgpu", "vGPU grid_a100-40c) is decided at the next power-on, its node is not known"),
        ("group", "member of device group 1"),
        ("placeless", "host esx03 does not say which node GPU"),
    ],
    ids=["dynamic_directpath", "vgpu", "device_group", "firmware_without_nodes"],
)
def test_what_cannot_be_known_is_left_alone_with_a_warning_and_the_vm_powers_on(
    vcenter: Vcenter, vm: str, reason: str
) -> None:
    done = vmx(vcenter, vm, **AUTO)
    assert not done.failed, done.msg
    assert vcenter.vm(vm)["power"] == "on" and NUMA not in vcenter.vm(vm)["extra_config"]
    assert reason in done.warned and "left alone" in done.warned
    assert done["left_alone"] and done["resolved"]["numa_node_affinity"] is None
    again = vmx(vcenter, vm, **AUTO)
    assert not again["changed"] and again["operations"] == []


def test_gpu_address_of_a_vgpu_tells_its_node(vcenter: Vcenter) -> None:
    done = vmx(vcenter, "vgpu", numa_node_affinity=["auto"], gpu_pci_ids={"1": "0000:b1:00.0"})
    assert not done.failed, done.msg
    assert vcenter.vm("vgpu")["extra_config"][NUMA] == "1" and done["left_alone"] == []


def test_plan_made_for_another_host_leaves_what_is_bound_to_that_host_alone(vcenter: Vcenter) -> None:
    done = vmx(vcenter, "fresh", numa_node_affinity=["0"], planned_host="host-99")
    assert not done.failed and NUMA not in vcenter.vm("fresh")["extra_config"]
    assert "for host host-99" in done.warned


def test_sriov_card_shows_the_physical_function_that_it_has_at_present(vcenter: Vcenter) -> None:
    def card(found: Result) -> Any:
        return next(device for device in found["devices"] if device["index"] == -1)

    before = card(vmx(vcenter, "dynamic", check=True))
    assert (before["assignment"], before["address"], before["kind"]) == ("automatic", "", "nic")
    assert before["candidates"] == ["0000:1b:00.0", "0000:88:00.0"]
    after = card(vmx(vcenter, "dynamic", final_power="on"))
    assert after["address"] in vcenter.vm("dynamic")["assigned"]


def test_power_on_names_the_host_so_drs_moves_nothing(vcenter: Vcenter) -> None:
    done = vmx(vcenter, "dynamic", final_power="on")
    assert not done.failed and vcenter.vm("dynamic")["host"] == "esx01" == done["esxi_host"]
    (call,) = [call for call in vcenter.ask("GET", "/calls") if call["method"] == "PowerOnVM_Task"]
    assert call["detail"] == {"host": "esx01"}


def test_power_on_that_ends_on_another_host_is_an_error_that_names_both(vcenter: Vcenter) -> None:
    vcenter.fault("power_on_elsewhere", vm="group", host="esx02")
    failed = vmx(vcenter, "group", final_power="on")
    assert failed["error_code"] == "not_in_force"
    assert "on host esx02 and not on esx01" in failed.msg and "VM override of DRS" in failed.msg


def test_gap_in_the_numbers_refuses_a_gpu_address(vcenter: Vcenter) -> None:
    failed = vmx(vcenter, "gap", gpu_pci_ids={"0": "0000:3d:00.0"})
    assert failed["error_code"] == "refused" and "calls itself PCI device 1 (key 13001)" in failed.msg
    assert vcenter.calls() == []
    assert not vmx(vcenter, "gap").failed, "what needs no number goes on"


def test_as_many_devices_as_the_hardware_version_allows(vcenter: Vcenter) -> None:
    assert vmx(vcenter, "many", gpu_pci_ids={"17": "0000:8a:00.0"})["changed"]
    assert vcenter.vm("many")["extra_config"]["pciPassthru17.cfg.gpu-pci-id"] == "0000:8a:00.0"
    failed = vmx(vcenter, "few", gpu_pci_ids={"17": "0000:8a:00.0"})
    assert "hardware version 19 on release 8.0.2 has at most 16 passthrough devices" in failed.msg


def changes(found: Result) -> dict[str, tuple[Any, Any]]:
    return {change["key"]: (change["before"], change["after"]) for change in found["changes"]}


def test_reservation_and_its_lock_go_together(vcenter: Vcenter) -> None:
    lock, number = "memoryReservationLockedToMax", "memoryAllocation.reservation"
    vmx(vcenter, "gap")
    done = vmx(vcenter, "gap", reserve_memory=False)
    assert not done.failed and changes(done) == {lock: (True, False), number: (65536, 0)}
    assert not vmx(vcenter, "gap", reserve_memory=False)["changed"]
    assert "not fully reserved" in done.warned
    assert changes(vmx(vcenter, "gap", reserve_memory=True)) == {lock: (False, True)}
    assert changes(vmx(vcenter, "gap", check=True, reserve_memory=False))[number] == (65536, 0)


def test_vm_as_it_comes_powers_on_only_with_what_its_devices_need(vcenter: Vcenter) -> None:
    failed = vmx(vcenter, "fresh", final_power="on")
    assert "Missing for" in failed.msg and "is powered off" in failed.msg
    small = vmx(vcenter, "fresh", reserve_memory=True, use_64bit_mmio=True, mmio_size_gb="64", final_power="on")
    assert "64bitMMIOSizeGB is 64, needed: at least 128" in small.msg
    done = vmx(vcenter, "fresh", reserve_memory=True, use_64bit_mmio=True, **AUTO)
    assert not done.failed, done.msg
    extra = vcenter.vm("fresh")["in_force"]
    assert (extra[MMIO], extra[SIZE], extra[NUMA]) == ("TRUE", "128", "0")


def test_plan_of_a_running_vm_is_applied_as_it_was_made(vcenter: Vcenter) -> None:
    assert not vmx(vcenter, "vgpu", final_power="on").failed
    planned = vmx(vcenter, "vgpu", check=True, numa_node_affinity=["auto"], gpu_pci_ids={"1": "0000:b1:00.0"})
    wanted = {key: value for key, value in planned["resolved"].items() if value is not None}
    assert wanted["numa_node_affinity"] == ["1"]
    done = vmx(
        vcenter, "vgpu", **wanted, planned_host=planned["esxi_host_moid"], power_policy="shutdown", final_power="on"
    )
    assert not done.failed and done["changes"] == planned["changes"]
    assert vcenter.vm("vgpu")["in_force"][NUMA] == "1"


# ---------------------------------------------------------------- answers that are lost
RUNNING: dict[str, Any] = {"power_policy": "shutdown", "shutdown_timeout": 8, "power_timeout": 8}


@pytest.fixture
def running(vcenter: Vcenter, monkeypatch: pytest.MonkeyPatch) -> Vcenter:
    shorten(monkeypatch, 3.0)
    assert not vmx(vcenter, "vgpu", power_only=True, final_power="on").failed
    vcenter.ask("DELETE", "/calls")
    return vcenter


@pytest.mark.parametrize("method", ["ShutdownGuest", "ReconfigVM_Task", "PowerOnVM_Task"])
def test_lost_answer_is_followed_to_the_end(running: Vcenter, method: str) -> None:
    running.fault("vcenter_restart_after", method=method, seconds=1, count=1)
    done = vmx(running, "vgpu", **RUNNING)
    assert not done.failed, done.msg
    assert running.vm("vgpu")["power"] == "on"
    assert running.calls() == ["ShutdownGuest vgpu", "ReconfigVM_Task vgpu", "PowerOnVM_Task vgpu"]


@pytest.mark.parametrize("method", ["ReconfigVM_Task", "PowerOnVM_Task"])
def test_request_that_never_arrived_leaves_a_running_vm_or_says_what_starts_it(running: Vcenter, method: str) -> None:
    running.fault("drop_connection", method=method, count=1)
    failed = vmx(running, "vgpu", **RUNNING)
    assert failed["error_code"] == "unreachable"
    if method == "ReconfigVM_Task":
        assert "was powered on" in failed.msg and running.vm("vgpu")["power"] == "on"
        return
    assert "is powered off" in failed.msg
    assert "To start it: ansible localhost -m rocemesh.multinode.vmx_passthru -a" in failed.msg
    assert not vmx(running, **failed["resume"]).failed and running.vm("vgpu")["power"] == "on"


def test_vcenter_that_stays_away_after_a_shutdown_is_told_as_what_may_be_off(running: Vcenter) -> None:
    running.fault("vcenter_restart_after", method="ShutdownGuest", seconds=3600, count=1)  # until the next reset
    failed = vmx(running, "vgpu", power_policy="shutdown", shutdown_timeout=1, power_timeout=1)
    assert "may be powered" in failed.msg and "To start it: ansible localhost" in failed.msg
    running.ask("POST", "/reset")
