"""docs/vsphere-rules.md as a table of checks: every number has at least one, and stands in the id of its test."""

from __future__ import annotations

import dataclasses
import datetime
import http.client
import importlib
import re
import ssl
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    ApplyError,
    CredentialError,
    LayerError,
    Reboot,
    RefusedError,
    UnreachableError,
    VerifyError,
    converge,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.gpus import mmio_size_for
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.inventory import PciFilter, pci_reports
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.keys import VmxWanted, is_owned
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.layers import VmxLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.lease import (
    LeaseLostError,
    LeaseWanted,
    SiteLease,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.ownership import (
    MaintenanceEvent,
    Mark,
    not_ours,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan import (
    KernelWanted,
    is_security_setting,
    plan_kernel,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan_reboot import RebootWanted, Timeouts
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.reboot import RebootLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.records import CustomFields
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.run_identity import Run
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.state import KernelSetting, KernelState
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import (
    Connection,
    GoneError,
    SessionLostError,
    fault_text,
    translated,
    vim,
    vmodl,
)

from tests import site_run
from tests.unit.decisions import decide
from tests.unit.vsphere.fakes import BOOT, ENDPOINT, Attributes, FakeSite, host_row, passthrough, vm_row

P2P, ACS, NUMA = "pciPassthru.allowP2P", "pciPassthru.RelaxACSforP2P", "numa.nodeAffinity"
SIZE = "pciPassthru.64bitMMIOSizeGB"
SET = {P2P: "TRUE", ACS: "TRUE"}
RULES: list[tuple[str, Callable[[], None]]] = []


def rule(number: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def keep(check: Callable[[], None]) -> Callable[[], None]:
        RULES.append((number, check))
        return check

    return keep


def vmx(site: FakeSite, wanted: VmxWanted | None = None) -> dict[str, Any]:
    wanted = wanted or VmxWanted()
    return converge(VmxLayer(site, "gpu01", wanted), wanted, check_mode=wanted.plan_only)


def refused(site: FakeSite, wanted: VmxWanted, text: str) -> None:
    with pytest.raises(RefusedError, match=text) as caught:
        vmx(site, wanted)
    assert "nothing was changed" in str(caught.value) and "gpu01" in str(caught.value)
    assert site.calls == []


def spec(site: FakeSite) -> Any:
    return next(a["spec"] for a in site.arguments if "spec" in a)


def sent(site: FakeSite) -> dict[str, Any]:
    return {option.key: option.value for option in spec(site).extraConfig}


def reboot(site: FakeSite, wanted: RebootWanted | None = None, **limits: float) -> dict[str, Any]:
    wanted = wanted or RebootWanted(required=True, vm_policy="shutdown", vm_allowlist=("gpu01",))
    return converge(RebootLayer(site, "esx01", wanted, Timeouts(**limits)), wanted)


def running() -> FakeSite:
    return FakeSite(vm_row(power="poweredOn"))


STEPS = [
    "ShutdownGuest",
    "EnterMaintenanceMode_Task",
    "RebootHost_Task",
    "ExitMaintenanceMode_Task",
    "PowerOnVM_Task",
]


# ---------------------------------------------------------------- 5.1 keys
@rule("5.1.1")
def replaced_added_removed() -> None:
    site = FakeSite(vm_row(extra={P2P: "FALSE", NUMA: "1"}))
    done = vmx(site, VmxWanted(numa=("absent",)))
    assert sent(site) == {P2P: "TRUE", ACS: "TRUE", NUMA: ""}
    assert done["settings"] == {P2P: "TRUE", ACS: "TRUE", NUMA: None}


@rule("5.1.1")
def missing_privilege_is_named() -> None:
    site = FakeSite()
    site.faults["ReconfigVM_Task"] = [vim.fault.NoPermission(privilegeId="VirtualMachine.Config.AdvancedConfig")]
    with pytest.raises(CredentialError, match=r"VirtualMachine\.Config\.AdvancedConfig"):
        vmx(site)


@rule("5.1.2")
def dropped_key_is_named() -> None:
    site = FakeSite()
    site.drops = {P2P}
    with pytest.raises(VerifyError, match=r"silently left out pciPassthru\.allowP2P") as caught:
        vmx(site)
    assert caught.value.details["dropped_keys"] == [P2P]


@rule("5.1.3")
def only_text_is_sent() -> None:
    site = FakeSite(vm_row(extra={SIZE: "64"}))
    vmx(site, VmxWanted(mmio_size_gb=256, numa=("1", "0"), gpu_pci_ids={1: "3D:00.0"}))
    assert all(isinstance(value, str) for value in sent(site).values())
    assert sent(site) == {
        P2P: "TRUE",
        ACS: "TRUE",
        SIZE: "256",
        NUMA: "0,1",
        "pciPassthru1.cfg.gpu-pci-id": "0000:3d:00.0",
    }


@rule("5.1.3")
def keys_compare_without_case() -> None:
    site = FakeSite(vm_row(extra={"PCIPASSTHRU.ALLOWP2P": "TRUE", "pciPassthru.relaxACSforP2P": "TRUE"}))
    assert not vmx(site)["changed"] and site.calls == []


@rule("5.1.4")
def lower_case_true_is_true() -> None:
    site = FakeSite(vm_row(extra={P2P: "true", ACS: "True"}))
    assert not vmx(site)["changed"] and site.calls == []


@rule("5.1.5")
def foreign_keys_are_never_sent_back() -> None:
    site = FakeSite(vm_row(extra={"numa.autosize.cookie": "160022", "pciPassthru0.MSIEnabled": "TRUE", P2P: "TRUE"}))
    vmx(site)
    assert sent(site) == {ACS: "TRUE"}
    kept = {option.key for option in site.rows["vm-1"]["config.extraConfig"]}
    assert {"numa.autosize.cookie", "pciPassthru0.MSIEnabled"} <= kept


@rule("5.1.6")
def only_listed_keys_are_owned() -> None:
    owned = (P2P, ACS, NUMA, SIZE, "pciPassthru.use64bitMMIO", "pciPassthru127.cfg.gpu-pci-id", P2P.upper())
    foreign = (
        "numa.vcpu.preferHT",
        "sched.cpu.affinity",
        "pciPassthru128.cfg.gpu-pci-id",
        "pciPassthru0.id",
        "memsize",
    )
    assert [is_owned(key) for key in owned] == [True] * len(owned)
    assert [is_owned(key) for key in foreign] == [False] * len(foreign)


@rule("5.1.6")
def foreign_key_is_refused_even_from_our_own_plan() -> None:
    site = FakeSite()
    layer = VmxLayer(site, "gpu01", VmxWanted())
    (operation,) = layer.plan(layer.observe(), VmxWanted())
    operation.payload["extra"]["sched.cpu.affinity"] = "0"  # type: ignore[index]
    with pytest.raises(RefusedError, match=r"sched\.cpu\.affinity"):
        layer.apply(operation)
    assert site.calls == []


@rule("5.1.7")
def version_guards_the_change() -> None:
    site = FakeSite()
    vmx(site)
    assert spec(site).changeVersion == "v1"


@rule("5.1.7")
def conflict_is_read_again_once() -> None:
    site = FakeSite()
    site.faults["ReconfigVM_Task"] = [vim.fault.ConcurrentAccess()]
    assert vmx(site)["changed"] and site.calls == ["ReconfigVM_Task"]
    site = FakeSite()
    site.faults["ReconfigVM_Task"] = [vim.fault.ConcurrentAccess(), vim.fault.ConcurrentAccess()]
    with pytest.raises(ApplyError, match="ConcurrentAccess"):
        vmx(site)
    assert site.calls == []


@rule("5.1.8")
def running_vm_is_left_alone_by_default() -> None:
    refused(running(), VmxWanted(), "powered on")
    planned = vmx(running(), VmxWanted(plan_only=True))
    assert "powered off" in planned["operations"][0]["disrupts"] and planned["power_cycle_required"]


@rule("5.1.8")
def policies_take_it_down_and_bring_it_back() -> None:
    for policy, call in (("shutdown", "ShutdownGuest"), ("poweroff", "PowerOffVM_Task")):
        site = running()
        vmx(site, VmxWanted(power_policy=policy))
        assert site.calls == [call, "ReconfigVM_Task", "PowerOnVM_Task"]


@rule("5.1.8")
def vms_that_cannot_be_changed_are_refused() -> None:
    question = SimpleNamespace(text="moved or copied?")
    for row, text in (
        (vm_row(power="suspended"), "suspended"),
        (vm_row(**{"config.template": True}), "template"),
        (vm_row(**{"runtime.question": question}), "moved or copied"),
        (vm_row(**{"runtime.connectionState": "orphaned"}), "orphaned"),
        (vm_row(**{"runtime.connectionState": "inaccessible"}), "inaccessible"),
    ):
        refused(FakeSite(row), VmxWanted(), text)


@rule("5.1.9")
def key_changed_while_on_waits_for_power() -> None:
    site = FakeSite(vm_row(power="poweredOn", extra=SET))
    site.changed = (P2P.lower(),)
    found = vmx(site)
    assert not found["changed"] and found["power_cycle_required"]
    assert found["reboot_scope"] == Reboot.VM_POWER_CYCLE.value
    site.changed = ()
    assert not vmx(site)["power_cycle_required"]


@rule("5.1.9")
def what_was_set_before_the_power_on_is_in_force_whatever_the_clocks_say() -> None:
    """The boot time is the host's, the event's time vCenter's: on a host that is behind, the change seems later."""

    class Behind(FakeSite):
        def keys_changed_since(self, vm: Any, since: Any) -> tuple[str, ...] | None:
            return (P2P.lower(),) if "ReconfigVM_Task" in self.calls else ()

    site = Behind(vm_row(power="poweredOn"))
    assert not vmx(site, VmxWanted(power_policy="shutdown"))["power_cycle_required"]
    assert site.calls == ["ShutdownGuest", "ReconfigVM_Task", "PowerOnVM_Task"]


# ---------------------------------------------------------------- 5.2 prerequisites
def unmet(found: dict[str, Any]) -> set[str]:
    return {row["thing"] for row in found["prerequisites"] if row["ok"] is False}


@rule("5.2.1")
def reservation_is_reported_and_set_only_if_told() -> None:
    row = vm_row(extra=SET, **{"config.memoryReservationLockedToMax": False})
    site = FakeSite(row)
    found = vmx(site)
    assert not found["changed"] and unmet(found) == {"memory reservation"} and site.calls == []
    assert any("not fully reserved" in warning for warning in found["warnings"])
    done = vmx(site, VmxWanted(reserve_memory=True))
    assert done["diff"]["after"] == {"memoryReservationLockedToMax": True} and unmet(done) == set()
    sent_spec = spec(site)
    assert sent_spec.memoryReservationLockedToMax is True
    assert sent_spec.memoryAllocation is None, "a lock follows the memory size, a number does not"


@rule("5.2.1")
def reservation_that_the_host_cannot_give_is_refused() -> None:
    row = vm_row(extra=SET, **{"config.memoryReservationLockedToMax": False})
    row["config.hardware"].memoryMB = 600000
    refused(FakeSite(row), VmxWanted(reserve_memory=True), "cannot reserve the 600000 MB")


@rule("5.2.2")
def size_is_the_power_of_two_doubled() -> None:
    assert [mmio_size_for(gb) for gb in (16, 24, 40, 48, 80, 160, 320)] == [32, 64, 128, 128, 256, 512, 1024]


@rule("5.2.2")
def size_is_computed_from_the_gpus_and_a_larger_one_kept() -> None:
    for have, expected in (("32", {SIZE: "128"}), ("", {SIZE: "128"}), ("512", {}), ("100", {SIZE: "128"})):
        site = FakeSite(vm_row(extra={**SET, SIZE: have}))
        done = vmx(site, VmxWanted(mmio_size_gb="auto"))
        assert done["changed"] is bool(expected)
        assert not expected or sent(site) == expected
    row = vm_row(extra=SET)
    row["config.hardware"].device.append(passthrough("0000:b1:00.0", "second GPU"))
    site = FakeSite(row)
    vmx(site, VmxWanted(mmio_size_gb="auto"))
    assert sent(site) == {SIZE: "256"}


@rule("5.2.2")
def unknown_gpu_is_not_guessed() -> None:
    host = host_row()
    for device in host["hardware.pciDevice"]:
        device.deviceName, device.deviceId = "", 0x7FFF if device.vendorId == 0x10DE else device.deviceId
    site = FakeSite(vm_row(extra={**SET, SIZE: "64"}), host)
    found = vmx(site, VmxWanted(mmio_size_gb="auto"))
    assert not found["changed"] and any("is not known" in text and "left alone" in text for text in found["warnings"])


@rule("5.2.2")
def bios_is_reported_and_changed_only_if_told() -> None:
    site = FakeSite(vm_row(extra=SET, **{"config.firmware": "bios"}))
    assert unmet(vmx(site)) == {"firmware"} and site.calls == []
    vmx(site, VmxWanted(firmware="efi"))
    assert spec(site).firmware == "efi" and not spec(site).extraConfig


@rule("5.2.2")
def failed_power_on_lists_what_is_missing() -> None:
    site = FakeSite(vm_row(extra={**SET, SIZE: "32"}))
    site.faults["PowerOnVM_Task"] = [vim.fault.GenericVmConfigFault(msg="Module 'DevicePowerOn' power on failed.")]
    with pytest.raises(ApplyError, match="DevicePowerOn") as caught:
        vmx(site, VmxWanted(final_power="on"))
    assert "64bitMMIOSizeGB is 32, needed: at least 128" in str(caught.value)


@rule("5.2.3")
def vm_that_cannot_move_is_named_and_not_waited_for() -> None:
    site = running()
    with pytest.raises(RefusedError, match=r"gpu01 is powered on .*passthrough devices.*on this host"):
        reboot(site, RebootWanted(required=True))
    assert site.calls == []


def reported(site: FakeSite) -> dict[str, Any]:
    (report,) = pci_reports(site, site.find_hosts([]), PciFilter(), False)
    return report


@rule("5.2.4")
def enabled_and_not_active_waits_for_the_host() -> None:
    host = host_row()
    host["config.pciPassthruInfo"][1].passthruActive = False
    found = reported(FakeSite(host=host))
    by_address = {row["address"]: row["passthru"] for row in found["devices"]}
    assert by_address["0000:3d:00.0"]["reboot_required"] and not by_address["0000:3b:00.0"]["reboot_required"]
    assert "passthrough of 0000:3d:00.0" in unmet(vmx(FakeSite(vm_row(extra=SET), host)))


@rule("5.2.5")
def topology_is_told() -> None:
    found = reported(FakeSite())
    gpu = next(row for row in found["devices"] if row["address"] == "0000:3d:00.0")
    assert (gpu["parent_bridge"], gpu["root_port"], gpu["root_complex"]) == ("0000:3a:02.0", "0000:3a:02.0", "0000:3a")
    assert [(vm["same_root_complex"], vm["same_numa_node"]) for vm in found["vms"]] == [(True, True)]
    row = vm_row()
    row["config.hardware.device"] = [passthrough("0000:3b:00.0", "NIC"), passthrough("0000:b1:00.0", "GPU")]
    apart = reported(FakeSite(row))["vms"]
    assert [(vm["same_root_complex"], vm["same_numa_node"]) for vm in apart] == [(False, False)]


# ---------------------------------------------------------------- 5.3 GPU addresses
@rule("5.3.1")
def devices_are_numbered_in_their_order() -> None:
    site = FakeSite(vm_row(extra=SET))
    done = vmx(site, VmxWanted(gpu_pci_ids={1: "0000:3D:00.0"}))
    assert [(device["index"], device["address"]) for device in done["devices"]] == [
        (0, "0000:3b:00.0"),
        (1, "0000:3d:00.0"),
    ]
    assert sent(site) == {"pciPassthru1.cfg.gpu-pci-id": "0000:3d:00.0"}


@rule("5.3.2")
def wrong_address_is_refused() -> None:
    for ids, text in (
        ({1: "3d"}, "not a PCI address"),
        ({1: "0000:99:00.0"}, "no such PCI device"),
        ({0: "0000:3b:00.0"}, "not an NVIDIA GPU"),
        ({2: "0000:3d:00.0"}, "2 passthrough devices"),
        ({0: "0000:3d:00.0", 1: "3d:00.0"}, "names the same GPU"),
    ):
        refused(FakeSite(), VmxWanted(gpu_pci_ids=ids), text)


@rule("5.3.2")
def shared_gpu_needs_consent_also_with_what_stands_in_the_file() -> None:
    extra = {**SET, "pciPassthru0.cfg.gpu-pci-id": "0000:3d:00.0"}
    refused(FakeSite(vm_row(extra=extra)), VmxWanted(gpu_pci_ids={1: "0000:3d:00.0"}), "pciPassthru0.*same GPU")
    site = FakeSite(vm_row(extra=extra))
    assert vmx(site, VmxWanted(gpu_pci_ids={1: "0000:3d:00.0"}, allow_shared_gpu=True))["changed"]
    moved = VmxWanted(gpu_pci_ids={0: "0000:b1:00.0", 1: "0000:3d:00.0"})
    assert vmx(FakeSite(vm_row(extra=extra)), moved)["changed"], "swapping them is no sharing"


@rule("5.3.3")
def address_of_another_host_in_the_file_is_a_warning() -> None:
    site = FakeSite(vm_row(extra={**SET, "pciPassthru1.cfg.gpu-pci-id": "0000:5e:00.0"}))
    found = vmx(site)
    assert any("0000:5e:00.0" in text and "esx01" in text and "0000:b1:00.0" in text for text in found["warnings"])
    assert not found["changed"], "told, not touched"


# ---------------------------------------------------------------- 5.4 NUMA
@rule("5.4.1")
def nodes_are_a_sorted_list_and_compare_as_a_set() -> None:
    site = FakeSite(vm_row(extra={**SET, NUMA: "1, 0"}))
    assert not vmx(site, VmxWanted(numa=("0", "1")))["changed"]
    site = FakeSite(vm_row(extra=SET))
    vmx(site, VmxWanted(numa=("1", "0")))
    assert sent(site) == {NUMA: "0,1"} and spec(site).cpuAffinity is None and spec(site).memoryAffinity is None


@rule("5.4.2")
def what_places_nothing_is_never_touched() -> None:
    site = FakeSite(vm_row(extra={"numa.vcpu.preferHT": "TRUE", "cpuid.coresPerSocket": "8"}))
    vmx(site, VmxWanted(numa=("auto",), mmio_size_gb="auto", use_64bit_mmio=True))
    assert set(sent(site)) == {P2P, ACS, NUMA}
    assert spec(site).numCoresPerSocket is None


@rule("5.4.3")
def node_must_exist() -> None:
    refused(FakeSite(), VmxWanted(numa=("2",)), "has the NUMA nodes 0, 1")


@rule("5.4.3")
def auto_is_the_node_of_the_devices_or_a_refusal_with_the_topology() -> None:
    site = FakeSite(vm_row(extra=SET))
    vmx(site, VmxWanted(numa=("auto",)))
    assert sent(site) == {NUMA: "0"}
    row = vm_row()
    row["config.hardware"].device[1] = passthrough("0000:b1:00.0", "GPU")
    refused(FakeSite(row), VmxWanted(numa=("auto",)), "0000:3b:00.0.*NUMA node 0.*0000:b1:00.0.*NUMA node 1")


@rule("5.4.3")
def vm_larger_than_its_node_is_a_warning() -> None:
    row = vm_row(extra={**SET, NUMA: "0"})
    row["config.hardware"].numCPU, row["config.hardware"].memoryMB = 48, 300000
    warned = " ".join(vmx(FakeSite(row), VmxWanted(numa=("auto",)))["warnings"])
    assert "more than the 32 cores of NUMA node 0" in warned, "64 logical CPUs are 32 cores"
    assert "300000 MB do not fit" in warned
    hot = vmx(FakeSite(vm_row(extra={**SET, NUMA: "0"}, **{"config.cpuHotAddEnabled": True})), VmxWanted(numa=("0",)))
    assert "CPU hot add" in " ".join(hot["warnings"])
    elsewhere = vmx(FakeSite(vm_row(extra={**SET, NUMA: "1"})), VmxWanted(numa=("1",)))
    assert "out the node" in " ".join(elsewhere["warnings"])


# ---------------------------------------------------------------- 5.5 maintenance and reboot
@rule("5.5.1")
def maintenance_has_a_timeout_and_is_cancelled() -> None:
    site = running()
    site.task_states["task-2"] = {"info.state": "running"}  # 1 shut the guest down
    with pytest.raises(ApplyError, match=r"not done after .*was cancelled"):
        site.rows["task-2"] = {"info.state": "running"}
        reboot(site, maintenance=30.0)
    entered = next(a for a in site.arguments if "evacuatePoweredOffVms" in a)
    assert entered["timeout"] == 30
    assert "CancelTask" in site.calls and "RebootHost_Task" not in site.calls
    assert site.calls[-1] == "PowerOnVM_Task", "what was shut down runs again"


@rule("5.5.2")
def powered_off_vms_are_never_evacuated() -> None:
    site = FakeSite()
    reboot(site, RebootWanted(required=True, vsan_mode="ensureObjectAccessibility"))
    entered = next(a for a in site.arguments if "evacuatePoweredOffVms" in a)
    assert entered["evacuatePoweredOffVms"] is False
    assert entered["maintenanceSpec"].vsanMode.objectAction == "ensureObjectAccessibility"
    site = FakeSite()
    reboot(site, RebootWanted(required=True))
    assert next(a for a in site.arguments if "timeout" in a)["maintenanceSpec"] is None


@rule("5.5.3")
def guests_are_asked_watched_and_cut_only_if_told() -> None:
    site = running()
    assert reboot(site)["vms_shut_down"] == ["gpu01"] and site.calls == STEPS
    without_tools = vm_row(power="poweredOn", **{"guest.toolsRunningStatus": "guestToolsNotRunning"})
    site = FakeSite(without_tools)
    with pytest.raises(RefusedError, match="Tools do not"):
        reboot(site)
    assert site.calls == []
    reboot(site, RebootWanted(required=True, vm_policy="shutdown", vm_allowlist=("gpu01",), hard_off=True))
    assert site.calls[0] == "PowerOffVM_Task"


@rule("5.5.3")
def agent_vms_are_left_to_vcenter() -> None:
    agent = vm_row(power="poweredOn", **{"config.managedBy": SimpleNamespace(extensionKey="com.vmware.vim.eam")})
    site = FakeSite(agent)
    reboot(site, RebootWanted(required=True))
    assert site.calls == STEPS[1:4]


@rule("5.5.3")
def vcenter_and_the_controller_are_never_stopped() -> None:
    for address, text in (("192.0.2.1", "this vCenter itself"), ("192.0.2.2", "the machine that runs this play")):
        site = FakeSite(vm_row(power="poweredOn", **{"guest.ipAddress": address}))
        with pytest.raises(RefusedError, match=text):
            reboot(site)
        assert site.calls == []


@rule("5.5.4")
def reboot_is_never_forced_and_a_refusal_is_taken_back() -> None:
    site = running()
    reboot(site)
    assert {"force": False} in site.arguments
    site = running()
    site.faults["RebootHost_Task"] = [vim.fault.NoPermission(privilegeId="Host.Config.Maintenance")]
    with pytest.raises(
        CredentialError, match=r"Host\.Config\.Maintenance.*was not rebooted.*out of maintenance"
    ) as error:
        reboot(site)
    assert site.calls == [*STEPS[:2], *STEPS[3:]], "the host and its VMs are as they were found"
    assert "resume" not in error.value.details


@rule("5.5.4")
def host_that_cannot_be_rebooted_is_refused() -> None:
    site = FakeSite(host=host_row(**{"capability.rebootSupported": False}))
    with pytest.raises(RefusedError, match="cannot be rebooted"):
        reboot(site)
    assert site.calls == []


@rule("5.5.5")
def proof_is_a_newer_boot_time() -> None:
    site = FakeSite()
    done = reboot(site)
    assert done["rebooted"] and done["boot_time_after"] > done["boot_time_before"]

    class Same(FakeSite):
        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            task = super().call(moid, method, arguments)
            self.rows["host-1"]["runtime.bootTime"] = BOOT
            return task

    with pytest.raises(VerifyError, match="old boot time"):
        reboot(Same(), reboot=60.0)


@rule("5.5.5")
def disconnected_host_does_not_heal() -> None:
    class Cut(FakeSite):
        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            task = super().call(moid, method, arguments)
            if method == "RebootHost_Task":
                self.rows["host-1"]["runtime.connectionState"] = "disconnected"
            return task

    site = Cut()
    with pytest.raises(UnreachableError, match="reconnect it in vCenter"):
        reboot(site)
    assert site.time.now < 120, "not the whole hour"
    assert Timeouts().reboot == 3600


@rule("5.5.5")
def broken_link_at_the_request_is_never_asked_again() -> None:
    class Broken(FakeSite):
        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            task = super().call(moid, method, arguments)
            if method == "RebootHost_Task":
                raise http.client.RemoteDisconnected("gone")
            return task

    site = Broken()
    assert reboot(site)["rebooted"] and site.calls.count("RebootHost_Task") == 1
    site = FakeSite()
    site.faults["RebootHost_Task"] = [http.client.RemoteDisconnected("gone")]
    with pytest.raises(UnreachableError, match="did not arrive") as caught:
        reboot(site)
    assert "RebootHost_Task" not in site.calls
    assert "maintenance mode again" in str(caught.value), "so that a late request is refused"


@rule("5.5.6")
def only_our_own_maintenance_is_left() -> None:
    site = FakeSite(host=host_row(**{"runtime.inMaintenanceMode": True}))
    with pytest.raises(RefusedError, match="put it there"):
        reboot(site)
    done = reboot(site, RebootWanted(required=True, in_maintenance="allow"))
    assert site.calls == ["RebootHost_Task"] and done["in_maintenance"]


@rule("5.5.6")
def pending_is_configured_against_runtime() -> None:
    site = FakeSite()
    wanted = RebootWanted(pending_settings=("atsSupport",))
    assert not reboot(site, wanted)["changed"] and site.calls == []
    site.kernel["atsSupport"] = ["TRUE", "FALSE"]
    assert reboot(site, wanted)["rebooted"] and not reboot(site, wanted)["changed"]


@rule("5.5.7")
def quick_boot_is_documented() -> None:
    assert "Quick Boot" in documentation("esxi_reboot") and "firmware" in documentation("esxi_reboot")


@rule("5.5.8")
def settings_that_can_stop_a_sealed_host_need_consent() -> None:
    for name in ("execInstalledOnly", "EXECINSTALLEDONLY", "disableACSCheck", "disableHwrng"):
        assert is_security_setting(name)
        state = KernelState("esx01", {name.lower(): KernelSetting(name, "Bool", "FALSE", "FALSE", "FALSE")})
        with pytest.raises(RefusedError, match=r"TPM.*encryption recovery list"):
            plan_kernel(state, KernelWanted({name: True}))
        assert plan_kernel(state, KernelWanted({name: True}, allow_security_settings=True))
    assert not is_security_setting("atsSupport")


@rule("5.5.9")
def sleeping_host_is_refused() -> None:
    for changed, text in (
        ({"runtime.powerState": "standBy"}, "standBy"),
        ({"runtime.standbyMode": "entering"}, "standby mode is entering"),
    ):
        site = FakeSite(host=host_row(**changed))
        with pytest.raises(RefusedError, match=text):
            reboot(site)
        assert site.calls == []


@rule("5.5.9")
def one_host_at_a_time_unless_told() -> None:
    plays = yaml.safe_load((site_run.ROOT / "playbooks" / "reboot.yml").read_text())
    (serial,) = [play["serial"] for play in plays if "serial" in play]
    assert serial == "{{ hostvars['localhost'].window_batch | default(1) }}"
    text = (site_run.ROOT / "playbooks" / "reboot.yml").read_text()
    assert 'max_unavailable: "{{ rocemesh_max_unavailable | default(1) }}"' in text
    assert 'window_batch: "{{ site_windows.batch }}"' in text
    assert decide("site_windows")["batch"] == 1


@rule("5.5.10")
def lockdown_is_explained() -> None:
    for fault in (vim.fault.InvalidLogin(), vim.fault.NoPermission(privilegeId="System.Read")):
        with pytest.raises(CredentialError, match=r"lockdown mode.*vCenter"), translated("esx01", "login"):
            raise fault


@rule("5.5.11")
def who_sets_options_back_is_named() -> None:
    assert "host profile" in documentation("esxi_kernel_setting")

    class Reverted(FakeSite):
        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            task = super().call(moid, method, arguments)
            if method == "RebootHost_Task":
                self.kernel["atsSupport"][1] = "FALSE"
            return task

    site = Reverted()
    site.kernel["atsSupport"] = ["TRUE", "FALSE"]
    with pytest.raises(VerifyError, match=r"not be rebooted.*host profile"):
        reboot(site, RebootWanted(pending_settings=("atsSupport",)))
    assert site.calls.count("RebootHost_Task") == 1


@rule("5.5.12")
def mark_counts_only_while_its_event_is_the_last_word() -> None:
    mark = Mark(Run("a", "ctl"), BOOT, 7)
    entry = MaintenanceEvent(7, "entered", BOOT, "LAB\\automation")
    later = dataclasses.replace(entry, key=8, at=BOOT + datetime.timedelta(seconds=5))
    assert not not_ours(mark, [entry]) and not_ours(mark, [entry, later]) and not_ours(None, [entry])


@rule("5.5.13")
def lease_is_a_definition_that_one_can_make_and_its_key_fences() -> None:
    site = Attributes()
    anna, bert = (
        SiteLease(site, LeaseWanted(Run(name, "ctl"), 600), "datacenter-1", "dc") for name in ("anna", "bert")
    )
    anna._fields = bert._fields = cast(CustomFields, site)
    assert anna.take("LAB\\anna") and not anna.take("LAB\\anna")
    with pytest.raises(RefusedError, match=r"run anna on .* as LAB.anna.*good until"):
        bert.take("LAB\\bert")
    site.later = datetime.timedelta(seconds=601)
    assert bert.take("LAB\\bert")
    with pytest.raises(LeaseLostError, match="run bert"):
        anna.renew("LAB\\anna")
    assert not anna.release(), "a lost lease is nobody else's to give back"
    bert.renew("LAB\\bert")
    assert bert.release() and site.names == {}


@rule("5.5.14")
def reboot_is_an_order_about_one_boot() -> None:
    site = FakeSite()
    wanted = RebootWanted(required=True, booted_at=BOOT)
    assert reboot(site, wanted)["rebooted"] and not reboot(site, wanted)["changed"]


# ---------------------------------------------------------------- 5.6 sessions, timeouts, errors
@rule("5.6.1")
def everything_a_broken_session_raises_has_a_message() -> None:
    for raised in (
        ConnectionRefusedError(111, "refused"),
        TimeoutError("timed out"),
        ssl.SSLEOFError(8, "EOF"),
        http.client.RemoteDisconnected("gone"),
        http.client.BadStatusLine("x"),
        vim.fault.NotAuthenticated(),
        vim.fault.HostConnectFault(),
        vmodl.fault.HostNotConnected(),
        vmodl.fault.HostNotReachable(),
        vmodl.fault.HostCommunication(),
        Exception("vc:443 is down or is not a VIM server"),
    ):
        with pytest.raises(UnreachableError, match=r"esx01.*What to do"), translated("esx01", "reading"):
            raise raised


@rule("5.6.1")
def session_is_renewed_once_for_reads_and_writes() -> None:
    class Lost(Connection):
        logins = 0

        def open(self) -> Connection:
            self.logins += 1
            return self

    answers: list[Any] = [SessionLostError("gone", host="vc"), "done"]

    def ask() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    connection = Lost(ENDPOINT)
    assert connection.start("esx01", "reboot", ask) == "done" and connection.logins == 1
    answers[:] = [SessionLostError("gone", host="vc"), SessionLostError("gone", host="vc")]
    with pytest.raises(SessionLostError):
        connection.start("esx01", "reboot", ask)
    answers[:] = [UnreachableError("cut", host="vc"), "never"]
    with pytest.raises(UnreachableError):
        connection.start("esx01", "reboot", ask)
    assert answers == ["never"], "what may have arrived is not sent twice"


@rule("5.6.2")
def fault_is_told_with_everything_it_carries() -> None:
    assert fault_text(vim.fault.InvalidState()) == "InvalidState: no message"
    fault = vim.fault.GenericVmConfigFault(
        msg="a.", reason="b", faultMessage=[vmodl.LocalizableMessage(key="k", message="c")]
    )
    assert fault_text(fault) == "GenericVmConfigFault: a; c; b"
    missing = vim.fault.NoPermission(
        missingPrivileges=[vim.fault.NoPermission.EntityPrivileges(entity=vim.Folder("f"), privilegeIds=["X.Y", "X.Z"])]
    )
    assert "missing privilege X.Y, X.Z" in fault_text(missing)


@rule("5.6.3")
def one_request_for_all_objects() -> None:
    class Collector:
        asked = 0

        def RetrievePropertiesEx(self, specSet: Any, options: Any) -> Any:
            self.asked += 1
            rows = [SimpleNamespace(obj=o.obj, propSet=[], missingSet=[]) for o in specSet[0].objectSet]
            return SimpleNamespace(objects=rows, token=None)

    connection = Connection(ENDPOINT)
    collector = Collector()
    connection._service, connection._content = object(), SimpleNamespace(propertyCollector=collector)
    assert connection.properties([vim.HostSystem(f"host-{n}") for n in range(256)], ["name", "vm"]) == [{}] * 256
    assert collector.asked == 1


@rule("5.6.4")
def task_has_a_deadline_and_keeps_its_fault() -> None:
    site = FakeSite()
    site.task_states["task-9"] = {"info.state": "running"}
    with pytest.raises(ApplyError, match="not done after 30 s"):
        site.wait(SimpleNamespace(_moId="task-9"), "change", "gpu01", 30)
    error = SimpleNamespace(fault=vim.fault.InvalidState(), localizedMessage="not in this state")
    site.task_states["task-9"] = {"info.state": "error", "info.error": error}
    with pytest.raises(ApplyError, match="InvalidState: not in this state"):
        site.wait(SimpleNamespace(_moId="task-9"), "change", "gpu01", 30)


@rule("5.6.4")
def forgotten_task_is_followed_on_the_object() -> None:
    def gone() -> GoneError:
        return GoneError("no such task", host="vc")

    site = running()
    site.faults["read task"] = [gone() for _attempt in range(9)]
    assert reboot(site)["rebooted"] and site.calls == STEPS, "each step is told from the host and the VM"
    site = FakeSite()
    site.faults["read task"] = [gone()]
    site.drops = {P2P}
    with pytest.raises(LayerError, match="vCenter lost the task"):
        vmx(site)


# ---------------------------------------------------------------- the table
def documentation(module: str) -> str:
    name = f"ansible_collections.rocemesh.multinode.plugins.modules.{module}"
    return str(importlib.import_module(name).DOCUMENTATION)


@rule("5.2.6")
def device_that_is_chosen_at_power_on_leaves_the_keys_alone() -> None:
    row = vm_row(extra=SET)
    backing = vim.vm.device.VirtualPCIPassthrough.DynamicBackingInfo(
        deviceName="",
        allowedDevice=[vim.vm.device.VirtualPCIPassthrough.AllowedDevice(vendorId=0x10DE, deviceId=0x20F1)],
    )
    row["config.hardware"].device[1] = vim.vm.device.VirtualPCIPassthrough(backing=backing)
    found = vmx(FakeSite(row), VmxWanted(numa=("auto",)))
    assert not found["changed"] and found["resolved"]["numa_node_affinity"] is None
    assert any("at the next power-on" in text for text in found["warnings"])


@rule("5.7.1")
def power_on_names_the_host_of_the_vm() -> None:
    site = FakeSite(vm_row(extra=SET))
    vmx(site, VmxWanted(final_power="on"))
    assert [a["host"]._moId for a in site.arguments] == ["host-1"]


@rule("5.7.2")
def lost_answer_is_followed_on_the_vm_itself() -> None:
    class Deaf(FakeSite):
        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            super().call(moid, method, arguments)
            raise http.client.RemoteDisconnected("gone")

    site = Deaf(vm_row(power="poweredOn"))
    assert vmx(site, VmxWanted(power_policy="shutdown"))["power_state"] == "poweredOn"
    assert site.calls == ["ShutdownGuest", "ReconfigVM_Task", "PowerOnVM_Task"]


def numbers() -> list[str]:
    text = (site_run.ROOT / "docs" / "vsphere-rules.md").read_text()
    return re.findall(r"^\| (5\.\d+\.\d+) \|", text, re.MULTILINE)


@pytest.mark.parametrize("check", [c for _n, c in RULES], ids=[f"{n}-{c.__name__}" for n, c in RULES])
def test_rule(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize("number", numbers())
def test_every_rule_has_a_check(number: str) -> None:
    assert number in {n for n, _check in RULES}


def test_no_check_is_for_a_rule_that_does_not_exist() -> None:
    assert {number for number, _check in RULES} <= set(numbers())
    assert len(numbers()) == len(set(numbers())) == 41


WISHES: dict[str, VmxWanted] = {
    "allow_p2p": VmxWanted(allow_p2p=False),
    "relax_acs": VmxWanted(relax_acs=False),
    "use_64bit_mmio": VmxWanted(use_64bit_mmio=False),
    "mmio_size_gb": VmxWanted(mmio_size_gb=1024),
    "reserve_memory": VmxWanted(reserve_memory=False),
    "firmware": VmxWanted(firmware="efi"),
    "numa": VmxWanted(numa=("0", "1")),
    "gpu_pci_ids": VmxWanted(gpu_pci_ids={1: "0000:3d:00.0"}),
    "power_policy": VmxWanted(allow_p2p=False, power_policy="poweroff"),
    "final_power": VmxWanted(final_power="on"),
    "absent": VmxWanted(absent=("allow_p2p",)),
}
QUALIFIERS = {"plan_only", "allow_shared_gpu", "planned_host"}  # they change nothing by themselves


@pytest.mark.parametrize("field", sorted({field.name for field in dataclasses.fields(VmxWanted)} - QUALIFIERS))
def test_every_wanted_field_of_a_vm_leads_to_a_call(field: str) -> None:
    """A new field without an effect would be an option that does nothing."""
    power = "poweredOn" if field == "power_policy" else "poweredOff"
    site = FakeSite(vm_row(power=power, extra=SET, **{"config.firmware": "bios"}))
    vmx(site, WISHES[field])
    assert site.calls
