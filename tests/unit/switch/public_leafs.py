"""Twenty right leafs as vendors and operators publish them, and single mistakes in them.

Written before one of them was read by the code. Wording and values are ours; each row names where its form is public.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Mapping

from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import info
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue.reading import NvueReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import info as onyx
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted

from lab.switch.grammar import CONFIG, Cli, execute
from lab.switch.state import Switch
from tests.unit.eos.answers import ANSWERS as EOS
from tests.unit.eos.answers import interface as eos_interface
from tests.unit.nvue.harness import Direct, Twin
from tests.unit.nvue.harness import run as run_cumulus
from tests.unit.nxos.answers import ANSWERS as NXOS
from tests.unit.nxos.answers import interface as nxos_interface
from tests.unit.nxos.answers import table
from tests.unit.onyx.harness import FakeSession
from tests.unit.onyx.harness import Run as RunOnyx
from tests.unit.sonic.answers import ANSWERS as SONIC
from tests.unit.switch.leafs import PORTS, RUNNING, VLAN, Leaf, eos, nxos, sonic

ADDRESSES = ("10.78.0.0/31", "10.78.0.2/31")


class Configured:
    """A leaf of a system that is configured: its problems, and what the stage switch would still change."""

    system, ports = "", ("", "")

    def __init__(self, mode: str, text: str, addresses: tuple[str, str] = ADDRESSES) -> None:
        self.mode, self.text, self.addresses = mode, text, addresses

    def wanted(self) -> Wanted:
        vlan = None if self.mode == "routed" else VLAN
        addresses = {name: (text,) for name, text in zip(self.ports, self.addresses)} if self.mode == "routed" else {}
        return Wanted(vlan=vlan, port_mode=self.mode, addresses=addresses, ports=self.ports, mtu=9216, watchdog=False)

    def judged(self, old: str = "", new: str = "") -> dict[str, Any]:
        assert old in self.text, old
        facts, stage = self.asked(self.text.replace(old, new, 1) if old else self.text)
        facts["ports"] = {name: facts["ports"][name] for name in self.ports}
        sentences = [*facts["problems"], *stage]
        vlan = self.wanted().vlan
        return {
            **facts,
            "sentences": sentences,
            "healthy": not sentences,
            "vlan": vlan and {"id": vlan},
            "wanted": {"port_mode": self.mode},
        }

    def asked(self, text: str) -> tuple[dict[str, Any], list[str]]:
        raise NotImplementedError

    def stage(self, run: Any) -> list[str]:
        try:
            return [each["description"] for each in run()["operations"] if "save the" not in each["description"]]
        except LayerError as error:
            return [str(error)]


class Onyx(Configured):
    """Lines of the running configuration, typed into the simulator."""

    system, ports = "onyx", ("1/1", "1/2")

    def asked(self, text: str) -> tuple[dict[str, Any], list[str]]:
        switch = Switch("leaf01", "3.10.4006", 32, 0.0)
        cli = Cli(switch, mode=CONFIG)
        for line in filter(None, map(str.strip, text.splitlines())):
            cli.context = ""
            answer = execute(cli, line)
            assert "%" not in answer, (line, answer)
        switch.write()
        facts = onyx.survey("leaf01", FakeSession(switch), self.ports, "lossless")
        return facts, self.stage(lambda: RunOnyx(switch, self.wanted())(check_mode=True))


class Cumulus(Configured):
    """A tree of NVUE, applied to the simulator of a release."""

    system, ports = "cumulus", ("swp1", "swp2")

    def __init__(self, release: str, mode: str, text: str, addresses: tuple[str, str] = ADDRESSES) -> None:
        super().__init__(mode, text, addresses)
        self.release = release

    def asked(self, text: str) -> tuple[dict[str, Any], list[str]]:
        twin = Twin(release=self.release)
        twin.switch.somebody_configures(json.loads(text))
        reader = NvueReader("leaf02", Direct(twin.api, twin.clock), "br_default")
        facts = info.survey(reader, self.ports, "lossless")
        return facts, self.stage(lambda: run_cumulus(twin, self.wanted(), check_mode=True))


@dataclasses.dataclass(frozen=True)
class Public:
    """``source``: where a configuration of this form is public."""

    source: str
    leaf: Leaf | Configured


def _sonic(mode: str, text: str, mtu: str = "9100") -> Leaf:
    db: dict[str, Any] = json.loads(text)
    db["PORT"] = {name: {"admin_status": "up", "mtu": mtu, "speed": "400000"} for name in PORTS["sonic"]}
    whole = json.dumps(db)
    return Leaf("sonic", mode, {**SONIC, sonic.RUNNING: whole, sonic.SAVED: whole})


def _eos(mode: str, text: str, mtu: int = 9214) -> Leaf:
    found = {"interfaces": {name: eos_interface(mtu=mtu) for name in PORTS["eos"]}}
    return Leaf("eos", mode, {**EOS, RUNNING: text, eos.INTERFACES: json.dumps(found)})


def _nxos(mode: str, text: str) -> Leaf:
    access = [{"interface": name, "access_vlan": str(VLAN)} for name in PORTS["nxos"] if mode == "access"]
    answers = {
        **NXOS,
        RUNNING: text,
        nxos.INTERFACES: json.dumps(table("interface", [nxos_interface(name, mode=mode) for name in PORTS["nxos"]])),
        nxos.SWITCHPORTS: json.dumps(table("interface", access)),
    }
    return Leaf("nxos", mode, answers)


# --- SONiC: the names AZURE are those of the images' QoS template

_DSCP = {str(each): "1" for each in range(64)} | {"3": "3", "26": "3", "46": "5", "48": "6", "8": "0"}
_AZURE = {
    "DSCP_TO_TC_MAP": {"AZURE": _DSCP},
    "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {str(tc): "3" if tc == 3 else "0" for tc in range(8)}},
    "TC_TO_QUEUE_MAP": {"AZURE": {str(tc): str(tc) for tc in range(8)}},
    "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": {str(tc): str(tc) for tc in range(8)}},
    "PORT_QOS_MAP": {
        "Ethernet0,Ethernet4": {
            "dscp_to_tc_map": "AZURE",
            "pfc_enable": "3",
            "pfc_to_queue_map": "AZURE",
            "pfcwd_sw_enable": "3",
            "tc_to_pg_map": "AZURE",
            "tc_to_queue_map": "AZURE",
        }
    },
    "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}, "scheduler.1": {"type": "DWRR", "weight": "15"}},
    "WRED_PROFILE": {
        "AZURE_LOSSLESS": {
            "ecn": "ecn_all",
            "green_drop_probability": "5",
            "green_max_threshold": "2097152",
            "green_min_threshold": "1048576",
            "red_max_threshold": "2097152",
            "red_min_threshold": "1048576",
            "wred_green_enable": "true",
            "wred_red_enable": "true",
            "wred_yellow_enable": "true",
            "yellow_max_threshold": "2097152",
            "yellow_min_threshold": "1048576",
        }
    },
    "QUEUE": {
        "Ethernet0,Ethernet4|0": {"scheduler": "scheduler.0"},
        "Ethernet0,Ethernet4|3": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"},
    },
    "PFC_WD": {
        "GLOBAL": {"POLL_INTERVAL": "200"},
        "Ethernet0": {"action": "drop", "detection_time": "200", "restoration_time": "200"},
        "Ethernet4": {"action": "drop", "detection_time": "200", "restoration_time": "200"},
    },
}


def _azure(more: Mapping[str, Any]) -> str:
    return json.dumps({**_AZURE, **more})


_OLD_REFERENCES = _azure(
    {
        "VLAN": {"Vlan711": {"vlanid": "711"}, "Vlan720": {"vlanid": "720"}},
        "VLAN_INTERFACE": {"Vlan711": {}, "Vlan711|10.78.0.1/24": {}},
        "VLAN_MEMBER": {
            f"Vlan{vlan}|{name}": {"tagging_mode": "tagged"}
            for vlan in (711, 720)
            for name in ("Ethernet0", "Ethernet4")
        },
        "PORTCHANNEL_MEMBER": {"PortChannel1|Ethernet120": {}},
    }
)
_OLD_REFERENCES = _OLD_REFERENCES.replace('"dscp_to_tc_map": "AZURE"', '"dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]"')
_OLD_REFERENCES = _OLD_REFERENCES.replace(
    '"wred_profile": "AZURE_LOSSLESS"', '"wred_profile": "[WRED_PROFILE|AZURE_LOSSLESS]"'
)

# --- EOS

_EOS_PROFILE = """\
qos profile GPU-LEAF
   qos trust dscp
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   priority-flow-control pause watchdog
   priority-flow-control pause watchdog port action drop
   priority-flow-control pause watchdog port timer timeout 0.2 polling-interval auto recovery-time 0.2 forced
   !
   uc-tx-queue 3
      bandwidth guaranteed percent 50
      random-detect ecn minimum-threshold 500 kbytes maximum-threshold 1500 kbytes max-mark-probability 25 weight 0
      random-detect ecn count
   !
   uc-tx-queue 6
      priority strict
!
"""
_EOS_WATCH = """\
priority-flow-control pause watchdog default timeout 0.20
priority-flow-control pause watchdog default recovery-time 0.20
priority-flow-control pause watchdog default polling-interval 0.10
priority-flow-control pause watchdog override action drop
qos rewrite dscp
qos map dscp 24 25 26 27 28 29 30 31 to traffic-class 3
qos map dscp 48 to traffic-class 6
!
"""
_EOS_PORT = """\
   qos trust dscp
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   priority-flow-control pause watchdog
   !
   tx-queue 3
      random-detect ecn minimum-threshold 2 mbytes maximum-threshold 10 mbytes max-mark-probability 100 weight 0
"""
_EOS_TEXT = {
    "access": _EOS_PROFILE
    + "".join(
        f"interface {name}\n   description gpu\n   mtu 9214\n   switchport access vlan 711\n   spanning-tree portfast\n"
        "   service-profile GPU-LEAF\n!\n"
        for name in PORTS["eos"]
    ),
    "trunk": "".join(
        f"interface {name}\n   speed forced 400gfull\n   switchport trunk allowed vlan 10,700-720\n"
        f"   switchport mode trunk\n   switchport trunk native vlan 10\n{_EOS_PORT}!\n"
        for name in PORTS["eos"]
    ),
    "routed": _EOS_WATCH
    + _EOS_PROFILE.replace("   priority-flow-control pause watchdog port action drop\n", "")
    + "".join(
        f"interface {name}\n   mtu 9214\n   no switchport\n   ip address {text}\n   service-profile GPU-LEAF\n!\n"
        for name, text in zip(PORTS["eos"], ADDRESSES)
    )
    + "router bgp 65101\n   router-id 10.0.0.1\n   maximum-paths 64\n   redistribute connected\n!\n",
    "subnets": "".join(
        f"interface {name}\n   no switchport\n   ip address 10.78.{rail}.1/26\n   ipv6 enable\n"
        f"   ipv6 address 2001:db8:0:{rail}::1/64\n"
        + _EOS_PORT.replace("   qos trust dscp\n", "")
        .replace("2 mbytes", "400000 bytes")
        .replace("10 mbytes", "900000 bytes")
        + "!\n"
        for rail, name in ((1, PORTS["eos"][0]), (2, PORTS["eos"][1]))
    ),
}

# --- NX-OS

_NXOS_POLICIES = """\
class-map type qos match-all CNP
  match dscp 48
class-map type qos match-all ROCEv2
  match dscp 26
policy-map type qos QOS_CLASSIFICATION
  class ROCEv2
    set qos-group 3
  class CNP
    set qos-group 7
  class class-default
    set qos-group 0
policy-map type queuing QOS_EGRESS_PORT
  class type queuing c-out-8q-q6
    bandwidth remaining percent 0
  class type queuing c-out-8q-q3
    bandwidth remaining percent 50
    random-detect minimum-threshold 950 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 50
  class type queuing c-out-8q-q7
    priority level 1
policy-map type network-qos QOS_NETWORK
  class type network-qos c-8q-nq3
    mtu 9216
    pause pfc-cos 3
  class type network-qos c-8q-nq-default
    mtu 9216
system qos
  service-policy type network-qos QOS_NETWORK
  service-policy type queuing output QOS_EGRESS_PORT
"""
_NXOS_INPUT = """\
policy-map type queuing INPUT_QUEUING
  class type queuing c-in-q3
    pause buffer-size 101920 pause-threshold 46800 resume-threshold 34320
  class type queuing c-in-q-default
"""
_NXOS_PORT = """\
  mtu 9216
  priority-flow-control mode on
  priority-flow-control watch-dog-interval on
  service-policy type qos input QOS_CLASSIFICATION
  no shutdown
"""
_NXOS_OWN = """\
class-map type qos match-any RDMA
  match dscp af31
class-map type qos match-any CLUSTER
  match dscp cs6
class-map type queuing RDMA
  match qos-group 3
class-map type network-qos RDMA
  match qos-group 3
policy-map type qos AZS
  class RDMA
    set qos-group 3
  class CLUSTER
    set qos-group 7
policy-map type queuing AZS-OUT
  class type queuing RDMA
    bandwidth percent 50
    random-detect minimum-threshold 300 kbytes maximum-threshold 300 kbytes drop-probability 100 weight 0 ecn
  class type queuing class-default
    bandwidth percent 48
policy-map type network-qos AZS-NET
  class type network-qos RDMA
    pause pfc-cos 3
    mtu 9216
  class type network-qos class-default
    mtu 9216
priority-flow-control watch-dog-interval on
priority-flow-control watch-dog shutdown-multiplier 1
system qos
  service-policy type queuing output AZS-OUT
  service-policy type network-qos AZS-NET
"""


def _nxos_ports(*heads: str, port: str = _NXOS_PORT) -> str:
    lines = zip(PORTS["nxos"], heads * 2 if len(heads) == 1 else heads)
    return "".join(f"interface {name}\n{head}{port}\n" for name, head in lines)


_NXOS_TEXT = {
    "access": _NXOS_POLICIES + _nxos_ports("  description gpu\n  switchport\n  switchport access vlan 711\n"),
    "trunk": _NXOS_OWN
    + _nxos_ports(
        "  switchport mode trunk\n  switchport trunk native vlan 99\n  switchport trunk allowed vlan 7,711-712\n"
        "  spanning-tree port type edge trunk\n",
        port="  mtu 9216\n  priority-flow-control mode on send-tlv\n  service-policy type qos input AZS no-stats\n",
    ),
    "routed": _NXOS_POLICIES
    + _NXOS_INPUT
    + _nxos_ports(*(f"  no switchport\n  ip address {text}\n" for text in ADDRESSES))
    + "router bgp 65101\n  address-family ipv4 unicast\n    redistribute direct route-map ALL\n",
    "subnets": _NXOS_POLICIES.replace("match dscp 26", "match dscp 24-31")
    + "vrf context GPU\n"
    + _nxos_ports(
        *(
            f"  no switchport\n  vrf member GPU\n  ip address 10.78.{rail}.1/24 tag 12345\n"
            f"  ipv6 address 2001:db8:0:{rail}::1/64\n"
            for rail in (1, 2)
        )
    ),
}

# --- Cumulus Linux


def _cumulus(ports: Mapping[str, Any], roce: Mapping[str, Any], **more: Any) -> str:
    links = {name: {"type": "swp", "link": {"mtu": 9216}, **settings} for name, settings in ports.items()}
    return json.dumps({"interface": links, "qos": {"roce": {**roce, "mode": "lossless"}}, **more})


_BRIDGE = {"bridge": {"domain": {"br_default": {"type": "vlan-aware", "vlan": {"711": {}, "720": {}}}}}}
_WATCH = {"qos": {"pfc-watchdog": {"state": "enable"}}}


def _bridged(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: {"bridge": {"domain": {"br_default": settings}}, **_WATCH} for name in ("swp1", "swp2")}


_BGP_515 = {"vrf": {"default": {"router": {"bgp": {"state": "enabled", "autonomous-system": 65101}}}}}

# --- Onyx

_ONYX_QOS = "roce lossless\ninterface ethernet 1/1-1/2 mtu 9216 force\nlldp\n"
_ONYX_TEXT = {
    "access": "vlan 711\nvlan 711 name ROCE\ninterface ethernet 1/1-1/2 switchport access vlan 711\n" + _ONYX_QOS,
    "trunk": "vlan 711\nvlan 720\ninterface ethernet 1/1-1/2 switchport mode trunk\n"
    "interface ethernet 1/1 switchport trunk allowed-vlan 711\n"
    "interface ethernet 1/1 switchport trunk allowed-vlan add 720\n"
    "interface ethernet 1/2 switchport trunk allowed-vlan 711-711\n" + _ONYX_QOS,
    "routed": "interface ethernet 1/1-1/2 no switchport force\nip routing vrf default\n"
    "interface ethernet 1/1 description gpu01\n"
    "interface ethernet 1/1 ip address 10.78.0.0/31 primary\n"
    "interface ethernet 1/2 ip address 10.78.0.2/31 primary\n" + _ONYX_QOS,
    "subnets": _ONYX_QOS + "interface ethernet 1/1-1/2 no switchport force\nip routing vrf default\n"
    "interface ethernet 1/1 ip address 10.78.1.1/26\ninterface ethernet 1/2 ip address 10.78.2.1/26\n",
}

_SONIC_DOC = "https://github.com/sonic-net/sonic-buildimage/blob/master/src/sonic-yang-models/doc/Configuration.md"
_SONIC_NV = "https://github.com/CumulusNetworks/docs content/sonic-202012/System-Configuration/QoS-and-Buffers.md"
_SONIC_PFCWD = "https://github.com/sonic-net/SONiC/wiki/PFC-Watchdog-Design"
_EOS_AI = "Arista, AI Network Fabric Deployment Guide (manuals.plus/so/arista/ai-network-fabric-deployment-manual)"
_EOS_BRCM = "Arista and Broadcom, Lossless Network for AI/ML/Storage/HPC with RDMA, version 2, January 2024"
_EOS_AVD = "https://github.com/aristanetworks/avd eos_cli_config_gen, qos profiles of its molecule scenarios"
_NX_AI = "Cisco, Nexus 9000 AI/ML blueprint and NX-OS Quality of Service Configuration Guide"
_NX_AZURE = "https://github.com/microsoft/AzLocal-Network-Switch-Configs, Nexus 93180"
_NVUE_ROCE = "https://docs.nvidia.com/networking-ethernet-software/cumulus-linux/ RoCE, PFC Watchdog"
_NVUE_BGP = "https://docs.nvidia.com/networking-ethernet-software/cumulus-linux-59/ BGP Configuration Example"
_ONYX_MANUAL = "https://docs.nvidia.com/networking/display/Onyxv3104302/ RoCE, IP Routing Overview"
_ONYX_CRAY = "https://github.com/Cray-HPE/docs-csm install/, spine switches with routed site connections"

PUBLIC: dict[str, Public] = {
    "sonic-access": Public(
        _SONIC_DOC,
        _sonic(
            "access",
            _azure(
                {
                    "VLAN": {"Vlan711": {"vlanid": "711"}},
                    "VLAN_MEMBER": {
                        f"Vlan711|{name}": {"tagging_mode": "untagged"} for name in ("Ethernet0", "Ethernet4")
                    },
                }
            ),
        ),
    ),
    "sonic-trunk": Public(_SONIC_NV, _sonic("trunk", _OLD_REFERENCES, "9216")),
    "sonic-routed": Public(
        _SONIC_PFCWD,
        _sonic(
            "routed",
            _azure(
                {
                    "INTERFACE": {
                        "Ethernet0": {},
                        "Ethernet4": {},
                        "Ethernet0|10.78.0.0/31": {"family": "IPv4", "scope": "global"},
                        "Ethernet4|10.78.0.2/31": {"family": "IPv4", "scope": "global"},
                    },
                    "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "gpu01", "port": "ens1"}},
                }
            ),
        ),
    ),
    "sonic-subnets": Public(
        _SONIC_DOC,
        _sonic(
            "routed",
            _azure(
                {
                    "VRF": {"Vrf_gpu": {}},
                    "INTERFACE": {
                        "Ethernet0": {"vrf_name": "Vrf_gpu", "ipv6_use_link_local_only": "disable"},
                        "Ethernet4": {"vrf_name": "Vrf_gpu"},
                        "Ethernet0|10.78.1.1/26": {},
                        "Ethernet0|2001:db8:0:1::1/64": {},
                        "Ethernet4|10.78.2.1/26": {},
                    },
                }
            ),
        ),
    ),
    "eos-access": Public(_EOS_AVD, _eos("access", _EOS_TEXT["access"])),
    "eos-trunk": Public(_EOS_BRCM, _eos("trunk", _EOS_TEXT["trunk"])),
    "eos-routed": Public(_EOS_AI, _eos("routed", _EOS_TEXT["routed"])),
    "eos-subnets": Public(_EOS_BRCM, _eos("routed", _EOS_TEXT["subnets"], 9000)),
    "nxos-access": Public(_NX_AI, _nxos("access", _NXOS_TEXT["access"])),
    "nxos-trunk": Public(_NX_AZURE, _nxos("trunk", _NXOS_TEXT["trunk"])),
    "nxos-routed": Public(_NX_AI, _nxos("routed", _NXOS_TEXT["routed"])),
    "nxos-subnets": Public(_NX_AI, _nxos("routed", _NXOS_TEXT["subnets"])),
    "cumulus-access": Public(
        _NVUE_ROCE, Cumulus("5.14.0", "access", _cumulus(_bridged({"access": 711}), {"enable": "on"}, **_BRIDGE))
    ),
    "cumulus-trunk": Public(
        _NVUE_ROCE,
        Cumulus(
            "5.9.0",
            "trunk",
            _cumulus(_bridged({"untagged": 1, "vlan": {"711": {}, "720": {}}}), {"enable": "on"}, **_BRIDGE),
        ),
    ),
    "cumulus-routed": Public(
        _NVUE_BGP,
        Cumulus(
            "5.15.0",
            "routed",
            _cumulus(
                {
                    "swp1": {"ipv4": {"address": {"10.78.0.0/31": {}}}, **_WATCH},
                    "swp2": {"ipv4": {"address": {"10.78.0.2/31": {}}}, **_WATCH},
                },
                {"state": "enabled"},
                **_BGP_515,
            ),
        ),
    ),
    "cumulus-subnets": Public(
        _NVUE_BGP,
        Cumulus(
            "5.6.0",
            "routed",
            _cumulus(
                {
                    "swp1": {"ip": {"address": {"10.78.1.1/26": {}}}, **_WATCH},
                    "swp2": {"ip": {"address": {"10.78.2.1/26": {}}}, **_WATCH},
                },
                {"enable": "on"},
            ),
            ("10.78.1.1/26", "10.78.2.1/26"),
        ),
    ),
    "onyx-access": Public(_ONYX_MANUAL, Onyx("access", _ONYX_TEXT["access"])),
    "onyx-trunk": Public(_ONYX_MANUAL, Onyx("trunk", _ONYX_TEXT["trunk"])),
    "onyx-routed": Public(_ONYX_CRAY, Onyx("routed", _ONYX_TEXT["routed"])),
    "onyx-subnets": Public(_ONYX_MANUAL, Onyx("routed", _ONYX_TEXT["subnets"], ("10.78.1.1/26", "10.78.2.1/26"))),
}

# (leaf, what it has, what is there instead, words of the sentence that names it)
WRONG: list[tuple[str, str, str, str]] = [
    ("sonic-access", '"26": "3"', '"26": "1"', "Ethernet0: DSCP 26 is priority 1"),
    ("sonic-access", '"48": "6"', '"48": "3"', "Ethernet0: CNP (DSCP 48) is priority 3"),
    ("sonic-access", '"pfc_enable": "3"', '"pfc_enable": "4"', "Ethernet0: PFC is PFC [4]"),
    ("sonic-access", "Vlan711|Ethernet4", "Vlan712|Ethernet4", "Ethernet4: VLAN is VLAN 712"),
    ("sonic-trunk", "Ethernet0,Ethernet4|3", "Ethernet0,Ethernet4|4", "Ethernet0: congestion marking"),
    ("sonic-trunk", '"ecn": "ecn_all"', '"ecn": "ecn_none"', "Ethernet4: congestion marking"),
    ("sonic-routed", "Ethernet4|10.78.0.2/31", "Ethernet4|10.78.0.1/31", "Ethernet4: address"),
    ("sonic-subnets", '"mtu": "9100"', '"mtu": "4096"', "Ethernet0: MTU is 4096"),
    ("sonic-subnets", '"Ethernet4": {"action"', '"Ethernet8": {"action"', "Ethernet4: PFC watchdog is disabled"),
    ("eos-access", "   qos trust dscp\n", "   qos trust cos\n", "Ethernet1/1: trust is cos"),
    ("eos-access", "   priority-flow-control on\n", "", "Ethernet1/1: PFC is PFC []"),
    ("eos-access", "switchport access vlan 711", "switchport access vlan 117", "Ethernet1/1: VLAN is VLAN 117"),
    ("eos-access", "   uc-tx-queue 3", "   uc-tx-queue 5", "Ethernet2/1: congestion marking"),
    ("eos-trunk", "10,700-720", "10,720-730", "Ethernet1/1: VLAN is VLANs 10, 720-730"),
    ("eos-trunk", "   priority-flow-control pause watchdog\n", "", "Ethernet1/1: PFC watchdog is disabled"),
    (
        "eos-routed",
        "qos map dscp 24 25 26 27",
        "qos map dscp 26 to traffic-class 0\nqos map dscp 24 25 27",
        "Ethernet1/1: DSCP 26",
    ),
    ("eos-routed", "   ip address 10.78.0.2/31\n", "", "Ethernet2/1: address is none"),
    ("eos-subnets", "10.78.2.1/26", "10.78.1.9/26", "Ethernet2/1: address"),
    ("nxos-access", "match dscp 26", "match dscp 46", "Ethernet1/1: DSCP 26 is priority 0"),
    ("nxos-access", "    pause pfc-cos 3\n", "    pause pfc-cos 4\n", "Ethernet1/1: PFC"),
    ("nxos-access", "priority-flow-control mode on", "priority-flow-control mode off", "Ethernet1/1: PFC is PFC []"),
    (
        "nxos-trunk",
        "drop-probability 100 weight 0 ecn",
        "drop-probability 100 weight 0",
        "Ethernet1/1: congestion marking",
    ),
    ("nxos-trunk", "7,711-712", "7,712-713", "Ethernet1/1: VLAN is VLANs 7, 712-713"),
    (
        "nxos-routed",
        "  class CNP\n    set qos-group 7",
        "  class CNP\n    set qos-group 3",
        "CNP (DSCP 48) is priority 3",
    ),
    ("nxos-routed", "  service-policy type qos input QOS_CLASSIFICATION\n", "", "Ethernet1/1: trust"),
    ("nxos-subnets", "10.78.2.1/24", "10.78.1.9/24", "Ethernet1/2: address"),
    ("cumulus-access", '"mode": "lossless"', '"mode": "lossy"', "RoCE mode"),
    ("cumulus-access", '"enable": "on"', '"enable": "off"', "RoCE mode"),
    ("cumulus-access", '"access": 711', '"access": 720', "ports swp1: VLAN 720 -> access VLAN 711"),
    ("cumulus-access", '"mtu": 9216', '"mtu": 1500', "ports swp1: MTU 1500"),
    ("cumulus-trunk", '"vlan": {"711": {}, "720": {}}', '"vlan": {"720": {}}', "port swp1: VLAN 711 on the trunk"),
    ("cumulus-routed", "10.78.0.2/31", "10.78.0.4/31", "swp2"),
    ("cumulus-routed", '"state": "enabled", "mode"', '"state": "disabled", "mode"', "RoCE mode"),
    (
        "cumulus-subnets",
        '"qos": {"roce"',
        '"qos": {"mapping": {"default-global": {"dscp": {"26": {"switch-priority": 0}}}}, "roce"',
        "DSCP 26 is priority 0",
    ),
    ("onyx-access", "roce lossless", "roce lossy", "RoCE mode"),
    ("onyx-access", "mtu 9216 force", "mtu 4096 force", "MTU 4096"),
    ("onyx-access", "access vlan 711", "access vlan 100", "access VLAN 100 -> 711"),
    ("onyx-trunk", "allowed-vlan 711-711", "allowed-vlan 720", "port 1/2: VLAN 711 on the trunk"),
    ("onyx-routed", "ip routing vrf default\n", "", "forward between routed ports"),
    ("onyx-routed", "10.78.0.2/31", "10.78.0.4/31", "1/2 is a routed port"),
    ("onyx-subnets", "10.78.2.1/26", "10.78.3.1/26", "1/2 is a routed port"),
    ("onyx-routed", "lldp\n", "lldp\ninterface ethernet 1/1 qos trust L2\n", "trust"),
]
