"""The simulated site that an inventory describes: pure, from what read.yml wrote to machines, topologies, variables."""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import tree as nvue
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import plan as onyx

from lab.rehearsal.guest import Device, Machine

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
SYSTEMS = {"onyx": 22, "cumulus": 8765}  # drivers with a simulator, and their ports
FIRST_PORT = {"onyx": "1/1", "cumulus": "swp1"}  # where the inventory names none
PAIRS = 4  # of a NIC and a GPU on each of the two NUMA nodes that a simulated host can have per VM
_FIRST_BUS = (0x3B, 0xAF)


@dataclasses.dataclass(frozen=True)
class Leaf:
    """A switch with a simulator."""

    name: str
    driver: str
    address: str
    port: int
    username: str
    ports: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Vcenter:
    hostname: str
    port: int
    username: str
    topology: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Site:
    leaves: tuple[Leaf, ...]
    vcenters: tuple[Vcenter, ...]
    machines: tuple[Machine, ...]
    registries: tuple[tuple[str, int], ...]
    left_out: tuple[str, ...]  # switches without a simulator
    hosts: tuple[str, ...]
    users: tuple[str, ...]  # accounts of the VMs


def networks(texts: Iterable[Any]) -> list[Network]:
    found = []
    for text in texts:
        with contextlib.suppress(ValueError):
            found.append(ipaddress.ip_network(str(text), strict=False))
    return found


def address_of(text: object) -> Address | None:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(str(text).strip("[]"))
    return None


def endpoint(registry: str) -> tuple[str, int]:
    """``registry.example.com:5000/project`` -> name and port."""
    place = registry.partition("/")[0]
    name, _colon, port = place.rpartition(":")
    if not name or not port.isdigit() or place.endswith("]"):
        return place.strip("[]"), 443
    return name.strip("[]"), int(port)


def leaf(name: str, row: Mapping[str, Any]) -> Leaf:
    """Ports that are written wrong are left out: preflight names them."""
    ports: list[str] = []
    for text in row["ports"] if isinstance(row["ports"], list) else [row["ports"]]:
        with contextlib.suppress(LayerError, ValueError):
            ports += onyx.expand(name, str(text)) if row["driver"] == "onyx" else nvue.expand(str(text))
    port = int(row["port"] or SYSTEMS[row["driver"]])
    return Leaf(
        name,
        row["driver"],
        str(row["address"]),
        port,
        row["username"],
        tuple(dict.fromkeys(ports or [FIRST_PORT[row["driver"]]])),
    )


def _rail_addresses(own: Address | None, rails: Sequence[Network], number: int) -> list[str]:
    """One in each network: the VM's own where it lies there, else one with its number."""
    found = []
    for rail in rails:
        mine = own if own is not None and own in rail else rail[-2 - number % max(rail.num_addresses - 2, 1)]
        found.append(f"{mine}/{rail.prefixlen}")
    return found


def _machine(name: str, number: int, row: Mapping[str, Any], nodes: Sequence[int]) -> tuple[Machine, list[Any]]:
    """The VM, and its devices as vCenter has them without the place. ``nodes``: of its pairs of NIC and GPU."""
    rails = networks(row["networks"])
    own = address_of(row["address"])
    addresses = _rail_addresses(own, rails, number)
    gpus = int(row["slots"] or 0) or len(rails) or 1
    names = [each for each in row["interfaces"] if each != "auto"]
    cards = [each for each in row["cards"] if re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0", str(each))]
    devices: list[Device] = []
    listed: list[dict[str, Any]] = []
    for kind, count in (("nic", len(addresses)), ("gpu", gpus)):
        for at in range(count):
            slot = (1184 if kind == "nic" else 256) + 32 * at
            pci = f"0000:{0x41 + at if kind == 'nic' else 0x21 + at:02x}:00.0"
            netdev = ""
            if kind == "nic":
                pci = cards[at] if at < len(cards) else pci
                netdev = names[at] if at < len(names) else f"ens{slot}np0"
            rail = (addresses[at],) if kind == "nic" else ()
            devices.append(Device(kind, pci, slot, nodes[at % len(nodes)], netdev, rail))
            listed.append({"kind": kind, "slot": slot, "number": len(listed), "pair": at})
    login = address_of(row["login"])
    inside = [each for each in (own, login) if each and not any(each in rail for rail in rails)]
    management = [f"{each}/{24 if each.version == 4 else 64}" for each in dict.fromkeys(inside)]
    return Machine(
        name, number, tuple(management or [f"198.18.{number // 250}.{number % 250 + 1}/16"]), tuple(devices)
    ), listed


def _host(name: str, guests: Sequence[tuple[str, Mapping[str, Any], int]]) -> tuple[dict[str, Any], list[Machine]]:
    """The ESXi host in the topology of its vCenter, and its VMs: name in the inventory, description, number."""
    used, vms, machines = [0, 0], [], []
    for at, (inventory_name, row, number) in enumerate(guests):
        pairs = max(len(networks(row["networks"])), int(row["slots"] or 0), 1)
        one = bool(row["one_node"]) and pairs <= PAIRS
        nodes = [at % 2] * pairs if one else [0 if pair < (pairs + 1) // 2 else 1 for pair in range(pairs)]
        buses = []
        for node in nodes:
            buses.append(_FIRST_BUS[node] + 0x10 * used[node])
            used[node] += 1
        machine, devices = _machine(inventory_name, number, row, nodes)
        for device in devices:
            device["address"] = f"0000:{buses[device.pop('pair')] + (2 if device['kind'] == 'gpu' else 0):02x}:00.0"
        vms.append({"name": row["name"], "devices": devices, "memory_mb": 65536})
        machines.append(machine)
    return {"name": name, "pairs": used, "pcie_switches": True, "vms": vms}, machines


def _vcenter(row: Mapping[str, Any]) -> tuple[str, int]:
    return str(row["vcenter"]["hostname"]), int(row["vcenter"]["port"])


def site(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Site:
    """The VMs of a vCenter lie on its hosts in their order; an inventory does not name their hosts."""
    rows = {**found["esxi_hosts"], **found["gpu_vms"]}
    numbers = {name: number for number, name in enumerate(found["gpu_vms"])}
    vcenters, machines = [], []
    for key in dict.fromkeys(map(_vcenter, rows.values())):
        hosts = [row for row in found["esxi_hosts"].values() if _vcenter(row) == key]
        vms = [(name, row, numbers[name]) for name, row in found["gpu_vms"].items() if _vcenter(row) == key]
        listed: list[dict[str, Any]] = []
        for at, row in enumerate(hosts or [{"name": "unknown"}]):
            count = max(len(hosts), 1)
            host, its = _host(row["name"], vms[len(vms) * at // count : len(vms) * (at + 1) // count])
            listed.append(host)
            machines += its
        user = next(row["vcenter"]["username"] for row in rows.values() if _vcenter(row) == key)
        if key[0] and hosts:
            topology = {"datacenter": "rehearsal", "cluster": "gpu", "boot_seconds": 0.1, "hosts": listed}
            vcenters.append(Vcenter(*key, str(user), topology))
    machines.sort(key=lambda each: each.number)
    registries = dict.fromkeys(endpoint(row["registry"]) for row in found["gpu_vms"].values() if row["registry"])
    return Site(
        leaves=tuple(leaf(name, row) for name, row in found["switches"].items() if row["driver"] in SYSTEMS),
        vcenters=tuple(vcenters),
        machines=tuple(machines),
        registries=tuple(registries),
        left_out=tuple(name for name, row in found["switches"].items() if row["driver"] not in SYSTEMS),
        hosts=(*found["switches"], *rows),
        users=tuple(dict.fromkeys(str(row["user"]) for row in found["gpu_vms"].values())),
    )
