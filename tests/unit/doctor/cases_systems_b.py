"""Public threads about topology, firmware, drivers, kernels, fabrics and cables, second half of ``cases_systems_a``."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, YES, Case, case
from tests.unit.doctor.cases_threads import G

SYSTEMS_B: tuple[Case, ...] = (
    case(
        "virtual bridge of a vm",
        G + "NVIDIA/nccl/issues/749",
        "topology",
        YES,
        '<pci busid="ffff:ff:00.0" class="0x060400" vendor="0x104c" device="0x8232" link_speed="2.5 GT/s" '
        'link_width="1">\n'
        "2 rings@0.12GB/s\n",
    ),
    case(
        "narrow tree",
        G + "NVIDIA/nccl-tests/issues/256",
        "topology",
        YES,
        "gpu02:4254:4327 [5] NCCL INFO === System : maxBw 48.0 totalBw 370.8 ===\n"
        "gpu02:4254:4327 [5] NCCL INFO + PCI[0.2] - PCI/0-65000 (104c823200000000)\n",
    ),
    case(
        "level or file",
        G + "Azure/aks-rdma-infiniband/pull/36",
        "topology",
        YES,
        "setting either NCCL_NET_GDR_LEVEL=SYS or NCCL_TOPO_FILE lets NCCL reach the optimal bandwidth; "
        "without it GPUDirect RDMA is not used\n",
    ),
    case(
        "flat tree of a hypervisor",
        G + "NVIDIA/nccl/issues/1464",
        "topology pcie_acs",
        CANDIDATES,
        "NCCL INFO GPU Direct RDMA Disabled for GPU 3 / HCA 1 (distance 8 > 4), read 0\n"
        "Proxmox VM; bare metal is fine\n",
    ),
    case(
        "other socket with ucx",
        G + "openucx/ucx/issues/11121",
        "topology numa_bios",
        CANDIDATES,
        "GPU on a different NUMA node than the NIC: bandwidth drops from 85 to 65 Gb/s with UCX; with one "
        "NUMA node per host GPUDirect RDMA works again\n",
    ),
    case(
        "warnings until the update",
        G + "openucx/ucx/issues/9468",
        "nic_firmware guest_driver",
        CANDIDATES,
        "Failed to modify UD QP to INIT on mlx5_bond_0: Invalid argument\n",
    ),
    case(
        "devx objects time out",
        G + "openucx/ucx/issues/7738",
        "nic_firmware",
        CANDIDATES,
        "dc_mlx5_devx.c:78   UCX  ERROR mlx5dv_devx_obj_create(DCT) failed, syndrome 0: Connection timed out\n"
        "ib_mlx5.c:93   UCX  ERROR mlx5dv_create_cq(cqe=4608) failed: Operation canceled\n",
    ),
    case(
        "signature of an image",
        G + "sonic-net/sonic-buildimage/pull/13465",
        "nic_firmware",
        YES,
        "Device #1: Updating FW ...\n"
        "Writing Boot image component -   OK\n"
        "Fail : The Digest in the signature is wrong\n",
    ),
    case(
        "degraded after a hot plug",
        G + "NVIDIA/dgx-spark-playbooks/pull/108",
        "nic_firmware",
        CANDIDATES,
        "ethtool: Speed 200000Mb/s; ib_write_bw with eight QPs only 13.23 Gb/s, link counters clean\n"
        "ConnectX firmware 28.45.4028\n",
    ),
    case(
        "vm without its device",
        G + "Azure/azhpc-diagnostics/issues/26",
        "nic_firmware guest_driver",
        CANDIDATES,
        "VM with ConnectX-5: no IB devices found; known issue of the firmware\n",
    ),
    case(
        "symbol with err 0",
        G + "Mellanox/nv_peer_memory/issues/84",
        "guest_driver",
        YES,
        "modprobe: ERROR: could not insert 'nv_peer_mem': Unknown symbol in module, or unknown parameter "
        "(see dmesg)\n"
        "nv_peer_mem: Unknown symbol ib_register_peer_memory_client (err 0)\n",
    ),
    case(
        "file server module beside ofed",
        G + "namjaejeon/ksmbd/issues/485",
        "guest_driver",
        YES,
        "ksmbd: disagrees about version of symbol ib_mr_pool_destroy\n"
        "ksmbd: Unknown symbol ib_mr_pool_destroy (err -22)\n",
    ),
    case(
        "lustre after a kernel update",
        G + "Seagate/cortx-motr/issues/17",
        "guest_driver",
        YES,
        "LNetError: 172781:0:(api-ni.c:2533:lnet_startup_lndnet()) Can't load LND o2ib, module ko2iblnd, "
        "rc=256\n"
        "ko2iblnd: disagrees about version of symbol ib_fmr_pool_unmap\n",
    ),
    case(
        "kernel that ofed does not know",
        G + "Azure/azhpc-images/pull/119",
        "guest_driver",
        YES,
        "openibd: Module mlx5_ib belong to a kernel which is not a part of MLNX_OFED, skipping\n",
    ),
    case(
        "ioctl that the driver has not",
        G + "openucx/ucx/issues/5469",
        "guest_driver",
        YES,
        "ib_verbs.h:84   UCX  ERROR ibv_exp_query_device(mlx5_0) returned 38: Inappropriate ioctl for device\n",
    ),
    case(
        "newer nic than library",
        G + "openucx/ucx/issues/4556",
        "guest_driver container",
        CANDIDATES,
        "ib_iface.c:947  UCX  ERROR Invalid active_width on mlx5_0:1: 16\n"
        "ib_iface.c:618  UCX  ERROR ibv_create_cq(cqe=4096) failed: Invalid argument\n",
    ),
    case(
        "ucx of another ofed",
        G + "openucx/ucx/issues/4883",
        "guest_driver container",
        CANDIDATES,
        "ucx_info: symbol lookup error: /opt/ucx/lib/ucx/libuct_ib.so.0: undefined symbol: uct_ib_exp_qp_fill_attr\n",
    ),
    case(
        "ofed that ucx gave up",
        G + "openucx/ucx/issues/8604",
        "guest_driver nic_firmware",
        CANDIDATES,
        "UCX  ERROR ibv_modify_qp(DCI, RTR) failed : Invalid argument\nofed_info -s: MLNX_OFED_LINUX-4.9-5.1.0.0:\n",
    ),
    case(
        "dma-buf and an old driver",
        G + "NVIDIA/nccl/issues/778",
        "guest_driver nccl_version guest_kernel",
        YES,
        "misc/ibvwrap.cc:288 NCCL WARN Call to ibv_reg_dmabuf_mr failed with error Operation not supported\n",
    ),
    case(
        "perftest with dma-buf",
        G + "linux-rdma/perftest/issues/280",
        "guest_driver guest_kernel",
        YES,
        "./ib_write_bw -d mlx5_1 --use_cuda=1 --use_cuda_dmabuf\nCouldn't allocate MR with error=93\n",
    ),
    case(
        "kernel 5.10 exports and cannot import",
        G + "perplexityai/pplx-garden/pull/3",
        "guest_kernel guest_driver",
        YES,
        "DMA-BUF registration fails: libibverbs returns EPROTONOSUPPORT\nLinux 5.10.0, MLNX 23.10\n",
    ),
    case(
        "memory of another process",
        G + "perplexityai/pplx-garden/issues/4",
        "guest_kernel guest_driver",
        CANDIDATES,
        "libfabric:6413:efa:mr:efa_mr_reg_impl():849<warn> Unable to register MR of 146800640 bytes: Bad "
        "address, ibv pd: 0x7f2128005540\n",
    ),
    case(
        "mapped gpu memory",
        G + "NVIDIA/gdrcopy/issues/266",
        "guest_driver application",
        CANDIDATES,
        "ibv_reg_mr of memory mapped with gdr_map fails, errno EFAULT\n",
    ),
    case(
        "amd without the part",
        G + "siderolabs/pkgs/pull/1488",
        "guest_kernel",
        YES,
        "# CONFIG_HSA_AMD_P2P is not set\n# CONFIG_DMABUF_MOVE_NOTIFY is not set\n",
    ),
    case(
        "gate in the driver",
        G + "ROCm/amdgpu/pull/210",
        "guest_kernel gpu_driver",
        YES,
        "CONFIG_HSA_AMD_P2P is disabled on mainline kernels even when CONFIG_PCI_P2PDMA=y; no GPU-to-GPU P2P "
        "through PCIe switches\n",
    ),
    case(
        "registration of gpu memory",
        G + "Mellanox/nv_peer_memory/issues/115",
        "guest_driver",
        YES,
        "misc/ibvwrap.cc:190 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Bad address\n",
    ),
    case(
        "ethernet card of intel",
        G + "NVIDIA/nccl/issues/622",
        "cabling guest_driver nic_firmware rdma_gid switch_config",
        CANDIDATES,
        "CA 'rocep216s0f0'\n"
        "State: Down\n"
        "Physical state: Disabled\n"
        "gpu01:196207:196244 [0] misc/ibvwrap.cc:284 NCCL WARN Call to ibv_modify_qp failed with error "
        "Invalid argument\n",
    ),
    case(
        "one ethernet port among infiniband",
        G + "NVIDIA/nccl/issues/302",
        "run_env nccl_version topology",
        CANDIDATES,
        "NCCL INFO NET/IB : Using [0]mlx5_3:1/IB [1]mlx5_0:1/IB [2]mlx5_2:1/RoCE [3]mlx5_4:1/IB ; OOB "
        "eth0:192.0.2.27<0>\n"
        "misc/ibvwrap.cc:284 NCCL WARN Call to ibv_modify_qp failed with error Invalid argument\n",
    ),
    case(
        "gdr fallback on an old kernel",
        G + "openucx/ucx/pull/11957",
        "guest_kernel guest_driver",
        CANDIDATES,
        "dma-buf support is not available on linux kernel 5.15, peermem is not usable\n",
    ),
    case(
        "one subnet for eight nics",
        G + "NVIDIA/nccl/issues/1109",
        "host_routing fabric_routing",
        YES,
        "8 NICs of each node in one /24: MAC and ARP reply of all of them are seen on one interface per node\n",
    ),
    case(
        "cross-rail with one switch",
        G + "NVIDIA/nccl/issues/1348",
        "fabric_routing host_routing",
        CANDIDATES,
        "each rail has its own subnet; cross-rail traffic causes the NCCL initialization to fail, ARP flux\n",
    ),
    case(
        "two gpus of other rails",
        G + "NVIDIA/nccl/issues/836",
        "fabric_routing",
        YES,
        "communicator of GPU 0 on one node and GPU 6 on another; rails are not connected at the top\n",
    ),
    case(
        "bandwidth falls to nothing",
        G + "NVIDIA/nccl/issues/378",
        "switch_config nic_qos",
        CANDIDATES,
        "RoCE, 4 nodes: busbw falls to 0.3 GB/s at 128 MB, small sizes are fine\n",
    ),
    case(
        "no light",
        G + "ovro-lwa/lwa-issues/issues/350",
        "cabling",
        YES,
        "the switch reports a transceiver installed on port 11, but no link detected\n",
    ),
    case(
        "slower than it was",
        G + "gnacho/netpulse/issues/308",
        "cabling",
        YES,
        "port renegotiated to a lower speed than its historical norm: 100 Mbps where it always ran 1 Gbps\n",
    ),
    case(
        "module that flaps",
        G + "dentproject/dentOS/issues/265",
        "cabling",
        YES,
        "sfp sfp-11: module Intel Corp       AFBR-703SDZ-IN2  rev G2.3\ncontinuous link flaps on port 11\n",
    ),
    case(
        "optics over a transport",
        G + "sonic-net/SONiC/issues/521",
        "cabling switch_config",
        CANDIDATES,
        "100G LR4 port stays down over optical transport, remote fault; direct patch works\n",
    ),
)

SYSTEMS_SOUND: tuple[tuple[str, str, str], ...] = (
    (
        "rdma links that are up",
        "rdma-link(8)",
        "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1f0np0\n"
        "link mlx5_1/1 state ACTIVE physical_state LINK_UP netdev ens1f1np1\n",
    ),
    (
        "ibstat of a RoCE port",
        G + "microsoft/mscclpp/issues/431",
        "CA 'mlx5_0'\n"
        "\tCA type: MT4125\n"
        "\tFirmware version: 22.38.1900\n"
        "\tPort 1:\n"
        "\t\tState: Active\n"
        "\t\tPhysical state: LinkUp\n"
        "\t\tRate: 100\n"
        "\t\tBase lid: 0\n"
        "\t\tSM lid: 0\n"
        "\t\tLink layer: Ethernet\n",
    ),
    (
        "window of a guest's firmware",
        G + "tianocore/edk2/pull/12997",
        "PlatformAddressWidthFromCpuid: limit PhysBits to 46 (4-level paging)\n"
        "PlatformDynamicMmioWindow: using dynamic mmio window\n"
        "PlatformDynamicMmioWindow:   MMIO Space 0x100000000000 (16384 GB)\n"
        "total images/sec: 8400.66\n",
    ),
    (
        "vfio takes its devices",
        "kernel: drivers/vfio/pci",
        "VFIO - User Level meta-driver version: 0.3\n"
        "vfio_pci: add [10de:2330[ffffffff:ffffffff]] class 0x000000/00000000\n"
        "vfio-pci 0000:3b:00.0: enabling device (0000 -> 0002)\n"
        "vfio-pci 0000:3b:00.0: vfio_ecap_init: hiding ecap 0x19@0x900\n"
        "vfio-pci 0000:3b:00.0: vfio_bar_restore: reset recovery - restoring BARs\n",
    ),
    (
        "guest gets its bars",
        "kernel: drivers/pci/setup-res.c",
        "pci 0000:06:00.0: BAR 0 [mem 0x382000000000-0x382fffffffff 64bit pref]: assigned\n"
        "pci 0000:06:00.0: reg 0x14: [mem 0x382000000000-0x382fffffffff 64bit pref]\n"
        "pci_bus 0000:06: resource 2 [mem 0x382000000000-0x382fffffffff 64bit pref]\n",
    ),
    (
        "bnxt comes up",
        "kernel: drivers/net/ethernet/broadcom/bnxt",
        "bnxt_en 0000:41:00.0 ens1np0: NIC Link is Up, 200000 Mbps full duplex, Flow control: none\n"
        "bnxt_en 0000:41:00.0 ens1np0: FEC autoneg off encoding: Clause 119 RS544\n"
        "bnxt_re bnxt_re0: Low latency framework is enabled\n",
    ),
    (
        "passthrough list of a host",
        "esxcli reference",
        "Device ID     Enabled\n"
        "------------  -------\n"
        "0000:3b:00.0     true\n"
        "0000:5e:00.0    false\n"
        "Maintenance Mode: Disabled\n",
    ),
    (
        "numactl of a server",
        "numactl(8)",
        "available: 2 nodes (0-1)\n"
        "node 0 cpus: 0 1 2 3\n"
        "node distances:\n"
        "node   0   1\n"
        "  0:  10  21\n"
        "  1:  21  10\n"
        "total images/sec: 8400.66\n",
    ),
    (
        "mlxlink of a good port",
        "mlxlink documentation",
        "State                           : Active\n"
        "Physical state                  : LinkUp\n"
        "Speed                           : 400G\n"
        "Troubleshooting Info\n"
        "Status Opcode                   : 0\n"
        "Recommendation                  : No issue was observed\n"
        "Effective Physical BER          : 15E-255\n"
        "Link Down Counter               : 0\n",
    ),
    (
        "peer memory client",
        "nvidia-peermem",
        "nvidia_peermem         16384  0\n"
        "ib_core               442368  9 "
        "rdma_cm,ib_ipoib,nvidia_peermem,iw_cm,ib_umad,rdma_ucm,ib_uverbs,mlx5_ib,ib_cm\n"
        "successfully loaded nvidia-peermem module, now waiting for signal\n",
    ),
)
