# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of a host reboot: guests down, maintenance, reboot, maintenance off, guests up. Pure."""

from __future__ import annotations

import dataclasses
from typing import List, Optional, Tuple

from .._layer import Operation, Reboot, RefusedError
from .state import HostState, HostVm


@dataclasses.dataclass(frozen=True)
class RebootWanted:
    """``required``: reboot whatever the settings say. ``pending_settings``: reboot if one of them waits for it.

    ``in_maintenance``: what to do with a host that already is in maintenance: refuse, allow (leave it there
    afterwards) or adopt (as if this run had entered it). ``power_on``: VMs that must run at the end, besides those that
    this run shut down.
    """

    required: bool = False
    pending_settings: Tuple[str, ...] = ()
    reason: Tuple[str, ...] = ()
    vm_policy: str = "refuse"
    vm_allowlist: Tuple[str, ...] = ()
    hard_off: bool = False
    in_maintenance: str = "refuse"
    restore_vms: bool = True
    power_on: Tuple[str, ...] = ()


def needs_reboot(state: HostState, wanted: RebootWanted) -> bool:
    """True once: a host that this run has rebooted is never rebooted again by it."""
    return not state.rebooted and (wanted.required or any(setting.is_pending for setting in state.pending))


def reasons(state: HostState, wanted: RebootWanted) -> List[str]:
    found = list(wanted.reason)
    found += [
        "kernel setting {0} is configured {1} but {2} is in force".format(s.name, s.configured, s.runtime)
        for s in state.pending
        if s.is_pending
    ]
    return found or (["required by the caller"] if wanted.required else [])


def _refuse(state: HostState, what: str, remedy: str, thing: str = "ESXi host", value: Optional[str] = None) -> RefusedError:
    return RefusedError(what + "; nothing was changed", host=state.name, thing=thing, value=value, remedy=remedy)


def check_host(state: HostState, wanted: RebootWanted) -> None:
    """Refuse a host that must not, or cannot, be rebooted now."""
    if state.connection != "connected":
        raise _refuse(
            state,
            "its connection state is {0}".format(state.connection),
            "reconnect the host in vCenter (a wrong password or certificate shows as 'disconnected'), then run again",
        )
    if state.power != "poweredOn":
        raise _refuse(state, "its power state is {0}".format(state.power), "wake it up and take it out of DPM first")
    if not state.reboot_supported:
        raise _refuse(state, "vSphere says that this host cannot be rebooted remotely", "reboot it by hand")
    if state.in_maintenance and not state.entered_maintenance and wanted.in_maintenance == "refuse":
        raise _refuse(
            state,
            "the host already is in maintenance mode and this run did not put it there",
            "ask who did. If an earlier run of yours died half-way, set in_maintenance to 'adopt': it goes on from there and "
            "leaves maintenance at the end (name the VMs to start in power_on). With 'allow' the host stays in maintenance",
        )


def check_vms(state: HostState, wanted: RebootWanted) -> List[HostVm]:
    """Return the running VMs to shut down, in name order; `RefusedError` names every VM that forbids it and why."""
    problems: List[str] = []
    targets: List[HostVm] = []
    for vm in sorted(state.running, key=lambda vm: vm.name):
        if vm.is_agent:
            continue
        if vm.is_vcenter:
            problems.append("{0} is this vCenter itself".format(vm.name))
        elif vm.is_controller:
            problems.append("{0} is the machine that runs this play".format(vm.name))
        elif wanted.vm_policy == "refuse":
            problems.append("{0} is powered on (vm_policy is 'refuse')".format(vm.name))
        elif vm.name not in wanted.vm_allowlist:
            problems.append("{0} is powered on and not in vm_allowlist".format(vm.name))
        elif [other.name for other in state.vms].count(vm.name) > 1:
            problems.append("{0} is the name of several VMs on this host, so the list does not say which".format(vm.name))
        elif vm.question:
            problems.append("{0} waits for an answer: {1}".format(vm.name, vm.question))
        elif not vm.tools_running and not wanted.hard_off:
            problems.append("{0} cannot be shut down: VMware Tools do not run in it (hard_off is false)".format(vm.name))
        else:
            targets.append(vm)
    if problems:
        raise RefusedError(
            "VMs on this host stand in the way of a reboot: {0}; nothing was changed".format("; ".join(problems)),
            host=state.name,
            thing="VMs",
            remedy="move or stop them, or set vm_policy to 'shutdown' and name the ones that may be stopped in vm_allowlist; "
            "a VM that runs vCenter or the play must run on another host",
            vms=[vm.name for vm in state.running],
        )
    return targets


def plan_reboot(state: HostState, wanted: RebootWanted) -> List[Operation]:
    """All steps that are still to do, from whatever point the state says."""
    operations: List[Operation] = []
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
            operations.append(_enter(state))
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
        description="{0} {1} on {2}".format("shut down the guest of" if orderly else "cut the power of", vm.name, state.name),
        command="{0} {1}".format("ShutdownGuest" if orderly else "PowerOffVM_Task", vm.name),
        inverse="PowerOnVM_Task " + vm.name,
        changes={"vm " + vm.name: ("poweredOn", "poweredOff")},
        disrupts="VM {0} stops until the host is back".format(vm.name),
        payload={"action": "shutdown", "vm": vm.name, "moid": vm.moid, "orderly": orderly, "hard_off": wanted.hard_off},
    )


def _enter(state: HostState) -> Operation:
    return Operation(
        description="put {0} into maintenance mode".format(state.name),
        command="EnterMaintenanceMode_Task {0} evacuatePoweredOffVms=false".format(state.name),
        inverse="ExitMaintenanceMode_Task " + state.name,
        changes={"maintenance": (False, True)},
        disrupts="no VM can start on {0}".format(state.name),
        payload={"action": "enter"},
    )


def _reboot(state: HostState, wanted: RebootWanted) -> Operation:
    why = "; ".join(reasons(state, wanted))
    return Operation(
        description="reboot ESXi host {0} ({1})".format(state.name, why),
        command="RebootHost_Task {0} force=false".format(state.name),
        changes={"boot": ("running since {0}".format(state.boot_time.isoformat() if state.boot_time else "unknown"), "rebooted")},
        disrupts="ESXi host {0} and everything on it".format(state.name),
        reboot=Reboot.ESXI_HOST,
        payload={"action": "reboot"},
    )


def _exit(state: HostState) -> Operation:
    return Operation(
        description="take {0} out of maintenance mode".format(state.name),
        command="ExitMaintenanceMode_Task " + state.name,
        inverse="" if state.entered_maintenance else "EnterMaintenanceMode_Task " + state.name,
        changes={"maintenance": (True, False)},
        payload={"action": "exit"},
    )


def _power_on(state: HostState, wanted: RebootWanted, stopped: List[str]) -> List[Operation]:
    known = {vm.name: vm for vm in state.vms}
    names = [*(stopped if wanted.restore_vms else ()), *wanted.power_on]
    operations: List[Operation] = []
    for name in dict.fromkeys(names):
        vm = known.get(name)
        if vm is None:
            raise _refuse(
                state, "no such VM is registered on this host", "name VMs of this host only", thing="power_on", value=name
            )
        running = vm.power == "poweredOn" and name not in stopped
        if running or name in state.powered_on or (name in state.shut_down and vm.power == "poweredOn"):
            continue
        operations.append(
            Operation(
                description="power on {0}".format(name),
                command="PowerOnVM_Task " + name,
                inverse="" if name in stopped else "ShutdownGuest " + name,
                changes={"vm " + name: ("poweredOff", "poweredOn")},
                payload={"action": "poweron", "vm": name, "moid": vm.moid},
            )
        )
    return operations
