"""A look at all hosts and VMs of a site at once: are they there, who else runs there, may this account do its work.

Reads only; a handful of calls, however many hosts and VMs there are.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any, Iterable, Mapping, Sequence

from .devices import group_names, passthrough_devices
from .transport import HOST_UUID, VM_UUID, Connection, short_list, uuid_of, vim
from .vm_state import device_name

HOST, VM, DATACENTER, ROOT = "host", "vm", "datacenter", "root folder"


@dataclasses.dataclass(frozen=True)
class Privilege:
    """``on``: kind of object; ``needed_for``: what fails without it. docs/vsphere-privileges.md has the sources."""

    name: str
    on: str
    needed_for: str


PRIVILEGES = (
    Privilege("Host.Config.Settings", HOST, "kernel settings (esxi_kernel_setting)"),
    Privilege("Host.Config.AdvancedConfig", HOST, "kernel settings (esxi_kernel_setting)"),
    Privilege("Host.Config.Maintenance", HOST, "maintenance mode and reboot (esxi_reboot)"),
    Privilege("Global.SetCustomField", HOST, "the mark of a maintenance window (esxi_reboot)"),
    Privilege("VirtualMachine.Config.AdvancedConfig", VM, "keys of passthrough (vmx_passthru)"),
    Privilege("VirtualMachine.Interact.PowerOn", VM, "starting VMs (vmx_passthru, esxi_reboot)"),
    Privilege("VirtualMachine.Interact.PowerOff", VM, "shutting VMs down (vmx_passthru, esxi_reboot)"),
    Privilege("Global.SetCustomField", DATACENTER, "the lease of a maintenance window (esxi_reboot)"),
    Privilege("Global.ManageCustomFields", ROOT, "the mark and the lease of a maintenance window (esxi_reboot)"),
)
_VM_PATHS = (
    "name",
    "runtime.powerState",
    "runtime.host",
    "guest.toolsRunningStatus",
    "guestHeartbeatStatus",
    "config.hardware.device",
    VM_UUID,
)
_HOST_PATHS = (
    "name",
    "runtime.connectionState",
    "runtime.inMaintenanceMode",
    "config.lockdownMode",
    "config.powerSystemInfo",
    "vm",
    HOST_UUID,
)
# Short names of vSphere's policies -> what its clients call them.
_POLICIES = {"static": "High Performance", "dynamic": "Balanced", "low": "Low Power", "custom": "Custom"}


def read_site(connection: Connection, hosts: Sequence[str], vms: Sequence[str]) -> dict[str, Any]:
    """``hosts``, ``vms``: names or managed object ids. One that is not there is named in its row, and stops nothing."""
    skew = connection.server_time().timestamp() - time.time()
    known = [
        (each, str(row.get("name", "")))
        for each, row in connection.listed((vim.HostSystem, ["name"]), (vim.VirtualMachine, ["name"]))
    ]
    host_rows = _find(hosts, [row for row in known if isinstance(row[0], vim.HostSystem)])
    vm_rows = _find(vms, [row for row in known if isinstance(row[0], vim.VirtualMachine)])
    found_hosts = [row["object"] for row in host_rows if row["object"] is not None]
    found_vms = [row["object"] for row in vm_rows if row["object"] is not None]
    seen = dict(zip([host._moId for host in found_hosts], connection.properties(found_hosts, _HOST_PATHS)))
    running = _running(connection, seen.values())
    return {
        "vcenter": connection.name,
        "vcenter_uuid": connection.instance,
        "product": str(connection.content.about.fullName),
        "clock_skew": round(skew, 1),
        "account": str(connection.content.sessionManager.currentSession.userName),
        "hosts": [_host(row, seen, running) for row in host_rows],
        "vms": _vms(connection, vm_rows),
        "missing_privileges": missing_privileges(connection, found_hosts, found_vms),
    }


def _find(wanted: Sequence[str], known: Sequence[tuple[Any, str]]) -> list[dict[str, Any]]:
    """One row per name or id: the object, or why it is not one."""
    rows = []
    for name in wanted:
        found = [each for each, own in known if name in (own, each._moId)]
        found = found or [each for each, own in known if own.lower() == name.lower()]
        problem = ""
        if not found:
            problem = f"vCenter has none of this name; it knows {short_list([own for _each, own in known])}"
        elif len(found) > 1:
            problem = f"{len(found)} have this name ({', '.join(each._moId for each in found)}); give the id"
        rows.append({"asked": name, "object": None if problem else found[0], "problem": problem})
    return rows


def _running(connection: Connection, rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Id -> name of the VMs that run on the hosts."""
    machines = [vm for row in rows for vm in row.get("vm") or ()]
    states = connection.properties(machines, ("name", "runtime.powerState"))
    return {
        vm._moId: str(state.get("name", vm._moId))
        for vm, state in zip(machines, states)
        if str(state.get("runtime.powerState")) == "poweredOn"
    }


def _host(row: Mapping[str, Any], seen: Mapping[str, Mapping[str, Any]], running: Mapping[str, str]) -> dict[str, Any]:
    if row["object"] is None:
        return {"asked": row["asked"], "problem": row["problem"]}
    facts = seen[row["object"]._moId]
    return {
        "asked": row["asked"],
        "problem": "",
        "name": str(facts.get("name", "")),
        "moid": row["object"]._moId,
        "uuid": uuid_of(facts),
        "connection": str(facts.get("runtime.connectionState", "unknown")),
        "maintenance": bool(facts.get("runtime.inMaintenanceMode")),
        "lockdown": str(facts["config.lockdownMode"]) if facts.get("config.lockdownMode") else None,
        "power_policy": _policy(facts.get("config.powerSystemInfo")),
        "running_vms": sorted(running[vm._moId] for vm in facts.get("vm") or () if vm._moId in running),
    }


def _policy(info: Any) -> str | None:
    name = str(getattr(getattr(info, "currentPolicy", None), "shortName", "") or "")
    return _POLICIES.get(name, name) or None


def _vms(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Whether a VM can be expected to answer: its power, its host, whether its guest has come up."""
    machines = [row["object"] for row in rows if row["object"] is not None]
    facts = dict(
        zip([vm._moId for vm in machines], connection.properties(machines, (*_VM_PATHS, *connection.group_paths)))
    )
    hosts = [seen["runtime.host"] for seen in facts.values() if seen.get("runtime.host") is not None]
    names = _names(connection, list({host._moId: host for host in hosts}.values()))
    given = []
    for row in rows:
        seen = facts.get(row["object"]._moId, {}) if row["object"] is not None else {}
        host = seen.get("runtime.host")
        given.append(
            {
                "asked": row["asked"],
                "problem": row["problem"],
                "name": str(seen.get("name", "")),
                "moid": row["object"]._moId if row["object"] is not None else "",
                "uuid": uuid_of(seen),
                "power": str(seen.get("runtime.powerState", "unknown")),
                "tools": str(seen.get("guest.toolsRunningStatus", "unknown")),
                "heartbeat": str(seen.get("guestHeartbeatStatus", "unknown")),
                "esxi_host": names.get(host._moId, "") if host is not None else "",
                "devices": _devices(seen),
            }
        )
    return given


def _devices(seen: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Host devices that the VM does not name itself, with what is said of them."""
    found = passthrough_devices(
        seen.get("config.hardware.device") or [], [], group_names(seen.get("config.deviceGroups"))
    )
    return [{"assignment": d.assignment, "text": device_name(d)} for d in found if d.is_chosen_at_power_on]


def missing_privileges(connection: Connection, hosts: Sequence[Any], vms: Sequence[Any]) -> list[dict[str, Any]]:
    """What vCenter itself says about this session's account, object by object."""
    objects: dict[str, list[Any]] = {HOST: list(hosts), VM: list(vms), DATACENTER: [], ROOT: []}
    if connection.is_vcenter:
        objects[ROOT] = [connection.content.rootFolder]
        objects[DATACENTER] = _datacenters(connection, hosts)
    lacking: dict[Privilege, list[str]] = {}
    for kind, entities in objects.items():
        wanted = [privilege for privilege in PRIVILEGES if privilege.on == kind]
        for entity, granted in _granted(connection, entities, [privilege.name for privilege in wanted]):
            for privilege in wanted:
                if privilege.name not in granted:
                    lacking.setdefault(privilege, []).append(entity)
    names = _names(connection, [entity for entities in objects.values() for entity in entities])
    return [
        {"privilege": each.name, "on": [names.get(entity, entity) for entity in where], "needed_for": each.needed_for}
        for each, where in lacking.items()
    ]


def _granted(connection: Connection, entities: Sequence[Any], names: Sequence[str]) -> list[tuple[str, set[str]]]:
    """(object id, the privileges among ``names`` that the session has there)."""
    if not entities:
        return []

    def ask() -> Any:
        session = connection.content.sessionManager.currentSession.key
        manager = connection.content.authorizationManager
        return manager.HasPrivilegeOnEntities(entity=list(entities), sessionId=session, privId=list(names))

    return [
        (row.entity._moId, {each.privId for each in row.privAvailability or () if each.isGranted})
        for row in connection.ask(connection.name, "asking for the account's privileges", ask) or ()
    ]


def _datacenters(connection: Connection, hosts: Sequence[Any]) -> list[Any]:
    """The datacenters of the hosts, each once: a lease lies there."""
    found: dict[str, Any] = {}
    level = {host._moId: host for host in hosts}
    while level:
        found.update({moid: each for moid, each in level.items() if isinstance(each, vim.Datacenter)})
        below = [each for moid, each in level.items() if moid not in found]
        parents = [row.get("parent") for same in _by_kind(below) for row in connection.properties(same, ["parent"])]
        level = {parent._moId: parent for parent in parents if parent is not None}
    return list(found.values())


def _by_kind(objects: Sequence[Any]) -> list[list[Any]]:
    """vCenter reads properties of objects of one type at once."""
    kinds: dict[type, list[Any]] = {}
    for each in objects:
        kinds.setdefault(type(each), []).append(each)
    return list(kinds.values())


def _names(connection: Connection, entities: Sequence[Any]) -> dict[str, str]:
    return {
        entity._moId: str(row.get("name", entity._moId))
        for same in _by_kind(entities)
        for entity, row in zip(same, connection.properties(same, ["name"]))
    }
