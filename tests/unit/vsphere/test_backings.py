"""Every backing type of the installed vSphere API is read by its name, or left alone with a warning."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.devices import passthrough_devices
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.vm_state import device_name
from pyVmomi import VmomiSupport, vim

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


def test_passthrough_device_without_backing_is_unknown() -> None:
    (device,) = passthrough_devices([vim.vm.device.VirtualPCIPassthrough(key=13000)], [])
    assert device.assignment == "unknown" and device.is_chosen_at_power_on
