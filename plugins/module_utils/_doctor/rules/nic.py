# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NIC, cable and switch: links, MTU, priorities, firmware. Pure data."""

from __future__ import annotations

import re
from typing import Match

from ..model import CANDIDATE, FACT, GOOD, rule, sign

_MLX5 = "kernel: drivers/net/ethernet/mellanox/mlx5/core"
_SIZES = (256, 512, 1024, 2048, 4096)
_HEADERS = 80  # bytes that RoCE v2 takes of an Ethernet MTU, rounded up


def _roce(mtu: int) -> int:
    """The path MTU that an Ethernet MTU leaves; of a path MTU, itself."""
    return max((size for size in _SIZES if size == mtu or size + _HEADERS <= mtu), default=mtu)


_BRIDGES = re.compile(r"\b(?:docker|veth|virbr|br-|cni|flannel|cali|tunl|lo\b)", re.IGNORECASE)


def _mtus_differ(match: Match[str]) -> bool:
    if _BRIDGES.search(match.string):
        return False  # of a host's own networks
    figures = [int(text) for text in (match["a"] or match["c"], match["b"] or match["d"]) if text]
    return len(figures) < 2 or _roce(figures[0]) != _roce(figures[1])


SIGNS = (
    sign(
        "link_flap",
        r"async event ?: ?port error|IBV_EVENT_(?:PORT_ERR|DEVICE_FATAL)|link (?:flap|bounc)\w*"
        r"|(?:port|link).{0,20}(?:flapp?ing|flaps)|link_downed\w*\s*[:=]\s*[1-9]\d*"
        r"|link_down_events_phy\s*:\s*(?:[2-9]|\d{2,})\b|carrier_changes\b.*\d{3,}"
        r"|Link down.*Link up",
    ),
    sign(
        "link_down",
        r"(?:mlx5_core|mlx4_en|bnxt_en|ice|ixgbe|i40e|bond\d+).*\bLink (?:is )?(?:down|Down)\b"
        r"|NIC Link is Down|link becomes not ready|NO-CARRIER|Link detected: no|\bcarrier lost\b"
        r"|Lost carrier|MII Status: down",
    ),
    sign(
        "cable_unplugged",
        r"Cable unplugged|module \d+, status.*(?:unplugged|error)|Cable error"
        r"|transceiver.*(?:unsupported|not (?:present|qualified|supported)|fault)"
        r"|unsupported (?:SFP|QSFP|transceiver|cable|module)|module .*(?:high temperature"
        r"|over ?temp)|power budget exceeded|No cable|cable is unplugged|bad signal integrity"
        r"|Troubleshooting.*(?:cable|no issue)?.*unplugged",
    ),
    sign(
        "symbol_errors",
        r"(?:symbol_errors?(?:_phy)?|rx_symbol_err_phy|SymbolErrors?\w*|rx_crc_errors_phy"
        r"|rx_fcs_errors|fcs[_ -]?err\w*|PortRcvErrors|port_rcv_errors"
        r"|local_link_integrity_errors|rx_pcs_symbol_err_phy"
        r"|rx_discards_symbol)\s*[.:=]+\s*(?P<count>\d{4,})",
    ),
    # show interface of NX-OS, EOS, IOS, Dell: the figure stands before the word.
    sign("crc_counted", r"\b[1-9]\d{2,} (?:CRC|FCS|symbol|alignment)\b|\b[1-9]\d{2,} input errors?\b"),
    sign(
        "effective_ber",
        r"effective (?:physical )?BER\s*[:=]\s*(?:[1-9]\S*[eE]-0?[1-9]\b)"
        r"|raw physical BER\s*[:=]\s*\d\S*E-0?[1-4]\b",
    ),
    sign(
        "link_speed_low",
        r"\bexpected (?:at least )?\d+ ?(?:Mb|Gb|GT)|(?:degraded|reduced|wrong|lower) (?:link )?(?:speed"
        r"|rate|width)|rate:\s*(?:10|25|40"
        r"|50) Gb/sec.*(?:expected|instead)|Link (?:speed|is).*(?:expected|instead of)"
        r"|auto-?neg.*fail",
    ),
    sign(
        "cable_wrong_port",
        r"wrong (?:port|cable|nic)|swapped (?:cable|port)s?|cables?.*(?:swapped|crossed"
        r"|mis-?wired|wrong)|miswir\w+|mis-?cabl\w+|LLDP.*(?:mismatch|unexpected|wrong)"
        # Table of the topology manager of Cumulus Linux (ptmctl): port, status of the cable.
        r"|^\s*(?:swp|eth|bond)\d\S*\s+fail\b"
        r"|same port index|(?:NICs?|HCAs?).*(?:no|not).*(?:physical(?:ly)? connect)",
    ),
    sign("cable_plugged", r"Port module event: module \d+, Cable plugged|Cable plugged", GOOD),
    sign(
        "link_up",
        r"(?:mlx5_core|mlx4_en|bnxt_en|ice|ixgbe|i40e).*Link (?:is )?up|NIC Link is Up"
        r"|Link detected: yes|link becomes ready",
        GOOD,
    ),
    sign(
        "mtu_said_different",
        r"MTU\s*[=:]?\s*(?P<a>\d{4})\b.*\bMTU\s*[=:]?\s*(?P<b>\d{4})\b|mtu (?:is )?(?:mismatch\w*"
        r"|differ\w*|not (?:the )?same|inconsistent)|different MTUs?|mismatch\w* MTU"
        r"|inconsistent mtu|mtu.{0,20}?\b(?P<c>1500|9000|9216|4200|1024|4096)\b.{0,20}\b(?:vs\.?|versus|but"
        r"|while)(?:\b|(?<=\.)).{0,30}\b(?P<d>1500|9000|9216|4200|1024|4096)\b",
        test=_mtus_differ,
    ),
    sign(
        "too_long",
        r"message too long|frag(?:mentation)? needed|EMSGSIZE|packet too (?:big|large)"
        r"|local error:.*mtu ?=? ?(?P<value>\d+)|oversize(?:d)?_?(?:pkts|packets"
        r"|frames)\w*\s*[:=]\s*[1-9]|Frame too long|rx_oversize_pkts\w*\s*:\s*[1-9]"
        r"|in_range_len_errors\w*\s*:\s*[1-9]|jumbo frames? .*(?:drop|lost|fail|not)",
    ),
    sign("mtu_small_active", r"active_mtu:\s+(?:256|512|1024) \(\d\)|^\s*Mtu\s*:\s*(?:256|512|1024)\[B\]", FACT),
    sign("mtu_value", r"\bactive_mtu:\s+(?P<value>\d+)", FACT),
    sign("link_mtu", r"^\d+: (?:ens|enp|eth|rdma|roce|ib)\S*: <[^>]*> mtu (?P<value>\d+)", FACT),
    sign(
        "prio_zero_said",
        r"prio(?:rity)?[ _]?(?:0|zero)\b.*(?:all|only|every)|(?:all|every"
        r"|only).*\bprio(?:rity)?[ _]?0\b|prio(?:rity)? 1-7.*zero"
        r"|prio(?:rity)? ?3 (?:is )?(?:zero|0\b|empty)|rx_prio0_(?:packets"
        r"|bytes)\s*[=:]\s*\d+(?:\.\d+)?[BGT]\b|default priority|not (?:the )?lossless priority"
        r"|(?:on|in) the lossy (?:priority|queue|class)",
    ),
    sign(
        "qos_tables",
        r"dscp2prio|PFC configuration|Priority trust state|trust state: ?(?:pcp|dscp|both)"
        r"|tclass\s*[=:]?\s*\d+|NCCL_(?:GIN_)?IB_TC\b|--trust dscp|--pfc ",
        FACT,
    ),
    sign("pfc_all_off", r"^\s*enabled(?:\s+0){8}\s*$|^\s*prio-pfc(?:\s+\d:off){8}\s*$"),
    sign(
        "qos_lost",
        r"mlnx_qos.*(?:lost|reset|not persist\w*|gone|revert\w*)|(?:pfc|qos|dscp|trust).*(?:lost"
        r"|gone|reset|revert\w*).*(?:reboot|restart|boot)|(?:pfc|trust).{0,30}(?:not (?:enabled"
        r"|configured|set)|disabled)|Priority trust state: pcp|\bRX:\s+on\b.*pause|global pause",
    ),
    sign(
        "prio_discards",
        r"(?:rx_prio\d_(?:buf_discard|cong_discard|discards)|tx_prio\d_(?:discards)?"
        r"|rx_discards_phy|rx_buffer_passed_thres_phy|tx_discards_phy|rx_out_of_buffer"
        r"|out_of_buffer|rx_missed_errors|tx_pause_storm_\w+_events)\s*[:=]\s*[1-9]\d{2,}",
    ),
    sign(
        "rdma_loss_counters",
        r"(?:out_of_sequence|packet_seq_err|local_ack_timeout_err|rnr_nak_retry_err"
        r"|implied_nak_seq_err|retry_exceeded|roce_slow_restart"
        r"|rx_icrc_encapsulated)\s*[:=]?\s*[1-9]\d{2,}",
    ),
    sign(
        "pfc_frames",
        r"(?:[rt]x_prio\d_pause|[rt]x_pause(?:_ctrl)?_phy|(?:Rx|Tx) PFC|pfc (?:rx|tx) (?:frames"
        r"|pkts|packets))\s*[:=]?\s*[1-9]\d{4,}",
    ),
    sign(
        "fw_assert",
        r"mlx5_core.*(?:assert_var|health (?:poll|compromised|recovery)"
        r"|firmware (?:internal )?(?:error|fatal)|fatal(?:_| )error|synd 0x"
        r"|device's health compromised|print_health_info|failed to (?:initialize|init) (?:fw"
        r"|firmware))|FW(?:_| )TRACER|fw_fatal|firmware (?:fatal|assert|crash|hang)"
        r"|bnxt_en.*(?:firmware (?:not responding|fatal)|FW reset)"
        r"|Firmware over \d+ MS in pre-initializing state",
    ),
    sign(
        "fw_cmd_timeout",
        r"mlx5_core.*(?:wait_func|cmd_exec_timeout|cmd_work_handler"
        r"|timeout\. Will cause a leak of a command resource|failed to allocate command entry"
        r"|enable_hca|ENABLE_HCA.*failed|INIT_HCA.*fail\w*|mlx5_(?:load_one|init_one"
        r"|function_setup).*fail\w*|command (?:timeout|failed).*no (?:done )?completion"
        r"|no done completion)|mlx4_core.*(?:command 0x\w+ (?:timed out|failed)"
        r"|device is going to be reset)",
    ),
    sign(
        "mlx5_slot_power",
        r"mlx5_core.*(?:Detected insufficient power on the PCIe slot|PCIe slot (?:does not"
        r"|doesn't).*power|slot power)|PCI slot.{0,20}(?:power|unavailable)"
        r"|insufficient power on the PCIe slot",
    ),
    sign(
        "nic_gone",
        r"mlx5_core.*(?:PCI slot .*unavailable|device (?:is )?(?:unplugged|removed)"
        r"|pci_err_detected|AER.*fatal|mlx5_pci_err_detected|Surprise (?:Link )?Down)"
        r"|mlx5.*wait vital counter|can't (?:change power state|read config).*(?:mlx|unknown"
        r"|inaccessible)",
    ),
    sign(
        "fw_old",
        r"(?:firmware|fw)(?: version)? .{0,40}(?:too old|outdated|not supported|unsupported"
        r"|older than|requires? (?:at least|firmware))|(?:upgrad|updat)\w+ (?:the )?(?:nic |hca "
        r"|connectx\S* )?(?:firmware|fw)|(?:FW|firmware) (?:Version )?\(Running\).*",
    ),
    # mlxconfig -e has three columns: Default, Current, Next Boot; without -e there is Next Boot alone.
    sign(
        "ats_nic_off",
        r"ATS_ENABLED\s+(?:\S+\s+(?:False\(0\)|0)\s+\S+|(?:False\(0\)|0)\s*$)"
        r"|ATS_ENABLED\W+(?:is )?(?:False|disabled|not set)(?!\S*\s+True)|doesn't support ATS_ENABLED",
    ),
    sign("ats_nic_pending", r"ATS_ENABLED\s+False\(0\)\s+False\(0\)\s+True\(1\)"),
    sign("link_type_ib", r"LINK_TYPE_P\d\s+\S*IB\(1\)|link_layer:\s+InfiniBand", FACT),
    sign("ethernet_wanted", r"\broce\b|link[_ ]layer:\s+Ethernet", FACT),
    sign(
        "nic_setting_said",
        r"mlxconfig.*\bset\b.*(?:ATS_ENABLED|PCI_WR_ORDERING|LINK_TYPE|ADVANCED_PCI"
        r"|MAX_ACC_OUT_READ|ROCE_CONTROL|NUM_OF_VFS|SRIOV_EN|ROCE_ADAPTIVE_ROUTING)"
        r"|ROCE_CONTROL\s+ROCE_DISABLE|MAX_ACC_OUT_READ\s+\S*\s*[1-9]",
        FACT,
    ),
    sign(
        "mlxconfig_reboot",
        r"Please reboot machine to load new configurations|reset_needed|FW reset (?:is )?needed"
        r"|pending (?:firmware|configuration)",
    ),
)

RULES = (
    rule(
        "flaps",
        "link_flap|link_down|cable_unplugged",
        CANDIDATE,
        "link_faulty switch_port_off nic_firmware_fault",
        _MLX5 + "/events.c (port module events), en_main.c",
    ),
    rule(
        "symbols",
        "symbol_errors|effective_ber",
        CANDIDATE,
        "link_faulty",
        "IEEE 802.3: symbol and FCS errors come from the medium",
    ),
    rule(
        "crc",
        "crc_counted",
        CANDIDATE,
        "link_faulty switch_mtu",
        "Cisco: understanding CRC errors on Nexus: the medium, or a cut-through switch that passes on frames "
        "which another switch cut and marked as bad",
    ),
    rule(
        "speed", "link_speed_low", CANDIDATE, "link_faulty gpu_pcie_degraded switch_port_off", "mlxlink documentation"
    ),
    rule(
        "wrong_port",
        "cable_wrong_port",
        CANDIDATE,
        "link_faulty no_path_between_nics",
        "LLDP names the port at the other end",
    ),
    rule(
        "mtu_said",
        "mtu_said_different",
        CANDIDATE,
        "mtu_differs switch_mtu",
        "IP and InfiniBand: both ends of a path use one MTU",
    ),
    rule("long", "too_long", CANDIDATE, "mtu_differs switch_mtu no_path_between_nics", "errno EMSGSIZE; RFC 1191"),
    rule(
        "mtu_1024",
        "mtu_small_active wc_flush|wc_retry_exceeded|slow|hang",
        CANDIDATE,
        "mtu_differs",
        "kernel: active_mtu 1024 is what an Ethernet MTU of 1500 leaves",
    ),
    rule(
        "priority_0",
        "prio_zero_said|all_on_priority_0",
        CANDIDATE,
        "nic_qos_differs switch_pfc",
        "mlx5 counters per priority: what is meant for a lossless priority must be counted there",
    ),
    rule(
        "pfc_all_off",
        "pfc_all_off",
        CANDIDATE,
        "nic_qos_differs",
        "mlnx_qos: no priority of this NIC is lossless",
    ),
    rule(
        "qos_reboot",
        "qos_lost",
        CANDIDATE,
        "nic_qos_differs switch_pfc",
        "mlnx_qos writes the running state of the NIC only",
    ),
    rule(
        "qos_retry",
        "qos_tables wc_retry_exceeded|slow|rdma_loss_counters|prio_discards",
        CANDIDATE,
        "nic_qos_differs switch_pfc",
        "two facts: loss, and tables that decide the priority",
    ),
    rule(
        "discards",
        "prio_discards",
        CANDIDATE,
        "nic_qos_differs switch_pfc host_slow_receiver",
        "mlx5 ethtool counters: documentation of discards per priority",
    ),
    rule(
        "loss",
        "rdma_loss_counters",
        CANDIDATE,
        "nic_qos_differs switch_pfc link_faulty",
        "mlx5 hw_counters: out_of_sequence, packet_seq_err",
    ),
    rule(
        "pause",
        "pfc_frames",
        CANDIDATE,
        "host_slow_receiver switch_pfc nic_qos_differs",
        "IEEE 802.1Qbb: who sends pause frames cannot take more",
    ),
    rule(
        "firmware",
        "fw_assert|fw_cmd_timeout",
        CANDIDATE,
        "nic_firmware_fault guest_ofed_mismatch passthrough_device",
        _MLX5 + "/health.c, cmd.c",
    ),
    rule(
        "slot_power",
        "mlx5_slot_power",
        CANDIDATE,
        "link_faulty nic_firmware_fault",
        _MLX5 + "/events.c: power of the slot",
    ),
    rule("gone", "nic_gone", CANDIDATE, "nic_firmware_fault link_faulty passthrough_device", _MLX5 + "/main.c"),
    rule(
        "firmware_old",
        "fw_old",
        CANDIDATE,
        "nic_firmware_setting nic_firmware_fault",
        "release notes of the NIC name the firmware that goes with a driver",
    ),
    rule(
        "ats_off",
        "ats_nic_off in_vm|vm_host",
        CANDIDATE,
        "nic_firmware_setting",
        "mlxconfig: ATS_ENABLED is off, and peer-to-peer in a VM needs it",
    ),
    rule("ats_off_alone", "ats_nic_off", CANDIDATE, "nic_firmware_setting", "mlxconfig: on bare metal off is right"),
    rule(
        "ats_pending",
        "ats_nic_pending|mlxconfig_reboot",
        CANDIDATE,
        "nic_firmware_setting",
        "mlxconfig: Next Boot differs from Current",
    ),
    rule(
        "ib_mode",
        "link_type_ib ethernet_wanted",
        CANDIDATE,
        "nic_firmware_setting",
        "VPI cards: LINK_TYPE decides between InfiniBand and Ethernet",
    ),
    rule(
        "nic_setting",
        "nic_setting_said slow|hang|wc_retry_exceeded|wc_loc_prot",
        CANDIDATE,
        "nic_firmware_setting",
        "mlxconfig documentation",
    ),
)
