"""Which device of a VM is which device of its ESXi host, and where it sits there: for NCCL's topology file. Pure.

Nothing is guessed: alike devices in different places are distinguished by the number of their slot, which vSphere and
Linux both know. Where two devices could be meant by one all the same, or a bridge is not in the facts, this refuses and
shows what it saw.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Mapping, Sequence

from .._layer import ParseError
from .._vsphere.state import pci_address, pci_id
from .rails import refused

_BRIDGE = 0x0604  # PCI-to-PCI bridge: root ports and both sides of switches; a host bridge (0x0600) is no switch


@dataclasses.dataclass(frozen=True)
class GuestDevice:
    """A PCI function as the guest sees it. ``numa_node``, ``slot``: None where the guest does not say."""

    address: str
    class_id: int
    vendor_id: int
    device_id: int
    numa_node: int | None = None
    slot: int | None = None

    @property
    def model(self) -> tuple[int, int]:
        return self.vendor_id, self.device_id


# ------------------------------------------------------------------------------------------------------------ the guest


def parse_lspci(text: str, vm: str) -> tuple[GuestDevice, ...]:
    """Read ``lspci -D -vmm -n``: records of ``Key:\\tvalue`` lines, apart by an empty line. Raises ParseError."""
    found = []
    for record in re.split(r"\n\s*\n", text.strip()):
        if not record.strip():
            continue
        fields = dict(line.split(":", 1) for line in record.splitlines() if ":" in line)
        fields = {key.strip(): value.strip() for key, value in fields.items()}
        try:
            found.append(
                GuestDevice(
                    pci_address(fields["Slot"]),
                    int(fields["Class"], 16),
                    int(fields["Vendor"], 16),
                    int(fields["Device"], 16),
                    int(fields["NUMANode"]) if "NUMANode" in fields else None,
                    int(slot) if (slot := fields.get("PhySlot", "")).isdigit() else None,
                )
            )
        except (KeyError, ValueError) as error:
            what, remedy = f"a record of lspci lacks or garbles {error}", "read it with lspci -D -vmm -n"
            raise ParseError(what, host=vm, raw=record, remedy=remedy) from error
    return tuple(found)


# ------------------------------------------------------------------------------------------------------------- the host


def own_devices(vm: str, devices: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    own = [row for row in devices if row.get("vm") == vm and row.get("kind") in ("gpu", "nic")]
    kinds = {row["kind"] for row in own}
    if kinds != {"gpu", "nic"}:
        owners = ", ".join(sorted({str(row["vm"]) for row in devices if row.get("vm")})) or "none"
        lacks = "no GPU" if "gpu" not in kinds else "no NIC"
        what = f"the VM owns {lacks} of this host (VMs that own devices: {owners})"
        remedy = "give the facts of the host that this VM runs on, and the VM's name in vCenter"
        raise refused(vm, what, remedy, "devices", [row["address"] for row in own])
    return own


def bridges_above(row: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]], vm: str) -> tuple[str, ...]:
    """The PCI bridges above a device, nearest first, up to the root complex. Raises RefusedError."""
    above: list[str] = []
    at = row
    while at.get("parent_bridge"):
        try:
            address = pci_address(str(at["parent_bridge"]))
        except ValueError as error:
            what = f"not an address of a bridge ({error})"
            remedy = "report this spelling; without the bridge the switch of the device is not known"
            raise refused(vm, what, remedy, f"parent_bridge of {at['address']}", at["parent_bridge"]) from error
        if address not in rows:
            what = f"bridge {address} above it is not in the facts"
            raise refused(vm, what, "read the facts with esxi_pci_info without any filter", str(at["address"]))
        if address in above:
            what = f"the bridges above it go round in circles: {', '.join(above)}"
            raise refused(vm, what, thing=str(row["address"]))
        at = rows[address]
        if pci_id(at.get("class_id", 0)) != _BRIDGE:
            break
        above.append(address)
    return tuple(above)


def numa_node(row: Mapping[str, Any], vm: str) -> int:
    node = row.get("numa_node")
    if not isinstance(node, int):
        remedy = "without it the place in the file would be a guess; see esxi_pci_info's numa_nodes"
        raise refused(vm, "the host places it in no NUMA node", remedy, str(row["address"]), node)
    return node


# --------------------------------------------------------------------------------------------------------- both of them


def match(
    vm: str,
    own: Sequence[Mapping[str, Any]],
    guest: Sequence[GuestDevice],
    places: Mapping[str, tuple[Any, ...]],
    given: Mapping[str, str],
) -> dict[str, GuestDevice]:
    """Host address -> device of the guest. Alike devices are distinguished only where it matters, and never guessed."""
    by_address = {device.address: device for device in guest}
    matched: dict[str, GuestDevice] = {}
    for host_address, guest_address in given.items():
        row = next((row for row in own if row["address"] == host_address), None)
        device = by_address.get(guest_address)
        if row is None or device is None or device.model != _model(row):
            seen = ", ".join(f"{d.address} {d.vendor_id:04x}:{d.device_id:04x}" for d in guest)
            what = (
                f"does not fit: the VM's devices in the host are {', '.join(row['address'] for row in own)}, "
                f"the guest has {seen}"
            )
            remedy = "give addresses of one and the same device in host and guest"
            raise refused(vm, what, remedy, "addresses", {host_address: guest_address})
        matched[host_address] = device
    for host_address, device in _by_slot(own, guest).items():
        if host_address not in matched and device not in matched.values():
            matched[host_address] = device
    if len({device.address for device in matched.values()}) != len(matched):
        raise refused(vm, "two host devices are given one guest device", thing="addresses", value=dict(given))
    for model in sorted(set(map(_model, own))):
        hosts = sorted(row["address"] for row in own if _model(row) == model and row["address"] not in matched)
        taken = {device.address for device in matched.values()}
        guests = sorted(
            (d for d in guest if d.model == model and d.address not in taken), key=lambda device: device.address
        )
        name = "{:04x}:{:04x}".format(*model)
        if len(hosts) != len(guests):
            what = (
                f"the host gives the VM {len(hosts)} device(s) ({', '.join(hosts) or 'none'}), the guest sees "
                f"{len(guests)} ({', '.join(d.address for d in guests) or 'none'})"
            )
            remedy = "read both again while the VM runs; a device that the guest lacks is missing in its firmware"
            raise refused(vm, what, remedy, "model", name)
        if len({places[address] for address in hosts}) > 1:
            where = "; ".join(_words(address, places[address]) for address in hosts)
            what = (
                f"{len(hosts)} alike devices are in different places ({where}); which is which in the "
                f"guest ({', '.join(d.address for d in guests)}) is not known"
            )
            remedy = "say which is which with addresses {host address: guest address}, for example by serial number"
            raise refused(vm, what, remedy, "model", name)
        matched.update(zip(hosts, guests))
    return matched


def _by_slot(own: Sequence[Mapping[str, Any]], guest: Sequence[GuestDevice]) -> dict[str, GuestDevice]:
    """Host address -> device of the guest with the slot that vSphere gave it, where exactly one of that model has it.

    The slot number of a VM's device tells its place in the guest (Broadcom's article 311606), and Linux shows the same
    number as the device's physical slot: ens192 has its name from there. Not verified on hardware.
    """
    found = {}
    for row in own:
        same = [one for one in own if one.get("vm_slot") == row.get("vm_slot")]
        there = [d for d in guest if d.slot == row.get("vm_slot") and d.model == _model(row)]
        if row.get("vm_slot") is not None and len(same) == 1 and len(there) == 1:
            found[str(row["address"])] = there[0]
    return found


def _model(row: Mapping[str, Any]) -> tuple[int, int]:
    return pci_id(row["vendor_id"]), pci_id(row["device_id"])


def _words(address: str, place: tuple[Any, ...]) -> str:
    shared, node = place
    below = f"shares bridge {shared[0]} with others" if shared else "shares no bridge"
    return f"{address}: {below}, node {node}"


def guest_nodes(vm: str, placed: Sequence[tuple[int, GuestDevice]]) -> tuple[dict[int, int], list[str]]:
    """Host NUMA node -> the guest's, and notes. NCCL takes the CPU list of the GUEST's node of that number."""
    by_node: dict[int, set[int]] = {}
    for node, device in placed:
        known = {device.numa_node} if device.numa_node is not None and device.numa_node >= 0 else set()
        by_node.setdefault(node, set()).update(known)
    if all(len(nodes) == 1 for nodes in by_node.values()):
        mapping = {node: next(iter(nodes)) for node, nodes in by_node.items()}
        if len(set(mapping.values())) == len(mapping):
            return mapping, []
    if len(by_node) == 1 and not any(by_node.values()):
        node = next(iter(by_node))
        return {node: 0}, [
            f"the guest does not say on which NUMA node its devices are; all are on node {node} of the host, so they "
            "are put on node 0 of the guest, the only one of a VM that is kept on one node"
        ]
    facts = ", ".join(f"{d.address}: host node {node}, guest node {d.numa_node}" for node, d in placed)
    remedy = "give the VM devices of one node (role gpu_vm keeps it there), or show the nodes to the guest"
    raise refused(vm, f"the NUMA nodes of host and guest do not fit each other ({facts})", remedy, "numa_node")
