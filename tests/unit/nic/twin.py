"""A GPU VM for tests: the lab's own simulated tools, run in this process, and an independent model of the rack.

`Rack` knows what is true (it never reads what the module concluded); the tools only print it. Calls are recorded, so a
test can say that nothing was set.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import json
import os
import pathlib
import sys
from typing import Any, Callable, Sequence

from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.layer import AtsLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Finished, NicTools, Sysfs

TOOLS = pathlib.Path(__file__).resolve().parents[3] / "lab" / "node" / "tools"
if str(TOOLS / "lib") not in sys.path:
    sys.path.insert(0, str(TOOLS / "lib"))

PROGRAMS = {
    "mlxconfig": "nvconfig",
    "mstconfig": "nvconfig",
    "lspci": "lspci",
    "setpci": "setpci",
    "mstflint": "flint",
    "flint": "flint",
    "mst": "mst",
    "mlxfwreset": "fwreset",
    "mstfwreset": "fwreset",
    "systemd-detect-virt": "virt",
    "ibv_devinfo": "ibv",
    "mlnx_qos": "qos",
    "cma_roce_tos": "qos",
    "modinfo": "modinfo",
    "ofed_info": "ofed",
    "lab-sysfs": "sysfs",
}
GPU = "0000:af:00.0"

CARD: dict[str, Any] = {
    "pci": "0000:3b:00.0",
    "device_id": "101d",
    "kind": "pf",
    "device_type": "ConnectX6DX",
    "name": "MCX623106AN-CDA_Ax",
    "description": "ConnectX-6 Dx EN adapter card; 100GbE; Dual-port QSFP56",
    "psid": "MT_0000000359",
    "firmware": "22.31.1014",
    "mst": "/dev/mst/mt4125_pciconf0",
    "netdev": "eth0",
    "params": {"ATS_ENABLED": {"default": 0, "current": 0, "next": 0}},
}


def card(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(CARD), **changes}


class Rack:
    """One ESXi host with one VM: three switches that ATS needs, and the moments at which each is read."""

    def __init__(self, directory: pathlib.Path, cards: Sequence[dict[str, Any]] | None = None) -> None:
        self.directory = directory
        self.cards = [copy.deepcopy(entry) for entry in (cards if cards is not None else [CARD])]
        self.faults: dict[str, Any] = {}
        self.host_configured = False
        self.host_runtime = False
        self.vm_keys = False
        self.bus: dict[str, dict[str, Any]] = {}
        self.calls: list[list[str]] = []
        self.missing: list[str] = []
        self.before: dict[str, Callable[[Sequence[str]], Finished | None]] = {}
        self.power_on()

    # ---- physics --------------------------------------------------------------------------------------------------

    def _sync(self) -> None:
        path = self.directory / "nic.json"
        if path.exists():
            stored = json.loads(path.read_text(encoding="utf-8"))["cards"]
            for mine, theirs in zip(self.cards, stored):
                for name, values in mine.get("params", {}).items():
                    # The only thing that a tool may have changed.
                    assert {**theirs["params"][name], "next": 0} == {**values, "next": 0}
                    values["next"] = theirs["params"][name]["next"]

    def write(self) -> None:
        (self.directory / "nic.json").write_text(
            json.dumps({"cards": self.cards, "faults": self.faults}), encoding="utf-8"
        )
        (self.directory / "pci.json").write_text(json.dumps({"functions": self.bus}), encoding="utf-8")

    def power_on(self) -> None:
        """The VM's own power cycle: the keys and the bus are read anew, the card keeps what is loaded."""
        self._sync()
        allowed = self.host_runtime and self.vm_keys
        self.bus = {GPU: {"ats_capability": False, "ats_enabled": False, "stu": 0}}
        for entry in self.cards:
            loaded = bool(entry.get("params", {}).get("ATS_ENABLED", {}).get("current"))
            self.bus[entry["pci"]] = {"ats_capability": loaded, "ats_enabled": loaded and allowed, "stu": 0}
        self.write()

    def guest_reboot(self) -> None:
        """Resets no slot and reads no key."""
        self._sync()
        self.write()

    def host_reboot(self) -> None:
        self._sync()
        self.host_runtime = self.host_configured
        for entry in self.cards:
            for values in entry.get("params", {}).values():
                values["current"] = values["next"]
        self.write()
        self.power_on()

    def truth(self, index: int = 0) -> bool:
        """ATS works now: loaded in the card and enabled on its function."""
        self._sync()
        entry = self.cards[index]
        return bool(entry["params"]["ATS_ENABLED"]["current"]) and bool(self.bus[entry["pci"]]["ats_enabled"])

    def simulate_sysfs(self, address: str, mtu: int = 1500) -> pathlib.Path:
        """The tree that a node makes at boot, under ``sys``; its interfaces (``net``) have that MTU."""
        for index, entry in enumerate(self.cards):
            interface = self.directory / "net" / entry["netdev"]
            interface.mkdir(parents=True, exist_ok=True)
            values = {"mtu": mtu, "address": f"02:42:0a:4e:00:{index + 11:02x}", "operstate": "up", "dev_port": 0}
            for name, value in values.items():
                (interface / name).write_text(f"{value}\n", encoding="utf-8")
        told = [f"{entry['netdev']}={address}" for entry in self.cards]
        assert run_tool(self.directory, "lab-sysfs", str(self.directory / "sys"), *told).code == 0
        return self.directory / "sys"

    def environment(self, path: str) -> dict[str, str]:
        """For a playbook that finds the lab's tools first, then what is on ``path``, and reads this rack with them."""
        return {
            "PATH": f"{TOOLS}:{path}",
            "LAB_HW_DIR": str(self.directory),
            "LAB_RUN_DIR": str(self.directory / "run"),
            "LAB_NET_DIR": str(self.directory / "net"),
            "ROCEMESH_SYSFS_ROOT": str(self.directory / "sys"),
            "ANSIBLE_CONFIG": str(TOOLS.parents[2] / "ansible.cfg"),
            "ANSIBLE_LOCALHOST_WARNING": "False",
            "ANSIBLE_NOCOLOR": "1",
        }

    # ---- the module's outside -------------------------------------------------------------------------------------

    def which(self, name: str) -> str | None:
        return None if name in self.missing or name not in PROGRAMS else f"/usr/local/bin/{name}"

    def run(self, argv: Sequence[str], timeout: float) -> Finished:
        name = pathlib.PurePath(argv[0]).name
        self.calls.append([name, *argv[1:]])
        if name in self.before:
            answer = self.before[name](argv)
            if answer is not None:
                return answer
        return run_tool(self.directory, name, *argv[1:])

    def sets(self) -> list[list[str]]:
        return [call for call in self.calls if "set" in call]

    def layer(self, devices: Sequence[str] = ("auto",), *, verify_pci: bool = True, **options: Any) -> AtsLayer:
        options.setdefault("is_root", True)
        options.setdefault("sysfs", Sysfs(str(self.directory / "no-sysfs")))
        tools = NicTools("gpu01", run=self.run, which=self.which, **options)
        return AtsLayer(tools, list(devices), verify_pci)


def run_tool(directory: pathlib.Path, name: str, *arguments: str, stdin: str = "", root: bool = True) -> Finished:
    """One simulated program, in this process: exit code, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    hardware = importlib.import_module("rocemesh_hw.hardware")
    program = importlib.import_module(f"rocemesh_hw.{PROGRAMS.get(name, name)}")
    # what the node has outside the two files: its runtime settings and its interfaces
    importlib.import_module("rocemesh_hw.runtime").DEFAULT_DIR = str(directory / "run")
    os.environ["LAB_NET_DIR"] = str(directory / "net")
    patched = [
        module for module in (importlib.import_module("rocemesh_hw.lspci"), program) if hasattr(module, "is_root")
    ]
    originals = [(module, module.is_root) for module in patched]
    old_dir, old_stdin = hardware.DEFAULT_DIR, sys.stdin
    try:
        hardware.DEFAULT_DIR = str(directory)
        sys.stdin = io.StringIO(stdin)
        for module in patched:
            module.is_root = lambda: root
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = program.main(name, list(arguments))
    finally:
        hardware.DEFAULT_DIR, sys.stdin = old_dir, old_stdin
        for module, original in reversed(originals):
            module.is_root = original
    return Finished(code, out.getvalue(), err.getvalue())
