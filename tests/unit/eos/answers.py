"""What an EOS switch answers, in the forms of aristanetworks/anta and avd, and amd/node-scraper; values are ours."""

from __future__ import annotations

import json
from typing import Any

RUNNING = """\
! Command: show running-config
! device: leaf01 (DCS-7060DX4-32, EOS-4.32.2F)
!
qos map dscp 24 26 to traffic-class 3
qos map dscp 48 to traffic-class 6
qos map traffic-class 3 to dscp 26
!
qos profile ROCE
   qos trust dscp
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   !
   uc-tx-queue 3
      random-detect ecn minimum-threshold 150 kbytes maximum-threshold 1500 kbytes max-mark-probability 20 weight 0
      random-detect ecn count
!
interface Ethernet1/1
   mtu 9214
   switchport access vlan 111
   service-profile ROCE
!
interface Ethernet2/1
   switchport access vlan 111
   qos trust dscp
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   priority-flow-control pause watchdog
   !
   tx-queue 3
      random-detect ecn minimum-threshold 150 kbytes maximum-threshold 1500 kbytes max-mark-probability 20 weight 0
!
interface Ethernet3/1
   no switchport
!
interface Management1
   ip address 192.0.2.5/24
!
end
"""


def interface(status: str = "connected", line: str = "up", mtu: int = 9214, **counters: int) -> dict[str, Any]:
    return {
        "interfaceStatus": status,
        "lineProtocolStatus": line,
        "mtu": mtu,
        "bandwidth": 400000000000,
        "interfaceCounters": {"inDiscards": 0, "outDiscards": 0, **counters},
    }


def neighbor(name: str, port: str, **capabilities: bool) -> dict[str, Any]:
    return {
        "lldpNeighborInfo": [
            {
                "chassisIdType": "macAddress",
                "chassisId": "001c.73a0.fc18",
                "systemName": name,
                "systemCapabilities": capabilities,
                "neighborInterfaceInfo": {"interfaceId": f'"{port}"', "interfaceId_v2": port},
            }
        ]
    }


INTERFACES: dict[str, Any] = {
    "interfaces": {
        "Ethernet1/1": interface(outDiscards=4),
        "Ethernet2/1": interface(),
        "Ethernet3/1": interface("disabled", "down", 1500),
        "Management1": interface(mtu=1500),
    }
}
ANSWERS = {
    "show version | json": json.dumps({"version": "4.32.2F", "modelName": "DCS-7060DX4-32"}),
    "show interfaces | json": json.dumps(INTERFACES),
    "show running-config": RUNNING,
    "show running-config diffs": "",
    "show priority-flow-control counters | json": json.dumps(
        {
            "interfaceCounters": {
                "Ethernet1/1": {"rxFrames": 12, "txFrames": 3},
                "Ethernet2/1": {"rxFrames": 0, "txFrames": 0},
            }
        }
    ),
    "show qos interfaces ecn counters queue | json": json.dumps(
        {
            "intfQueueCounters": {
                "Ethernet1/1": {"queueCounters": {"3": "77", "4": "-"}},
                "Ethernet2/1": {"queueCounters": {"3": "-"}},
            }
        }
    ),
    "show lldp neighbors detail | json": json.dumps(
        {
            "lldpNeighbors": {
                "Ethernet1/1": neighbor("gpu01", "ens1f0np0"),
                "Ethernet2/1": neighbor("spine02", "Ethernet12", bridge=True, router=True),
                "Ethernet3/1": {"lldpNeighborInfo": []},
            }
        }
    ),
}
