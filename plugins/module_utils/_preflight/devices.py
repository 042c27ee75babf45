"""What switches and vCenter answered. Pure."""

from __future__ import annotations

import re
from typing import Any, Callable, Iterable, Iterator, Mapping

from .finding import Finding, note, problem, warning

# Certificates, logs and the lease of a window need clocks that agree; a second or two is the reading itself.
CLOCK_SKEW_S = 30.0


def failed(place: str, thing: str, reading: Mapping[str, Any]) -> Iterator[Finding]:
    """A device whose module failed: its message has the value and the remedy already."""
    words = ("module_stderr", "stderr", "module_stdout")
    said = (line.strip() for word in words for line in str(reading.get(word) or "").split("\n"))
    # Of ssh itself, when it ends; the cause is elsewhere.
    first = next((line for line in said if line and not line.startswith("Shared connection to")), "")
    message = first if reading.get("rc") else str(reading.get("msg") or "")
    message = (message or first or str(reading.get("msg") or "") or "it gave no answer and no message").removeprefix(
        "Task failed: "
    )
    text, _said, remedy = message.partition(" What to do: ")
    library = re.match(r"Failed to import the required Python library \((\S+?)\)", text)
    if library:  # the controller's own finding names it once for all devices
        return
    text = text.removeprefix(f"{place}: ")
    yield problem(place, thing, text, remedy or "look at the message")


def switch(place: str, reading: Mapping[str, Any]) -> Iterator[Finding]:
    if reading.get("failed") or reading.get("unreachable"):
        yield from failed(place, "switch", reading)
        return
    for name in reading.get("unreadable") or ():
        yield warning(place, "switch", f"{name} cannot be read", "report the text of the switch")


# Only windows need these, and only the permission to restart opens one.
_OF_WINDOWS = ("Host.Config.Maintenance", "Global.SetCustomField", "Global.ManageCustomFields")


def vcenter(reading: Mapping[str, Any], vms: Iterable[str], *, windows: bool, dry: bool) -> Iterator[Finding]:
    """``reading``: of vcenter_site_info; ``vms``: those of the site; ``windows``: hosts may restart in this run;
    ``dry``: check mode, which only reads."""
    place = f"vCenter {reading.get('vcenter') or ''}".strip()
    if reading.get("failed"):
        yield from failed(place, "login", reading)
        return
    yield from clock(place, reading.get("clock_skew"))
    own = {str(name) for name in vms}
    for host in reading.get("hosts") or ():
        yield from _host(host, own)
    for row in reading.get("vms") or ():
        if row.get("problem"):
            yield problem(
                str(row.get("asked")), "VM", str(row["problem"]), "write the name as vCenter shows it (gpu_vm_name)"
            )
        chosen = [device for device in row.get("devices") or () if device.get("assignment") != "unknown"]
        if chosen:
            said = "; ".join(str(device.get("text")) for device in chosen)
            yield note(str(row.get("asked")), "devices of the VM", f"vSphere chooses at power-on: {said}")
        for device in row.get("devices") or ():
            if device not in chosen:
                yield warning(
                    str(row.get("asked")), "device of the VM", str(device.get("text")), "report the type of the backing"
                )
    for row in reading.get("missing_privileges") or ():
        later = dry or (row.get("privilege") in _OF_WINDOWS and not windows)
        yield (warning if later else problem)(
            place,
            f"privilege {row.get('privilege')}",
            f"account {reading.get('account')} does not have it on {', '.join(map(str, row.get('on') or ()))}",
            f"add it to the account's role; without it: {row.get('needed_for')}",
        )


def _host(host: Mapping[str, Any], own: set[str]) -> Iterator[Finding]:
    place = str(host.get("asked"))
    if host.get("problem"):
        yield problem(place, "ESXi host", str(host["problem"]), "write the name as vCenter shows it (esxi_host_name)")
        return
    if host.get("connection") != "connected":
        yield warning(
            place,
            "ESXi host",
            f"vCenter says {host.get('connection')}",
            "one that a run of this collection reboots comes back, and stage recover waits for it; connect any other",
        )
    if host.get("lockdown") not in (None, "lockdownDisabled"):
        yield note(place, "ESXi host", f"it is in {host['lockdown']}: everything goes through vCenter, which suffices")
    if host.get("maintenance"):
        yield warning(
            place,
            "maintenance mode",
            "it is in maintenance mode",
            "if an interrupted run left it so, playbook recover finishes it; else ask who works there",
        )
    others = [str(vm) for vm in host.get("running_vms") or () if str(vm) not in own]
    if others:
        yield note(
            place,
            "other VMs",
            f"{len(others)} that are not in the inventory run here ({', '.join(others[:4])}); a reboot of this host is "
            "refused while they do, see rocemesh_vm_policy",
        )


def asleep(vcenter: Mapping[str, Any]) -> dict[str, str]:
    """VM by its name in vCenter -> why no answer can be expected of it: an interrupted run leaves such VMs, and the
    stages recover and power put that right."""
    hosts = {str(host.get("name")): host for host in vcenter.get("hosts") or ()}
    found = {}
    for row in vcenter.get("vms") or ():
        host = hosts.get(str(row.get("esxi_host")), {})
        if row.get("power") in ("poweredOff", "suspended"):
            found[str(row.get("asked"))] = "the VM is off"
        elif host.get("connection", "connected") != "connected" or host.get("maintenance"):
            found[str(row.get("asked"))] = f"its host {row.get('esxi_host')} is not at work"
        elif row.get("tools") == "guestToolsNotRunning":
            found[str(row.get("asked"))] = "its guest has not come up (or has no VMware Tools)"
    return found


def clock(place: str, skew: Any, level: Callable[..., Finding] = problem) -> Iterator[Finding]:
    if isinstance(skew, (int, float)) and not isinstance(skew, bool) and abs(skew) > CLOCK_SKEW_S:
        yield level(
            place,
            "clock",
            f"it is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the controller",
            "let both follow the same time servers (chrony, timesyncd); certificates and logs depend on it",
        )
