"""Public threads about RoCE addresses, MTUs, PCIe and VMs, written before any rule was mended for them: with those of
``cases_systems_b``, 43 of 82 were right at first sight, 1 wrong, and 5 of 10 sound outputs healthy."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, YES, Case, case
from tests.unit.doctor.cases_threads import G

SYSTEMS_A: tuple[Case, ...] = (
    case(
        "link-local by its index",
        G + "NVIDIA/nccl/issues/769",
        "rdma_gid",
        YES,
        "ibvwrap.cc:157 NCCL WARN Call to ibv_modify_qp failed with error Connection timed out\n"
        "NCCL_IB_GID_INDEX=1\n"
        "\t\t\tGID[  1]:\t\tfe80::ac0:ebff:fe00:1cfb, RoCE v2\n"
        "\t\t\tGID[  3]:\t\t::ffff:192.0.2.6, RoCE v2\n",
    ),
    case(
        "table of a pod begins late",
        G + "NVIDIA/nccl/pull/1587",
        "rdma_gid",
        YES,
        "mlx5_0  1       6       0000:0000:0000:0000:0000:ffff:c000:0201 192.0.2.1        v1      net1\n"
        "mlx5_0  1       7       0000:0000:0000:0000:0000:ffff:c000:0201 192.0.2.1        v2      net1\n"
        "the search for the GID ends early: an invalid GID is tested at index 0\n",
    ),
    case(
        "version number in place of the index",
        G + "NVIDIA/nccl/issues/1538",
        "rdma_gid nccl_version",
        YES,
        "NCCL hangs with 2.23.4 and NCCL_IB_ROCE_VERSION_NUM=2\n"
        "NCCL_IB_GID_INDEX=7 works well\n"
        "mlx5_0\t1\t7\t0000:0000:0000:0000:0000:ffff:c000:0284\t192.0.2.132  \tv2\tnet1\n",
    ),
    case(
        "index differs between containers",
        G + "NVIDIA/nccl/pull/1427",
        "rdma_gid",
        YES,
        "container A has its sub interface with gid index 7, container B with gid index 11; no one "
        "NCCL_IB_GID_INDEX fits both\n",
    ),
    case(
        "counters of a hang",
        G + "NVIDIA/nccl/issues/394",
        "rdma_gid nic_qos switch_config",
        CANDIDATES,
        "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err:91316\n"
        "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:6140236\n"
        "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_ecn_marked_roce_packets:11293938\n",
    ),
    case(
        "transfer engine at index 1",
        G + "kvcache-ai/Mooncake/issues/204",
        "rdma_gid",
        YES,
        "I0331 12:02:38.363528 56056 rdma_context.cpp:125] RDMA device: mlx5_0, LID: 0, GID: (GID_Index 1) "
        "fe:80:00:00:00:00:00:00:9e:63:c0:ff:fe:00:ab:90\n"
        "E0331 12:03:04.222625 56060 rdma_endpoint.cpp:385] [Handshake] Failed to modify QP to RTR, check "
        "mtu, gid, peer lid, peer qp num: Connection timed out [110]\n",
    ),
    case(
        "expert parallel cannot connect",
        G + "uccl-project/uccl/issues/641",
        "fabric_routing rdma_gid host_routing",
        CANDIDATES,
        "RoCE detected (Ethernet)\nFailed to modify QP to RTR: Connection timed out\nerrno: 110\n",
    ),
    case(
        "tree of a key value store",
        G + "thustorage/Sherman/issues/5",
        "rdma_gid",
        CANDIDATES,
        "I connect server 1\nfailed to modify QP state to RTR\nfailed to modify QP state to RTS\n",
    ),
    case(
        "ucx names its gid",
        G + "openucx/ucx/issues/6000",
        "rdma_gid",
        YES,
        "[gpu01:24113:0:24113] ib_mlx5_log.c:143  Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 "
        "vend 0x81 hw_synd 0/0)\n"
        "[gpu01:24113:0:24113] ib_mlx5_log.c:143  DCI QP 0x1510 wqe[0]: SEND s-e [rqpn 0x223a4 rmac "
        "00:00:5e:00:01:c8 sgix 0 dgid fe80::200:5eff:fe00:1c8 tc 0] [inl len 18]\n",
    ),
    case(
        "ucx with index 0",
        G + "openucx/ucx/issues/2322",
        "rdma_gid nic_qos",
        CANDIDATES,
        "mpirun -x UCX_NET_DEVICES=mlx5_1:1 -x UCX_IB_GID_INDEX=0\n"
        "rc_verbs_iface.c:63   FATAL: send completion with error: transport retry counter exceeded\n",
    ),
    case(
        "datagrams of ucx",
        G + "openucx/ucx/issues/1878",
        "rdma_gid",
        YES,
        "dc_verbs.c:633  UCX  ERROR Send completion with error on qp 0x226c3: transport retry counter "
        "exceeded syndrome 0x81\n"
        "cannot be reproduced with UCX_IB_GID_INDEX=3\n",
    ),
    case(
        "program that knows only InfiniBand",
        G + "microsoft/mscclpp/issues/431",
        "rdma_gid application",
        CANDIDATES,
        "ibv_modify_qp failed (errno 19) (Ib failure: No such device)\nLink layer: Ethernet\n",
    ),
    case(
        "no way between two pods of servers",
        G + "NVIDIA/nccl-tests/issues/185",
        "host_routing rdma_gid fabric_routing",
        CANDIDATES,
        "gpu01:460770:460842 [0] NCCL INFO NET/IB : Using [0]mlx5_10:1/RoCE [1]mlx5_11:1/RoCE [RO]; OOB "
        "enp220s0np0:192.0.2.136<0>\n"
        "gpu01:460770:460850 [0] misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed with error "
        "Network is unreachable\n",
    ),
    case(
        "firmware update resets the mtu",
        G + "tonyd2wild/DeepSeek-v4-Flash-Vision-Exp-DSpark-1M-NVFP4-KV-2x-DGX-Spark/issues/38",
        "nic_mtu",
        YES,
        "a firmware reboot reset the second NIC to MTU 1500 while the peer stayed at 9000\n"
        "IBV_WC_RETRY_EXC_ERR(12) on large transfers\n",
    ),
    case(
        "path mtu written into the program",
        G + "tensorflow/tensorflow/pull/9432",
        "nic_mtu application",
        YES,
        "one worker reports retry count exceeded; attr.path_mtu = IBV_MTU_4096, which won't work on a "
        "standard 1500 MTU Ethernet network\n",
    ),
    case(
        "plugin with a fixed mtu",
        G + "autoscriptlabs/nccl-mesh-plugin/pull/12",
        "nic_mtu nccl_version",
        YES,
        "IBV_MTU_4096 hardcoded for all QP connections, some RoCE NICs only support MTU 1024\n"
        "QP RTR transition fails: Bidirectional handshake failed\n",
    ),
    case(
        "peers do not agree on a path mtu",
        G + "kvcache-ai/Mooncake/issues/3868",
        "nic_mtu",
        YES,
        "Peer A RDMA port: active_mtu=4096\n"
        "Peer B RDMA port: active_mtu=1024\n"
        "remote invalid request, local access violation, local length error\n",
    ),
    case(
        "fixed mtu of gpu-initiated networking",
        G + "NVIDIA/nccl/issues/1957",
        "nic_mtu nccl_version",
        YES,
        "gin_alltoall_pure on a NIC with 1500 MTU: nccl hangs\nwireshark: nccl gin sends with a 4K MTU\n",
    ),
    case(
        "small path mtu under long messages",
        G + "antirez/ds4/pull/1024",
        "nic_mtu nic_qos cabling",
        CANDIDATES,
        "max_mtu: 4096 (5)\nactive_mtu: 1024 (3)\nprefill hangs, RDMA completion queue is completely idle\n",
    ),
    case(
        "more than one packet",
        G + "SoftRoCE/rxe-dev/issues/76",
        "nic_mtu guest_driver",
        CANDIDATES,
        "ib_write_lat -s 1024 -n 5 works, ib_write_lat -s 1025 -n 5 fails; mtu 1024\n",
    ),
    case(
        "half of a cable",
        G + "NVIDIA/dgx-spark-playbooks/pull/103",
        "run_env nic_mtu topology",
        CANDIDATES,
        "all_gather_perf reaches only ~3 GB/s busbw\nNCCL_SOCKET_IFNAME=enP7s7, NCCL_IB_HCA not set; mtu 1500\n",
    ),
    case(
        "root ports redirect",
        G + "NVIDIA/nccl/issues/2079",
        "pcie_acs",
        YES,
        "ncclAllReduce deadlocks on 2 GPUs, topology PHB, no NVLink\n"
        "ACSCtl: 0x001d = SrcValid+, ReqRedir+, CmpltRedir+, UpstreamFwd+\n",
    ),
    case(
        "hangs unless peers are off",
        G + "NVIDIA/nccl/issues/257",
        "pcie_acs",
        CANDIDATES,
        "AllReduce hangs; with NCCL_P2P_DISABLE=1 it works\nDMAR: IOMMU enabled\n",
    ),
    case(
        "only across sockets",
        G + "NVIDIA/nccl/issues/667",
        "pcie_acs numa_bios",
        CANDIDATES,
        "all_reduce_perf works only for GPUs linked through SYS, for PXB and PIX it hangs\n"
        "NCCL_P2P_DISABLE=1 works but is really slow\n",
    ),
    case(
        "note of a framework",
        G + "NVIDIA/caffe/issues/10",
        "pcie_acs",
        YES,
        "lower than expected P2P bandwidth between GPUs; lspci shows that PCI Express Access Control "
        "Services (ACS) are enabled on the PLX bridges\n",
    ),
    case(
        "amd and multi-gpu tests",
        G + "NVIDIA/nccl-tests/issues/115",
        "pcie_acs numa_bios",
        CANDIDATES,
        "all_reduce_perf -g 2 hangs, one GPU works\namd_iommu=off addresses the communication problem\n",
    ),
    case(
        "peers of consumer cards",
        G + "aikitoria/open-gpu-kernel-modules/issues/6",
        "pcie_acs",
        CANDIDATES,
        "p2pBandwidthLatencyTest: P2P=Enabled bandwidth 0.9 GB/s, P2P=Disabled 21 GB/s on RTX 5090\n",
    ),
    case(
        "infiniband without gpudirect",
        G + "NVIDIA/nccl/issues/489",
        "pcie_acs guest_driver topology",
        CANDIDATES,
        "ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n"
        "GPU Direct RDMA not enabled, NIC and GPU at distance PHB\n",
    ),
    case(
        "perftest in one direction",
        G + "linux-rdma/perftest/issues/289",
        "pcie_acs guest_driver",
        CANDIDATES,
        "ib_write_bw --use_cuda=0: Completion with error at client\nFailed status 4: wr_id 0 syndrom 0x51\n",
    ),
    case(
        "two of eight without bar",
        G + "NVIDIA/gpu-operator/issues/492",
        "vm_mmio",
        YES,
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n"
        "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:14:00.0)\n"
        "pciPassthru.64bitMMIOSizeGB=1024\n",
    ),
    case(
        "efi guest with a large card",
        G + "kubevirt/kubevirt/issues/11093",
        "vm_mmio",
        YES,
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n"
        "GPU of 24 GB in a VM with EFI; with SeaBIOS it works\n",
    ),
    case(
        "aperture of the firmware",
        G + "tianocore/edk2/issues/9932",
        "vm_mmio",
        YES,
        "pci 0000:06:00.0: BAR 1: no space for [mem size 0x800000000 64bit pref]\n"
        "pci 0000:06:00.0: BAR 1: failed to assign [mem size 0x800000000 64bit pref]\n"
        "DMI: QEMU Standard PC (Q35 + ICH9, 2009), BIOS edk2\n",
    ),
    case(
        "eighth gpu does not fit",
        G + "tianocore/edk2/pull/12997",
        "vm_mmio",
        YES,
        "8 GPUs of 512 GB passed through exhaust the 64-bit MMIO window of the guest firmware; one GPU is "
        "unusable in the VM\n",
    ),
    case(
        "hypervisor moves a bar",
        G + "cloud-hypervisor/cloud-hypervisor/issues/6147",
        "vm_mmio vm_passthrough",
        CANDIDATES,
        "cloud-hypervisor: Failed moving device BAR: failed allocating new MMIO range: 0xe7f00000->0x0(0x80000)\n",
    ),
    case(
        "bar that is not prefetchable",
        G + "NVIDIA/open-gpu-kernel-modules/issues/344",
        "vm_mmio vm_passthrough gpu_driver",
        CANDIDATES,
        "NVRM: BAR2 is 0M @ 0x0 (PCI:0000:00:05.0)\nHypervisor detected: KVM\n",
    ),
    case(
        "vgpu of 24 gb",
        "https://www.stephenwagner.com/category/nvidia/vgpu/",
        "vm_mmio",
        YES,
        "Module 'DevicePowerOn' power on failed.\nGPU with more than 16 GB of video memory, firmware bios\n",
    ),
    case(
        "guest of half a terabyte",
        G + "bpg/terraform-provider-proxmox/issues/1353",
        "vm_memory vm_passthrough vm_mmio",
        CANDIDATES,
        "QEMU[3989106]: kvm: vfio_dma_map(0x5e043daea2f0, 0x380010000000, 0x2000000, 0x771a6ce00000) = -22 "
        "(Invalid argument)\n"
        "QEMU[3989106]: kvm: VFIO_MAP_DMA failed: Invalid argument\n",
    ),
    case(
        "launcher may not map",
        G + "harvester/harvester/issues/3735",
        "vm_memory host_limits container",
        CANDIDATES,
        "qemu-system-x86_64: -device vfio-pci,host=0000:85:00.0,id=ua-hostdevice: VFIO_MAP_DMA failed: "
        "Cannot allocate memory\n",
    ),
    case(
        "region of the bios",
        G + "kubevirt/kubevirt/issues/14593",
        "vm_memory vm_passthrough host_limits",
        CANDIDATES,
        "vfio 0000:35:00.0: failed to setup container for group 75: memory listener initialization failed: "
        "Region pc.bios: vfio_container_dma_map (0x5632ad2e1e80, 0xfffc0000, 0x40000, 0x7fdf48200000) = -2 "
        "(No such file or directory)\n",
    ),
    case(
        "kata and a dimm",
        G + "kata-containers/kata-containers/issues/10360",
        "vm_memory vm_passthrough",
        CANDIDATES,
        "QMP command failed: vfio 0000:03:00.0: failed to setup container for group 24: memory listener "
        "initialization failed: Region dimm1: vfio_dma_map(0x555556d05a90, 0x100000000, 0xf80000000, "
        "0x74c02fc00000) = -14 (Bad address)\n",
    ),
    case(
        "card that does not wake up",
        G + "bryansteiner/gpu-passthrough-tutorial/issues/39",
        "vm_passthrough gpu_hardware gpu_driver",
        CANDIDATES,
        "nvidia 0000:01:00.0: not ready 65535ms after resume; giving up\n"
        "nvidia 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible\n",
    ),
    case(
        "stuck in d3",
        G + "cosminmocan/vfio-single-amdgpu-passthrough/issues/3",
        "vm_passthrough",
        YES,
        "kvm: vfio: Unable to power on device, stuck in D3\n",
    ),
    case(
        "second start of the guest",
        G + "gnif/vendor-reset/issues/80",
        "vm_passthrough gpu_hardware gpu_driver",
        CANDIDATES,
        "after shutdown and restart of the guest: atombios stuck in loop for more than 20secs aborting\n",
    ),
    case(
        "huge pages that are not there",
        G + "PassthroughPOST/virsh-patcher/issues/5",
        "vm_memory",
        YES,
        "internal error: process exited while connecting to monitor: qemu-system-x86_64: unable to map "
        "backing store for guest RAM: Cannot allocate memory\n",
    ),
    case(
        "directpath wants memory",
        "https://developer.broadcom.com/xapis/virtual-infrastructure-json-api/8.0.2.0/",
        "vm_memory",
        YES,
        "vmDirectPathGen2InactiveReasonVm: vmNptInsufficientMemoryReservation\n",
    ),
)
