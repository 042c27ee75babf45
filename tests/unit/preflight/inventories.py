"""Right inventories of many sizes, and wrong ones of one mistake each; what preflight finds in them, without devices.

A mistake is data: where it is, which variable, the wrong value, and the variable that a finding has to name.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import pathlib
from typing import Any, Mapping

from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager
from ansible_collections.rocemesh.multinode.plugins.action import preflight
from ansible_collections.rocemesh.multinode.plugins.module_utils._preflight import layers, variables
from ansible_collections.rocemesh.multinode.plugins.module_utils._preflight.findings import summary
from ansible_collections.rocemesh.multinode.plugins.plugin_utils import inventory_names

Inventory = dict[str, Any]


def right(hosts: int = 4, rails: int = 1, *, per_host: int = 1, version: int = 4, driver: str = "onyx") -> Inventory:
    """A site of so many ESXi hosts with ``per_host`` VMs each, and what its devices would say of it."""
    vms = [f"gpu{number:03}" for number in range(1, hosts * per_host + 1)]
    esxi = [f"esx{number:03}.example.com" for number in range(1, hosts + 1)]
    networks = [f"10.{100 + rail}.0.0/16" if version == 4 else f"fd00:{rail}::/64" for rail in range(rails)]

    def address(rail: int, number: int) -> str:
        return f"10.{100 + rail}.{number // 250}.{number % 250 + 1}" if version == 4 else f"fd00:{rail}::{number + 1:x}"

    length = "/16" if version == 4 else "/64"
    per_switch = f"1/1-1/{len(vms)}" if driver == "onyx" else f"swp1-{len(vms)}"
    inventory: Inventory = {
        "all": {
            "rocemesh_vcenter_hostname": "vcenter.example.com",
            "rocemesh_vcenter_username": "automation@vsphere.local",
            "rocemesh_vcenter_password": "Qd7!b2vT9",
            "rocemesh_max_unavailable": 1,
            "container_registry": "registry.example.com:5000",
            "container_registry_username": "rocemesh",
            "container_registry_password": "hk3-Rz7-Lw2",
            "mesh_cidr": [networks[0]],
            "run_network": networks[0],
            "run_batch_size": 256,
            **({"rocemesh_roce_networks": networks} if rails > 1 else {}),
        },
        "groups": {
            "switches": {
                "vars": {
                    "switch_password": "Vb4/n1Kx",
                    "switch_vlan": 111,
                    "switch_ports": [per_switch],
                    "switch_mtu": 9216,
                    "rocemesh_switch_driver": driver,
                },
                "hosts": {f"leaf{rail + 1:02}": {"ansible_host": f"192.0.2.{rail + 2}"} for rail in range(rails)},
            },
            "esxi_hosts": {"vars": {"esxi_host_kernel_settings": {"atsSupport": True}}, "hosts": dict.fromkeys(esxi)},
            "gpu_vms": {
                "vars": {"ansible_user": "nvidia", "guest_networks": networks, "guest_mtu": 9000},
                "hosts": {
                    vm: {"ansible_host": f"172.16.{at // 250}.{at % 250 + 1}", "rocemesh_address": address(0, at)}
                    for at, vm in enumerate(vms)
                },
            },
        },
    }
    placed = {vm: esxi[at // per_host] for at, vm in enumerate(vms)}
    inventory["nodes"] = {
        vm: {
            "rdma_devices": [f"mlx5_{rail}" for rail in range(rails)],
            "addresses": {"lo": ["127.0.0.1/8"], "docker0": ["172.17.0.1/16"],
                          **{f"eth{rail + 1}": [address(rail, at) + length] for rail in range(rails)}},
        }
        for at, vm in enumerate(vms)
    }  # fmt: skip
    inventory["vcenter"] = {
        "hosts": [
            {"name": host, "problem": "", "connection": "connected",
             "running_vms": [vm for vm in vms if placed[vm] == host]}
            for host in esxi
        ],
        "placed": placed,
    }  # fmt: skip
    return inventory


@dataclasses.dataclass(frozen=True)
class Mistake:
    """``where``: all, a group, or a host; ``variable``: what is wrong there, with ``value`` in its place. ``named``:
    the variable that the finding names, if it is another one. ``beside``: what the site says too, without which it
    would be right. ``size``: the site that it is a mistake of, if it is not one of every site."""

    name: str
    where: str
    variable: str
    value: Any
    named: str = ""
    beside: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    size: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    alone = False  # Whether no other mistake can be named beside it.

    def __call__(self, inventory: Inventory) -> None:
        inventory["all"].update(self.beside)
        self.row(inventory)[self.variable] = self.value

    def row(self, inventory: Inventory) -> dict[str, Any]:
        """Variables of the place."""
        if self.where == "all":
            return inventory["all"]
        if self.where in inventory["groups"]:
            return inventory["groups"][self.where]["vars"]
        group = next(group for group in inventory["groups"].values() if self.where in group["hosts"])
        group["hosts"][self.where] = dict(group["hosts"][self.where] or {})
        return group["hosts"][self.where]

    @property
    def thing(self) -> str:
        return self.named or self.variable


class Hosts(Mistake):
    """``where``: group; ``variable``: host that gets the name ``value``; no name takes it out."""

    def __call__(self, inventory: Inventory) -> None:
        hosts = inventory["groups"][self.where]["hosts"]
        row = hosts.pop(self.variable)
        if self.value:
            hosts[self.value] = row


def loaded(source: pathlib.Path) -> tuple[inventory_names.Hostvars, dict[str, list[str]]]:
    """Variables and groups as a play has them."""
    loader = DataLoader()
    manager = InventoryManager(loader=loader, sources=[str(source)])
    values = VariableManager(loader=loader, inventory=manager)
    hostvars = inventory_names.Hostvars(HostVars(inventory=manager, variable_manager=values, loader=loader))
    return hostvars, {name: [str(host) for host in hosts] for name, hosts in manager.get_groups_dict().items()}


def found(inventory: Inventory, folder: pathlib.Path) -> dict[str, Any]:
    """What preflight says of this inventory, and of readings of devices that answer."""
    source = folder / "hosts.yml"
    source.write_text(json.dumps({"all": {"vars": inventory["all"], "children": inventory["groups"]}}))
    hostvars, groups = loaded(source)
    seen, _unset, site = preflight.of_inventory(hostvars, groups)
    seen += variables.groups(groups)
    esxi = [str(site[host].get("esxi_host_name") or host) for host in groups.get("esxi_hosts", ())]
    vcenter = _vcenter(inventory["vcenter"], esxi, groups, site)
    nodes = {host: reading for host, reading in inventory["nodes"].items() if host in site}
    seen += layers.placement(vcenter, esxi)
    seen += layers.addresses(site, nodes)
    seen += layers.interfaces(site, nodes)
    return summary(seen, [])


def _vcenter(told: Mapping[str, Any], esxi: list[str], groups: Mapping[str, Any], site: Mapping[str, Any]) -> Any:
    """The answer of vcenter_site_info, which finds a name in any case of its letters."""
    placed = {vm.casefold(): host for vm, host in told["placed"].items()}
    vms = [str(site[vm].get("gpu_vm_name") or vm) for vm in groups.get("gpu_vms", ())]
    asked = {name.casefold() for name in esxi}
    return {
        "hosts": [row for row in told["hosts"] if row["name"].casefold() in asked],
        "vms": [{"asked": vm, "problem": "", "esxi_host": placed.get(vm.casefold(), "")} for vm in vms],
    }


# Spellings that are right, of what no site has to say: as YAML, -e and surveys bring them.
SPELLINGS: Mapping[str, tuple[Any, ...]] = {
    "container_registry": ("registry:5000", "harbor.example.com", "192.0.2.9:5000", "localhost"),
    "container_shm_size": ("1g", "512m", "64GiB", "1073741824"),
    "esxi_host_kernel_settings": ({"atsSupport": "TRUE"},),
    "fabric_gate": ("auto", "required", "never"),
    "gpu_vm_numa_node_affinity": ("auto", 0, "0", ""),
    "gpu_vm_wanted": ({}, {"mmio_size_gb": "auto"}, {"mmio_size_gb": 256}, {"mmio_size_gb": "512"},
                      {"use_64bit_mmio": "true", "mmio_size_gb": None}),
    "guest_mtu": (0, 1500, "9000"),
    "guest_networks": ("10.100.0.0/16", ["10.100.0.0/16", "fd00::/64"], []),
    "guest_ofed_checksum": ("", "sha256:" + "0" * 64),
    "guest_qos_pfc": ("0,0,0,1,0,0,0,0",),
    "mesh_cidr": ("10.100.0.0/16", ["10.100.0.0/16", "fd97::/64"], []),
    "mesh_user": ("nvidia", "user@example.com", "svc-roce$"),
    "rocemesh_allow_reboot": (True, "true", "yes", "no", 0),
    "rocemesh_change_window": ([], "", {"start": "22:00", "end": "04:00"}, [{"start": 1320, "end": 240}],
                               [{"from": "2026-11-21T22:00", "to": "2026-11-22T04:00+01:00"}],
                               [{"start": "22:00", "end": "4:00", "days": ["Saturday"], "timezone": "UTC"}]),
    "rocemesh_max_unavailable": (1, "2", "25%", "100%"),
    "rocemesh_roce_networks": ("10.100.0.0/16", ["10.100.0.0/16"], []),
    "rocemesh_slots": (1, "8"),
    "rocemesh_vcenter_hostname": ("vcenter", "192.0.2.3", "2001:db8::3", "vc-01.example.com"),
    "run_expect_gpus": ("auto", True, "true", "false", False),
    "run_network": ("", "10.100.0.5/16"),
    "run_rdma_dscp": (-1, 26, "26"),
    "switch_allow_mode_change": (True, ["1/1"]),
    "switch_vlan": (1, "111", 4094),
}  # fmt: skip


def with_mistakes(*mistakes: Mistake, **size: Any) -> Inventory:
    inventory = copy.deepcopy(right(**size))
    for mistake in mistakes:
        mistake(inventory)
    return inventory


def is_named(mistake: Mistake, told: Mapping[str, Any]) -> bool:
    """A problem names the variable and a remedy, at this host or, of a variable of a group, anywhere."""
    rows = [row for row in told["problems"] if row["remedy"] and mistake.thing in (row["thing"], *row["thing"].split())]
    if isinstance(mistake, Hosts) or mistake.where in ("all", "switches", "esxi_hosts", "gpu_vms"):
        return bool(rows)
    return any(mistake.where in row["place"].split(", ") for row in rows)


A, S, E, G = "all", "switches", "esxi_hosts", "gpu_vms"
MISTAKES: tuple[Mistake, ...] = (
    # Of a tester who had not written the rules.
    Mistake("vlan-word", S, "switch_vlan", "eleven"),
    Mistake("vlan-list", S, "switch_vlan", [111]),
    Mistake("vlan-range", S, "switch_vlan", "111-118"),
    Mistake("vlan-4095", S, "switch_vlan", 4095),
    Mistake("ports-reversed", S, "switch_ports", ["1/4-1/1"]),
    Mistake("registry-password-placeholder", A, "container_registry_password", "CHANGEME"),
    Mistake("switch-mtu-below-guest-mtu", S, "switch_mtu", 1500, "guest_mtu"),
    Hosts("esxi-host-missing", E, "esx002.example.com", "", "esxi_hosts"),
    Hosts("vm-in-capitals", G, "gpu001", "GPU001", "gpu_vm_name"),
    Mistake("login-address-twice", "gpu002", "ansible_host", "172.16.0.1"),
    Mistake("mesh-address-twice", "gpu002", "rocemesh_address", "10.100.0.1"),
    Mistake("address-of-another-vm", "gpu002", "rocemesh_address", "10.100.0.3"),
    Mistake("address-outside", "gpu002", "rocemesh_address", "10.99.0.12"),
    Mistake("address-name", "gpu002", "rocemesh_address", "gpu02"),
    Mistake("address-with-length", "gpu002", "rocemesh_address", "10.100.0.2/24"),
    Mistake("address-ipv6", "gpu002", "rocemesh_address", "fd00::12"),
    Mistake("switch-in-brackets", "leaf01", "ansible_host", "[::1]"),
    Mistake("vcenter-url", A, "rocemesh_vcenter_hostname", "https://vcenter.example.com/ui"),
    Mistake("rails-too-many", A, "rocemesh_roce_networks", ["10.100.0.0/16", "10.79.0.0/24"]),
    Mistake("rails-overlap", A, "rocemesh_roce_networks", ["10.100.0.0/16", "10.100.0.0/24"]),
    Mistake("rails-not-a-network", A, "rocemesh_roce_networks", ["10.78.0/24"]),
    Mistake("mesh-cidr-no-length", A, "mesh_cidr", ["10.100.0.0"]),
    Mistake("max-unavailable-word", A, "rocemesh_max_unavailable", "banana"),
    Mistake("max-unavailable-space", A, "rocemesh_max_unavailable", "25 %"),
    Mistake("max-unavailable-0", A, "rocemesh_max_unavailable", 0),
    Mistake("window-zone", A, "rocemesh_change_window",
            [{"start": "22:00", "end": "04:00", "timezone": "Europe/Berln"}]),
    Mistake("window-number", A, "rocemesh_change_window", 2200),
    Mistake("allow-reboot-word", A, "rocemesh_allow_reboot", "jawohl"),
    Mistake("guest-mtu-90000", G, "guest_mtu", 90000),
    Mistake("registry-url", A, "container_registry", "https://registry.example.com:5000"),
    Mistake("registry-slash", A, "container_registry", "registry.example.com:5000/"),
    Mistake("ofed-profile", G, "guest_ofed_profile", "lts"),
    Mistake("mmio-unit", G, "gpu_vm_wanted", {"mmio_size_gb": "256GB"}),
    Mistake("mmio-no-power-of-two", G, "gpu_vm_wanted", {"mmio_size_gb": 300}),
    Mistake("mmio-key", G, "gpu_vm_wanted", {"mmio_size": 256}),
    Mistake("dockerfile-missing", A, "container_build_dockerfile", "multinode/Dockerfile.nvidia"),
    Mistake("batch-0", A, "run_batch_size", 0),
    Mistake("batch-word", A, "run_batch_size", "big"),
    Mistake("precision", A, "run_precision", "bf17"),
    Mistake("expect-gpus", A, "run_expect_gpus", "ja"),
    # Of those who wrote them.
    Mistake("vlan-0", S, "switch_vlan", 0),
    Mistake("vlan-negative", S, "switch_vlan", -5),
    Mistake("roce-mode", S, "switch_roce_mode", "loseless"),
    Mistake("save", S, "switch_save", "sometimes"),
    Mistake("disruption", S, "switch_allow_disruption", "all"),
    Mistake("priority-8", S, "switch_roce_priority", 8),
    Mistake("switch-mtu-90000", S, "switch_mtu", 90000),
    Mistake("switch-port-word", S, "switch_port", "ssh"),
    Mistake("switch-port-number", S, "switch_port", 70000),
    Mistake("switch-timeout", S, "switch_options", {"timeout": "30s"}),
    Mistake("switch-option", S, "switch_options", {"time_out": 30}),
    Mistake("switch-password-placeholder", S, "switch_password", "<password>"),
    Mistake("vlan-name-blank", S, "switch_options", {"vlan_name": "rdma net"}),
    Mistake("port-twice", S, "switch_ports", ["1/1-1/4", "1/3"]),
    Mistake("ports-mapping", S, "switch_ports", {"1/1": "gpu001"}),
    Mistake("kernel-settings-list", E, "esxi_host_kernel_settings", ["atsSupport"]),
    Mistake("require-runtime", E, "esxi_host_require_runtime", "soon"),
    Mistake("same-esxi-host", "esx002.example.com", "esxi_host_name", "esx001.example.com"),
    Mistake("vcenter-port-word", A, "rocemesh_vcenter_port", "https"),
    Mistake("vcenter-port-in-name", A, "rocemesh_vcenter_hostname", "vcenter.example.com:443"),
    Mistake("vcenter-password-placeholder", A, "rocemesh_vcenter_password", "xxxxxx"),
    Mistake("vcenter-certs", A, "rocemesh_vcenter_validate_certs", "perhaps"),
    Mistake("vm-policy", A, "rocemesh_vm_policy", "kill"),
    Mistake("vsan-mode", A, "rocemesh_vsan_mode", "full"),
    Mistake("fabric-gate", A, "rocemesh_fabric_gate", "sometimes"),
    Mistake("lease", A, "rocemesh_lease_seconds", "half an hour"),
    Mistake("reboot-timeout", A, "rocemesh_reboot_timeout", "30m"),
    Mistake("slots-word", A, "rocemesh_slots", "eight"),
    Mistake("slots-negative", A, "rocemesh_slots", -1),
    Mistake("max-unavailable-over", A, "rocemesh_max_unavailable", "120%"),
    Mistake("window-day", A, "rocemesh_change_window", [{"start": "22:00", "end": "04:00", "days": ["funday"]}]),
    Mistake("window-hour", A, "rocemesh_change_window", [{"start": "25:00", "end": "04:00"}]),
    Mistake("window-key", A, "rocemesh_change_window", [{"begin": "22:00", "end": "04:00"}]),
    Mistake("window-backwards", A, "rocemesh_change_window", [{"from": "2026-11-21T22:00", "to": "2026-11-20T22:00"}]),
    Mistake("least-minutes", A, "rocemesh_change_window_least_minutes", "an hour"),
    Mistake("guest-mtu-576", G, "guest_mtu", 576),
    Mistake("guest-mtu-word", G, "guest_mtu", "jumbo"),
    Mistake("guest-networks", G, "guest_networks", ["10.100.0.0/33"]),
    Mistake("ats-state", G, "guest_ats_state", "on"),
    Mistake("peer-memory", G, "guest_peer_memory", "gdr"),
    Mistake("pfc", G, "guest_qos_pfc", "3"),
    Mistake("dscp-map", G, "guest_qos_dscp_priority", "26"),
    Mistake("tos", G, "guest_qos_tos", 300),
    Mistake("checksum", G, "guest_ofed_checksum", "d41d8cd98f00b204"),
    Mistake("power-policy", G, "gpu_vm_power_policy", "off"),
    Mistake("final-power", G, "gpu_vm_final_power", "off"),
    Mistake("same-vm", "gpu002", "gpu_vm_name", "gpu001"),
    Mistake("same-vm-in-capitals", "gpu002", "gpu_vm_name", "GPU001", "gpu_vm_name"),
    Mistake("network-address", "gpu002", "rocemesh_address", "10.100.0.0"),
    Mistake("broadcast-address", "gpu002", "rocemesh_address", "10.100.255.255"),
    Mistake("address-nobody-has", "gpu002", "rocemesh_address", "10.100.9.9"),
    Mistake("address-of-the-switch", "gpu002", "ansible_host", "192.0.2.2"),
    Mistake("login-url", "gpu002", "ansible_host", "ssh://172.16.0.2"),
    Mistake("login-with-length", "gpu002", "ansible_host", "172.16.0.2/16"),
    Mistake("run-network-word", A, "run_network", "roce"),
    Mistake("run-network-elsewhere", A, "run_network", "10.200.0.0/16", "rocemesh_address"),
    Mistake("mesh-cidr-mapping", A, "mesh_cidr", {"roce": "10.100.0.0/16"}),
    Mistake("mesh-topology", A, "mesh_topology", "ring"),
    Mistake("mesh-state", A, "mesh_state", "gone"),
    Mistake("mesh-user", A, "mesh_user", "nvidia user"),
    Mistake("mesh-port", A, "mesh_ssh_port", 99999),
    Mistake("container-gpus", A, "container_gpus", "some"),
    Mistake("toolkit", A, "container_toolkit", "no-thanks"),
    Mistake("infiniband", A, "container_infiniband", "yes please"),
    Mistake("shm", A, "container_shm_size", "a lot"),
    Mistake("build", A, "container_build", "later"),
    Mistake("volumes", A, "container_volumes", {"/data": "/data"}),
    Mistake("image-size", A, "run_image_size", "224px"),
    Mistake("batches-0", A, "run_num_batches", 0),
    Mistake("run-timeout", A, "run_timeout", "1h"),
    Mistake("workload", A, "run_workload", "tensorflow"),
    Mistake("gradients", A, "run_tuning", {"gradients": "int8"}),
    Mistake("dscp", A, "run_rdma_dscp", 64),
    Mistake("master-port", A, "run_master_port", 0),
    Mistake("required-path", A, "run_require_path", "gpudirect"),
    Mistake("mca", A, "run_mca", "btl tcp"),
    Mistake("env", A, "run_env", ["NCCL_DEBUG=INFO"]),
    Mistake("fabric-form", A, "fabric_form", "fast"),
    Mistake("fabric-drop", A, "fabric_options", {"drop": 12}),
    Mistake("preflight-timeout", A, "preflight_timeout", "ten"),
)  # fmt: skip
