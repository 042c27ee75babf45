# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NCCL itself warns of, by kind: the whole list of its source, not single messages. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, FACT, QUIET, rule, sign

_NCCL = "NCCL source: "

SIGNS = (
    # argcheck.cc, init.cc, group.cc, enqueue.cc, dev_runtime.cc: calls that the program makes.
    sign(
        "nccl_misused",
        r"NCCL WARN .*(?:is not a valid pointer|argument is NULL|invalid (?:reduction operation|root|type|pointer"
        r"|device count)"
        r"|reduction operation \d+ unknown|allocated on device \d+ mismatch|Invalid config |Invalid (?:rank|device "
        r"count) requested"
        r"|improper usage of ncclCommInit\w*|not in a group call|(?:send|recv) to self without|before the previous "
        r"operation"
        r"|already been destroyed|is in abort state|communicator was revoked|Blocking and nonblocking communicators"
        r"|captured"
        r"|not initialized via|ncclCommGrow|reduction support begins with|user-created ncclRedOp|ncclPut\w*|symmetric "
        r"(?:memory|registration"
        r"|window)|Window |No algorithm/protocol available|must be (?:initialized|suitably)|should not be called when)",
    ),
    sign(
        "nccl_versions_said",
        r"Mismatched NCCL version|NCCL version mismatch with remote peer|NCCL library is (?:not backwards compatible"
        r"|too old)"
        r"|compiled with (?:too old version of )?NCCL|PFN functions not found|incompatible version \d+, this NCCL build"
        r"|(?:lib)?nccl2?\b.{0,20}\b2\.\d+(?:\.\d+)?\b.{0,80}\b(?:others?|other nodes?|rest|elsewhere|second|node\w*"
        r"|host\w*)\b.{0,30}\b2\.\d+"
        r"|(?:node|host|container|image|rank)\w*.{0,40}\bNCCL\b.{0,10}\b2\.\d+\S*.{0,60}(?:node|host|container|image"
        r"|rank|other)\w*.{0,40}\b2\.\d+",
    ),
    sign("nccl_wants_driver", r"CUDA Driver version found is \d+\. Minimum|requires CUDA driver 1\d"),
    sign(
        "nccl_value",
        r"Invalid NCCL_COMM_ID|NCCL_\w+.{0,60}(?:greater than the maximum|is being ignored|out of range|unknown value"
        r"|set to an unsupported)"
        r"|NET/IB : (?:Attempted to (?:connect|merge) incompatible|Remote \S+ device is incompatible)|No valid "
        r"(?:<IPv4|\[IPv6\])"
        r"|Try selecting NICs of|Could not force merge NICs|OOO RQ is force enabled|All entries except the first must "
        r"have"
        r"|Specified fused NIC|Unknown netDevs policy|PARAM: ",
    ),
    sign("nccl_lookup", r"error encountered when getting address info"),
    sign(
        "nccl_memory",
        r"Failed to CUDA (?:malloc|calloc|host alloc)|Failed to malloc \d+|Unrecoverable error detected: malloc"
        r"|Allocation failed",
    ),
    sign("nccl_one_gpu", r"Multiple Ranks are using the same GPU"),
    sign(
        "nccl_nvlink_p2p",
        r"P2P is disabled between NVLINK connected GPUs|No transport found for rank|failed to peer with device",
    ),
    sign("nccl_mnnvl", r"MNNVL .{0,40}not working on this system|Check the IMEX"),
    sign("nccl_nvml", r"Failed to open libnvidia-ml|Failed to get PCI info from NVML"),
    sign(
        "nccl_gdrcopy",
        r"GDRCOPY (?:failure|lib)|\bgdr_(?:open|map|pin_buffer|get_info|unmap|unpin_buffer|copy_\w+)\S*.{0,60}fail"
        r"|gdrdrv",
    ),
    sign("nccl_no_answer", r"exceeded error retry count"),
    sign(
        "nccl_ranks_differ",
        r"Bootstrap Root : mismatch in info|localId \d+ is out of range|Too many connections \(\d+ max\)",
    ),
    sign("nccl_thread", r"Thread creation failed"),
    # coll_net: point-to-point is taken instead.
    sign("nccl_collnet", r"Cannot initialize CollNet, using point-to-point", QUIET),
    # Frames of a crash that lie in NCCL: on the line of the crash, or numbered.
    sign(
        "nccl_frames",
        r"(?:nccl(?:Topo|Comm|Group|Proxy|Transport|Net|Ib|Launch|Socket|Init|Shm|P2p|Nvls|Strong|Async)\w+"
        r"|libnccl\S*\.so)"
        r".{0,80}(?:segmentation fault|segfault|SIGSEGV|core dumped|double free)"
        r"|(?:segmentation fault|segfault|SIGSEGV|double free).{0,80}(?:\bnccl[A-Z]\w+|libnccl)"
        r"|(?:#\d+:? |\[bt\] |^\S*\[ ?\d+\] /)\S{0,40}.{0,80}\blibnccl\S*\.so",
    ),
    sign(
        "works_elsewhere",
        r"(?:does(?: not|n't) (?:crash|hang|fail|happen)|works?|worked|fine|no (?:crash|hang|error)\w*)\b"
        r".{0,40}(?:with|in|on|after)?.{0,20}\b2\.\d+\.\d+"
        r"|\b2\.\d+\.\d+\S*.{0,30}(?:does(?: not|n't)|works?|worked|is fine|fix\w*|resolv\w*|solv\w*|seems? to)\b",
        FACT,
    ),
    # Two releases of a library of collectives, and which is worse.
    sign(
        "releases_compared",
        r"\b(?:[NR]CCL|ROCm|libnccl\d?|aws-ofi-nccl|hpc-?x|msccl\w*)\b.{0,160}(?:than (?:with|in|on|before)|compared "
        r"(?:to|with)"
        r"|regress\w*|since|only (?:with|in)|not (?:with|in)|no (?:error|crash|hang)\w* (?:with|in)).{0,40}\d+\.\d+",
    ),
    sign(
        "test_crashed",
        r"\b(?:all_?reduce|all_?gather|all_?to_?all|reduce_scatter|sendrecv|broadcast|scatter|gather"
        r"|reduce)_perf\b.{0,100}"
        r"(?:signal 11|segmentation fault|SIGSEGV|core dumped|invalid next size|double free)"
        r"|(?:signal 11|segmentation fault|SIGSEGV|invalid next size|double free).{0,100}\b\w+_perf\b"
        r"|(?:signal 11|segmentation fault|SIGSEGV).{0,60}ncclComm\w+",
    ),
)

RULES = (
    rule(
        "nccl_misused",
        "nccl_misused",
        CANDIDATE,
        "application_failed nccl_bug nccl_mixed",
        _NCCL + "argcheck.cc, init.cc, enqueue.cc",
    ),
    rule(
        "nccl_versions_said",
        "nccl_versions_said",
        CANDIDATE,
        "nccl_mixed nccl_bug",
        _NCCL + "init.cc, bootstrap.cc compare versions",
    ),
    rule(
        "nccl_wants_driver",
        "nccl_wants_driver",
        CANDIDATE,
        "driver_too_old container_image_cuda",
        _NCCL + "misc/cudawrap.cc",
    ),
    rule(
        "nccl_value",
        "nccl_value",
        CANDIDATE,
        "vars_wrong gdr_distance",
        _NCCL + "what it says of the value of a variable",
    ),
    rule("nccl_lookup", "nccl_lookup", CANDIDATE, "name_resolution vars_wrong", _NCCL + "misc/socket.cc: getaddrinfo"),
    rule(
        "nccl_memory",
        "nccl_memory",
        CANDIDATE,
        "app_gpu_memory limits_host container_memlock",
        _NCCL + "include/alloc.h",
    ),
    rule("nccl_one_gpu", "nccl_one_gpu", CANDIDATE, "app_gpu_shared vars_wrong launch_failed", _NCCL + "init.cc"),
    rule(
        "nccl_nvlink_p2p",
        "nccl_nvlink_p2p",
        CANDIDATE,
        "driver_not_running container_no_gpu passthrough_device acs_redirects",
        _NCCL + "graph/paths.cc: NVML says that GPUs with NVLink do not reach each other",
    ),
    rule(
        "nccl_mnnvl",
        "nccl_mnnvl",
        CANDIDATE,
        "container_devices fabric_manager",
        _NCCL + "mnnvl.cc: the IMEX service or its channel",
    ),
    rule("nccl_nvml", "nccl_nvml", CANDIDATE, "container_no_gpu driver_not_running", _NCCL + "misc/nvmlwrap.cc"),
    rule(
        "nccl_gdrcopy",
        "nccl_gdrcopy",
        CANDIDATE,
        "gdr_broken container_devices",
        _NCCL + "include/gdrwrap.h; gdrdrv and /dev/gdrdrv",
    ),
    rule(
        "nccl_no_answer",
        "nccl_no_answer",
        CANDIDATE,
        "firewall launch_failed wrong_interface",
        _NCCL + "misc/socket.cc",
    ),
    rule(
        "nccl_ranks_differ",
        "nccl_ranks_differ",
        CANDIDATE,
        "launch_failed vars_wrong nccl_mixed",
        _NCCL + "bootstrap.cc: more or other ranks than the job has",
    ),
    rule(
        "nccl_thread",
        "nccl_thread",
        CANDIDATE,
        "limits_host container_caps",
        _NCCL + "a thread that cannot be made: limit of processes",
    ),
    rule(
        "nccl_crash",
        "nccl_frames|test_crashed",
        CANDIDATE,
        "nccl_bug nccl_mixed",
        "a crash whose frames lie in NCCL",
    ),
    rule(
        "releases_compared",
        "releases_compared",
        CANDIDATE,
        "nccl_bug nccl_mixed",
        "NCCL and RCCL release notes: known issues, changes of algorithms between releases",
    ),
    rule(
        "nccl_other_works",
        "works_elsewhere hang|traceback|remote_closed|watchdog|nccl_frames|slow",
        CANDIDATE,
        "nccl_bug nccl_mixed",
        "two facts: a failure, and another version that has none",
    ),
)
