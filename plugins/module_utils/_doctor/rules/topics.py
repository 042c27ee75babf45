# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a line is about where no rule knows its words: its nouns, and the causes that they lead to. Pure data.

The weakest thing that the doctor says, always a candidate: better to send somebody to the right machine than to say
nothing. Most telling first: a line about the BAR of a passthrough GPU is about the BAR.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Pattern


@dataclasses.dataclass(frozen=True)
class Topic:
    """``broad``: it says little more than that it is about machines; whoever suffers in words says as much."""

    name: str
    pattern: Pattern[str]
    causes: tuple[str, ...]
    broad: bool


def _narrow(name: str, pattern: str, causes: str) -> Topic:
    return Topic(name, re.compile(pattern, re.IGNORECASE), tuple(causes.split()), False)


def _broad(name: str, pattern: str, causes: str) -> Topic:
    return Topic(name, re.compile(pattern, re.IGNORECASE), tuple(causes.split()), True)


TOPICS: tuple[Topic, ...] = (
    _narrow(
        "gid",
        r"(?:\b|_)GIDs?(?:\b|_)|\bRoCE ?v\d\b.{0,20}\bfe80:|\bRoCE ?v(?:1\b|2 (?:address|entry))",
        "gid_wrong gid_moved gid_sparse",
    ),
    _narrow("mtu", r"\bMTUs?\b|\bjumbo\b|\bactive_mtu\b", "mtu_differs switch_mtu"),
    _narrow(
        "peer",
        r"\bACS\b|\bIOMMU\b|\bVT-?d\b|\bATS\b|\bpeer[- ]to[- ]peer\b|\bP2P\b|relax(?:ed)?[- _]order(?:ing|ed)?",
        "acs_redirects relaxed_ordering numa_bios_setting",
    ),
    _narrow(
        "verbs_nodes",
        r"/dev/infiniband|\buverbs\d|\bMELLANOX_VISIBLE_DEVICES\b",
        "container_devices guest_ofed_mismatch",
    ),
    _narrow("device_plugin", r"\bdevice[- ]?plugins?\b", "container_devices container_no_gpu"),
    _narrow(
        "window", r"\bMMIO\b|\bBAR ?\d?s?\b|<(?:ignored|unassigned)>|\baperture\b", "mmio_window numa_bios_setting"
    ),
    _narrow(
        "guest_memory",
        r"memory reservation|\breserv\w+ .{0,20}memory|\bballoon\w*|\bovercommit\w*",
        "memory_reservation",
    ),
    _narrow(
        "passthrough",
        r"pass-?(?: ?through|thru)|\bvfio\b|DirectPath|\bvirtual functions?\b|\bVFs?\b|\bhostdev\b",
        "passthrough_device mmio_window memory_reservation",
    ),
    _narrow("esxi", r"\bESXi?\b|\bvSphere\b|\bvCenter\b|\bvmkernel\b", "esxi_setting passthrough_device"),
    _narrow(
        "priority",
        r"\bPFC\b|\bECN\b|\bDSCP\b|\bDCQCN\b|\bQoS\b|\btraffic class\b|\blossless\b|\bpause frames?\b|\bCNPs?\b"
        r"|\bDCBX?\b",
        "nic_qos_differs switch_pfc",
    ),
    _narrow(
        "cable",
        r"\bcables?\b|\btransceivers?\b|\boptics?\b|\bQSFP\w*|\bSFP\w*|\bOSFP\b|\bDAC\b|\bFEC\b|\blink (?:is )?down\b",
        "link_faulty switch_port_off",
    ),
    _narrow(
        "rails", r"\brails?\b|\bsubnets?\b|cross[- ]?(?:rail|nic)|\bARP\b", "no_path_between_nics host_out_of_reach"
    ),
    _narrow(
        "switch",
        r"\bswitch(?:es)?\b|\bVLANs?\b|\bM?LAG\b|\bleaf\b|\bspine\b",
        "switch_port_off switch_pfc fabric_switch",
    ),
    _narrow("bios", r"\bNPS ?\d?\b|\bBIOS\b|\bC-?states?\b|\bgovernor\b", "numa_bios_setting gdr_distance"),
    _narrow(
        "tree",
        r"\btopo(?:log\w+)?\b|\bPIX\b|\bPXB\b|\bPHB\b|\bPCIe? (?:switch|tree|bridge|slots?)\b",
        "gdr_distance acs_redirects",
    ),
    _narrow("numa", r"\bNUMA\b", "numa_bios_setting gdr_distance"),
    _narrow(
        "peer_memory",
        r"peer_?mem\w*|\bnv_peer\w*|GPU ?Direct|\bGDR\b|\bdma-?buf\b",
        "gdr_broken peermem_missing kernel_p2pdma",
    ),
    _narrow(
        "firmware",
        r"\bfirmware\b|\bmlxconfig\b|\bmstflint\b|\bmlxfwmanager\b|\be?switchdev\b|\bsyndrome\b|\bdevlink\b",
        "nic_firmware_fault nic_firmware_setting",
    ),
    _broad(
        "locked",
        r"\bmemlock\b|\bmlock\w*|\block(?:ed|able) memory\b|\w*LIMIT_?MEMLOCK\b|\bIPC_LOCK\b|\bulimit -l\b",
        "container_memlock memlock_host kernel_pinning",
    ),
    _broad(
        "gpu_board",
        r"\bXid\b|\bECC\b|nvlink|nvswitch|\bHBM\b|thermal|overheat",
        "gpu_fault fabric_manager gpu_throttled",
    ),
    _broad("gpu_fabric", r"fabric ?manager|\bIMEX\b|\bnvls\b|multicast", "fabric_manager container_devices nccl_bug"),
    _broad(
        "container",
        r"\bpods?\b|container|docker|podman|kube|\bimage\b|sandbox|cgroup|enroot|singularity|apptainer|\blx[cd]\b"
        r"|gvisor|runsc|\bkata\b|hostPath|securityContext|\bk3s\b|\brke2\b|openshift|\bcri-?o\b|nerdctl"
        r"|namespace|\bhelm\b|entrypoint|\bcdi\b|\bmount",
        "container_down container_devices container_no_gpu",
    ),
    _broad(
        "stack",
        r"\bOFED\b|\bConnectX\b|\bMLNX\w*|\bDOCA\b|\bmlx[45]|\bib_(?:core|uverbs|umad)\b|\brdma|infiniband|\broce"
        r"|\bibv_|libibverbs|\bbnxt|\birdma\b|\bverbs\b|\bhcas?\b|\bQPs?\b|rxe",
        "guest_ofed_mismatch container_devices gid_wrong",
    ),
    _broad(
        "gpu",
        r"nvidia|\bnvml\b|\bNVRM\b|\bcuda\b|\bGPUs?\b|\bdriver\b|dkms|\bGSP\b",
        "driver_not_running gpu_fault container_no_gpu",
    ),
    _broad("shared_memory", r"\bshm\b|shared memory", "container_shm limits_host"),
    _broad(
        "limits",
        r"\bulimit\b|\brlimit|\blimits?\b|descriptor|inotify|\bquota\b|\bswap\b",
        "limits_host memlock_host container_memlock",
    ),
    _broad(
        "launcher",
        r"\b(?:open)?mpi\w*|\bmpich|\bor[t]e|\bpr[t]e|\bpmi|\bslurm|\bsrun|\bsbatch|\bssh|hostfile|\bhydra|launcher"
        r"|torchrun|deepspeed|horovod|\bslots?\b|\bpdsh\b",
        "launch_failed mpi_transport vars_wrong",
    ),
    _broad(
        "transport",
        r"\bucx|\bucp_|\buct_|libfabric|\bofi\b|\befa\b",
        "mpi_transport container_devices vars_wrong",
    ),
    _broad("nccl", r"\b[nr]ccl(?!_)", "nccl_bug vars_wrong nccl_mixed"),
    _broad(
        "address",
        r"\bgloo\b|rendezvous|master_addr|interface|hostname|\bdns\b|\broute|\bip\b|address|\bray\b|raylet",
        "wrong_interface vars_wrong name_resolution",
    ),
    _broad(
        "connection",
        r"\bports?\b|\bsockets?\b|\btcp\b|connect|\bproxy\b|\bvpn\b|\btls\b|\bssl\b|firewall|network",
        "firewall wrong_interface launch_failed",
    ),
    _broad("variable", r"\benv\b|environment|variable|\bexport\b|\b[A-Z]+_[A-Z_]+=", "vars_wrong"),
    _broad(
        "kernel",
        r"kernel|\bsysctl|\bmodules?\b|modprobe|insmod|hugepage|\bpinn(?:ed|ing)\b",
        "kernel_fault guest_ofed_mismatch driver_not_running",
    ),
    _broad(
        "program",
        r"\btorch|python|traceback|\bmodel\b|tensor|checkpoint|dataset|dataloader|\btrain|\bvllm\b|sglang|\brank\b",
        "application_failed vars_wrong nccl_bug",
    ),
)
