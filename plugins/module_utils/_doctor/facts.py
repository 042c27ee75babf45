"""What roles read of switches, vCenter, ESXi hosts and VMs, as the pieces that these devices would print. Pure.

So live facts and an archive are judged by the same rules. What was not read has no line: nothing is made up. A state
that is right on some sites is wrong where the inventory wants another: such a line begins with DIFFERS.
"""

from __future__ import annotations

import fnmatch
from typing import Any, Iterator, Mapping

SILENT = "answer"
DIFFERS = "not as the inventory wants it"
_ON = {True: "on", False: "off", "enabled": "on", "disabled": "off"}
_ADMIN = {"up": "Enabled", "down": "Disabled"}
_OPER = {"up": "Up", "down": "Down"}
_NO_ECN = ("disabled", "off", "false", "none")


def pieces(name: str, value: Mapping[str, Any]) -> dict[str, str]:
    """``name`` is switches/NAME, esxi/NAME, vms/NAME or vcenter; ``value`` what the roles switch (switch_observed),
    esxi_host (esxi_host_pending), gpu_vm (gpu_vm_pending) and preflight (preflight_reading) published, or ``answer``
    with the reason why there is nothing. Any other name has no pieces."""
    kind = name.partition("/")[0]
    if SILENT in value:
        return {f"{name}/{SILENT}": f"{value[SILENT]}\n"}
    read = {"switches": _switch, "esxi": _esxi, "vms": _vm, "vcenter": _vcenter}.get(kind)
    found = read(name, value) if read else {}
    return {piece: "".join(f"{line}\n" for line in lines) for piece, lines in found.items() if lines}


def printed(label: str, value: Any, width: int = 1) -> list[str]:
    """Label and value, as many devices print them; nothing for what was not read."""
    return [f"{label:{width}}: {value}"] if value else []


def _switch(name: str, value: Mapping[str, Any]) -> dict[str, list[str]]:
    roce, wanted = value.get("roce") or {}, value.get("wanted") or {}
    mode, ecn = roce.get("mode"), roce.get("ecn")
    lines = [
        *printed("RoCE mode", "disabled" if mode == "absent" else mode, 20),
        *printed("PFC admin mode", _ON.get(roce.get("pfc")), 20),
        *printed("trust mode", roce.get("trust"), 20),
        *printed("ECN mode", ecn and ("off" if str(ecn).lower() in _NO_ECN else "on"), 20),
        *_switch_differs(value, wanted),
    ]
    ports, counters = [], []
    for port, seen in (value.get("ports") or {}).items():
        ports.append(f"Eth{port}:")
        ports += printed("  Admin state", _ADMIN.get(seen.get("admin")), 35)
        ports += printed("  Operational state", _OPER.get(seen.get("oper")), 35)
        ports += printed("  MTU", seen.get("mtu") and f"{seen['mtu']} bytes", 35)
        if wanted:
            ports += _port_differs(f"Eth{port}", seen, wanted)
        counted = seen.get("counters") or {}
        ways = [way for way in ("rx", "tx") if f"{way}_discards" in counted]
        counters += [f"Eth{port} counters:"] if ways else []
        counters += [f"  {way} discard packets               : {counted[f'{way}_discards']}" for way in ways]
    unread = [f"could not be read: {row.get('what')}: {row.get('reason')}" for row in value.get("unreadable") or ()]
    return {
        f"{name}/roce.txt": lines,
        f"{name}/interfaces.txt": ports,
        f"{name}/counters.txt": counters,
        f"{name}/unread.txt": unread,
    }


def _switch_differs(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """``problems`` are what contradicts RoCE at the ports that the role configures."""
    mode = (value.get("roce") or {}).get("mode")
    if wanted.get("mode") and mode and mode != wanted["mode"]:
        yield f"{DIFFERS}, RoCE: mode is {mode}, not {wanted['mode']}"
    for problem in value.get("problems") or ():
        yield f"{DIFFERS}, RoCE: {problem}"


def _port_differs(port: str, seen: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """Of a port that the inventory gives to the site."""
    if seen.get("admin") == "down":
        yield f"{DIFFERS}, port: {port} is shut down"
    elif seen.get("oper") == "down":
        yield f"{DIFFERS}, link: {port} has no link"
    if seen.get("mtu") and wanted.get("mtu") and seen["mtu"] < wanted["mtu"]:
        yield f"{DIFFERS}, MTU: {port} has {seen['mtu']}, not {wanted['mtu']}"
    expected = wanted.get("neighbors") or ()
    systems = [str(neighbor.get("system") or "") for neighbor in seen.get("neighbors") or ()]
    if expected and systems and not any(fnmatch.fnmatch(system, want) for system in systems for want in expected):
        yield f"{DIFFERS}, cable: {port}: LLDP mismatch: {', '.join(systems)} is none of {', '.join(expected)}"


def _esxi(name: str, value: Mapping[str, Any]) -> dict[str, list[str]]:
    rows = value.get("found") or ()
    columns = ("name", "type", "configured", "runtime", "default")
    lines = ["  ".join(str(row.get(column, "")) for column in columns) for row in rows]
    head = ["Name  Type  Configured  Runtime  Default"] if lines else []
    waits = [*(value.get("changes") or ()), *(value.get("reboot_reasons") or ())]
    return {f"{name}/kernel.txt": head + lines + [f"{DIFFERS}, kernel: {what}" for what in waits]}


def _vm(name: str, value: Mapping[str, Any]) -> dict[str, list[str]]:
    keys = []
    for change in value.get("changes") or ():
        key, before = change.get("key"), change.get("before")
        keys += [f"missing: {key}" if before is None else f'{key} = "{before}"', f"{DIFFERS}, VM: {key}"]
    return {f"{name}/vmx": keys, f"{name}/state.txt": printed("power state", value.get("power_state"))}


def _vcenter(name: str, value: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for reading in value.get("results") or ():  # one for each vCenter of the site
        found |= _vcenter(name, reading)
    if value.get("failed"):
        return {"esxi/vcenter/answer": [f"unreachable: {value.get('msg', 'did not answer')}"]}
    for row in value.get("hosts") or ():
        connection = row.get("connection")
        maintenance = ("Enabled" if row["maintenance"] else "Disabled") if "maintenance" in row else ""
        found[f"esxi/{row['asked']}/maintenance.txt"] = [
            *([f"{row['problem']}"] if row.get("problem") else []),
            *printed("Maintenance Mode", maintenance),
            *printed("host is not connected to vCenter", connection != "connected" and connection),
        ]
        found[f"esxi/{row['asked']}/power.txt"] = printed("Power Policy", row.get("power_policy"))
    for row in value.get("vms") or ():
        found[f"vms/{row['asked']}/vcenter.txt"] = [
            *([f"{row['problem']}"] if row.get("problem") else []),
            *printed("power state", row.get("power")),
            *printed("guest heartbeat", row.get("heartbeat")),
        ]
    return found
