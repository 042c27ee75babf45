"""Every backing type of the installed vSphere API is read by its name, or left alone with a warning."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.devices import (
    group_names,
    passthrough_devices,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.inventory import device_row
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.state import parse_pci_devices
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.vm_state import device_name
from pyVmomi import VmomiSupport, vim

ADDRESS = "0000:3d:00.0"
PASSTHROUGH = {
    "VirtualPCIPassthroughDeviceBackingInfo": "fixed",
    "VirtualPCIPassthroughDvxBackingInfo": "dvx",
    "VirtualPCIPassthroughDynamicBackingInfo": "dynamic",
    "VirtualPCIPassthroughVmiopBackingInfo": "vgpu",
    # The base of vGPU backings: says nothing of what it is.
    "VirtualPCIPassthroughPluginBackingInfo": "unknown",
}


def backings() -> list[tuple[str, Any]]:
    """Name and class of each VirtualDevice.BackingInfo of pyVmomi, which loads its classes at first use."""
    base = vim.vm.device.VirtualDevice.BackingInfo
    found = []
    for namespace, name in sorted(VmomiSupport._wsdlDefMap):
        if "Virtual" in name and "Backing" in name and not name.startswith("ArrayOf"):
            kind = VmomiSupport.GetWsdlType(namespace, name)
            if isinstance(kind, type) and issubclass(kind, base):
                found.append((name, kind))
    return found


def filled(name: str, kind: Any) -> Any:
    backing = kind()
    values = {"vgpu": "grid_h100xm-80c", "deviceClass": "sample-class", "id": "0000:3b:00.0"}
    for field in kind._GetPropertyList(includeBaseClassProps=True):
        if field.name in values and field.type is str:
            setattr(backing, field.name, values[field.name])
    return backing


def test_backings_of_the_api_hold_the_known_passthrough_types() -> None:
    names = {name for name, _kind in backings()}
    assert len(names) >= 48
    assert {name for name in names if name.startswith("VirtualPCIPassthrough")} == set(PASSTHROUGH)


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize(("name", "kind"), backings())
def test_passthrough_any_backing_is_named_and_never_aborts(name: str, kind: Any, empty: bool) -> None:
    virtual = vim.vm.device.VirtualPCIPassthrough(key=13000, backing=kind() if empty else filled(name, kind))
    (device,) = passthrough_devices([virtual], [])
    if name in PASSTHROUGH and not (empty and name == "VirtualPCIPassthroughVmiopBackingInfo"):
        assert device.assignment == PASSTHROUGH[name]
    if device.assignment == "unknown":
        assert device.profile and device.profile in device_name(device)
    assert device.is_chosen_at_power_on or device.assignment == "fixed"


def test_passthrough_device_class_is_shown() -> None:
    backing = vim.vm.device.VirtualPCIPassthrough.DvxBackingInfo(deviceClass="sample-class")
    (device,) = passthrough_devices([vim.vm.device.VirtualPCIPassthrough(key=13000, backing=backing)], [])
    assert (device.assignment, device.profile, device.address) == ("dvx", "sample-class", "")
    assert "sample-class" in device_name(device)


def test_sriov_card_with_a_device_class_is_dvx() -> None:
    backing = vim.vm.device.VirtualPCIPassthrough.DvxBackingInfo(deviceClass="sample-class")
    card = vim.vm.device.VirtualSriovEthernetCard(key=4100, dvxBackingInfo=backing)
    (device,) = passthrough_devices([card], [])
    assert (device.assignment, device.profile, device.kind, device.index) == ("dvx", "sample-class", "nic", -1)


def test_device_groups_are_named_by_their_keys() -> None:
    groups = vim.vm.VirtualDeviceGroups(
        deviceGroup=[
            vim.vm.VirtualDeviceGroups.VendorDeviceGroup(groupInstanceKey=1, deviceGroupName="two GPUs, one NIC"),
            vim.vm.VirtualDeviceGroups.DeviceGroup(groupInstanceKey=2, deviceInfo=vim.Description(label="group two")),
            vim.vm.VirtualDeviceGroups.DeviceGroup(groupInstanceKey=3),
        ]
    )
    assert group_names(groups) == {1: "two GPUs, one NIC", 2: "group two"}
    assert group_names(None) == {}
    member = vim.vm.device.VirtualDevice.DeviceGroupInfo(groupInstanceKey=1, sequenceId=0)
    virtual = vim.vm.device.VirtualPCIPassthrough(key=13000, deviceGroupInfo=member)
    (device,) = passthrough_devices([virtual], [], group_names(groups))
    assert "member of device group 1 two GPUs, one NIC" in device_name(device)


@pytest.mark.parametrize("mode", [*vim.host.PciPassthruInfo.DirectPathDeviceMode.values, "a mode of tomorrow", None])
def test_host_device_any_directpath_mode_is_read(mode: str | None) -> None:
    """Every mode of the installed API, and one that it does not know."""
    device = vim.host.PciDevice(
        id=ADDRESS, classId=0x0302, vendorId=0x10DE, deviceId=0x2330, subVendorId=0, subDeviceId=0
    )
    kind = vim.host.PciPassthruInfo.DirectPathState
    state = kind(mode=mode, configurableModes=["none", "directPath"]) if mode else None
    info = vim.host.PciPassthruInfo(
        id=ADDRESS, passthruEnabled=True, passthruCapable=True, passthruActive=True, directPathState=state
    )
    (found,) = parse_pci_devices([device], [info], [], "esx01")
    row = device_row(found, [], {})["passthru"]
    assert (row["mode"], row["configurable_modes"]) == ((mode, ["none", "directPath"]) if mode else (None, []))


def test_passthrough_device_without_backing_is_unknown() -> None:
    (device,) = passthrough_devices([vim.vm.device.VirtualPCIPassthrough(key=13000)], [])
    assert device.assignment == "unknown" and device.is_chosen_at_power_on
