"""Which ESXi hosts and VMs one module call can serve, and what it said of each.

Hosts with one account on one vCenter that want the same kernel settings are a batch.
``hosts``: Inventory names of ESXi hosts, for example `ansible_play_hosts`.
``vms``: Inventory names of VMs.
``results``: `results` of the registered loop of esxi_kernel_setting over the batches, each with its `batch`.
``readings``: `results` of the registered loop of vmx_passthru over `vcenters`, each with its `batch`.
``check``: Whether that was check mode, so that nothing was written.

Returns `batches`, each with `hosts` (inventory names, in the order of the play) and `names` (the same hosts as vCenter
calls them, `esxi_host_name`), without account and password.
`vcenters`: the same whatever the settings, with `nodes` (inventory names of VMs), `vms` (their names in vCenter,
`gpu_vm_name`) and `first` (an inventory name that has the login).
`wishes`: for each of ``vms`` what vmx_passthru reads of it, `vm` and `wanted`, from the variables of role gpu_vm.
`published`: for each host of `results` its inventory name (`host`), `pending` (as the entry point `pending` publishes
it) and `outcome` (as `main` does). `verified` is true where the wanted values were read back, configured and in force.
`published_vms`: for each VM of `readings` its `host`, `pending`, empty if it could not be read, `unread`, why not, and
`outcome` of a VM of which nothing was changed.
"""

from __future__ import annotations

import json
import time
from typing import Any, Mapping, Sequence

from ..decision import Context

# Defaults of role gpu_vm.
WISHES: Mapping[str, Any] = {"gpu_pci_ids": {}, "numa_node_affinity": "auto"}
# What a module call has in common for all its hosts; the password belongs to the account.
LOGIN = tuple(f"rocemesh_vcenter_{name}" for name in ("hostname", "port", "username", "validate_certs", "ca_path"))
COMMON = ("esxi_host_kernel_settings", "esxi_host_require_runtime", *LOGIN)


def _key(variables: Mapping[str, Any], names: Sequence[str]) -> str:
    return json.dumps({name: variables[name] for name in names if name in variables}, sort_keys=True, default=str)


def esxi_batches(hosts: Sequence[str], hostvars: Mapping[str, Mapping[str, Any]]) -> list[dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for host in hosts:
        variables = hostvars[host]
        batch = found.setdefault(_key(variables, COMMON), {"hosts": [], "names": []})
        batch["hosts"].append(str(host))
        batch["names"].append(str(variables.get("esxi_host_name", host)))
    return list(found.values())


def vcenters(
    hosts: Sequence[str], vms: Sequence[str], hostvars: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    kinds = (("esxi_host_name", hosts, "hosts", "names"), ("gpu_vm_name", vms, "nodes", "vms"))
    for variable, members, ours, theirs in kinds:
        for member in members:
            variables = hostvars[member]
            empty: dict[str, Any] = {"first": str(member), "hosts": [], "names": [], "nodes": [], "vms": []}
            one = found.setdefault(_key(variables, LOGIN), empty)
            one[ours].append(str(member))
            one[theirs].append(str(variables.get(variable, member)))
    return list(found.values())


def wish(name: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Of one VM, as tasks_from pending gives it to the module."""
    own = {option: variables.get(f"gpu_vm_{option}", default) for option, default in WISHES.items()}
    return {"vm": str(variables.get("gpu_vm_name", name)), "wanted": {**own, **(variables.get("gpu_vm_wanted") or {})}}


def vms_published(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for result in results:
        for node, row in zip(result["batch"]["nodes"], result["vms"]):
            if row["failed"]:
                unread = {name: row[name] for name in ("msg", "vm_connection_state") if name in row}
                found.append({"host": node, "pending": {}, "unread": unread, "outcome": {}})
                continue
            pending = {
                **{name: row[name] for name in ("vm", "vm_moid", "esxi_host", "esxi_host_moid", "power_state")},
                "vcenter_uuid": result["vcenter_uuid"],
                "changes": row["changes"],
                "wanted": row["resolved"],
                "found": row["settings"],
                "at": time.time(),
            }
            outcome = {"changed": False, "verified": not row["changes"], "found": row["settings"], "changes": []}
            found.append({"host": node, "pending": pending, "unread": {}, "outcome": outcome})
    return found


def esxi_published(results: Sequence[Mapping[str, Any]], check: bool = False) -> list[dict[str, Any]]:
    found = []
    for result in results:
        for host, row in zip(result["batch"]["hosts"], result["hosts"]):
            pending = {
                "host": row["esxi_host"],
                "host_moid": row["esxi_host_moid"],
                "vcenter_uuid": result["vcenter_uuid"],
                "settings": [setting["name"] for setting in row["settings"]],
                "found": row["settings"],
                "changes": row["changes"],
                "reboot_required": row["reboot_required"],
                "reboot_reasons": row["reboot_reasons"],
                "at": time.time(),
            }
            outcome = {
                "changed": bool(row["changes"]),
                "verified": not row["reboot_required"] and not (check and row["changes"]),
                "found": row["settings"],
                "changes": row["changes"],
            }
            found.append({"host": host, "pending": pending, "outcome": outcome})
    return found


SPEC: dict[str, Any] = {
    "hosts": {"type": "list", "elements": "str", "default": []},
    "vms": {"type": "list", "elements": "str", "default": []},
    "results": {"type": "list", "elements": "dict", "default": []},
    "readings": {"type": "list", "elements": "dict", "default": []},
    "check": {"type": "bool", "default": False},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    hostvars = context.variables["hostvars"]
    return {
        "wishes": {name: wish(name, hostvars[name]) for name in options["vms"]},
        "published_vms": vms_published(options["readings"]),
        "batches": esxi_batches(options["hosts"], hostvars),
        "vcenters": vcenters(options["hosts"], options["vms"], hostvars),
        "published": esxi_published(options["results"], options["check"]),
    }
