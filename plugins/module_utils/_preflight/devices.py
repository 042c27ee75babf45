"""What switches and vCenter answered. Pure."""

from __future__ import annotations

import re
from typing import Any, Iterable, Iterator, Mapping

from .._judge.finding import NOTE, PROBLEM, WARNING, Finding
from .findings import found, from_sentence

# Certificates, logs and the lease of a window need clocks that agree; a second or two is the reading itself.
CLOCK_SKEW_S = 30.0


def failed(place: str, thing: str, reading: Mapping[str, Any]) -> Iterator[Finding]:
    """A device whose module failed: its message has the value and the remedy already."""
    words = ("module_stderr", "stderr", "module_stdout")
    said = (line.strip() for word in words for line in str(reading.get(word) or "").split("\n"))
    # Of ssh itself, when it ends; the cause is elsewhere.
    first = next((line for line in said if line and not line.startswith("Shared connection to")), "")
    message = str(reading.get("msg") or "")
    message = (first if reading.get("rc") else "") or message or first or "it gave no answer and no message"
    message = message.removeprefix("Task failed: ")
    # A library: the controller's own finding names it once for all devices.
    if not re.match(r"Failed to import the required Python library \(\S+?\)", message):
        yield from_sentence(place, thing, message, "look at the message")


def switch(place: str, reading: Mapping[str, Any]) -> Iterator[Finding]:
    if reading.get("failed") or reading.get("unreachable"):
        yield from failed(place, "switch", reading)
        return
    for name in reading.get("unreadable") or ():
        yield found("switch_unreadable", place, name=name)


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
    own = {*map(str, vms), *(str(row.get("name")) for row in reading.get("vms") or ())}
    for host in reading.get("hosts") or ():
        yield from _host(host, own)
    for row in reading.get("vms") or ():
        asked = str(row.get("asked"))
        if row.get("problem"):
            yield found("vm_problem", asked, text=row["problem"])
        chosen = row.get("devices") or ()
        said = "; ".join(str(device.get("text")) for device in chosen)
        unknown = any(device.get("assignment") == "unknown" for device in chosen)
        if chosen:
            yield found("devices_chosen", asked, WARNING if unknown else NOTE, said=said)
    for row in reading.get("missing_privileges") or ():
        later = dry or (row.get("privilege") in _OF_WINDOWS and not windows)
        words = {"name": row.get("privilege"), "needed_for": row.get("needed_for"), "account": reading.get("account")}
        places = ", ".join(map(str, row.get("on") or ()))
        yield found("privilege", place, WARNING if later else PROBLEM, places=places, **words)


def _host(host: Mapping[str, Any], own: set[str]) -> Iterator[Finding]:
    place = str(host.get("asked"))
    if host.get("problem"):
        yield found("esxi_problem", place, text=host["problem"])
        return
    if host.get("connection") != "connected":
        yield found("esxi_connection", place, connection=host.get("connection"))
    if host.get("lockdown") not in (None, "lockdownDisabled"):
        yield found("esxi_lockdown", place, mode=host["lockdown"])
    if host.get("maintenance"):
        yield found("esxi_maintenance", place)
    others = [str(vm) for vm in host.get("running_vms") or () if str(vm) not in own]
    if others:
        yield found("esxi_other_vms", place, count=len(others), names=", ".join(others[:4]))


def asleep(vcenter: Mapping[str, Any]) -> dict[str, str]:
    """VM by its name in vCenter -> why no answer can be expected of it: an interrupted run leaves such VMs, and the
    stages recover and power put that right."""
    hosts = {str(host.get("name")): host for host in vcenter.get("hosts") or ()}
    waiting = {}
    for row in vcenter.get("vms") or ():
        host = hosts.get(str(row.get("esxi_host")), {})
        if row.get("power") in ("poweredOff", "suspended"):
            waiting[str(row.get("asked"))] = "the VM is off"
        elif host.get("connection", "connected") != "connected" or host.get("maintenance"):
            waiting[str(row.get("asked"))] = f"its host {row.get('esxi_host')} is not at work"
        elif row.get("tools") == "guestToolsNotRunning":
            waiting[str(row.get("asked"))] = "its guest has not come up (or has no VMware Tools)"
    return waiting


def clock(place: str, skew: Any, level: str = PROBLEM) -> Iterator[Finding]:
    if isinstance(skew, (int, float)) and not isinstance(skew, bool) and abs(skew) > CLOCK_SKEW_S:
        yield found("clock", place, level, seconds=abs(skew), side="ahead of" if skew > 0 else "behind")
