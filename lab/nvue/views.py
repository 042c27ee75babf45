"""What the SIMULATED switch shows without a revision: what is in force, in the shape of its release."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import fixtures
from .tree import Tree, at, merged

if TYPE_CHECKING:
    from .model import Switch


def operational(switch: Switch, top: str = "") -> Tree:
    """What /system, /interface and /qos show without a revision; ``top``: which of them, all if there is no such."""
    parts: dict[str, Callable[[Switch], Tree]] = {"system": _system, "interface": _interfaces, "qos": _qos}
    return {name: part(switch) for name, part in parts.items() if top in ("", name) or top not in parts}


def _qos(switch: Switch) -> Tree:
    return {"roce": _roce(switch)}


def _system(switch: Switch) -> Tree:
    system: Tree = {"hostname": switch.name, "timezone": "Etc/UTC", "uptime": 4711}
    if switch.version >= (5, 14):
        system["version"] = {"product-release": switch.release, "image": f"SIMULATED {switch.release}"}
    elif switch.version >= (5, 11):
        system["product-release"] = switch.release
    else:
        system["build"] = f"Cumulus Linux {switch.release}"
    system["platform-name"] = "SIMULATED switch of the rocemesh lab"
    return system


def _interfaces(switch: Switch) -> Tree:
    interfaces: Tree = {"eth0": {"type": "eth", "link": {"mtu": 1500, "state": {"up": {}}, "oper-status": "up"}}}
    for name in switch.port_names():
        interfaces[name] = _port(switch, name)
    for name, settings in (switch.in_force.get("interface") or {}).items():
        if settings.get("type") in ("bond", "svi", "sub", "peerlink"):
            interfaces[name] = {"type": settings["type"], "link": {"mtu": 9216, "state": {"up": {}}}}
    return interfaces


def _port(switch: Switch, name: str) -> Tree:
    settings = at(switch.in_force, "interface", name) or {}
    up = switch.up(name)
    link: Tree = {"mtu": at(settings, "link", "mtu") or 9216, "state": {"up" if up else "down": {}}}
    if switch.version >= (5, 11):
        admin = at(settings, "link", "state") or {"up": {}}
        link.update({"oper-status": "up" if up else "down", "admin-status": next(iter(admin))})
    link["stats"] = {"in-drops": 0, "out-drops": 0, "in-pkts": 4711, "out-pkts": 4711, "carrier-transitions": 2}
    port: Tree = {"type": "swp", "link": link}
    stem = int(re.findall(r"\d+", name)[0])
    if up and stem <= 8:
        host = f"gpu{stem:02}"
        port["lldp"] = {"neighbor": {host: {"age": "12", "chassis": {"system-name": host}}}}
    elif up:
        port["lldp"] = {"neighbor": {"spine01": {"age": "12", "chassis": {"system-name": "spine01"}}}}
    mode = roce_mode(switch.in_force)
    if mode:
        port["qos"] = {
            "roce": {"status": _roce_facts(mode, port=True), "counters": _counters()},
            "pfc-watchdog": {"state": at(settings, "qos", "pfc-watchdog", "state") or "disable"},
        }
    return port


def roce_mode(config: Tree) -> str | None:
    roce = at(config, "qos", "roce")
    if not isinstance(roce, dict) or roce.get("enable") == "off" or roce.get("state") == "disabled":
        return None
    return str(roce.get("mode", "lossless"))


def _roce_facts(mode: str, port: bool = False) -> Tree:
    word = "yes" if port else "enabled"
    facts: Tree = {
        "mode": mode,
        "congestion-control": {
            "congestion-mode": "ecn, absolute" if port else "ECN",
            "enabled-tc": "0,3",
            "max-threshold": "1.43 MB",
            "min-threshold": "146.48 KB",
            "probability": 100,
        },
        "lldp-app-tlv": {"priority": 3, "protocol-id": 4791, "selector": "UDP"},
        "trust": {"trust-mode": "pcp,dscp"},
    }
    if not mode.startswith("lossy"):
        facts["pfc"] = {"pfc-priority": 3, "rx-enabled": word, "tx-enabled": word}
    return facts


def _roce(switch: Switch) -> Tree:
    mode = roce_mode(switch.in_force)
    facts = filled_roce(switch.version, switch.in_force)
    if mode:
        facts.update(_roce_facts(mode))
        exceptions = switch.faults.all("exception")
        if exceptions:
            # Nobody has published how a row looks: synthetic.
            facts["exception-list"] = {str(n): {"text": fault["text"]} for n, fault in enumerate(exceptions, 1)}
    for fault in switch.faults.all("roce_facts"):
        facts = merged(facts, fault["facts"])
    return facts


def filled_roce(version: tuple[int, ...], config: Tree) -> Tree:
    """/qos/roce of a revision with its defaults."""
    roce = at(config, "qos", "roce")
    on = fixtures.switched_on(version)
    if roce is None:
        return {"state": "disabled"} if "state" in on else {"enable": "off"}
    return {**on, "mode": "lossless", **roce}


def _counters() -> Tree:
    return {
        "rx-stats": {
            "rx-pfc-stats": {"pause-duration": 0, "pause-packets": 3},
            "rx-roce-stats": {"no-buffer-discard": 0, "roce-bytes": "1.10 GB", "roce-packets": 4711},
        },
        "tx-stats": {
            "tx-ecn-stats": {"ecn-marked-packets": 152430},
            "tx-pfc-stats": {"pause-duration": 0, "pause-packets": 22},
            "tx-roce-stats": {"roce-packets": 4712, "unicast-no-buffer-discard": 0},
        },
    }
