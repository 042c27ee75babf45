"""Logs of failed and of sound jobs, written by us after public facts: name, where the form of the lines is documented,
the layers that are right, whether the lines tell (``YES``, ``CANDIDATES``, ``NO``), pieces. Many hold lines that
mislead. Hosts and addresses are made up. When they were written, before any rule was mended, 36 of 40 were right."""

from __future__ import annotations

from typing import Mapping, NamedTuple

YES, CANDIDATES, NO = "yes", "candidates", "no"
N = "gpu01:4321:4390 [0] NCCL "
ECHO = (
    "gpu03:911:980 [2] NCCL WARN Connection closed by remote peer gpu02<43210>\n"
    "[rank0]: torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error\n"
)
PLUGIN = N + "INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.\n"
OPENIB = (
    "WARNING: No preset parameters were found for the device that Open MPI detected:\n\n  Local host:  gpu01\n"
    "  Device name:  mlx5_0\n\nDefault device parameters will be used, which may result in lower performance.\n"
)
DONE = "total images/sec: 8400.66\n"
BOOT = (
    "[    0.000000] Linux version 6.8.0-45-generic (buildd@lcy02) #45-Ubuntu SMP PREEMPT_DYNAMIC\n"
    "[    0.412345] ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PCI0.GPP0], AE_NOT_FOUND "
    "(20230628/dswload2)\n"
    "[    0.412350] ACPI Error: AE_NOT_FOUND, During name lookup/catalog (20230628/psobject-220)\n"
    "[    1.100000] pcieport 0000:00:01.1: AER: enabled with IRQ 28\n"
    "[    2.200000] platform regulatory.0: Direct firmware load for regulatory.db failed with error -2\n"
    "[    3.300000] mlx5_core 0000:3b:00.0: firmware version: 28.39.1002\n"
    "[    3.400000] mlx5_core 0000:3b:00.0: Port module event: module 0, Cable plugged\n"
    "[    4.000000] nvidia: loading out-of-tree module taints kernel.\n"
)


class Case(NamedTuple):
    name: str
    source: str
    accept: str
    tells: str
    pieces: Mapping[str, str]


def case(name: str, source: str, accept: str, tells: str, text: str = "", **pieces: str) -> Case:
    """``pieces``: names with double underscores for the slashes."""
    placed = {f"{name.replace('__', '/')}.txt": part for name, part in pieces.items()}
    return Case(name, source, accept, tells, {**({"unknown.log": text} if text else {}), **placed})


CASES: tuple[Case, ...] = (
    case(
        "nic over its temperature",
        "kernel drivers/net/ethernet/mellanox/mlx5/core/health.c",
        "nic_firmware",
        YES,
        "kernel: mlx5_core 0000:d8:00.0: print_health_info:487:(pid 0): Health issue observed, High Temperature, "
        "severity(3) ERROR:\n" + ECHO,
    ),
    case(
        "nvlink breaks",
        "NVIDIA XID errors, 74",
        "gpu_hardware",
        YES,
        ECHO + "Feb  1 10:00:00 gpu02 kernel: NVRM: Xid (PCI:0000:07:00): 74, pid='<unknown>', name=<unknown>, NVLink: "
        "fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)\n",
    ),
    case(
        "program was ended",
        "NVIDIA XID errors, 45",
        "application gpu_hardware",
        CANDIDATES,
        "NVRM: Xid (PCI:0000:07:00): 45, pid=2021, name=python3, Ch 00000010\n",
    ),
    case(
        "nvswitch",
        "NVIDIA Fabric Manager user guide, SXid errors",
        "gpu_hardware",
        YES,
        "nvidia-nvswitch3: SXid (PCI:0000:c2:00.0): 20034, Fatal, Link 28 LTSSM Fault Up\n" + ECHO,
    ),
    case(
        "fabric manager stopped",
        "CUDA driver API, error 802; systemd.exec(5)",
        "gpu_driver",
        YES,
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized\n"
        "systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'.\n",
    ),
    case(
        "fabric manager of another version",
        "NVIDIA Fabric Manager user guide",
        "gpu_driver",
        YES,
        "nv-fabricmanager[1622]: fabric manager NVIDIA GPU driver interface version 535.104.12 don't match with driver "
        "version 535.129.03. Please update with matching NVIDIA driver package.\n",
    ),
    case(
        "driver was upgraded under a job",
        "NVIDIA driver README, API mismatch",
        "gpu_driver",
        YES,
        OPENIB + "Failed to initialize NVML: Driver/library version mismatch\n"
        "NVRM: API mismatch: the client has the version 550.90.07, but\nNVRM: this kernel module has the version "
        "550.54.15.\nPrimary job  terminated normally, but 1 process returned a non-zero exit code.\n",
    ),
    case(
        "sonic watchdog",
        "SONiC wiki, PFC watchdog",
        "switch_config nic_qos numa_bios",
        CANDIDATES,
        "NOTICE swss#orchagent: :- startWdActionOnQueue: PFC Watchdog detected PFC storm on port Ethernet24, queue "
        "index "
        "3, queue id 0x15000000000247 and port id 0x1000000000012.\n",
    ),
    case(
        "cable in another port",
        "Cumulus Linux user guide, Prescriptive Topology Manager",
        "cabling",
        YES,
        "port   cbl     exp                act                 sysname    portID    portDescr\n"
        "       status  nbr                nbr\nswp1   pass    gpu01:ens224       gpu01:ens224        gpu01      "
        "ens224\n"
        "swp2   fail    gpu02:ens224       gpu03:ens225        gpu03      ens225\n",
    ),
    case(
        "port was disabled",
        "Cisco NX-OS system messages reference",
        "switch_config",
        YES,
        "2026 Feb  1 10:00:00 leaf01 %ETHPORT-5-IF_DOWN_ERROR_DISABLED: Interface Ethernet1/5 is down (Error disabled. "
        "Reason:BPDUGuard)\n" + ECHO,
    ),
    case(
        "no partner",
        "ethtool(8); mlxlink user manual",
        "cabling switch_config",
        CANDIDATES,
        "Settings for ens224:\n\tSpeed: Unknown!\n\tDuplex: Unknown! (255)\n\tLink detected: no (Autoneg, No partner "
        "detected)\nState                           : Polling\nPhysical state                  : ETH_AN_FSM_ENABLE\n",
    ),
    case(
        "ucx may not lock",
        "UCX source, uct/ib",
        "host_limits container",
        CANDIDATES,
        "[gpu01:812  :0]  ib_iface.c:1092 UCX  ERROR ibv_create_cq(cqe=4096) failed: Cannot allocate memory : Please "
        "set "
        "max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)\n",
    ),
    case(
        "libibverbs warns of the limit",
        "rdma-core libibverbs/init.c",
        "host_limits container",
        CANDIDATES,
        "libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.\n    This will severely limit memory registrations.\n"
        + N
        + "WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n",
    ),
    case(
        "docker without the toolkit",
        "NVIDIA container toolkit, troubleshooting",
        "container",
        YES,
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n',
    ),
    case(
        "image wants a newer driver",
        "nvidia-container-toolkit, NVIDIA_REQUIRE_CUDA",
        "gpu_driver container",
        YES,
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your driver to a "
        "newer "
        "version, or use an earlier cuda container: unknown.\n",
    ),
    case(
        "two ranks on one gpu",
        "NCCL source, src/init.cc",
        "application run_env mpi_launch",
        YES,
        PLUGIN + N + "WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device b1000\n" + ECHO,
    ),
    case(
        "sshd does not listen",
        "OpenSSH; Open MPI help-plm-rsh",
        "mpi_launch firewall host_routing",
        CANDIDATES,
        OPENIB + "ssh: connect to host gpu02 port 2222: Connection refused\n"
        "ORTE was unable to reliably start one or more daemons.\n",
    ),
    case(
        "host key is new",
        "OpenSSH",
        "mpi_launch",
        YES,
        OPENIB + "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.\n"
        "ORTE was unable to reliably start one or more daemons.\n",
    ),
    case(
        "not enough slots",
        "Open MPI help-rmaps-base",
        "mpi_launch",
        YES,
        "There are not enough slots available in the system to satisfy the 16\nslots that were requested by the "
        "application:\n",
    ),
    case(
        "device is not passed through",
        "VMware documentation, DirectPath I/O",
        "vm_passthrough",
        YES,
        "Module 'DevicePowerOn' power on failed. Could not power on virtual machine gpu01.\n"
        "Device 59:0.0 is not a passthrough device.\nFailed to start the virtual machine.\n",
    ),
    case(
        "memory of the vm",
        "VMware documentation, DirectPath I/O requirements",
        "vm_memory",
        YES,
        "Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize(786432).\n"
        "Module 'DevicePowerOn' power on failed.\n",
    ),
    case(
        "soft lockup",
        "kernel documentation, lockup watchdogs",
        "guest_kernel",
        CANDIDATES,
        ECHO + "Feb  1 10:00:00 gpu02 kernel: watchdog: BUG: soft lockup - CPU#17 stuck for 23s! [python3:4021]\n",
    ),
    case(
        "file server",
        "nfs(5); kernel hung task detector",
        "application guest_kernel",
        CANDIDATES,
        "gpu01 kernel: nfs: server nas01 not responding, still trying\ngpu01 kernel: INFO: task python3:4123 blocked "
        "for "
        "more than 120 seconds.\n[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=31)\n",
    ),
    case(
        "packets on the other interface",
        "kernel ip-sysctl, log_martians",
        "host_routing",
        YES,
        "kernel: IPv4: martian source 192.0.2.12 from 192.0.2.11, on dev ens225\n" + ECHO,
    ),
    case(
        "connection table full",
        "kernel nf_conntrack-sysctl",
        "firewall",
        YES,
        "kernel: nf_conntrack: nf_conntrack: table full, dropping packet\n" + ECHO,
    ),
    case(
        "reject that looks like a route",
        "iptables-extensions(8), REJECT",
        "firewall host_routing",
        CANDIDATES,
        "connect to 192.0.2.12 port 29500: No route to host\n2 packets transmitted, 2 received, 0% packet loss, time "
        "1001ms\n",
    ),
    case(
        "link-local gids in a timeout",
        "NCCL source, src/misc/ibvwrap.cc; RFC 4291",
        "rdma_gid fabric_routing",
        CANDIDATES,
        N + "WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, next "
        "state RTR, local GID index 0, local GID fe80::250:56ff:fe00:1, remote GID fe80::250:56ff:fe00:2\n",
    ),
    case(
        "nobody acknowledges",
        "rdma-core ibv_poll_cq(3)",
        "rdma_gid fabric_routing nic_qos cabling nic_mtu switch_config",
        CANDIDATES,
        PLUGIN + N + "WARN NET/IB: Got completion from peer 192.0.2.12<48122> with status=12 opcode=0 len=0 vendor err "
        "129 (Send) localGid ::ffff:192.0.2.11 remoteGids::ffff:192.0.2.12 hca mlx5_0\n",
    ),
    case(
        "iommu refuses the nic",
        "kernel AMD IOMMU driver; NCCL documentation, PCI Access Control Services",
        "pcie_acs",
        CANDIDATES,
        "kernel: mlx5_core 0000:c1:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x001b address=0x3ffe0000000 "
        "flags=0x0020]\n" + N + "WARN NET/IB: Got completion from peer 192.0.2.12<48122> with status=4 opcode=0 len=0 "
        "vendor err 81 (Send)\n",
    ),
    case(
        "ssh client at nccl's port",
        "NCCL source, src/misc/socket.cc; RFC 4253 4.2",
        "foreign_traffic",
        YES,
        N + "WARN socketFinalizeAccept: wrong magic 2d302e322d485353 != 7970663b906d70b9\n",
    ),
    case(
        "data loader without shared memory",
        "PyTorch documentation, torch.utils.data",
        "container host_limits",
        YES,
        "RuntimeError: DataLoader worker (pid 345) is killed by signal: Bus error. It is possible that dataloader's "
        "workers "
        "are out of shared memory. Please try to raise your shared memory limit.\n",
    ),
    case(
        "pod without memory",
        "Kubernetes documentation, resource management",
        "container application",
        YES,
        "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n" + ECHO,
    ),
    case(
        "a program's fault among echoes",
        "PyTorch documentation, torch.distributed",
        "application",
        YES,
        "".join(
            f"[rank{rank}]: [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)\n"
            for rank in range(7)
        )
        + "[rank7]: Traceback (most recent call last):\n[rank7]: IndexError: list index out of range\n",
    ),
    case(
        "bridge of docker",
        "NCCL documentation, NCCL_SOCKET_IFNAME",
        "host_routing",
        YES,
        PLUGIN + N + "INFO Bootstrap : Using docker0:172.17.0.1<0>\n" + N + "WARN socketStartConnect: Connect to "
        "172.17.0.1<43121> failed : Connection refused\n",
    ),
    case(
        "only echoes",
        "PyTorch documentation, torch.distributed",
        "",
        NO,
        "[rank0]: [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE)\n"
        "[rank1]: [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE)\n" + ECHO,
    ),
    case(
        "stops after the bootstrap",
        "NCCL documentation, logging",
        "",
        NO,
        PLUGIN + N + "INFO Bootstrap : Using ens192:192.0.2.11<0>\n" + N + "INFO cudaDriverVersion 12040\n",
    ),
    case("noise of a boot", "kernel log of any server", "healthy", YES, hosts__gpu01__dmesg=BOOT, job__train=DONE),
    case(
        "a policy that names an xid",
        "NVIDIA DCGM user guide, policy",
        "healthy",
        YES,
        "dcgm policy: watching Xid 48, 63, 79 and thermal limits: no violations\n" + DONE,
    ),
    case(
        "pauses of a lossless network",
        "IEEE 802.1Qbb; NVIDIA mlx5 ethtool counters",
        "healthy",
        YES,
        "NIC statistics:\n     rx_prio3_pause: 1520\n     tx_prio3_pause: 88\n     rx_prio3_discards: 0\n"
        "     rx_discards_phy: 0\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 46.1\n",
    ),
    case(
        "a run that ends as it should",
        "Open MPI FAQ; PyTorch ProcessGroupNCCL; NCCL logging",
        "healthy",
        YES,
        OPENIB + PLUGIN + N + "INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 3000 - Init COMPLETE\n"
        "[rank0]:[W201 10:00:00.1 ProcessGroupNCCL.cpp:1538] Warning: WARNING: destroy_process_group() was not called "
        "before program exit, which can leak resources.\n" + DONE,
    ),
)
