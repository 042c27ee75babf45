# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What fabric.json of the fabric check says: measured between many hosts, so a place in it is no guess. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, LIKELY, Cause, Rule, rule

_CHECK = "ansible-playbook rocemesh.multinode.fabric"
_SOURCE = "docs/fabric.md: measured with many others, which are good among themselves"

CAUSES = (
    Cause(
        "fabric_link",
        "cabling",
        "One NIC, its cable or its switch port carries nothing, or less than the others of its rail.",
        "on the host and port that are named",
        "ethtool -S NIC | grep -E 'phy|symbol|fcs'; mlxlink -d DEVICE -m -e; counters of the switch port",
        "swap the cable, then the switch port, then the NIC; after each: " + _CHECK,
        _SOURCE,
        cost=2,
        interrupts="this link",
    ),
    Cause(
        "fabric_switch",
        "switch_config",
        "All that crosses one switch, or one rail, is slow or dead.",
        "on the switch that is named",
        "PFC, ECN, MTU, buffers and uplinks: show interfaces counters; show roce (NVUE: nv show qos roce)",
        "put right what differs from the switches of the other rails, then " + _CHECK,
        _SOURCE,
        role="switch",
        cost=2,
        interrupts="traffic of the switch, briefly",
    ),
    Cause(
        "fabric_pair",
        "fabric_routing",
        "Two hosts do not reach each other as they reach all others.",
        "between the two that are named",
        "routes, ACLs and one of several uplinks that only these two share; ib_write_bw between just these two",
        "put that way right, then " + _CHECK,
        _SOURCE,
        cost=2,
    ),
    Cause(
        "fabric_host",
        "numa_bios",
        "One host is slow with all its NICs.",
        "on the host that is named",
        "lspci -vv | grep -E 'LnkCap:|LnkSta:'; numactl -H; cpupower frequency-info; ulimit -l",
        "PCIe, NUMA, CPU frequency and ATS as on the other hosts, then " + _CHECK,
        _SOURCE,
        cost=2,
        interrupts="the host",
    ),
)
_FOLLOWS = "slow hang wc_retry_exceeded modify_qp_timeout connect_timeout"


def _likely(name: str, cause: str) -> Rule:
    return rule(f"checked_{name}", f"checked_{name}", LIKELY, cause, _SOURCE, explains=_FOLLOWS)


RULES = (
    _likely("link", "fabric_link"),
    _likely("switch", "fabric_switch"),
    _likely("pair", "fabric_pair"),
    _likely("host", "fabric_host"),
    _likely("cable", "link_faulty"),
    _likely("mtu", "mtu_differs"),
    _likely("wide_mtu", "switch_mtu"),
    _likely("qos", "nic_qos_differs"),
    _likely("wide_qos", "switch_pfc"),
    _likely("path", "no_path_between_nics"),
    _likely("route", "host_out_of_reach"),
    _likely("address", "wrong_interface"),
    _likely("firewall", "firewall"),
    _likely("pcie", "gpu_pcie_degraded"),
    _likely("gpu", "gpu_fault"),
    _likely("hot", "gpu_throttled"),
    _likely("manager", "fabric_manager"),
    rule("checked_driver", "checked_driver", CANDIDATE, "driver_differs driver_not_running fabric_manager", _SOURCE),
    rule("checked_firmware", "checked_firmware", CANDIDATE, "nic_firmware_setting", _SOURCE),
    rule("checked_absent", "checked_absent", CANDIDATE, "link_faulty gid_wrong", _SOURCE),
    rule("checked_agent", "checked_agent", CANDIDATE, "container_down", _SOURCE),
    rule("checked_other", "checked_other", CANDIDATE, "fabric_link fabric_host", _SOURCE),
)
