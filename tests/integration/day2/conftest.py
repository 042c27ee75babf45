"""A small site of simulators: a switch, a vCenter with two ESXi hosts, and one VM, which is this machine with simulated
NIC tools first on PATH. No container, no network but loopback."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.plugin_utils import journal_file

from tests import site_run
from tests.integration import simulated_switch
from tests.integration.simulated_switch import ADDRESS
from tests.integration.switch.harness import Simulator
from tests.integration.switch.harness import running as running_switch
from tests.integration.vsphere.conftest import Pki, Vcenter, binary, pki, started
from tests.unit.nic.twin import Rack

__all__ = ["binary", "pki"]
REPOSITORY = simulated_switch.REPOSITORY
TOPOLOGY = {
    "datacenter": "lab-dc",
    "cluster": "lab",
    "boot_seconds": 0.1,
    "shutdown_seconds": 0.02,
    "hosts": [{"name": "esx01", "vms": ["gpu01"]}, {"name": "esx02", "vms": []}],
}


def _forward(switch: Simulator, vcenter: Vcenter) -> list[dict[str, Any]]:
    """The modules of the stages, each as its role calls it, without what needs a real guest."""
    login = {key: value for key, value in vcenter.login.items() if key != "timeout"}
    here = {"delegate_to": "localhost", "vars": {"ansible_python_interpreter": sys.executable}}
    onyx = {
        **{key: value for key, value in switch.options.items() if key != "timeout"},
        "vlan": 111,
        "vlan_name": "rdma",
        "ports": ["1/1-1/4"],
        "mtu": 9216,
        "allow_disruption": "any",
    }
    kernel = {**login, "esxi_hostnames": ["esx01", "esx02"], "settings": {"atsSupport": True}}
    keys = {**login, "vm": "gpu01", "numa_node_affinity": ["auto"], "power_policy": "shutdown"}
    stages: list[tuple[str, str, str, dict[str, Any], dict[str, Any]]] = [
        ("switches", "Make the switch ready", "onyx_roce", onyx, here),
        ("esxi_hosts", "Configure the hosts", "esxi_kernel_setting", kernel, {**here, "run_once": True}),
        ("gpu_vms", "Store ATS", "mlxconfig_ats", {"state": "enabled"}, {"become": True}),
        ("gpu_vms", "Set the keys", "vmx_passthru", keys, here),
    ]
    return [
        {
            "hosts": hosts,
            "gather_facts": False,
            "tasks": [{"name": name, f"rocemesh.multinode.{module}": given, **more}],
        }
        for hosts, name, module, given, more in stages
    ]


class Site:
    def __init__(self, switch: Simulator, vcenter: Vcenter, folder: pathlib.Path) -> None:
        self.switch, self.vcenter, self.folder = switch, vcenter, folder
        (folder / "hw").mkdir()
        self.rack = Rack(folder / "hw")
        self.forward = folder / "forward.yml"
        self.forward.write_text(json.dumps(_forward(switch, vcenter)))
        self.write_inventory()

    def write_inventory(self, **changes: Any) -> None:
        login = self.vcenter.login
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        variables = {f"rocemesh_vcenter_{key}": value for key, value in login.items() if key != "timeout"}
        switch = {**self.switch.role, "switch_host": ADDRESS, **local}
        children = {
            "switches": {"hosts": {"leaf01": switch}},
            "esxi_hosts": {"hosts": {"esx01": {}, "esx02": {}}},
            "gpu_vms": {"hosts": {"gpu01": local}},
        }
        inventory = {"all": {"vars": {**variables, "rocemesh_simulated": True, **changes}, "children": children}}
        (self.folder / "inventory.json").write_text(json.dumps(inventory))

    def command(self, playbook: pathlib.Path, *more: str) -> list[str]:
        program = str(pathlib.Path(sys.executable).with_name("ansible-playbook"))
        return [program, "-i", str(self.folder / "inventory.json"), str(playbook), *more]

    def environment(self) -> dict[str, str]:
        return {
            **simulated_switch.environment(ANSIBLE_STDOUT_CALLBACK="default"),
            **self.rack.environment(os.environ["PATH"]),
            "ANSIBLE_CALLBACKS_ENABLED": "rocemesh.multinode.journal",
            "ROCEMESH_JOURNAL": str(self.folder / "journal"),
        }

    def play(self, playbook: pathlib.Path, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(playbook, *more),
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )

    def kill(self, playbook: pathlib.Path, lines: int, seconds: float, *more: str) -> str:
        """A run that is killed ``seconds`` after its journal has so many lines; its id, "" if it left none."""
        known = self.runs()
        process = subprocess.Popen(
            self.command(playbook, *more),
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while process.poll() is None and self._lines(known) < lines:
                time.sleep(0.02)
            time.sleep(seconds)
        finally:
            site_run.kill(process.pid)
            process.wait()
        return next((run for run in self.runs() if run not in known), "")

    def _lines(self, known: list[str]) -> int:
        new = [run for run in self.runs() if run not in known]
        return len((self.folder / "journal" / f"{new[0]}.jsonl").read_text().splitlines()) if new else 0

    def configure(self, *more: str) -> str:
        """A run forward; its id. The host is rebooted after it."""
        done = self.play(self.forward, *more)
        assert done.returncode == 0, done.stdout + done.stderr
        self.rack.host_reboot()
        return self.runs()[-1]

    def undo(self, run: str, *more: str) -> subprocess.CompletedProcess[str]:
        return self.play(REPOSITORY / "playbooks" / "undo.yml", "-e", f"run={run}", *more)

    def runs(self) -> list[str]:
        return [path.stem for path in sorted((self.folder / "journal").glob("*.jsonl")) if "plan" not in path.stem]

    def journal(self, run: str) -> journal_file.Journal:
        return journal_file.read(self.folder / "journal" / f"{run}.jsonl")

    def layers(self) -> dict[str, Any]:
        """The configured state of every layer, without counters and times."""
        switch = self.switch.state()
        site = self.vcenter.state()
        self.rack._sync()
        return {
            "switch": switch["running"],
            "kernel": {name: host["kernel"] for name, host in site["hosts"].items()},
            "keys": {name: vm["extra_config"] for name, vm in site["vms"].items()},
            "power": {name: vm["power"] for name, vm in site["vms"].items()},
            "nic": [entry["params"]["ATS_ENABLED"] for entry in self.rack.cards],
        }

    def hashes(self) -> dict[str, str]:
        return {
            layer: hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
            for layer, found in self.layers().items()
        }


@pytest.fixture(scope="session")
def shared_switch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    with running_switch(tmp_path_factory.mktemp("switch")) as simulator:
        yield simulator


@pytest.fixture(scope="session")
def shared_vcenter(binary: pathlib.Path, pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vcenter]:
    with started(binary, pki, tmp_path_factory.mktemp("vcenter"), TOPOLOGY) as vcenter:
        yield vcenter


@pytest.fixture
def site(shared_switch: Simulator, shared_vcenter: Vcenter, tmp_path: pathlib.Path) -> Site:
    shared_switch.reset()
    shared_vcenter.ask("POST", "/reset")
    return Site(shared_switch, shared_vcenter, tmp_path)
