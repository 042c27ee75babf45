"""The outputs of a right site, SIMULATED: piece of a bundle -> text, as ``collect`` lays them out."""

from __future__ import annotations

from collections.abc import Iterable

HOSTS = ("gpu01", "gpu02", "gpu03", "gpu04")
ESXI = {"gpu01": "esx01", "gpu02": "esx01", "gpu03": "esx02", "gpu04": "esx02"}
SWITCH = "leaf01"

# {n} is the host's number, {host} its name.
_HOST = {
    "dmesg": """\
[    0.000000] Linux version 5.15.0-119-generic (buildd@lcy02) #129-Ubuntu SMP
[    0.000000] DMI: VMware, Inc. VMware20,1/440BX Desktop Reference Platform
[    0.000000] Hypervisor detected: VMware
[    0.412001] iommu: Default domain type: Passthrough (set via kernel command line)
[    3.910211] mlx5_core 0000:13:00.0: firmware version: 22.36.1010
[    3.910300] mlx5_core 0000:13:00.0: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)
[    4.310002] mlx5_core 0000:13:00.0: Port module event: module 0, Cable plugged
[    4.900112] mlx5_core 0000:13:00.0 ens224: Link up
[    4.910112] IPv6: ADDRCONF(NETDEV_CHANGE): ens224: link becomes ready
[    6.100001] nvidia: loading out-of-tree module taints kernel.
[    6.200311] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024
""",
    "nvidia-smi": """\
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
| N/A   33C    P0             68W / 400W |      0MiB / 81920MiB |      0%      Default |
|  No running processes found                                                             |
""",
    "nvidia-smi-q": """\
    Clocks Event Reasons
        Idle                              : Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 0
        Pending                           : No
        Remapping Failure Occurred        : No
    Fabric
        State                             : Completed
        Status                            : Success
""",
    "ibv_devinfo": """\
hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t22.36.1010
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t4096 (5)
\t\t\tlink_layer:\t\tEthernet
""",
    "show_gids": """\
DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV
mlx5_0\t1\t0\tfe80:0000:0000:0000:0250:56ff:fe00:000{n}\t\t\tv1\tens224
mlx5_0\t1\t1\tfe80:0000:0000:0000:0250:56ff:fe00:000{n}\t\t\tv2\tens224
mlx5_0\t1\t2\t0000:0000:0000:0000:0000:ffff:c000:021{n}\t192.0.2.1{n}  \tv1\tens224
mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:c000:021{n}\t192.0.2.1{n}  \tv2\tens224
n_gids_found=4
""",
    "mlnx_qos": """\
DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:0 dscp:07,06,05,04,03,02,01,00,
\tprio:3 dscp:31,30,29,28,27,26,25,24,
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   0
""",
    "ethtool": """\
Settings for ens224:
\tSpeed: 100000Mb/s
\tDuplex: Full
\tAuto-negotiation: on
\tLink detected: yes
""",
    "ethtool-S": """\
NIC statistics:
     rx_packets: 81233{n}
     rx_discards_phy: 0
     rx_crc_errors_phy: 0
     rx_symbol_err_phy: 0
     link_down_events_phy: 0
     rx_prio0_bytes: 1021{n}
     rx_prio3_bytes: 9912121{n}81
     rx_prio3_discards: 0
     tx_prio3_pause: 0
     tx_prio3_pause_duration: 0
     rx_prio3_pause: 0
""",
    "hw_counters": """\
out_of_sequence: 0
packet_seq_err: 0
local_ack_timeout_err: 0
rnr_nak_retry_err: 0
np_ecn_marked_roce_packets: 0
""",
    "ip-link": """\
3: ens224: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000
    link/ether 00:50:56:00:00:0{n} brd ff:ff:ff:ff:ff:ff
""",
    "ip-route": """\
default via 198.51.100.1 dev ens192 proto static metric 100
192.0.2.0/24 dev ens224 proto kernel scope link src 192.0.2.1{n}
198.51.100.0/24 dev ens192 proto kernel scope link src 198.51.100.1{n}
""",
    "ip-neigh": """\
192.0.2.250 dev ens224 lladdr 00:50:56:00:00:fa REACHABLE
""",
    "getent": """\
getent: 192.0.2.1{n} {host}
""",
    "ulimit": """\
ulimit -l: unlimited
open files                          (-n) 1048576
""",
    "df": """\
Filesystem      Size  Used Avail Use% Mounted on
/dev/sda2       400G  120G  280G  31% /
tmpfs           252G  1.1M  252G   1% /dev/shm
""",
    "lspci": """\
13:00.0 Ethernet controller: Mellanox Technologies MT28908 Family [ConnectX-6]
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)
\t\tATSCtl:\tEnable+, Smallest Translation Unit: 00
\tKernel driver in use: mlx5_core
0b:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 80GB] (rev a1)
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)
\tKernel driver in use: nvidia
""",
    "mlxconfig": """\
Device #1:
Configurations:                              Default         Current         Next Boot
         ATS_ENABLED                         False(0)        True(1)         True(1)
         LINK_TYPE_P1                        ETH(2)          ETH(2)          ETH(2)
""",
    "lsmod": """\
nvidia_peermem         16384  0
ib_core               491520  9 rdma_cm,nvidia_peermem,mlx5_ib
mlx5_core            1544192  1 mlx5_ib
""",
    "fabricmanager": """\
nv-fabricmanager[1500]: Successfully configured all the available GPUs and NVSwitches to route NVLink traffic.
""",
    "cpupower": "     64 acpi-cpufreq: governor performance\n",
    "kernel-config": "GPUDirect: P2PDMA y, nvidia_peermem y\n",
    "firewall": """\
-P INPUT ACCEPT
-P OUTPUT ACCEPT
""",
    "meminfo": """\
MemTotal:       528280576 kB
MemAvailable:   520011000 kB
""",
}
_CONTAINER = {
    "ulimit": "ulimit -l: unlimited\n",
    "df": "Filesystem      Size  Used Avail Use% Mounted on\ntmpfs           252G  1.1M  252G   1% /dev/shm\n",
    "devices": "/dev/infiniband/rdma_cm\n/dev/infiniband/uverbs0\n",
    "nvidia-smi": _HOST["nvidia-smi"],
    "env": "NCCL_IB_TC=106\nNCCL_DEBUG=INFO\n",
    "version": "NCCL version 2.21.5+cuda12.4\n",
    "docker": 'mpi   "/usr/sbin/sshd -D"   2 days ago   Up 2 days (healthy)\n',
}
_SWITCH = {
    "roce": """\
RoCE mode           : lossless
PFC admin mode      : on
trust mode          : L3
ECN mode            : on
""",
    "vlan": "VLAN    Name       Ports\n100     roce       Eth1/1, Eth1/2, Eth1/3, Eth1/4\n",
    "log": "LLDP neighbor of every port is there\n",
}
_PORT = """\
Eth1/{n}:
  Admin state                      : Enabled
  Operational state                : Up
  MTU                              : 9216 bytes(Maximum packet size 9238 bytes)
"""
_COUNTERS = """\
Eth1/{n} counters:
  rx discard packets               : 0
  tx discard packets               : 0
  rx error packets                 : 0
"""
_ESXI = {
    "kernel": """\
Name        Type  Configured  Runtime  Default  Description
atsSupport  Bool  TRUE        TRUE     FALSE    Enable PCIe ATS support
""",
    "maintenance": "Maintenance Mode: Disabled\n",
    "power": "Power Policy: High Performance\n",
    "vmkernel.log": "2026-02-01T09:59:00.000Z In(182) vmkernel: cpu3:2097941)System boot finished\n",
    "lspci": "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+\n",
    "pcipassthru": """\
Device ID     Enabled
0000:3b:00.0  true
0000:af:00.0  true
""",
}
_VM = {
    "vmware.log": """\
2026-02-01T10:00:00.000Z In(05) vmx - PCIPassthru: successfully created the IOMMU mappings
2026-02-01T10:00:00.000Z In(05) vmx - Transitioned vmx/execState/val to poweredOn
""",
    "vmx": """\
firmware = "efi"
sched.mem.pin = "TRUE"
numa.nodeAffinity = "0"
pciPassthru.use64bitMMIO = "TRUE"
pciPassthru.64bitMMIOSizeGB = "256"
pciPassthru.allowP2P = "TRUE"
pciPassthru.RelaxACSforP2P = "TRUE"
""",
}
_RANK = """\
{host}:40{n}:40{n} [0] NCCL INFO Bootstrap : Using ens224:192.0.2.1{n}<0>
{host}:40{n}:40{n} [0] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so)
{host}:40{n}:41{n} [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB ens224:192.0.2.1{n}<0>
{host}:40{n}:41{n} [0] NCCL INFO Using network IB
{host}:40{n}:41{n} [0] NCCL INFO GPU Direct RDMA Enabled for HCA 0 'mlx5_0'
{host}:40{n}:41{n} [0] NCCL INFO Channel 00/0 : {r}[0] -> {next}[0] [send] via NET/IB/0/GDRDMA
{host}:40{n}:41{n} [0] NCCL INFO comm 0x55d rank {r} nranks 4 cudaDev 0 nvmlDev 0 busId 0b000 - Init COMPLETE
"""
JOB = "job/job.log"
DONE = "[1,0]<stdout>:total images/sec: 8400.12\n"


def number(host: str) -> int:
    return HOSTS.index(host) + 1


def right() -> dict[str, str]:
    """Every piece of the right site. Raises nothing."""
    found: dict[str, str] = {}
    for host in HOSTS:
        n = number(host)
        found |= _pieces(f"hosts/{host}", _HOST, host=host, n=n)
        found |= _pieces(f"containers/{host}", _CONTAINER, host=host, n=n)
        found |= {f"vms/{host}/{name}": text for name, text in _VM.items()}
    for host in sorted(set(ESXI.values())):
        found |= {f"esxi/{host}/{_file(name)}": text for name, text in _ESXI.items()}
    ports = range(1, len(HOSTS) + 1)
    found |= {f"switches/{SWITCH}/{_file(name)}": text for name, text in _SWITCH.items()}
    found[f"switches/{SWITCH}/interfaces.txt"] = "".join(_PORT.format(n=n) for n in ports)
    found[f"switches/{SWITCH}/counters.txt"] = "".join(_COUNTERS.format(n=n) for n in ports)
    found[JOB] = "".join(rank(host) for host in HOSTS) + "NCCL version 2.21.5+cuda12.4\n" + DONE
    return found


def rank(host: str) -> str:
    """What the rank of this host prints while it starts."""
    n = number(host)
    return _RANK.format(host=host, n=n, r=n - 1, next=n % len(HOSTS))


def others(host: str) -> Iterable[str]:
    return (other for other in HOSTS if other != host)


def _file(name: str) -> str:
    return name if "." in name else f"{name}.txt"


def _pieces(folder: str, texts: dict[str, str], *, host: str, n: int) -> dict[str, str]:
    return {f"{folder}/{_file(name)}": text.format(host=host, n=n) for name, text in texts.items()}
