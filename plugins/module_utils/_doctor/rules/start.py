# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong when a job starts: libraries, devices, ranks that never come, subnet manager. Pure data."""

from __future__ import annotations

import re
from typing import Match

from ..model import CANDIDATE, FACT, rule, sign

_NO = re.compile(r"\bnot\b|n't\b|\bno\b|\bnever\b", re.IGNORECASE)
_HELPS = r"(?:fix\w*|works?|worked|gone|helps?|helped|solve\w*|resolve\w*)\b"


def _helps(match: Match[str]) -> bool:
    return not _NO.search(match.group())


def _fewer(match: Match[str]) -> bool:
    return int(match["here"]) < int(match["all"])


SIGNS = (
    sign("net_missing", r"Error: network (?!IB\b).{1,40} not found"),
    sign("no_provider", r"Could not find any optimal provider|fi_getinfo.{0,60}No data|No eligible providers"),
    sign("rank_twice", r"rank \d+ .{0,30}already checked in"),
    sign("no_such_gpu", r"invalid device ordinal|cudaErrorInvalidDevice\b|CUDA_ERROR_INVALID_DEVICE\b"),
    sign(
        "no_kernel_image", r"no kernel image is available|CUDA_ERROR_NO_BINARY_FOR_GPU|cudaErrorNoKernelImageForDevice"
    ),
    sign(
        "no_peer_access",
        r"peer access is not supported|CUDA_ERROR_PEER_ACCESS_UNSUPPORTED|cudaErrorPeerAccessUnsupported",
    ),
    sign(
        "cumem_off_helps",
        rf"NCCL_CUMEM(?:_HOST)?_ENABLE=0.{{0,40}}\b{_HELPS}|\b{_HELPS}.{{0,40}}NCCL_CUMEM(?:_HOST)?_ENABLE=0",
        test=_helps,
    ),
    sign(
        "protocol_off_helps",
        rf"NCCL_(?:PROTO|ALGO|LL\w*)=\S+.{{0,40}}\b{_HELPS}|\b{_HELPS}.{{0,40}}NCCL_(?:PROTO|ALGO|LL\w*)=",
        test=_helps,
    ),
    sign(
        "nvls_off_helps",
        rf"NCCL_NVLS_ENABLE=0.{{0,40}}\b{_HELPS}|\b{_HELPS}.{{0,40}}NCCL_NVLS_ENABLE=0",
        test=_helps,
    ),
    sign(
        "imex",
        r"\bIMEX\b.{0,60}(?:fail|\bnot\b|error|missing|unavailable|degraded)|(?:fail\w*|error|missing"
        r"|\bno) .{0,40}\bIMEX\b|cuMem(?:Create|Import).*not permitted",
    ),
    sign("libcuda_missing", r"libcuda\.so\.1: cannot open"),
    sign(
        "cuda_library_missing",
        r"lib(?:cudart|cublas\w*|cudnn\w*|cufft|cusparse\w*|nvrtc|nvJitLink)\.so\S*: cannot open",
    ),
    sign(
        "no_kernel_headers",
        r"kernel headers .*(?:cannot be found|not found|not installed)|Unable to find the kernel source"
        # The NVIDIA driver container: no package of headers for the running kernel.
        r"|Could not resolve Linux kernel version",
    ),
    sign("ib_port_init", r"state:?\s+(?:\d: )?PORT_INIT\b|State: Initializing"),
    sign("sm_lid_zero", r"sm_lid:\s+0\b|SM lid: 0\b", FACT),
    sign(
        "pkey",
        r"\bp_?key\b.{0,60}(?:invalid|mismatch|not found|error|fail|violation|wrong|unable)"
        r"|(?:invalid|bad|fail\w*|unable|wrong|no) .{0,40}\bp_?key\b",
    ),
    sign("no_rdma_resource", r"Insufficient (?:rdma|mellanox\.com|openshift\.io)\S*/"),
    sign("clients_few", r"(?P<here>\d+)/(?P<all>\d+) clients joined", test=_fewer),
    sign("service_mesh", r"\bistio\b|istio-proxy|sidecar.{0,40}(?:inject|proxy)|\benvoy\b", FACT),
    sign("ecn_marked", r"np_ecn_marked_roce_packets\s*[:=]?\s*[1-9]\d{3,}"),
    sign("sharp_init", r"sharp_coll_init.{0,20}fail|SHARP.{0,40}fail\w* to (?:init|connect|allocate)"),
    sign("file_server", r"nfs: server \S+ not responding|LustreError|Stale (?:NFS )?file handle|\bESTALE\b"),
    # Normal while a peer starts; of a job that never gets further it is the last word.
    sign("connect_retry", r"Call to connect returned .{0,60}retrying", FACT),
)

RULES = (
    rule("net_missing", "net_missing", CANDIDATE, "vars_wrong container_libraries", "NCCL documentation, NCCL_NET"),
    rule(
        "no_provider",
        "no_provider",
        CANDIDATE,
        "container_devices vars_wrong container_libraries",
        "libfabric: fi_getinfo(3), ENODATA: no provider sees a device",
    ),
    rule("rank_twice", "rank_twice", CANDIDATE, "launch_failed vars_wrong", "NCCL: two processes have one rank"),
    rule(
        "no_such_gpu",
        "no_such_gpu",
        CANDIDATE,
        "launch_failed vars_wrong container_no_gpu",
        "CUDA: error 101: more local ranks than GPUs that they see",
    ),
    rule(
        "no_kernel_image",
        "no_kernel_image",
        CANDIDATE,
        "container_image_cuda application_failed",
        "CUDA: error 209: built for other GPUs",
    ),
    rule("no_peer_access", "no_peer_access", CANDIDATE, "nccl_bug driver_bug", "CUDA: error 217"),
    rule("cumem", "cumem_off_helps", CANDIDATE, "nccl_bug", "NCCL documentation, NCCL_CUMEM_ENABLE"),
    rule(
        "protocol",
        "protocol_off_helps",
        CANDIDATE,
        "nccl_bug",
        "NCCL documentation, NCCL_PROTO: to be set only where a bug in a protocol is suspected",
    ),
    rule("nvls_off", "nvls_off_helps", CANDIDATE, "fabric_manager nccl_bug", "NCCL documentation, NCCL_NVLS_ENABLE"),
    rule(
        "imex",
        "imex",
        CANDIDATE,
        "container_devices fabric_manager",
        "NVIDIA IMEX: memory of other hosts needs its service and channel devices",
    ),
    rule(
        "libcuda",
        "libcuda_missing",
        CANDIDATE,
        "container_no_gpu driver_not_running",
        "libcuda.so.1 belongs to the driver; the container runtime brings it in",
    ),
    rule(
        "cuda_library",
        "cuda_library_missing",
        CANDIDATE,
        "container_libraries application_failed",
        "the image brings the libraries of CUDA",
    ),
    rule(
        "headers",
        "no_kernel_headers",
        CANDIDATE,
        "driver_not_running guest_ofed_mismatch",
        "DKMS builds modules for kernels whose headers are there",
    ),
    rule(
        "subnet_manager",
        "ib_port_init sm_lid_zero",
        CANDIDATE,
        "ib_subnet",
        "InfiniBand: a port waits in INIT for a subnet manager",
    ),
    rule("pkey", "pkey", CANDIDATE, "ib_subnet vars_wrong", "InfiniBand: partitions; NCCL_IB_PKEY"),
    rule("rdma_resource", "no_rdma_resource", CANDIDATE, "container_devices", "Kubernetes: extended resources"),
    rule(
        "clients",
        "clients_few",
        CANDIDATE,
        "launch_failed wrong_interface firewall",
        "PyTorch TCPStore: not every rank came",
    ),
    rule("service_mesh", "service_mesh", CANDIDATE, "firewall", "a proxy in the pod takes its connections"),
    rule(
        "service_mesh_lost",
        "service_mesh remote_closed|connect_refused|connect_timeout|clients_few|hang|watchdog",
        CANDIDATE,
        "firewall",
        "two facts: a proxy in the pod, and connections that fail",
    ),
    rule(
        "ecn",
        "ecn_marked",
        CANDIDATE,
        "nic_qos_differs switch_pfc",
        "mlx5 hw_counters: packets that a switch marked as congested",
    ),
    rule("sharp", "sharp_init", CANDIDATE, "vars_wrong ib_subnet", "NVIDIA SHARP: needs its aggregation manager"),
    rule("file_server", "file_server", CANDIDATE, "application_failed", "ranks that wait for files look like a hang"),
    rule(
        "connect_retry",
        "connect_retry !init_end",
        CANDIDATE,
        "launch_failed firewall wrong_interface",
        "NCCL retries a connect; a job that gets no further never found its peer",
    ),
)
