# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles read of switches, vCenter, ESXi hosts and VMs, as the pieces that these devices would print. Pure.

So live facts and an archive are judged by the same rules. What was not read has no line: nothing is made up.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

from typing import Any, Mapping

SILENT = "answer"
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
    lines += [f"contradicts RoCE    : {problem}" for problem in value.get("problems") or ()]
    ports, counters = [], []
    for port, seen in (value.get("ports") or {}).items():
        ports.append(f"Eth{port}:")
        if seen.get("admin") in _STATE:
            ports.append(f"  Admin state                      : {_STATE[seen['admin']][0]}")
        if seen.get("oper") in _STATE:
            ports.append(f"  Operational state                : {_STATE[seen['oper']][1]}")
        if seen.get("mtu"):
            ports.append(f"  MTU                              : {seen['mtu']} bytes")
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


def _esxi(name: str, value: Mapping[str, Any]) -> dict[str, list[str]]:
    rows = value.get("found") or ()
    columns = ("name", "type", "configured", "runtime", "default")
    lines = ["  ".join(str(row.get(column, "")) for column in columns) for row in rows]
    head = ["Name  Type  Configured  Runtime  Default"] if lines else []
    return {f"{name}/kernel.txt": head + lines}


def _vm(name: str, value: Mapping[str, Any]) -> dict[str, list[str]]:
    keys = []
    for change in value.get("changes") or ():
        if change.get("before") is None:
            keys.append(f"missing: {change.get('key')}")
        else:
            keys.append(f'{change.get("key")} = "{change["before"]}"')
    power = [f"power state: {value['power_state']}"] if value.get("power_state") else []
    return {f"{name}/vmx": keys, f"{name}/state.txt": power}


def _vcenter(_name: str, value: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if value.get("failed"):
        return {"esxi/vcenter/answer": [f"unreachable: {value.get('msg', 'did not answer')}"]}
    for row in value.get("hosts") or ():
        lines = [f"{row['problem']}"] if row.get("problem") else []
        if "maintenance" in row:
            lines.append(f"Maintenance Mode: {'Enabled' if row['maintenance'] else 'Disabled'}")
        if row.get("connection") not in (None, "", "connected"):
            lines.append(f"host is not connected to vCenter: {row['connection']}")
        found[f"esxi/{row['asked']}/maintenance.txt"] = lines
    for row in value.get("vms") or ():
        lines = [f"{row['problem']}"] if row.get("problem") else []
        if row.get("power"):
            lines.append(f"power state: {row['power']}")
        found[f"vms/{row['asked']}/vcenter.txt"] = lines
    return found
