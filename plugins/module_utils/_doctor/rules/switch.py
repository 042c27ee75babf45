# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches of several makers: priorities, queues, ports, VLANs, MTU. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, rule, sign

SIGNS = (
    sign(
        "pfc_watchdog",
        # Not its settings: "The PFC watchdog timeout is", "watchdog action is errdisable", "watchdog: enabled".
        r"PFC[- ]?(?:WD|watchdog)\b(?! ?(?:is |timeout|action|recovery|polling|forced|default|enabled|disabled|[:,]))"
        r"|PFC[- ]?(?:deadlock|storm)|pfcwd|storm(?:ed)? detected.*queue|queue.*\bstorm\b(?! DETECTED/RESTORED)"
        r"|pause storm",
    ),
    sign(
        "switch_drops",
        r"(?:tail[- ]?drop\w*|egress (?:buffer )?drops?|ingress (?:buffer )?drops?"
        r"|buffer (?:overflow|exhaust\w+)|no[-_ ]?buffer[-_ ]?discards?|tx_drop_cnt|WRED drops?"
        r"|(?:discard|dropped) packets?|in-acl-drops|tx_wred_discard|congest\w* (?:drops?"
        r"|discards?))\s*[:=]?\s*[1-9]\d*\b",
    ),
    sign(
        "switch_pfc_off",
        r"(?<!prio-)(?:pfc|priority-flow-control|roce|ecn)\b(?!-cap).*\b(?:oper(?:ational)?(?: state| mode)?|status"
        r"|state|mode)?\s*[:=]?\s*(?:disabled|off|not (?:enabled|configured))\b|no (?:pfc"
        r"|priority-flow-control|dcb)|dcb priority-flow-control.*(?:off|disabled)"
        r"|PFC (?:is )?not (?:enabled|configured) on (?:the )?switch|switch.*(?:PFC|ECN"
        r"|lossless).*(?:not|disabled|missing|wrong)|(?:PFC|ECN"
        r"|lossless).*\bswitch(?:es)?\b.*(?:not|disabled|missing|wrong)",
    ),
    # SONiC: show interfaces counters; RX_UTIL, RX_ERR, RX_DRP.
    sign("sonic_drops", r"^\s*Ethernet\d+\s+[UDX]\s.*%\s+[\d,]+\s+[1-9][\d,]{3,}\s"),
    # Dell OS9, OS10: show interfaces pfc, dcbx; NX-OS: show interface priority-flow-control, Admin and Oper.
    sign("dcb_down", r"DCBX? Oper(?:ational)? status\s*:?\s*(?:Down|Disabled)|^\s*Ethernet\d+/\S+\s+On\s+Off\b"),
    sign(
        "switch_vlan",
        r"(?:wrong|another|different|missing) vlan|vlan.*(?:mismatch|not (?:allowed|configured"
        r"|member))|native vlan mismatch|access vlan.*(?:wrong|default)"
        r"|vlan \d+ (?:does not exist|not found)",
    ),
    sign(
        "switch_port_down",
        r"(?:err-?disabled|admin(?:istratively)? (?:state ?[:=]? ?)?down"
        r"|Operational state\s*:\s*Down|Admin state\s*:\s*Disabled|line protocol is down"
        r"|port-?security violation|bpdu-?guard|storm-control.*shutdown|MLAG.*(?:down"
        r"|inconsistent)|lacp.*(?:suspended|individual))",
    ),
    sign(
        "switch_mtu_small",
        r"(?:Eth\d|swp\d|Ethernet\d|port-channel|interface ethernet).*\bMTU\b\D{0,10}1500\b"
        r"|switch.*\bmtu\b.*1500|MTU\s*:\s*1500 bytes|(?:giants|jumbo|oversize)\w*\s*[:=]\s*[1-9]",
    ),
)

RULES = (
    rule(
        "watchdog_pfc",
        "pfc_watchdog",
        CANDIDATE,
        "switch_pfc nic_qos_differs host_slow_receiver",
        "PFC watchdog of switches: a queue that was paused too long",
    ),
    rule(
        "drops",
        "switch_drops|switch_pfc_off|sonic_drops|dcb_down",
        CANDIDATE,
        "switch_pfc nic_qos_differs",
        "a lossless queue drops nothing",
    ),
    rule("vlan", "switch_vlan", CANDIDATE, "switch_port_off no_path_between_nics", "IEEE 802.1Q"),
    rule("port_down", "switch_port_down", CANDIDATE, "switch_port_off link_faulty", "switch manuals"),
    rule(
        "mtu_switch",
        "switch_mtu_small",
        CANDIDATE,
        "switch_mtu mtu_differs",
        "RoCE at active_mtu 4096 needs about 4200 bytes, jumbo frames 9216",
    ),
)
