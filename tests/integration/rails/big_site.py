"""inventories/example-rails with SIMULATED devices behind it: 4 hosts, 32 GPUs, 32 NICs, two switches.

vCenter and the switches are the lab's simulators. The four VMs are folders on this machine: ``ansible_connection``
local, and a Python of their own that shows each its bus, its RDMA devices and its addresses. Only check mode is played.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from lab.rehearsal.guest import Device, Guest, Machine
from tests.integration.simulated_switch import PASSWORD
from tests.integration.switch import harness
from tests.integration.switch.harness import Simulator
from tests.integration.vsphere.conftest import ROOT, USER, Pki, Vcenter, build, started

HOSTS, RAILS = 4, 8
LEAVES = ("leaf01", "leaf02")
NODES = [f"gpu{number:02d}" for number in range(1, HOSTS + 1)]
INVENTORY = ROOT / "inventories" / "example-rails"
# The simulated host has a pair of NIC and GPU below each of its eight PCIe switches, four on each NUMA node.
BUSES = [0x3B + 0x10 * pair for pair in range(4)] + [0xAF + 0x10 * pair for pair in range(4)]


def host_address(kind: str, rail: int) -> str:
    return f"0000:{BUSES[rail] + (2 if kind == 'gpu' else 0):02x}:00.0"


def guest_address(kind: str, rail: int) -> str:
    """The guest shows its GPUs in the reverse order of the host: only the slot says which is which."""
    return f"0000:{0x41 + rail if kind == 'nic' else 0x21 + RAILS - 1 - rail:02x}:00.0"


def slot(kind: str, rail: int) -> int:
    return (1184 if kind == "nic" else 256) + 32 * rail


def netdev(rail: int) -> str:
    return f"ens{slot('nic', rail)}np0"


def address(node: str, rail: int) -> str:
    return f"10.{rail + 1}.0.{11 + NODES.index(node)}"


def topology(nodes: Sequence[str] = tuple(NODES)) -> dict[str, Any]:
    """What the simulated vCenter has."""
    devices = [
        {"kind": kind, "address": host_address(kind, rail), "slot": slot(kind, rail), "number": number * RAILS + rail}
        for number, kind in enumerate(("nic", "gpu"))
        for rail in range(RAILS)
    ]
    hosts = [
        {
            "name": f"esx{number:02d}.example.com",
            "pairs": [4, 4],
            "pcie_switches": True,
            "vms": [{"name": node, "devices": devices, "memory_mb": 262144}],
        }
        for number, node in enumerate(nodes, 1)
    ]
    return {"datacenter": "dc", "cluster": "gpu", "hosts": hosts}


def machine(name: str) -> Machine:
    devices = [
        Device(
            kind,
            guest_address(kind, rail),
            slot(kind, rail),
            rail // 4,
            *((netdev(rail), (f"{address(name, rail)}/24",)) if kind == "nic" else ()),
        )
        for kind in ("nic", "gpu")
        for rail in range(RAILS)
    ]
    number = NODES.index(name)
    return Machine(name, number, (f"198.51.100.{11 + number}/24",), tuple(devices))


class Site:
    """The example inventory as it is, and one beside it that says where the simulators listen."""

    def __init__(self, root: pathlib.Path, vcenters: Sequence[Vcenter], leaves: dict[str, Simulator]) -> None:
        self.root, self.vcenters, self.leaves = root, vcenters, leaves
        self.vcenter = vcenter = vcenters[0]
        self.guests = {name: Guest(root / "guests", machine(name)) for name in NODES}
        shutil.copytree(INVENTORY, root / "example")
        vault = {"vault_vcenter_password": vcenter.password, "vault_switch_password": PASSWORD}
        (root / "example/group_vars/all/vault.yml").write_text(
            yaml.safe_dump({**vault, "vault_registry_password": "not-used-in-check-mode"})
        )
        (root / "where" / "group_vars").mkdir(parents=True)
        # Variables of the later inventory go before those of the example.
        told = {
            "rocemesh_vcenter_hostname": "127.0.0.1",
            "rocemesh_vcenter_port": vcenter.port,
            "rocemesh_vcenter_username": USER,
            "rocemesh_vcenter_ca_path": str(vcenter.ca),
            # The factory state of the simulated switch has links of others; here nobody uses them.
            "switch_allow_disruption": "any",
        }
        (root / "where" / "group_vars" / "all.yml").write_text(yaml.safe_dump(told))
        where = {
            "switches": {
                "hosts": {
                    name: {
                        "ansible_host": "127.0.0.1",
                        "switch_port": leaf.port,
                        "switch_known_hosts": str(leaf.known_hosts),
                    }
                    for name, leaf in leaves.items()
                }
            },
            "gpu_vms": {
                "hosts": {
                    name: {
                        "ansible_connection": "local",
                        "ansible_python_interpreter": str(guest.python),
                    }
                    for name, guest in self.guests.items()
                }
            },
        }
        # A second vCenter has the last hosts, under the names and ids that the first has in the first one.
        for number, node in enumerate(NODES[HOSTS // len(vcenters) :] if len(vcenters) > 1 else ()):
            there = {f"rocemesh_vcenter_{name}": vcenters[1].login[name] for name in ("port", "password")}
            where["gpu_vms"]["hosts"][node] |= {**there, "gpu_vm_name": NODES[number]}
            host = f"esx{NODES.index(node) + 1:02d}.example.com"
            esxi = where.setdefault("esxi_hosts", {"hosts": {}})["hosts"]
            esxi[host] = {**there, "esxi_host_name": f"esx{number + 1:02d}.example.com"}
        self._where = where
        self.tell({})

    def tell(self, hosts: dict[str, dict[str, Any]]) -> None:
        """Variables of hosts, which go before all others of the inventories."""
        found = json.loads(json.dumps(self._where))
        for name, variables in hosts.items():
            group = next((group for group in found.values() if name in group["hosts"]), None)
            if group is None:
                group = found.setdefault("esxi_hosts", {"hosts": {}})
            group["hosts"].setdefault(name, {}).update(variables)
        (self.root / "where" / "hosts.yml").write_text(yaml.safe_dump(found))

    def state(self) -> Any:
        """Everything that a run could change."""
        hardware = {name: (guest.root / "hw/nic.json").read_text() for name, guest in self.guests.items()}
        running = [leaf.state()["running"] for leaf in self.leaves.values()]
        return [*((each.state(), each.calls()) for each in self.vcenters), hardware, *running]

    def play(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        program = str(pathlib.Path(sys.executable).with_name("ansible-playbook"))
        inventories = ("-i", str(self.root / "example" / "hosts.yml"), "-i", str(self.root / "where" / "hosts.yml"))
        return subprocess.run(
            [program, *words, *inventories, *(["--check"] if check else [])],
            cwd=ROOT,
            env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORKS": "4", "ANSIBLE_HOME": str(self.root / "home")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )


@contextlib.contextmanager
def standing(root: pathlib.Path, pki: Pki, vcenters: int = 1) -> Iterator[Site]:
    """The site with its simulators, until it is no longer needed."""
    with contextlib.ExitStack() as stack:
        found = []
        for number in range(vcenters):
            (root / f"vcenter{number}").mkdir()
            nodes = NODES[: HOSTS // vcenters]
            found.append(stack.enter_context(started(build(), pki, root / f"vcenter{number}", topology(nodes))))
        leaves = {
            name: stack.enter_context(harness.running(root / name, "--name", name, "--cabled", "16", "--no-lldp"))
            for name in LEAVES
        }
        yield Site(root, found, leaves)
