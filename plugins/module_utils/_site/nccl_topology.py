# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NCCL's topology file for a VM, from what ESXi knows about the places of its GPUs and NICs. Pure.

A VM shows each passed-through device below a virtual root port of its own. So NCCL finds GPU and NIC "PHB" apart, one
step beyond what it allows by default (PXB), and stages the data in host memory without a word, although both devices
may share a physical PCIe switch. The file puts the switch back: GPU and NIC below one ``pci`` element.

What NCCL does with the file (source of NCCL 2.10.3 and 2.30.7, src/graph/xml.cc and topo.cc): elements in the file
stay where they are; attributes that are missing (link speed and width, CPU list, NVLinks) are read in the guest as
always; devices that are not in the file are added; elements below which nothing is used are removed. NCCL's parser
takes no XML declaration and no blank before ``/>``. It looks a NIC up at function 0, and (since 2.14) at slot 0.

Nothing is guessed: where two devices could be meant by one, or a bridge is not in the facts, this refuses and shows
what it saw.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
from typing import Any, Iterable, Iterator, Mapping, Sequence
from xml.etree import ElementTree

from .._layer import ParseError, RefusedError
from .._vsphere.state import pci_address, pci_id

PIX, PXB, PHB, SYS = "PIX", "PXB", "PHB", "SYS"
_GDR_ALLOWED = (PIX, PXB)  # NCCL's default of NCCL_NET_GDR_LEVEL, 2.4 to 2.30
_ORDER = (PIX, PXB, PHB, SYS)
_BRIDGE = 0x0604  # PCI-to-PCI bridge: root ports and both sides of switches; a host bridge (0x0600) is no switch
_SWITCH_CLASS = "0x060400"
_MAX_CHILDREN = 32  # MAX_SUBS of the oldest parser that takes this file
_SPEEDS = ("2.5 GT/s", "5 GT/s", "8 GT/s", "16 GT/s", "32 GT/s")  # spelled as every version of NCCL reads them
_WIDTHS = (0, 1, 2, 4, 8, 16)


@dataclasses.dataclass(frozen=True)
class GuestDevice:
    """A PCI function as the guest sees it. ``numa_node``: None where the guest does not say."""

    address: str
    class_id: int
    vendor_id: int
    device_id: int
    numa_node: int | None = None


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
    pairs: tuple[PairPlace, ...]
    level: str
    notes: tuple[str, ...]

    @property
    def gpudirect(self) -> bool:
        """Whether NCCL, with this file, finds a NIC near enough for every GPU."""
        return self.level in _GDR_ALLOWED

    def as_result(self) -> dict[str, Any]:
        return {
            "xml": self.xml,
            "vm": self.vm,
            "pairs": [dataclasses.asdict(pair) for pair in self.pairs],
            "level": self.level,
            "gpudirect": self.gpudirect,
            "notes": list(self.notes),
        }


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
                )
            )
        except (KeyError, ValueError) as error:
            raise ParseError(
                f"a record of lspci lacks or garbles {error}",
                host=vm,
                raw=record,
                remedy="read it with lspci -D -vmm -n",
            ) from error
    return tuple(found)


# ------------------------------------------------------------------------------------------------------------- the host


def _own(vm: str, devices: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    own = [row for row in devices if row.get("vm") == vm and row.get("kind") in ("gpu", "nic")]
    kinds = {row["kind"] for row in own}
    if kinds != {"gpu", "nic"}:
        owners = sorted({str(row["vm"]) for row in devices if row.get("vm")})
        raise RefusedError(
            f"the VM owns {'no GPU' if 'gpu' not in kinds else 'no NIC'} of this host (VMs that own devices: "
            f"{', '.join(owners) or 'none'})",
            host=vm,
            thing="devices",
            value=[row["address"] for row in own],
            remedy="give the facts of the host that this VM runs on, and the VM's name in vCenter",
        )
    return own


def _bridges(row: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]], vm: str) -> tuple[str, ...]:
    """The PCI bridges above a device, nearest first, up to the root complex. Raises RefusedError."""
    above: list[str] = []
    at = row
    while at.get("parent_bridge"):
        try:
            address = pci_address(str(at["parent_bridge"]))
        except ValueError as error:
            raise RefusedError(
                f"not an address of a bridge ({error})",
                host=vm,
                thing=f"parent_bridge of {at['address']}",
                value=at["parent_bridge"],
                remedy="report this spelling; without the bridge nobody knows which switch the device is on",
            ) from error
        if address not in rows:
            raise RefusedError(
                f"bridge {address} above it is not in the facts",
                host=vm,
                thing=str(at["address"]),
                remedy="read the facts with esxi_pci_info without any filter",
            )
        if address in above:
            raise RefusedError(
                f"the bridges above it go round in circles: {', '.join(above)}", host=vm, thing=str(row["address"])
            )
        at = rows[address]
        if pci_id(at.get("class_id", 0)) != _BRIDGE:
            break
        above.append(address)
    return tuple(above)


def _node(row: Mapping[str, Any], vm: str) -> int:
    node = row.get("numa_node")
    if not isinstance(node, int):
        raise RefusedError(
            "the host places it in no NUMA node",
            host=vm,
            thing=str(row["address"]),
            value=node,
            remedy="without it the file would claim a place that nobody knows; see esxi_pci_info's numa_nodes",
        )
    return node


# --------------------------------------------------------------------------------------------------------- both of them


def _match(
    vm: str,
    own: Sequence[Mapping[str, Any]],
    guest: Sequence[GuestDevice],
    places: Mapping[str, tuple[Any, ...]],
    given: Mapping[str, str],
) -> dict[str, GuestDevice]:
    """Host address -> device of the guest. Alike devices are told apart only where it matters, and never guessed."""
    by_address = {device.address: device for device in guest}
    matched: dict[str, GuestDevice] = {}
    for host_address, guest_address in given.items():
        row = next((row for row in own if row["address"] == host_address), None)
        device = by_address.get(guest_address)
        model = None if row is None else (pci_id(row["vendor_id"]), pci_id(row["device_id"]))
        if row is None or device is None or (device.vendor_id, device.device_id) != model:
            seen = ", ".join(f"{d.address} {d.vendor_id:04x}:{d.device_id:04x}" for d in guest)
            raise RefusedError(
                f"does not fit: the VM's devices in the host are {', '.join(row['address'] for row in own)}, "
                f"the guest has {seen}",
                host=vm,
                thing="addresses",
                value={host_address: guest_address},
                remedy="give addresses of one and the same device in host and guest",
            )
        matched[host_address] = device
    if len({device.address for device in matched.values()}) != len(matched):
        raise RefusedError("two host devices are given one guest device", host=vm, thing="addresses", value=dict(given))
    models = sorted({(pci_id(row["vendor_id"]), pci_id(row["device_id"])) for row in own})
    for vendor, device_id in models:
        hosts = sorted(
            row["address"]
            for row in own
            if (pci_id(row["vendor_id"]), pci_id(row["device_id"])) == (vendor, device_id)
            and row["address"] not in matched
        )
        taken = {device.address for device in matched.values()}
        guests = sorted(
            (d for d in guest if (d.vendor_id, d.device_id) == (vendor, device_id) and d.address not in taken),
            key=lambda device: device.address,
        )
        name = f"{vendor:04x}:{device_id:04x}"
        if len(hosts) != len(guests):
            raise RefusedError(
                f"the host gives the VM {len(hosts)} device(s) ({', '.join(hosts) or 'none'}), the guest sees "
                f"{len(guests)} ({', '.join(d.address for d in guests) or 'none'})",
                host=vm,
                thing="model",
                value=name,
                remedy="read both again while the VM runs; a device that the guest lacks is missing in its firmware",
            )
        if len({places[address] for address in hosts}) > 1:
            where = "; ".join(_words(address, places[address]) for address in hosts)
            raise RefusedError(
                f"{len(hosts)} alike devices are in different places ({where}); which is which in the "
                f"guest ({', '.join(d.address for d in guests)}) is not known",
                host=vm,
                thing="model",
                value=name,
                remedy="say which is which with addresses {host address: guest address}, for example by serial number",
            )
        matched.update(zip(hosts, guests))
    return matched


def _words(address: str, place: tuple[Any, ...]) -> str:
    shared, node = place
    below = f"shares bridge {shared[0]} with others" if shared else "shares no bridge"
    return f"{address}: {below}, node {node}"


def _guest_nodes(vm: str, placed: Sequence[tuple[int, GuestDevice]]) -> tuple[dict[int, int], list[str]]:
    """Host NUMA node -> the guest's, and notes. NCCL takes the CPU list of the GUEST's node of that number."""
    told: dict[int, set[int]] = {}
    for node, device in placed:
        known = {device.numa_node} if device.numa_node is not None and device.numa_node >= 0 else set()
        told.setdefault(node, set()).update(known)
    if all(len(nodes) == 1 for nodes in told.values()):
        mapping = {node: next(iter(nodes)) for node, nodes in told.items()}
        if len(set(mapping.values())) == len(mapping):
            return mapping, []
    if len(told) == 1 and not any(told.values()):
        node = next(iter(told))
        return {node: 0}, [
            f"the guest does not say on which NUMA node its devices are; all are on node {node} of the host, so they "
            "are put on node 0 of the guest, the only one of a VM that is kept on one node"
        ]
    facts = ", ".join(f"{d.address}: host node {node}, guest node {d.numa_node}" for node, d in placed)
    raise RefusedError(
        f"the NUMA nodes of host and guest do not fit each other ({facts})",
        host=vm,
        thing="numa_node",
        remedy="give the VM devices of one node (role gpu_vm keeps it there), or show the nodes to the guest",
    )


def _relation(one: Placed, other: Placed) -> tuple[str, str]:
    """How far two devices are apart, and the nearest bridge that both are below ("" if none)."""
    shared = next((bridge for bridge in one.bridges if bridge in other.bridges), "")
    if not shared:
        return (PHB if one.numa_node == other.numa_node else SYS), ""
    return PIX, shared


# ------------------------------------------------------------------------------------------------------------- the file


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


def _relations(devices: Sequence[Placed], switches: Sequence[_Switch]) -> Iterator[tuple[Placed, Placed, str, str]]:
    """Each GPU with each NIC. One switch between them is PIX, several are PXB."""
    path: dict[str, tuple[str, ...]] = {}

    def walk(switch: _Switch, above: tuple[str, ...]) -> None:
        here = (*above, switch.address)
        for device in switch.devices:
            path[device.host_address] = here
        for child in switch.children:
            walk(child, here)

    for switch in switches:
        walk(switch, ())
    gpus = [device for device in devices if device.kind == "gpu"]
    nics = [device for device in devices if device.kind == "nic"]
    for gpu, nic in itertools.product(gpus, nics):
        relation, shared = _relation(gpu, nic)
        if shared and path.get(gpu.host_address) != path.get(nic.host_address):
            relation = PXB
        yield gpu, nic, relation, shared


def _addresses(device: Placed) -> tuple[str, ...]:
    """Where NCCL looks for it. A NIC: function 0 of its slot (before 2.14), of slot 0 of its bus (since)."""
    address = device.guest_address
    if device.kind != "nic":
        return (address,)
    bus, slot = address[:7], int(address[8:10], 16)
    return tuple(dict.fromkeys((f"{address[:10]}.0", f"{bus}:{slot & 0x10:02x}.0", f"{bus}:00.0")))


class _Writer:
    """The file, in the part of XML that NCCL's parser reads."""

    def __init__(self, link: str) -> None:
        self._link = link
        self._numbers = itertools.count()
        self.lines: list[str] = []

    def element(self, depth: int, tag: str, attributes: str, children: bool) -> None:
        # No blank before "/>": the parser would take it for an attribute.
        self.lines.append("  " * depth + f"<{tag} {attributes}{'>' if children else '/>'}")

    def close(self, depth: int, tag: str) -> None:
        self.lines.append("  " * depth + f"</{tag}>")

    def switch(self, switch: _Switch, depth: int) -> None:
        # An address that no guest has: NCCL must not find a device of the guest under it.
        attributes = f'busid="ffff:ff:{next(self._numbers):02x}.0" class="{_SWITCH_CLASS}"{self._link}'
        self.element(depth, "pci", attributes, True)
        self.inside(switch.children, switch.devices, depth + 1)
        self.close(depth, "pci")

    def inside(self, switches: Iterable[_Switch], devices: Sequence[Placed], depth: int) -> None:
        for switch in switches:
            self.switch(switch, depth)
        written: set[str] = set()  # two ports of one NIC are one device to NCCL
        for device in sorted(devices, key=lambda device: device.guest_address):
            for place in _addresses(device):
                if place not in written:
                    attributes = f'busid="{place}" class="0x{device.class_id:04x}00"{self._link}'
                    self.element(depth, "pci", attributes, False)
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
        raise RefusedError(
            "not a speed that NCCL knows", host=vm, thing="link_speed", value=link_speed, remedy="; ".join(_SPEEDS)
        )
    if link_width not in _WIDTHS:
        raise RefusedError("not a number of lanes", host=vm, thing="link_width", value=link_width, remedy=str(_WIDTHS))
    rows = {pci_address(str(row["address"])): row for row in devices}
    own = _own(vm, devices)
    above = {str(row["address"]): _bridges(row, rows, vm) for row in own}
    crowd = collections.Counter(bridge for bridges in above.values() for bridge in bridges)
    # What distinguishes a place: the bridges that it shares with another device of the VM, and its NUMA node.
    places: dict[str, tuple[Any, ...]] = {
        str(row["address"]): (
            tuple(bridge for bridge in above[str(row["address"])] if crowd[bridge] > 1),
            _node(row, vm),
        )
        for row in own
    }
    given = {pci_address(host): pci_address(at) for host, at in (addresses or {}).items()}
    matched = _match(vm, own, guest, places, given)
    nodes, notes = _guest_nodes(vm, [(places[address][-1], device) for address, device in sorted(matched.items())])
    placed = [
        Placed(
            row["kind"],
            row["address"],
            matched[row["address"]].address,
            matched[row["address"]].class_id,
            nodes[_node(row, vm)],
            above[row["address"]],
        )
        for row in own
    ]
    link = (f' link_speed="{link_speed}"' if link_speed else "") + (f' link_width="{link_width}"' if link_width else "")
    writer = _Writer(link)
    writer.element(0, "system", f'version="1" name="rocemesh {_plain(vm)}"', True)
    found: list[tuple[Placed, Placed, str, str]] = []
    for node in sorted({device.numa_node for device in placed}):
        here = [device for device in placed if device.numa_node == node]
        switches, free = _tree(here)
        writer.element(1, "cpu", f'numaid="{node}"', True)
        writer.inside(switches, free, 2)
        writer.close(1, "cpu")
        found += _relations(here, switches)
    writer.close(0, "system")
    for gpu, nic in itertools.product(placed, placed):
        if (gpu.kind, nic.kind) == ("gpu", "nic") and gpu.numa_node != nic.numa_node:
            found.append((gpu, nic, SYS, ""))
    pairs = tuple(
        PairPlace(gpu.guest_address, nic.guest_address, gpu.host_address, nic.host_address, relation, shared)
        for gpu, nic, relation, shared in found
    )
    nearest = [
        min((pair.relation for pair in pairs if pair.host_gpu == gpu.host_address), key=_ORDER.index)
        for gpu in placed
        if gpu.kind == "gpu"
    ]
    level = max(nearest, key=_ORDER.index)
    if level not in _GDR_ALLOWED:
        notes.append(
            f"a GPU and its nearest NIC are {level} apart in the host as well: NCCL will not use GPUDirect RDMA by "
            f"default. If both ways were measured and it is faster, set NCCL_NET_GDR_LEVEL={level}"
        )
    xml = "\n".join(writer.lines) + "\n"
    check(xml, placed, vm)
    return Topology(xml, vm, pairs, level, tuple(notes))


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[:100]


def check(xml: str, placed: Sequence[Placed], vm: str) -> None:
    """Read the file back the way NCCL would. Raises RefusedError if it says something else than the facts."""

    def wrong(what: str) -> RefusedError:
        return RefusedError(
            f"the topology would be wrong: {what}", host=vm, thing="topology", remedy="report this file: " + xml
        )

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
