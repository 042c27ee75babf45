"""Public threads, third round: 22 of 27 were right at first sight, none wrong, and all three sound outputs healthy."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, YES, Case, case
from tests.unit.doctor.cases_threads import G

SYSTEMS_D: tuple[Case, ...] = (
    case(
        "device of rdma_cm in a pod",
        G + "k8snetworkplumbingwg/sriov-network-device-plugin/issues/342",
        "container guest_driver rdma_gid nic_firmware host_routing",
        CANDIDATES,
        "RDMA_CM_EVENT_ADDR_ERROR, error: -19\n",
    ),
    case(
        "function and its memory",
        G + "k8snetworkplumbingwg/sriov-network-device-plugin/issues/590",
        "nic_firmware",
        YES,
        "node_guid: 0000:0000:0000:0000\nCouldn't allocate MR\nCouldn't create IB resources\n",
    ),
    case(
        "some functions have no number",
        G + "openshift/sriov-network-device-plugin/issues/20",
        "nic_firmware",
        YES,
        "device node GUID\nmlx5_2 0000000000000000\nmlx5_0 506b4b0300285028\n",
    ),
    case(
        "administrative address",
        G + "openshift/sriov-network-operator/pull/237",
        "nic_firmware",
        YES,
        "rdma_cm uses the node_guid of a VF, but when VFs are created the node_guid is zero\n",
    ),
    case(
        "function that nobody trusts",
        G + "nvandamme/systemd-networkd-i40e/issues/1",
        "vm_passthrough nic_firmware guest_driver",
        CANDIDATES,
        "i40e 0000:c2:00.0: Cannot add more MAC addresses, VF is not trusted, switch the VF to trusted to "
        "add more functionality\n",
    ),
    case(
        "more nodes, more pauses",
        G + "NVIDIA/nccl/issues/173",
        "nic_qos switch_config numa_bios nccl_version",
        CANDIDATES,
        "RoCE: more than 6 nodes and the performance degrades, the server NIC sends pause frames; NCCL 2.1.5 "
        "does not\n",
    ),
    case(
        "first generation of the protocol",
        G + "openucx/ucx/issues/9430",
        "rdma_gid guest_driver nic_firmware",
        CANDIDATES,
        "ConnectX-3 with RoCEv1: rc_verbs fails with UCX 1.15.0\nGID index       : 1\n",
    ),
    case(
        "client without registration",
        G + "NVIDIA/nccl/issues/1939",
        "guest_driver",
        YES,
        "cat: /sys/kernel/mm/memory_peers/nv_mem/version: No such file or directory\n"
        "nvidia_peermem         16384  0\n"
        "NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n",
    ),
    case(
        "gpudirect makes it worse",
        G + "Mellanox/nv_peer_memory/issues/50",
        "pcie_acs topology guest_driver numa_bios",
        CANDIDATES,
        "once GPU Direct RDMA is on, all_reduce_perf bandwidth gets dramatically worse than without GPU Direct RDMA\n",
    ),
    case(
        "module of the driver is there",
        G + "NVIDIA/nccl/issues/1537",
        "guest_driver",
        YES,
        "hostname1:25668:27396 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB "
        "primaryip:192.0.2.10<0>\n"
        "hostname1:25668:27396 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n",
    ),
    case(
        "peers of another maker",
        G + "ROCm/amdgpu/issues/102",
        "guest_driver",
        YES,
        "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n"
        "/sys/kernel/mm/memory_peers/amdkfd/version does not exist\n",
    ),
    case(
        "gpu memory at a third",
        G + "kvcache-ai/Mooncake/issues/1459",
        "pcie_acs topology guest_driver numa_bios",
        CANDIDATES,
        "transfer_engine_bench: 47 GB/s from DRAM, drops to 15 GB/s from VRAM with gpu:0 and mlx5_0\n",
    ),
    case(
        "no label for the path",
        G + "Mellanox/nv_peer_memory/issues/56",
        "topology guest_driver",
        CANDIDATES,
        "NCCL INFO GPU Direct RDMA Disabled for GPU 0[0] / HCA 0 (distance 3 >= 2)\n",
    ),
    case(
        "latency of the copy engine",
        G + "openucx/ucx/issues/8761",
        "pcie_acs topology guest_driver",
        CANDIDATES,
        "UCX: performance degradation with GPU direct RDMA enabled for all message sizes, cuda_copy is faster\n",
    ),
    case(
        "half without the module",
        G + "NVIDIA/nccl/issues/465",
        "guest_driver topology",
        CANDIDATES,
        "bus bandwidth of 6GBps with nccl-tests, half of what I expected; nv_peer_memory is not set up\n",
    ),
    case(
        "port goes up and down",
        G + "ROCm/rccl/issues/1423",
        "cabling switch_config",
        CANDIDATES,
        "NCCL WARN NET/IB : mlx5_7:1 Got async event : port error\n"
        "link mlx5_7/1 subnet_prefix fe80:0000:0000:0000 lid 3403 sm_lid 1 lmc 0 state DOWN physical_state "
        "POLLING\n",
    ),
    case(
        "function without a link",
        G + "openshift/sriov-network-operator/issues/635",
        "cabling switch_config fabric_routing nic_firmware",
        CANDIDATES,
        "link mlx5_5/1 subnet_prefix fe80:0000:0000:0000 lid 65535 sm_lid 0 lmc 0 state DOWN physical_state DISABLED\n",
    ),
    case(
        "cards of another label",
        G + "clustervision/trinity/issues/219",
        "nic_firmware",
        YES,
        "mlx4_en 0000:0d:00.0: LSO not supported, please upgrade to later FW version to enable LSO\n"
        "Fatal error:  device '*': sys files not found (/sys/class/infiniband/*/ports)\n",
    ),
    case(
        "pod with a port that is down",
        G + "Mellanox/network-operator/issues/249",
        "cabling fabric_routing switch_config",
        CANDIDATES,
        "hca_id: mlx5_1\n"
        "state:                  PORT_DOWN (1)\n"
        "sm_lid:                 0\n"
        "link_layer:             InfiniBand\n",
    ),
    case(
        "shared adapter in docker",
        G + "NVIDIA/nccl/issues/551",
        "rdma_gid container guest_driver run_env",
        CANDIDATES,
        "NCCL WARN Call to ibv_modify_qp failed with error No such device\n"
        "docker network of the rdma-shared plugin, macvlan\n",
    ),
    case(
        "no channel from gpu to nic",
        G + "NVIDIA/nccl/issues/834",
        "pcie_acs guest_driver",
        CANDIDATES,
        "NCCL WARN NET/IB : Got completion with error 4, opcode 1, len 32641, vendor err 81\n"
        "Channel 01 : 1[25000] -> 10[6b000] [send] via NET/IB/0/GDRDMA\n",
    ),
    case(
        "connection that cannot leave",
        G + "NVIDIA/nccl/issues/799",
        "rdma_gid run_env guest_driver container",
        CANDIDATES,
        "NET/IB : Using [0]mlx5_3:1/RoCE ; OOB eth1:192.0.2.81<0>\n"
        "misc/ibvwrap.cc:284 NCCL WARN Call to ibv_modify_qp failed with error No such device\n",
    ),
    case(
        "gpu that kills a server",
        G + "ROCm/legacy-rocm-build/issues/1493",
        "numa_bios gpu_hardware pcie_acs",
        CANDIDATES,
        "R7525 with 3 MI100: clinfo with more than one GPU resets the machine; PCIe slots 2, 5, 7\n",
    ),
    case(
        "qp of an old stack",
        G + "NVIDIA/nccl/issues/1129",
        "host_limits container guest_driver",
        CANDIDATES,
        "node08:6561:6561 [0] misc/ibvwrap.cc:280 NCCL WARN Call to ibv_create_qp failed\n"
        "NET/IB : Using [0]mlx5_0:1/IB ; OOB ibs3:192.0.2.211<0>\n",
    ),
    case(
        "cq of an old libfabric",
        G + "ofiwg/libfabric/issues/8256",
        "host_limits container guest_driver",
        CANDIDATES,
        "verbs: ibv_create_cq: Invalid argument(22)\nibv_create_qp: Cannot allocate memory(12)\n",
    ),
    case(
        "gpus through the root",
        G + "lablup/backend.ai/issues/7848",
        "pcie_acs",
        CANDIDATES,
        "NCCL P2P not working after setting iommu and ACS\n",
    ),
    case(
        "patch for p2p and its bios",
        G + "xCuri0/ReBarUEFI/issues/10",
        "numa_bios vm_mmio",
        CANDIDATES,
        "pci 0000:03:00.0: BAR 2 [mem size 0x200000000 64bit pref]: failed to assign\n"
        "Z97 board, Above 4G Decoding enabled in BIOS\n",
    ),
)

SYSTEMS_D_SOUND: tuple[tuple[str, str, str], ...] = (
    (
        "rings of a run",
        G + "NVIDIA/nccl/issues/622",
        "machine1:430863:430903 [3] NCCL INFO 2 coll channels, 2 p2p channels, 1 p2p channels per peer\n"
        "machine1:430863:430902 [2] NCCL INFO comm 0x7fe9cc000fa0 rank 2 nranks 8 cudaDev 2 busId 86000 - "
        "Init COMPLETE\n",
    ),
    (
        "functions that nobody uses",
        "rdma-link(8)",
        "link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 3 sm_lid 1 lmc 0 state ACTIVE physical_state "
        "LINK_UP\n"
        "link mlx5_4/1 state ACTIVE physical_state LINK_UP netdev enp97s0f0\n",
    ),
    (
        "sriov is on",
        "mlxconfig documentation",
        "         NUM_OF_VFS                          8\n"
        "         SRIOV_EN                            True(1)\n"
        "total images/sec: 8400.66\n",
    ),
)
