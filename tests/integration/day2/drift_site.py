"""A right site in simulators for playbooks/drift.yml: Onyx leafs, a vCenter, and VMs that are folders on this machine.

What is compared of image, mesh and containers needs real guests: tests/faults/test_undo.py plays it in the lab.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from lab.rehearsal.guest import Device, Guest, Machine
from tests.integration import simulated_switch
from tests.integration.simulated_switch import ADDRESS, LOCAL, PASSWORD
from tests.integration.switch.harness import Simulator
from tests.integration.switch.harness import running as running_switch
from tests.integration.vsphere.conftest import ROOT, Pki, Vcenter, started
from tests.switch_console import typed

NIC, GPU = "0000:41:00.0", "0000:21:00.0"
KEYS = {
    "pciPassthru.allowP2P": "TRUE",
    "pciPassthru.RelaxACSforP2P": "TRUE",
    "pciPassthru.use64bitMMIO": "TRUE",
    "pciPassthru.64bitMMIOSizeGB": "128",
}
WANTED = {"use_64bit_mmio": True, "mmio_size_gb": "128", "reserve_memory": True}


def topology(vms: dict[str, list[str]]) -> dict[str, Any]:
    """``vms``: those of each host, at most two: one on each NUMA node."""
    return {
        "datacenter": "lab-dc",
        "cluster": "lab",
        "boot_seconds": 0.1,
        "shutdown_seconds": 0.02,
        "hosts": [
            {
                "name": host,
                "kernel": {"atsSupport": "TRUE"},
                "vms": [
                    {"name": vm, "extra_config": {**KEYS, "numa.nodeAffinity": str(node)}}
                    for node, vm in enumerate(names)
                ],
            }
            for host, names in vms.items()
        ],
    }


class DriftSite:
    """``leaves``, ``vcenter``, ``guests``: the devices; `play` compares them with the inventory."""

    def __init__(
        self, folder: pathlib.Path, leaves: dict[str, Simulator], vcenter: Vcenter, vms: dict[str, list[str]]
    ) -> None:
        self.folder, self.leaves, self.vcenter, self.vms = folder, leaves, vcenter, vms
        self.guests: dict[str, Guest] = {}
        for number, name in enumerate(vm for names in vms.values() for vm in names):
            nic = Device("nic", NIC, 1184, netdev="ens1184np0", addresses=(f"10.1.0.{number + 1}/16",))
            machine = Machine(name, number, (f"198.18.0.{number + 1}/16",), (nic, Device("gpu", GPU, 256)))
            self.guests[name] = Guest(folder / "guests", machine)
            self.guests[name].put_gpus_on_bus()
            self.card(name, current=1, next=1)
        for leaf in leaves.values():
            done = simulated_switch.run_module(leaf, vlan=111, vlan_name="rdma", ports=["1/1-1/4"], mtu=9216)
            assert not done["failed"] and done["saved"], done
        self.write_inventory()

    def card(self, vm: str, **values: int) -> None:
        """What the NIC has stored and loaded; ATS is on where it is loaded."""
        hardware = self.guests[vm].root / "hw"
        stored = json.loads((hardware / "nic.json").read_text())
        ats = stored["cards"][0]["params"]["ATS_ENABLED"]
        ats.update(values)
        (hardware / "nic.json").write_text(json.dumps(stored))
        loaded = bool(ats["current"])
        bus = {NIC: {"ats_capability": loaded, "ats_enabled": loaded, "stu": 0}, GPU: {"ats_capability": False}}
        (hardware / "pci.json").write_text(json.dumps({"functions": bus}))

    def write_inventory(self, **variables: dict[str, Any]) -> None:
        """``variables``: of single hosts."""
        login = {f"rocemesh_vcenter_{key}": value for key, value in self.vcenter.login.items() if key != "timeout"}
        groups: dict[str, dict[str, dict[str, Any]]] = {
            "switches": {
                name: {**leaf.role, "switch_host": ADDRESS, "switch_allow_disruption": "requested_ports", **LOCAL}
                for name, leaf in self.leaves.items()
            },
            "esxi_hosts": {host: {} for host in self.vms},
            "gpu_vms": {
                name: {**LOCAL, "ansible_python_interpreter": str(guest.python), "gpu_vm_wanted": WANTED}
                for name, guest in self.guests.items()
            },
        }
        children = {
            group: {"hosts": {host: {**own, **variables.get(host, {})} for host, own in hosts.items()}}
            for group, hosts in groups.items()
        }
        everybody = {**login, "rocemesh_simulated": True, "rocemesh_roce_networks": ["10.1.0.0/16"]}
        (self.folder / "inventory.json").write_text(json.dumps({"all": {"vars": everybody, "children": children}}))

    def play(self, *more: str, patience: float = 1200) -> subprocess.CompletedProcess[str]:
        environment = simulated_switch.environment(
            ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"),
            ANSIBLE_COLLECTIONS_PATH=str(ROOT / "collections"),
            ANSIBLE_STDOUT_CALLBACK="default",
            ANSIBLE_NOCOLOR="1",
            ROCEMESH_DRIFT_TEXTFILE=str(self.textfile),
        )
        program = str(pathlib.Path(sys.executable).with_name("ansible-playbook"))
        return subprocess.run(
            [program, str(ROOT / "playbooks/drift.yml"), "--check", "-i", str(self.folder / "inventory.json"), *more],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )

    @property
    def textfile(self) -> pathlib.Path:
        return self.folder / "rocemesh.prom"

    def drift(self, status: int) -> dict[str, Any]:
        """drift.json, with the metrics under ``metrics``: (host, layer, name) -> number."""
        done = self.play("--skip-tags", "image,mesh")
        assert done.returncode == status, done.stdout + done.stderr
        found: dict[str, Any] = json.loads((self.folder / "reports/drift.json").read_text())
        rows = re.findall(
            r'^rocemesh_drift_(\w+)\{host="(\w+)",layer="(\w*)"\} (\d+)$', self.textfile.read_text(), re.MULTILINE
        )
        found["metrics"] = {(host, layer, name): int(count) for name, host, layer, count in rows}
        return found

    def on_the_switch(self, leaf: str, *lines: str) -> None:
        """What somebody types there."""
        switch = self.leaves[leaf]
        typed((ADDRESS, switch.port), PASSWORD, switch.known_hosts, *lines)


@contextlib.contextmanager
def right_site(
    binary: pathlib.Path, pki: Pki, folder: pathlib.Path, leaves: int, vms: dict[str, list[str]]
) -> Iterator[DriftSite]:
    with contextlib.ExitStack() as stack:
        switches = {
            f"leaf{number:02}": stack.enter_context(running_switch(folder / f"leaf{number:02}"))
            for number in range(1, leaves + 1)
        }
        vcenter = stack.enter_context(started(binary, pki, folder, topology(vms)))
        yield DriftSite(folder, switches, vcenter, vms)
