"""What has to change on a card, what it waits for, and what a state means. Pure: no I/O, no Ansible.

The truth about ATS has two independent witnesses: the card's Current value (not Next Boot, not the star: Next Boot
says True right after `set`, and the star never leaves a card that differs from its factory state) and the Enable bit
in the function's configuration space, which the hypervisor programs. Which of the two is missing tells the layer.
The rows about the hypervisor are inferred, not verified on hardware.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
from typing import Any, Sequence

from .._layer import LayerError, Operation, Pending, Reboot, RefusedError, VerifyError
from .state import PARAMETER, NicDevice, NicState
from .tool_state import BARE_METAL


@dataclasses.dataclass(frozen=True)
class AtsWanted:
    """``enabled`` None: report only. The two times are seconds since the epoch, UTC, or None when not given."""

    enabled: bool | None
    missing_is_failure: bool = True
    require_active: bool = False
    host_boot_time: float | None = None
    settled_since: float | None = None
    bare_metal_allowed: bool = False


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """``name``: the enum value of the result; ``layer``: who has to act; ``meaning`` and ``action`` for a person."""

    name: str
    layer: str
    meaning: str
    action: str


_NOT_GUEST = "a restart of the guest does not load it, only a reboot of the ESXi host resets the card's slot"

DIAGNOSES = {
    name: Diagnosis(name, *row)
    for name, row in {
        "unsupported": (
            "nic_firmware",
            f"the card's firmware has no {PARAMETER}",
            "update the firmware to a version that has it, then reboot the ESXi host; or use a ConnectX-5 or newer",
        ),
        "tool_too_old": (
            "guest",
            f"the tool does not know {PARAMETER}",
            "install mlxconfig/mstconfig 4.13 or newer (package mstflint)",
        ),
        "virtual_function": (
            "esxi_host",
            "a virtual function: its configuration belongs to the physical function outside this VM",
            "set ATS on the physical function from the ESXi host, or pass the whole card through",
        ),
        "disabled": ("nic", "ATS is off, now and for the next boot", "run with state=enabled"),
        "pending": ("esxi_host", f"stored for the next boot and not loaded; {_NOT_GUEST}", "reboot the ESXi host"),
        "active": ("none", "ATS is on in the card and enabled on its PCI function", ""),
        "nic_ready": (
            "none",
            "ATS is on in the card; the PCI function was not read",
            "run with verify_pci=true to see whether the hypervisor enabled it",
        ),
        "host_not_enabled": (
            "esxi_host_or_vm",
            "the card offers ATS and it is not enabled: the ESXi host booted without atsSupport, or the VM was powered"
            " on without its P2P keys. The card is not to blame",
            "check the Runtime value of atsSupport on the host, and pciPassthru.allowP2P and"
            " pciPassthru.RelaxACSforP2P of the VM, then power the VM off and on",
        ),
        "capability_hidden": (
            "esxi_host_or_vm",
            "the card says that ATS is on, its PCI function shows no ATS capability: the guest has no extended"
            " configuration space (256 bytes, not 4096), the hypervisor hides it, or the card was not really reset",
            "look at the size of the function's config file in sysfs; after that, power the server off and on",
        ),
        "disable_pending": (
            "nic",
            "ATS is on and will be off after the next reboot of the ESXi host",
            "run with state=enabled to keep it, or reboot the host to lose it",
        ),
        "current_unknown": (
            "esxi_host",
            "set for the next boot; this firmware does not tell what is loaded, and the PCI function is not enabled",
            "reboot the ESXi host; if nothing changes then, check atsSupport of the host and the P2P keys of the VM",
        ),
        "inconsistent": (
            "nic",
            "the card says that ATS is off, its PCI function says that it is enabled",
            "reboot the ESXi host and look again; report it if it stays",
        ),
    }.items()
}


def _without_current(device: NicDevice) -> str:
    """Firmware without a Current column: the PCI function is the only witness of what is loaded."""
    if device.pci_ats is None:
        return "current_unknown" if device.next else "disabled"
    if device.next:
        return "active" if device.pci_ats.enabled else "current_unknown"
    return "disable_pending" if device.pci_ats.enabled else "disabled"


def _with_current(device: NicDevice) -> str:
    if not device.current:
        if device.pci_ats is not None and device.pci_ats.enabled:
            return "inconsistent"
        return "pending" if device.next else "disabled"
    if not device.next:
        return "disable_pending"
    if device.pci_ats is None:
        return "nic_ready"
    if not device.pci_ats.present:
        return "capability_hidden"
    return "active" if device.pci_ats.enabled else "host_not_enabled"


def diagnose(device: NicDevice) -> Diagnosis:
    if device.is_vf:
        return DIAGNOSES["virtual_function"]
    if not device.supported:
        return DIAGNOSES[device.problem if device.problem in DIAGNOSES else "unsupported"]
    return DIAGNOSES[_without_current(device) if device.current is None else _with_current(device)]


def is_active(device: NicDevice) -> bool:
    """In force now: enabled on the bus, and not contradicted by the card. Never concluded from Next Boot."""
    return device.pci_ats is not None and device.pci_ats.enabled and device.current is not False and device.supported


def needs_host_reboot(device: NicDevice) -> bool:
    """True while the loaded value is not the stored one. From the state alone, so it is still true on the next run."""
    if not device.supported or device.next is None:
        return False
    if device.current is not None:
        return device.current != device.next
    return device.pci_ats is not None and device.pci_ats.enabled != device.next


def pending(state: NicState) -> Pending:
    waiting = [device for device in state.devices if needs_host_reboot(device)]
    return Pending(
        scope=Reboot.ESXI_HOST if waiting else Reboot.NONE,
        reasons=tuple(
            f"{device.pci}: {PARAMETER} is {device.next} for the next boot, {_text(device.current)} now; {_NOT_GUEST}"
            for device in waiting
        ),
    )


def with_stored(state: NicState, operations: Sequence[Operation]) -> NicState:
    """The state that the operations of `plan` lead to: the next-boot value as planned, the loaded one as it is."""
    stored = {pci: operation.payload["enabled"] for operation in operations for pci in operation.payload["functions"]}
    return dataclasses.replace(
        state,
        devices=tuple(
            dataclasses.replace(device, next=stored[device.pci]) if device.pci in stored else device
            for device in state.devices
        ),
    )


def plan(state: NicState, wanted: AtsWanted, host: str) -> list[Operation]:
    """One `set` per physical card whose Next Boot differs. Raises before anything is sent if a device cannot obey."""
    refuse_useless_reboot(state, wanted, host)
    if wanted.enabled is None:
        return []
    refuse_bare_metal(state, wanted, host)
    refuse_unable(state, wanted, host)
    operations = []
    for functions in by_card(state.devices):
        differing = [device for device in functions if device.next != wanted.enabled]
        if differing:
            operations.append(_operation(state.tool, functions, differing, wanted.enabled))
    return operations


def _operation(tool: str, functions: Sequence[NicDevice], differing: Sequence[NicDevice], enabled: bool) -> Operation:
    first = differing[0]
    loaded = all(device.current == enabled for device in functions)
    return Operation(
        description=f"{first.pci}: {PARAMETER} {_text(first.next)} -> {enabled} for the next boot of the ESXi host",
        command=set_command(tool, first.pci, enabled),
        changes={f"{device.pci} {PARAMETER} next boot": (device.next, enabled) for device in differing},
        inverse=set_command(tool, first.pci, not enabled),
        # Back to what is loaded: nothing to wait for.
        reboot=Reboot.NONE if loaded else Reboot.ESXI_HOST,
        payload={"functions": [first.pci, *(d.pci for d in functions if d is not first)], "enabled": enabled},
    )


def set_command(tool: str, device: str, enabled: bool) -> str:
    return " ".join([tool, *set_arguments(device, enabled)])


def set_arguments(device: str, enabled: bool) -> list[str]:
    """Options first: behind the command word they are taken for parameters."""
    return ["-d", device, "-y", "set", f"{PARAMETER}={int(enabled)}"]


def by_card(devices: Sequence[NicDevice]) -> list[list[NicDevice]]:
    """Functions that can be set, grouped by physical card, in bus order."""
    cards: dict[str, list[NicDevice]] = {}
    for device in devices:
        if device.supported and not device.is_vf:
            cards.setdefault(device.card, []).append(device)
    return list(cards.values())


def refuse_bare_metal(state: NicState, wanted: AtsWanted, host: str) -> None:
    """ATS is for a card behind a hypervisor. On bare metal it costs PCI performance and loosens the IOMMU's checks."""
    if not wanted.enabled or wanted.bare_metal_allowed or state.environment != BARE_METAL:
        return
    raise RefusedError(
        f"{PARAMETER}=1 is for a VM with a passed-through card, and this is bare metal, where it slows PCI down;"
        " nothing was changed",
        host=host,
        thing=", ".join(identity(device) for device in state.devices),
        remedy="use state=disabled on bare metal; bare_metal=allow if you measured that it helps here",
        diagnosis="bare_metal",
        devices=[as_result(each, wanted) for each in state.devices],
    )


def _fault(
    kind: type[LayerError], what: str, device: NicDevice, state: NicState, wanted: AtsWanted, **more: Any
) -> LayerError:
    """An error about one function, with its diagnosis and what is known of all."""
    diagnosis, devices = diagnose(device), [as_result(each, wanted) for each in state.devices]
    details = {"remedy": diagnosis.action, "diagnosis": diagnosis.name, "devices": devices, **more}
    return kind(what, thing=identity(device), **details)


def refuse_unable(state: NicState, wanted: AtsWanted, host: str) -> None:
    for device in state.devices:
        diagnosis = diagnose(device)
        if device.supported and not device.is_vf:
            continue
        # A card without the parameter has no ATS: "disabled" is what it is. A virtual function may have it.
        if not wanted.missing_is_failure or (not wanted.enabled and diagnosis.name == "unsupported"):
            continue
        raise _fault(RefusedError, f"{diagnosis.meaning}; nothing was changed", device, state, wanted, host=host)


def refuse_useless_reboot(state: NicState, wanted: AtsWanted, host: str) -> None:
    """Loop guard: the host booted after the setting was made, and the card still has not loaded it."""
    if wanted.host_boot_time is None or wanted.settled_since is None or wanted.host_boot_time <= wanted.settled_since:
        return
    for device in state.devices:
        if needs_host_reboot(device) and wanted.enabled in (None, device.next):
            what = (
                f"{PARAMETER} is {device.next} for the next boot and {_text(device.current)} now, although the ESXi"
                f" host booted at {_time(wanted.host_boot_time)}, after the setting of {_time(wanted.settled_since)}:"
                " another warm reboot will not help"
            )
            remedy = "power the server off and on (its management controller can do that), then look again"
            kind = "power_cycle"
            raise _fault(VerifyError, what, device, state, wanted, host=host, remedy=remedy, reboot_kind=kind)


def refuse_inactive(state: NicState, wanted: AtsWanted, host: str) -> None:
    for device in state.devices:
        if is_active(device):
            continue
        diagnosis = diagnose(device)
        what = f"ATS is not in force: {diagnosis.meaning} ({_witnesses(device)}). Layer to act: {diagnosis.layer}"
        raise _fault(VerifyError, what, device, state, wanted, host=host, layer=diagnosis.layer)


def warnings(state: NicState, wanted: AtsWanted) -> list[str]:
    """What a person should know although nothing failed."""
    texts = [f"{note}." for note in state.notes]
    if state.environment == BARE_METAL and wanted.enabled is None:
        texts += [
            f"{identity(device)}: {PARAMETER} is on and this is bare metal, where it slows PCI down."
            for device in state.devices
            if device.next
        ]
    for device in state.devices:
        diagnosis = diagnose(device)
        unwanted = diagnosis.name == "disable_pending" and wanted.enabled is not False
        if diagnosis.layer != "none" and (diagnosis.name not in ("disabled", "pending", "disable_pending") or unwanted):
            texts.append(f"{identity(device)}: {diagnosis.name}: {diagnosis.meaning}. What to do: {diagnosis.action}.")
        elif wanted.require_active and not is_active(device):
            texts.append(f"{identity(device)}: ATS is not in force yet ({diagnosis.name}).")
    return texts


def identity(device: NicDevice) -> str:
    """The device as a message names it: address, model, PSID and firmware, as far as known."""
    parts = [device.name or device.device_type or f"15b3:{device.device_id}"]
    parts += [f"{label} {value}" for label, value in (("PSID", device.psid), ("firmware", device.firmware)) if value]
    return f"{device.pci} ({', '.join(parts)})"


_CARD = ("pci", "mst", "device_id", "card", "device_type", "name", "description", "psid", "firmware", "is_vf")
_VALUES = ("supported", "default", "current", "next", "config_space_bytes")


def as_result(device: NicDevice, wanted: AtsWanted) -> dict[str, Any]:
    diagnosis = diagnose(device)
    pci = device.pci_ats
    return {
        **{name: getattr(device, name) for name in (*_CARD, *_VALUES)},
        "requested": wanted.enabled,
        "pci_ats": None if pci is None else {"present": pci.present, "enabled": pci.enabled, "stu": pci.stu},
        "active": is_active(device),
        "reboot_required": needs_host_reboot(device),
        "diagnosis": diagnosis.name,
        "layer": diagnosis.layer,
        "messages": [text for text in (diagnosis.meaning, diagnosis.action) if text],
    }


def _witnesses(device: NicDevice) -> str:
    pci = device.pci_ats
    shown = "" if pci is None else f"Enable{'+' if pci.enabled else '-'}" if pci.present else "no ATS capability"
    return f"Current {_text(device.current)}, Next Boot {_text(device.next)}, PCI {shown or 'not read'}"


def _text(value: bool | None) -> str:
    return "unknown" if value is None else str(value)


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str | None, host: str, option: str) -> float | None:
    """Seconds since the epoch, or ISO 8601 with a zone (a time without one would be a guess)."""
    if not text:
        return None
    with contextlib.suppress(ValueError):
        return float(text)
    moment = None
    with contextlib.suppress(ValueError):
        moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    if moment is None or moment.tzinfo is None:
        raise RefusedError(
            "is neither seconds since the epoch nor ISO 8601 with a time zone",
            host=host,
            thing=option,
            value=text,
            remedy="write 1767225600 or 2026-01-01T00:00:00Z",
        )
    return moment.timestamp()
