"""What PCI devices a host has, where they sit, and whose they are. Reads only."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Mapping, Sequence

from .._layer import LayerError
from .devices import group_names, passthrough_devices
from .parallel import in_parallel, together, worth_telling
from .state import NumaNode, PciDevice, parse_numa_nodes, parse_pci_devices, pci_address
from .transport import Connection
from .vm_state import PassthroughDevice

PCI_LIST = "hardware.pci.list"


_HOST_PATHS = (
    "name",
    "summary.config.product",
    "hardware.cpuInfo",
    "hardware.numaInfo",
    "hardware.pciDevice",
    "config.pciPassthruInfo",
)


@dataclasses.dataclass(frozen=True)
class HostInventory:
    """What one host has; ``release``: its version ("8.0.2"), "" if it is unknown."""

    name: str
    moid: str
    release: str
    nodes: tuple[NumaNode, ...]
    devices: tuple[PciDevice, ...]


def host_inventory(connection: Connection, host: Any) -> HostInventory:
    """One read."""
    found = inventories(connection, [host])[0]
    if isinstance(found, HostInventory):
        return found
    raise found


def inventories(connection: Connection, hosts: Sequence[Any]) -> list[HostInventory | LayerError]:
    """One read for all; the error of a host whose tables cannot be read."""
    rows = connection.properties(hosts, _HOST_PATHS, "reading PCI and NUMA")
    found: list[HostInventory | LayerError] = []
    for host, row in zip(hosts, rows):
        try:
            found.append(_inventory(host, row))
        except LayerError as error:
            found.append(error)
    return found


def _inventory(host: Any, row: Mapping[str, Any]) -> HostInventory:
    name = str(row.get("name", host._moId))
    nodes = parse_numa_nodes(row.get("hardware.numaInfo"), name, row.get("hardware.cpuInfo"))
    devices = parse_pci_devices(row.get("hardware.pciDevice", []), row.get("config.pciPassthruInfo", []), nodes, name)
    release = str(getattr(row.get("summary.config.product"), "version", "") or "")
    return HostInventory(name, host._moId, release, nodes, devices)


@dataclasses.dataclass(frozen=True)
class PciFilter:
    """Empty or None: no restriction."""

    addresses: tuple[str, ...] = ()
    vendor_id: int | None = None
    device_id: int | None = None
    kind: str | None = None
    passthru_capable: bool | None = None

    def takes(self, device: PciDevice) -> bool:
        return all(
            (
                not self.addresses or device.address in self.addresses,
                self.vendor_id is None or device.vendor_id == self.vendor_id,
                self.device_id is None or device.device_id == self.device_id,
                self.kind is None or device.kind == self.kind,
                self.passthru_capable is None or bool(device.passthru_capable) == self.passthru_capable,
            )
        )


@dataclasses.dataclass(frozen=True)
class Owner:
    """A VM and the host devices that it owns."""

    name: str
    moid: str
    power: str
    devices: tuple[PassthroughDevice, ...]


def _same_place(devices: Sequence[PassthroughDevice], place: Callable[[PassthroughDevice], Any]) -> bool | None:
    """Whether all NICs and GPUs are in one place; None if a place is unknown or there is not one of each."""
    places = {(d.kind, place(d)) for d in devices if d.kind in ("nic", "gpu")}
    if {kind for kind, _where in places} != {"nic", "gpu"} or any(where is None for _kind, where in places):
        return None
    return len({where for _kind, where in places}) == 1


def same_node(devices: Sequence[PassthroughDevice]) -> bool | None:
    return _same_place(devices, lambda device: device.numa_node)


def same_root_complex(owned: Sequence[PassthroughDevice], devices: Sequence[PciDevice]) -> bool | None:
    """Below different ones, peer-to-peer traffic crosses the CPU whatever the VM's keys say."""
    above = {device.address: device.root_complex for device in devices}
    return _same_place(owned, lambda device: above.get(device.address))


def with_esxcli_nodes(devices: tuple[PciDevice, ...], rows: dict[str, dict[str, Any]]) -> tuple[PciDevice, ...]:
    """The API's own NUMA node first; where it names none, the column that newer releases of esxcli have."""
    found = []
    for device in devices:
        node = numa_column(rows.get(device.address, {}))
        found.append(dataclasses.replace(device, numa_node=node) if device.numa_node is None else device)
    return tuple(found)


def numa_column(row: Mapping[str, Any]) -> int | None:
    """NUMANode of ``esxcli hardware pci list``: absent on many releases; -1, 255 and 2**32-1 mean none."""
    text = row.get("NUMANode")
    try:
        node = int(str(text), 0)
    except ValueError:
        return None
    return node if 0 <= node < 255 else None


def locality(devices: tuple[PciDevice, ...]) -> dict[str, dict[str, list[str]]]:
    """NICs and GPUs that can be passed through, by node number as text ("unknown" for none)."""
    found: dict[str, dict[str, list[str]]] = {}
    for device in devices:
        if device.kind in ("nic", "gpu") and device.passthru_capable:
            node = found.setdefault(
                "unknown" if device.numa_node is None else str(device.numa_node), {"nics": [], "gpus": []}
            )
            node[device.kind + "s"].append(device.address)
    return found


def owners_of(connection: Connection, host: Any, host_devices: tuple[PciDevice, ...]) -> list[Owner]:
    """Owners among the VMs registered on ``host``, by name."""
    references = list(connection.read(host, ["vm"], "listing the VMs of the host").get("vm", []))
    paths = ["name", "runtime.powerState", "config.hardware.device", *connection.group_paths]
    rows = connection.properties(references, paths, "reading VMs")
    found = []
    for reference, row in zip(references, rows):
        groups = group_names(row.get("config.deviceGroups"))
        devices = passthrough_devices(row.get("config.hardware.device", []), host_devices, groups)
        if devices:
            power = str(row.get("runtime.powerState", ""))
            found.append(Owner(str(row.get("name", reference._moId)), reference._moId, power, devices))
    return sorted(found, key=lambda owner: (owner.name, owner.moid))


_PLAIN = ("address", "kind", "vendor_name", "device_name", "numa_node", "parent_bridge", "root_port", "root_complex")
_IDS = ("vendor_id", "device_id", "subvendor_id", "subdevice_id", "class_id")


def device_row(device: PciDevice, owners: list[Owner], esxcli: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """One device as the module returns it. A device that several VMs name belongs to the one that is on."""
    mine = [o for o in owners if device.address in {d.address for d in o.devices}]
    mine.sort(key=lambda owner: owner.power != "poweredOn")
    owner = mine[0] if mine else None
    return {
        **{name: getattr(device, name) for name in _PLAIN},
        **{name: f"0x{getattr(device, name):04x}" for name in _IDS},
        "passthru": {
            "capable": device.passthru_capable,
            "enabled": device.passthru_enabled,
            "active": device.passthru_active,
            "reboot_required": device.passthru_reboot_required,
            "dependent_device": device.dependent_device,
            "mode": device.mode or None,
            "configurable_modes": list(device.modes),
        },
        "sriov": device.sriov,
        "vm": owner.name if owner else None,
        "vm_moid": owner.moid if owner else None,
        "vm_power_state": owner.power if owner else None,
        "vm_slot": next((d.slot for d in owner.devices if d.address == device.address), None) if owner else None,
        "esxcli": esxcli.get(device.address),
    }


def esxcli_rows(connection: Connection, host: Any, host_name: str) -> dict[str, dict[str, Any]]:
    """address -> columns of ``esxcli hardware pci list``; "<NONE>" and "None" become None."""
    found = {}
    for row in connection.run_esxcli(host, host_name, PCI_LIST):
        plain = {key: None if value in ("<NONE>", "None") else value for key, value in row.items()}
        found[pci_address(row["Address"])] = plain
    return found


def pci_reports(
    connection: Connection, hosts: Sequence[tuple[Any, str]], wanted: PciFilter, gather_esxcli: bool
) -> list[dict[str, Any]]:
    """The report of each host, in this order; they are read side by side. Raises for all that cannot be read."""
    outcomes = in_parallel(lambda host: pci_report(connection, host, wanted, gather_esxcli), hosts)
    errors = worth_telling(outcomes)
    if errors:
        raise together(errors, connection.name, f"{len(errors)} hosts cannot be read")
    return [outcome for outcome in outcomes if isinstance(outcome, dict)]


def pci_report(connection: Connection, of: tuple[Any, str], wanted: PciFilter, gather_esxcli: bool) -> dict[str, Any]:
    host, name = of
    found = host_inventory(connection, host)
    extra = esxcli_rows(connection, host, name) if gather_esxcli else {}
    devices = with_esxcli_nodes(found.devices, extra)
    owners = owners_of(connection, host, devices)
    return {
        "esxi_host": name,
        "esxi_host_moid": found.moid,
        "devices": [device_row(d, owners, extra) for d in devices if wanted.takes(d)],
        "numa_nodes": [dataclasses.asdict(node) for node in found.nodes],
        "numa_locality": locality(devices),
        "vms": [
            {
                "name": owner.name,
                "moid": owner.moid,
                "power_state": owner.power,
                "devices": [dataclasses.asdict(d) for d in owner.devices],
                "numa_nodes": sorted({d.numa_node for d in owner.devices if d.numa_node is not None}),
                "same_numa_node": same_node(owner.devices),
                "same_root_complex": same_root_complex(owner.devices, devices),
            }
            for owner in owners
        ],
    }
