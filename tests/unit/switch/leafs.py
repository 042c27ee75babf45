"""Right RoCE configurations of two server ports: SONiC, EOS and NX-OS, access, trunk and routed; single mutations.

The lines are those of the vendors' guides and of published configurations that the readers name; values are ours.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any, Callable, Mapping

from ansible_collections.rocemesh.multinode.plugins.module_utils._eos import reading as eos
from ansible_collections.rocemesh.multinode.plugins.module_utils._nxos import reading as nxos
from ansible_collections.rocemesh.multinode.plugins.module_utils._sonic import reading as sonic
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.judge import Need
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.observed import facts

from tests.unit.eos.answers import ANSWERS as EOS
from tests.unit.eos.answers import interface as eos_interface
from tests.unit.nxos.answers import ANSWERS as NXOS
from tests.unit.nxos.answers import interface as nxos_interface
from tests.unit.nxos.answers import table
from tests.unit.sonic.answers import ANSWERS as SONIC

Answers = Mapping[str, str]
VLAN = 711
RUNNING = "show running-config"
READERS: dict[str, Callable[..., Any]] = {"sonic": sonic.read, "eos": eos.read, "nxos": nxos.read}
PORTS = {
    "sonic": ["Ethernet0", "Ethernet4"],
    "eos": ["Ethernet1/1", "Ethernet2/1"],
    "nxos": ["Ethernet1/1", "Ethernet1/2"],
}


@dataclasses.dataclass(frozen=True)
class Leaf:
    """``mode``: of its ports; ``answers``: what it prints."""

    system: str
    mode: str
    answers: Answers

    def judged(self, old: str = "", new: str = "", command: str = "") -> dict[str, Any]:
        """The facts as the role publishes them; one answer has ``new`` for the first ``old``."""
        answers = dict(self.answers)
        if old:
            command = command or (sonic.RUNNING if self.system == "sonic" else RUNNING)
            assert old in answers[command], (old, command)
            answers[command] = answers[command].replace(old, new, 1)
        vlan = None if self.mode == "routed" else VLAN
        wanted = Need(3, 26, 9000, self.mode, vlan, "lossless")
        found = facts(READERS[self.system]("leaf01", answers.__getitem__, 3), PORTS[self.system], wanted)
        return {**found, "vlan": vlan and {"id": vlan}, "wanted": {"port_mode": self.mode}}


# --- SONiC

_WHOLE_MAP = {str(dscp): str(dscp // 8 if dscp in (*range(24, 32), 48) else 0) for dscp in range(64)}


def _sonic(mode: str, change: Mapping[str, Any], mtu: str = "9100") -> Leaf:
    ports = PORTS["sonic"]
    db: dict[str, Any] = {
        "PORT": {name: {"admin_status": "up", "mtu": mtu, "speed": "400000"} for name in ports},
        "PORT_QOS_MAP": {
            name: {"dscp_to_tc_map": "ROCE", "tc_to_queue_map": "ROCE", "pfc_enable": "3", "pfcwd_sw_enable": "3"}
            for name in ports
        },
        "DSCP_TO_TC_MAP": {"ROCE": {"24": "3", "26": "3", "48": "6"}},
        "TC_TO_QUEUE_MAP": {"ROCE": {str(tc): str(tc) for tc in range(8)}},
        "QUEUE": {f"{name}|3": {"scheduler": "scheduler.1", "wred_profile": "ROCE"} for name in ports},
        "WRED_PROFILE": {"ROCE": {"ecn": "ecn_all", "green_min_threshold": "250000", "green_max_threshold": "1500000"}},
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}}
        | {name: {"action": "drop", "detection_time": "400", "restoration_time": "400"} for name in ports},
    }
    db.update(copy.deepcopy(dict(change)))
    text = json.dumps(db)
    return Leaf("sonic", mode, {**SONIC, sonic.RUNNING: text, sonic.SAVED: text})


def _members(*kinds: tuple[int, str]) -> dict[str, Any]:
    names = PORTS["sonic"]
    return {"VLAN_MEMBER": {f"Vlan{vlan}|{name}": {"tagging_mode": kind} for vlan, kind in kinds for name in names}}


def _routed(first: str, second: str) -> dict[str, Any]:
    names = zip(PORTS["sonic"], (first, second))
    return {"INTERFACE": {key: {} for name, text in names for key in (name, f"{name}|{text}")}}


# --- EOS

_EOS_PORT = """\
   qos trust dscp
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   priority-flow-control pause watchdog
   !
   uc-tx-queue 3
      bandwidth percent 95
      random-detect ecn minimum-threshold 256 kbytes maximum-threshold 512 kbytes max-mark-probability 100 weight 0
"""
_EOS_PROFILE = "qos profile ROCE-LEAF\n" + _EOS_PORT.replace("   qos trust dscp\n", "") + "!\n"
_EOS_WATCH = "priority-flow-control pause watchdog default timeout 0.20\n"


def _eos(mode: str, first: str, second: str = "", head: str = "", mtu: int = 9214) -> Leaf:
    blocks = [f"interface {name}\n{lines}!\n" for name, lines in zip(PORTS["eos"], (first, second or first))]
    found = {"interfaces": {name: eos_interface(mtu=mtu) for name in PORTS["eos"]}}
    text = head + "".join(blocks) + "end\n"
    return Leaf("eos", mode, {**EOS, RUNNING: text, eos.INTERFACES: json.dumps(found)})


def _lines(*lines: str) -> str:
    return "".join(f"   {line}\n" for line in lines)


# --- NX-OS

_NXOS = """\
class-map type qos match-any CNP
  match dscp 48
class-map type qos match-any ROCE
  match dscp 24-31
policy-map type qos CLASSIFY
  class ROCE
    set qos-group 3
  class CNP
    set qos-group 7
  class class-default
    set qos-group 0
policy-map type network-qos LOSSLESS
  class type network-qos c-8q-nq3
    mtu 9216
    pause pfc-cos 3
  class type network-qos c-8q-nq-default
    mtu 9216
policy-map type queuing EGRESS
  class type queuing c-out-8q-q7
    priority level 1
  class type queuing c-out-8q-q3
    bandwidth remaining percent 60
    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 40
system qos
  service-policy type network-qos LOSSLESS
  service-policy type queuing output EGRESS
"""
_RANDOM = "random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn"
_BURST = "random-detect threshold burst-optimized ecn"
_NXOS_PORT = (
    "priority-flow-control mode on",
    "priority-flow-control watch-dog-interval on",
    "service-policy type qos input CLASSIFY",
)


def _nxos(mode: str, first: tuple[str, ...], second: tuple[str, ...] = (), head: str = _NXOS) -> Leaf:
    blocks = [
        f"interface {name}\n" + "".join(f"  {line}\n" for line in lines)
        for name, lines in zip(PORTS["nxos"], (first, second or first))
    ]
    access = [{"interface": name, "access_vlan": str(VLAN)} for name in PORTS["nxos"] if mode == "access"]
    found = [nxos_interface(name, mode=mode) for name in PORTS["nxos"]]
    return Leaf(
        "nxos",
        mode,
        {
            **NXOS,
            RUNNING: head + "".join(blocks),
            nxos.INTERFACES: json.dumps(table("interface", found)),
            nxos.SWITCHPORTS: json.dumps(table("interface", access)),
        },
    )


_NXOS_ACCESS = (f"switchport access vlan {VLAN}", *_NXOS_PORT)
_NXOS_TRUNK = ("switchport mode trunk", f"switchport trunk allowed vlan {VLAN}-{VLAN + 1}", *_NXOS_PORT)
_OTHER_QUEUE = "c-out-8q-q-default\n    bandwidth remaining percent 40"

LEAFS: dict[str, Leaf] = {
    "sonic-access": _sonic("access", _members((VLAN, "untagged"))),
    "sonic-access-whole-map": _sonic(
        "access",
        {
            **_members((VLAN, "untagged")),
            "DSCP_TO_TC_MAP": {"ROCE": _WHOLE_MAP},
            "QUEUE": {"Ethernet0,Ethernet4|3-4": {"wred_profile": "[WRED_PROFILE|ROCE]"}},
        },
        mtu="9216",
    ),
    "sonic-trunk": _sonic("trunk", _members((VLAN, "tagged"), (720, "tagged"))),
    "sonic-trunk-native": _sonic("trunk", _members((VLAN, "untagged"), (720, "tagged"))),
    "sonic-routed-31": _sonic("routed", _routed("10.78.0.0/31", "10.78.0.2/31")),
    "sonic-routed-subnets": _sonic(
        "routed",
        {
            **_routed("10.78.1.1/26", "2001:db8:0:2::1/64"),
            "PORT_QOS_MAP": {
                "global": {"dscp_to_tc_map": "ROCE"},
                "Ethernet0,Ethernet4": {"tc_to_queue_map": "ROCE", "pfc_enable": "3"},
            },
            "PFC_WD": {},
        },
    ),
    "eos-access": _eos("access", _lines(f"switchport access vlan {VLAN}") + _EOS_PORT),
    "eos-access-profile": _eos(
        "access",
        _lines(f"switchport access vlan {VLAN}", "qos trust dscp", "service-profile ROCE-LEAF"),
        head=_EOS_PROFILE,
    ),
    "eos-trunk": _eos("trunk", _lines("switchport trunk allowed vlan 700-720", "switchport mode trunk") + _EOS_PORT),
    "eos-trunk-native": _eos(
        "trunk",
        _lines(f"switchport trunk native vlan {VLAN}", "switchport trunk allowed vlan none", "switchport mode trunk")
        + _EOS_PORT.replace("256 kbytes", "2000 segments").replace("512 kbytes", "9000 segments"),
    ),
    "eos-routed-31": _eos(
        "routed",
        _lines("no switchport", "ip address 10.78.0.0/31", "service-profile ROCE-LEAF"),
        _lines("no switchport", "ip address 10.78.0.2/31", "service-profile ROCE-LEAF"),
        head=_EOS_WATCH + _EOS_PROFILE,
    ),
    "eos-routed-subnets": _eos(
        "routed",
        _lines("no switchport", "ip address 10.78.1.1/24") + _EOS_PORT.replace("uc-tx-queue 3", "tx-queue 5"),
        _lines("no switchport", "ip address 10.78.2.1/24") + _EOS_PORT.replace("uc-tx-queue 3", "tx-queue 5"),
        head="qos map dscp 26 to traffic-class 3\nqos map traffic-class 3 to tx-queue 5\n",
        mtu=9000,
    ),
    "nxos-access": _nxos("access", _NXOS_ACCESS),
    "nxos-access-precedence": _nxos(
        "access",
        _NXOS_ACCESS,
        head=_NXOS.replace("match dscp 24-31", "match precedence 3").replace("dscp 48", "dscp cs6"),
    ),
    "nxos-trunk-burst-optimized": _nxos("trunk", _NXOS_TRUNK, head=_NXOS.replace(_RANDOM, _BURST)),
    "nxos-trunk-other-queues": _nxos(
        "trunk",
        (
            "switchport mode trunk",
            f"switchport trunk native vlan {VLAN}",
            "switchport trunk allowed vlan 10",
            "switchport trunk allowed vlan add 20-30",
            *_NXOS_PORT,
        ),
        head=_NXOS.replace(_OTHER_QUEUE, f"{_OTHER_QUEUE}\n    {_BURST}"),
    ),
    "nxos-routed-31": _nxos(
        "routed",
        ("no switchport", *_NXOS_PORT, "ip address 10.78.0.0/31"),
        ("no switchport", *_NXOS_PORT, "ip address 10.78.0.2/31"),
    ),
    "nxos-routed-subnets": _nxos(
        "routed",
        ("no switchport", *_NXOS_PORT[:2], "ip address 10.78.1.1/24", "ipv6 address 2001:db8:0:1::1/64"),
        ("no switchport", *_NXOS_PORT[:2], "ip address 10.78.2.1/24"),
        head=_NXOS.replace("system qos\n", "system qos\n  service-policy type qos input CLASSIFY\n"),
    ),
}

S0, S4 = PORTS["sonic"]
E1, E2 = PORTS["eos"]
N1, N2 = PORTS["nxos"]
_EOS_ECN = (
    "random-detect ecn minimum-threshold 256 kbytes maximum-threshold 512 kbytes max-mark-probability 100 weight 0"
)
# (leaf, what it has, what is there instead, code and place of the finding)
MUTATIONS: list[tuple[str, str, str, str, str]] = [
    ("sonic-access", '"mtu": "9100"', '"mtu": "1500"', "mtu", S0),
    ("sonic-access", '"26": "3"', '"26": "1"', "dscp", S0),
    ("sonic-access", '"26": "3", ', "", "dscp", S4),
    ("sonic-access", '"48": "6"', '"48": "3"', "cnp", S0),
    ("sonic-access", '"pfc_enable": "3"', '"pfc_enable": ""', "pfc", S0),
    ("sonic-access", '"pfc_enable": "3"', '"pfc_enable": "3,4"', "pfc", S0),
    ("sonic-access", '"pfc_enable": "3"', '"pfc_enable": "4"', "pfc", S0),
    ("sonic-access", '"ecn": "ecn_all"', '"ecn": "ecn_none"', "ecn", S4),
    ("sonic-access", '"Ethernet4|3"', '"Ethernet4|4"', "ecn", S4),
    ("sonic-access", '"dscp_to_tc_map": "ROCE", ', "", "trust", S0),
    ("sonic-access", "Vlan711|Ethernet4", "Vlan712|Ethernet4", "vlan", S4),
    ("sonic-access", '"Ethernet4": {"action"', '"Ethernet8": {"action"', "pfc_watchdog", S4),
    ("sonic-trunk", "Vlan711|Ethernet0", "Vlan712|Ethernet0", "vlan", S0),
    ("sonic-routed-31", "Ethernet4|10.78.0.2/31", "Ethernet4|10.78.0.1/31", "network", S4),
    ("sonic-routed-31", "Ethernet4|10.78.0.2/31", "Ethernet8|10.78.0.2/31", "address", S4),
    ("eos-access", "qos trust dscp", "qos trust cos", "trust", E1),
    ("eos-access", "   qos trust dscp\n", "", "trust", E1),
    ("eos-access", "interface Ethernet1/1", "qos map dscp 26 to traffic-class 0\ninterface Ethernet1/1", "dscp", E2),
    ("eos-access", "interface Ethernet1/1", "qos map dscp 48 to traffic-class 3\ninterface Ethernet1/1", "cnp", E1),
    ("eos-access", "   priority-flow-control on\n", "", "pfc", E1),
    ("eos-access", "priority 3 no-drop", "priority 4 no-drop", "pfc", E1),
    ("eos-access", "interface Ethernet1/1", "priority-flow-control all off\ninterface Ethernet1/1", "pfc", E2),
    ("eos-access", f"      {_EOS_ECN}\n", "", "ecn", E1),
    ("eos-access", "uc-tx-queue 3", "uc-tx-queue 4", "ecn", E1),
    ("eos-access", "access vlan 711", "access vlan 71", "vlan", E1),
    ("eos-access", "switchport access vlan 711", "no switchport", "port_mode", E1),
    ("eos-trunk", "allowed vlan 700-720", "allowed vlan 700-710", "vlan", E1),
    ("eos-routed-31", "   ip address 10.78.0.0/31\n", "", "address", E1),
    ("eos-routed-31", "ip address 10.78.0.2/31", "ip address 10.78.0.0/24", "network", E2),
    ("nxos-access", "match dscp 24-31", "match dscp 24", "dscp", N1),
    ("nxos-access", "match dscp 24-31", "match cos 3", "dscp", N2),
    ("nxos-access", "class CNP\n    set qos-group 7", "class CNP\n    set qos-group 3", "cnp", N1),
    ("nxos-access", "    pause pfc-cos 3\n", "", "pfc", N2),
    ("nxos-access", "priority-flow-control mode on", "priority-flow-control mode off", "pfc", N1),
    ("nxos-access", "weight 0 ecn", "weight 0", "ecn", N1),
    ("nxos-access", "  service-policy type queuing output EGRESS\n", "", "ecn", N2),
    ("nxos-access", "  service-policy type qos input CLASSIFY\n", "", "trust", N1),
    ("nxos-access", "  priority-flow-control watch-dog-interval on\n", "", "pfc_watchdog", N1),
    ("nxos-trunk-burst-optimized", "burst-optimized ecn", "burst-optimized", "ecn", N1),
    ("nxos-trunk-burst-optimized", "allowed vlan 711-712", "allowed vlan 712", "vlan", N1),
    ("nxos-routed-31", "  ip address 10.78.0.2/31\n", "", "address", N2),
]
