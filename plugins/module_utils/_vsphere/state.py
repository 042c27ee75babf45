"""What vSphere reports about hosts and VMs, as frozen dataclasses, and the parsers that make them. No I/O."""

from __future__ import annotations

import dataclasses
import datetime
import re
from typing import Any, Iterable, Mapping, Sequence

from .._layer import ParseError

NVIDIA = 0x10DE
MELLANOX = 0x15B3

_ADDRESS = re.compile(r"^(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-7])$", re.IGNORECASE)
_TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_INTEGER_TYPES = re.compile(r"^(u?int(eger)?\d*|u?long|number)$", re.IGNORECASE)


# ---------------------------------------------------------------- values
def pci_address(text: str) -> str:
    """Return "ssss:bb:dd.f" in lower case; a missing segment is 0000. Raises ValueError."""
    match = _ADDRESS.match(str(text).strip())
    if not match:
        raise ValueError(f"not a PCI address (ssss:bb:dd.f): {text!r}")
    segment, bus, slot, function = match.groups()
    return "{:04x}:{:02x}:{:02x}.{}".format(int(segment or "0", 16), int(bus, 16), int(slot, 16), function)


def type_name(thing: Any) -> str:
    """Of a vSphere object or fault, without what is before the dot."""
    return type(thing).__name__.rpartition(".")[2]


def pci_id(value: Any) -> int:
    """Return a PCI id 0..0xffff from a signed 16-bit number, "0x15b3" or "5555". Raises ValueError."""
    number = value if isinstance(value, int) else int(str(value), 0)
    if not -0x8000 <= number <= 0xFFFF:
        raise ValueError(f"not a PCI id: {value!r}")
    return number & 0xFFFF


def as_bool(value: Any) -> bool | None:
    """Return the truth value of a boolean or of its usual spellings; None for anything else."""
    if isinstance(value, bool):
        return value
    return _TRUTHS.get(str(value).strip().lower())


def boolean_text(value: bool) -> str:
    """Both esxcli and VMX files spell booleans this way."""
    return "TRUE" if value else "FALSE"


# ---------------------------------------------------------------- kernel settings
@dataclasses.dataclass(frozen=True)
class KernelSetting:
    """One row of ``esxcli system settings kernel list``.

    ``configured`` is what the next boot uses, ``runtime`` what is in force now; both in canonical spelling.
    """

    name: str
    type: str
    configured: str
    runtime: str
    default: str
    description: str = ""

    @property
    def is_pending(self) -> bool:
        return self.configured != self.runtime

    @property
    def pending_text(self) -> str:
        return f"kernel setting {self.name} is configured {self.configured} but {self.runtime} is in force"


def canonical(type_name: str, value: Any) -> str:
    """Return ``value`` in the spelling of its type: TRUE/FALSE, decimal digits, or the text. Raises ValueError."""
    if type_name.lower() in ("bool", "boolean"):
        truth = as_bool(value)
        if truth is None:
            raise ValueError("expected a boolean")
        return boolean_text(truth)
    if _INTEGER_TYPES.match(type_name):
        if isinstance(value, bool):
            raise ValueError("expected a number")
        return str(value if isinstance(value, int) else int(str(value).strip(), 0))
    if isinstance(value, bool):
        return boolean_text(value)
    return str(value)


def parse_kernel_list(rows: Any, host: str) -> dict[str, KernelSetting]:
    """Parse the answer of ``system.settings.kernel.list``; keys are lower-case names (the host ignores case)."""
    if not isinstance(rows, list):
        raise ParseError("kernel settings did not come as a list", host=host, raw=repr(rows))
    found: dict[str, KernelSetting] = {}
    for row in rows:
        missing = {"Name", "Type", "Configured", "Runtime", "Default"} - set(row)
        if missing:
            raise ParseError("a kernel setting lacks " + ", ".join(sorted(missing)), host=host, raw=repr(row))
        values = {}
        for column in ("Configured", "Runtime", "Default"):
            try:
                values[column] = canonical(row["Type"], row[column])
            except ValueError:
                values[column] = row[column]  # shown as it is; only a managed setting has to be understood
        found[row["Name"].lower()] = KernelSetting(
            row["Name"],
            row["Type"],
            values["Configured"],
            values["Runtime"],
            values["Default"],
            row.get("Description", ""),
        )
    return found


@dataclasses.dataclass(frozen=True)
class KernelState:
    """``settings``: lower-case name -> setting; all of the host's, so that a wrong name gets near ones as answer."""

    host: str
    settings: Mapping[str, KernelSetting]


# ---------------------------------------------------------------- PCI and NUMA
@dataclasses.dataclass(frozen=True)
class PciDevice:
    """One PCI function of a host. ``numa_node`` is None where the host places the device in no node."""

    address: str
    vendor_id: int
    device_id: int
    vendor_name: str
    device_name: str
    class_id: int
    subvendor_id: int = 0
    subdevice_id: int = 0
    parent_bridge: str = ""
    numa_node: int | None = None
    passthru_capable: bool | None = None
    passthru_enabled: bool | None = None
    passthru_active: bool | None = None
    dependent_device: str = ""
    mode: str = ""  # DirectPath mode, "" before API 9.1
    modes: tuple[str, ...] = ()  # that it can be given
    sriov: Mapping[str, Any] | None = None

    root_port: str = ""  # topmost bridge above the device that the host names

    @property
    def root_complex(self) -> str:
        """Segment and bus of the root port ("0000:3a"): devices that share it can reach each other below the CPU."""
        return (self.root_port or self.address).rpartition(":")[0]

    @property
    def passthru_reboot_required(self) -> bool:
        """Handed over on paper only: the host takes it from its own driver at the next reboot."""
        return bool(self.passthru_enabled) != bool(self.passthru_active)

    @property
    def kind(self) -> str:
        """One of nic, gpu, bridge, other, by PCI class (02 network, 03 display, 0b40 co-processor, 06 bridge)."""
        base = self.class_id >> 8
        if base == 0x02:
            return "nic"
        if base == 0x03 or self.class_id == 0x0B40 or (self.vendor_id == NVIDIA and base == 0x12):
            return "gpu"
        return "bridge" if base == 0x06 else "other"


@dataclasses.dataclass(frozen=True)
class NumaNode:
    id: int
    cpus: int
    memory_mb: int
    pci_addresses: tuple[str, ...] = ()
    cores: int = 0  # 0: the host does not say


def parse_numa_nodes(numa_info: Any, host: str, cpu_info: Any = None) -> tuple[NumaNode, ...]:
    """Parse HostNumaInfo (attributes typeId, cpuID, memoryRangeLength in bytes, pciId); None gives no nodes.

    ``cpu_info``: HostCpuInfo, which tells how many of the node's logical CPUs share a core.
    """
    threads = int(getattr(cpu_info, "numCpuThreads", 0) or 0)
    cores = int(getattr(cpu_info, "numCpuCores", 0) or 0)
    per_core = max(threads // cores, 1) if cores else 0
    nodes: list[NumaNode] = []
    for node in getattr(numa_info, "numaNode", None) or []:
        try:
            addresses = tuple(sorted(pci_address(text) for text in getattr(node, "pciId", None) or []))
        except ValueError as error:
            raise ParseError(f"NUMA node {node.typeId}: {error}", host=host, raw=repr(node.pciId)) from error
        size = getattr(node, "memorySize", None) or node.memoryRangeLength
        cpus = len(node.cpuID or [])
        nodes.append(
            NumaNode(int(node.typeId) & 0xFF, cpus, int(size) // 2**20, addresses, cpus // per_core if per_core else 0)
        )
    return tuple(sorted(nodes, key=lambda node: node.id))


def parse_pci_devices(
    devices: Iterable[Any], passthru: Iterable[Any], nodes: Sequence[NumaNode], host: str
) -> tuple[PciDevice, ...]:
    """Join HostPciDevice, HostPciPassthruInfo and the NUMA nodes by address."""
    node_of = {address: node.id for node in nodes for address in node.pci_addresses}
    found: list[PciDevice] = []
    try:
        by_address = {pci_address(info.id): info for info in passthru or []}
        for device in devices or []:
            address = pci_address(device.id)
            info = by_address.get(address)
            mode = getattr(info, "directPathState", None)
            found.append(
                PciDevice(
                    address=address,
                    vendor_id=pci_id(device.vendorId),
                    device_id=pci_id(device.deviceId),
                    vendor_name=device.vendorName or "",
                    device_name=device.deviceName or "",
                    class_id=pci_id(device.classId),
                    subvendor_id=pci_id(device.subVendorId),
                    subdevice_id=pci_id(device.subDeviceId),
                    parent_bridge=device.parentBridge or "",
                    numa_node=node_of.get(address),
                    passthru_capable=None if info is None else bool(info.passthruCapable),
                    passthru_enabled=None if info is None else bool(info.passthruEnabled),
                    passthru_active=None if info is None else bool(info.passthruActive),
                    dependent_device="" if info is None else info.dependentDevice or "",
                    mode=str(getattr(mode, "mode", "") or ""),
                    modes=tuple(getattr(mode, "configurableModes", None) or ()),
                    sriov=_sriov(info),
                )
            )
    except ValueError as error:
        raise ParseError(str(error), host=host, raw=repr(error)) from error
    return tuple(sorted(_with_roots(found), key=lambda device: device.address))


def _with_roots(devices: Sequence[PciDevice]) -> list[PciDevice]:
    """Walk the bridges upwards; a bridge that is not in the list ends the walk, and so does a loop."""
    above: dict[str, str] = {}
    for device in devices:
        try:
            above[device.address] = pci_address(device.parent_bridge) if device.parent_bridge else ""
        except ValueError:
            above[device.address] = ""
    found = []
    for device in devices:
        current, seen = above[device.address], {device.address}
        top = ""
        while current and current not in seen:
            top = current
            seen.add(current)
            current = above.get(current, "")
        found.append(dataclasses.replace(device, root_port=top))
    return found


def _sriov(info: Any) -> dict[str, Any] | None:
    if info is None or getattr(info, "sriovCapable", None) is None:
        return None
    return {
        "capable": bool(info.sriovCapable),
        "enabled": bool(info.sriovEnabled),
        "active": bool(info.sriovActive),
        "virtual_functions": int(info.numVirtualFunction or 0),
        "max_virtual_functions": int(info.maxVirtualFunctionSupported or 0),
    }


# ---------------------------------------------------------------- VMs
def parse_extra_config(options: Iterable[Any]) -> dict[str, tuple[str, str]]:
    """vSphere compares keys without case; values arrive as text, or typed from a sloppy client."""
    found: dict[str, tuple[str, str]] = {}
    for option in options or []:
        value = option.value
        found[option.key.lower()] = (option.key, boolean_text(value) if isinstance(value, bool) else str(value))
    return found


# ---------------------------------------------------------------- hosts
@dataclasses.dataclass(frozen=True)
class HostVm:
    """A VM of a host, as far as a reboot cares."""

    name: str
    moid: str
    power: str
    tools_running: bool
    has_passthrough: bool = False
    is_vcenter: bool = False
    is_controller: bool = False  # the machine that runs this code
    is_agent: bool = False  # vCenter moves or stops it by itself
    question: str = ""


@dataclasses.dataclass(frozen=True)
class HostState:
    """One ESXi host before, during or after a reboot.

    ``story``: who entered the maintenance mode that it is in; ``doubt``: why no interrupted run of this collection is
    proved to have, "" if one is. ``drs``: the cluster moves VMs by itself; ``refuges``: (managed object id, name) of
    hosts that VMs could move to, best first. The fields from ``rebooted`` on are what this run has done so far, so that
    planning stays a pure function of the state; VMs there are managed object ids.
    """

    name: str
    moid: str
    connection: str
    power: str
    in_maintenance: bool
    boot_time: datetime.datetime | None
    reboot_supported: bool = True
    standby: str = "none"
    vms: tuple[HostVm, ...] = ()
    pending: tuple[KernelSetting, ...] = ()
    story: str = ""
    doubt: str = "nothing is recorded about it"
    drs: bool = False
    refuges: tuple[tuple[str, str], ...] = ()
    rebooted: bool = False
    superseded: bool = False  # another client rebooted it before this run could
    entered_maintenance: bool = False
    left_maintenance: bool = False
    shut_down: tuple[str, ...] = ()
    powered_on: tuple[str, ...] = ()

    @property
    def running(self) -> tuple[HostVm, ...]:
        return tuple(vm for vm in self.vms if vm.power == "poweredOn")
