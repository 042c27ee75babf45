"""A GPU VM as a folder on this machine: a Python that shows modules its bus, devices and addresses. No container."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.config import REPO

TOOLS = REPO / "lab" / "node" / "tools"
# An engine with NVIDIA's runtime, without images and containers.
_ENGINE = """case "$*" in
*DockerRootDir*) echo ROOT ;;
*Server.Version*) echo '"27.3.1"' ;;
*.Runtimes*) echo '{"nvidia": {"path": "nvidia-container-runtime"}, "runc": {"path": "runc"}}' ;;
*CDISpecDirs*) echo '[]' ;;
*LiveRestore*) echo false ;;
*" ps "*) ;;
*" inspect "*|*" exec "*) echo 'Error: No such container (SIMULATED)' >&2; exit 1 ;;
*) echo "SIMULATED docker: $*" >&2; exit 2 ;;
esac"""
_RUNTIME = '{"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}'
FIRST_INDEX = 90002  # of the interfaces; no interface of this machine has it


@dataclasses.dataclass(frozen=True)
class Device:
    """``kind``: nic or gpu; ``slot``: by which the VM knows it; ``netdev``, ``addresses`` (with length): of a NIC."""

    kind: str
    pci: str
    slot: int
    node: int = 0
    netdev: str = ""
    addresses: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Machine:
    """``number``: another one for each VM of a site; ``management``: addresses of ens192, with length."""

    name: str
    number: int
    management: tuple[str, ...]
    devices: tuple[Device, ...]

    def of(self, kind: str) -> list[Device]:
        return [device for device in self.devices if device.kind == kind]


def card(device: Device, number: int) -> dict[str, Any]:
    return {
        "pci": device.pci,
        "device_id": "101d",
        "kind": "pf",
        "device_type": "ConnectX6DX",
        "name": "MCX623106AN-CDA_Ax",
        "description": "ConnectX-6 Dx EN adapter card; 100GbE (SIMULATED)",
        "psid": "MT_0000000359",
        "firmware": "22.31.1014",
        "mst": f"/dev/mst/mt4125_pciconf{number}",
        "netdev": device.netdev,
        "serial": f"SIMULATED{number}",
        "numa_node": device.node,
        "params": {"ATS_ENABLED": {"default": 0, "current": 0, "next": 0}},
    }


class Guest:
    """Makes the folder; ``python``: the interpreter of the VM."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        self.root, self.machine = folder / machine.name, machine
        self.python = self.root / "bin" / "python"
        for name in ("hw", "run", "mst", "bin"):
            (self.root / name).mkdir(parents=True)
        functions = {each.pci: {"ats_capability": False, "ats_enabled": False, "stu": 0} for each in machine.devices}
        self._json("hw/nic.json", {"cards": [card(nic, at) for at, nic in enumerate(machine.of("nic"))], "faults": {}})
        self._json("hw/pci.json", {"functions": functions})
        for at, nic in enumerate(machine.of("nic")):
            self._interface(nic.netdev, at + 2)
        self._json("address.json", self.addresses())
        self._json("route.json", [{"dst": "default", "dev": "ens192", "gateway": "198.51.100.1"}])
        (self.root / "lspci.txt").write_text(self.lspci())
        self._programs()
        words = [f"{nic.netdev}={','.join(nic.addresses)}" for nic in machine.of("nic")]
        make = [sys.executable, str(TOOLS / "lab-sysfs"), str(self.root / "sys"), *words]
        subprocess.run(make, env={**os.environ, **self.environment()}, check=True)

    def put_gpus_on_bus(self) -> None:
        """As the kernel shows them; without this /sys has no GPU."""
        for gpu in self.machine.of("gpu"):
            self.put_on_bus(gpu.pci, "0x030200")

    def put_on_bus(self, address: str, kind: str) -> None:
        """A device of NVIDIA; ``kind``: the PCI class, 0x030200 a GPU, 0x068000 an NVSwitch."""
        place = self.root / "sys/bus/pci/devices" / address
        place.mkdir(parents=True, exist_ok=True)
        for name, text in (("class", kind), ("vendor", "0x10de"), ("device", "0x20f1")):
            (place / name).write_text(f"{text}\n")

    def _json(self, name: str, content: Any) -> None:
        (self.root / name).write_text(json.dumps(content, indent=1))

    def _interface(self, name: str, index: int) -> None:
        place = self.root / "net" / name
        place.mkdir(parents=True)
        mac = f"02:00:00:{self.machine.number:02x}:00:{index:02x}"
        for label, text in (("mtu", 1500), ("address", mac), ("operstate", "up"), ("dev_port", 0), ("carrier", 1)):
            (place / label).write_text(f"{text}\n")

    def addresses(self) -> list[dict[str, Any]]:
        """As `ip -json address show` has them."""
        rows: list[tuple[str, Sequence[str]]] = [("ens192", self.machine.management)]
        rows += [(nic.netdev, nic.addresses) for nic in self.machine.of("nic")]
        return [
            {
                "ifindex": index,
                "ifname": name,
                "mtu": 1500,
                "operstate": "UP",
                "flags": ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"],
                "addr_info": [_row(address) for address in addresses],
            }
            for index, (name, addresses) in enumerate(rows, FIRST_INDEX)
        ]

    def lspci(self) -> str:
        """As `lspci -D -vmm -n` has them."""
        ids = {"gpu": ("0302", "10de", "20f1"), "nic": ("0200", "15b3", "101d")}
        records = []
        for device in self.machine.devices:
            kind, vendor, number = ids[device.kind]
            records.append(
                f"Slot:\t{device.pci}\nClass:\t{kind}\nVendor:\t{vendor}\nDevice:\t{number}\n"
                f"PhySlot:\t{device.slot}\nNUMANode:\t{device.node}\n"
            )
        return "\n".join(sorted(records)) + "\n"

    def _programs(self) -> None:
        here = self.root / "bin"
        name = self.machine.name
        gpus = "\n".join(f"GPU {n}: SIMULATED A100 (UUID: GPU-{name}-{n})" for n in range(len(self.machine.of("gpu"))))
        programs = {
            "ip": f'case " $* " in *" address "*) cat {self.root}/address.json ;; *" -6 "*) echo "[]" ;; '
            f'*" route "*) cat {self.root}/route.json ;; *) echo "SIMULATED ip: $*" >&2; exit 2 ;; esac',
            "nvidia-smi": f"case \"$*\" in -L) cat <<'END'\n{gpus}\nEND\n;; --query*) ;; "
            '*) echo "CUDA Version: 12.4 (SIMULATED)" ;; esac',
            "nvidia-ctk": f'case "$*" in "cdi list") ;; *dry-run*) echo {shlex.quote(_RUNTIME)} ;; '
            '*) echo "SIMULATED nvidia-ctk: $*" >&2; exit 2 ;; esac',
            "nvidia-container-runtime-hook": "exit 2",
            "docker": _ENGINE.replace("ROOT", str(self.root)),
            "lspci": f'case " $* " in *" -vmm "*) cat {self.root}/lspci.txt ;; '
            f'*) exec {sys.executable} {TOOLS}/lspci "$@" ;; esac',
        }
        programs["podman"] = programs["docker"]
        for program, script in programs.items():
            (here / program).write_text(f"#!/bin/sh\n{script}\n")
        words = " ".join(f"{key}='{value}'" for key, value in self.environment().items())
        self.python.write_text(f'#!/bin/sh\nexec env {words} {sys.executable} "$@"\n')
        for path in here.iterdir():
            path.chmod(0o755)

    def environment(self) -> Mapping[str, str]:
        return {
            "LAB_HW_DIR": str(self.root / "hw"),
            "LAB_RUN_DIR": str(self.root / "run"),
            "LAB_MST_DIR": str(self.root / "mst"),
            "LAB_NET_DIR": str(self.root / "net"),
            "ROCEMESH_SYSFS_ROOT": str(self.root / "sys"),
            "PATH": f"{self.root / 'bin'}:{TOOLS}:/usr/sbin:/usr/bin:/sbin:/bin",
        }


def _row(address: str) -> dict[str, Any]:
    own, _slash, length = address.partition("/")
    family = "inet6" if ":" in own else "inet"
    return {"family": family, "local": own, "prefixlen": int(length or (64 if ":" in own else 24)), "scope": "global"}
