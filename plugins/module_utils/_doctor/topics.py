# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a line is about, where no rule knows its words: its nouns name a layer, and so what to look at first. Pure.

Heard only if nobody says anything plainer, and never more than a candidate: a few lines of a thread or a mail say in
somebody's own words what is wrong, and silence would help nobody.
"""

from __future__ import annotations

import re
from typing import Iterable

from .catalogue import CAUSES
from .finding import Finding
from .model import CANDIDATE, Rule
from .reading import Hit

_SOURCE = "the words of the field: what a line that no rule knows is about"
# What NCCL and perftest print on every run, and data of programs.
_ROUTINE = re.compile(
    r"NCCL INFO|^\s*[{\[]\s*(?:\"|$)|^\s*#|^\s*(?:TX|CQ|PCIe|Link type|Mtu|Number of qps|Connection type)\b"
)

# Most telling first: a line about the BAR of a passthrough GPU is about the BAR.
_TOPICS: tuple[tuple[str, str, str], ...] = (
    ("gid", r"\bGIDs?\b|\bgid_\w+|\bRoCE ?v(?:1\b|2 (?:address|entry))", "gid_wrong gid_moved gid_sparse"),
    ("mtu", r"\bMTUs?\b|\bjumbo\b|\bactive_mtu\b", "mtu_differs switch_mtu"),
    (
        "peer",
        r"\bACS\b|\bIOMMU\b|\bVT-?d\b|\bATS\b|\bpeer[- ]to[- ]peer\b|\bP2P\b|relaxed[- _]ordering",
        "acs_redirects relaxed_ordering numa_bios_setting",
    ),
    ("window", r"\bMMIO\b|\bBAR ?\d?s?\b|<(?:ignored|unassigned)>|\baperture\b", "mmio_window numa_bios_setting"),
    (
        "guest_memory",
        r"memory reservation|\breserv\w+ .{0,20}memory|\bballoon\w*|\bovercommit\w*",
        "memory_reservation",
    ),
    (
        "passthrough",
        r"pass-?(?: ?through|thru)|\bvfio\b|DirectPath|\bvirtual functions?\b|\bVFs?\b|\bhostdev\b",
        "passthrough_device mmio_window memory_reservation",
    ),
    ("esxi", r"\bESXi?\b|\bvSphere\b|\bvCenter\b|\bvmkernel\b", "esxi_setting passthrough_device"),
    (
        "priority",
        r"\bPFC\b|\bECN\b|\bDSCP\b|\bDCQCN\b|\bQoS\b|\btraffic class\b|\blossless\b|\bpause frames?\b|\bCNPs?\b"
        r"|\bDCBX?\b",
        "nic_qos_differs switch_pfc",
    ),
    (
        "cable",
        r"\bcables?\b|\btransceivers?\b|\boptics?\b|\bQSFP\w*|\bSFP\w*|\bOSFP\b|\bDAC\b|\bFEC\b|\blink (?:is )?down\b",
        "link_faulty switch_port_off",
    ),
    ("rails", r"\brails?\b|\bsubnets?\b|cross[- ]?(?:rail|nic)|\bARP\b", "no_path_between_nics host_out_of_reach"),
    (
        "switch",
        r"\bswitch(?:es)?\b|\bVLANs?\b|\bM?LAG\b|\bleaf\b|\bspine\b",
        "switch_port_off switch_pfc fabric_switch",
    ),
    ("numa", r"\bNUMA\b|\bNPS ?\d?\b|\bBIOS\b|\bC-?states?\b|\bgovernor\b", "numa_bios_setting gdr_distance"),
    (
        "tree",
        r"\btopolog\w+|\bPIX\b|\bPXB\b|\bPHB\b|\bPCIe? (?:switch|tree|bridge|slots?)\b",
        "gdr_distance acs_redirects",
    ),
    (
        "peer_memory",
        r"peer_?mem\w*|\bnv_peer\w*|GPU ?Direct|\bGDR\b|\bdma-?buf\b",
        "gdr_broken peermem_missing kernel_p2pdma",
    ),
    (
        "stack",
        r"\bOFED\b|\bUCX\b|\bConnectX\b|\bMLNX\w*|\bDOCA\b|\bmlx[45]\w*|\bib_(?:core|uverbs|umad)\b"
        r"|\bRDMA\b|\brdma_\w+|\bibv_\w+|libibverbs"
        r"|\bbnxt\w*|\birdma\b|\bverbs\b",
        "guest_ofed_mismatch container_devices nic_firmware_fault",
    ),
    (
        "firmware",
        r"\bfirmware\b|\bmlxconfig\b|\bmstflint\b|\bmlxfwmanager\b",
        "nic_firmware_fault nic_firmware_setting",
    ),
    (
        "container",
        r"\bcontainers?\b|\bpods?\b|\bdocker\b|\bpodman\b|\bkubelet\b|\bcgroups?\b",
        "container_down container_caps",
    ),
    ("gpu", r"\bNVML\b|\bnvidia-smi\b|\bNVRM\b|\bfabric ?manager\b", "driver_not_running driver_bug"),
    ("kernel", r"\bkernel\b|\bmodprobe\b|\binsmod\b|\bDKMS\b|\bpinn(?:ed|ing)\b", "kernel_fault guest_ofed_mismatch"),
    ("variable", r"\b(?:NCCL|UCX|OMPI_MCA|RCCL)_[A-Z]\w+", "vars_wrong"),
)
# These say little more than that it is about machines: whoever suffers in words says as much.
_BROAD = frozenset({"stack", "roce", "container", "gpu", "kernel", "variable"})
_PATTERNS = tuple(
    (name, re.compile(pattern, re.IGNORECASE), tuple(causes.split())) for name, pattern, causes in _TOPICS
)


def guesses(lines: Iterable[Hit], known: list[Finding]) -> list[Finding]:
    """What these lines may be about: causes of the topics that they have, most telling topic first, around what is
    known from words for trouble alone."""
    told = [line for line in lines if not _ROUTINE.search(line.quote)]
    first: dict[str, Finding] = {}
    broad: dict[str, Finding] = {}
    later: dict[str, Finding] = {}
    for name, pattern, causes in _PATTERNS:
        hits = [line for line in told if pattern.search(line.quote)]
        rule = Rule(f"topic_{name}", f"topic_{name}", CANDIDATE, causes, _SOURCE)
        for place, cause in enumerate(causes if hits else ()):
            table = later if place else broad if name in _BROAD else first
            table.setdefault(cause, Finding(CAUSES[cause], CANDIDATE, 1.0 - 0.1 * len(first), hits, [rule]))
    ordered: dict[str, Finding] = {}
    for finding in (*first.values(), *known, *broad.values(), *later.values()):
        ordered.setdefault(finding.cause.id, finding)
    return list(ordered.values())
