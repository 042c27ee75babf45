"""What a run changed, setting by setting, and which of it goes back. Pure.

A setting goes back by a call of the module that changed it, with the value from before the run, and only while it has
the value that the run gave it.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Iterable, Mapping, Sequence

from ..module_utils._vsphere.keys import GPU_KEY, MEMORY_FIELD, MMIO_SIZE_GB, NUMA_AFFINITY, TRUTHS, VmxWanted
from .journal import COLLECTION, ESXI, INTERFACE, MESH, NIC, RESTORED, SWITCH, VM

CONTAINER = "container"
# What the modules call the id of a device.
_ID = {ESXI: "esxi_host_moid", VM: "vm_moid"}
# The order of the way back; site.yml goes the other way round.
ORDER = (CONTAINER, MESH, INTERFACE, NIC, VM, ESXI, SWITCH)
# What a node has because of its mesh goes as a whole and is not read: the roles remove what is there.
WHOLE = (CONTAINER, MESH)
# What role container does on a node, by module: the part of its entry point absent, "" for what needs no way back.
_PARTS = {
    "docker_container": "container",
    "docker_login": "login",
    "docker_container_exec": "",
    "docker_image": "images",
    "docker_image_pull": "images",
    "docker_image_push": "",
    "docker_image_tag": "images",
}
_CA = re.compile(r"\bCA\b")
_POWER = "the power of a VM stays as it is"
# What a run did and is no setting: restarts, the list of the files that roles wrote.
_EVENTS = ("esxi_reboot", "node_manifest")
_NIC_KEY = re.compile(r"(?P<pci>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) ATS_ENABLED next boot")
_TRUTHS = {key: option for option, key in TRUTHS.items()}
# Every option of vmx_passthru that sets something, off: a VM of which nothing goes back keeps all.
VMX_NEUTRAL: dict[str, Any] = {
    option: value
    for option, value in VmxWanted(allow_p2p=None, relax_acs=None).arguments().items()
    if option != "allow_shared_gpu"  # allows, and sets nothing
}


@dataclasses.dataclass(frozen=True)
class Setting:
    """One setting of one device. ``host``: its name in the inventory, "" if it has none any more; ``device``: the name
    that the layer has for it; ``hand``: why no module call takes it back, and the commands of the journal."""

    layer: str
    host: str
    device: str
    key: str
    before: Any
    after: Any
    identity: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    hand: str = ""

    @property
    def place(self) -> tuple[str, str, str]:
        if self.host:
            return self.layer, self.host, self.key
        return self.layer, "", f"{self.device} {self.identity.get('vcenter_uuid', '')} {self.key}"


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of a site: devices by their names in the inventory, and ports of switches."""

    hosts: frozenset[str]
    ports: Mapping[str, Sequence[str]]

    def has(self, one: Setting) -> bool:
        if one.layer != SWITCH:
            return one.host in self.hosts
        words = one.key.split()
        return words[0] in ("port", "interface") and len(words) > 1 and words[1] in self.ports.get(one.host, ())


@dataclasses.dataclass(frozen=True)
class Device:
    """An ESXi host or a VM. ``host``: its name in the inventory; ``vcenter``, ``uuid``, ``moid``: which one it is, or
    "" where that is not known."""

    name: str
    host: str = ""
    vcenter: str = ""
    uuid: str = ""
    moid: str = ""


@dataclasses.dataclass(frozen=True)
class Names:
    """What the inventory has: devices of vCenters by layer, and all names."""

    devices: Mapping[str, Sequence[Device]]
    hosts: frozenset[str]

    def find(self, layer: str, recorded: Device) -> Device | None:
        """The one that a record means. None: no device is it, or several may be.

        On its vCenter the UUID decides, else the id, else the name. What was not read there is known by its name. Where
        no vCenter that was read is the record's, the module that is asked refuses the one that it finds.
        """
        named = [one for one in self.devices[layer] if one.name == recorded.name]
        there = [one for one in self.devices[layer] if recorded.vcenter and one.vcenter == recorded.vcenter]
        key = next((key for key in ("uuid", "moid") if getattr(recorded, key)), "name")
        found = [one for one in there if getattr(one, key) == getattr(recorded, key)]
        if len(found) > 1:  # boards of one maker may all have one UUID
            found = [one for one in found if one.moid == recorded.moid]
        found = found or [one for one in named if not one.vcenter] or ([] if there else named)
        return found[0] if len(found) == 1 else None


def at_vcenter(entries: Iterable[Mapping[str, Any]]) -> set[str]:
    """The layers among them that are vCenter's: of ESXi hosts, of VMs, and of NICs, which wait for a host."""
    modules = {str(entry.get("module", "")).removeprefix(COLLECTION) for entry in entries}
    return {RESTORED[module] for module in modules if RESTORED.get(module) in (ESXI, VM, NIC)}


def settings(entries: Iterable[Mapping[str, Any]], names: Names) -> list[Setting]:
    """Each setting once, newest first: ``before`` of its first change, ``after`` of its last."""
    found: dict[tuple[str, str, str], Setting] = {}
    entries = list(entries)
    plans = unfinished(entries)
    planned = {_place(plan) for plan in plans}
    for entry in entries:
        if entry["kind"] == "failed" and entry.get("applied") and _place(entry) not in planned:
            commands = "; ".join(entry.get("undo") or ()) or "the module reports none"
            why = f"the task failed after {len(entry['applied'])} steps"
            one = _by_hand(entry, names, "failed half-way", why, commands)
            found.pop(one.place, None)
            found[one.place] = one
        for one in _of(entry, names) if entry["kind"] == "change" or entry in plans else ():
            earlier = found.pop(one.place, None)
            # What was there before the first change decides, also whether a module call leads back to it.
            found[one.place] = (
                dataclasses.replace(one, before=earlier.before, hand="") if earlier and not earlier.hand else one
            )
    left = [one for one in reversed(list(found.values())) if one.hand or one.before != one.after]
    return [dataclasses.replace(one, hand=_POWER) if (one.layer, one.key) == (VM, "power") else one for one in left]


def _by_hand(entry: Mapping[str, Any], names: Names, key: str, why: str, commands: str) -> Setting:
    layer = entry["layer"] or entry["module"]
    host = entry["host"] if entry["host"] in names.hosts else ""
    return Setting(layer, host, entry["device"] or entry["host"], key, None, None, hand=f"{why}. By hand: {commands}")


def _of(entry: Mapping[str, Any], names: Names) -> Iterable[Setting]:
    module = str(entry["module"]).removeprefix(COLLECTION)
    layer = RESTORED.get(module, "")
    if module in _EVENTS:
        # The window has stopped a VM here, and sets its keys and powers it on in another task.
        vcenter = str((entry.get("identity") or {}).get("vcenter_uuid", ""))
        for key, before in entry["before"].items():
            found = names.find(VM, Device(key[3:], vcenter=vcenter)) if key.startswith("vm ") else None
            if found:
                yield Setting(VM, found.host, key[3:], "power", before, entry["after"].get(key))
        return
    if entry["layer"] == CONTAINER and not layer:
        yield from _made(entry, names)
        return
    undo = "; ".join(each.replace("\n", ", ") for each in entry.get("undo") or ()) or "the module reports no way back"
    if not layer or not entry["before"]:
        yield _by_hand(entry, names, entry["task"], "no module call takes this back", undo)
        return
    identity = entry.get("identity") or {}
    for key, before in entry["before"].items():
        after = entry["after"].get(key)
        one = Setting(layer, "", str(entry["device"] or entry["host"]), key, before, after, identity)
        one = _placed(one, entry, names)
        if not one.host:
            yield dataclasses.replace(one, hand="no device of the inventory is it, or several may be. By hand: " + undo)
        elif not (layer == SWITCH and key == "saved"):
            why = _why_not(one)
            yield dataclasses.replace(one, hand=f"{why}. By hand: {undo}") if why else one


def _made(entry: Mapping[str, Any], names: Names) -> Iterable[Setting]:
    """What role container made. Files of a build are gone at its end."""
    module = str(entry["module"]).rpartition(".")[2]
    part = _PARTS.get(module, "ca" if _CA.search(entry["task"]) else "")
    if part and entry["host"] in names.hosts:
        gone = entry["task"].startswith("Absent")
        sides = ("made", None) if gone else (None, "made")
        yield Setting(CONTAINER, entry["host"], entry["host"], part, *sides)


def _placed(one: Setting, entry: Mapping[str, Any], names: Names) -> Setting:
    """With the name in the inventory, and the key without the host that several hosts have before it."""
    if one.layer not in (ESXI, VM):
        return dataclasses.replace(one, host=entry["host"] if entry["host"] in names.hosts else "")
    ids: Mapping[str, Any] = {key[3:]: value for key, value in one.identity.items() if key.startswith("vm_")}
    device, key = one.device, one.key
    if one.layer == ESXI:
        hosts = one.identity.get("esxi_hosts") or {}
        named = next((name for name in hosts if key.startswith(f"{name} ")), "")
        ids = hosts.get(named or device) or {}
        device, key = (named or device).split(" (")[0], key[len(named) + 1 :] if named else key
    vcenter, moid = str(one.identity.get("vcenter_uuid", "")), str(ids.get("moid", ""))
    found = names.find(one.layer, Device(device, "", vcenter, str(ids.get("uuid", "")), moid)) or Device(device)
    identity = {"vcenter_uuid": vcenter, _ID[one.layer]: found.moid or moid}
    return dataclasses.replace(one, device=device, key=key, identity=identity, host=found.host)


def _why_not(one: Setting) -> str:
    if one.layer == NIC and (not _NIC_KEY.fullmatch(one.key) or not isinstance(one.before, bool)):
        return "the value before is not known"
    if one.layer == VM and one.key != "power" and vmx_option(one.key, one.before) is None:
        return "vmx_passthru does not set this value"
    if one.layer == MESH and one.before:
        return "the mesh was there before this run. Run playbooks/mesh.yml with the earlier inventory"
    return ""


def vmx_option(key: str, value: Any) -> dict[str, Any] | None:
    """The option of vmx_passthru that gives a key this value; None: there is none."""
    gpu = GPU_KEY.fullmatch(key)
    option: dict[str, Any] | None = None
    if key in _TRUTHS and value is None:
        option = {"absent": [_TRUTHS[key]]}
    elif key in _TRUTHS and str(value).upper() in ("TRUE", "FALSE"):
        option = {_TRUTHS[key]: str(value).upper() == "TRUE"}
    elif key == MMIO_SIZE_GB:
        option = {"absent": ["mmio_size_gb"]} if value is None else {"mmio_size_gb": str(value)}
    elif key == NUMA_AFFINITY:
        option = {"numa_node_affinity": ["absent"] if value is None else str(value).replace(" ", "").split(",")}
    elif gpu:
        option = {"gpu_pci_ids": {gpu.group(1): value or ""}}
    elif key == MEMORY_FIELD and isinstance(value, bool):
        option = {"reserve_memory": value}
    return option


def vmx_wanted(due: Iterable[Setting]) -> dict[str, Any]:
    """The options of vmx_passthru that lead to the values before, and to nothing else."""
    wanted = {**VMX_NEUTRAL, "gpu_pci_ids": {}, "absent": []}
    for one in due:
        for name, value in (vmx_option(one.key, one.before) or {}).items():
            known = wanted[name]
            if isinstance(value, dict):
                wanted[name] = {**known, **value}
            else:
                wanted[name] = [*known, *value] if name == "absent" else value
    return wanted


def cards(due: Iterable[Setting]) -> dict[str, list[str]]:
    """State of mlxconfig_ats -> PCI addresses."""
    found: dict[str, list[str]] = {}
    for one in due:
        match = _NIC_KEY.fullmatch(one.key)
        if match:
            found.setdefault("enabled" if one.before else "disabled", []).append(match.group("pci"))
    return found


def _moves(one: Setting, later: Setting | None) -> bool:
    """Whether a later change is another user's. One that leads back to the value before is an interrupted undo."""
    return later is not None and (later.before == later.after or later.after != one.before)


def judge(
    found: Sequence[Setting],
    now: Mapping[tuple[str, str, str], Any],
    since: Sequence[tuple[str, Sequence[Setting]]] = (),
) -> tuple[list[Setting], list[Setting], list[tuple[Setting, str]]]:
    """What goes back, what has the value from before already, and what stays, with the reason.

    ``now``: layer, host, key -> the present value, only of settings that differ from the value before; ``since``: whose
    later run -> what it changed.
    """
    due, done, left = [], [], []
    older_mesh = {one.host for one in found if one.layer == MESH and one.hand and not one.key.endswith("(permissions)")}
    meshes = {one.host for one in found if one.layer == MESH} - older_mesh
    later = [(whose, {each.place: each for each in theirs}) for whose, theirs in reversed(since)]
    for one in found:
        who = next((whose for whose, theirs in later if _moves(one, theirs.get(one.place))), "")
        if one.hand:
            left.append((one, one.hand))
        elif one.layer in WHOLE and (who or one.host not in meshes):
            left.append((one, f"changed since by {who}" if who else "the mesh was there before this run"))
        elif one.layer not in WHOLE and one.place not in now:
            done.append(one)
        elif one.layer not in WHOLE and now[one.place] != one.after:
            by = f" by {who}" if who else " (no later journal here says by whom)"
            left.append((one, f"is {now[one.place]!r}, and the run left {one.after!r}: changed since{by}"))
        else:
            due.append(one)
    return due, done, left


def _place(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(entry[key]) for key in ("host", "module", "task"))


def unfinished(entries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The plans of tasks that failed or were killed; each counts as a change where it stands.

    What of it was done is known by the device: a setting goes back only if it has its value of the plan. A change of
    the same task ends it if it has all of its settings: other items of a loop, or a later run, have the rest alone.
    """
    plans: list[Mapping[str, Any]] = []
    for entry in entries:
        if entry["kind"] == "planned":
            plans.append(entry)
        elif entry["kind"] == "change":
            plans = [plan for plan in plans if not _ends(entry, plan)]
    return plans


def _ends(change: Mapping[str, Any], plan: Mapping[str, Any]) -> bool:
    same = _place(change) == _place(plan) and change["device"] == plan["device"]
    return same and {**change["before"], **plan["before"]} == change["before"]
