# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts and containers: drivers of the NIC, kernel, limits, routes, firewalls, devices. Pure data.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

from typing import Match

from ..model import CANDIDATE, ECHO, FACT, LIKELY, Cause, rule, sign

_SMALL = 1 << 20  # KiB; less than this is not enough for the buffers of one rank


def _small_lock(match: Match[str]) -> bool:
    value = match["value"]
    return value.isdigit() and int(value) < _SMALL


def _small_shm(match: Match[str]) -> bool:
    scale = {"K": 1 / 1024, "": 1 / 1024, "M": 1, "G": 1024, "T": 1 << 20}
    return float(match["size"]) * scale[match["unit"].upper()] <= 64


def _foreign(match: Match[str]) -> bool:
    """The magic number is text: somebody's protocol, not another NCCL."""
    digits = match["magic"].zfill(16)
    letters = bytes.fromhex(digits)
    return sum(32 <= letter < 127 or letter in (9, 10, 13) for letter in letters) >= 7


CAUSES = (
    Cause("peermem_missing", "guest_driver", "Neither the peer memory module nor DMA-BUF is there, so the NIC cannot reach GPU memory.",
          "on the host", "lsmod | grep -E 'nvidia_peermem|nv_peer_mem'; modinfo -F license nvidia; uname -r", "modprobe nvidia_peermem (after OFED), or open driver and kernel >= 5.12", "NVIDIA GPUDirect RDMA documentation", role="guest"),
    Cause("peermem_abi", "guest_driver", "The peer memory module was built against another ib_core than the one that is loaded (OFED installed or upgraded after the GPU driver).",
          "on the host", "grep ib_register_peer_memory_client /proc/kallsyms; modinfo ib_core nvidia_peermem; dmesg | grep -i peer", "install OFED first, then build the GPU driver's modules again", "nvidia-peermem source: EINVAL without the symbols", role="guest", interrupts="the jobs on this host"),
    Cause("guest_ofed_mismatch", "guest_driver", "Kernel driver and user space of RDMA do not fit (inbox and OFED mixed, modules of another kernel, driver not loaded).",
          "on the host", "ofed_info -s; modinfo mlx5_core | head -4; lsmod | grep mlx5; ibv_devinfo; dkms status", "one stack: either inbox with rdma-core or OFED/DOCA for this kernel", "NVIDIA DOCA-OFED installation guide", role="guest", interrupts="the RoCE network of this host"),
    Cause("kernel_p2pdma", "guest_kernel", "The kernel lacks a part that GPUDirect needs (PCI peer-to-peer DMA, DMA-BUF, ZONE_DEVICE, HMM).",
          "on the host", "zgrep -E 'PCI_P2PDMA|DMABUF_MOVE_NOTIFY|ZONE_DEVICE' /proc/config.gz /boot/config-$(uname -r)", "a kernel with CONFIG_PCI_P2PDMA=y and CONFIG_DMABUF_MOVE_NOTIFY=y", "kernel: Documentation/driver-api/pci/p2pdma", interrupts="the host"),
    Cause("kernel_pinning", "guest_kernel", "Pages cannot be pinned for long although the limit allows it: they lie in CMA or movable blocks, or memory is fragmented.",
          "on the host", "ulimit -l (unlimited?); grep -i cma /proc/meminfo; cat /proc/buddyinfo; uname -r", "kernel without that CMA area (cma=0, kho=off) or a fixed one", "kernel: pin_user_pages(FOLL_LONGTERM) moves pages out of CMA or fails with ENOMEM", interrupts="the host"),
    Cause("kernel_fault", "guest_kernel", "The kernel or one of its drivers failed (oops, soft lockup, hung task) or its version is known not to work.",
          "on the host", "dmesg -T | grep -iE 'bug|oops|lockup|hung|blocked'; uname -r; uname -r of a host that works", "another kernel", "kernel documentation: lockup watchdogs", interrupts="the host", cost=2),
    Cause("memlock_host", "host_limits", "The login or service that starts the ranks may not lock enough memory.",
          "in a shell that mpirun (or Slurm) starts on the host", "mpirun -H HOST sh -c 'ulimit -l'", "limits.d: memlock unlimited, LimitMEMLOCK=infinity for sshd or slurmd; log in again", "ibv_reg_mr(3): ENOMEM; limits.conf(5)", role="guest"),
    Cause("limits_host", "host_limits", "A limit of the host is reached: open files, processes, shared memory, disk or memory.",
          "on the host", "ulimit -a; df -h; df -i; free -g; dmesg | grep -i oom; sysctl fs.file-max kernel.pid_max", "raise the limit or free the space", "getrlimit(2)", role="guest"),
    Cause("host_slow_receiver", "host_limits", "A host takes packets more slowly than they come (PCIe, memory, a stuck process), so it pauses or drops.",
          "on the host with the most pause frames sent", "ethtool -S NIC | grep -E 'pause|discard|out_of_buffer'; top", "find what slows the host down", "IEEE 802.1Qbb"),
    Cause("wrong_interface", "host_routing", "The job talks over an interface or address that does not lead to the other hosts (docker0, link-local, management, two in one subnet).",
          "on every host", "ip -br addr; ip route; ip route get PEER; NCCL log: Bootstrap : Using, NET/Socket : Using", "name the cluster network: NCCL_SOCKET_IFNAME, btl_tcp_if_include, GLOO_SOCKET_IFNAME; repair routes", "NCCL documentation, NCCL_SOCKET_IFNAME", role="run"),
    Cause("name_resolution", "host_routing", "A host name leads to no address or to a wrong one (127.0.1.1, another network).",
          "on every host", "getent hosts HEAD; cat /etc/hosts; hostname -I", "names in DNS or /etc/hosts that lead to the cluster address; or addresses in place of names", "getaddrinfo(3)"),
    Cause("firewall", "firewall", "A firewall or middlebox refuses or swallows connections between the hosts (NCCL, Open MPI and gloo use any port; RoCE v2 is UDP 4791).",
          "between the two hosts that are named", "nc -vz PEER PORT from the other host while nc -l PORT runs there; iptables -S; nft list ruleset; ufw status", "allow all traffic between the cluster addresses", "NCCL troubleshooting: networking", cost=2),
    Cause("foreign_client", "foreign_traffic", "Somebody else's program (scraper, scanner, health check) connected to a port of the job.",
          "on the host that complains", "ss -tnp | grep PORT; tcpdump -ni any port PORT (as root); decode the magic number as text", "keep scanners and scrapers off the high ports of the cluster network", "NCCL source: src/misc/socket.cc", cost=2),
    Cause("container_devices", "container", "The container does not see or may not open the RDMA devices.",
          "in the container", "ls -l /dev/infiniband; ibv_devices; cat /sys/fs/cgroup/devices.list; docker inspect -f '{{.HostConfig.Devices}}'", "--device /dev/infiniband (pod: RDMA resource), IPC_LOCK, network of the host", "docker run documentation; rdma-core", role="container", interrupts="the container"),
    Cause("container_libraries", "container", "The image lacks user space of RDMA (libibverbs, the provider of the NIC) or has one that does not fit.",
          "in the container", "ldconfig -p | grep -E 'ibverbs|mlx5|rdmacm'; ls /etc/libibverbs.d; ibv_devices", "install rdma-core (libibverbs1, ibverbs-providers, librdmacm1) in the image", "rdma-core", role="container"),
    Cause("container_memlock", "container", "The container may not lock enough memory (Docker's default is small; a host with OFED has no such limit).",
          "in the container, by way of mpirun", "ulimit -l", "--ulimit memlock=-1 (pod: IPC_LOCK, limits of the runtime)", "docker run documentation, --ulimit", role="container", interrupts="the container"),
    Cause("container_shm", "container", "/dev/shm of the container is too small (Docker gives 64 MB) or full.",
          "in the container", "df -h /dev/shm", "--ipc=host or --shm-size of 1 GB per rank; pod: emptyDir with medium Memory", "docker run documentation, --shm-size", role="container", interrupts="the container"),
    Cause("container_gpu_taken", "container", "The container had GPUs and lost them: systemd was reloaded, and the GPUs are not on its device list.",
          "on the host", "docker exec NAME nvidia-smi; ls -l /dev/char | grep nvidia; journalctl | grep -i 'daemon-reload\\|Reloading'", "restart the container; CDI or named devices, /dev/char links", "nvidia-container-toolkit: troubleshooting", role="container", interrupts="the container"),
    Cause("container_no_gpu", "container", "The container was started without GPUs, or the NVIDIA runtime is not set up.",
          "in the container, then on the host", "nvidia-smi (both); docker info | grep -i runtime; nvidia-ctk --version", "nvidia-ctk runtime configure, restart Docker, --gpus all", "NVIDIA container toolkit documentation", role="container", interrupts="the containers"),
    Cause("container_caps", "container", "The container lacks a right (seccomp, capability, user, cgroup) that the call needs.",
          "in the container", "capsh --print; cat /proc/self/status | grep -i seccomp; docker inspect", "--cap-add IPC_LOCK (SYS_NICE, SYS_PTRACE as needed), or the profile that allows the call", "docker run documentation, capabilities", role="container", interrupts="the container"),
    Cause("container_image_cuda", "container", "The image brings CUDA or compatibility libraries that do not fit the host's driver.",
          "in the container", "ls /usr/local/cuda/compat; ldconfig -p | grep libcuda; nvidia-smi", "image for this driver; take the compat folder out of LD_LIBRARY_PATH", "CUDA compatibility guide"),
    Cause("container_down", "container", "The container does not run or could not be started.",
          "on the host", "docker ps -a; docker logs NAME; docker info", "start it again (container stage)", "docker documentation", role="container"),
)

SIGNS = (
    sign("peermem_symbol", r"(?:nv_peer_mem|nvidia_peermem|ib_core|nvidia)\S*: (?:Unknown symbol|disagrees about version)|ib_register_peer_memory_client|ib_unregister_peer_memory_client|(?:insert|modprobe).*(?:nvidia[_-]peermem|nv_peer_mem).*(?:Invalid argument|Unknown symbol|Exec format|disagree)|(?:nvidia[_-]peermem|nv_peer_mem)\S*.*(?:Invalid argument|Unknown symbol|disagree)"),
    sign("peermem_missing", r"(?:nvidia[_-]peermem|nv_peer_mem)\b.*(?:not (?:found|loaded|installed|detected)|missing|fail\w*|No such|FATAL)|(?:no|without|missing|load).{0,20}(?:nvidia[_-]peermem|nv_peer_mem|peer memory)|could not insert '(?:nvidia_peermem|nv_peer_mem)'|GPU Direct RDMA.*not (?:available|supported)|No module (?:present )?for GPU Direct RDMA|peer ?mem\w* .*not|Module nvidia_peermem not found"),
    sign("dmabuf_failed", r"ibv_reg_dmabuf_mr.*(?:fail\w*|error|not supported)|dma-?buf.*(?:not (?:supported|available)|fail\w*|unsupported|EOPNOTSUPP)|reg_dmabuf|cuMemGetHandleForAddressRange.*fail"),
    sign("gpu_reg_mr", r"ibv_reg_mr\w*.*(?:Bad address|EFAULT|\b14\b)|reg_mr.*(?:cuda|gpu).*fail"),
    sign("ofed_mismatch", r"Driver \S+ does not support the kernel ABI|kernel ABI of \d+|couldn't load driver 'lib?\S+|libibverbs: Warning: (?:couldn't|no userspace)|mlx\w*_(?:core|ib).*(?:disagrees about version|Unknown symbol|Invalid module format|version magic)|(?:ib_uverbs|ib_core|rdma_cm|mlx5_ib|mlx5_core|rdma_ucm)\b.*(?:not (?:loaded|found)|Unknown symbol|disagrees|fail\w* to (?:load|insert)|could not insert|No such)|MLNX_OFED.*(?:mismatch|not (?:installed|compatible)|conflict|different)|(?:inbox|in-tree|upstream) .*(?:ofed|driver).*(?:mix\w*|conflict|mismatch)|undefined symbol: (?:ibv_|mlx5|rdma_)\w*|version .(?:IBVERBS|MLX5|RDMACM)\S* not found|openibd.*(?:fail\w*|error)|dkms.*(?:fail\w*|error|bad exit|not built).*(?:mlnx|ofed|mlx|iser|srp|nvidia)?|mlnx-ofed-kernel.*(?:fail|error)|Failed to get IB devices list|Unable to (?:load|find) (?:the )?(?:mlx5|ib_uverbs)"),
    sign("no_hca_host", r"No IB devices found|no RDMA devices? (?:found|available)|ibv_devinfo.*No|ibv_get_device_list.*(?:0|fail|no)|lspci.*no.*mellanox|NET/IB : No device found|no InfiniBand device|Did not detect devices|Unable to find the Infiniband/RoCE device|0 HCAs? found"),
    sign("p2pdma_off", r"# CONFIG_(?:PCI_P2PDMA|DMABUF_MOVE_NOTIFY|ZONE_DEVICE|HSA_AMD_P2P|INFINIBAND_USER_MEM|DMA_SHARED_BUFFER|PCI_ATS|INFINIBAND_ON_DEMAND_PAGING|MEMORY_HOTREMOVE)\b.* is not set|CONFIG_PCI_P2PDMA.*(?:not|missing|=n)|kernel .*(?:without|lacks|no).*(?:P2PDMA|peer-to-peer DMA|DMA-?BUF)"),
    sign("pin_failed", r"pin_user_pages\w*|FOLL_LONGTERM|ib_umem_get.*(?:-12|ENOMEM|fail\w*)|pageblock|longterm pin|cannot be pinned|page migration failed|alloc_contig_range.*(?:fail|busy)"),
    sign("cma", r"CmaTotal:?\s*(?:reports )?\d+|CmaFree|\bCMA\b.*(?:area|alloc|pageblock|pages|region)|cma: .*(?:alloc|reserv)|kho=|kexec handover", FACT),
    sign("kernel_fault", r"BUG: (?:unable|soft lockup|kernel|scheduling|Bad)|soft lockup|hard LOCKUP|Oops:|general protection fault|kernel panic|blocked for more than \d+ seconds|rcu\w*.*(?:stall|self-detected)|Call Trace:|kernel BUG at|NMI watchdog|unable to handle kernel|page allocation (?:failure|stall)|INFO: task .*blocked|list_(?:add|del) corruption|WARNING: CPU: \d+ PID"),
    sign("kernel_said", r"(?:kernel|linux) (?:version )?\d+\.\d+\S*.{0,60}(?:regress\w+|bug|breaks?|broken|not support\w*|fails?|since|works)|(?:after|since).{0,20}kernel (?:upgrade|update)|(?:downgrad|upgrad)\w+ .{0,20}kernel|requires? (?:linux )?kernel|kernel too old|kernel.{0,20}(?:does not|doesn't) support|CONFIG_\w+ ?=? ?(?:is not set|n\b|missing)"),
    sign("reg_mr_enomem", r"ibv_reg_mr\w*.*(?:Cannot allocate memory|ENOMEM|\b12\b)|Call to ibv_reg_mr\w* failed|reg_mr.*(?:ENOMEM|Cannot allocate)|ib_uverbs_reg_mr|memory registration failed|failed to register (?:user )?(?:memory|buffer|mr)|mlx5: failed to lock|RLIMIT_MEMLOCK|max locked memory.*(?:unlimited|too|increase)|ibv_fork_init|locked memory limit"),
    sign("create_enomem", r"ibv_(?:create_(?:cq|qp|srq\w*)|alloc_pd|open_device|reg_dm)\w*\(?\)?.*(?:Cannot allocate memory|ENOMEM|\b12\b)|failed to create (?:cq|qp|srq).*(?:Cannot allocate memory|ENOMEM)"),
    sign("memlock_small", r"(?:ulimit -l|memlock|max locked memory|Max locked memory|locked-in-memory)\b[^0-9\n]{0,40}?(?P<value>\d+)\b", test=_small_lock, kind=FACT),
    sign("memlock_unlimited", r"(?:ulimit -l|memlock|max locked memory)\b[^0-9\n]{0,40}?unlimited|ulimit.{0,20}(?:is )?(?:fine|ok|unlimited)|LimitMEMLOCK=infinity|memlock=-1", FACT),
    sign("shm_full", r"posix_fallocate failed ?: No space|/dev/shm.*(?:No space|full|too small|not enough)|(?:creating|create|open|attach|extend) .{0,30}shared memory (?:segment|region|file|object)|shm_open.*fail|nccl-shm\S*.*(?:fail|No space|error)|Failed to (?:allocate|create) shared memory|insufficient shared memory|shared memory \(shm\)|out of shared memory|unable to (?:write to|open|mmap) (?:file|shared memory).{0,20}(?:torch_|/dev/shm|shm)|--shm-size|Bus error"),
    sign("shm_small", r"(?:shm|tmpfs)\s+(?P<size>[\d.]+)(?P<unit>[KMGT]?)\s+\S+\s+\S+\s+\d+%\s+/dev/shm|(?:ShmSize|shm[-_]size)\W+(?:67108864)\b", test=lambda m: m["size"] is None or _small_shm(m), kind=FACT),
    sign("disk_full", r"No space left on device|Disk quota exceeded|ENOSPC|disk (?:is )?full|\b100% /(?!snap|dev/loop|boot/efi)"),
    sign("nofile", r"Too many open files|EMFILE|ENFILE|open files? limit|nofile|file descriptors? (?:limit|exhausted)"),
    sign("nproc", r"Resource temporarily unavailable|fork: (?:retry|Cannot)|can't start new thread|pthread_create failed|pids? (?:limit|cgroup).*(?:reach|exceed|reject)|cgroup: fork rejected|Too many processes|OpenBLAS blas_thread_init|nproc limit"),
    sign("oom_host", r"Out of memory: Kill|oom[-_ ]?kill\w*|invoked oom-killer|OOMKilled|Memory cgroup out of memory|exit(?:ed)? (?:with )?(?:code|status) 137|signal 9 \(Killed\)|DefaultCPUAllocator: can't allocate memory|MemoryError|oom_reaper|exited on signal 9|SIGKILL|Cannot allocate memory.*(?:fork|malloc|mmap)|DataLoader worker .*killed by signal"),
    sign("if_missing", r"no socket interface found|NET/Socket : no (?:usable )?interface|Bootstrap : no|No interface found|no usable (?:network )?interface|interface .{0,30}(?:not found|does not exist|doesn't exist|not exist)|unable to find (?:address|interface)|Unable to find a usable interface|none of the (?:networks|interfaces)|cannot assign requested address|EADDRNOTAVAIL|Unable to resolve.*interface|gloo.*(?:unable|fail).*interface|ifa != nullptr|Device \S+ does not exist|has no (?:IPv4 )?address in"),
    sign("if_wrong", r"Using \[?\d?\]?(?:docker0|virbr\d|lo|veth\w*|br-\w+|cni\d|flannel\S*|cali\w+|tailscale\d|podman\d|lxdbr\d)\b|Using .{0,15}(?:docker0|virbr0|veth|lo:127\.|:127\.0\.|:169\.254\.|:172\.17\.)|(?:from|peer|address|inet|connect|host|over|into)\w* .{0,30}(?:172\.17\.|169\.254\.|127\.0\.1\.1)|localhost.{0,40}(?:instead|wrong|resolv)|(?:wrong|unexpected|different|unused|another|other|not) (?:network )?(?:interface|nic|address|subnet|ip)\b|(?:not|isn't) used anywhere|(?:picks?|chos\w+|select\w+|uses?|using|binds?).{0,30}(?:wrong|docker|virtual|loopback|management|link-local)|accepted a TCP connection from what appears|cannot find a corresponding process|(?:but|is) (?:NCCL )?connecting to (?:it|another)|virtual (?:bridge|interface)"),
    sign("routes_said", r"rout(?:e|es|ing)\b.{0,60}(?:table|duplicate|identical|overlap\w*|conflict\w*|missing|wrong|metric|asymmetric|no )|overlapping (?:subnets?|networks?)|same subnet|duplicate (?:route|address|IP)|ARP[- ]?(?:flux|cache|announce|ignore|filter|storm)|arp_(?:ignore|announce|filter)|rp_filter|martian source|neighbou?r(?: table)?:? .*overflow|ip neigh.*(?:FAILED|INCOMPLETE)|\b(?:FAILED|INCOMPLETE)\b.*lladdr|lladdr.*FAILED|DUPLICATE address|RTNETLINK answers|asymmetric routing|default (?:route|gateway)|source[- ]based routing|policy routing|dev \S+\s+(?:FAILED|INCOMPLETE)"),
    sign("name_unknown", r"Could not resolve hostname|Name or service not known|Temporary failure in name resolution|nodename nor servname|getaddrinfo\w*.*(?:fail\w*|error|-2|-3)|Unknown host|hostname .*(?:not (?:found|resolv\w+)|cannot be resolved|could not be resolved)|NXDOMAIN|unable to resolve|failed to resolve|IPv6 network addresses of \(|gai error|cannot resolve"),
    sign("no_route", r"No route to host|EHOSTUNREACH|Host is unreachable|Network is unreachable|ENETUNREACH|Destination Host Unreachable|icmp.*(?:prohibited|unreachable)|admin(?:istratively)?[- ]prohibited"),
    sign("connect_refused", r"Connection refused|ECONNREFUSED|connect\w*\W+(?:returned|failed).*refused"),
    sign("connect_timeout", r"(?:connect\w*|socket|bootstrap|tcp|rendezvous|TCPStore|store).{0,100}(?:timed out|time-?out|ETIMEDOUT)|(?:timed out|time-?out|ETIMEDOUT).{0,100}(?:connect\w*|socket|TCPStore|rendezvous)|ncclSocket\w*.*(?:fail|error|timeout|timed)|socket(?:Start|Progress|Poll)\w*.*(?:fail|error|timed)|connection (?:timed out|timeout)"),
    sign("filtered", r"iptables|nftables|\bnft\b|\bufw\b|firewalld?|security group|\bREJECT\b|\bDROP\b|UFW BLOCK|IN=\S* OUT=\S* .*(?:SRC|DPT)=|filtered by|NetworkPolicy|network polic\w+|port .{0,30}(?:blocked|closed|filtered|not open)|blocked by|conntrack: table full|nf_conntrack.*(?:full|drop)|middlebox|selinux.*denied|avc: +denied"),
    sign("wrong_magic", r"wrong magic (?:number )?(?:0x)?(?P<magic>[0-9a-f]{8,16})\b|magic (?:number )?(?:mismatch|!=)", test=lambda m: m["magic"] is not None and _foreign(m)),
    sign("other_magic", r"wrong magic|unexpected (?:magic|connection|message) |magic (?:number )?mismatch|invalid magic|Message truncated|bootstrap\w*.*(?:truncated|mismatch|unexpected)|received (?:an )?(?:unexpected|unknown|invalid) (?:connection|message|header|packet|request)|(?:GET|HEAD|POST) /\S* HTTP|port ?scan\w*|\bnmap\b|(?:vulnerability|security) scan\w*|health ?check.*(?:port|probe)|prometheus|scrap(?:e|er|ing)|invalid (?:HTTP|handshake|preamble)|foreign (?:connection|client)|Unknown protocol|did not send.*handshake"),
    sign("ib_dev_missing", r"/dev/infiniband.*(?:No such|not found|missing|does not exist|Permission|empty)|(?:no|without|missing) /dev/infiniband|uverbs\d*.*(?:Permission denied|Operation not permitted|No such file|not found|missing)|Unable to open device|failed to open (?:device|hca)|ibv_open_device.*fail|Devices: ?\[\]|Failed to initialize any NET plugin|NET plugin .*(?:not|fail)|network IB not found|devices cgroup|device cgroup|rdma-?core.*(?:container|pod|image)|could not open RDMA|ls: cannot access '?/dev/infiniband"),
    sign("ib_lib_missing", r"Failed to open libibverbs|libibverbs\.so\S*.*(?:cannot open|not found|No such|fail)|lib(?:mlx5|rdmacm|ibverbs|ibumad|ucp|ucs|ucx\w*|nccl|fabric|efa)\.so\S*: cannot open shared object|dlopen.*(?:ibverbs|mlx5|rdmacm).*fail|no userspace device-specific driver found|couldn't load driver|libibverbs: .*(?:not found|warning)|missing.*(?:libibverbs|rdma-core)|(?:libibverbs|rdma-core).*(?:not installed|missing|absent)"),
    sign("nccl_socket", r"Using network Socket|NET/Socket : Using|via NET/Socket|(?:NCCL|it) (?:was|is|were) using (?:the )?(?:socket|tcp)|(?:fall\w*|fell) ?back to (?:tcp|sockets?|ethernet|NET/Socket)|falls back to.*socket", FACT),
    sign("docker_gpu", r"could not select device driver|unknown runtime specified nvidia|unknown or invalid runtime name: nvidia|nvidia-container-cli: .*(?:error|fail|initialization)|nvidia-container-runtime.*(?:not found|error|fail)|OCI runtime .*nvidia|failed to inject CDI|unresolvable CDI|CDI device injection failed|libnvidia-container|nvidia-container-toolkit.*(?:not|missing|fail)|--gpus.*(?:not|missing)|without --gpus|Insufficient nvidia\.com/gpu|nvidia\.com/gpu.*(?:not|0)"),
    sign("container_down", r"No such container|container \S+ is not running|OCI runtime (?:exec|create) failed|Cannot connect to the Docker daemon|error during connect|cannot exec in a stopped|ImagePullBackOff|ErrImagePull|CrashLoopBackOff|manifest unknown|pull access denied|exec format error"),
    sign("container_perm", r"Operation not permitted|EPERM|seccomp|set_mempolicy|mbind|CAP_\w+|capabilit(?:y|ies)|IPC_LOCK|privileged|not permitted"),
    sign("in_container", r"\bdocker\b|container\w*|\bpods?\b|kubernetes|kubeflow|podman|enroot|pyxis|singularity|apptainer|/workspace\b|containerd|\bcri-o\b|kubelet|docker-compose|compose\b", FACT),
    sign("daemon_reload", r"daemon-reload|systemd\[1\]: Reloading", FACT),
    sign("container_dev_differs", r"only (?:one|some|\d+) of .{0,30}(?:devices|HCAs|NICs)|(?:one|some) (?:container|pod|node|host|rank)s?.{0,60}(?:sees?|has|have|opens?) .{0,30}(?:device|HCA|NIC)s?\b.{0,40}(?:other|two|all)"),
)

RULES = (
    rule("peermem_symbols", "peermem_symbol", CANDIDATE, "peermem_abi peermem_missing", "nvidia-peermem source; nv_peer_memory README"),
    rule("peermem", "peermem_missing !peermem_symbol", CANDIDATE, "peermem_missing peermem_abi", "NVIDIA GPUDirect RDMA documentation"),
    rule("dmabuf", "dmabuf_failed|gpu_reg_mr", CANDIDATE, "gdr_broken kernel_p2pdma peermem_missing", "ibv_reg_dmabuf_mr(3); kernel >= 5.12 and the open driver"),
    rule("ofed", "ofed_mismatch", CANDIDATE, "guest_ofed_mismatch container_libraries", "rdma-core: kernel ABI; kernel: module versions"),
    rule("no_hca", "no_hca_host !ib_lib_missing", CANDIDATE, "container_devices guest_ofed_mismatch vars_wrong", "rdma-core: ibv_get_device_list(3)"),
    rule("p2pdma", "p2pdma_off", CANDIDATE, "kernel_p2pdma", "kernel: lib/Kconfig, drivers/pci/Kconfig"),
    rule("reg_mr", "reg_mr_enomem !memlock_small|cma|pin_failed", CANDIDATE, "container_memlock memlock_host kernel_pinning", "ibv_reg_mr(3): ENOMEM is the limit, or pages that cannot be pinned: read ulimit -l first"),
    rule("reg_mr_limit", "reg_mr_enomem|create_enomem memlock_small !pin_failed !in_container", CANDIDATE, "memlock_host container_memlock", "two facts: ENOMEM, and a small limit"),
    rule("reg_mr_limit_container", "reg_mr_enomem|create_enomem memlock_small in_container !pin_failed", CANDIDATE, "container_memlock memlock_host", "two facts: ENOMEM, and a small limit"),
    rule("limit_alone", "memlock_small !reg_mr_enomem !create_enomem", CANDIDATE, "memlock_host container_memlock", "RDMA locks its buffers: a small limit fails later"),
    rule("pinning", "pin_failed|reg_mr_enomem cma|pin_failed !memlock_small", CANDIDATE, "kernel_pinning", "kernel: pin_user_pages with FOLL_LONGTERM; CMA pages are moved first or fail"),
    rule("pinning_unlimited", "reg_mr_enomem memlock_unlimited", CANDIDATE, "kernel_pinning container_memlock", "the limit is not it: then the pages"),
    rule("create", "create_enomem !memlock_small", CANDIDATE, "container_memlock memlock_host kernel_pinning", "verbs: CQ and QP buffers are locked memory; Docker's default is small"),
    rule("kernel_fault", "kernel_fault !fw_cmd_timeout", CANDIDATE, "kernel_fault guest_ofed_mismatch gpu_fault", "kernel documentation"),
    rule("kernel_said", "kernel_said", CANDIDATE, "kernel_fault kernel_p2pdma", "kernel documentation"),
    rule("shm", "shm_full", CANDIDATE, "container_shm limits_host", "docker run: 64 MB by default; NCCL troubleshooting: shared memory"),
    rule("shm_small", "shm_small shm_full", LIKELY, "container_shm", "two facts: an allocation that fails, and the small /dev/shm"),
    rule("disk", "disk_full !shm_full", CANDIDATE, "limits_host application_failed container_shm", "errno ENOSPC"),
    rule("files", "nofile|nproc", CANDIDATE, "limits_host container_caps", "errno EMFILE, EAGAIN; getrlimit(2)"),
    rule("memory", "oom_host", CANDIDATE, "limits_host app_host_memory container_memory", "kernel: OOM killer"),
    rule("no_interface", "if_missing", CANDIDATE, "vars_wrong wrong_interface", "NCCL documentation, NCCL_SOCKET_IFNAME: no such interface on this host"),
    rule("interface", "if_wrong", CANDIDATE, "wrong_interface vars_wrong firewall", "bridges have the same address on every host"),
    rule("routes", "routes_said|routes_twice", CANDIDATE, "wrong_interface no_path_between_nics", "ip-route(8); kernel ip-sysctl"),
    rule("name", "name_unknown", CANDIDATE, "name_resolution vars_wrong launch_failed", "getaddrinfo(3)"),
    rule("unreachable", "no_route", CANDIDATE, "firewall wrong_interface no_path_between_nics", "EHOSTUNREACH is also what a firewall's reject answers (icmp-host-prohibited)"),
    rule("refused", "connect_refused", CANDIDATE, "launch_failed firewall wrong_interface", "ECONNREFUSED: nothing listens, or a reject with tcp-reset"),
    rule("connect_timeout", "connect_timeout !modify_qp_timeout", CANDIDATE, "firewall wrong_interface launch_failed", "a connect that nobody answers: dropped packets or an address that leads nowhere"),
    rule("filtered", "filtered", CANDIDATE, "firewall wrong_interface", "iptables(8), ufw(8)"),
    rule("foreign", "wrong_magic", LIKELY, "foreign_client", "the number in the message is text of another protocol", explains="other_magic"),
    rule("foreign_other", "other_magic !wrong_magic", CANDIDATE, "foreign_client nccl_mixed wrong_interface", "NCCL source: src/misc/socket.cc"),
    rule("ib_devices", "ib_dev_missing", CANDIDATE, "container_devices guest_ofed_mismatch vars_wrong", "docker run: no devices by default"),
    rule("ib_library", "ib_lib_missing", CANDIDATE, "container_libraries guest_ofed_mismatch", "NCCL opens libibverbs.so.1 at run time"),
    rule("ib_library_socket", "ib_lib_missing nccl_socket", CANDIDATE, "container_libraries", "two facts: no library, and sockets in its place"),
    rule("socket", "nccl_socket slow|no_change !ib_lib_missing", CANDIDATE, "container_devices vars_wrong guest_ofed_mismatch", "two facts: sockets, and less than expected"),
    rule("device_missing_some", "container_dev_differs", CANDIDATE, "container_devices gdr_distance", "nodes compared"),
    rule("docker_gpu", "docker_gpu", CANDIDATE, "container_no_gpu driver_not_running", "NVIDIA container toolkit: troubleshooting"),
    rule("container_down", "container_down", CANDIDATE, "container_down", "docker documentation"),
    rule("rights", "container_perm", CANDIDATE, "container_caps limits_host", "capabilities(7), seccomp(2)"),
    rule("taken", "nvml_unknown daemon_reload", LIKELY, "container_gpu_taken", "two facts: GPUs gone, and systemd reloaded"),
)
