# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What troubled lines speak of that no rule knows: a subject, and who may be behind it. Pure data.

The weakest thing that the doctor says, always a candidate, and only where no rule names three layers: better to send
somebody to the right machine than to say nothing. The narrower subject stands first.
"""

from __future__ import annotations

import re
from typing import Pattern


def _subject(pattern: str, causes: str) -> tuple[Pattern[str], tuple[str, ...]]:
    return re.compile(pattern, re.IGNORECASE), tuple(causes.split())


SUBJECTS: tuple[tuple[Pattern[str], tuple[str, ...]], ...] = (
    _subject(r"\bXid\b|\bECC\b|nvlink|nvswitch|\bHBM\b|thermal|overheat", "gpu_fault fabric_manager gpu_throttled"),
    _subject(r"fabric ?manager|\bIMEX\b|\bnvls\b|multicast", "fabric_manager container_devices nccl_bug"),
    _subject(
        r"\bpods?\b|container|docker|kube|\bimage\b|sandbox|cgroup|enroot|singularity|apptainer|podman|\blx[cd]\b"
        r"|namespace|\bhelm\b|entrypoint|\bcdi\b|\bmount",
        "container_down container_devices container_no_gpu",
    ),
    _subject(
        r"nvidia|\bnvml\b|\bNVRM\b|\bcuda\b|\bGPUs?\b|\bdriver\b|dkms|\bGSP\b",
        "driver_not_running gpu_fault container_no_gpu",
    ),
    _subject(r"\bshm\b|shared memory|/dev/shm", "container_shm limits_host"),
    _subject(
        r"\bulimit\b|\brlimit|\blimits?\b|descriptor|inotify|\bquota\b|\bswap\b",
        "limits_host memlock_host container_memlock",
    ),
    _subject(
        r"\b(?:open)?mpi\w*|\bmpich|\bor[t]e|\bpr[t]e|\bpmi|\bslurm|\bsrun|\bsbatch|\bssh|hostfile|\bhydra|launcher"
        r"|torchrun|deepspeed"
        r"|horovod|\bslots?\b|\bpdsh\b",
        "launch_failed mpi_transport vars_wrong",
    ),
    _subject(r"\bucx|\bucp_|\buct_|libfabric|\bofi\b|\befa\b", "mpi_transport container_devices vars_wrong"),
    _subject(
        r"\brdma|infiniband|\bibv_|\broce|\bmlx[45]|\bhcas?\b|\bverbs\b|\bQPs?\b|\bofed\b|rxe|\bbnxt",
        "guest_ofed_mismatch container_devices gid_wrong",
    ),
    _subject(r"\bnccl|\brccl", "nccl_bug vars_wrong nccl_mixed"),
    _subject(
        r"\bgloo\b|rendezvous|master_addr|interface|hostname|\bdns\b|\bsubnet|\broute|\bip\b|address|\bray\b|raylet",
        "wrong_interface vars_wrong name_resolution",
    ),
    _subject(
        r"\bports?\b|\bsockets?\b|\btcp\b|connect|\bproxy\b|\bvpn\b|\btls\b|\bssl\b|\bpeer\b|firewall|network",
        "firewall wrong_interface launch_failed",
    ),
    _subject(r"\benv\b|environment|variable|\bexport\b|\b[A-Z]+_[A-Z_]+=", "vars_wrong"),
    _subject(r"kernel|\bsysctl|\bmodules?\b|\biommu\b|hugepage", "kernel_fault guest_ofed_mismatch driver_not_running"),
    _subject(
        r"\btorch|python|traceback|\bmodel\b|tensor|checkpoint|dataset|dataloader|\btrain|\bvllm\b|sglang|\brank\b",
        "application_failed vars_wrong nccl_bug",
    ),
)
