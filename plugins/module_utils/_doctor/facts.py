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
_STATE = {"up": ("Enabled", "Up"), "down": ("Disabled", "Down")}


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


def _switch(name: str, value: Mapping[str, Any]) -> dict[str, list[str]]:
    roce = value.get("roce") or {}
    lines = []
    if roce.get("mode"):
        lines.append(f"RoCE mode           : {'disabled' if roce['mode'] == 'absent' else roce['mode']}")
    if roce.get("pfc") in _ON:
        lines.append(f"PFC admin mode      : {_ON[roce['pfc']]}")
    if roce.get("trust"):
        lines.append(f"trust mode          : {roce['trust']}")
    if roce.get("ecn"):
        off = str(roce["ecn"]).lower() in ("disabled", "off", "false", "none")
        lines.append(f"ECN mode            : {'off' if off else 'on'}")
    wanted = value.get("wanted") or {}
    lines += list(_switch_differs(value, wanted))
    ports, counters = [], []
    for port, seen in (value.get("ports") or {}).items():
        ports.append(f"Eth{port}:")
        if seen.get("admin") in _STATE:
            ports.append(f"  Admin state                      : {_STATE[seen['admin']][0]}")
        if seen.get("oper") in _STATE:
            ports.append(f"  Operational state                : {_STATE[seen['oper']][1]}")
        if seen.get("mtu"):
            ports.append(f"  MTU                              : {seen['mtu']} bytes")
        if wanted:
            ports += _port_differs(f"Eth{port}", seen, wanted)
        counted = {
            key: seen["counters"][key] for key in ("rx_discards", "tx_discards") if key in (seen.get("counters") or {})
        }
        if counted:
            counters.append(f"Eth{port} counters:")
            counters += [f"  {key[:2]} discard packets               : {count}" for key, count in counted.items()]
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
        if change.get("before") is None:
            keys.append(f"missing: {change.get('key')}")
        else:
            keys.append(f'{change.get("key")} = "{change["before"]}"')
        keys.append(f"{DIFFERS}, VM: {change.get('key')}")
    power = [f"power state: {value['power_state']}"] if value.get("power_state") else []
    return {f"{name}/vmx": keys, f"{name}/state.txt": power}


def _vcenter(name: str, value: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for reading in value.get("results") or ():  # one for each vCenter of the site
        found |= _vcenter(name, reading)
    if value.get("failed"):
        return {"esxi/vcenter/answer": [f"unreachable: {value.get('msg', 'did not answer')}"]}
    for row in value.get("hosts") or ():
        lines = [f"{row['problem']}"] if row.get("problem") else []
        if "maintenance" in row:
            lines.append(f"Maintenance Mode: {'Enabled' if row['maintenance'] else 'Disabled'}")
        if row.get("connection") not in (None, "", "connected"):
            lines.append(f"host is not connected to vCenter: {row['connection']}")
        found[f"esxi/{row['asked']}/maintenance.txt"] = lines
        policy = row.get("power_policy")
        found[f"esxi/{row['asked']}/power.txt"] = [f"Power Policy: {policy}"] if policy else []
    for row in value.get("vms") or ():
        lines = [f"{row['problem']}"] if row.get("problem") else []
        if row.get("power"):
            lines.append(f"power state: {row['power']}")
        if row.get("heartbeat"):
            lines.append(f"guest heartbeat: {row['heartbeat']}")
        found[f"vms/{row['asked']}/vcenter.txt"] = lines
    return found
