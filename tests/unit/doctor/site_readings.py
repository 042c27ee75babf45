"""The gym's outputs as the roles of site.yml read them: with the product's own parsers where it has one for a text."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic import rdma_state
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic import state as nic_state
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.gpu_health import SLOWDOWNS, parse_xids
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.state import NicDevice, NicState, PciAts
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx.state import (
    Port,
    Roce,
    SwitchState,
    Version,
    Vlan,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.guards import Neighbor
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.state import KernelSetting, KernelState
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.vm_state import PassthroughDevice, VmState

from lab.gym import site

Pieces = Mapping[str, str]
VLAN = 100
PORTS = {f"1/{site.number(host)}": host for host in site.HOSTS}


def found(pattern: str, text: str, otherwise: str = "") -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match.group(1) if match else otherwise


# ------------------------------------------------------------------------------------------------------------- switch


def switch(pieces: Pieces) -> SwitchState:
    """As the switch role's plan sees it. A port that LLDP's log calls wrongly plugged has a stranger behind it."""
    folder = f"switches/{site.SWITCH}/"
    roce, log, vlans = (pieces[f"{folder}{name}.txt"] for name in ("roce", "log", "vlan"))
    mode = found(r"^RoCE mode\s*: (\S+)", roce)
    pfc = "enabled" if found(r"^PFC admin mode\s*: (\S+)", roce) == "on" else "disabled"
    trust = found(r"^trust mode\s*: (\S+)", roce)
    ecn = "ecn, absolute" if found(r"^ECN mode\s*: (\S+)", roce) == "on" else "none"
    exceptions = tuple(re.findall(r"^Exception list\s*: (.+)$", roce, re.MULTILINE))
    ports = {}
    for name in PORTS:
        text = pieces[f"{folder}interfaces.txt"].partition(f"Eth{name}:\n")[2]
        ports[name] = Port(
            name=name,
            mode="access",
            mtu=int(found(r"MTU\s*: (\d+)", text)),
            admin=found(r"Admin state\s*: (\S+)", text) == "Enabled",
            oper=found(r"Operational state\s*: (\S+)", text),
            access_vlan=1 if re.search(rf"^1 .*Eth{name}\b", vlans, re.MULTILINE) else VLAN,
        )
    stranger = found(r"LLDP mismatch: Eth(\S+) expected", log)
    behind = {
        name: (Neighbor("somebody-else" if name == stranger else host, "ens224"),) for name, host in PORTS.items()
    }
    off = mode == "disabled"
    return SwitchState(
        host=site.SWITCH,
        version=Version("3.10.4006", (3, 10, 4006)),
        roce=Roce() if off else Roce(mode, trust, ecn, pfc=pfc, priorities={3: pfc}, exceptions=exceptions),
        vlans={1: Vlan("default", ()), VLAN: Vlan("roce", ())},
        ports=ports,
        unsaved=False,
        pfc={name: ("Auto", pfc.capitalize()) for name in ports},
        ecn={name: {3: ecn.upper()} for name in ports},
        trust=dict.fromkeys(ports, trust),
        neighbors=behind,
    )


def switch_reading(pieces: Pieces, counters: Mapping[str, Mapping[str, int]] | None = None) -> dict[str, Any]:
    """What the run publishes of the switch, without its counters."""
    state = switch(pieces)
    return {
        "roce": {
            "mode": state.roce.mode or "absent",
            "pfc": state.roce.pfc or None,
            "trust": state.roce.trust,
            "ecn": state.roce.ecn,
        },
        "ports": {
            name: {
                "admin": "up" if port.admin else "down",
                "oper": port.oper.lower(),
                "mtu": port.mtu,
                "counters": dict((counters or {}).get(name, {})),
            }
            for name, port in state.ports.items()
        },
    }


def discards(pieces: Pieces) -> dict[str, int]:
    """Port -> packets that the switch dropped on their way out."""
    text = pieces[f"switches/{site.SWITCH}/counters.txt"]
    return {name: int(found(rf"Eth{name} counters:\n.*\n\s*tx discard packets\s*: (\d+)", text, "0")) for name in PORTS}


# ----------------------------------------------------------------------------------------------------- ESXi, vCenter


def kernel(pieces: Pieces, host: str) -> KernelState:
    rows = {}
    for line in pieces[f"esxi/{host}/kernel.txt"].splitlines()[1:]:
        name, kind, configured, runtime, default = (line.split() + [""] * 5)[:5]
        if kind == "Bool":
            rows[name.lower()] = KernelSetting(name, kind, configured, runtime, default)
    return KernelState(host, rows)


def vcenter(pieces: Pieces) -> dict[str, Any]:
    hosts = sorted(set(site.ESXI.values()))
    kept = {host: "Mode: Enabled" in pieces[f"esxi/{host}/maintenance.txt"] for host in hosts}
    return {
        "vcenter": "vc.example.com",
        "hosts": [
            {
                "asked": host,
                "name": host,
                "problem": "",
                "connection": "connected",
                "maintenance": kept[host],
                "power_policy": found(r"^Power Policy: (.+)$", pieces[f"esxi/{host}/power.txt"]),
            }
            for host in hosts
        ],
        "vms": [
            {"asked": vm, "problem": "", "power": vm_power(pieces, vm), "esxi_host": site.ESXI[vm]} for vm in site.HOSTS
        ],
    }


def vm_power(pieces: Pieces, vm: str) -> str:
    return "poweredOff" if "power on failed" in pieces[f"vms/{vm}/vmware.log"] else "poweredOn"


def vm_state(pieces: Pieces, vm: str) -> VmState:
    extra = {
        key.lower(): (key, value)
        for key, value in re.findall(r'^(pciPassthru\S+) = "([^"]*)"$', pieces[f"vms/{vm}/vmx"], re.MULTILINE)
    }
    log = pieces[f"vms/{vm}/vmware.log"]
    power = vm_power(pieces, vm)
    return VmState(
        vm,
        "vm-1",
        site.ESXI[vm],
        power,
        found_power=power,
        firmware="efi",
        memory_reserved="sched.mem.min" not in log,
        memory_mb=524288,
        tools_running=power == "poweredOn",
        extra=extra,
        devices=(
            PassthroughDevice(0, "NIC", "0000:3b:00.0", kind="nic", numa_node=0),
            PassthroughDevice(1, "GPU", "0000:3d:00.0", kind="gpu", numa_node=0),
        ),
    )


# --------------------------------------------------------------------------------------------------------------- NICs


def ats(pieces: Pieces, host: str) -> NicState | nic_state.Failure:
    """What the ATS layer observes; Failure where mlxconfig answers with an error alone."""
    text = pieces[f"hosts/{host}/mlxconfig.txt"]
    bus = pieces[f"hosts/{host}/lspci.txt"]
    failure = nic_state.classify(text, "")
    row = re.search(r"ATS_ENABLED\s+(\S+\(\d\))\s+(\S+)\s+(\S+)", text)
    if failure is not nic_state.Failure.UNKNOWN and failure is not nic_state.Failure.UNSUPPORTED_PARAMETER:
        return failure
    flags = [nic_state.parse_flag(part, host, "ATS_ENABLED") for part in row.groups()] if row else [None] * 3
    control = re.search(r"ATSCtl:\s+Enable([+-])", bus)
    device = NicDevice(
        "0000:13:00.0",
        "101d",
        "0000:13:00",
        is_vf=False,
        supported=row is not None,
        default=flags[0],
        current=flags[1],
        next=flags[2],
        pci_ats=PciAts(True, control[1] == "+", 0) if control else PciAts(False),
    )
    return NicState("mlxconfig", "4.22", (device,), "vm", nic_state.parse_reboot_kind(text))


def counters(pieces: Pieces, host: str) -> dict[str, dict[str, int]]:
    """Everything that the NIC counted; the gym's figures are what the job's traffic made of it."""
    read = {"ethtool": "ethtool-S.txt", "hw_counters": "hw_counters.txt"}
    return {
        kind: {
            name: int(count)
            for name, count in re.findall(r"^\s*(\w+): (\d+)$", pieces.get(f"hosts/{host}/{name}", ""), re.MULTILINE)
        }
        for kind, name in read.items()
    }


def nic(pieces: Pieces, host: str, device: Mapping[str, Any]) -> dict[str, Any] | None:
    """``device`` of a right reading, with what the gym's outputs say of it; None where there is no RDMA device."""
    verbs = pieces[f"hosts/{host}/ibv_devinfo.txt"]
    try:
        ports = rdma_state.parse_ibv_devinfo(verbs, host)
    except ParseError:
        return None
    if not ports or "No IB devices" in verbs:
        return None
    port = next(iter(ports.values()))
    speed = int(found(r"Speed: (\d+)Mb/s", pieces[f"hosts/{host}/ethtool.txt"])) // 1000
    gids = pieces[f"hosts/{host}/show_gids.txt"]
    return {
        **copy.deepcopy(dict(device)),
        "link_layer": found(r"link_layer:\s+(\S+)", verbs),
        "state": found(r"state:\s+PORT_(\w+)", verbs),
        "active_mtu": port.active_mtu,
        "netdev_mtu": int(found(r" mtu (\d+)", pieces[f"hosts/{host}/ip-link.txt"])),
        "rate": f"{speed} Gb/sec (4X EDR)",
        "gids": list(device["gids"]) if f"192.0.2.1{site.number(host)}" in gids else [],
        "qos": rdma_state.parse_mlnx_qos(pieces[f"hosts/{host}/mlnx_qos.txt"], host).as_result(),
    }


# --------------------------------------------------------------------------------------------------------------- GPUs


def gpus(pieces: Pieces, host: str) -> dict[str, Any]:
    """What module gpu_info returns: machines with NVSwitches, as the gym's have a Fabric Manager."""
    smi, bus, log, manager = (
        pieces[f"hosts/{host}/{name}.txt"] for name in ("nvidia-smi", "lspci", "dmesg", "fabricmanager")
    )
    state = pieces[f"hosts/{host}/nvidia-smi-q.txt"]
    version = found(r"Driver Version: (\S+)", smi)
    module = found(r"NVIDIA UNIX x86_64 Kernel Module\s+(\S+)", log)
    # A module that the kernel refused, another driver at the card, and a tool that finds none: none is loaded.
    refused = "rejected by service" in log or "in use: nvidia\n" not in bus or "couldn't communicate" in smi
    slowed = [reason for reason in SLOWDOWNS if re.search(rf"{_title(reason)}\s*: Active", state)]
    driver = version or module
    return {
        "pci": [{"kind": "gpu", "address": "0000:0b:00.0"}, {"kind": "nvswitch", "address": "0000:81:00.0"}],
        "gpus": [{"index": 0, "name": "A100", "uuid": "GPU-0"}] if version and not refused else None,
        "driver": {"loaded": "" if refused else driver, "installed": driver, "cuda": "12.4"},
        "fabric_manager": {
            "installed": True,
            "version": found(r"interface version (\S+) don't match", manager, driver),
            "state": "inactive" if "inactive" in manager else "active",
        },
        "usable": bool(version) and not refused,
        "state": [
            {
                "index": 0,
                "name": "A100",
                "bus": "0000:0b:00.0",
                "slowed": slowed,
                "remap_failed": "Failure Occurred        : Yes" in state,
                "fabric": "Completed" if "In Progress" not in state else "In Progress",
            }
        ],
        "xids": parse_xids(log, 0.0),
        "since_boot": True,
        "simulated": False,
        "unreadable": [],
    }


def _title(reason: str) -> str:
    titles = {
        "hw_slowdown": "HW Slowdown",
        "hw_thermal_slowdown": "HW Thermal Slowdown",
        "hw_power_brake_slowdown": "HW Power Brake Slowdown",
        "sw_thermal_slowdown": "SW Thermal Slowdown",
    }
    return titles[reason]


# ------------------------------------------------------------------------------------------ what a host says afterwards

# Pieces of the gym as vars/reads.yml names them.
_READ_AS = {"mlnx_qos.txt": "qos.txt", "ip-link.txt": "links.txt", "ip-route.txt": "routes.txt"}
_TOGETHER = {"ethtool-S.txt": "ethtool.txt"}


def told(pieces: Pieces, host: str, names: set[str]) -> dict[str, Any]:
    """What tasks/tell.yml publishes of this host; ``names``: what it asks for."""
    if f"hosts/{host}/answer" in pieces:
        return {"said": "", "error": "Failed to connect to the host via ssh: did not answer"}
    said: dict[str, str] = {"uptime.txt": "8200.00 1.0\n"} if "uptime.txt" in names else {}
    for piece, text in pieces.items():
        place, _slash, rest = piece.partition("/")
        owner, _slash, name = rest.partition("/")
        if owner != host or place not in ("hosts", "containers"):
            continue
        name = _READ_AS.get(name, _TOGETHER.get(name, name))
        if place == "containers":
            name = {"docker.txt": "containers.txt", "df.txt": "container/shm.txt"}.get(name, f"container/{name}")
        if name in names:
            said[name] = said.get(name, "") + text
    return {"said": "".join(f"=== ROCEMESH {name}\n{text}" for name, text in said.items()), "error": ""}
