"""What switches of both JSON eras print, from what is documented; nothing here comes from the simulator."""

from __future__ import annotations

import json

ROCE_REAL = """RoCE mode      : lossless
LLDP           : enabled
Port trust mode: L3

Application TLV:
  Selector: udp
  Protocol: 4791
  Priority: 3

Port congestion-control:
  Mode    : ecn, absolute
  Min (KB): 150
  Max (KB): 1500

PFC              : enabled
switch-priority 3: enabled

RoCE used TCs:
  ----------------------------------------------
  Switch-Priority   TC     Application   ETS
  ----------------------------------------------
  3                 3      RoCE          WRR 50%
  6                 6      CNP           Strict

RoCE buffer pools:
  ----------------------------------------------------------------------------------------------
  Traffic                  Type      Memory   Switch        Memory actual   Usage    Max Usage
  Pool                               [%]      Priorities
  ----------------------------------------------------------------------------------------------
  lossy-default            lossy     auto     0, 1, 2, 4,   3.6M            0        47.1K
                                              5, 6, 7
  roce-reserved            lossless  auto     3             3.6M            0        1.8M

Exception list:
N/A"""
# The manual's sample: no unit in the labels, other blanks, LLDP off.
ROCE_MANUAL = ROCE_REAL.replace("Min (KB): 150", "Min : 150").replace("Max (KB): 1500", "Max : 1500")
ROCE_MANUAL = ROCE_MANUAL.replace("LLDP           : enabled", "LLDP : disabled")
ROCE_EXCEPTION = ROCE_REAL.replace("N/A", "  interface   reason\n  -----------------\n  Eth1/3      buffer differs")
ROCE_OFF = "RoCE mode: N/A"

VERSION = json.dumps({"Product name": "Onyx", "Product release": "3.10.4006", "Product model": "x86onie"})

OLD, NEW = "before 3.6.6000", "since 3.6.6000"


def wrap(era: str, entry: dict[str, object]) -> object:
    return [entry] if era == NEW else entry


def vlan(era: str) -> str:
    return json.dumps(
        {
            "1": wrap(era, {"Name": "default", "Ports": "Eth1/2, Eth1/3, Eth1/4,\nEth1/6, Po5"}),
            "111": wrap(era, {"Name": "rdma", "Ports": ""}),
            "Summary": wrap(era, {"Name": "not a VLAN", "Ports": ""}),
        }
    )


def switchport(era: str) -> str:
    return json.dumps(
        {
            "Eth1/1": wrap(era, {"Access vlan": "111", "Allowed vlans": "", "Mode": "access"}),
            "Eth1/2": wrap(era, {"Access vlan": "N/A", "Allowed vlans": "2, 4, 7-10", "Mode": "trunk"}),
            "Eth1/3 (Po5)": wrap(era, {"Access vlan": "1", "Allowed vlans": "10", "Mode": "hybrid"}),
            "Eth1/10/2": wrap(era, {"Access vlan": "1", "Allowed vlans": "", "Mode": "access"}),
            "Po5": wrap(era, {"Access vlan": "1", "Allowed vlans": "", "Mode": "access"}),
        }
    )


def ethernet(era: str) -> str:
    first = {"Admin state": "Enabled", "Operational state": "Up", "Switchport mode": "access"}
    second = {"Admin state": "Disabled", "Operational state": "Down", "Switchport mode": "access"}
    transmit = {"discard packets": "7", "hoq discard packets": "3"}
    if era == NEW:
        return json.dumps(
            [
                {
                    "Eth1/1": [
                        {**first, "MTU": "9216 bytes (Maximum packet size 9238 bytes)"},
                        {"Rx": [{"discard packets": "1"}], "Tx": [transmit]},
                    ]
                },
                {"Eth1/10/2": [{**second, "MTU": "1500 bytes (Maximum packet size 1522 bytes)"}]},
            ]
        )
    return json.dumps(
        [
            {
                "header": "Eth1/1",
                **first,
                "MTU": "9216 bytes(Maximum packet size 9238 bytes)",
                "Rx": {"discard packets": "1"},
                "Tx": transmit,
            },
            {"header": "Eth1/10/2", **second, "MTU": "1500 bytes(Maximum packet size 1522 bytes)"},
        ]
    )


def pfc(era: str) -> str:
    ports = {
        "Eth1/1": [{"PFC admin": "Auto", "PFC oper": "Enabled"}],
        "Eth1/2": [{"PFC admin": "On", "PFC oper": "Disabled"}],
    }
    if era == NEW:
        head = {"PFC": "enabled", "Priority Enabled List": "3 4", "Priority Disabled List": "0 1 2 5 6 7"}
        return json.dumps([head, ports])
    return json.dumps({"Table 2": ports})


def port_channels(era: str) -> str:
    return json.dumps(
        {
            "Flags": wrap(era, {"D": "Down", "P": "Up in port-channel (members)"}),
            "1 Po22(D)": [{"Type": "STATIC", "Member Ports": "Eth1/7(D)"}],
            "2 Po5(U)": [{"Type": "LACP", "Member Ports": "Eth1/3(P), Eth1/10/2(P)"}],
        }
    )


CONGESTION = json.dumps(
    [
        {"Interface ethernet": "1/1", "ECN marked packets": "0"},
        {"header": "TC-0", "Mode": "none"},
        {"header": "TC-3", "Mode": "ECN", "Threshold mode": "absolute", "Minimum threshold": "150 KB"},
        {"Interface ethernet": "1/2", "ECN marked packets": "0"},
        {"header": "TC-3", "Mode": "none"},
    ]
)
QOS = json.dumps(
    [
        {"Eth1/1": [{"Trust mode": "L3", "DSCP rewrite": "disabled"}, {"DSCP; mapping": [{"24-31": "3"}]}]},
        {"Eth1/2": [{"Trust mode": "both"}]},
    ]
)
FILES = "csm1.0 (active)\ninitial\ninitial.bak\nActive configuration: csm1.0\nUnsaved changes : {0}"
RUNNING = """##
## Running database "initial"
## Generated at 2017/11/28 17:52:08 +0000
##
no cli default prefix-modes enable
   interface ethernet 1/7-1/8 channel-group 1 mode active
   vlan 101
no spanning-tree
   interface vlan 101
   interface ethernet 1/1 description %1
   interface ethernet 1/7-1/8 dcb priority-flow-control mode on force
"""
