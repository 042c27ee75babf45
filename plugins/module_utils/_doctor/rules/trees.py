# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The PCIe tree as NCCL sees it, and networks with several NICs of a host. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, rule, sign

SIGNS = (
    # NCCL: src/graph/topo.cc: a virtual bridge that says 2.5 GT/s x1; in its log PCI[0.2].
    sign(
        "tree_narrow",
        r"link_speed=\"2\.5 GT/s[^\"]*\"[^>]*link_width=\"(?:0|1)\"|link_width=\"(?:0|1)\"[^>]*link_speed=\"2\.5"
        r"|[+-] (?:PCI|PHB|NODE)\[0\.\d\] - |Pattern \d.*\bbw 0\.\d",
    ),
    sign(
        "arp_one",
        r"ARP repl\w+.{0,80}\b(?:one|other|wrong|same|single) (?:interface|NIC|port)|\ball (?:the )?(?:NICs?"
        r"|rails?|ports|interfaces)\b"
        r".{0,40}\b(?:same|one|single) (?:subnet|broadcast domain|network)\b",
    ),
    sign(
        "rails_apart",
        r"\brails?\b.{0,60}\b(?:not|never|no longer) .{0,20}(?:reach\w*|connect\w*|rout\w*)|disjoint rails",
    ),
)

RULES = (
    rule(
        "tree_narrow",
        "tree_narrow",
        CANDIDATE,
        "gdr_distance gpu_pcie_degraded",
        "NCCL documentation, NCCL_TOPO_FILE; virtual bridges say 2.5 GT/s x1",
    ),
    rule(
        "arp_one",
        "arp_one",
        CANDIDATE,
        "host_out_of_reach no_path_between_nics",
        "kernel: Documentation/networking/ip-sysctl, arp_ignore: any interface answers for any address of the host",
    ),
    rule(
        "rails_apart",
        "rails_apart",
        CANDIDATE,
        "no_path_between_nics",
        "NCCL documentation, NCCL_CROSS_NIC: communicators across rails need a way between them",
    ),
    rule(
        "slow_roce",
        "slow ethernet_wanted !in_vm",
        CANDIDATE,
        "nic_qos_differs switch_pfc acs_redirects",
        "RoCE drops packets where the path is not lossless, and then it is slow; InfiniBand does not",
    ),
)
