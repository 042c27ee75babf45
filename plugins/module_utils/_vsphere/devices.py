"""The host devices among a VM's virtual devices: who chose them, and what a later power-on may choose. No I/O.

Types are recognised by class name and by attributes, so that plain fakes do for tests.
"""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from .state import MELLANOX, NVIDIA, PciDevice, pci_address, pci_id, type_name
from .vm_state import AUTOMATIC, DVX, DYNAMIC, FIXED, UNKNOWN, VGPU, PassthroughDevice, VmState

FIRST_KEY = 13000  # device key of "PCI device 0"
_LABEL_NUMBER = re.compile(r"^PCI device (\d+)$")
# API: an id of this shape says that the physical function is assigned automatically, and which one it is at present
_AUTOMATIC = "Automatic-"
_NOT_YET = "0000:00:00.0"


def _address(text: str | None) -> str:
    """Canonical, or "" for what is no address of a device."""
    try:
        address = pci_address((text or "").removeprefix(_AUTOMATIC))
    except ValueError:
        return ""
    return "" if address == _NOT_YET else address


def _allowed(backing: Any) -> set[tuple[int, int]]:
    """Vendor and device ids that a Dynamic DirectPath device accepts."""
    return {(pci_id(each.vendorId), pci_id(each.deviceId)) for each in getattr(backing, "allowedDevice", None) or []}


def _assignment(backing: Any, is_card: bool) -> str:
    if is_card and not hasattr(backing, "deviceClass"):
        return AUTOMATIC if str(getattr(backing, "id", "") or "").startswith(_AUTOMATIC) else FIXED
    if getattr(backing, "vgpu", None):
        return VGPU
    if hasattr(backing, "deviceClass"):
        return DVX
    if any(hasattr(backing, name) for name in ("allowedDevice", "assignedId")):
        return DYNAMIC
    return FIXED if hasattr(backing, "id") else UNKNOWN


def _profile(backing: Any, assignment: str) -> str:
    """vGPU profile, device class, or the type of a backing that is not known."""
    if assignment == UNKNOWN:
        return "" if backing is None else type_name(backing)
    return str(getattr(backing, "deviceClass" if assignment == DVX else "vgpu", "") or "")


def _kind(device: PciDevice | None, candidates: Sequence[PciDevice], allowed: set[tuple[int, int]]) -> str:
    if device is not None:
        return device.kind
    kinds = {candidate.kind for candidate in candidates}
    if len(kinds) == 1:
        return kinds.pop()
    vendors = {vendor for vendor, _device in allowed}
    return {NVIDIA: "gpu", MELLANOX: "nic"}.get(vendors.pop(), "other") if len(vendors) == 1 else "other"


def group_names(groups: Any) -> dict[int, str]:
    """Key -> name of each device group, of a VM's ``config.deviceGroups``; an unnamed group is left out."""
    found = {}
    for group in getattr(groups, "deviceGroup", None) or []:
        info = getattr(group, "deviceInfo", None)
        found[group.groupInstanceKey] = getattr(group, "deviceGroupName", "") or getattr(info, "label", "") or ""
    return {key: name for key, name in found.items() if name}


def passthrough_devices(
    virtual_devices: Sequence[Any], host_devices: Sequence[PciDevice], groups: Mapping[int, str] | None = None
) -> tuple[PassthroughDevice, ...]:
    """``groups``: name of each device group that has one, by its key."""
    by_address = {device.address: device for device in host_devices}
    found: list[PassthroughDevice] = []
    count = 0
    for virtual in virtual_devices or []:
        name = type_name(virtual)
        if name == "VirtualPCIPassthrough":
            backing, index = virtual.backing, count
            count += 1
        elif name == "VirtualSriovEthernetCard":
            card = getattr(virtual, "dvxBackingInfo", None)
            backing, index = card or getattr(virtual.sriovBacking, "physicalFunctionBacking", None), -1
        else:
            continue
        assignment = _assignment(backing, index < 0)
        allowed = _allowed(backing)
        candidates = [
            device
            for device in host_devices
            if (
                (device.vendor_id, device.device_id) in allowed and device.passthru_enabled is not False
                if assignment == DYNAMIC
                else assignment == AUTOMATIC and device.kind == "nic" and is_split(device)
            )
        ]
        address = _address(getattr(backing, "id", None) or getattr(backing, "assignedId", None))
        device = by_address.get(address)
        info = getattr(virtual, "deviceInfo", None)
        group = getattr(getattr(virtual, "deviceGroupInfo", None), "groupInstanceKey", None)
        kind = _kind(device, candidates, allowed)
        if kind == "other" and (index < 0 or assignment == VGPU):
            kind = "nic" if index < 0 else "gpu"
        found.append(
            PassthroughDevice(
                index=index,
                label=getattr(info, "label", "") or "",
                address=address,
                kind=kind,
                name=f"{device.vendor_name} {device.device_name}" if device else getattr(info, "summary", "") or "",
                numa_node=device.numa_node if device else None,
                key=int(getattr(virtual, "key", 0) or 0),
                assignment=assignment,
                profile=_profile(backing, assignment),
                group=group,
                group_name="" if group is None else (groups or {}).get(group, ""),
                candidates=tuple(candidate.address for candidate in candidates),
                slot=getattr(getattr(virtual, "slotInfo", None), "pciSlotNumber", None),
            )
        )
    return tuple(found)


def numbering_gap(devices: Sequence[PassthroughDevice]) -> str:
    """ "" if the n-th device is number n by everything that vSphere says of it; else what says otherwise.

    After a device was removed the others keep key and label. Which N of pciPassthruN they have then is documented
    nowhere.
    """
    for device in devices:
        if device.index < 0:
            continue
        label = _LABEL_NUMBER.match(device.label)
        said = {int(label.group(1))} if label else set()
        if device.key >= FIRST_KEY:
            said.add(device.key - FIRST_KEY)
        if said - {device.index}:
            return (
                f"device number {device.index} in the VM's order calls itself {device.label or 'nothing'} "
                f"(key {device.key}): a device before it was removed"
            )
    return ""


def physical_gpu(host_devices: Sequence[PciDevice], address: str) -> PciDevice | None:
    """The device at ``address``; for a virtual function that the host does not list, the GPU in SR-IOV mode that it
    is a function of (the same bus)."""
    bus = address.rpartition(":")[0]
    for device in host_devices:
        if device.address == address:
            return device
    for device in host_devices:
        if device.vendor_id == NVIDIA and device.address.rpartition(":")[0] == bus and is_split(device):
            return device
    return None


def is_split(device: PciDevice) -> bool:
    """Whether the host has cut the device into virtual functions."""
    return bool((device.sriov or {}).get("enabled"))


def possible_nodes(state: VmState, device: PassthroughDevice, gpu_pci_ids: dict[int, str]) -> set[int | None]:
    """NUMA nodes of ``state``'s host that the device may be on after the next power-on; None among them: unknown.

    ``gpu_pci_ids``: number -> address of a physical GPU that the file names or shall name; it decides for a device
    that the VM does not name itself.
    """
    if not device.is_chosen_at_power_on:
        return {device.numa_node}
    named = physical_gpu(state.host_devices, _address(gpu_pci_ids.get(device.index)))
    if named is not None:
        return {named.numa_node}
    nodes = {found.address: found.numa_node for found in state.host_devices}
    if device.group is None and device.candidates:
        return {nodes.get(address) for address in device.candidates}
    return {None}
