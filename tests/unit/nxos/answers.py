"""What a Nexus 9000 answers, in the forms of cisco.nxos, NX-API's reference and Cisco's QoS guide; values are ours."""

from __future__ import annotations

import json
from typing import Any

RUNNING = """\
!Command: show running-config
version 10.3(5) Bios:version 07.69
hostname leaf01

class-map type qos match-all RDMA
  match dscp 24,26
class-map type qos match-any CNP
  match dscp cs6
class-map type network-qos NQ3
  match qos-group 3
class-map type queuing Q3
  match qos-group 3
policy-map type qos MARKING
  class RDMA
    set qos-group 3
  class CNP
    set qos-group 7
policy-map type network-qos FABRIC
  class type network-qos NQ3
    mtu 9216
    pause pfc-cos 3
  class type network-qos c-8q-nq-default
    mtu 9216
policy-map type queuing EGRESS
  class type queuing Q3
    bandwidth remaining percent 60
    random-detect minimum-threshold 150 kbytes maximum-threshold 1500 kbytes drop-probability 7 weight 0 ecn
  class type queuing c-out-8q-q7
    priority level 1
system qos
  service-policy type network-qos FABRIC
  service-policy type queuing output EGRESS

interface Ethernet1/1
  switchport access vlan 111
  priority-flow-control mode on
  service-policy type qos input MARKING no-stats
  mtu 9216

interface Ethernet1/2
  switchport access vlan 111
  priority-flow-control mode on send-tlv
  service-policy type qos input MARKING

interface Ethernet1/3
  no switchport
  priority-flow-control mode off
"""


def table(name: str, found: Any) -> dict[str, Any]:
    """A single row is no list."""
    return {f"TABLE_{name}": {f"ROW_{name}": found}}


def interface(name: str, state: str = "up", mode: str = "access") -> dict[str, str]:
    return {
        "interface": name,
        "state": state,
        "admin_state": "up",
        "eth_mtu": "9216",
        "eth_mode": mode,
        "eth_indiscard": "0",
        "eth_outdiscard": "5",
    }


def pfc(name: str, oper: str = "On", received: str = "0", sent: str = "0") -> dict[str, str]:
    return {"if_name_str": name, "admin": "On", "oper": oper, "rx-stats": received, "tx-stats": sent}


def queue(name: str, group: str, packets: str) -> dict[str, Any]:
    entries = [
        {"eq-stat-type": "Tx", "eq-stat-units": "Pkts", "eq-uc-stat-value": packets, "eq-mc-stat-value": "1"},
        {"eq-stat-type": "Tx", "eq-stat-units": "Byts", "eq-uc-stat-value": "4096", "eq-mc-stat-value": "64"},
        {"eq-stat-type": "Dropped", "eq-stat-units": "Pkts", "eq-uc-stat-value": "9", "eq-mc-stat-value": "0"},
    ]
    stats = {"eq-qosgrp": group, **table("qosgrp_egress_stats_entry", entries)}
    return {"dir": "Egress", "if_name_str": name, **table("qosgrp_egress_stats", stats)}


def neighbor(name: str, system: str, port: str, capability: str) -> dict[str, str]:
    return {
        "l_port_id": name,
        "sys_name": system,
        "port_id": port,
        "sys_desc": "Linux",
        "enabled_capability": capability,
    }


PORTS = ["Ethernet1/1", "Ethernet1/2"]
ANSWERS = {
    "show version | json": json.dumps({"nxos_ver_str": "10.3(5)", "chassis_id": "Nexus9000 C9332D-GX2B"}),
    "show running-config": RUNNING,
    "show running-config diff": "",
    "show interface | json": json.dumps(
        table(
            "interface",
            [*map(interface, PORTS), interface("Ethernet1/3", "down", "routed"), {"interface": "mgmt0", "state": "up"}],
        )
    ),
    "show interface switchport | json": json.dumps(
        table("interface", [{"interface": name, "access_vlan": "111"} for name in PORTS])
    ),
    "show interface priority-flow-control | json": json.dumps(
        table(
            "module",
            table(
                "pfc_interface",
                [pfc("Ethernet1/1", "On (8)", "12", "3"), pfc("Ethernet1/2"), pfc("Ethernet1/3", "Off")],
            ),
        )
    ),
    "show queuing interface | json": json.dumps(
        table("module", table("queuing_interface", [queue("Ethernet1/1", "3", "4810"), queue("Ethernet1/2", "0", "7")]))
    ),
    "show lldp neighbors detail | json": json.dumps(
        table(
            "nbor_detail",
            [
                neighbor("Eth1/1", "gpu01", "ens1f0np0", "not advertised"),
                neighbor("Eth1/2", "spine02", "Eth1/9", "B, R"),
            ],
        )
    ),
}
