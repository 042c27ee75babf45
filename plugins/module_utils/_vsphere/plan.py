"""What has to change in a host's kernel settings. Pure: no I/O, no Ansible."""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any, Mapping, Sequence

from .._layer import Operation, ParseError, Pending, Reboot, RefusedError
from .esxcli import command_line
from .state import KernelSetting, KernelState, canonical

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


def _refused(state: KernelState, what: str, remedy: str, thing: str, value: Any) -> RefusedError:
    return RefusedError(what, host=state.host, thing=thing, value=value, remedy=remedy)


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
            what = f"given twice, as {seen[setting.name]} and {name}: the host ignores case"
            raise _refused(state, what, "keep one of them", "kernel setting", setting.name)
        seen[setting.name] = name
        try:
            value = canonical(setting.type, given)
        except ValueError as error:
            what = f"{setting.name} is of type {setting.type}: {error}; nothing was changed"
            raise _refused(state, what, "give a value of that type", "value", given) from error
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
            raise _refused(
                state,
                f"changing it to {value} changes the security of the host, or keeps a host whose configuration is "
                "sealed by its TPM from booting; nothing was changed",
                "save the recovery key ('esxcli system settings encryption recovery list'), then set "
                "allow_security_settings: true if it is really meant",
                "kernel setting",
                setting.name,
            )
        operations.append(
            Operation(
                description=f"configure kernel setting {setting.name} = {value} on {state.host} "
                f"(was {setting.configured}; in force: {setting.runtime})",
                command=command_line(KERNEL_SET, {"setting": setting.name, "value": value}),
                inverse=command_line(KERNEL_SET, {"setting": setting.name, "value": setting.configured}),
                changes={setting.name: (setting.configured, value)},
                reboot=Reboot.NONE if value == setting.runtime else Reboot.ESXI_HOST,
                payload={"host": state.host, "setting": setting.name, "value": value},
            )
        )
    return operations


def with_configured(state: KernelState, operations: Sequence[Operation]) -> KernelState:
    """Return the state that those of the operations that are this host's lead to: Configured as planned, Runtime as it
    is."""
    settings = dict(state.settings)
    for operation in operations:
        if operation.payload["host"] == state.host:
            key = operation.payload["setting"].lower()
            settings[key] = dataclasses.replace(settings[key], configured=operation.payload["value"])
    return dataclasses.replace(state, settings=settings)


def pending_kernel(settings: Sequence[KernelSetting], host: str) -> Pending:
    """Whatever is configured but not in force waits for a reboot of the host, by whichever user it was configured."""
    reasons = tuple(f"{host}: {setting.pending_text}" for setting in settings if setting.is_pending)
    return Pending(Reboot.ESXI_HOST if reasons else Reboot.NONE, reasons)
