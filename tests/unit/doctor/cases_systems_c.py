"""Public threads read after the rules had been mended for those of ``cases_systems_a`` and ``_b``: 15 of 30 were right
at first sight, none wrong, and 2 of 5 sound outputs healthy."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, YES, Case, case
from tests.unit.doctor.cases_threads import G

SYSTEMS_C: tuple[Case, ...] = (
    case(
        "addresses were applied again",
        G + "FujitsuPolycom/sparkring/issues/290",
        "rdma_gid",
        YES,
        "RING.ROCE_GID ... want ::ffff:192.0.2.1\n"
        "a netplan re-apply moves the RoCEv2 IPv4-mapped GIDs away from index 3 on one or both HCAs\n",
    ),
    case(
        "one pin for two adapters",
        G + "FujitsuPolycom/sparkring/issues/186",
        "rdma_gid",
        YES,
        "NCCL_IB_GID_INDEX=3 with NCCL_IB_HCA=rocep1s0f0,rocep1s0f1\nibv_modify_qp 61\n",
    ),
    case(
        "stale entries of a function",
        G + "NVIDIA/NV-Kernels/pull/358",
        "rdma_gid guest_kernel",
        YES,
        "VFs show GIDs derived from an old random MAC instead of the configured one; wrong GID index assignment\n",
    ),
    case(
        "only one of two cards is mapped",
        G + "harvester/harvester/issues/7932",
        "vm_mmio",
        YES,
        "VM with 2 H100: nvidia-smi shows one\nlspci -v: Memory at <ignored> (64-bit, prefetchable)\n",
    ),
    case(
        "guest with three cards does not boot",
        G + "harvester/harvester/issues/7223",
        "vm_mmio vm_memory container",
        CANDIDATES,
        "passing through more than 3 A100 GPUs: the VM is stuck in a boot loop\n"
        "virt-launcher invoked oom-killer: Memory cgroup out of memory: Killed process (qemu-system-x86)\n",
    ),
    case(
        "one more gpu in the guest",
        G + "harvester/harvester/issues/8972",
        "vm_mmio",
        YES,
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n"
        "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:0b:00.0)\n"
        "VM with two GPUs; with one it works\n",
    ),
    case(
        "bar in the lower half",
        G + "harvester/harvester/issues/5619",
        "vm_mmio",
        YES,
        "NVRM: BAR1 is 256M @ 0x0 (PCI:0000:08:00.0)\n"
        "nvidia: probe of 0000:08:00.0 failed with error -1\n"
        "KubeVirt VM, EFI\n",
    ),
    case(
        "vm hangs with a large card",
        G + "canonical/lxd/issues/14380",
        "vm_mmio",
        CANDIDATES,
        "passing through a GPU of 24 GB, the VM hangs indefinitely without any output; without the GPU it boots\n",
    ),
    case(
        "pinned at the same time",
        G + "deepin-community/kernel/pull/471",
        "guest_kernel vm_memory",
        CANDIDATES,
        "VM with device passthrough fails to start: pin_user_pages_remote(FOLL_LONGTERM) cannot migrate "
        "pages out of CMA\n"
        "CmaTotal: 528482304 kB\n",
    ),
    case(
        "driver container without a repository",
        G + "Mellanox/network-operator/issues/830",
        "guest_driver",
        YES,
        "No OFED driver found for kernel 5.14.0-284.40.1.el9_2.x86_64\n"
        "Error: Failed to download metadata for repo 'rhel-9-for-x86_64-appstream-rpms': Cannot download "
        "repomd.xml\n",
    ),
    case(
        "openibd and a kernel of one's own",
        G + "BarrinXu/FaaSMem/issues/1",
        "guest_driver",
        YES,
        "Module mlx5_core does not exist, skipping...               [FAILED]\n"
        "Module ib_uverbs does not exist, skipping...               [FAILED]\n",
    ),
    case(
        "rdma_cm in a pod",
        G + "Mellanox/k8s-rdma-sriov-dev-plugin/issues/22",
        "rdma_gid host_routing guest_driver fabric_routing",
        CANDIDATES,
        "rdma_resolve_route failed\nUnable to perform rdma_client function\nUnable to init the socket connection\n",
    ),
    case(
        "plugin before the driver",
        G + "Mellanox/network-operator/issues/31",
        "guest_driver container",
        CANDIDATES,
        "rdma-shared-dp: non-Rdma Device ens2f0\nafter a reboot\n",
    ),
    case(
        "model of a vm is not matched",
        G + "ROCm/rccl/pull/1204",
        "topology numa_bios",
        CANDIDATES,
        "MI300X in a VM: only about 50 GB/s, single node model not matched because of NUMA\n",
    ),
    case(
        "qp of a large transfer",
        G + "NVIDIA/nccl/issues/562",
        "host_limits container guest_driver",
        CANDIDATES,
        "gpu01:3778851:3779883 [4] ibvwrap.c:130 NCCL WARN Call to ibv_create_qp failed\n",
    ),
    case(
        "cq cannot be made",
        G + "NVIDIA/nccl/issues/380",
        "host_limits container",
        CANDIDATES,
        "spark01:2683:2826 [0] misc/ibvwrap.cc:268 NCCL WARN Call to ibv_create_cq failed\n",
    ),
    case(
        "port that is down, said as memory",
        G + "openucx/ucx/issues/8746",
        "host_limits container",
        CANDIDATES,
        "ib_iface.c:746  UCX  ERROR ibv_create_cq(cqe=4096) failed: Cannot allocate memory\n",
    ),
    case(
        "adapter of another maker",
        G + "openucx/ucx/issues/5148",
        "guest_driver nic_firmware",
        CANDIDATES,
        "create qp: failed on ibv_cmd_create_qp with 22\nhca_id: qedr0\n",
    ),
    case(
        "ordering in a vm",
        G + "NVIDIA/nccl/issues/1205",
        "pcie_acs",
        CANDIDATES,
        "A100 VM, busbw 40 GB/s with NCCL_IB_PCI_RELAXED_ORDERING=1, 20 GB/s without\n",
    ),
    case(
        "three adapters, two servers",
        G + "NVIDIA/nccl/issues/719",
        "cabling fabric_routing run_env",
        CANDIDATES,
        "nccl hangs with 3 infiniband NICs, works with NCCL_IB_HCA=mlx5_0,mlx5_1\n"
        "mlx5_2 on node A is not connected to the same switch\n",
    ),
    case(
        "kernel line of rccl",
        G + "ROCm/rccl/issues/1026",
        "pcie_acs run_env guest_kernel",
        CANDIDATES,
        'NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!\n'
        "P2P bandwidth is low\n",
    ),
    case(
        "netns of rdma",
        G + "Mellanox/k8s-rdma-shared-dev-plugin/issues/84",
        "container guest_driver guest_kernel",
        CANDIDATES,
        "Exiting.. can not change : incorrect RDMA subsystem network namespace\n",
    ),
    case(
        "switch and nic of two makers",
        "https://www.networktcpip.com/post/configuring-and-verifying-lossless-ethernet-for-rdma",
        "switch_config nic_qos",
        CANDIDATES,
        "show queuing interface ethernet 1/1: QOS GROUP 3: Ingress MMU Drop Pkts 6518423\nPFC: Admin On, Oper Off\n",
    ),
    case(
        "ecn on one end alone",
        G + "provandal/protoviz/issues/30",
        "nic_qos switch_config",
        CANDIDATES,
        "ECN marking enabled on the switch, DCQCN not configured on the sender NIC; PFC pause storm\n",
    ),
    case(
        "power and a hot plug",
        "https://forums.developer.nvidia.com/t/363461",
        "nic_firmware gpu_hardware cabling numa_bios",
        CANDIDATES,
        "mlx5_core 0000:01:00.0: mlx5_pcie_event:299: Detected insufficient power on the PCIe slot (27W).\n"
        "link capped at 13 Gbps, expected 200 Gbps\n",
    ),
    case(
        "files beyond one packet",
        G + "Li-Weihang/python_rdma_test/issues/1",
        "nic_mtu",
        CANDIDATES,
        "RDMA writes become invalid when the size is greater than 1444, with 1444 the server reads the updated data\n",
    ),
    case(
        "function without its number",
        G + "Mellanox/k8s-rdma-shared-dev-plugin/issues/94",
        "guest_driver container nic_firmware",
        CANDIDATES,
        'error creating new device: "missing RDMA device spec for device 0000:e5:00.1, RDMA device "issm" not found"\n',
    ),
    case(
        "dct and other nics",
        G + "openucx/ucx/issues/3245",
        "guest_driver",
        CANDIDATES,
        "dc_mlx5.c:1244 UCX  ERROR error modifying DCT to RTR: Invalid argument\n",
    ),
    case(
        "peers across the root",
        G + "openucx/ucx/issues/6327",
        "pcie_acs guest_driver topology numa_bios",
        CANDIDATES,
        "osu_bw: device-to-device bandwidth is much worse than host-to-device, GPU and mlx5_0 at PIX\n",
    ),
    case(
        "adapter that is only sometimes right",
        G + "NVIDIA/nccl/issues/1715",
        "pcie_acs guest_driver nic_firmware",
        CANDIDATES,
        "NET/IB: Got completion from peer 192.0.2.12<41102> with status=4 opcode=0 len=0 vendor err 81 "
        "(Send) hca mlx5_3\n"
        "NCCL_IB_HCA=mlx5_3 fails, all others work; perftest with cuda is fine\n",
    ),
)

SYSTEMS_C_SOUND: tuple[tuple[str, str, str], ...] = (
    (
        "topology of a bridge without a speed",
        G + "NVIDIA/nccl/issues/1519",
        "NCCL INFO Topology detection : could not read /sys/devices/pci0000:00/0000:00:0c.0/max_link_speed, "
        "ignoring\n"
        "NCCL INFO KV Convert to int : could not find value of '' in dictionary, falling back to 60\n"
        "gpu01:1:1 [0] NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 3000 - Init COMPLETE\n",
    ),
    (
        "dcb of a lossless port",
        "dcb-pfc(8)",
        "pfc-cap 8 macsec-bypass off delay 0\n"
        "prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off\n"
        "total images/sec: 8400.66\n",
    ),
    (
        "sm lid of ethernet",
        "ibv_devinfo(1)",
        "hca_id:\tmlx5_0\n"
        "\tfw_ver:\t\t28.39.1002\n"
        "\t\tport:\t1\n"
        "\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n"
        "\t\t\tmax_mtu:\t\t4096 (5)\n"
        "\t\t\tactive_mtu:\t\t4096 (5)\n"
        "\t\t\tsm_lid:\t\t\t0\n"
        "\t\t\tlink_layer:\t\tEthernet\n",
    ),
    (
        "optics of a good port",
        "ethtool(8)",
        "\tIdentifier                                : 0x19 (OSFP 8X Pluggable Transceiver with CMIS)\n"
        "\tLaser rx power low alarm                  : Off\n"
        "\tModule temperature high warning           : Off\n"
        "\tRx loss of signal                         : [ No, No, No, No ]\n"
        "Link detected: yes\n",
    ),
    (
        "guest memory is pinned",
        "QEMU documentation",
        "2026-02-01T10:00:00.000000Z qemu-system-x86_64: -accel kvm: info: guest memory preallocated\n"
        "Hypervisor detected: KVM\n"
        "pci 0000:05:00.0: BAR 2 [mem 0x384000000000-0x385fffffffff 64bit pref]: assigned\n"
        "total images/sec: 8400.66\n",
    ),
)
