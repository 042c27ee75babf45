# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to change in a host's kernel settings or in a VM's file. Pure: no I/O, no Ansible."""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any, Mapping, Sequence

from .._layer import Operation, ParseError, Pending, Reboot, RefusedError
from .esxcli import command_line
from .prerequisites import required_mmio_gb
from .state import (
    GPU_KEY,
    MMIO_SIZE_GB,
    NUMA_AFFINITY,
    NVIDIA,
    USE_64BIT_MMIO,
    KernelSetting,
    KernelState,
    VmState,
    boolean_text,
    canonical,
    describe_devices,
    pci_address,
)

# Settings that weaken the host, or that can stop a host with sealed configuration from booting at all.
SECURITY_SETTINGS = frozenset(("execinstalledonly", "hyperthreadingmitigation", "hyperthreadingmitigationintravm"))
SECURITY_PREFIX = "disable"  # a setting of this name switches a protection off


def is_security_setting(name: str) -> bool:
    return name.lower() in SECURITY_SETTINGS or name.lower().startswith(SECURITY_PREFIX)


KERNEL_SET = "system.settings.kernel.set"
KERNEL_LIST = "system.settings.kernel.list"


# ---------------------------------------------------------------- kernel settings
@dataclasses.dataclass(frozen=True)
class KernelWanted:
    """``settings``: name -> value as the user gave it."""

    settings: Mapping[str, Any]
    allow_security_settings: bool = False


def managed_settings(state: KernelState, wanted: KernelWanted) -> list[KernelSetting]:
    """The host's rows for the wanted names, in that order; `RefusedError` names an unknown one and its neighbours."""
    found: list[KernelSetting] = []
    for name in wanted.settings:
        setting = state.settings.get(name.lower())
        if setting is None:
            near = difflib.get_close_matches(name.lower(), list(state.settings), n=3, cutoff=0.5)
            hint = ", ".join(state.settings[key].name for key in near)
            raise RefusedError(
                f"this host knows no such setting ({len(state.settings)} settings listed); nothing was changed",
                host=state.host,
                thing="kernel setting",
                value=name,
                remedy=(f"did you mean {hint}? Else " if hint else "")
                + "check the ESXi release: run 'esxcli system settings kernel list' on it",
                near_names=[state.settings[key].name for key in near],
            )
        found.append(setting)
    return found


def plan_kernel(state: KernelState, wanted: KernelWanted) -> list[Operation]:
    operations: list[Operation] = []
    seen: dict[str, str] = {}
    for name, setting in zip(wanted.settings, managed_settings(state, wanted)):
        given = wanted.settings[name]
        if setting.name in seen:
            raise RefusedError(
                f"given twice, as {seen[setting.name]} and {name}: the host ignores case",
                host=state.host,
                thing="kernel setting",
                value=setting.name,
                remedy="keep one of them",
            )
        seen[setting.name] = name
        try:
            value = canonical(setting.type, given)
        except ValueError as error:
            raise RefusedError(
                f"{setting.name} is of type {setting.type}: {error}; nothing was changed",
                host=state.host,
                thing="value",
                value=given,
                remedy="give a value of that type",
            ) from error
        try:
            canonical(setting.type, setting.configured)
        except ValueError as error:
            raise ParseError(
                f"{setting.name}: the host reports a configured value that is not of its own type {setting.type}",
                host=state.host,
                raw=setting.configured,
            ) from error
        if value == setting.configured:
            continue
        if is_security_setting(setting.name) and not wanted.allow_security_settings:
            raise RefusedError(
                f"changing it to {value} changes the security of the host, or keeps a host whose configuration is "
                "sealed by its TPM from booting; nothing was changed",
                host=state.host,
                thing="kernel setting",
                value=setting.name,
                remedy="save the recovery key ('esxcli system settings encryption recovery list'), then set "
                "allow_security_settings: true if it is really meant",
            )
        operations.append(
            Operation(
                description=f"configure kernel setting {setting.name} = {value} on {state.host} "
                f"(was {setting.configured}; in force: {setting.runtime})",
                command=command_line(KERNEL_SET, {"setting": setting.name, "value": value}),
                inverse=command_line(KERNEL_SET, {"setting": setting.name, "value": setting.configured}),
                changes={setting.name: (setting.configured, value)},
                reboot=Reboot.NONE if value == setting.runtime else Reboot.ESXI_HOST,
                payload={"setting": setting.name, "value": value},
            )
        )
    return operations


def with_configured(state: KernelState, operations: Sequence[Operation]) -> KernelState:
    """Return the state that `plan_kernel`'s operations lead to: Configured as planned, Runtime as it is."""
    settings = dict(state.settings)
    for operation in operations:
        key = operation.payload["setting"].lower()
        settings[key] = dataclasses.replace(settings[key], configured=operation.payload["value"])
    return dataclasses.replace(state, settings=settings)


def pending_kernel(settings: Sequence[KernelSetting], host: str) -> Pending:
    """Whatever is configured but not in force waits for a reboot of the host, whoever configured it."""
    reasons = tuple(
        f"{host}: kernel setting {s.name} is configured {s.configured} but {s.runtime} is in force"
        for s in settings
        if s.is_pending
    )
    return Pending(Reboot.ESXI_HOST if reasons else Reboot.NONE, reasons)


# ---------------------------------------------------------------- VM file
ALLOW_P2P = "pciPassthru.allowP2P"
RELAX_ACS = "pciPassthru.RelaxACSforP2P"
MAX_PASSTHROUGH_DEVICES = 16
# The only keys that this collection ever writes. hostd keeps keys of its own beside them, some with the same prefixes.
OWNED_KEYS = frozenset(key.lower() for key in (ALLOW_P2P, RELAX_ACS, USE_64BIT_MMIO, MMIO_SIZE_GB, NUMA_AFFINITY))
MEMORY_FIELD, FIRMWARE_FIELD = "memoryReservationLockedToMax", "firmware"


def gpu_key(index: int) -> str:
    return f"pciPassthru{index}.cfg.gpu-pci-id"


def is_owned(key: str) -> bool:
    match = GPU_KEY.match(key)
    return key.lower() in OWNED_KEYS or (match is not None and int(match.group(1)) < MAX_PASSTHROUGH_DEVICES)


@dataclasses.dataclass(frozen=True)
class VmxWanted:
    """What the VM's file shall say; None (for the last two of the first group: empty) leaves a key alone.

    ``numa``: ("auto",), node numbers as text, or () to remove the key. ``plan_only``: check mode, where a forbidden
    power-off is shown instead of refused. ``mmio_size_gb``: a number or "auto". ``reserve_memory`` and ``firmware``:
    None or "" leaves them alone; they are no keys but fields of the VM's configuration.
    """

    allow_p2p: bool | None = True
    relax_acs: bool | None = True
    use_64bit_mmio: bool | None = None
    mmio_size_gb: int | str | None = None
    reserve_memory: bool | None = None
    firmware: str = ""
    allow_shared_gpu: bool = False
    numa: tuple[str, ...] | None = None
    gpu_pci_ids: Mapping[int, str] = dataclasses.field(default_factory=dict)
    power_policy: str = "fail"
    final_power: str = "as_found"
    plan_only: bool = False


def _numa_value(state: VmState, numa: tuple[str, ...]) -> str:
    known = {node.id for node in state.numa_nodes}
    if numa != ("auto",):
        chosen = []
        for text in numa:
            if not text.isdigit() or (known and int(text) not in known):
                raise RefusedError(
                    "host {} of this VM has the NUMA nodes {}; nothing was changed".format(
                        state.host, ", ".join(str(n) for n in sorted(known)) or "unknown"
                    ),
                    host=state.name,
                    thing="NUMA node",
                    value=text,
                    remedy="name existing nodes, or 'auto' to take the node of the VM's own devices",
                )
            chosen.append(int(text))
        return ",".join(str(n) for n in sorted(set(chosen)))
    relevant = [d for d in state.devices if d.kind in ("gpu", "nic")]
    shown = describe_devices(relevant)
    if not relevant:
        raise RefusedError(
            "the VM has no passthrough NIC or GPU to derive a NUMA node from; nothing was changed",
            host=state.name,
            thing=NUMA_AFFINITY,
            value="auto",
            remedy="give the VM its devices first, or name the nodes",
        )
    if any(d.numa_node is None for d in relevant):
        raise RefusedError(
            f"host {state.host} does not say which node every device belongs to: {shown}; nothing was changed",
            host=state.name,
            thing=NUMA_AFFINITY,
            value="auto",
            remedy="read the slot table of the server and name the nodes yourself",
        )
    nodes = sorted({d.numa_node for d in relevant if d.numa_node is not None})
    if len(nodes) > 1:
        raise RefusedError(
            f"GPU and NIC sit on different NUMA nodes of host {state.host}: {shown}; "
            "traffic between them would cross the sockets, so "
            "there is no right node; nothing was changed",
            host=state.name,
            thing=NUMA_AFFINITY,
            value="auto",
            remedy="give the VM a GPU and a NIC of one node (esxi_pci_info lists free ones), or name the nodes "
            "yourself if the loss is acceptable",
            topology=[dataclasses.asdict(d) for d in relevant],
        )
    return str(nodes[0])


def _gpu_values(state: VmState, gpu_pci_ids: Mapping[int, str], allow_shared: bool) -> dict[str, str]:
    values: dict[str, str] = {}
    count = len([d for d in state.devices if d.index >= 0])
    # what stays in the file counts too: two numbers that name one GPU leave the other one idle
    taken = {
        address: key
        for key, address in state.gpu_keys().items()
        if int(GPU_KEY.match(key).group(1)) not in gpu_pci_ids  # type: ignore[union-attr]
    }
    by_address = {device.address: device for device in state.host_devices}
    for index in sorted(gpu_pci_ids):
        key = gpu_key(index)

        def refuse(what: str, remedy: str, key: str = key, value: str = gpu_pci_ids[index]) -> RefusedError:
            return RefusedError(what + "; nothing was changed", host=state.name, thing=key, value=value, remedy=remedy)

        if gpu_pci_ids[index] == "":
            values[key] = ""
            continue
        if not 0 <= index < min(count, MAX_PASSTHROUGH_DEVICES):
            raise refuse(
                f"the VM has {count} passthrough devices, so there is no number {index}",
                "count the VM's PCI devices from 0",
            )
        try:
            address = pci_address(gpu_pci_ids[index])
        except ValueError as error:
            raise refuse(str(error), "write it as 0000:3d:00.0") from error
        device = by_address.get(address)
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
        if address in taken and not allow_shared:
            raise refuse(
                f"{taken[address]} of this VM names the same GPU",
                "give each number a GPU of its own, or set allow_shared_gpu: true if they shall share it",
            )
        taken[address] = key
        values[key] = address
    return values


def _mmio_size(state: VmState, given: int | str) -> str:
    if given == "auto":
        need, how = required_mmio_gb(state)
        if need is None:
            raise RefusedError(
                f"the size cannot be computed: {how}; nothing was changed",
                host=state.name,
                thing=MMIO_SIZE_GB,
                value="auto",
                remedy="give mmio_size_gb as a number: the memory of all GPUs of the VM, rounded up to a power of two, "
                "and doubled",
            )
        have = state.value(MMIO_SIZE_GB) or ""
        enough = have.isdigit() and int(have) >= need and not int(have) & (int(have) - 1)
        return have if enough else str(need)
    size = int(given) if str(given).isdigit() else 0
    if size < 1 or size & (size - 1):
        raise RefusedError(
            "the size must be a power of two, or 'auto'",
            host=state.name,
            thing=MMIO_SIZE_GB,
            value=given,
            remedy="round the memory of the VM's GPUs up to a power of two and double it",
        )
    return str(size)


def wanted_keys(state: VmState, wanted: VmxWanted) -> dict[str, str]:
    """Key -> value that the VM's file shall have ("" = absent), owned keys only, values in vSphere's own spelling."""
    values: dict[str, str] = {}
    for key, truth in (
        (ALLOW_P2P, wanted.allow_p2p),
        (RELAX_ACS, wanted.relax_acs),
        (USE_64BIT_MMIO, wanted.use_64bit_mmio),
    ):
        if truth is not None:
            values[key] = boolean_text(truth)
    if wanted.mmio_size_gb is not None:
        values[MMIO_SIZE_GB] = _mmio_size(state, wanted.mmio_size_gb)
    values.update(_gpu_values(state, wanted.gpu_pci_ids, wanted.allow_shared_gpu))
    if wanted.numa is not None:
        values[NUMA_AFFINITY] = _numa_value(state, wanted.numa)
    return values


def _same(key: str, have: str | None, want: str) -> bool:
    if have is None or want == "":
        return (have or "") == want
    if want in ("TRUE", "FALSE"):
        return have.upper() == want
    if key == NUMA_AFFINITY:
        return sorted(have.replace(" ", "").split(",")) == sorted(want.split(","))
    return have.lower() == want.lower() if key.endswith("gpu-pci-id") else have == want


def differing_keys(state: VmState, wanted: VmxWanted) -> dict[str, str]:
    return {key: value for key, value in wanted_keys(state, wanted).items() if not _same(key, state.value(key), value)}


def differing_fields(state: VmState, wanted: VmxWanted) -> dict[str, Any]:
    """Field of the VM's configuration -> value, for those that shall change."""
    fields: dict[str, Any] = {}
    if wanted.reserve_memory is not None and wanted.reserve_memory != state.memory_reserved:
        capacity = sum(node.memory_mb for node in state.numa_nodes)
        if wanted.reserve_memory and 0 < capacity <= state.memory_mb:
            raise RefusedError(
                f"host {state.host} has {capacity} MB in all and cannot reserve the {state.memory_mb} MB of this VM; "
                "nothing was changed",
                host=state.name,
                thing="reserve_memory",
                value=True,
                remedy="give the VM less memory, or move it to a larger host",
            )
        fields[MEMORY_FIELD] = wanted.reserve_memory
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
            raise RefusedError(what + "; nothing was changed", host=state.name, thing="VM", remedy=remedy)


def power_down(state: VmState, policy: str, reason: str) -> Operation:
    shutdown = policy != "poweroff"
    return Operation(
        description="{} {} ({})".format(
            "shut down the guest of" if shutdown else "cut the power of", state.name, reason
        ),
        command="{} {}".format("ShutdownGuest" if shutdown else "PowerOffVM_Task", state.name),
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
    stale = _stale_keys(state, wanted) if is_on and wanted.power_policy != "fail" else []
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
                description=f"power on {state.name}",
                command="PowerOnVM_Task " + state.name,
                inverse="ShutdownGuest " + state.name,
                changes={"power": ("poweredOff" if must_be_off else state.power, "poweredOn")},
                payload={"action": "poweron"},
            )
        )
    return operations


def _stale_keys(state: VmState, wanted: VmxWanted) -> list[str]:
    return [key for key in wanted_keys(state, wanted) if key.lower() in state.changed_while_on]


def _planned_power_down(
    state: VmState, wanted: VmxWanted, changed: Mapping[str, str], stale: Sequence[str]
) -> Operation:
    keys = ", ".join("{}={}".format(k, v or "(removed)") for k, v in changed.items()) or ", ".join(stale)
    if wanted.power_policy == "fail":
        if wanted.plan_only:
            return power_down(state, "shutdown", f"to change {keys}; power_policy is 'fail': a real run refuses this")
        raise RefusedError(
            f"the VM is powered on and these keys can only be changed while it is off: {keys}; nothing was changed",
            host=state.name,
            thing="power_policy",
            value="fail",
            remedy="shut the VM down yourself, or set power_policy to 'shutdown' in a maintenance window",
            keys=dict(changed),
        )
    if wanted.power_policy == "shutdown" and not state.tools_running:
        raise RefusedError(
            f"VMware Tools do not run in the guest, so it cannot be shut down properly to change {keys}; nothing "
            "was changed",
            host=state.name,
            thing="power_policy",
            value="shutdown",
            remedy="start open-vm-tools in the guest, shut it down by hand, or accept with power_policy 'poweroff' "
            "what a power cut does to it",
        )
    return power_down(state, wanted.power_policy, "to change " + keys)


def _texts(fields: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in fields.items()}


def _reconfigure(state: VmState, changed: Mapping[str, str], fields: Mapping[str, Any], reboot: Reboot) -> Operation:
    before = {MEMORY_FIELD: state.memory_reserved, FIRMWARE_FIELD: state.firmware}

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


def pending_vmx(state: VmState, keys: Sequence[str]) -> Pending:
    """Owned keys changed after the VM's last power-on wait for a power cycle; a guest reboot is not enough."""
    if state.power != "poweredOn":
        return Pending()
    reasons = tuple(
        f"{state.name}: {key} was changed while the VM was on" for key in keys if key.lower() in state.changed_while_on
    )
    return Pending(Reboot.VM_POWER_CYCLE if reasons else Reboot.NONE, reasons)
