"""What has to change in a VM's file, and how its power goes down and up for it. Pure: no I/O, no Ansible."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Sequence

from .._layer import Operation, Pending, Reboot, RefusedError
from .devices import numbering_gap, physical_gpu
from .keys import (
    ABSENT,
    AUTO,
    FIRMWARE_FIELD,
    MEMORY_FIELD,
    MMIO_SIZE_GB,
    NUMA_AFFINITY,
    REMOVABLE,
    RESERVATION_FIELD,
    TRUTHS,
    VmxWanted,
    gpu_key,
    gpu_key_index,
    most_devices,
)
from .state import NVIDIA, as_bool, boolean_text, pci_address
from .vm_state import VmState


def _refused(state: VmState, what: str, remedy: str, thing: str, value: Any = None, **more: Any) -> RefusedError:
    what = f"{what}; nothing was changed"
    return RefusedError(what, host=state.name, thing=thing, value=value, remedy=remedy, **more)


def _numa_value(state: VmState, numa: tuple[str, ...]) -> str:
    if numa == (ABSENT,):
        return ""
    known = {node.id for node in state.numa_nodes}
    chosen = []
    for text in numa:
        if not text.isdigit() or (known and int(text) not in known):
            nodes = ", ".join(map(str, sorted(known))) or "unknown"
            what = f"host {state.host} of this VM has the NUMA nodes {nodes}"
            remedy = (
                f"name existing nodes, '{AUTO}' alone to take the node of the VM's own devices, or '{ABSENT}' "
                "alone to remove the key"
            )
            raise _refused(state, what, remedy, "NUMA node", text)
        chosen.append(int(text))
    return ",".join(str(n) for n in sorted(set(chosen)))


def _gpu_values(state: VmState, wanted: VmxWanted) -> dict[str, str]:
    values: dict[str, str] = {}
    # what stays in the file counts too: two numbers that name one GPU leave the other one idle
    taken = {address: key for key, address in state.gpu_keys().items() if gpu_key_index(key) not in wanted.gpu_pci_ids}
    for index in sorted(wanted.gpu_pci_ids):
        key, given = gpu_key(index), wanted.gpu_pci_ids[index]
        if given:
            values[key] = _gpu_value(state, index, given, {} if wanted.allow_shared_gpu else taken)
            taken[values[key]] = key
        else:
            values[key] = ""
    return values


def _gpu_value(state: VmState, index: int, given: str, taken: Mapping[str, str]) -> str:
    """The address in canonical form; `RefusedError` if it cannot be the GPU of device number ``index``."""
    key = gpu_key(index)

    def refuse(what: str, remedy: str) -> RefusedError:
        return _refused(state, what, remedy, key, given)

    count = len([d for d in state.devices if d.index >= 0])
    limit = most_devices(state.hardware_version, state.host_release)
    if not 0 <= index < count:
        raise refuse(
            f"the VM has {count} passthrough devices, so there is no number {index}",
            "count the VM's PCI devices from 0",
        )
    if index >= limit:
        raise refuse(
            f"a VM of hardware version {state.hardware_version} on release {state.host_release or 'unknown'} has at "
            f"most {limit} passthrough devices",
            "take devices away, or raise the hardware version of the VM",
        )
    try:
        address = pci_address(given)
    except ValueError as error:
        raise refuse(str(error), "write it as 0000:3d:00.0") from error
    gap = numbering_gap(state.devices)
    if gap and state.gpu_keys().get(key) != address:
        raise refuse(
            f"{gap}, and it is not documented which number of pciPassthruN the others have then",
            "set this key by hand, or give the VM its devices anew so that they count from 0 without a gap",
        )
    device = physical_gpu(state.host_devices, address)
    if device is None:
        raise refuse(
            f"host {state.host} has no such PCI device",
            "PCI addresses belong to one host: read them there with esxi_pci_info",
        )
    if device.vendor_id != NVIDIA:
        raise refuse(
            f"that device of host {state.host} is {device.vendor_name} {device.device_name}, not an NVIDIA GPU",
            "name one of: "
            + (", ".join(d.address for d in state.host_devices if d.vendor_id == NVIDIA) or "(no GPU there)"),
        )
    if address in taken:
        raise refuse(
            f"{taken[address]} of this VM names the same GPU",
            "give each number a GPU of its own, or set allow_shared_gpu: true if they shall share it",
        )
    return address


def _mmio_size(state: VmState, given: int | str) -> str:
    size = int(given) if str(given).isdigit() else 0
    if size < 1 or size & (size - 1):
        remedy = "round the memory of the VM's GPUs up to a power of two and double it"
        what = f"the size must be a power of two, or '{AUTO}'"
        raise RefusedError(what, host=state.name, thing=MMIO_SIZE_GB, value=given, remedy=remedy)
    return str(size)


def wanted_keys(state: VmState, wanted: VmxWanted) -> dict[str, str]:
    """Key -> value that the VM's file shall have ("" = absent), owned keys only, values in vSphere's own spelling.

    ``wanted`` has no "auto" left: see `computed.resolve`.
    """
    values: dict[str, str] = {}
    for name, key in TRUTHS.items():
        truth = getattr(wanted, name)
        if truth is not None:
            values[key] = boolean_text(truth)
    if wanted.mmio_size_gb is not None:
        values[MMIO_SIZE_GB] = _mmio_size(state, wanted.mmio_size_gb)
    values.update(_gpu_values(state, wanted))
    if wanted.numa is not None:
        values[NUMA_AFFINITY] = _numa_value(state, wanted.numa)
    values.update((REMOVABLE[name], "") for name in wanted.absent)
    return values


def _nodes(text: str) -> list[str]:
    """ "00, 1" and "1,0" name the same nodes."""
    return sorted({part.strip().lstrip("0") or "0" for part in text.split(",") if part.strip()})


def _same(key: str, have: str | None, want: str) -> bool:
    if have is None or want == "":
        return (have or "") == want
    if want in ("TRUE", "FALSE"):
        return as_bool(have) is (want == "TRUE")
    if key == NUMA_AFFINITY:
        return _nodes(have) == _nodes(want)
    return have.lower() == want.lower() if key.endswith("gpu-pci-id") else have == want


def differing_keys(state: VmState, wanted: VmxWanted) -> dict[str, str]:
    return {key: value for key, value in wanted_keys(state, wanted).items() if not _same(key, state.value(key), value)}


def differing_fields(state: VmState, wanted: VmxWanted) -> dict[str, Any]:
    """Field of the VM's configuration -> value, for those that shall change."""
    fields: dict[str, Any] = {}
    if wanted.reserve_memory is not None and wanted.reserve_memory != state.memory_reserved:
        capacity = sum(node.memory_mb for node in state.numa_nodes)
        if wanted.reserve_memory and 0 < capacity <= state.memory_mb:
            what = f"host {state.host} has {capacity} MB in all and cannot reserve the {state.memory_mb} MB of this VM"
            raise _refused(state, what, "give the VM less memory, or move it to a larger host", "reserve_memory", True)
        fields[MEMORY_FIELD] = wanted.reserve_memory
    if wanted.reserve_memory is False and state.memory_reservation_mb:
        fields[RESERVATION_FIELD] = 0  # the number beside the lock: it stays when only the lock goes
    if wanted.firmware and wanted.firmware != state.firmware:
        fields[FIRMWARE_FIELD] = wanted.firmware
    return fields


def _check_vm(state: VmState) -> None:
    """Refuse what cannot be reconfigured at all."""
    problems = (
        (state.is_template, "it is a template", "convert it to a VM first"),
        (
            state.connection != "connected",
            f"vCenter calls this VM {state.connection} (its host {state.host} may be down)",
            "bring the host back or repair the VM's registration",
        ),
        (state.power == "suspended", "the VM is suspended", "power it on, shut it down, then run again"),
        (bool(state.question), "the VM waits for an answer: " + state.question, "answer it in the vSphere client"),
    )
    for is_so, what, remedy in problems:
        if is_so:
            raise _refused(state, what, remedy, "VM", vm_connection_state=state.connection)


def power_down(state: VmState, policy: str, reason: str) -> Operation:
    shutdown = policy != "poweroff"
    what, call = ("shut down the guest", "ShutdownGuest") if shutdown else ("cut the power", "PowerOffVM_Task")
    return Operation(
        description=f"{what} of {state.name} ({reason})",
        command=f"{call} {state.name}",
        inverse="PowerOnVM_Task " + state.name,
        changes={"power": (state.power, "poweredOff")},
        disrupts=f"VM {state.name} on host {state.host} is powered off; everything in the guest stops",
        payload={"action": "shutdown" if shutdown else "poweroff"},
    )


def plan_vmx(state: VmState, wanted: VmxWanted) -> list[Operation]:
    """Power down if allowed and needed, one atomic reconfiguration, power up if it was up or shall be."""
    changed = differing_keys(state, wanted)
    fields = differing_fields(state, wanted)
    is_on = state.power == "poweredOn"
    # keys that are right in the file but were changed after power-on: only a power cycle brings them into force
    stale = stale_keys(state, wanted_keys(state, wanted)) if is_on and wanted.power_policy != "fail" else []
    restore = wanted.final_power == "on" or state.found_power == "poweredOn"
    must_be_off = bool(changed or fields or stale) and is_on
    operations: list[Operation] = []
    if changed or fields or must_be_off or (restore and not is_on):
        _check_vm(state)
    if must_be_off:
        operations.append(_planned_power_down(state, wanted, {**changed, **_texts(fields)}, stale))
    if changed or fields:
        operations.append(_reconfigure(state, changed, fields, Reboot.VM_POWER_CYCLE if is_on else Reboot.NONE))
    if restore and (must_be_off or not is_on):
        operations.append(
            Operation(
                description=f"power on {state.name} on host {state.host}",
                command=f"PowerOnVM_Task {state.name} host={state.host}",
                inverse="ShutdownGuest " + state.name,
                changes={"power": ("poweredOff" if must_be_off else state.power, "poweredOn")},
                payload={"action": "poweron"},
            )
        )
    return operations


def stale_keys(state: VmState, keys: Iterable[str]) -> list[str]:
    """Those that were changed after the VM's last power-on."""
    return [key for key in keys if key.lower() in state.changed_while_on]


def _planned_power_down(
    state: VmState, wanted: VmxWanted, changed: Mapping[str, str], stale: Sequence[str]
) -> Operation:
    keys = ", ".join("{}={}".format(k, v or "(removed)") for k, v in changed.items()) or ", ".join(stale)
    if wanted.power_policy == "fail":
        if wanted.plan_only:
            return power_down(state, "shutdown", f"to change {keys}; power_policy is 'fail': a real run refuses this")
        what = f"the VM is powered on and these keys can only be changed while it is off: {keys}"
        remedy = "shut the VM down yourself, or set power_policy to 'shutdown' in a maintenance window"
        raise _refused(state, what, remedy, "power_policy", "fail", keys=dict(changed))
    if wanted.power_policy == "shutdown" and not state.tools_running:
        raise _refused(
            state,
            f"VMware Tools do not run in the guest, so it cannot be shut down properly to change {keys}",
            "start open-vm-tools in the guest, shut it down by hand, or accept with power_policy 'poweroff' "
            "what a power cut does to it",
            "power_policy",
            "shutdown",
        )
    return power_down(state, wanted.power_policy, "to change " + keys)


def _texts(fields: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in fields.items()}


def _reconfigure(state: VmState, changed: Mapping[str, str], fields: Mapping[str, Any], reboot: Reboot) -> Operation:
    before = {
        MEMORY_FIELD: state.memory_reserved,
        RESERVATION_FIELD: state.memory_reservation_mb,
        FIRMWARE_FIELD: state.firmware,
    }

    def text(values: Mapping[str, str | None], explicit: Mapping[str, Any]) -> str:
        words = [f"ReconfigVM_Task {state.name}"]
        if values:
            words += ["extraConfig", *("{}={}".format(k, v if v else "''") for k, v in values.items())]
        return " ".join([*words, *(f"{k}={v}" for k, v in explicit.items())])

    shown = {**{k: v or "(removed)" for k, v in changed.items()}, **_texts(fields)}
    return Operation(
        description="set in the file of {}: {}".format(state.name, ", ".join(f"{k}={v}" for k, v in shown.items())),
        command=text(dict(changed), fields),
        inverse=text({key: state.value(key) for key in changed}, {key: before[key] for key in fields}),
        changes={
            **{key: (state.value(key), value or None) for key, value in changed.items()},
            **{key: (before[key], value) for key, value in fields.items()},
        },
        reboot=reboot,
        payload={"action": "reconfigure", "extra": dict(changed), "fields": dict(fields)},
    )


def changes_of(operations: Sequence[Operation]) -> list[dict[str, Any]]:
    """What is to change in the VM's file, key by key: as data, with a sentence for a person."""
    return [
        {
            "key": key,
            "before": before,
            "after": after,
            "text": f"remove {key}" if after is None else f"set {key} to {after}",
        }
        for operation in operations
        if operation.payload["action"] == "reconfigure"
        for key, (before, after) in operation.changes.items()
    ]


def pending_vmx(state: VmState, keys: Iterable[str]) -> Pending:
    """Owned keys changed after the VM's last power-on wait for a power cycle; a guest reboot is not enough."""
    stale = stale_keys(state, keys) if state.power == "poweredOn" else []
    reasons = tuple(f"{state.name}: {key} was changed while the VM was on" for key in stale)
    return Pending(Reboot.VM_POWER_CYCLE if reasons else Reboot.NONE, reasons)
