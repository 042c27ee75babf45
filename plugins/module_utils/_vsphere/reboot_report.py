"""What a reboot says about itself: the way on after a failure, the undo of what is left, the warnings. Pure."""

from __future__ import annotations

import datetime
from typing import Iterator, Sequence

from .._layer import LayerError
from .ownership import stays_text
from .plan_reboot import RebootWanted, may_leave, needs_reboot, was_rebooted_since
from .state import HostState


def say_how_to_resume(error: LayerError, host: str, mode: str, down: Sequence[str], entered: bool) -> None:
    """Add what is not as it was found NOW, and the one call that puts it right. ``entered``: the maintenance mode that
    the host is in is this run's; only then a user is advised to adopt it."""
    error.details.setdefault("vms_shut_down", list(down))
    error.details.setdefault("entered_maintenance", entered)
    if not entered and not down:
        return
    error.details.setdefault("resume", {**({"in_maintenance": "adopt"} if entered else {}), "power_on": list(down)})
    off = ", ".join(down) or "none"
    adopt = "in_maintenance=adopt and " if entered else ""
    error.args = (
        f"{error} Now {host} is {mode}; VMs that this run stopped and that are not up again: {off}. "
        f"To go on from here run again with {adopt}power_on={list(down)} (a playbook: the same command).",
    )


def net_undo(first: HostState, state: HostState) -> list[str]:
    """What takes back the difference between the first look and now: most steps of a finished reboot cancel out."""
    before = {vm.moid: vm.power for vm in first.vms}
    commands = []
    for vm in state.vms:
        if before.get(vm.moid) == "poweredOn" and vm.power == "poweredOff":
            commands.append("PowerOnVM_Task " + vm.name)
        elif before.get(vm.moid) == "poweredOff" and vm.power == "poweredOn":
            commands.append("ShutdownGuest " + vm.name)
    if state.in_maintenance and not first.in_maintenance:
        commands.insert(0, "ExitMaintenanceMode_Task " + state.name)
    elif first.in_maintenance and not state.in_maintenance:
        commands.append("EnterMaintenanceMode_Task " + state.name)
    return commands


def warnings_of(state: HostState, wanted: RebootWanted, *, unproved: bool, lost: bool) -> Iterator[str]:
    """``unproved``: vCenter shows no event about our maintenance mode; ``lost``: it ended without us."""
    if state.in_maintenance and not needs_reboot(state, wanted) and not may_leave(state, wanted):
        yield stays_text(state.name, state.moid, state.story, state.doubt)
    if unproved:
        yield (
            f"{state.name}: vCenter shows no event about its maintenance mode (the account needs to read events), so "
            "a run that dies there must be finished by hand"
        )
    if lost:
        yield f"{state.name}: the host came back from its reboot without maintenance mode"
    if state.superseded or was_rebooted_since(state, wanted):
        yield f"{state.name}: another client rebooted it after this run was planned, so it was not rebooted again"


def iso(moment: datetime.datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
