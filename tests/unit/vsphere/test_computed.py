"""What "auto" comes to, device by device; shapes of ids and backings are those of the published API."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.computed import resolve
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.devices import (
    numbering_gap,
    passthrough_devices,
    physical_gpu,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.gpus import gpu_memory_gb
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.keys import VmxWanted, most_devices
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan_vmx import plan_vmx
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.prerequisites import prerequisites
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.state import NumaNode, PciDevice
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.vm_state import PassthroughDevice, VmState

A100, CX6 = 0x20F1, 0x101D


def gpu(address: str, node: int | None = 0, device_id: int = A100, **rest: Any) -> PciDevice:
    return PciDevice(
        address,
        0x10DE,
        device_id,
        "NVIDIA",
        rest.pop("name", ""),
        0x0302,
        numa_node=node,
        passthru_enabled=True,
        **rest,
    )


def nic(address: str, node: int | None = 0, **rest: Any) -> PciDevice:
    return PciDevice(address, 0x15B3, CX6, "Mellanox", "CX6", 0x0200, numa_node=node, passthru_enabled=True, **rest)


GPU0, GPU1, NIC0, NIC1 = gpu("0000:3d:00.0"), gpu("0000:b1:00.0", 1), nic("0000:3b:00.0"), nic("0000:af:00.0", 1)


class VirtualPCIPassthrough(SimpleNamespace):
    pass


class VirtualSriovEthernetCard(SimpleNamespace):
    pass


def fixed(device: PciDevice, **rest: Any) -> Any:
    return VirtualPCIPassthrough(backing=SimpleNamespace(id=device.address), **rest)


def dynamic(device_id: int = A100, vendor: int = 0x10DE, assigned: str = "", **rest: Any) -> Any:
    allowed = [SimpleNamespace(vendorId=vendor, deviceId=device_id)]
    return VirtualPCIPassthrough(backing=SimpleNamespace(assignedId=assigned, allowedDevice=allowed), **rest)


def vgpu(**rest: Any) -> Any:
    return VirtualPCIPassthrough(backing=SimpleNamespace(vgpu="grid_a100-40c"), **rest)


def sriov(text: str) -> Any:
    return VirtualSriovEthernetCard(sriovBacking=SimpleNamespace(physicalFunctionBacking=SimpleNamespace(id=text)))


def vm(virtual: list[Any], host: tuple[PciDevice, ...] = (GPU0, GPU1, NIC0, NIC1), **rest: Any) -> VmState:
    extra = {key.lower(): (key, value) for key, value in rest.pop("extra", {}).items()}
    nodes = (NumaNode(0, 32, 1), NumaNode(1, 32, 1))
    return VmState(
        "gpu01", "vm-1", "esx01", rest.pop("power", "poweredOff"), host_moid="host-1", extra=extra, host_devices=host,
        devices=passthrough_devices(virtual, host), numa_nodes=nodes, **rest,
    )  # fmt: skip


AUTO = VmxWanted(numa=("auto",), mmio_size_gb="auto")
ON_NODE_1 = (gpu("0000:b1:00.0", 1), gpu("0000:c1:00.0", 1), NIC0, NIC1)


@pytest.mark.parametrize(
    ("state", "numa", "size"),
    [
        pytest.param(vm([fixed(NIC0), fixed(GPU0)]), ("0",), "128", id="fixed"),
        pytest.param(vm([fixed(NIC1), dynamic()], ON_NODE_1), ("1",), "128", id="dynamic_that_has_one_node_to_go_to"),
        pytest.param(vm([fixed(NIC1), dynamic()]), None, "128", id="dynamic_with_gpus_on_both_nodes"),
        pytest.param(
            vm([fixed(NIC1), dynamic(assigned="0000:b1:00.0")], power="poweredOn"),
            None,
            "128",
            id="dynamic_that_runs_may_get_another_one",
        ),
        pytest.param(vm([fixed(NIC1), dynamic(0x7FFF)]), None, None, id="dynamic_without_a_candidate"),
        pytest.param(
            vm([fixed(NIC0), dynamic()], (GPU0, NIC0, gpu("0000:c1:00.0", 0, passthru_capable=False))),
            ("0",),
            "128",
            id="dynamic_counts_every_model_that_fits",
        ),
        pytest.param(vm([fixed(NIC1), vgpu()]), None, None, id="vgpu"),
        pytest.param(
            vm([fixed(NIC1), vgpu()], extra={"pciPassthru1.cfg.gpu-pci-id": "0000:b1:00.0"}),
            ("1",),
            None,
            id="vgpu_whose_gpu_the_file_names",
        ),
        pytest.param(
            vm([fixed(NIC0), fixed(GPU0, deviceGroupInfo=SimpleNamespace(groupInstanceKey=7))]), None, None, id="group"
        ),
        pytest.param(vm([fixed(GPU0), sriov("Automatic-0000:3b:00.0")]), None, "128", id="automatic_sriov"),
        pytest.param(
            vm([fixed(GPU0), sriov("Automatic-0000:3b:00.0")], (GPU0, nic("0000:3b:00.0", 0, sriov={"enabled": True}))),
            ("0",),
            "128",
            id="automatic_sriov_that_has_one_node_to_go_to",
        ),
        pytest.param(
            vm([fixed(NIC0), fixed(gpu("0000:3d:00.0", None))], (NIC0, gpu("0000:3d:00.0", None))),
            None,
            "128",
            id="host_that_names_no_node",
        ),
        pytest.param(vm([]), None, None, id="no_devices"),
        pytest.param(
            vm([fixed(device) for device in (NIC0, NIC1, GPU0, GPU1)]), ("0", "1"), "256", id="whole_host_on_two_nodes"
        ),
        pytest.param(vm([fixed(NIC0), fixed(NIC1), fixed(GPU0), dynamic()]), None, "256", id="dynamic_of_a_whole_host"),
        pytest.param(
            vm([fixed(NIC0), fixed(gpu("0000:3d:00.0"))], (NIC0, gpu("0000:3d:00.0", 0, 0x7FFF))),
            ("0",),
            None,
            id="unknown_model",
        ),
    ],
)
def test_auto_is_computed_or_left_alone_with_the_reason(
    state: VmState, numa: tuple[str, ...] | None, size: str | None
) -> None:
    found = resolve(state, AUTO)
    assert (found.wanted.numa, found.wanted.mmio_size_gb) == (numa, size)
    assert len(found.left_alone) == [numa, size].count(None)
    assert all(text.startswith("gpu01: ") and "is left alone: " in text for text in found.left_alone)
    plan_vmx(state, dataclasses.replace(found.wanted, plan_only=True))  # nothing that is left alone may refuse the rest


@pytest.mark.parametrize(
    "devices", [[NIC1, GPU0], [NIC0, NIC1, GPU0], [NIC0, GPU0, GPU1]], ids=["apart", "nic_alone", "gpu_alone"]
)
def test_gpu_without_nic_on_its_node_is_refused_and_so_is_a_nic_without_gpu(devices: list[PciDevice]) -> None:
    with pytest.raises(RefusedError, match="different NUMA nodes"):
        resolve(vm([fixed(device) for device in devices]), AUTO)


def test_fixed_devices_on_two_nodes_are_refused_whatever_else_is_unknown() -> None:
    with pytest.raises(RefusedError, match="different NUMA nodes"):
        resolve(vm([fixed(NIC1), fixed(GPU0), vgpu()]), AUTO)


def test_present_host_decides_whether_a_plan_still_fits() -> None:
    state = vm([fixed(NIC0), fixed(GPU0)])
    planned = VmxWanted(numa=("0",), gpu_pci_ids={1: "0000:3d:00.0"}, mmio_size_gb="128")
    for host in ("host-1", "esx01", ""):
        assert resolve(state, dataclasses.replace(planned, planned_host=host)).left_alone == ()
    moved = resolve(state, dataclasses.replace(planned, planned_host="host-2"))
    assert (moved.wanted.numa, moved.wanted.gpu_pci_ids, moved.wanted.mmio_size_gb) == (None, {}, "128")
    assert "is on host esx01 now" in moved.left_alone[0]


@pytest.mark.parametrize(
    ("text", "address", "assignment"),
    [
        ("Automatic-0000:3b:00.0", "0000:3b:00.0", "automatic"),
        ("Automatic-0000:00:00.0", "", "automatic"),
        ("0000:3b:00.0", "0000:3b:00.0", "fixed"),
    ],
)
def test_sriov_id_of_every_documented_shape(text: str, address: str, assignment: str) -> None:
    (card,) = passthrough_devices([sriov(text)], [NIC0])
    assert (card.address, card.assignment, card.kind, card.index) == (address, assignment, "nic", -1)


def test_dynamic_device_without_an_assignment_is_told_by_what_it_accepts() -> None:
    found = passthrough_devices([dynamic(), dynamic(CX6, 0x15B3), dynamic(1, 0x8086)], [GPU0, NIC0])
    assert [(d.kind, d.address, d.candidates) for d in found] == [
        ("gpu", "", (GPU0.address,)),
        ("nic", "", (NIC0.address,)),
        ("other", "", ()),
    ]


# ---------------------------------------------------------------- numbers of devices
def numbered(*pairs: tuple[int, str]) -> list[PassthroughDevice]:
    return [PassthroughDevice(index, label, "", key=key) for index, (key, label) in enumerate(pairs)]


@pytest.mark.parametrize(
    ("devices", "gap"),
    [
        ([(13000, "PCI device 0"), (13001, "PCI device 1")], False),
        ([(13001, "PCI device 1")], True),
        ([(13000, "PCI device 0"), (13002, "PCI device 2")], True),
        ([(13000, "PCI device 1")], True),
        ([(0, "NIC"), (0, "GPU")], False),
    ],
)
def test_gap_in_the_numbers_is_seen_by_key_and_label(devices: list[tuple[int, str]], gap: bool) -> None:
    assert bool(numbering_gap(numbered(*devices))) is gap


def test_gap_refuses_a_new_gpu_address_and_lets_one_stand_or_go() -> None:
    key = "pciPassthru0.cfg.gpu-pci-id"
    only_second = [vgpu(key=13001, deviceInfo=SimpleNamespace(label="PCI device 1", summary=""))]
    for extra, given, refuses in (
        ({}, GPU0.address, True),
        ({key: GPU0.address}, GPU0.address, False),
        ({key: "x"}, "", False),
    ):
        state = vm(only_second, extra=extra)
        if refuses:
            with pytest.raises(RefusedError, match="it was removed"):
                plan_vmx(state, VmxWanted(gpu_pci_ids={0: given}))
        else:
            plan_vmx(state, VmxWanted(gpu_pci_ids={0: given}))


@pytest.mark.parametrize(
    ("hardware", "release", "most"),
    [(19, "7.0.3", 16), (19, "8.0.2", 16), (20, "8.0.0", 32), (20, "8.0.1", 64), (20, "8.0.2", 64), (21, "8.0.2", 128),
     (22, "9.0.0", 128), (0, "", 128)],
)  # fmt: skip
def test_limit_of_devices_follows_hardware_version_and_release(hardware: int, release: str, most: int) -> None:
    """Broadcom KB 309986: 16 on 7.x (versions 13-19), 32 on 8.0 and 64 on 8.0 U1 (20), 128 on 8.0 U2 (21)."""
    assert most_devices(hardware, release) == most


# ---------------------------------------------------------------- models
@pytest.mark.parametrize(
    ("device_id", "name", "memory"),
    [
        (0x2330, "H100 80GB HBM3", 80), (0x2331, "H100 PCIe", 80), (0x2321, "H100 NVL", 94), (0x2335, "H200", 141),
        (0x233B, "H200 NVL", 141), (0x2901, "B200", 180), (0x2941, "GB200", 192),
        (0x3182, "GB110 [B300 SXM6 AC]", 288), (0x31C2, "GB300", 288), (0x2342, "GH200 480GB", 96),
        (0x2342, "GH200 120GB", 96),
        (0x26B9, "L40S", 48), (0x26B8, "L40G", 24), (0x26B5, "L40", 48), (0x27B8, "L4", 24),
        (0x2BB5, "RTX PRO 6000 Blackwell Server Edition", 96), (0x2329, "H20", 96), (0x20F1, "A100 PCIe 40GB", 40),
        (0x20B2, "A100 SXM4 80GB", 80), (0x1EB8, "T4", 16), (0x1DB1, "V100", 16), (0x1DB4, "V100", 16),
        (0x1DB5, "V100", 32), (0x1DB6, "V100", 32), (0x20B5, "A100", 80), (0x20B0, "A100", 40), (0x20B7, "A30", 24),
        (0x2322, "H800", 80), (0x2324, "H800", 80), (0x233A, "H800 NVL", 94), (0x2235, "A40", 48), (0x2236, "A10", 24),
        (0x25B6, "A16", 16), (0x7FFF, "A1000 6GB", 6), (0x7FFF, "nothing", None),
    ],
)  # fmt: skip
def test_memory_of_a_model_is_that_of_the_gpu(device_id: int, name: str, memory: int | None) -> None:
    assert gpu_memory_gb(gpu("0000:3d:00.0", device_id=device_id, name=name)) == memory


def test_same_id_of_another_vendor_is_another_device() -> None:
    other = dataclasses.replace(gpu("0000:3d:00.0", device_id=0x2330), vendor_id=0x1002)
    assert gpu_memory_gb(other) is None


def test_gpu_in_sriov_mode_takes_a_virtual_function_and_warns_of_the_whole() -> None:
    split = gpu("0000:3d:00.0", 1, sriov={"enabled": True})
    assert physical_gpu((split, NIC0), "0000:3d:01.2") is split
    assert physical_gpu((GPU0, NIC0), "0000:3d:01.2") is None, "a whole GPU has no such function"
    state = vm([fixed(NIC1), vgpu()], (split, NIC1))
    function, whole = (VmxWanted(gpu_pci_ids={1: address}) for address in ("0000:3d:00.4", "0000:3d:00.0"))
    assert plan_vmx(state, function)
    assert not any("SR-IOV mode" in text for text in prerequisites(state, function))
    assert any("its virtual functions" in text for text in prerequisites(state, whole))


@pytest.mark.parametrize(
    ("size", "accepted"), [(1, True), (2, True), (3, False), (96, False), (128, True), (0, False), ("x", False)]
)
def test_size_given_by_a_person_is_a_power_of_two(size: int | str, accepted: bool) -> None:
    state = vm([])
    if accepted:
        assert plan_vmx(state, VmxWanted(mmio_size_gb=size))
    else:
        with pytest.raises(RefusedError, match="power of two"):
            plan_vmx(state, VmxWanted(mmio_size_gb=size))


@pytest.mark.parametrize(
    ("have", "becomes"),
    [("", "128"), ("64", "128"), ("96", "128"), ("128", "128"), ("192", "128"), ("256", "256"), ("x", "128")],
)
def test_size_that_is_enough_and_a_power_of_two_is_kept(have: str, becomes: str) -> None:
    state = vm([fixed(GPU0)], extra={"pciPassthru.64bitMMIOSizeGB": have} if have else {})
    assert resolve(state, VmxWanted(mmio_size_gb="auto")).wanted.mmio_size_gb == becomes


def test_stale_address_is_told_unless_this_run_sets_that_very_key() -> None:
    stale = {f"pciPassthru{n}.cfg.gpu-pci-id": "0000:77:00.0" for n in (0, 1)}
    state = vm([vgpu(), vgpu()], extra={**stale, "pciPassthru2.cfg.gpu-pci-id": GPU0.address})

    def told(wanted: VmxWanted) -> list[str]:
        return [text.split()[1] for text in prerequisites(state, wanted) if "is no NVIDIA GPU" in text]

    assert told(VmxWanted()) == ["pciPassthru0.cfg.gpu-pci-id", "pciPassthru1.cfg.gpu-pci-id"]
    assert told(VmxWanted(gpu_pci_ids={1: GPU1.address})) == ["pciPassthru0.cfg.gpu-pci-id"]


def test_peer_to_peer_needs_both_a_gpu_and_a_nic_and_says_what_there_is() -> None:
    wanted = VmxWanted(allow_p2p=True)
    for devices, missing in (([GPU0, NIC0], False), ([GPU0], True), ([NIC0], True), ([], True)):
        told = prerequisites(vm([fixed(each) for each in devices]), wanted)
        assert any("peer-to-peer needs a GPU and a NIC" in text for text in told) is missing
