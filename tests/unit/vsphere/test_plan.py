from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    Operation,
    ParseError,
    Reboot,
    RefusedError,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.computed import resolve
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.keys import VmxWanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan import (
    KernelWanted,
    pending_kernel,
    plan_kernel,
    with_configured,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan_vmx import (
    differing_keys,
    pending_vmx,
    plan_vmx,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.prerequisites import prerequisites
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.state import (
    KernelSetting,
    KernelState,
    NumaNode,
    PciDevice,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.vm_state import PassthroughDevice, VmState
from hypothesis import given
from hypothesis import strategies as st

P2P, ACS, NUMA = "pciPassthru.allowP2P", "pciPassthru.RelaxACSforP2P", "numa.nodeAffinity"


def kernel(
    configured: str = "FALSE", runtime: str = "FALSE", name: str = "atsSupport", kind: str = "Bool"
) -> KernelState:
    return KernelState("esx01", {name.lower(): KernelSetting(name, kind, configured, runtime, "FALSE")})


@pytest.mark.parametrize(
    ("configured", "runtime", "value", "changes", "reboot"),
    [
        ("FALSE", "FALSE", True, True, Reboot.ESXI_HOST),
        ("TRUE", "FALSE", True, False, None),
        ("TRUE", "TRUE", True, False, None),
        ("TRUE", "FALSE", False, True, Reboot.NONE),
        ("FALSE", "TRUE", True, True, Reboot.NONE),
    ],
)
def test_reboot_is_needed_only_if_the_new_value_is_not_in_force(
    configured: str, runtime: str, value: bool, changes: bool, reboot: Reboot | None
) -> None:
    operations = plan_kernel(kernel(configured, runtime), KernelWanted({"ATSSUPPORT": value}))
    assert bool(operations) is changes
    assert [operation.reboot for operation in operations] == ([reboot] if changes else [])


def test_pending_is_computed_from_the_state_alone() -> None:
    pending = pending_kernel(list(kernel("TRUE", "FALSE").settings.values()), "esx01")
    assert pending.scope is Reboot.ESXI_HOST and "atsSupport" in pending.reasons[0]
    assert pending_kernel(list(kernel("TRUE", "TRUE").settings.values()), "esx01").scope is Reboot.NONE


@pytest.mark.parametrize(
    ("configured", "runtime", "wanted", "waits"),
    [
        ("TRUE", "FALSE", False, False),
        ("FALSE", "FALSE", True, True),
        ("FALSE", "TRUE", False, True),
    ],
)
def test_what_will_wait_is_known_before_anything_is_sent(
    configured: str, runtime: str, wanted: bool, waits: bool
) -> None:
    state = kernel(configured, runtime)
    after = with_configured(state, plan_kernel(state, KernelWanted({"ATSsupport": wanted})))
    assert bool(pending_kernel(list(after.settings.values()), "esx01").reasons) is waits
    assert state == kernel(configured, runtime)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"atsSuport": True}, "did you mean atsSupport"),
        ({"atsSupport": "maybe"}, "of type Bool"),
        ({"atsSupport": True, "ATSsupport": False}, "given twice"),
    ],
)
def test_wrong_request_is_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(RefusedError, match=reason) as caught:
        plan_kernel(kernel(), KernelWanted(settings))
    assert "esx01" in str(caught.value)


@pytest.mark.parametrize("name", ["execInstalledOnly", "disableACSCheck"])
def test_security_settings_need_consent_only_when_they_change(name: str) -> None:
    state = kernel(name=name)
    assert plan_kernel(state, KernelWanted({name: False})) == []
    with pytest.raises(RefusedError, match="allow_security_settings"):
        plan_kernel(state, KernelWanted({name: True}))
    assert plan_kernel(state, KernelWanted({name: True}, allow_security_settings=True))


def test_value_that_is_not_of_its_own_type_is_shown_and_not_overwritten() -> None:
    with pytest.raises(ParseError, match="perhaps"):
        plan_kernel(kernel("perhaps"), KernelWanted({"atsSupport": True}))


@given(st.booleans(), st.booleans(), st.booleans())
def test_kernel_plan_applied_leaves_no_plan(configured: bool, runtime: bool, wanted: bool) -> None:
    state = kernel(str(configured).upper(), str(runtime).upper())
    values = {**dict(state.settings.items())}
    for operation in plan_kernel(state, KernelWanted({"atsSupport": wanted})):
        key = operation.payload["setting"].lower()
        values[key] = dataclasses.replace(values[key], configured=operation.payload["value"])
    assert plan_kernel(KernelState("esx01", values), KernelWanted({"atsSupport": wanted})) == []


# ---------------------------------------------------------------- VM file
NIC = PassthroughDevice(0, "PCI device 0", "0000:3b:00.0", "nic", "CX6", 0)
GPU = PassthroughDevice(1, "PCI device 1", "0000:3d:00.0", "gpu", "A100", 0)
HOST_DEVICES = (
    PciDevice("0000:3b:00.0", 0x15B3, 0x101D, "Mellanox", "CX6", 0x0200, numa_node=0),
    PciDevice("0000:3d:00.0", 0x10DE, 0x20F1, "NVIDIA", "A100", 0x0302, numa_node=0),
)


def vm(power: str = "poweredOff", found: str = "", **rest: Any) -> VmState:
    extra = {key.lower(): (key, value) for key, value in rest.pop("extra", {}).items()}
    values: dict[str, Any] = {
        "firmware": "efi",
        "memory_reserved": True,
        "tools_running": True,
        "devices": (NIC, GPU),
        "host_devices": HOST_DEVICES,
        "numa_nodes": (NumaNode(0, 32, 1), NumaNode(1, 32, 1)),
        **rest,
    }
    return VmState("gpu01", "vm-1", "esx01", power, found_power=found or power, extra=extra, **values)


def plan(state: VmState, wanted: VmxWanted) -> list[Operation]:
    return plan_vmx(state, resolve(state, wanted).wanted)


def actions(state: VmState, wanted: VmxWanted) -> list[str]:
    return [operation.payload["action"] for operation in plan(state, wanted)]


SET = {"extra": {P2P: "TRUE", ACS: "true"}}


@pytest.mark.parametrize(
    ("state", "wanted", "expected"),
    [
        (vm(), VmxWanted(), ["reconfigure"]),
        (vm(**SET), VmxWanted(), []),
        (vm(**SET), VmxWanted(final_power="on"), ["poweron"]),
        (vm("poweredOn", **SET), VmxWanted(final_power="on"), []),
        (vm("poweredOn"), VmxWanted(power_policy="shutdown"), ["shutdown", "reconfigure", "poweron"]),
        (vm("poweredOn"), VmxWanted(power_policy="poweroff"), ["poweroff", "reconfigure", "poweron"]),
        (vm("poweredOn"), VmxWanted(plan_only=True), ["shutdown", "reconfigure", "poweron"]),
        (vm("poweredOff", "poweredOn"), VmxWanted(), ["reconfigure", "poweron"]),
        (vm("poweredOff", "poweredOn", **SET), VmxWanted(), ["poweron"]),
        (vm("suspended", **SET), VmxWanted(), []),
        (vm("poweredOn", changed_while_on=(P2P.lower(),), **SET), VmxWanted(), []),
        (
            vm("poweredOn", changed_while_on=(P2P.lower(),), **SET),
            VmxWanted(power_policy="shutdown"),
            ["shutdown", "poweron"],
        ),
        (vm("poweredOn", changed_while_on=("memsize",), **SET), VmxWanted(power_policy="shutdown"), []),
    ],
)
def test_steps(state: VmState, wanted: VmxWanted, expected: list[str]) -> None:
    assert actions(state, wanted) == expected


@pytest.mark.parametrize(
    ("state", "wanted", "reason"),
    [
        (vm("poweredOn"), VmxWanted(), "power_policy"),
        (vm("poweredOn", tools_running=False), VmxWanted(power_policy="shutdown"), "VMware Tools"),
        (vm("suspended"), VmxWanted(), "suspended"),
        (vm(is_template=True), VmxWanted(), "template"),
        (vm(connection="orphaned"), VmxWanted(), "orphaned"),
        (vm(question="moved?"), VmxWanted(), "moved?"),
        (vm(), VmxWanted(mmio_size_gb=100), "power of two"),
        (vm(), VmxWanted(numa=("2",)), "NUMA nodes 0, 1"),
        (vm(), VmxWanted(numa=("x",)), "NUMA nodes"),
        (vm(devices=(NIC, dataclasses.replace(GPU, numa_node=1))), VmxWanted(numa=("auto",)), "different NUMA nodes"),
        (vm(), VmxWanted(gpu_pci_ids={2: "0000:3d:00.0"}), "2 passthrough devices"),
        (vm(), VmxWanted(gpu_pci_ids={1: "0000:3b:00.0"}), "not an NVIDIA GPU"),
        (vm(), VmxWanted(gpu_pci_ids={1: "0000:99:00.0"}), "no such PCI device"),
    ],
)
def test_refusals_name_the_vm(state: VmState, wanted: VmxWanted, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason) as caught:
        plan(state, wanted)
    assert str(caught.value).startswith("gpu01")


@pytest.mark.parametrize(
    ("extra", "wanted", "expected"),
    [
        ({P2P: "true", ACS: "True"}, VmxWanted(), {}),
        ({P2P: "1", ACS: "yes"}, VmxWanted(), {}),
        ({P2P: "off", ACS: "0"}, VmxWanted(allow_p2p=False, relax_acs=False), {}),
        ({P2P: "0", ACS: "perhaps"}, VmxWanted(relax_acs=False), {P2P: "TRUE", ACS: "FALSE"}),
        ({**SET["extra"], NUMA: "01, 00"}, VmxWanted(numa=("0", "1")), {}),
        ({**SET["extra"], NUMA: "10"}, VmxWanted(numa=("1",)), {NUMA: "1"}),
        ({}, VmxWanted(allow_p2p=None, relax_acs=None), {}),
        ({}, VmxWanted(allow_p2p=False, relax_acs=None), {P2P: "FALSE"}),
        ({**SET["extra"], NUMA: "1, 0"}, VmxWanted(numa=("0", "1")), {}),
        ({**SET["extra"], NUMA: "1"}, VmxWanted(numa=("absent",)), {NUMA: ""}),
        (SET["extra"], VmxWanted(numa=("absent",)), {}),
        (SET["extra"], VmxWanted(numa=("auto",)), {NUMA: "0"}),
        ({**SET["extra"], "pciPassthru1.cfg.gpu-pci-id": "0000:3D:00.0"}, VmxWanted(gpu_pci_ids={1: "3d:00.0"}), {}),
        (
            {**SET["extra"], "pciPassthru1.cfg.gpu-pci-id": "x"},
            VmxWanted(gpu_pci_ids={1: ""}),
            {"pciPassthru1.cfg.gpu-pci-id": ""},
        ),
        (
            SET["extra"],
            VmxWanted(use_64bit_mmio=True, mmio_size_gb=128),
            {"pciPassthru.use64bitMMIO": "TRUE", "pciPassthru.64bitMMIOSizeGB": "128"},
        ),
    ],
)
def test_only_real_differences_are_changed(extra: dict[str, str], wanted: VmxWanted, expected: dict[str, str]) -> None:
    state = vm(extra=extra)
    assert differing_keys(state, resolve(state, wanted).wanted) == expected


def test_inverse_restores_present_values_and_removes_new_keys() -> None:
    (operation,) = plan_vmx(vm(extra={P2P: "FALSE"}), VmxWanted())
    assert operation.inverse == f"ReconfigVM_Task gpu01 extraConfig {P2P}=FALSE {ACS}=''"
    assert operation.changes == {P2P: ("FALSE", "TRUE"), ACS: (None, "TRUE")}


def test_keys_changed_while_on_wait_only_while_the_vm_is_on() -> None:
    stale = {"changed_while_on": (P2P.lower(),)}
    assert pending_vmx(vm("poweredOn", **stale), [P2P, ACS]).scope is Reboot.VM_POWER_CYCLE
    assert pending_vmx(vm("poweredOff", **stale), [P2P]).scope is Reboot.NONE
    assert pending_vmx(vm("poweredOn", **stale), [ACS]).scope is Reboot.NONE


@pytest.mark.parametrize(
    ("state", "wanted", "warning"),
    [
        (vm(memory_reserved=False), VmxWanted(), "not fully reserved"),
        (vm(firmware="bios"), VmxWanted(), "firmware is bios"),
        (vm(), VmxWanted(), "use64bitMMIO is not set, needed: TRUE"),
        (vm(devices=(GPU,)), VmxWanted(), "needs a GPU and a NIC"),
        (vm(devices=(NIC, dataclasses.replace(GPU, numa_node=1))), VmxWanted(), "different NUMA nodes"),
        (vm(), VmxWanted(numa=("1",)), "leaves out the node"),
    ],
)
def test_prerequisites_are_told(state: VmState, wanted: VmxWanted, warning: str) -> None:
    assert warning in " ".join(prerequisites(state, wanted))


def test_complete_vm_has_no_warnings() -> None:
    complete = vm(extra={"pciPassthru.use64bitMMIO": "true", "pciPassthru.64bitMMIOSizeGB": "128"})
    wish = resolve(complete, VmxWanted(numa=("auto",), mmio_size_gb="auto"))
    assert (prerequisites(complete, wish.wanted), wish.left_alone) == ([], ())
