# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is normal: lines that look like trouble and are none, and lines that only a working system prints. Pure data."""

from __future__ import annotations

from ..model import GOOD, NORMAL, Sign, sign


def normal(name: str, pattern: str) -> Sign:
    return sign(name, pattern, NORMAL)


def good(name: str, pattern: str) -> Sign:
    return sign(name, pattern, GOOD)


SIGNS = (
    # NCCL tries plugins and falls back to its own network; says so itself (nccl#1292, #259). One that is there and
    # cannot be loaded is none of these.
    normal(
        "no_plugin",
        r"^(?!.*(?:undefined symbol|not found \(required by|wrong ELF class|file too short)).*?"
        r"(?:NET/Plugin ?:? ?(?:No plugin found|Could not find|Plugin load returned|dlerror="
        r"|Failed to find ncclNetPlugin|Using internal|Loaded net plugin|Plugin name set"
        r"|Successfully loaded)|(?:NET|TUNER|PROFILER|COLLNET|ENV"
        r"|GIN)/Plugin\b.*(?:could not find|no plugin|failed to find|not found|cannot open"
        r"|Using internal|dlerror)|Failed to find nccl(?:Net|CollNet|Tuner|Profiler|Gin"
        r"|Rma)Plugin\w*|libnccl-(?:net|tuner|profiler|env|gin|rma)\S*\.so.*(?:cannot open"
        r"|not found|could not|No such)|dlerror=libnccl-\S+"
        r"|symbols? v\d+ and lower are not supported|No (?:plugin|tuner|profiler) found"
        r"|nccl(?:Net|CollNet|Tuner|Profiler)(?:Plugin)?_v\d+ .*not)",
    ),
    good(
        "nccl_info",
        r"NCCL INFO (?:Using network|NET/IB : Using|NET/Socket : Using"
        r"|Using non-device net plugin|DMA-BUF is available|Connected (?:all|NVLS|binomial)"
        r"|Bootstrap : Using|cudaDriverVersion|NCCL_\w+ set by environment|Setting affinity"
        r"|Channel|Ring \d|Trees|comm 0x|threadThresholds|\d+ coll channels|P2P Chunksize"
        r"|Check P2P Type|MNNVL busId|NVLS (?:multicast support|comm)|ncclCommInit\w+"
        r"|Init timings|Assigned NET plugin|Initialized NET plugin|TUNER/Plugin|Comm config"
        r"|CC Off|Latency|NET/IB : Made virtual|NET/IB: \[|RAS client|\[Proxy|\[Service thread"
        r"|New proxy|Allocated|Using \d+ threads|GPU Direct RDMA Enabled|Enabled NVLS"
        r"|isAllDirectP2p|ROCEMESH)|Init COMPLETE|Connected all (?:rings|trees)"
        r"|Using network \S+|GPU Direct RDMA Enabled",
    ),
    good("nccl_destroy", r"NCCL INFO .*(?:Destroy COMPLETE|Abort COMPLETE|Finalize)|ncclCommDestroy"),
    normal(
        "nccl_soft",
        r"NCCL WARN (?:NUMA auto balancing enabled|Missing \"iommu=pt\"|MSCCL"
        r"|\[Rank \d+\] .*not set.*fallback)|Linux kernel \S+ .*(?:NUMA"
        r"|iommu)|NCCL INFO .*(?:P2P is disabled between|not supported, using|is not supported"
        r"|Could not enable P2P|Cuda failure 'peer access is not supported|CUMEM|cuMem\w* support"
        r"|NVLS (?:multicast support is not available|support is disabled)|NVLS disabled"
        r"|MNNVL 0|failed to (?:get|read|open).*(?:PCI|sys|numa)"
        r"|Kernel version|topo.*pattern)",
    ),
    normal(
        "good_words",
        r"(?:User|Future)Warning: (?!.*(?:CUDA|NVML|NVIDIA|driver|NCCL))|slow (?:image processor|tokenizer)"
        r"|errno: 97\b|Call to connect returned .{0,60}retrying"
        r"|^\s*Capabilities: \[|entered disabled state|^\|[\s|]*(?:Disabled|N/A)\s*\|\s*$"
        r"|systemd\[\d+\]: Stopp(?:ed|ing) (?!.*(?:nvidia|fabric|mlx|openib|opensm|docker|containerd|sshd))"
        r"|^\s+(?:Display|Persistence|Accounting|MIG|Current|Pending)\b[\w ]*\s{4,}: Disabled$"
        r"|^\s*(?:Lnk(?:Cap|Ctl)2?|Dev(?:Cap|Ctl)2?|Control|Kernel modules|Interrupt):\s"
        r"|Expansion ROM at .*\[disabled\]|#wrong(?!\s+[1-9])|Remapping Failure Occurred\s*: No\b"
        r"|Maintenance Mode: Disabled|WARNING: No swap limit",
    ),
    # Said at every end of a communicator, at every start of a VM with passthrough, in every table of a GPU's memory.
    normal(
        "routine",
        r"comm 0x\w+ rank \d+ .*(?:Abort|Destroy) COMPLETE|Failed to get cpu affinity: libnuma"
        r"|PCIPassthru: (?:successfully created the IOMMU|Device \S+ barIndex)|^\s*Correctable Error\s*:\s*\d+\s*$"
        r"|SW Power Cap\s*: (?:Active|Not Active)",
    ),
    # Keys of a VM that are as they should be.
    normal(
        "vmx_keys",
        r"^\s*(?:pciPassthru\d*\.(?:use64bitMMIO|allowP2P|RelaxACSforP2P)\s*=\s*\"?TRUE"
        r"|pciPassthru\d*\.64bitMMIOSizeGB\s*=\s*\"?\d{2,}|numa\.nodeAffinity\s*=\s*\"?\d"
        r"|sched\.mem\.pin\s*=\s*\"?TRUE)",
    ),
    # lspci -vv names every bit, the ones that are not set with a minus; a mask is no error.
    normal(
        "lspci_words",
        r"EmergencyPowerReduction|CrosslinkRes:|^\s*CESta:\s+RxErr- BadTLP- BadDLLP- Rollover- Timeout-"
        r"|^\s*(?:CEMsk|AERCap):",
    ),
    # nccl-tests: values that are right.
    good(
        "nccl_tests_ok",
        r"Out of bounds values\s*:\s*0\s+OK|#\s+size\s+count\s+type"
        r"|#\s+Using devices|#\s+Rank\s+\d+ (?:Group|Pid)|Collective test (?:starting|concluded)"
        r"|# nThread \d+|#\s+\(B\)\s+\(elements\)|out-of-place\s+in-place"
        r"|^\s*\d+\s+\d+\s+(?:float|half|double|int\d+|bfloat16|uint\d+)\s+\w+\s+-?\d+\s.*\b(?:0"
        r"|0e\+00|N/A)\s*$|nccl-tests version|time\s+algbw\s+busbw",
    ),
    # Open MPI 4 without openib parameters, CUDA or fork support: a run survives them (Open MPI FAQ).
    normal(
        "openib_notice",
        r"No OpenFabrics connection schemes reported"
        r"|There was an error initializing an OpenFabrics device"
        r"|OpenFabrics device in an MPI process|no device params found"
        r"|device parameters? .*not (?:been )?(?:found|configured)|btl_openib_(?:allow_ib|warn)"
        r"|openib BTL|unable to find any relevant network interfaces"
        r"|Another transport will be used|^lower performance\.?\s*$"
        r"|WARNING: No preset parameters were found|default device parameters will be used"
        r"|CPCs attempted|Local port:\s+\d+|Local device:\s+\S+|Local adapter:"
        r"|help message help-(?:mpi-btl-openib|mpi-btl-base|mpi-common-cuda|btl-vader)|orte_base_help_aggregate"
        r"|prte_base_help_aggregate|mca_base_component_show_load_errors"
        r"|A process has executed an operation involving a call to the .?fork|Module: OpenFabrics"
        r"|By default, for Open MPI 4\.0 and later|The UCX pml|UCX PML is recommended"
        r"|Open MPI (?:tried to|has detected).*(?:CUDA|libcuda)|mpi_cuda_support"
        r"|If you (?:are not interested|do not need).*CUDA"
        r"|vader (?:single copy|BTL)|btl_vader_single_copy|CMA support is not available"
        r"|Linux kernel CMA support was requested|knem|xpmem|XPMEM|Read -1, expected \d+, errno = 1\b",
    ),
    normal(
        "openmpi_notice",
        r"hwloc has encountered|PMIX_MCA_gds|gds/(?:ds21|hash|shmem)|psec: (?:munge|none)"
        r"|PMIX ERROR: (?:ERROR in file|PMIX_ERR_NOT_FOUND).*(?:gds|psec)"
        r"|WARNING: Open MPI accepted|Authorization required, but no authorization protocol"
        r"|X11 forwarding request failed|Warning: Permanently added"
        r"|Pseudo-terminal will not be allocated|setlocale: LC_\w+: cannot change locale"
        r"|tput: No value|bash: warning: setlocale",
    ),
    # Kernel: out-of-tree and unsigned modules taint it; that is a note.
    normal(
        "taint",
        r"loading out-of-tree module taints kernel|module license '.*' taints kernel"
        r"|module verification failed: signature and/or required key missing - tainting kernel"
        r"|Disabling lock debugging due to kernel taint|NVRM: loading NVIDIA UNIX"
        r"|nvidia-nvlink: Nvlink Core is being initialized|\[drm\] \[nvidia-drm\]"
        r"|Initialized nvidia-drm|nvidia-modeset: Loading|nvidia-uvm: Loaded|enabling device \("
        r"|nvidia: loading|nvidia \S+: vgaarb",
    ),
    normal(
        "mlx5_ok",
        r"mlx5_core \S+(?: \S+)?: (?:firmware version"
        r"|Port module event: module \d+, Cable plugged|MLX5E: StrdRq|E-Switch:|Rate limit:"
        r"|mlx5_fw_tracer_start|Supported tc|\d+\.\d+ Gb/s available PCIe bandwidth \(|Link up"
        r"|renamed from|is_dpu|PCIe slot advertised sufficient|Flow counters|mlx5e: )"
        r"|mlx5_core.*(?:Link up|Link is up|Cable plugged|PCIe slot advertised sufficient power)"
        r"|mlx5_ib: Mellanox Connect|Compat-mlnx-ofed|compat: module|mlx_compat:"
        r"|backport generated|(?:ib|rdma)\S* (?:driver|module) loaded",
    ),
    good(
        "kernel_ok",
        r"IPv6: ADDRCONF\(NETDEV_(?:CHANGE|UP)\)|link becomes ready|entered (?:promiscuous"
        r"|blocking|forwarding|disabled|learning) (?:mode|state)|br-\w+: port|docker0: port"
        r"|veth\w+: (?:renamed|entered)|(?:eth|ens|enp)\S*: renamed from|audit: type="
        r"|systemd\[\d+\]: (?:Started|Starting|Reached|Finished|Listening|Created|Mounted|Stopped"
        r"|Stopping|Removed)|perf: interrupt took too long|EXT4-fs .*mounted|XFS .*Mounting"
        r"|random: crng|ACPI: \w+ 0x|microcode: |PM-Timer|clocksource|pci_bus|pnp |Command line:"
        r"|BIOS-(?:e820|provided)|DMI:|Hypervisor detected|tsc:|usbcore|Linux version|smpboot",
    ),
    good("iommu_pt", r"iommu: Default domain type: Passthrough|iommu=pt"),
    # Programs that warn and go on.
    good(
        "torch_warning",
        r"UserWarning|FutureWarning|DeprecationWarning|ResourceWarning|warnings\.warn"
        r"|WARNING:tensorflow:|WARNING:root:|TORCH_NCCL_\w+|ProcessGroupNCCL (?:initialization"
        r"|created|environments)|lr_scheduler|tensorboard|wandb|protobuf|pydantic|torchvision\.io"
        r"|apex is not installed|flash_attn is not installed",
    ),
    normal(
        "torch_notice",
        r"OMP_NUM_THREADS (?:environment variable|to be 1)|Setting OMP_NUM_THREADS"
        r"|Environment variable NCCL_\w+ is deprecated|destroy_process_group\(\) was not called"
        r"|using GPU \d+ (?:as device )?(?:to perform barrier|used by this process)"
        r"|device (?:used by this process )?is currently unknown|Guessing device ID"
        r"|Reducer buckets have been rebuilt"
        r"|find_unused_parameters=True was specified.*did not find|Grad strides do not match"
        r"|NNPACK|Could not initialize NNPACK|Unable to register cu\w+ factory"
        r"|cuda drivers on your machine, GPU will not be used|TF-TRT Warning"
        r"|This TensorFlow binary is optimized|oneDNN custom operations"
        r"|Skipping registering GPU devices|computation placer already registered"
        r"|successful NUMA node read from SysFS had negative value|Not a TTY"
        r"|hostname of the client socket cannot be retrieved"
        r"|IPv6 network addresses of \(.*cannot be retrieved|Failed to load image Python extension",
    ),
    normal("smi_not_active", r"(?:Slowdown|Brake|Cap|Boost|Setting|Limit|Violation)\s*: Not Active"),
    normal(
        "ngc_banner",
        r"NOTE: The SHMEM allocation limit|insufficient for (?:PyTorch|TensorFlow|MXNet)"
        r"|NOTE: MOFED driver",
    ),
    good(
        "smi_ok",
        r"NVIDIA-SMI \d{3}\.\d+|No running processes found|Volatile Uncorr\. ECC"
        r"|\bPersistence-M\b|\bDisp\.A\b|MIG M\.|^\|.*(?:\d+W / \d+W|MiB / *\d+MiB)"
        r"|Clocks Event Reasons|(?:SW|HW)? ?\w*(?: \w+)* ?(?:Slowdown|Brake|Cap|Boost"
        r"|Clocks)\s*: Not Active|Idle\s*: Active|Applications Clocks Setting\s*: |: Not Active$"
        r"|Uncorrectable\s*:\s*0$|(?:Pending|Remapping Failure Occurred|Pending Page Blacklist"
        r"|Retired|Blacklist)\s*: No|(?:Correctable|Uncorrectable) Error\s*: 0|(?:Volatile"
        r"|Aggregate|SRAM|DRAM)\b.*:\s*0$|State\s*: Completed|Status\s*: Success|GPU-[0-9a-f]{8}\b"
        r"|^\s*GPU\d?\s+.*\b(?:NV\d+|PIX|PXB)\b",
    ),
    good(
        "fm_ok",
        r"(?:Successfully configured all the available|fabric manager .*(?:started|successfully)"
        r"|Started NVIDIA fabric manager|nvidia-fabricmanager.*(?:active \(running\)|Started))"
        r"|Connected to \d+ node",
    ),
    good(
        "ibv_ok",
        r"^link \S+ state ACTIVE physical_state LINK_UP|PORT_ACTIVE \(4\)|phys_state:\s+LINK_UP"
        r"|state:\s+(?:4: )?ACTIVE|Physical state: LinkUp|Status Opcode\s*: 0\b|No issue (?:was )?observed"
        r"|State: Active|max_mtu:\s+4096|active_mtu:\s+4096|link_layer:\s+Ethernet|hca_id:"
        r"|transport:\s+InfiniBand|fw_ver:|port_lid:\s+0|sm_lid:\s+0|DEV\s+PORT\s+INDEX\s+GID"
        r"|n_gids_found|phys_port_cnt",
    ),
    good(
        "qos_ok",
        r"Priority trust state: dscp|^\s*enabled\s+0\s+0\s+0\s+1\s+0\s+0\s+0\s+0"
        r"|PFC configuration|DCBX mode: (?:OS|FW) controlled|dscp2prio mapping|default priority:"
        r"|Receive buffer size|Cable len|^\s*prio:\d dscp|tc: \d ratelimit|Supported (?:FEC|ports"
        r"|link modes)|Speed: (?:[124]00|25|50|40|10)\d*000Mb/s|Link detected: yes|Duplex: Full"
        r"|Auto-negotiation:|Port: (?:Direct|FIBRE|DA)|Advertised|RX-FCS|^(?:Settings"
        r"|Pause parameters|NIC statistics|Ring parameters|Features) for|^NIC statistics:",
    ),
    normal(
        "counters_zero",
        r"^\s*(?:[rt]x_\w*(?:err|drop|discard|pause|symbol|crc|fcs|oversize|undersize|jabber"
        r"|timeout|out_of_buffer|missed)\w*|\w*(?:err|_err|exceeded|out_of_sequence"
        r"|duplicate_request|timeout|discards?|link_downed|cnp\w*)\w*)\s*[:=]?\s*0$",
    ),
    # A bridge that nobody is plugged into has no carrier, and is none of a job's links.
    normal(
        "idle_bridge",
        r"^\d+: (?:docker\d|br-\w+|virbr\d|cni\d|lxdbr\d|podman\d)\S*: <[^>]*NO-CARRIER"
        r"|^\s*inet6? \S+ .*\bscope \w+ (?:docker\d|br-\w+|virbr\d|cni\d|lxdbr\d|podman\d)\b",
    ),
    # Rules that the engines of containers and VMs make for their own bridges.
    normal("bridge_rules", r"^-[AN] (?:DOCKER|KUBE|CNI|LIBVIRT|cali)\S*"),
    # kernel/cgroup: told once, when the first cgroup of version 1 is paused.
    normal("cgroup_freezer", r"Freezing with imperfect legacy cgroup freezer"),
    normal("ip_heads", r"^\s*[RT]X:\s+bytes\s+packets\s+errors\s+dropped\b"),
    good(
        "ip_ok",
        r"<(?:\w+,)*UP,LOWER_UP>|^MII Status: up|^default via|proto kernel scope link src|link/ether|inet6? "
        r"|valid_lft forever|scope (?:global|link|host)|qdisc|REACHABLE$"
        r"|bytes from .*icmp_seq=.*ttl=|[1-9]\d* packets transmitted, \d+ received, 0% packet loss",
    ),
    good(
        "limits_ok",
        r"max locked memory\b.*unlimited|ulimit -l:? unlimited|open files .*\b(?:1048576|65536"
        r"|524288|1024)|^unlimited$|^(?:core file size|data seg size|scheduling priority"
        r"|file size|pending signals|max memory size|pipe size|POSIX message queues"
        r"|real-time priority|stack size|cpu time|max user processes|virtual memory|file locks)\b"
        r"|tmpfs\s+\d+G\s+.*\s+\d+%\s+/dev/shm|^Filesystem\s+(?:Size|1K-blocks)"
        r"|^overlay\s+\S+\s+\S+\s+\S+\s+\d{1,2}%|^/dev/\S+\s+\S+\s+\S+\s+\S+\s+(?:\d|[1-8]\d)%"
        r"|^tmpfs\s",
    ),
    good(
        "pcie_ok",
        r"LnkSta:\s+Speed (?:8|16|32|64)(?:\.0)?GT/s(?: \(ok\))?,? Width x(?:16|8)(?: \(ok\))?"
        r"|Kernel driver in use: (?:nvidia|mlx5_core|vfio-pci)|Kernel modules:|Subsystem:"
        r"|Control: I/O|Status: Cap\+|Capabilities: \[|DevCap:|DevCtl:|DevSta:|LnkCap:|LnkCtl"
        r"|UESta:|UEMsk:|CESta:|CEMsk:|UESvrt|AERCap|ACSCap|ATSCap|ATSSta|\b(?:3D controller"
        r"|Infiniband controller|Ethernet controller|PCI bridge|VGA compatible)",
    ),
    good(
        "switch_ok",
        r"Operational state\s*:\s*Up|Admin state\s*:\s*Enabled|(?:RoCE|PFC"
        r"|ECN) ?\w*\s*:\s*(?:enabled|Enabled|on|lossless)|\bPFC (?:admin"
        r"|oper)\w*\s*:?\s*(?:enabled|on)|MTU\s*:\s*9(?:000|216)|^(?:Eth\d|swp\d)\S*\s+(?:Up"
        r"|up)\b|(?:drops?|discards?|errors?)\s*:?\s*0$|trust (?:mode|state)?\s*:?\s*(?:L3|both"
        r"|dscp)|nv show|LLDP neighbor|roce .*lossless",
    ),
    good(
        "docker_ok",
        r"Up \d+ (?:hours?|minutes?|days?|seconds?|weeks?)|\(healthy\)|Runtimes: .*nvidia"
        r"|Default Runtime: nvidia|WARNING: No (?:swap|blkio|kernel memory|cpu cfs|cpuset) \w*"
        r"|Status: (?:Downloaded|Image is up to date)|Pull complete"
        r"|The NVIDIA Driver was detected|NOTE: (?:The SHMEM|MOFED|Mellanox)"
        r"|SHMEM allocation limit is set|NVIDIA Release|Container image Copyright|GOVERNING TERMS"
        r"|== .* ==|Detected Mellanox network driver|Using CUDA \d+",
    ),
    good(
        "esxi_ok",
        r"atsSupport\s+Bool\s+TRUE\s+TRUE|vmx\|.*(?:PCIPassthru: (?:Successfully"
        r"|Device .* (?:assigned|registered))|Transitioned vmx/execState/val to poweredOn"
        r"|Powering (?:on|off)|Tools: )|Maintenance Mode: (?:disabled|Disabled)"
        r"|Overall status: green|Power Policy: .*High ?performance",
    ),
    good(
        "training_ok",
        r"total images/sec: ?\d|images/sec: \d|\bloss['\"]?[=: ]+\d|\bepoch ?[:=\[/]+ ?\d|\bstep ?[:=\[/]+ ?\d"
        r"|\bit/s\b|samples/s\b|sec/step\b|steps?/s\b|sec, \d+\.\d+ GB/sec per gpu, error 0\.0+$|tokens/s\b"
        r"|throughput[^a-z]{0,5}\d|ROCEMESH |Running warm up|Done warm up|img/sec"
        r"|Finished training|Training (?:complete\w*|finished|done)|Saving (?:checkpoint|model)"
        r"|checkpoint saved|val_acc\w*",
    ),
    good(
        "slurm_ok",
        r"srun: (?:job \d+ (?:queued|has been allocated)|jobid \d+)|salloc: (?:Granted|Nodes)"
        r"|sbatch: Submitted|slurmstepd: .*(?:task_p_\w+|launch)|COMPLETED",
    ),
    good(
        "perftest_ok",
        r"#bytes\s+#iterations|BW peak|RDMA_Write BW Test|Send BW Test|local address: LID"
        r"|remote address: LID|Link type\s*:\s*Ethernet|^\s*GID index\s*:\s*\d+|Mtu\s*:\s*4096"
        r"|Conflicting CPU frequency|CPU Frequency is not max|TX depth|Data ex\. method"
        r"|rdma_cm QPs|Max inline data",
    ),
    good(
        "ssh_ok",
        r"Accepted publickey for|session (?:opened|closed) for user|Server listening on"
        r"|pam_unix\(sshd:session\)|Received disconnect from .*: 11: disconnected by user"
        r"|Disconnected from user|New session \d+ of user",
    ),
    good(
        "gdr_ok",
        r"successfully loaded nvidia-peermem|via NET/IB/\d+(?:\(\d+\))?(?:/\d+)?/GDRDMA|\[(?:receive|send)\] via NET/IB"
        r"|via P2P/(?:IPC|CUMEM|direct)|via SHM",
    ),
    normal(
        "ucx_notice",
        r"UCX +(?:INFO|DIAG)|ucp_context\.c.*UCP version|ucs_(?:debug|sys|topo|vfs)"
        # parser.c, ib_md.c, mpool.c, memtype_cache.c: settings nobody reads, fork, what is left at the end.
        r"|UCX +WARN +(?:unused environment|\S+ variable|.*(?:ibv_fork_init|was not returned to mpool|deprecated"
        r"|was not matched|not released|leak))",
    ),
)
