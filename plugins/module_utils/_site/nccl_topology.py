"""NCCL's topology file for a VM, from what ESXi knows about the places of its GPUs and NICs. Pure.

Why a VM needs one: docs/data-path.md. GPU and NIC that share a PCIe switch come below one ``pci`` element.

What NCCL does with the file (source of NCCL 2.10.3 and 2.30.7, src/graph/xml.cc and topo.cc): elements in the file
stay where they are; attributes that are missing (link speed and width, CPU list, NVLinks) are read in the guest as
always; devices that are not in the file are added; elements below which nothing is used are removed. NCCL's parser
takes no XML declaration and no blank before ``/>``. It looks a NIC up at function 0, and (since 2.14) at slot 0.

Nothing is guessed: which device of the guest is which of the host is said by `pci_places`, which refuses what is not
clear.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
from typing import Any, Iterator, Mapping, Sequence
from xml.etree import ElementTree

from .._layer import RefusedError
from .._vsphere.state import pci_address
from .pci_places import GuestDevice, bridges_above, guest_nodes, match, numa_node, own_devices
from .rails import refused

PIX, PXB, PHB, SYS = "PIX", "PXB", "PHB", "SYS"
_GDR_ALLOWED = (PIX, PXB)  # NCCL's default of NCCL_NET_GDR_LEVEL, 2.4 to 2.30
_ORDER = (PIX, PXB, PHB, SYS)
_SWITCH_CLASS = "0x060400"
_MAX_CHILDREN = 32  # MAX_SUBS of the oldest parser that takes this file
_SPEEDS = ("2.5 GT/s", "5 GT/s", "8 GT/s", "16 GT/s", "32 GT/s")  # spelled as every version of NCCL reads them
_WIDTHS = (0, 1, 2, 4, 8, 16)


@dataclasses.dataclass(frozen=True)
class Placed:
    """A device of the VM: its place in host and guest. ``bridges``: the bridges above it in the host, nearest first."""

    kind: str
    host_address: str
    guest_address: str
    class_id: int
    numa_node: int
    bridges: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class PairPlace:
    """How far a GPU and a NIC are apart in the host, in NCCL's words; addresses of the guest and of the host."""

    gpu: str
    nic: str
    host_gpu: str
    host_nic: str
    relation: str
    shared_bridge: str


@dataclasses.dataclass(frozen=True)
class Topology:
    """``xml``: the file; ``level``: NCCL_NET_GDR_LEVEL that every GPU would need for its nearest NIC."""

    xml: str
    vm: str
    pairs: list[PairPlace]
    level: str
    notes: list[str]

    def as_result(self) -> dict[str, Any]:
        """``gpudirect``: whether NCCL, with this file, finds a NIC near enough for every GPU."""
        return {**dataclasses.asdict(self), "gpudirect": self.level in _GDR_ALLOWED}


@dataclasses.dataclass
class _Switch:
    """A bridge below which the ways to several devices part. ``devices``: below it, but below no smaller switch."""

    address: str
    children: list[_Switch]
    devices: list[Placed]


def _tree(devices: Sequence[Placed], depth: int = 1) -> tuple[list[_Switch], list[Placed]]:
    """Group devices by the bridges that they share, from the root down; bridges without a parting are left out.

    ``depth``: how many bridges, counted from the root, are behind us.
    """
    below: dict[str, list[Placed]] = {}
    free: list[Placed] = []
    for device in devices:
        if len(device.bridges) >= depth:
            below.setdefault(device.bridges[-depth], []).append(device)
        else:
            free.append(device)
    switches: list[_Switch] = []
    for address, members in sorted(below.items()):
        if len(members) == 1:
            free += members
            continue
        children, loose = _tree(members, depth + 1)
        if len(children) == 1 and not loose:
            switches += children  # one way on: the next bridge is the one that counts
        else:
            switches.append(_Switch(address, children, loose))
    return switches, free


def _each(switches: Sequence[_Switch]) -> Iterator[_Switch]:
    for switch in switches:
        yield switch
        yield from _each(switch.children)


def _pairs(devices: Sequence[Placed], switches: Sequence[_Switch]) -> Iterator[PairPlace]:
    """Each GPU with each NIC of one NUMA node. One switch between them is PIX, several are PXB."""
    parts_at = {device.host_address: switch.address for switch in _each(switches) for device in switch.devices}
    for gpu, nic in itertools.product(_of("gpu", devices), _of("nic", devices)):
        shared = next((bridge for bridge in gpu.bridges if bridge in nic.bridges), "")
        together = parts_at.get(gpu.host_address) == parts_at.get(nic.host_address)
        yield _pair(gpu, nic, PHB if not shared else PIX if together else PXB, shared)


def _of(kind: str, devices: Sequence[Placed]) -> list[Placed]:
    return [device for device in devices if device.kind == kind]


def _pair(gpu: Placed, nic: Placed, relation: str, shared: str = "") -> PairPlace:
    return PairPlace(gpu.guest_address, nic.guest_address, gpu.host_address, nic.host_address, relation, shared)


def _addresses(device: Placed) -> tuple[str, ...]:
    """Where NCCL looks for it. A NIC: function 0 of its slot (before 2.14), of slot 0 of its bus (since)."""
    address = device.guest_address
    if device.kind != "nic":
        return (address,)
    bus, slot = address[:7], int(address[8:10], 16)
    return tuple(dict.fromkeys((f"{address[:10]}.0", f"{bus}:{slot & 0x10:02x}.0", f"{bus}:00.0")))


class _Writer:
    """The elements of bridges and devices. ``link``: attributes that all of them have."""

    def __init__(self, link: Mapping[str, str]) -> None:
        self._link = link
        self._numbers = itertools.count()

    def _pci(self, parent: ElementTree.Element, address: str, class_code: str) -> ElementTree.Element:
        return ElementTree.SubElement(parent, "pci", {"busid": address, "class": class_code, **self._link})

    def inside(self, parent: ElementTree.Element, switches: Sequence[_Switch], devices: Sequence[Placed]) -> None:
        for switch in switches:
            # An address that no guest has: NCCL must not find a device of the guest under it.
            below = self._pci(parent, f"ffff:ff:{next(self._numbers):02x}.0", _SWITCH_CLASS)
            self.inside(below, switch.children, switch.devices)
        written: set[str] = set()  # two ports of one NIC are one device to NCCL
        for device in sorted(devices, key=lambda device: device.guest_address):
            for place in _addresses(device):
                if place not in written:
                    self._pci(parent, place, f"0x{device.class_id:04x}00")
                    if device.kind == "nic":
                        written.add(place)


def render(
    vm: str,
    devices: Sequence[Mapping[str, Any]],
    guest: Sequence[GuestDevice],
    *,
    addresses: Mapping[str, str] | None = None,
    link_speed: str = "",
    link_width: int = 0,
) -> Topology:
    """The topology file for ``vm``. Raises RefusedError with the facts where they are not clear.

    ``devices``: all devices that module esxi_pci_info returns for the VM's host; ``guest``: see `parse_lspci`;
    ``addresses``: host address -> guest address, only needed where a VM has alike devices in different places;
    ``link_speed`` ("16 GT/s"), ``link_width`` (lanes): for the elements in the file; empty and 0: what the guest shows,
    and 8 GT/s x16 for the switches, which is NCCL's own fallback.
    """
    if link_speed and link_speed not in _SPEEDS:
        raise refused(vm, "not a speed that NCCL knows", "; ".join(_SPEEDS), "link_speed", link_speed)
    if link_width not in _WIDTHS:
        raise refused(vm, "not a number of lanes", str(_WIDTHS), "link_width", link_width)
    rows = {pci_address(str(row["address"])): row for row in devices}
    own = own_devices(vm, devices)
    above = {row["address"]: bridges_above(row, rows, vm) for row in own}
    crowd = collections.Counter(bridge for bridges in above.values() for bridge in bridges)
    # What distinguishes a place: the bridges that it shares with another device of the VM, and its NUMA node.
    places: dict[str, tuple[Any, ...]] = {
        row["address"]: (tuple(bridge for bridge in above[row["address"]] if crowd[bridge] > 1), numa_node(row, vm))
        for row in own
    }
    given = {pci_address(host): pci_address(at) for host, at in (addresses or {}).items()}
    matched = match(vm, own, guest, places, given)
    nodes, notes = guest_nodes(vm, [(places[address][-1], device) for address, device in sorted(matched.items())])
    placed = [
        Placed(row["kind"], address, device.address, device.class_id, nodes[numa_node(row, vm)], above[address])
        for row in own
        for address, device in [(row["address"], matched[row["address"]])]
    ]
    link = {"link_speed": link_speed, "link_width": str(link_width or "")}
    writer = _Writer({name: value for name, value in link.items() if value})
    root = ElementTree.Element("system", {"version": "1", "name": f"rocemesh {_plain(vm)}"})
    pairs: list[PairPlace] = []
    for node in sorted({device.numa_node for device in placed}):
        here = [device for device in placed if device.numa_node == node]
        switches, free = _tree(here)
        writer.inside(ElementTree.SubElement(root, "cpu", {"numaid": str(node)}), switches, free)
        pairs += _pairs(here, switches)
    for gpu, nic in itertools.product(_of("gpu", placed), _of("nic", placed)):
        if gpu.numa_node != nic.numa_node:
            pairs.append(_pair(gpu, nic, SYS))
    nearest = [
        min((pair.relation for pair in pairs if pair.host_gpu == gpu.host_address), key=_ORDER.index)
        for gpu in _of("gpu", placed)
    ]
    level = max(nearest, key=_ORDER.index)
    if level not in _GDR_ALLOWED:
        notes.append(
            f"a GPU and its nearest NIC are {level} apart in the host as well: NCCL will not use GPUDirect RDMA by "
            f"default. If both ways were measured and it is faster, set NCCL_NET_GDR_LEVEL={level}"
        )
    ElementTree.indent(root)
    # No blank before "/>": NCCL's parser would take it for an attribute.
    xml = ElementTree.tostring(root, "unicode").replace(" />", "/>") + "\n"
    check(xml, placed, vm)
    return Topology(xml, vm, pairs, level, notes)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[:100]


def check(xml: str, placed: Sequence[Placed], vm: str) -> None:
    """Read the file back the way NCCL would. Raises RefusedError if it says something else than the facts."""

    def wrong(what: str) -> RefusedError:
        remedy = "report this file: " + xml
        return refused(vm, f"the topology would be wrong: {what}", remedy, "topology")

    if "<?" in xml or "<!" in xml or " />" in xml or "\t" in xml:
        raise wrong("NCCL's parser does not take this spelling")
    root = ElementTree.fromstring(xml)
    if root.tag != "system" or root.get("version") != "1":
        raise wrong("no system of version 1")
    where: dict[str, list[str]] = {}

    def walk(element: ElementTree.Element, above: list[str]) -> None:
        if len(element) > _MAX_CHILDREN:
            raise wrong(f"{len(element)} elements in one, NCCL takes {_MAX_CHILDREN}")
        for child in element:
            name = child.get("busid") or f"cpu {child.get('numaid')}"
            if name in where:
                raise wrong(f"two devices would be {name} to NCCL (it takes every NIC of a bus for one)")
            where[name] = above
            walk(child, [*above, name])

    walk(root, [])
    for device in placed:
        for address in _addresses(device):
            if where.get(address, [""])[0] != f"cpu {device.numa_node}":
                raise wrong(f"{device.kind} {address} is not below NUMA node {device.numa_node}")
