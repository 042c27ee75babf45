# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of a host reboot: guests down, maintenance, reboot, maintenance off, guests up. Pure."""

from __future__ import annotations

import dataclasses

from .._layer import Operation, Reboot, RefusedError
from .state import HostState, HostVm


@dataclasses.dataclass(frozen=True)
class RebootWanted:
    """``required``: reboot whatever the settings say. ``pending_settings``: reboot if one of them waits for it.

    ``in_maintenance``: what to do with a host that already is in maintenance: refuse, allow (leave it there
    afterwards) or adopt (as if this run had entered it). ``vsan_mode``: what happens to vSAN data meanwhile, "" leaves
    that to vCenter. ``power_on``: VMs that must run at the end, besides those that
    this run shut down.
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


def needs_reboot(state: HostState, wanted: RebootWanted) -> bool:
    """True once: a host that this run has rebooted is never rebooted again by it."""
    return not state.rebooted and (wanted.required or any(setting.is_pending for setting in state.pending))


def reasons(state: HostState, wanted: RebootWanted) -> list[str]:
    found = list(wanted.reason)
    found += [
        f"kernel setting {s.name} is configured {s.configured} but {s.runtime} is in force"
        for s in state.pending
        if s.is_pending
    ]
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
    if state.in_maintenance and not state.entered_maintenance and wanted.in_maintenance == "refuse":
        raise _refuse(
            state,
            "the host already is in maintenance mode and this run did not put it there",
            "ask who did. If an earlier run of yours died half-way, set in_maintenance to 'adopt': it goes on from "
            "there and leaves maintenance at the end (name the VMs to start in power_on). With 'allow' the host stays "
            "in maintenance",
        )


def check_vms(state: HostState, wanted: RebootWanted) -> list[HostVm]:
    """Return the running VMs to shut down, in name order; `RefusedError` names every VM that forbids it and why."""
    problems: list[str] = []
    targets: list[HostVm] = []
    for vm in sorted(state.running, key=lambda vm: vm.name):
        if vm.is_agent:
            continue
        pinned = ", and its passthrough devices keep it on this host" if vm.has_passthrough else ""
        if vm.is_vcenter:
            problems.append(f"{vm.name} is this vCenter itself")
        elif vm.is_controller:
            problems.append(f"{vm.name} is the machine that runs this play")
        elif wanted.vm_policy == "refuse":
            problems.append(f"{vm.name} is powered on (vm_policy is 'refuse'){pinned}")
        elif vm.name not in wanted.vm_allowlist:
            problems.append(f"{vm.name} is powered on and not in vm_allowlist{pinned}")
        elif [other.name for other in state.vms].count(vm.name) > 1:
            problems.append(f"{vm.name} is the name of several VMs on this host, so the list does not say which")
        elif vm.question:
            problems.append(f"{vm.name} waits for an answer: {vm.question}")
        elif not vm.tools_running and not wanted.hard_off:
            problems.append(f"{vm.name} cannot be shut down: VMware Tools do not run in it (hard_off is false)")
        else:
            targets.append(vm)
    if problems:
        raise RefusedError(
            "VMs on this host stand in the way of a reboot: {}; nothing was changed".format("; ".join(problems)),
            host=state.name,
            thing="VMs",
            remedy="move or stop them, or set vm_policy to 'shutdown' and name those that may stop in vm_allowlist; "
            "a VM that runs vCenter or the play must run on another host",
            vms=[vm.name for vm in state.running],
        )
    return targets


def plan_reboot(state: HostState, wanted: RebootWanted) -> list[Operation]:
    """All steps that are still to do, from whatever point the state says."""
    operations: list[Operation] = []
    reboot = needs_reboot(state, wanted)
    stopped = list(state.shut_down)
    maintenance = state.in_maintenance
    ours = state.entered_maintenance
    if reboot:
        check_host(state, wanted)
        for vm in check_vms(state, wanted):
            operations.append(_shut_down(state, vm, wanted))
            stopped.append(vm.name)
        if not maintenance:
            operations.append(_enter(state, wanted))
            maintenance = ours = True
        operations.append(_reboot(state, wanted))
    if maintenance and not state.left_maintenance and (ours or wanted.in_maintenance == "adopt"):
        operations.append(_exit(state))
        maintenance = False
    if not maintenance:
        operations += _power_on(state, wanted, stopped)
    return operations


def _shut_down(state: HostState, vm: HostVm, wanted: RebootWanted) -> Operation:
    orderly = vm.tools_running
    return Operation(
        description="{} {} on {}".format(
            "shut down the guest of" if orderly else "cut the power of", vm.name, state.name
        ),
        command="{} {}".format("ShutdownGuest" if orderly else "PowerOffVM_Task", vm.name),
        inverse="PowerOnVM_Task " + vm.name,
        changes={"vm " + vm.name: ("poweredOn", "poweredOff")},
        disrupts=f"VM {vm.name} stops until the host is back",
        payload={"action": "shutdown", "vm": vm.name, "moid": vm.moid, "orderly": orderly, "hard_off": wanted.hard_off},
    )


def _enter(state: HostState, wanted: RebootWanted) -> Operation:
    vsan = f" vsanMode={wanted.vsan_mode}" if wanted.vsan_mode else ""
    return Operation(
        description=f"put {state.name} into maintenance mode",
        command=f"EnterMaintenanceMode_Task {state.name} evacuatePoweredOffVms=false{vsan}",
        inverse="ExitMaintenanceMode_Task " + state.name,
        changes={"maintenance": (False, True)},
        disrupts=f"no VM can start on {state.name}",
        payload={"action": "enter"},
    )


def _reboot(state: HostState, wanted: RebootWanted) -> Operation:
    why = "; ".join(reasons(state, wanted))
    return Operation(
        description=f"reboot ESXi host {state.name} ({why})",
        command=f"RebootHost_Task {state.name} force=false",
        changes={
            "boot": (
                "running since {}".format(state.boot_time.isoformat() if state.boot_time else "unknown"),
                "rebooted",
            )
        },
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


def _power_on(state: HostState, wanted: RebootWanted, stopped: list[str]) -> list[Operation]:
    known = {vm.name: vm for vm in state.vms}
    names = [*(stopped if wanted.restore_vms else ()), *wanted.power_on]
    operations: list[Operation] = []
    for name in dict.fromkeys(names):
        vm = known.get(name)
        if vm is None:
            raise _refuse(
                state,
                "no such VM is registered on this host",
                "name VMs of this host only",
                thing="power_on",
                value=name,
            )
        running = vm.power == "poweredOn" and name not in stopped
        if running or name in state.powered_on or (name in state.shut_down and vm.power == "poweredOn"):
            continue
        operations.append(
            Operation(
                description=f"power on {name}",
                command="PowerOnVM_Task " + name,
                inverse="" if name in stopped else "ShutdownGuest " + name,
                changes={"vm " + name: ("poweredOff", "poweredOn")},
                payload={"action": "poweron", "vm": name, "moid": vm.moid},
            )
        )
    return operations
