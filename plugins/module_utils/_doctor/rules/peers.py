# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCIe peer-to-peer: what the kernel says of it, what helps, which GPUs of a host fail with each other. Pure data."""

from __future__ import annotations

import re
from typing import Match

from ..model import CANDIDATE, rule, sign

_NO = re.compile(r"\bnot\b|n't\b|\bno\b|\bnever\b|\bnor\b", re.IGNORECASE)
_HELPS = r"(?:fix\w*|works?|worked|gone|helps?|helped|solve[sd]?|resolve[sd]?|address(?:es|ed)|cure[sd]?)\b"
_OFF = (
    r"(?:(?:intel_iommu|amd_iommu|iommu)=(?:off|pt|soft)|pci=noacs|disable_acs_redir"
    r"|(?:disabl\w+|turn\w* off|switch\w* off) (?:the )?(?:IOMMU|VT-?d|AMD-Vi|ACS|PCI(?:e)? ACS)\b"
    r"|(?:IOMMU|VT-?d|AMD-Vi|ACS) (?:is |was )?(?:disabled|off))"
)


def _helps(match: Match[str]) -> bool:
    return not _NO.search(match.group())


def _slower(match: Match[str]) -> bool:
    return float(match["on"]) < float(match["off"])


SIGNS = (
    # ACSCtl in another form than lspci's whole line.
    sign("acs_bits", r"\b(?:ReqRedir|CmpltRedir)\+(?!.*DirectTrans[+-])"),
    # lspci -vv: UESta; kernel AER: "[21] ACSViol".
    sign("acs_violation", r"UESta:.*\bACSViol\+|\] ACSViol\b|\bACS Violation\b"),
    # Kernel: drivers/pci/p2pdma.c.
    sign("p2pdma_acs", r"ACS redirect is set between|to disable ACS redirect for this path"),
    sign(
        "p2pdma_refused",
        r"cannot be used for peer-to-peer DMA|do not share an upstream bridge|whitelisted host bridge"
        r"|no peer-to-peer memory is available",
    ),
    # Kernel: drivers/iommu/intel/dmar.c, amd/iommu.c: a device does not answer invalidations of its ATS cache.
    sign(
        "ats_timeout",
        r"Invalidation Time-?out Error|QI invalidation .*time|Completion-Wait loop timed out|IOTLB_INV_TIMEOUT",
    ),
    sign("iommu_off_helps", rf"{_OFF}.{{0,60}}\b{_HELPS}|\b{_HELPS}.{{0,60}}{_OFF}", test=_helps),
    # p2pBandwidthLatencyTest of the CUDA samples, both figures in one line.
    sign(
        "p2p_slower_on",
        r"P2P ?= ?Enabled\D{0,40}(?P<on>\d+(?:\.\d+)?).*P2P ?= ?Disabled\D{0,40}(?P<off>\d+(?:\.\d+)?)",
        test=_slower,
    ),
    sign(
        "p2p_slow",
        r"\b(?:p2p|peer[- ]to[- ]peer)\b.{0,60}\b(?:slow\w*|small|low\w*|poor|terrible|bad)\b"
        r"|\b(?:slow|low|poor|terrible|bad)\b.{0,40}\b(?:p2p|peer[- ]to[- ]peer)\b",
    ),
    # GPUs of one host: nothing of the network has a part in it.
    sign(
        "gpus_of_a_host",
        r"\b(?:hangs?|stuck|deadlocks?|freezes)\b.{0,60}\b(?:between GPU ?\d|(?:two|2|several|multiple"
        r"|more than one) GPUs"
        r"|(?<!=)(?:PXB|PIX|PHB))\b|\b(?:GPU ?\d+ (?:and|to) (?:GPU ?)?\d+|PXB|PIX|PHB)\b.{0,60}\b(?:hangs?|stuck"
        r"|deadlocks?)\b"
        r"|\b-g [2-8]\b.{0,30}\bhangs?\b|\b(?:hangs?|deadlocks?)\b.{0,40}\b(?:single|one|same) (?:node|host|machine)\b",
    ),
    sign(
        "cross_socket_works",
        r"\bworks?\b.{0,60}\b(?:through|linked|across|over|with) SYS\b|\bSYS\b.{0,40}\bworks?\b",
    ),
)

RULES = (
    rule(
        "acs_bits",
        "acs_bits|acs_violation|p2pdma_acs",
        CANDIDATE,
        "acs_redirects",
        "PCI Express: Access Control Services; kernel: drivers/pci/p2pdma.c",
    ),
    rule(
        "p2pdma_refused",
        "p2pdma_refused",
        CANDIDATE,
        "acs_redirects gdr_distance kernel_p2pdma",
        "kernel: Documentation/driver-api/pci/p2pdma: only within one hierarchy or behind a known host bridge",
    ),
    rule(
        "ats_timeout",
        "ats_timeout",
        CANDIDATE,
        "acs_redirects nic_firmware_fault passthrough_device",
        "kernel: drivers/iommu: a device that has ATS does not answer invalidations",
    ),
    rule(
        "iommu_off_helps",
        "iommu_off_helps",
        CANDIDATE,
        "acs_redirects numa_bios_setting",
        "NCCL documentation: troubleshooting, PCI Access Control Services",
    ),
    rule(
        "p2p_slow",
        "p2p_slow|p2p_slower_on",
        CANDIDATE,
        "acs_redirects numa_bios_setting driver_bug",
        "CUDA samples: p2pBandwidthLatencyTest; peer-to-peer that is redirected is slower than copies",
    ),
    rule(
        "gpus_of_a_host",
        "gpus_of_a_host|cross_socket_works",
        CANDIDATE,
        "acs_redirects driver_bug numa_bios_setting",
        "between GPUs of one host it is ACS, IOMMU or the driver",
    ),
)
