"""One pass over an NX-OS switch (Nexus 9000).

JSON keys: NX-API's schema of show queuing in the Nexus 9000 show command reference (TABLE_queuing_interface,
TABLE_qosgrp_egress_stats, eq-stat-type ...); ansible-collections/cisco.nxos, module nxos_facts and its fixtures
(TABLE_interface, eth_mtu, admin_state, eth_mode); public exporters for show interface priority-flow-control
(TABLE_pfc_interface: if_name_str, oper, rx-stats, tx-stats) and show lldp neighbors detail (TABLE_nbor_detail).
RoCE packets that come in are not counted by group, so that counter is left out: what needs it says that it was not
read.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Mapping

from .._layer import ParseError
from .._switch.commands import Show, answered, counts, json_of, rows
from .._switch.guards import Neighbor
from .._switch.observed import NOTHING, Observed, PortSeen, Sections
from .._switch.sections import tree
from . import config

VERSION = "show version | json"
RUNNING = "show running-config"
INTERFACES = "show interface | json"
SWITCHPORTS = "show interface switchport | json"
PFC = "show interface priority-flow-control | json"
QUEUES = "show queuing interface | json"
LLDP = "show lldp neighbors detail | json"
UNSAVED = "show running-config diff"
_PORT = re.compile(r"Ethernet\d+(?:/\d+)+")
Rows = dict[str, dict[str, Any]]


def read(host: str, show: Show, priority: int) -> Observed:
    """Raises `ParseError` if neither release nor ports can be read; what else is not readable is named."""
    section = Sections()
    version = _version(host, json_of(host, VERSION, show(VERSION)))
    interfaces = _by_port(_rows(host, INTERFACES, show, "interface"), "interface")
    if not interfaces:
        raise ParseError("no port in 'show interface'", host=host, raw=show(INTERFACES)[:2000])
    root = tree(answered(host, RUNNING, show(RUNNING)))
    policies = config.Policies(host, root)
    access = section("switchports", lambda: _by_port(_rows(host, SWITCHPORTS, show, "interface"), "interface"), NOTHING)
    pfc = section(
        "priority flow control",
        lambda: _by_port(_rows(host, PFC, show, "module", "pfc_interface"), "if_name_str"),
        NOTHING,
    )
    sent = section("queue counters", lambda: _sent(host, show), NOTHING)
    neighbors = section("neighbors", lambda: _neighbors(host, show), NOTHING)

    def port(name: str, facts: Mapping[str, Any]) -> PortSeen:
        configured = section(f"QoS of {name}", lambda: config.port(policies, root, name), PortSeen())
        group = section("groups", lambda: _group(policies, priority), priority)
        words = counts(facts, {"rx_discards": "eth_indiscard", "tx_discards": "eth_outdiscard"})
        words.update(counts(pfc.get(name, {}), {"rx_pfc_pause": "rx-stats", "tx_pfc_pause": "tx-stats"}))
        if (name, group) in sent:
            words["tx_roce_packets"] = sent[name, group]
        mode, vlan = _vlan(facts, access.get(name, {}))
        mtu = str(facts.get("eth_mtu", ""))
        return dataclasses.replace(
            configured,
            mtu=int(mtu) if mtu.isdigit() else None,
            admin=facts.get("admin_state") == "up" if "admin_state" in facts else None,
            up=facts.get("state") == "up",
            mode=mode,
            access_vlan=vlan,
            pfc_oper=section("PFC", lambda: _oper(host, pfc[name]), None) if name in pfc else None,
            neighbors=neighbors.get(name, ()),
            counters=words,
        )

    ports = {name: port(name, facts) for name, facts in interfaces.items()}
    saved = section("saved configuration", lambda: not answered(host, UNSAVED, show(UNSAVED)).strip(), None)
    return Observed(version, ports, saved, tuple(dict.fromkeys(section.unreadable)))


def _version(host: str, data: Any) -> str:
    """Called kickstart_ver_str on older releases, nxos_ver_str since 9.3."""
    found = data if isinstance(data, Mapping) else {}
    text = found.get("nxos_ver_str") or found.get("kickstart_ver_str")
    if not isinstance(text, str):
        raise ParseError("no release in 'show version'", host=host, raw=str(data)[:2000])
    return text


def _rows(host: str, command: str, show: Show, *names: str) -> list[dict[str, Any]]:
    """Rows of the last of these tables, which stand one below the other."""
    text = answered(host, command, show(command))
    path = [word for name in names for word in (f"TABLE_{name}", f"ROW_{name}")]
    return rows(host, json_of(host, command, text), *path) if text.strip() else []


def _by_port(found: list[dict[str, Any]], key: str) -> Rows:
    named = {_long(str(row.get(key, ""))): row for row in found}
    return {name: row for name, row in named.items() if _PORT.fullmatch(name)}


def _long(name: str) -> str:
    return re.sub(r"^Eth(?=\d)", "Ethernet", name)


def _oper(host: str, row: Mapping[str, Any]) -> bool:
    """On, or On with a bitmap of the paused priorities; Off."""
    word = str(row.get("oper", "")).split("(", maxsplit=1)[0].strip().lower()
    if word not in ("on", "off"):
        raise ParseError("neither on nor off in 'show interface priority-flow-control'", host=host, raw=str(row))
    return word == "on"


def _group(policies: config.Policies, priority: int) -> int:
    return next((group for group, paused in policies.paused().items() if paused == priority), priority)


def _vlan(facts: Mapping[str, Any], switchport: Mapping[str, Any]) -> tuple[str | None, int | None]:
    # Some releases name no mode of a port that has an address.
    mode = str(facts.get("eth_mode") or ("routed" if facts.get("eth_ip_addr") else "")).lower() or None
    vlan = str(switchport.get("access_vlan", ""))
    return mode, int(vlan) if mode == "access" and vlan.isdigit() else None


def _sent(host: str, show: Show) -> dict[tuple[str, int], int]:
    """(port, qos-group) -> packets sent, all kinds together."""
    found: dict[tuple[str, int], int] = {}
    for row in _rows(host, QUEUES, show, "module", "queuing_interface"):
        for group in rows(host, row, "TABLE_qosgrp_egress_stats", "ROW_qosgrp_egress_stats"):
            number = str(group.get("eq-qosgrp", ""))
            for stat in rows(host, group, "TABLE_qosgrp_egress_stats_entry", "ROW_qosgrp_egress_stats_entry"):
                if number.isdigit() and (stat.get("eq-stat-type"), stat.get("eq-stat-units")) == ("Tx", "Pkts"):
                    kinds = (str(value) for key, value in stat.items() if key.endswith("-stat-value"))  # some are null
                    sent = sum(int(value) for value in kinds if value.isdigit())
                    found[_long(str(row.get("if_name_str", ""))), int(number)] = sent
    return found


def _neighbors(host: str, show: Show) -> dict[str, tuple[Neighbor, ...]]:
    found: dict[str, tuple[Neighbor, ...]] = {}
    for row in _rows(host, LLDP, show, "nbor_detail"):
        name = _long(str(row.get("l_port_id", "")))
        able = set(re.split(r"[, ]+", str(row.get("enabled_capability", ""))))
        system, port, text = (str(row.get(key) or "") for key in ("sys_name", "port_id", "sys_desc"))
        each = Neighbor(system, port, text, bool(able & {"B", "R"}))
        found[name] = (*found.get(name, ()), each)
    return found
