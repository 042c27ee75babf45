"""A site where all is well, and everything that may be wrong with it, each as one change of what preflight is told."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

DRIVER = "570.86.15"


def gpus() -> dict[str, Any]:
    """A machine of eight GPUs behind four NVSwitches, as module gpu_info tells it."""
    on_bus = [("gpu", f"0000:{0x18 + number:02x}:00.0") for number in range(8)]
    on_bus += [("nvswitch", f"0000:{0x81 + number:02x}:00.0") for number in range(4)]
    return {
        "pci": [{"kind": kind, "address": address} for kind, address in on_bus],
        "gpus": [{"index": number, "name": "NVIDIA H100", "uuid": f"GPU-{number}"} for number in range(8)],
        "driver": {"loaded": DRIVER, "installed": DRIVER, "license": "Dual MIT/GPL", "cuda": "12.8"},
        "fabric_manager": {"installed": True, "version": DRIVER, "state": "active", "enabled": "enabled"},
        "usable": True, "simulated": False, "unreadable": [],
    }  # fmt: skip


def site() -> dict[str, Any]:
    """Everything that preflight is told about a site where all is well."""
    host = {
        "problem": "", "connection": "connected", "maintenance": False, "lockdown": "lockdownDisabled",
        "running_vms": ["gpu01"],
    }  # fmt: skip
    guest = {"problem": "", "power": "poweredOn", "tools": "guestToolsRunning", "esxi_host": "esx01"}
    node = {
        "python": "3.10.12", "uid": 0, "user": "root", "distribution": "Ubuntu 22.04.5 LTS", "clock_skew": 0.4,
        "system": {"distribution": "Ubuntu", "distribution_version": "22.04", "os_family": "Debian"},
        "free_gib": {"/var/lib/docker": 310.0}, "gpu": gpus(), "gpu_processes": [],
        "toolkit": True, "engine": {"version": "27.3.1", "error": ""},
        "rdma_devices": ["mlx5_0"], "registry": {"name": "registry:5000", "error": ""}, "simulated": False,
    }  # fmt: skip
    return {
        "controller": {
            "ansible": "2.19.2", "python": "3.12.3", "executable": "/venv/bin/python",
            "libraries": {"netmiko": "4.8.1", "pyVmomi": "9.1.0.0", "matplotlib": "3.9.0", "detect_secrets": "1.5.0"},
            "collections": {"community.docker": "4.8.5"}, "programs": {"ssh"},
        },
        "groups": {"all": ["x"], "switches": ["sw01"], "esxi_hosts": ["esx01"], "gpu_vms": ["gpu01", "gpu02"]},
        "variables": {"sw01": ["switch_vlan", "ansible_host"], "gpu01": ["guest_mtu"], "gpu02": ["guest_mtu"]},
        "needs": [],
        "files": [],
        "switch": {"failed": False},
        "vcenter": {
            "vcenter": "vc.example.com", "account": "automation", "clock_skew": 0.2, "missing_privileges": [],
            "hosts": [{"asked": "esx01", "name": "esx01", **host}],
            "vms": [{"asked": name, **guest} for name in ("gpu01", "gpu02")],
        },
        "gpu01": node,
        "gpu02": copy.deepcopy(node),
        "slots": 8,
        "windows": True,
        "dry": False,
        "toolkit_repository": "",
        "parts": ["ats", "mstflint", "container", "mesh", "engine"],
        "unlisted": False,
        "look": True,
        "wishes": {"idle_allowed": False, "cpu_allowed": False, "image": "", "image_cuda": "12.4"},
    }  # fmt: skip


class Put(NamedTuple):
    """``value`` takes the place that ``path`` names; with ``append`` it is added to the list there."""

    path: tuple[Any, ...]
    value: Any
    append: bool = False

    def __call__(self, told: dict[str, Any]) -> None:
        *path, last = self.path
        place: Any = told
        for key in path:
            place = place[key]
        if self.append:
            place[last].append(self.value)
        else:
            place[last] = self.value

    def meets(self, other: Put) -> bool:
        """Whether one would hide the other."""
        shorter, longer = sorted((self.path, other.path), key=len)
        return not (self.append and other.append) and longer[: len(shorter)] == shorter


class Fault(NamedTuple):
    """``place``, ``words``: what has to stand in the finding."""

    name: str
    change: Put
    place: str
    words: str


def put(*keys: Any) -> Put:
    return Put(keys[:-1], keys[-1])


def need(name: str, error: str = "") -> Put:
    return Put(("needs",), (name, ("sw01",), error, "what it is"), append=True)


def file(exists: bool, readable: bool) -> Put:
    row = ("rocemesh_vcenter_ca_path", "/etc/ca.pem", "download it", {"exists": exists, "readable": readable})
    return Put(("files",), row, append=True)


def lacks(privilege: str, where: str) -> Put:
    row = {"privilege": privilege, "on": [where], "needed_for": "reboot"}
    return Put(("vcenter", "missing_privileges"), row, append=True)


NONE = {"loaded": "", "license": "", "cuda": ""}
PROBLEMS = [
    Fault("ansible-too-old", put("controller", "ansible", "2.16.9"), "controller", "2.16.9 is older than 2.17"),
    Fault("python-too-old", put("controller", "python", "3.9.19"), "controller", "3.9.19, older than 3.10"),
    Fault(
        "netmiko-missing",
        put("controller", "libraries", "netmiko", None),
        "controller",
        "pip install 'netmiko[par4]>=4.8,<5'",
    ),
    Fault("netmiko-too-old", put("controller", "libraries", "netmiko", "4.7.0"), "controller", "4.7.0 is not in 4.8"),
    Fault(
        "pyvmomi-missing",
        put("controller", "libraries", "pyVmomi", None),
        "controller",
        "pip install 'pyvmomi>=9.1,<10'",
    ),
    Fault("pyvmomi-too-new", put("controller", "libraries", "pyVmomi", "10.0.0"), "controller", "10.0.0 is not in 9.1"),
    Fault(
        "docker-missing",
        put("controller", "collections", "community.docker", None),
        "controller",
        "ansible-galaxy collection install",
    ),
    Fault(
        "docker-too-old",
        put("controller", "collections", "community.docker", "3.13.0"),
        "controller",
        "3.13.0 is not in 4.0.0",
    ),
    Fault(
        "docker-too-new", put("controller", "collections", "community.docker", "6.0.0"), "controller", "6.0.0 is not in"
    ),
    Fault("no-ssh", put("controller", "programs", set()), "controller", "openssh-client"),
    Fault("no-switches", put("groups", "switches", []), "inventory", "group switches"),
    Fault("no-esxi-hosts", put("groups", "esxi_hosts", []), "inventory", "group esxi_hosts"),
    Fault("no-gpu-vms", put("groups", "gpu_vms", []), "inventory", "group gpu_vms"),
    Fault("own-group-names", put("groups", {"all": [], "leafs": ["sw01"]}), "inventory", "the inventory has leafs"),
    Fault(
        "host-and-vm-in-one",
        put("groups", "esxi_hosts", ["esx01", "gpu01"]),
        "inventory",
        "in esxi_hosts and in gpu_vms",
    ),
    Fault("password-missing", need("switch_password"), "sw01", "it is not set"),
    Fault(
        "vault-missing", need("switch_password", "'vault_switch' is undefined"), "sw01", "'vault_switch' is undefined"
    ),
    Fault("ca-missing", file(False, False), "controller", "there is no file /etc/ca.pem"),
    Fault("ca-unreadable", file(True, False), "controller", "/etc/ca.pem cannot be read"),
    Fault(
        "switch-login",
        put("switch", {"failed": True, "msg": "sw01: user 'admin': refused. What to do: look at the password."}),
        "sw01",
        "look at the password",
    ),
    Fault("switch-silent", put("switch", {"failed": True}), "sw01", "no answer and no message"),
    Fault(
        "vcenter-closed",
        put("vcenter", {"failed": True, "msg": "vc: port 443: refused. What to do: check the port."}),
        "vCenter",
        "check the port",
    ),
    Fault("vcenter-clock-ahead", put("vcenter", "clock_skew", 95.0), "vCenter vc.example.com", "95 s ahead of"),
    Fault("vcenter-clock-behind", put("vcenter", "clock_skew", -3600.0), "vCenter vc.example.com", "3600 s behind"),
    Fault(
        "esxi-name-unknown",
        put("vcenter", "hosts", [{"asked": "esx9", "problem": "vCenter has no such host"}]),
        "esx9",
        "esxi_host_name",
    ),
    Fault("vm-name-unknown", put("vcenter", "vms", 0, "problem", "vCenter has no such VM"), "gpu01", "gpu_vm_name"),
    Fault(
        "no-maintenance-privilege",
        lacks("Host.Config.Maintenance", "esx01"),
        "vCenter vc.example.com",
        "does not have it on esx01",
    ),
    Fault(
        "no-field-privilege",
        lacks("Global.ManageCustomFields", "Datacenters"),
        "vCenter vc.example.com",
        "Global.ManageCustomFields",
    ),
    Fault(
        "node-unreachable",
        put("gpu01", {"unreachable": True, "msg": "Connection timed out"}),
        "gpu01",
        "Connection timed out",
    ),
    Fault(
        "node-no-python",
        put("gpu01", {"failed": True, "rc": 127, "module_stderr": "/bin/sh: 1: python3: not found", "msg": "x"}),
        "gpu01",
        "python3: not found",
    ),
    Fault("node-python-too-old", put("gpu01", "python", "3.6.9"), "gpu01", "3.6.9 is older than 3.8"),
    Fault(
        "node-no-root",
        put("gpu01", {**site()["gpu01"], "uid": 1000, "user": "nvidia"}),
        "gpu01",
        "becomes nvidia, not root",
    ),
    Fault(
        "driver-missing",
        put("gpu01", "gpu", {**gpus(), "driver": {**NONE, "installed": ""}, "gpus": None, "usable": False}),
        "gpu01",
        "8 NVIDIA GPU(s) on the PCI bus, and no NVIDIA driver is loaded or on the disk",
    ),
    Fault(
        "driver-not-loaded",
        put("gpu01", "gpu", {**gpus(), "driver": {**NONE, "installed": DRIVER}, "gpus": None, "usable": False}),
        "gpu01",
        "sudo modprobe nvidia",
    ),
    Fault(
        "driver-waits-for-a-restart",
        put("gpu01", "gpu", {**gpus(), "driver": {**gpus()["driver"], "installed": "580.10.1"}, "gpus": None}),
        "gpu01",
        "on the disk is 580.10.1, so an upgrade waits for a restart",
    ),
    Fault("gpu-lost", put("gpu01", "gpu", "gpus", gpus()["gpus"][:7]), "gpu01", "nvidia-smi -L shows 7"),
    Fault(
        "no-fabric-manager",
        put("gpu02", "gpu", "fabric_manager", {"installed": False, "version": "", "state": "", "enabled": ""}),
        "gpu02",
        "Fabric Manager is not installed",
    ),
    Fault(
        "fabric-manager-of-another-release",
        put("gpu01", "gpu", "fabric_manager", "version", "550.54.15"),
        "gpu01",
        f"install nvidia-fabricmanager-570={DRIVER}",
    ),
    Fault(
        "fabric-manager-stopped",
        put("gpu01", "gpu", "fabric_manager", "state", "inactive"),
        "gpu01",
        "is inactive: CUDA does not start",
    ),
    Fault("more-ranks-than-gpus", put("slots", 9), "gpu01", "9 ranks and 8 GPU(s)"),
    Fault("idle-gpus", put("slots", 1), "gpu01", "7 would be idle"),
    Fault(
        "image-for-cpus", put("wishes", "image", "cpu"), "gpu01", "torch for CPUs of the image was built without CUDA"
    ),
    Fault("image-too-new", put("wishes", "image_cuda", "13.0"), "gpu02", f"driver {DRIVER} runs CUDA up to 12.8"),
    Fault(
        "system-of-no-test",
        put("gpu01", "system", {"distribution": "Fedora", "distribution_version": "42"}),
        "gpu01",
        "Fedora 42 is not supported: it changes faster",
    ),
    Fault(
        "system-too-old",
        put("gpu01", "system", {"distribution": "Ubuntu", "distribution_version": "18.04"}),
        "gpu01",
        "of Ubuntu these are supported: 20.04",
    ),
    Fault(
        "system-without-apt",
        put("gpu02", "system", {"distribution": "Rocky", "distribution_version": "9.5", "os_family": "RedHat"}),
        "gpu02",
        "Rocky 9.5 is refused for mstflint",
    ),
    Fault(
        "apparmor-parser-missing",
        put("gpu01", "engine", {"version": "20.10.24", "error": "", "apparmor": "there is no apparmor_parser"}),
        "gpu01",
        "install the package apparmor",
    ),
    Fault("toolkit-missing", put("gpu01", "toolkit", False), "gpu01", "container_toolkit_source"),
    Fault("letters-swapped-alone", put("variables", "sw01", ["switch_vlna"]), "sw01", "write switch_vlan"),
    Fault("letter-missing", put("variables", "gpu01", ["guest_mt"]), "gpu01", "write guest_mtu"),
    Fault("plural", put("variables", "sw01", ["switch_port_s"]), "sw01", "write switch_ports"),
    Fault("site-variable-slip", put("variables", "gpu01", ["rocemesh_adress"]), "gpu01", "write rocemesh_address"),
]

CHANGE = {"text": "ens224: address is 198.51.100.11/24, after the next boot none", "file": "/etc/netplan/50-edit.yaml"}
OLD = {"/etc/netplan/90-rocemesh-mtu.yaml": "guest"}
CAUTIONS = [
    Fault("next-boot-differs", put("gpu01", "next_boot", {"differences": [CHANGE]}), "gpu01", "50-edit.yaml"),
    Fault("file-of-another-release", put("gpu01", "next_boot", {"leftovers": OLD}), "gpu01", next(iter(OLD))),
    Fault(
        "prefix-forgotten", put("variables", "gpu01", ["slots"]), "gpu01", "write rocemesh_slots, unless it is yours"
    ),
    Fault("letters-swapped", put("variables", "sw01", ["switch_vlan", "switch_vlna"]), "sw01", "unless it is yours"),
    Fault("node-clock", put("gpu01", "clock_skew", 301.0), "gpu01", "301 s ahead of"),
    Fault("node-disk-full", put("gpu01", "free_gib", {"/var/lib/docker": 11.5}), "gpu01", "11.5 GiB are free"),
    Fault(
        "engine-down",
        put("gpu01", "engine", {"version": "", "error": "Cannot connect to the Docker daemon"}),
        "gpu01",
        "Cannot connect",
    ),
    Fault(
        "registry-closed",
        put("gpu01", "registry", {"name": "registry:5000", "error": "registry port 5000: refused"}),
        "gpu01",
        "registry port 5000",
    ),
    Fault(
        "registry-no-name",
        put("gpu02", "registry", {"name": "regstry:5000", "error": "Name or service not known"}),
        "gpu02",
        "Name or service not known",
    ),
    Fault("no-rdma-device", put("gpu02", "rdma_devices", []), "gpu02", "pass the NIC through"),
    Fault(
        "esxi-disconnected",
        put("vcenter", "hosts", 0, "connection", "disconnected"),
        "esx01",
        "vCenter says disconnected",
    ),
    Fault(
        "site-variable-unknown",
        put("variables", "sw01", ["rocemesh_reboot_now"]),
        "sw01",
        "no role of this collection reads it",
    ),
    Fault(
        "second-opinion-missing",
        put("controller", "libraries", "detect_secrets", None),
        "controller",
        "collect.yml writes no archive",
    ),
    Fault("plots-missing", put("controller", "libraries", "matplotlib", None), "controller", "the report has no plots"),
    Fault(
        "somebody-elses-prefix",
        put("variables", "gpu01", ["guest_portal_url"]),
        "gpu01",
        "no role of this collection reads it",
    ),
    Fault("in-maintenance", put("vcenter", "hosts", 0, "maintenance", True), "esx01", "ask who works there"),
    Fault("no-gpu", put("gpu01", "gpu", {**gpus(), "pci": [], "gpus": None}), "gpu01", "trains on the CPU"),
    Fault("no-engine-yet", put("gpu01", "engine", {"version": "", "error": ""}), "gpu01", "role container installs it"),
    Fault(
        "switch-table-unreadable", put("switch", {"unreadable": ["interfaces"]}), "sw01", "interfaces cannot be read"
    ),
]
