"""What the lab is and what in it waits for a restart; as a table, as JSON, as one hash."""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import ats, config, control, engine, hardware, nodes

# Everything on a node's disk and engine that a run of the collection may change; no times, no counters, and not the
# random identity (key.json) that every new Docker engine gives itself.
_NODE_FACTS = r"""
docker images --no-trunc --format 'image {{.Repository}}:{{.Tag}} {{.ID}}' | sort
docker ps --all --no-trunc --format 'container {{.Names}} {{.Image}} {{.State}} {{.Command}}' | sort
for place in /home/nvidia/.ssh /etc/{docker,netplan,rocemesh,security/limits.d,sysctl.d,systemd/{network,system}}; do
  find "$place" -type f ! -path /etc/docker/key.json -print0 2>/dev/null | sort -z | xargs -0r sha256sum
  find "$place" -printf '%M %u %g %y %p %l\n' 2>/dev/null | sort
done
dpkg --list | sha256sum
ip -oneline link show | sed -nE 's/^[0-9]+: (eth[0-9]+)[@:].* (mtu [0-9]+) .*/\1\n\2/p'
"""


def collect() -> dict[str, Any]:
    """{"switch", "vsphere", "physics"}: the states of the simulators (None where one does not answer),
    "nodes": {name: {"running", "ssh", "image"}}."""
    result: dict[str, Any] = {"simulated": True}
    for program in control.PROGRAMS:
        try:
            result[program] = control.state(program)
        except (ConnectionError, config.LabError):
            result[program] = None
    result["nodes"] = {}
    for node in config.NODES:
        found = engine.inspect("container", node.container)
        running = bool(found and found["State"]["Running"])
        result["nodes"][node.name] = {
            "running": running,
            "ssh": running and nodes.ssh_answers(node),
            "address": f"{node.ssh_ip}:{node.ssh_port}",
            "cluster_address": node.cluster_ip,
        }
    result["pending"] = pending(result["switch"], result["vsphere"], (result["physics"] or {}).get("nic"))
    return result


def pending(
    switch: Mapping[str, Any] | None, vsphere: Mapping[str, Any] | None, nics: Mapping[str, Any] | None
) -> list[str]:
    """One line for everything that was set but is not in force, with what it waits for."""
    lines: list[str] = []
    if switch and switch.get("unsaved"):
        lines.append(f"{config.SWITCH_NAME}: running configuration is not saved; a reload would lose it")
    hosts, vms = (vsphere or {}).get("hosts", {}), (vsphere or {}).get("vms", {})
    for name, host in sorted(hosts.items()):
        for setting, value in sorted(host["kernel"].items()):
            if value["configured"] != value["runtime"]:
                lines.append(
                    f"{name}: {setting} Configured {value['configured']}, Runtime {value['runtime']}; "
                    "waits for a reboot of the host"
                )
        if host.get("maintenance"):
            lines.append(f"{name}: in maintenance mode")
    for name, vm in sorted(vms.items()):
        if vm["power"] == "off":
            lines.append(f"{name}: powered off")
            continue
        before = {key.lower(): value for key, value in (vm.get("in_force") or {}).items()}
        now = {key.lower(): (key, value) for key, value in vm["extra_config"].items()}
        for lower, (key, value) in sorted(now.items()):
            if before.get(lower) != value:
                was = f"in force is {before[lower]!r}" if lower in before else "not in force"
                lines.append(f"{name}: {key} = {value!r}, {was}; waits for power off and on")
        lines += [
            f"{name}: {key} removed, {before[key]!r} still in force; waits for power off and on"
            for key in sorted(set(before) - set(now))
        ]
    for name, nic in sorted((nics or {}).items()):
        for pci, parameter, current, following in ats.waiting_parameters(nic["cards"]):
            lines.append(
                f"{name}: NIC {pci} {parameter} current {current}, next {following}; "
                f"waits for a reboot of {config.BY_NAME[name].host}"
            )
    return lines


def _columns(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def table(facts: Mapping[str, Any]) -> str:
    """For a person."""
    lines = ["rocemesh lab: switch, ESXi hosts, NICs, PCI and GPUs are SIMULATED; sshd and Docker are real.", ""]
    silent = [name for name in control.PROGRAMS if facts[name] is None]
    if silent:
        lines += [f"NOT ANSWERING: {', '.join(silent)} (python -m lab logs {silent[0]}; python -m lab up)", ""]
    if facts["switch"]:
        running = facts["switch"]["running"]
        wide = sum(port.get("mtu") == 9216 for port in running["ports"].values())
        roce = running.get("roce") or "off"
        lines += [
            f"switch {config.SWITCH_NAME} (SIMULATED)  "
            f"ssh {config.SWITCH_USER}@{config.SWITCH_IP} -p {config.SSH_PORT}  "
            f"RoCE {roce}  VLANs {', '.join(map(str, sorted(running['vlans'], key=int)))}  "
            f"ports with MTU 9216: {wide}",
            *_carrier((facts["physics"] or {}).get("carrier")),
            "",
        ]
    if facts["vsphere"]:
        rows = [["host (SIMULATED)", "connection", "maintenance", "atsSupport configured", "runtime", "boots"]]
        for name, host in sorted(facts["vsphere"]["hosts"].items()):
            setting = host["kernel"].get("atsSupport", {})
            rows.append(
                [
                    *(name, host["connection"], "yes" if host["maintenance"] else "no"),
                    *(setting.get("configured", "-"), setting.get("runtime", "-"), str(host.get("boots", "-"))),
                ]
            )
        lines += [*_columns(rows), ""]
        rows = [["VM", "host", "power", "tools", "node", "ssh nvidia@", "cluster", "P2P keys", "NIC ATS", "ATSCtl"]]
        for node in config.NODES:
            rows.append(_vm_row(node, facts))
        lines += [*_columns(rows), ""]
    waiting = facts["pending"]
    lines += [f"pending ({len(waiting)}):", *(f"  {line}" for line in waiting)] if waiting else ["pending: nothing"]
    faults = [fault for name in control.PROGRAMS for fault in (facts[name] or {}).get("faults", [])]
    if faults:
        lines += [f"injected faults ({len(faults)}):"]
        lines += [
            f"  {json.dumps({k: v for k, v in fault.items() if k != 'original'}, sort_keys=True)}" for fault in faults
        ]
    return "\n".join(lines)


def _carrier(carrier: Mapping[str, Any] | None) -> list[str]:
    """One line on whether the switch decides over the nodes' traffic."""
    if not carrier or not carrier["on"]:
        return ["  its ports carry nothing: nodes reach each other whatever it says (python -m lab carry on)"]
    if carrier["problem"]:
        return [f"  its ports should carry the nodes' traffic: {carrier['problem']}"]
    return ["  its VLANs, MTU and links decide over the nodes' traffic"]


def _vm_row(node: config.Node, facts: Mapping[str, Any]) -> list[str]:
    vm = facts["vsphere"]["vms"].get(node.name, {})
    physics = facts["physics"] or {"nic": {}, "pci": {}}
    cards = physics["nic"].get(node.name, {}).get("cards", [])
    parameters = [card.get("params", {}).get("ATS_ENABLED") for card in cards] or [None]
    values = ["absent" if each is None else f"{each['current']} (next {each['next']})" for each in parameters]
    functions = physics["pci"].get(node.name, {}).get("functions", {}) if vm.get("power") != "off" else {}
    bits = [_control_bit(functions.get(rail.nic, {})) for rail in config.RAILS]
    here = facts["nodes"][node.name]
    return [
        *(node.name, node.host, vm.get("power", "-"), vm.get("tools", "-")),
        *(
            "ready" if here["ssh"] else "booting" if here["running"] else "down",
            here["address"],
            here["cluster_address"],
        ),
        "in force" if ats.p2p_in_force(vm.get("in_force") or {}) else "no",
        *(", ".join(values), ", ".join(bits)),
    ]


def _control_bit(function: Mapping[str, Any]) -> str:
    return "-" if not function.get("ats_capability") else "Enable+" if function["ats_enabled"] else "Enable-"


def fingerprint() -> str:
    """sha256 over everything durable: equal before and after a run means that the run changed nothing."""
    return hashlib.sha256(json.dumps(durable(), sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def durable() -> dict[str, Any]:
    """What the fingerprint is made of, to see where two of them differ."""

    def node_facts(node: config.Node) -> str:
        if not nodes.running(node):
            return "not running"
        return engine.docker("exec", node.container, "bash", "-c", _NODE_FACTS, timeout=120).stdout

    with concurrent.futures.ThreadPoolExecutor() as pool:
        inside = list(pool.map(node_facts, config.NODES))
    paths = config.paths()
    return {
        "switch": control.state("switch"),
        "vsphere": control.state("vsphere"),
        "nic": {node.name: hardware.read_nic(paths, node.name) for node in config.NODES},
        "pci": {node.name: hardware.read_pci(paths, node.name) for node in config.NODES},
        "nodes": {node.name: text for node, text in zip(config.NODES, inside)},
    }
