# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts and containers: what their programs and kernels say. Pure data."""

from __future__ import annotations

import re
from typing import Match

from ..model import FACT, Sign, sign

_BYTES = re.compile(r"\sbytes\b")
_SMALL = 1 << 20  # KiB; less than this is not enough for the buffers of one rank


def small_lock(match: Match[str]) -> bool:
    """In KiB, as ``ulimit -l`` has it; /proc/PID/limits and docker run count bytes."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    scale = 1024 if _BYTES.search(after) or before.endswith(("--ulimit ", "--ulimit=")) else 1
    return int(match["value"]) // scale < _SMALL


def _small_shm(match: Match[str]) -> bool:
    scale = {"K": 1 / 1024, "": 1 / 1024, "M": 1, "G": 1024, "T": 1 << 20}
    return float(match["size"]) * scale[match["unit"].upper()] <= 64


def _foreign(match: Match[str]) -> bool:
    """The magic number is text: somebody's protocol, not another NCCL."""
    digits = match["magic"].zfill(16)
    letters = bytes.fromhex(digits)
    return sum(32 <= letter < 127 or letter in (9, 10, 13) for letter in letters) >= 7


SIGNS: tuple[Sign, ...] = (
    sign(
        "peermem_symbol",
        r"(?:nv_peer_mem|nvidia_peermem|ib_core|nvidia)\S*: (?:Unknown symbol"
        r"|disagrees about version)|ib_register_peer_memory_client"
        r"|ib_unregister_peer_memory_client|(?:insert|modprobe).*(?:nvidia[_-]peermem"
        r"|nv_peer_mem).*(?:Invalid argument|Unknown symbol|Exec format|disagree)"
        r"|(?:nvidia[_-]peermem|nv_peer_mem)\S*.*(?:Invalid argument|Unknown symbol|disagree)",
    ),
    sign(
        "peermem_missing",
        r"(?:nvidia[_-]peermem|nv_peer_mem)\b.*(?:not (?:found|loaded|installed|detected)|missing"
        r"|fail\w*|No such|FATAL)|\b(?:no|without|missing|load)\b.{0,20}(?:nvidia[_-]peermem"
        r"|nv_peer_mem|peer memory)|could not insert '(?:nvidia_peermem|nv_peer_mem)'"
        r"|GPU Direct RDMA.*not (?:available|supported)"
        r"|No module (?:present )?for GPU Direct RDMA|peer ?mem\w* .*not"
        r"|Module nvidia_peermem not found",
    ),
    sign(
        "dmabuf_failed",
        r"ibv_reg_dmabuf_mr.*(?:fail\w*|error|not supported)|dma-?buf.*(?:not (?:supported"
        r"|available)|fail\w*|unsupported|EOPNOTSUPP)|reg_dmabuf"
        r"|cuMemGetHandleForAddressRange.*fail",
    ),
    sign("gpu_reg_mr", r"ibv_reg_mr\w*.*(?:Bad address|EFAULT|\b14\b)|reg_mr.*(?:cuda|gpu).*fail"),
    sign(
        "ofed_mismatch",
        r"Driver \S+ does not support the kernel ABI|kernel ABI of \d+"
        r"|couldn't load driver 'lib(?:mlx|bnxt_re|irdma|efa)\S*"
        r"|libibverbs: Warning: couldn't (?!load driver|open config)"
        r"|mlx\w*_(?:core|ib).*(?:disagrees about version|Unknown symbol|Invalid module format"
        r"|version magic)|(?:ib_uverbs|ib_core|rdma_cm|mlx5_ib|mlx5_core"
        r"|rdma_ucm)\b.*(?:not (?:loaded|found)|Unknown symbol|disagrees|fail\w* to (?:load"
        r"|insert)|could not insert|No such)|MLNX_OFED.*(?:mismatch|not (?:installed|compatible)"
        r"|conflict|different)|(?:inbox|in-tree|upstream) .*(?:ofed|driver).*(?:mix\w*|conflict"
        r"|mismatch)|undefined symbol: (?:ibv_|mlx5|rdma_)\w*|version .(?:IBVERBS|MLX5"
        r"|RDMACM)\S* not found|openibd.*(?:fail\w*|error)|dkms.*(?:fail\w*|error|bad exit"
        r"|not built).*(?:mlnx|ofed|mlx|\biser|\bsrp)|mlnx-ofed-kernel.*(?:fail|error)"
        # rmmod(8), openibd: the old stack stays loaded because a module of it is used.
        r"|Module (?:ib_|mlx|rdma)\w+ is in use by|Failed to unload the driver stack"
        r"|Failed to get IB devices list|Unable to (?:load|find) (?:the )?(?:mlx5|ib_uverbs)",
    ),
    sign(
        "no_hca_host",
        r"No IB devices found|no RDMA devices? (?:found|available)|\bNo IB\b"
        r"|ibv_get_device_list.*(?:\b0 dev|fail|\bno\b)|lspci.*\bno\b.*mellanox|NET/IB : No device found"
        r"|no InfiniBand device|Did not detect devices|Unable to find the Infiniband/RoCE device"
        r"|0 HCAs? found",
    ),
    sign(
        "p2pdma_off",
        r"# CONFIG_(?:PCI_P2PDMA|DMABUF_MOVE_NOTIFY|ZONE_DEVICE|HSA_AMD_P2P|INFINIBAND_USER_MEM"
        r"|DMA_SHARED_BUFFER|PCI_ATS|INFINIBAND_ON_DEMAND_PAGING|MEMORY_HOTREMOVE)\b.* is not set"
        r"|CONFIG_PCI_P2PDMA.*(?:not|missing|=n)|kernel .*(?:without|lacks|no).*(?:P2PDMA"
        r"|peer-to-peer DMA|DMA-?BUF)",
    ),
    sign(
        "pin_failed",
        r"pin_user_pages\w*|FOLL_LONGTERM|ib_umem_get.*(?:-12|ENOMEM|fail\w*)|pageblock"
        r"|longterm pin|cannot be pinned|page migration failed|alloc_contig_range.*(?:fail|busy)",
    ),
    sign(
        "cma",
        r"CmaTotal:?\s*(?:reports )?\d+|CmaFree|\bCMA\b.*(?:area|alloc|pageblock|pages|region)"
        r"|cma: .*(?:alloc|reserv)|kho=|kexec handover",
        FACT,
    ),
    sign(
        "kernel_fault",
        r"BUG: (?:unable|soft lockup|kernel|scheduling|Bad)|soft lockup|hard LOCKUP|Oops:"
        r"|general protection fault|kernel panic|blocked for more than \d+ seconds"
        r"|rcu\w*.*(?:stall|self-detected)|Call Trace:|kernel BUG at|NMI watchdog"
        r"|unable to handle kernel|page allocation (?:failure|stall)|INFO: task .*blocked"
        r"|list_(?:add|del) corruption|WARNING: CPU: \d+ PID",
    ),
    sign(
        "kernel_said",
        r"(?:kernel|linux) (?:version )?\d+\.\d+\S*.{0,60}(?:regress\w+|bug|breaks?|broken"
        r"|not support\w*|fails?|since|works)|(?:after|since).{0,20}kernel (?:upgrade|update)"
        r"|(?:downgrad|upgrad)\w+ .{0,20}kernel|requires? (?:linux )?kernel|kernel too old"
        r"|kernel.{0,20}(?:does not|doesn't) support|CONFIG_\w+ ?=? ?(?:is not set|n\b|missing)",
    ),
    sign(
        "reg_mr_enomem",
        r"ibv_reg_mr\w*.*(?:Cannot allocate memory|ENOMEM|\b12\b)|Call to ibv_reg_mr\w* failed"
        r"|reg_mr.*(?:ENOMEM|Cannot allocate)|ib_uverbs_reg_mr|memory registration failed"
        r"|failed to register (?:user )?(?:memory|buffer|mr)|mlx5: failed to lock|RLIMIT_MEMLOCK"
        r"|max locked memory.*(?:to 'unlimited'|too (?:low|small)|increase)|ibv_fork_init"
        r"|locked memory limit",
    ),
    sign(
        "create_enomem",
        r"ibv_(?:create_(?:cq|qp|srq\w*)|alloc_pd|open_device"
        r"|reg_dm)\w*\(?\)?.*(?:Cannot allocate memory|ENOMEM|\b12\b)|failed to create (?:cq|qp"
        r"|srq).*(?:Cannot allocate memory|ENOMEM)",
    ),
    sign(
        "memlock_small",
        r"(?:ulimit -l|memlock|max locked memory|Max locked memory"
        r"|locked-in-memory)\b[^0-9\n]{0,40}?(?<![-\d])(?P<value>\d+)\b",
        test=small_lock,
        kind=FACT,
    ),
    sign(
        "memlock_unlimited",
        r"(?:ulimit -l|memlock|max locked memory)\b(?![^\n]{0,20}\bto ')[^0-9\n]{0,40}?unlimited"
        r"|ulimit(?![^\n]{0,20}\bto ').{0,20}(?:is )?(?:fine|ok|unlimited)|LimitMEMLOCK=infinity|memlock=-1",
        FACT,
    ),
    sign(
        "shm_full",
        r"posix_fallocate failed ?: No space|fail\w* to extend /dev/shm|/dev/shm.*(?:No space|full"
        r"|too small|not enough)"
        r"|(?:creating|create|open|attach|extend) .{0,30}shared memory (?:segment|region|file"
        r"|object)|shm_open.*fail|nccl-shm\S*.*(?:fail|No space|error)|Failed to (?:allocate"
        r"|create) shared memory|insufficient shared memory|shared memory \(shm\)"
        r"|out of shared memory|unable to (?:write to|open|mmap) (?:file"
        r"|shared memory).{0,20}(?:torch_|/dev/shm|shm)|Bus error",
    ),
    sign(
        "shm_small",
        r"(?:shm|tmpfs)\s+(?P<size>[\d.]+)(?P<unit>[KMGT]?)\s+\S+\s+\S+\s+\d+%\s+/dev/shm"
        r"|(?:ShmSize|shm[-_]size)\W+(?:67108864)\b",
        test=lambda m: m["size"] is None or _small_shm(m),
        kind=FACT,
    ),
    sign(
        "disk_full",
        r"No space left on device|Disk quota exceeded|ENOSPC|disk (?:is )?full|\b100% /(?!snap"
        r"|dev/loop|dev/shm|boot/efi)",
    ),
    sign(
        "nofile",
        r"Too many open files|EMFILE|ENFILE|file descriptors? exhausted",
    ),
    sign(
        "nproc",
        r"Resource temporarily unavailable|fork: (?:retry|Cannot)|can't start new thread"
        r"|pthread_create failed|pids? (?:limit|cgroup).*(?:reach|exceed|reject)"
        r"|cgroup: fork rejected|Too many processes|OpenBLAS blas_thread_init|nproc limit",
    ),
    sign(
        "oom_host",
        r"Out of memory: Kill|oom[-_ ]kill\w*|invoked oom-killer"
        r"|exit(?:ed)? (?:with )?(?:code|status) 137"
        r"|signal 9 \(Killed\)|DefaultCPUAllocator: can't allocate memory|\bMemoryError|oom_reaper"
        r"|exited on signal 9|SIGKILL|Cannot allocate memory.*(?:fork|malloc|mmap)"
        r"|DataLoader worker .*killed by signal(?!\W*Bus error)",
    ),
    sign("oom_container", r"OOMKilled|Memory cgroup out of memory"),
    sign(
        "if_missing",
        r"no socket interface found|NET/Socket : no (?:usable )?interface|Bootstrap : no"
        r"|No interface found|no usable (?:network )?interface|interface .{0,30}(?:not found"
        r"|does not exist|doesn't exist|not exist)|unable to find (?:address|interface)"
        r"|Unable to find a usable interface|none of the (?:networks|interfaces)"
        r"|cannot assign requested address|EADDRNOTAVAIL|Unable to resolve.*interface"
        r"|gloo.*(?:unable|fail).*interface|ifa != nullptr|Device \S+ does not exist"
        r"|has no (?:IPv4 )?address in",
    ),
    sign(
        "if_wrong",
        r"connect\(\) to (?:172\.17\.|169\.254\.|127\.)|inbound MPI TCP connection request"
        r"|it is from an IP address that is|remote=\[127\.0\.0\.1\]|loopback address as fallback"
        r"|Using \[?\d?\]?(?:docker0|virbr\d|lo|veth\w*|br-\w+|cni\d|flannel\S*|cali\w+"
        r"|tailscale\d|podman\d|lxdbr\d)\b|Using .{0,15}(?:docker0|virbr0|veth|lo:127\.|:127\.0\."
        r"|:169\.254\.|:172\.17\.)|(?:from|peer|address|inet|connect|host|over"
        r"|into)\w* .{0,30}(?:172\.17\.|169\.254\.|127\.0\.1\.1)|localhost.{0,40}(?:instead|wrong"
        r"|resolv)|(?:wrong|unexpected|different|unused|another|other"
        r"|not) (?:network )?(?:interface|nic|address|subnet|ip)\b|(?:not|isn't) used anywhere"
        r"|(?:picks?|chos\w+|select\w+|uses?|using|binds?).{0,30}(?:wrong|docker|virtual|loopback"
        r"|management|link-local)|accepted a TCP connection from what appears"
        r"|cannot find a corresponding process|(?:but|is) (?:NCCL )?connecting to (?:it|another)"
        r"|virtual (?:network )?interface"
        r"|(?<!PCI )virtual (?:network )?bridge(?! of).{0,40}(?:address|interface|network)",
    ),
    sign(
        "routes_said",
        r"rout(?:e|es|ing)\b.{0,60}(?:table|duplicate|identical|overlap\w*|conflict\w*|missing"
        r"|wrong|metric|asymmetric|no )|overlapping (?:subnets?|networks?)|same subnet"
        r"|duplicate (?:route|address|IP)|ARP[- ]?(?:flux|cache|announce|ignore|filter|storm)"
        r"|martian source"
        r"|neighbou?r(?: table)?:? .*overflow|ip neigh.*(?:FAILED|INCOMPLETE)|\b(?:FAILED"
        r"|INCOMPLETE)\b.*lladdr|lladdr.*FAILED|DUPLICATE address"
        r"|asymmetric routing|default (?:route|gateway)|source[- ]based routing|policy routing"
        r"|dev \S+\s+(?:FAILED|INCOMPLETE)",
    ),
    sign(
        "name_unknown",
        r"Could not resolve hostname|Name or service not known|\bhost not found\b"
        r"|Temporary failure in name resolution|nodename nor servname|getaddrinfo\w*.*(?:fail\w*"
        r"|error|-2|-3)|Unknown host|hostname .*(?:not (?:found|resolv\w+)|cannot be resolved"
        r"|could not be resolved)|NXDOMAIN|unable to resolve|failed to resolve"
        r"|IPv6 network addresses of \(|gai error|cannot resolve",
    ),
    sign(
        "no_route",
        r"No route to host|EHOSTUNREACH|Host is unreachable|Network is unreachable|ENETUNREACH"
        r"|Destination Host Unreachable|icmp.*(?:prohibited|unreachable)"
        r"|admin(?:istratively)?[- ]prohibited",
    ),
    sign("family_unsupported", r"Address family not supported|EAFNOSUPPORT"),
    sign("connect_refused", r"Connection refused|ECONNREFUSED|connect\w*\W+(?:returned|failed).*refused"),
    sign(
        "connect_timeout",
        r"(?:connect\w*|socket|bootstrap|tcp|rendezvous|TCPStore|store).{0,100}(?:timed out"
        r"|time-?out|ETIMEDOUT)|(?:timed out|time-?out|ETIMEDOUT).{0,100}(?:connect\w*|socket"
        r"|TCPStore|rendezvous)|ncclSocket\w*.*(?:fail|error|timeout|timed)|socket(?:Start"
        r"|Progress|Poll)\w*.*(?:fail|error|timed)|connection (?:timed out|timeout)",
    ),
    sign(
        "filtered",
        r"iptables|nftables|\bnft\b|\bufw\b|firewalld?|security group"
        r"|UFW BLOCK|IN=\S* OUT=\S* .*(?:SRC|DPT)=|filtered by|NetworkPolicy|network polic\w+"
        r"|port .{0,30}(?:blocked|closed|filtered|not open)|blocked by|conntrack: table full"
        r"|nf_conntrack.*(?:full|drop)|middlebox|selinux.*denied|avc: +denied",
    ),
    sign(
        "wrong_magic",
        r"wrong magic (?:number )?(?:0x)?(?P<magic>[0-9a-f]{8,16})\b|magic (?:number )?(?:mismatch|!=)",
        test=lambda m: m["magic"] is not None and _foreign(m),
    ),
    sign(
        "other_magic",
        r"wrong magic|unexpected (?:magic|connection|message) |magic (?:number )?mismatch"
        r"|invalid magic|Message truncated|bootstrap\w*.*(?:truncated|mismatch|unexpected)"
        r"|received (?:an )?(?:unexpected|unknown|invalid) (?:connection|message|header|packet"
        r"|request)|(?:GET|HEAD|POST) /\S* HTTP|port ?scan\w*|\bnmap\b|(?:vulnerability"
        r"|security) scan\w*|health ?check.*(?:port|probe)|prometheus|scrap(?:e|er|ing)"
        r"|invalid (?:HTTP|handshake|preamble)|foreign (?:connection|client)|Unknown protocol"
        r"|did not send.*handshake",
    ),
    sign(
        "ib_dev_missing",
        r"/dev/infiniband.*(?:No such|not found|missing|does not exist|Permission|empty)|(?:no"
        r"|without|missing) /dev/infiniband|uverbs\d*.*(?:Permission denied"
        r"|Operation not permitted|No such file|not found|missing)|Unable to open device"
        r"|failed to open (?:device|hca)|ibv_open_device.*fail|Devices: ?\[\]"
        r"|Failed to initialize any NET plugin|NET plugin .*(?:not|fail)|network IB not found"
        r"|devices cgroup|device cgroup|rdma-?core.*(?:container|pod|image)|could not open RDMA"
        r"|ls: cannot access '?/dev/infiniband",
    ),
    sign(
        "ib_lib_missing",
        r"Failed to open libibverbs|libibverbs\.so\S*.*(?:cannot open|not found|No such|fail)"
        r"|lib(?:mlx5|rdmacm|ibverbs|ibumad|ucp|ucs|ucx\w*|nccl|fabric"
        r"|efa)\.so\S*: cannot open shared object|dlopen.*(?:ibverbs|mlx5|rdmacm).*fail"
        r"|no userspace device-specific driver found|couldn't load driver 'lib(?:mlx|bnxt_re|irdma|efa)"
        r"|libibverbs: .*(?:not found|warning)|missing.*(?:libibverbs|rdma-core)"
        r"|\b(?:not|n't|without|lacks?|no) (?:include|contain|ship|install|have|bundle)?\w* ?(?:the )?(?:libibverbs"
        r"|rdma-core|ibverbs-providers|librdmacm|libmlx5)|(?:libibverbs"
        r"|rdma-core).*(?:not installed|missing|absent)",
    ),
    sign(
        "nccl_socket",
        r"Using network Socket|NET/Socket : Using|via NET/Socket|(?:NCCL|it) (?:was|is"
        r"|were) using (?:the )?(?:socket|tcp)|(?:fall\w*|fell) ?back to (?:tcp|sockets?|ethernet"
        r"|NET/Socket)|falls back to.*socket",
        FACT,
    ),
    sign(
        "docker_gpu",
        r"could not select device driver|unknown runtime specified nvidia"
        r"|unknown or invalid runtime name: nvidia|nvidia-container-cli: .*(?:error|fail"
        r"|initialization)|nvidia-container-runtime.*(?:not found|error|fail)"
        r"|OCI runtime .*nvidia|failed to inject CDI|unresolvable CDI|CDI device injection failed"
        r"|libnvidia-container|nvidia-container-toolkit.*(?:not|missing|fail)|--gpus.*(?:not"
        r"|missing)|without --gpus|Insufficient nvidia\.com/gpu|unavailable for nvidia\.com/gpu",
    ),
    sign(
        "container_down",
        r"No such container|container \S+ is not running|OCI runtime (?:exec|create) failed"
        r"|Cannot connect to the Docker daemon|error during connect|cannot exec in a stopped"
        r"|ImagePullBackOff|ErrImagePull|CrashLoopBackOff|manifest unknown|pull access denied"
        r"|exec format error",
    ),
    sign(
        "container_perm",
        r"Operation not permitted|\bEPERM\b|seccomp|\bmbind\b|not permitted",
    ),
    sign(
        "in_container",
        r"\bdocker\b|container\w*|\bpods?\b|kubernetes|kubeflow|podman|enroot|pyxis|singularity"
        r"|apptainer|/workspace\b|containerd|\bcri-o\b|kubelet|docker-compose|compose\b",
        FACT,
    ),
    sign("daemon_reload", r"daemon-reload|systemd\[1\]: Reloading", FACT),
    sign(
        "container_dev_differs",
        r"only (?:one|some|\d+) of .{0,30}(?:devices|HCAs|NICs)|(?:one|some) (?:container|pod"
        r"|node|host|rank)s?.{0,60}(?:sees?|has|have|opens?) .{0,30}(?:device|HCA"
        r"|NIC)s?\b.{0,40}(?:other|two|all)",
    ),
)
