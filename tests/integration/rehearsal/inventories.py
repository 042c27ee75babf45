"""Ten inventories of sites that nobody prepared: 2 to 64 hosts, 1 to 8 rails, mixed leafs, equal names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.unit.preflight.inventories import Inventory, right


def _mixed_leafs() -> Inventory:
    """The first rail ends at Onyx, the second at Cumulus Linux; the Onyx switch has split ports."""
    found = right(2, 2)
    leaves = found["groups"]["switches"]["hosts"]
    leaves["leaf01"]["switch_ports"] = ["1/1/1-1/1/2"]
    leaves["leaf02"].update(rocemesh_switch_driver="cumulus", switch_ports=["swp1-2"], switch_username="cumulus")
    return found


def _equal_names() -> Inventory:
    """Two vCenters with hosts and VMs of the same names, and one name for an ESXi host, its VM and a group."""
    found = right(4)
    found["all"]["rocemesh_slots"] = 1
    groups = found["groups"]
    vcenter = {"rocemesh_vcenter_hostname": "198.51.100.77", "rocemesh_vcenter_port": 8443}
    for group, option, names in (
        ("esxi_hosts", "esxi_host_name", ("esx001.example.com", "esx002.example.com")),
        ("gpu_vms", "gpu_vm_name", ("gpu001", "gpu002")),
    ):
        hosts = groups[group]["hosts"]
        for host, name in zip(list(hosts)[2:], names, strict=True):
            hosts[host] = {**(hosts[host] or {}), option: name, **vcenter}
    return found


def _behind_one_address() -> Inventory:
    """Two switches at different ports of one address, as behind a jump host, and a registry with a project."""
    found = right(3, 2)
    found["all"]["container_registry"] = "harbor.example.com"
    found["all"]["container_image"] = "project/multinode"
    for number, row in enumerate(found["groups"]["switches"]["hosts"].values()):
        row.update(ansible_host="127.0.0.1", switch_port=2201 + number)
    return found


def _own_words() -> Inventory:
    """Interfaces, cards and GPUs that the inventory names itself."""
    found = right(3)
    found["groups"]["gpu_vms"]["vars"].update(
        guest_interfaces=["roce0"], guest_devices=["0000:13:00.0"], rocemesh_slots=2
    )
    return found


def _management_mesh() -> Inventory:
    """rocemesh_address on the management network, RoCE on networks of their own."""
    found = right(8, 4)
    for number, row in enumerate(found["groups"]["gpu_vms"]["hosts"].values()):
        row["rocemesh_address"] = row["ansible_host"] = f"172.16.0.{number + 1}"
    found["all"].update(mesh_cidr=["172.16.0.0/16"], run_network="172.16.0.0/16")
    return found


INVENTORIES: Mapping[str, Callable[[], Inventory]] = {
    "mixed-leafs": _mixed_leafs,
    "equal-names": _equal_names,
    "behind-one-address": _behind_one_address,
    "own-words": _own_words,
    "management-mesh": _management_mesh,
    "ipv6": lambda: right(2, version=6),
    "cumulus": lambda: right(4, driver="cumulus"),
    "eight-rails": lambda: right(4, 8),
    "two-vms-per-host": lambda: right(8, 2, per_host=2),
    "sixty-four": lambda: right(64),
}


def write(inventory: Inventory, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "hosts.yml"
    path.write_text(json.dumps({"all": {"vars": inventory["all"], "children": inventory["groups"]}}))
    return path
