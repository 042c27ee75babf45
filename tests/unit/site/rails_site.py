"""Sites with several rails as their devices tell: ESXi's PCI facts, the guest's lspci, rdma_info, switches, containers.

`python -m tests.unit.site.rails_site` (PYTHONPATH=collections) writes the golden files of `test_rails.py` anew; read
the difference line by line before you keep it.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.filter.nccl_topology import nccl_topology
from ansible_collections.rocemesh.multinode.plugins.filter.nccl_variables import nccl_variables
from ansible_collections.rocemesh.multinode.plugins.filter.path_consistency import path_consistency

GOLDEN = Path(__file__).parent / "golden"
SWITCHES_PER_NODE = 2  # PCIe switches per NUMA node of the host
STORAGE = "172.16.0"


def lossless() -> dict[str, Any]:
    """RoCE as a switch tells it that is as wanted."""
    return {"mode": "lossless", "trust": "L3", "ecn": "ecn, absolute", "pfc": "enabled", "pfc_priorities": [3]}


def qos(prio_tc: dict[str, int]) -> dict[str, Any]:
    """Of a NIC that sorts by DSCP and pauses priority 3."""
    return {
        "trust": "dscp",
        "pfc_priorities": [3],
        "dscp_prio": {"0": 0, "26": 3, "48": 6},
        "prio_tc": prio_tc,
    }


@dataclasses.dataclass(frozen=True)
class Site:
    """``hosts`` with ``rails`` pairs of a GPU and a NIC; two pairs share a PCIe switch, two switches a NUMA node."""

    name: str
    hosts: int
    rails: int
    networks: tuple[str, ...]
    control: str
    nccl: str = ""
    storage: bool = False

    @property
    def nodes(self) -> list[str]:
        return [f"gpu{number:02d}" for number in range(1, self.hosts + 1)]

    # ---- places of pair number `rail` -------------------------------------------------------------------------------

    def pcie_switch(self, rail: int) -> int:
        return rail // 2

    def numa(self, rail: int) -> int:
        return self.pcie_switch(rail) // SWITCHES_PER_NODE

    def host_address(self, kind: str, rail: int) -> str:
        return f"0000:{0x13 + 0x20 * self.pcie_switch(rail) + 2 * (rail % 2) + (kind == 'gpu'):02x}:00.0"

    def guest_address(self, kind: str, rail: int) -> str:
        # GPUs stand in the guest in the reverse order of the host: only the slot says which is which.
        return f"0000:{0x41 + rail if kind == 'nic' else 0x21 + self.rails - 1 - rail:02x}:00.0"

    def slot(self, kind: str, rail: int) -> int:
        return (1184 if kind == "nic" else 256) + 32 * rail

    # ---- what the layers say ----------------------------------------------------------------------------------------

    def pci_facts(self, vm: str) -> dict[str, Any]:
        """As module esxi_pci_info returns it for the host of this VM."""
        rows: list[dict[str, Any]] = []
        for number in range((self.rails + 1) // 2):
            first = 0x10 + 0x20 * number
            root, up = f"0000:{first:02x}:00.0", f"0000:{first + 1:02x}:00.0"
            rows += [_bridge(root, ""), _bridge(up, root)]
            rows += [_bridge(f"0000:{first + 2:02x}:{port:02x}.0", up) for port in range(4)]
        for rail in range(self.rails):
            for kind in ("nic", "gpu"):
                port = 2 * (rail % 2) + (kind == "gpu")
                rows.append(
                    {
                        "address": self.host_address(kind, rail),
                        "kind": kind,
                        "vendor_id": "0x10de" if kind == "gpu" else "0x15b3",
                        "device_id": "0x2330" if kind == "gpu" else "0x1021",
                        "class_id": "0x0302" if kind == "gpu" else "0x0200",
                        "numa_node": self.numa(rail),
                        "parent_bridge": f"0000:{0x12 + 0x20 * self.pcie_switch(rail):02x}:{port:02x}.0",
                        "vm": vm,
                        "vm_slot": self.slot(kind, rail),
                    }
                )
        return {"devices": rows}

    def lspci(self) -> str:
        records = ["Slot:\t0000:0b:00.0\nClass:\t0200\nVendor:\t15ad\nDevice:\t07b0\nPhySlot:\t192\nNUMANode:\t0\n"]
        for kind, klass, vendor, device in (("gpu", "0302", "10de", "2330"), ("nic", "0200", "15b3", "1021")):
            for rail in range(self.rails):
                records.append(
                    f"Slot:\t{self.guest_address(kind, rail)}\nClass:\t{klass}\nVendor:\t{vendor}\nDevice:\t{device}\n"
                    f"PhySlot:\t{self.slot(kind, rail)}\nNUMANode:\t{self.numa(rail)}\n"
                )
        return "\n".join(records)

    def reading(self, node: str) -> dict[str, Any]:
        """As module rdma_info returns it there, with ``interfaces``."""
        host = 10 + self.nodes.index(node) + 1
        ports = [
            _port(f"mlx5_{rail}", f"ens{self.slot('nic', rail)}np0", self.guest_address("nic", rail), f"{net}.{host}")
            for rail, net in enumerate(network.rsplit(".", 1)[0] for network in self.networks)
        ]
        if self.storage:
            ports.append(_port(f"mlx5_{self.rails}", "ens1600np0", "0000:60:00.0", f"{STORAGE}.{host}"))
        control = self.control.rsplit(".", 1)[0]
        return {
            "devices": ports,
            "interfaces": [{"name": "docker0", "addresses": ["172.17.0.1/16"]}]
            + [{"name": "ens192", "addresses": [f"{control}.{host}/24"]}]
            + [{"name": port["netdev"], "addresses": [f"{port['roce_gid_ipv4']}/24"]} for port in ports],
            "simulated": False,
            "unreadable": [],
            "error": "",
        }

    def switches(self) -> dict[str, Any]:
        """One switch per rail."""
        return {
            f"sw{rail + 1:02d}": {
                "roce": lossless(),
                "vlan": {"id": 111 + rail},
                "ports": {
                    f"1/{number}": {
                        "access_vlan": 111 + rail,
                        "mtu": 9216,
                        "oper": "up",
                        "pfc_oper": "enabled",
                        "trust": "L3",
                    }
                    for number in range(1, self.hosts + 1)
                },
            }
            for rail in range(len(self.networks))
        }

    def world(self) -> dict[str, Any]:
        """What role consistency compares, with the computed variables in the containers."""
        found = self.variables()
        nodes = {}
        for node in self.nodes:
            reading = self.reading(node)
            nodes[node] = {
                "nic": {key: reading[key] for key in ("devices", "simulated")},
                "container": {
                    "name": "mpicont",
                    "env": {**found["shared"], **found["per_node"].get(node, {})},
                    "network_mode": "host",
                    "infiniband": True,
                    "mtus": {port["netdev"]: port["netdev_mtu"] for port in reading["devices"]},
                    "nccl_version": self.nccl or None,
                },
            }
        return {"switches": self.switches(), "nodes": nodes}

    # ---- what is computed from it -----------------------------------------------------------------------------------

    def variables(self, **changes: Any) -> dict[str, Any]:
        facts = {node: {key: self.reading(node)[key] for key in ("devices", "interfaces")} for node in self.nodes}
        options = {"dscp": 26, "control_network": self.control, "nccl_version": self.nccl, **changes}
        return nccl_variables(facts, list(self.networks), **options)

    def consistency(self) -> dict[str, Any]:
        world = self.world()
        return path_consistency(world["nodes"], world["switches"], network=list(self.networks))

    def golden(self) -> dict[str, str]:
        """File name to content."""
        files = {
            "variables.json": json.dumps(self.variables(), indent=2) + "\n",
            "topology-gpu01.xml": self.topology("gpu01")["xml"],
        }
        if self.hosts == 2:
            files["consistency.txt"] = "\n".join(self.consistency()["table"]) + "\n"
        return files

    def topology(self, vm: str, **options: Any) -> dict[str, Any]:
        return nccl_topology(self.pci_facts(vm), self.lspci(), vm, **options)


def _bridge(address: str, parent: str) -> dict[str, Any]:
    return {
        "address": address,
        "kind": "bridge",
        "vendor_id": "0x1000",
        "device_id": "0xc030",
        "class_id": "0x0604",
        "numa_node": None,
        "parent_bridge": parent,
        "vm": None,
    }


def _gids(netdev: str, address: str) -> list[dict[str, Any]]:
    parts = [int(part) for part in address.split(".")]
    ipv4 = f"0000:0000:0000:0000:0000:ffff:{parts[0]:02x}{parts[1]:02x}:{parts[2]:02x}{parts[3]:02x}"
    local = "fe80:0000:0000:0000:0250:56ff:fe00:0001"
    return [
        {"index": 2 * at + version - 1, "gid": gid, "type": kind, "netdev": netdev, "ipv4": own}
        for at, (gid, own) in enumerate(((local, ""), (ipv4, address)))
        for version, kind in ((1, "IB/RoCE v1"), (2, "RoCE v2"))
    ]


def _port(name: str, netdev: str, pci: str, address: str) -> dict[str, Any]:
    return {
        "name": name,
        "port": 1,
        "netdev": netdev,
        "pci": pci,
        "link_layer": "Ethernet",
        "state": "ACTIVE",
        "rate": "400 Gb/sec (4X NDR)",
        "firmware": "28.39.1002",
        "psid": "MT_0000000838",
        "active_mtu": 4096,
        "netdev_mtu": 9000,
        "pcie": {
            "current_link_speed": 32.0,
            "max_link_speed": 32.0,
            "current_link_width": 16,
            "max_link_width": 16,
        },
        "gids": _gids(netdev, address),
        "roce_gid_index": 3,
        "roce_gid_ipv4": address,
        "qos": qos({str(priority): priority for priority in range(8)}),
        "ecn": {"np": [3], "rp": [3]},
        "roce_tos": 106,
        "traffic_class": None,
    }


BIG = Site(
    "rails_4x8x8",
    hosts=4,
    rails=8,
    networks=tuple(f"10.{rail}.0.0/24" for rail in range(1, 9)),
    control="192.0.2.0/24",
    nccl="2.21.5",
    storage=True,
)
SMALL = Site("rails_2x2x2", hosts=2, rails=2, networks=("10.78.0.0/24", "10.79.0.0/24"), control="192.0.2.0/24")
SITES = (BIG, SMALL)


def main() -> None:
    for site in SITES:
        (GOLDEN / site.name).mkdir(parents=True, exist_ok=True)
        for name, content in site.golden().items():
            (GOLDEN / site.name / name).write_text(content)


if __name__ == "__main__":
    main()
