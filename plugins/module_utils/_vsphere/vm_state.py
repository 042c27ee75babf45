"""A VM as vSphere reports it: its passthrough devices, its keys, its reservation. No I/O."""

from __future__ import annotations

import dataclasses
from typing import Mapping, Sequence

from .keys import GPU_KEY
from .state import NumaNode, PciDevice, pci_address

FIXED, DYNAMIC, AUTOMATIC, VGPU, DVX = "fixed", "dynamic", "automatic", "vgpu", "dvx"
UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True)
class PassthroughDevice:
    """A host device that a VM owns. ``index``: N of pciPassthruN, in the order of the VM's devices; -1 for an SR-IOV
    network card, which has no such number.

    ``assignment`` says who chooses the host's device: ``fixed`` (the VM names it), ``dynamic`` (Dynamic DirectPath, at
    power-on), ``automatic`` (an SR-IOV card without a physical function of its own, at power-on), ``vgpu`` (a share of
    a GPU), ``dvx`` (Device Virtualization Extensions: a device class, at power-on), ``unknown`` (a backing that this
    release does not know). ``profile``: the vGPU profile, the device class, or the type of the unknown backing.
    ``candidates``: what the present host may give at the next power-on. ``group``, ``group_name``: the vendor device
    group that the device belongs to, which is placed as a whole. ``slot``: number of the VM's slot that it is
    in, by which Linux in the VM calls it too.
    """

    index: int
    label: str
    address: str  # "" when vSphere chooses the device at power-on and has not yet
    kind: str = "other"
    name: str = ""
    numa_node: int | None = None
    key: int = 0
    assignment: str = FIXED
    profile: str = ""
    group: int | None = None
    group_name: str = ""
    candidates: tuple[str, ...] = ()
    slot: int | None = None

    @property
    def is_chosen_at_power_on(self) -> bool:
        return self.assignment != FIXED or self.group is not None


@dataclasses.dataclass(frozen=True)
class VmState:
    """One VM. ``power``: poweredOn, poweredOff or suspended. ``extra``: lower-case key -> (spelling, value).

    ``memory_reserved`` is the lock "reserve all guest memory", ``memory_reservation_mb`` the number beside it: vSphere
    keeps both, and the number stays when the lock goes. ``hardware_version``: 21 of vmx-21, 0 where it is unknown.
    """

    name: str
    moid: str
    host: str
    power: str
    uuid: str = ""
    host_moid: str = ""
    host_release: str = ""
    connection: str = "connected"
    is_template: bool = False
    question: str = ""
    tools_running: bool = False
    change_version: str = ""
    firmware: str = ""
    hardware_version: int = 0
    memory_reserved: bool = False
    memory_reservation_mb: int = 0
    memory_mb: int = 0
    cpus: int = 0
    cpu_hot_add: bool = False
    extra: Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    devices: tuple[PassthroughDevice, ...] = ()
    numa_nodes: tuple[NumaNode, ...] = ()
    host_devices: tuple[PciDevice, ...] = ()
    found_power: str = ""  # power when the module first looked
    changed_while_on: tuple[str, ...] = ()  # lower-case keys that were changed after the last power-on

    def value(self, key: str) -> str | None:
        entry = self.extra.get(key.lower())
        return None if entry is None else entry[1]

    def gpu_keys(self) -> dict[str, str]:
        """pciPassthruN.cfg.gpu-pci-id -> address as it is in the file, canonical where it is an address."""
        found: dict[str, str] = {}
        for spelling, value in self.extra.values():
            if GPU_KEY.match(spelling) and value:
                try:
                    found[spelling] = pci_address(value)
                except ValueError:
                    found[spelling] = value
        return found

    @property
    def all_memory_reserved(self) -> bool:
        return self.memory_reserved or 0 < self.memory_mb <= self.memory_reservation_mb


def device_name(device: PassthroughDevice) -> str:
    """What a person calls it, as short as it stays clear."""
    kind = device.kind.upper() if device.kind in ("gpu", "nic") else "device"
    chosen = {
        DYNAMIC: "Dynamic DirectPath, chosen at power-on",
        AUTOMATIC: "SR-IOV, physical function chosen at power-on",
        VGPU: f"vGPU {device.profile}".strip(),
        DVX: f"device class {device.profile or 'without a name'}, chosen at power-on",
        UNKNOWN: f"backing {device.profile or 'without a type'}, which is not known here and left alone",
    }.get(device.assignment, "")
    group = "" if device.group is None else f"member of device group {device.group} {device.group_name}".strip()
    words = [kind, device.address or "without an address"]
    about = ", ".join(part for part in (device.name or device.label, chosen, group) if part)
    return " ".join(words) + (f" ({about})" if about else "")


def describe_devices(devices: Sequence[PassthroughDevice]) -> str:
    """One line: each device, its address and its node."""
    return "; ".join(
        "{} on NUMA node {}".format(device_name(d), "unknown" if d.numa_node is None else d.numa_node) for d in devices
    )
