"""Decide what of an earlier run goes back, from its journal and from what the devices report now.

``run``: Id of the run, the name of its journal without C(.jsonl). C(all) is every run of which there is a journal.
``only``: A part of the site, `hosts` and `ports` (switch to ports). All else is left out. Empty is the whole site.
``folder``: Folder of the journals; by default that of the callback journal.
``judge``: Whether the devices were read: each host has `undo_now`, layer to what its module reported in check mode.
Where a layer is missing, the answer is a failure.
``left_out``: Hosts of which nothing goes back.

Returns `whose` (the run, account and controller) and `notes` (a killed run, a torn line, a vCenter that was not read).
Without ``judge``: `vcenters`, host with the login to what vcenter_site_info is asked (its answer is that host's
`undo_seen` in the next call), and `ask`, layer to host to what its module is asked.
With it: `hosts` (inventory name to `esxi_settings`, `vm_wanted`, `cards`, `container`, `interface`, `switch`, `plan`),
`due` (layer to hosts),
`restart` (whether windows have to be looked at), `skipped` (ESXi hosts without a part in it), `left` and `table` (lines
for a person).
"""

from __future__ import annotations

import pathlib
from typing import Any, Callable, Iterable, Mapping, Sequence

from ansible.plugins.loader import callback_loader

from .. import journal_file, restoring
from ..decision import Context
from ..journal import ESXI, INTERFACE, MESH, NIC, SWITCH, VM
from ..restoring import CONTAINER, ORDER, WHOLE, Device, Setting
from .esxi_batches import vcenters

SPEC: dict[str, Any] = {
    "run": {"type": "str", "required": True},
    "only": {"type": "dict", "default": {}},
    "folder": {"type": "str", "default": ""},
    "judge": {"type": "bool", "default": False},
    "left_out": {"type": "list", "elements": "str", "default": []},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    folder = pathlib.Path(options["folder"] or journal_folder())
    journal = journal_file.find_all(folder) if options["run"] == "all" else journal_file.find(folder, options["run"])
    sites = _vcenters(context.variables, options["left_out"], restoring.at_vcenter(journal.entries))
    names = _names(context.variables, sites)
    only = options["only"]
    part = restoring.Part(frozenset(only.get("hosts") or ()), only.get("ports") or {})
    found = [
        Setting(**{**vars(one), "hand": "left out by rocemesh_skip_hosts"}) if one.host in options["left_out"] else one
        for one in restoring.settings(journal.entries, names)
        if not only or part.has(one)
    ]
    answer: dict[str, Any] = {"whose": journal.whose, "notes": [*_notes(journal), *_unread(context.variables, sites)]}
    if not options["judge"]:
        return {**answer, "vcenters": sites, "ask": _ask([one for one in found if not one.hand])}
    since = (
        []
        if options["run"] == "all"
        else [(each.whose, restoring.settings(each.entries, names)) for each in journal_file.later(folder, journal)]
    )
    return {**answer, **_judge(found, since, context.variables, names)}


def journal_folder() -> str:
    """Where the callback journal of this controller writes, by its own options."""
    callback = callback_loader.get("rocemesh.multinode.journal")
    callback.set_options()
    return str(callback.get_option("directory"))


def _vcenters(variables: Mapping[str, Any], left_out: Sequence[str], layers: set[str]) -> dict[str, dict[str, Any]]:
    """What has to be read of each vCenter of the inventory, to know which host or VM a record means.

    Without a record of one, for the restart of a NIC, only where the inventory names a vCenter.
    """
    if not layers:
        return {}
    groups, hostvars = variables.get("groups") or {}, variables.get("hostvars") or {}
    hosts, vms = (
        [
            host
            for host in groups.get(group, ())
            if host not in left_out and (layers != {NIC} or "rocemesh_vcenter_hostname" in hostvars[host])
        ]
        for group in ("esxi_hosts", "gpu_vms")
    )
    return {each["first"]: each for each in vcenters(hosts, vms, hostvars)}


def _names(variables: Mapping[str, Any], sites: Mapping[str, Mapping[str, Any]]) -> restoring.Names:
    groups, hostvars = variables.get("groups") or {}, variables.get("hostvars") or {}
    read: dict[str, Device] = {}
    for first, site in sites.items():
        seen = hostvars[first].get("undo_seen") or {}
        for mine, rows in (("hosts", "hosts"), ("nodes", "vms")):
            for host, row in zip(site[mine], seen.get(rows) or ()):
                if not row["problem"]:
                    read[host] = Device(row["name"], host, seen["vcenter_uuid"], row["uuid"], row["moid"])

    def devices(group: str, variable: str) -> list[Device]:
        every = map(str, groups.get(group, ()))
        return [read.get(host) or Device(str(hostvars[host].get(variable, host)), host) for host in every]

    hosts = frozenset(str(host) for host in groups.get("all", ()))
    both = {ESXI: devices("esxi_hosts", "esxi_host_name"), VM: devices("gpu_vms", "gpu_vm_name")}
    return restoring.Names(both, hosts)


def _unread(variables: Mapping[str, Any], sites: Mapping[str, Mapping[str, Any]]) -> list[str]:
    seen = {first: variables["hostvars"][first].get("undo_seen") or {} for first in sites}
    return [
        f"{first}: its vCenter was not read: {said['msg']} Of two devices with one name, neither is taken."
        for first, said in seen.items()
        if said.get("msg")
    ]


def _notes(journal: journal_file.Journal) -> list[str]:
    if journal.ended:
        return []
    notes = [f"{journal.whose} was killed: its journal has no last line."]
    if journal.torn:
        notes.append(
            f"{journal.path.name}: the last line is not whole and is left out. Look at the device of that moment."
        )
    notes += [
        f"{entry['host']}: task {entry['task']!r} ({entry['module']}) had begun. A setting that has the value of its "
        "plan goes back."
        for entry in restoring.unfinished(journal.entries)
    ]
    return notes


def _by_host(found: Iterable[Setting], layer: str) -> dict[str, list[Setting]]:
    hosts: dict[str, list[Setting]] = {}
    for one in found:
        if one.layer == layer:
            hosts.setdefault(one.host, []).append(one)
    return hosts


def _ask(found: Sequence[Setting]) -> dict[str, dict[str, Any]]:
    def of(layer: str, ask: Callable[[list[Setting]], Any]) -> dict[str, Any]:
        return {host: ask(each) for host, each in _by_host(found, layer).items()}

    neutral = of(NIC, lambda _each: {"wanted": restoring.VMX_NEUTRAL})
    return {
        ESXI: of(ESXI, lambda each: {**each[0].identity, "settings": {one.key: one.before for one in each}}),
        VM: {**neutral, **of(VM, lambda each: {**each[0].identity, "wanted": restoring.vmx_wanted(each)})},
        NIC: of(NIC, _cards),
        SWITCH: of(SWITCH, _sides),
        INTERFACE: of(INTERFACE, _sides),
        MESH: of(MESH, lambda _each: {}),
    }


def _cards(each: Sequence[Setting]) -> list[dict[str, Any]]:
    return [{"state": state, "device": device} for state, device in restoring.cards(each).items()]


def _sides(each: Sequence[Setting]) -> dict[str, Any]:
    if not each:
        return {}
    return {
        "serial": each[0].identity.get("serial", ""),
        "before": {one.key: one.before for one in each},
        "after": {one.key: one.after for one in each},
    }


def _judge(
    found: Sequence[Setting],
    since: Sequence[tuple[str, Sequence[Setting]]],
    variables: Mapping[str, Any],
    names: restoring.Names,
) -> dict[str, Any]:
    hostvars = variables["hostvars"]
    now: dict[tuple[str, str, str], Any] = {}
    reasons: dict[tuple[str, str, str], str] = {}
    for one in found:
        if one.hand or one.layer in WHOLE:
            continue
        said = (hostvars[one.host].get("undo_now") or {}).get(one.layer)
        if said is None:
            raise ValueError(
                f"{one.host}: {one.layer} is not read, expected {one.key}. Nothing was changed. Put right what the "
                f"message above names, or leave the host out with -e rocemesh_skip_hosts={one.host}."
            )
        expected = one.identity.get("serial")
        if one.layer == SWITCH and expected and said.get("serial") and said["serial"] != expected:
            raise ValueError(
                f"{one.host}: serial number is {said['serial']}, expected {expected}. Nothing was changed. Take the "
                "inventory of the site where the run was made."
            )
        if one.key in said["before"]:
            now[one.place] = said["before"][one.key]
        for row in said.get("left_alone") or ():
            if row["key"] == one.key:
                now[one.place] = row["value"]
                if row["why"] != "changed since":
                    reasons[one.place] = row["why"]
    possible, done, left = restoring.judge(found, now, since)
    due = [one for one in possible if one.place not in reasons]
    left += [(one, reasons[one.place]) for one in possible if one.place in reasons]
    staying = [*due, *done]
    esxi, vms = _by_host(staying, ESXI), _by_host(staying, VM)
    back = {layer: _by_host(due, layer) for layer in ORDER}
    hosts = {
        host: {
            "esxi_settings": {one.key: one.before for one in esxi.get(host, ())},
            "vm_wanted": restoring.vmx_wanted(vms.get(host, ())),
            "cards": _cards(back[NIC].get(host, ())),
            "container": sorted({one.key for one in back[CONTAINER].get(host, ())}),
            "interface": _sides(back[INTERFACE].get(host, ())),
            "switch": _sides(back[SWITCH].get(host, ())),
            "plan": {
                layer: _operations(layer, mine.get(host, ()), (hostvars[host].get("undo_now") or {}).get(layer) or {})
                for layer, mine in back.items()
            },
        }
        for host in sorted(names.hosts)
    }
    part = {one.host for one in staying if one.layer == ESXI}
    for one in staying:
        on = (hostvars[one.host].get("undo_now") or {}).get("esxi_host") if one.layer in (VM, NIC) else None
        found_on = names.find(ESXI, Device(on["name"], "", on["vcenter_uuid"], moid=on["moid"])) if on else None
        part |= {found_on.host} if found_on else set()
    return {
        "hosts": hosts,
        "due": {layer: list(mine) for layer, mine in back.items()},
        "restart": any(one.layer in (ESXI, VM, NIC) for one in staying) and bool(names.devices[ESXI]),
        "skipped": sorted({one.host for one in names.devices[ESXI]} - part),
        "left": [f"{one.host or one.device} {one.layer}: {one.key}: {why}" for one, why in left],
        "table": _table(due, done, left),
    }


def _operations(layer: str, mine: Sequence[Setting], said: Mapping[str, Any]) -> list[dict[str, str]]:
    """For the plan table; those of the switch are its module's own."""
    if layer == SWITCH:
        return list(said["operations"]) if mine else []
    waits = {ESXI: "esxi_host", NIC: "esxi_host", VM: "vm_power_cycle"}.get(layer, "none")
    rest = {"command": "", "disrupts": "", "reboot": waits if said.get("reboot_required") else "none"}
    return [{"description": f"{one.key}: {one.after!r} -> {one.before!r}, as before", **rest} for one in mine]


def _table(due: Sequence[Setting], done: Sequence[Setting], left: Sequence[tuple[Setting, str]]) -> list[str]:
    lines = [
        f"{one.host} {one.layer}: {one.key}: {one.after!r} -> {one.before!r}"
        for one in sorted(due, key=lambda one: ORDER.index(one.layer))
    ]
    lines += [f"{one.host} {one.layer}: {one.key} is {one.before!r} already" for one in done]
    return lines + [f"{one.host or one.device} {one.layer}: {one.key} stays: {why}" for one, why in left]
