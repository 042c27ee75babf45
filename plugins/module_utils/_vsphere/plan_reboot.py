"""The order of a host reboot: guests down, maintenance, reboot, maintenance off, guests up. Pure."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Iterator, Sequence

from .._layer import Operation, Reboot, RefusedError
from .state import HostState, HostVm


@dataclasses.dataclass(frozen=True)
class RebootWanted:
    """``required``: reboot whatever the settings say. ``pending_settings``: reboot if one of them waits for it.

    ``in_maintenance``: what to do with a host that already is in maintenance: refuse, allow (leave it there
    afterwards) or adopt (as if this run had entered it). ``vsan_mode``: what happens to vSAN data meanwhile, "" leaves
    that to vCenter. ``power_on``: VMs that must run at the end, besides those that
    this run shut down. ``recover`` adopts only what the records in vCenter prove to be an interrupted run's.
    ``vm_allowlist`` and ``power_on`` name VMs by managed object id or by name. ``booted_at``: the reboot is wanted only
    while the host still runs since then; afterwards ``required`` means nothing and only settings that wait count.
    """

    required: bool = False
    pending_settings: tuple[str, ...] = ()
    reason: tuple[str, ...] = ()
    vm_policy: str = "refuse"
    vm_allowlist: tuple[str, ...] = ()
    hard_off: bool = False
    in_maintenance: str = "refuse"
    restore_vms: bool = True
    power_on: tuple[str, ...] = ()
    vsan_mode: str = ""
    booted_at: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True)
class Timeouts:
    """Seconds."""

    shutdown: float = 300.0
    maintenance: float = 600.0
    reboot: float = 3600.0
    power_on: float = 300.0


_SAME_BOOT = datetime.timedelta(seconds=60)


def was_rebooted_since(state: HostState, wanted: RebootWanted) -> bool:
    """Whether the host runs since another boot than the one that the plan was made for."""
    if wanted.booted_at is None or state.rebooted:
        return False
    return not is_same_boot(state.boot_time, wanted.booted_at)


def is_same_boot(one: datetime.datetime | None, other: datetime.datetime | None) -> bool:
    """No host boots twice within a minute, so a smaller step is a clock that was set right."""
    return one == other or (one is not None and other is not None and abs(one - other) <= _SAME_BOOT)


def needs_reboot(state: HostState, wanted: RebootWanted) -> bool:
    """True once: a host that this run has rebooted is never rebooted again by it."""
    if state.rebooted or state.superseded:
        return False
    required = wanted.required and not was_rebooted_since(state, wanted)
    return required or any(setting.is_pending for setting in state.pending)


def reasons(state: HostState, wanted: RebootWanted) -> list[str]:
    found = [] if was_rebooted_since(state, wanted) else list(wanted.reason)
    found += [setting.pending_text for setting in state.pending if setting.is_pending]
    return found or (["required by the caller"] if wanted.required else [])


def _refuse(
    state: HostState, what: str, remedy: str, thing: str = "ESXi host", value: str | None = None
) -> RefusedError:
    return RefusedError(what + "; nothing was changed", host=state.name, thing=thing, value=value, remedy=remedy)


def check_host(state: HostState, wanted: RebootWanted) -> None:
    """Refuse a host that must not, or cannot, be rebooted now."""
    if state.connection != "connected":
        raise _refuse(
            state,
            f"its connection state is {state.connection}",
            "reconnect the host in vCenter (a wrong password or certificate shows as 'disconnected'), then run again",
        )
    if state.power != "poweredOn":
        raise _refuse(state, f"its power state is {state.power}", "wake it up and take it out of DPM first")
    if state.standby not in ("", "none"):
        raise _refuse(
            state,
            f"its standby mode is {state.standby}: power management is putting it to sleep or waking it",
            "switch DPM off for this host, or wait until it is through, then run again",
        )
    if not state.reboot_supported:
        raise _refuse(state, "vSphere says that this host cannot be rebooted remotely", "reboot it by hand")
    if state.in_maintenance and wanted.in_maintenance != "allow" and not may_leave(state, wanted):
        doubt = state.doubt or "an interrupted run has marked it: 'recover' finishes that"
        raise _refuse(
            state,
            f"the host already is in maintenance mode and this run did not put it there: {state.story}. ({doubt})",
            "ask the user who entered it; it is safe to wait and run again. Only if you know that an interrupted run "
            "of yours left it so: set in_maintenance to 'adopt' (playbooks: -e rocemesh_adopt_maintenance=HOST). It "
            "goes on from there and leaves maintenance at the end; name the VMs to start in power_on. With 'allow' "
            "the host stays in maintenance",
        )


def may_leave(state: HostState, wanted: RebootWanted) -> bool:
    """Whether maintenance mode may be ended at the end."""
    if state.entered_maintenance or wanted.in_maintenance == "adopt":
        return True
    return wanted.in_maintenance == "recover" and not state.doubt


def check_vms(state: HostState, wanted: RebootWanted) -> tuple[list[HostVm], list[HostVm]]:
    """Return the running VMs to shut down and those to move, in name order; `RefusedError` names every VM that forbids
    the reboot, and why."""
    problems: list[str] = []
    targets: list[HostVm] = []
    leaving: list[HostVm] = []
    for vm in sorted(state.running, key=lambda vm: (vm.name, vm.moid)):
        if vm.is_agent:
            continue
        problem = _problem(state, wanted, vm)
        if problem:
            problems.append(problem)
        elif _is_moved(vm, wanted):
            leaving.append(vm)
        else:
            targets.append(vm)
    if leaving and not state.drs and not state.refuges:
        problems.append(
            "no other host of its cluster is connected and open for {}".format(", ".join(vm.name for vm in leaving))
        )
    if problems:
        raise RefusedError(
            "VMs on this host stand in the way of a reboot: {}; nothing was changed".format("; ".join(problems)),
            host=state.name,
            thing="VMs",
            remedy="move or stop them, or set vm_policy to 'shutdown' (or 'evacuate', which moves those that can move) "
            "and name those that may stop in vm_allowlist; a VM that runs vCenter or the play must run on another host",
            vms=[vm.name for vm in state.running],
        )
    return targets, leaving


def _is_moved(vm: HostVm, wanted: RebootWanted) -> bool:
    return wanted.vm_policy == "evacuate" and not vm.has_passthrough


def _problem(state: HostState, wanted: RebootWanted, vm: HostVm) -> str:
    """Why this VM forbids the reboot, "" if it does not; the first reason counts."""
    pinned = ", and its passthrough devices keep it on this host" if vm.has_passthrough else ""
    stays = not _is_moved(vm, wanted)
    twins = [other.name for other in state.vms].count(vm.name) > 1
    reasons_against = {
        f"{vm.name} is this vCenter itself": vm.is_vcenter,
        f"{vm.name} is the machine that runs this play": vm.is_controller,
        f"{vm.name} is powered on (vm_policy is 'refuse'){pinned}": wanted.vm_policy == "refuse",
        f"{vm.name} is powered on and not in vm_allowlist{pinned}": stays
        and not {vm.moid, vm.name} & set(wanted.vm_allowlist),
        f"{vm.name} is the name of several VMs on this host, so the list does not say which": (
            stays and twins and vm.moid not in wanted.vm_allowlist
        ),
        f"{vm.name} waits for an answer: {vm.question}": bool(vm.question),
        f"{vm.name} cannot be shut down: VMware Tools do not run in it (hard_off is false)": (
            stays and not vm.tools_running and not wanted.hard_off
        ),
    }
    return next((text for text, applies in reasons_against.items() if applies), "")


def plan_reboot(state: HostState, wanted: RebootWanted) -> list[Operation]:
    """All steps that are still to do, from whatever point the state says."""
    operations: list[Operation] = []
    reboot = needs_reboot(state, wanted)
    stopped = list(state.shut_down)
    maintenance = state.in_maintenance
    ours = state.entered_maintenance
    if reboot:
        check_host(state, wanted)
        targets, leaving = check_vms(state, wanted)
        refuges = list(state.refuges)
        for place, vm in enumerate(leaving if not state.drs else ()):
            operations.append(_move(state, vm, refuges[place % len(refuges)]))
        for vm in targets:
            operations.append(_shut_down(state, vm, wanted, is_last=vm is targets[-1]))
            stopped.append(vm.moid)
        if not maintenance:
            operations.append(_enter(state, wanted, leaving if state.drs else []))
            maintenance = ours = True
        operations.append(_reboot(state, wanted))
    if maintenance and not state.left_maintenance and (ours or may_leave(state, wanted)):
        operations.append(_exit(state))
        maintenance = False
    if not maintenance:
        operations += _power_on(state, wanted, stopped)
    return operations


def _move(state: HostState, vm: HostVm, refuge: tuple[str, str]) -> Operation:
    moid, name = refuge
    return Operation(
        description=f"move {vm.name} from {state.name} to {name}",
        command=f"MigrateVM_Task {vm.name} to {name}",
        inverse=f"MigrateVM_Task {vm.name} to {state.name}",
        changes={"vm " + vm.name: (state.name, name)},
        payload={"action": "move", "vm": vm.name, "moid": vm.moid, "target": moid, "target_name": name},
    )


def _shut_down(state: HostState, vm: HostVm, wanted: RebootWanted, is_last: bool) -> Operation:
    orderly = vm.tools_running
    what, call = ("shut down the guest", "ShutdownGuest") if orderly else ("cut the power", "PowerOffVM_Task")
    return Operation(
        description=f"{what} of {vm.name} on {state.name}",
        command=f"{call} {vm.name}",
        inverse="PowerOnVM_Task " + vm.name,
        changes={"vm " + vm.name: ("poweredOn", "poweredOff")},
        disrupts=f"VM {vm.name} stops until the host is back",
        payload={
            "action": "shutdown",
            "vm": vm.name,
            "moid": vm.moid,
            "orderly": orderly,
            "hard_off": wanted.hard_off,
            "last": is_last,
        },
    )


def _enter(state: HostState, wanted: RebootWanted, leaving: list[HostVm]) -> Operation:
    vsan = f" vsanMode={wanted.vsan_mode}" if wanted.vsan_mode else ""
    return Operation(
        description=f"put {state.name} into maintenance mode"
        + ("; DRS moves {}".format(", ".join(vm.name for vm in leaving)) if leaving else ""),
        command=f"EnterMaintenanceMode_Task {state.name} evacuatePoweredOffVms=false{vsan}",
        inverse="ExitMaintenanceMode_Task " + state.name,
        changes={"maintenance": (False, True), **{"vm " + vm.name: (state.name, "moved by DRS") for vm in leaving}},
        disrupts=f"no VM can start on {state.name}",
        payload={"action": "enter"},
    )


def _reboot(state: HostState, wanted: RebootWanted) -> Operation:
    why = "; ".join(reasons(state, wanted))
    since = f"running since {state.boot_time.isoformat() if state.boot_time else 'unknown'}"
    return Operation(
        description=f"reboot ESXi host {state.name} ({why})",
        command=f"RebootHost_Task {state.name} force=false",
        changes={"boot": (since, "rebooted")},
        disrupts=f"ESXi host {state.name} and everything on it",
        reboot=Reboot.ESXI_HOST,
        payload={"action": "reboot"},
    )


def _exit(state: HostState) -> Operation:
    return Operation(
        description=f"take {state.name} out of maintenance mode",
        command="ExitMaintenanceMode_Task " + state.name,
        inverse="" if state.entered_maintenance else "EnterMaintenanceMode_Task " + state.name,
        changes={"maintenance": (True, False)},
        payload={"action": "exit"},
    )


def _power_on(state: HostState, wanted: RebootWanted, stopped: list[str]) -> Iterator[Operation]:
    down = _ids(state, stopped)
    started, shut_down = _ids(state, state.powered_on), _ids(state, state.shut_down)
    explicit = [_one_vm(state, key).moid for key in wanted.power_on]
    known = {vm.moid: vm for vm in state.vms}
    for moid in dict.fromkeys([*(down if wanted.restore_vms else ()), *explicit]):
        vm = known[moid]
        running = vm.power == "poweredOn" and moid not in down
        if running or moid in started or (moid in shut_down and vm.power == "poweredOn"):
            continue
        yield Operation(
            description=f"power on {vm.name}",
            command="PowerOnVM_Task " + vm.name,
            inverse="" if moid in down else "ShutdownGuest " + vm.name,
            changes={"vm " + vm.name: ("poweredOff", "poweredOn")},
            payload={"action": "poweron", "vm": vm.name, "moid": moid},
        )


def _ids(state: HostState, keys: Sequence[str]) -> list[str]:
    """Managed object ids of what this run has touched; a VM that left the host is not its any more."""
    return [vm.moid for key in keys for vm in state.vms if key in (vm.moid, vm.name)]


def _one_vm(state: HostState, key: str) -> HostVm:
    """The VM of that managed object id or, if only one has it, of that name."""
    found = [vm for vm in state.vms if vm.moid == key] or [vm for vm in state.vms if vm.name == key]
    if len(found) == 1:
        return found[0]
    raise _refuse(
        state,
        "several VMs of this host have that name" if found else "no such VM is registered on this host",
        "name VMs of this host only, by managed object id if a name is not enough",
        thing="power_on",
        value=key,
    )
