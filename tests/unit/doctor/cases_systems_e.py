"""Public threads and pages, fourth round, graded against the one cause that each of them came to: 29 of 48
were right at first sight and one wrong (a good word that was none); four of the six sound outputs were healthy."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, YES, Case, case
from tests.unit.doctor.cases_threads import G

SYSTEMS_THIRD: tuple[Case, ...] = (
    case(
        "only the first entry works",
        G + "NVIDIA/nccl-tests/issues/192",
        "rdma_gid",
        CANDIDATES,
        "when NCCL_IB_GID_INDEX is specified as 3 or 1 (RoCEv2), it does not work anymore; GID 0 works\n",
    ),
    case(
        "lowest entries cannot be read",
        G + "uccl-project/uccl/issues/301",
        "rdma_gid",
        YES,
        "W20250825 11:10:33.595331   331 util_rdma.h:547] NET/IB: read failed in ncclIbRoceGetVersionNum: Invalid "
        "argument\n"
        "F20250825 11:10:33.595355   331 util_rdma.h:592] Check failed: ncclIbRoceGetVersionNum(deviceName, portNum, "
        "gidIndexCandidate, &gidRoceVerNumCandidate)\n",
    ),
    case(
        "tables of two hosts",
        G + "openucx/ucx/issues/7785",
        "rdma_gid",
        YES,
        "ucx_perftest: ud endpoint timeout\n"
        "mu01: GID[  2]:\t\t0000:0000:0000:0000:0000:ffff:0c0c:0c64\n"
        "cu01: GID[  1]:\t\t0000:0000:0000:0000:0000:ffff:0c0c:0c01\n",
    ),
    case(
        "between leaves",
        G + "openucx/ucx/issues/2501",
        "rdma_gid",
        CANDIDATES,
        "transport error: Endpoint timeout\n-x UCX_IB_TRAFFIC_CLASS=106 -x UCX_IB_GID_INDEX=1\n",
    ),
    case(
        "default of a provider",
        G + "ofiwg/libfabric/issues/12673",
        "rdma_gid",
        YES,
        "verbs;ofi_rxd unusable on RoCE v2 with the default, works with FI_VERBS_GID_IDX=3\n",
    ),
    case(
        "taken for an overlay",
        G + "kvcache-ai/Mooncake/issues/2747",
        "rdma_gid",
        YES,
        "| 0     | RoCE v2 | fe80::0690:81ff:fe37:a9e8 | link-local   |\n"
        "| 1     | RoCE v2 | ::ffff:0a66:0965          | 10.102.9.101 |\n"
        "Failed to modify QP to RTR ... timed out [110]\n",
    ),
    case(
        "no header of the network layer",
        G + "efficient/rdma_bench/issues/4",
        "rdma_gid application",
        CANDIDATES,
        "HRD: Failed to modify QP to RTR\n",
    ),
    case(
        "index of a bond",
        G + "apache/brpc/issues/2199",
        "rdma_gid",
        CANDIDATES,
        "rdma_helper.cpp:449] RDMA LID: 0\nrdma_helper.cpp:454] RDMA GID Index: 9\n"
        "RPC call failed [E1008]Reached timeout=2000ms @192.0.2.142:8002\n",
    ),
    case(
        "functions and a hang",
        G + "NVIDIA/nccl/issues/603",
        "pcie_acs",
        CANDIDATES,
        "SR-IOV enabled on the GPU servers: with NCCL_P2P_DISABLE=0 training jobs sometimes hang, with "
        "NCCL_P2P_DISABLE=1 they work\n",
    ),
    case(
        "hang with direct rdma",
        G + "NVIDIA/nccl/issues/1737",
        "pcie_acs",
        CANDIDATES,
        "NCCL hangs when trying to use Direct RDMA; NCCL_NET_GDR_LEVEL=0 works\n",
    ),
    case(
        "access that is illegal",
        G + "NVIDIA/nccl/issues/629",
        "pcie_acs",
        CANDIDATES,
        "an illegal memory access was encountered\n"
        "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
        "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n",
    ),
    case(
        "bridges between nic and gpu",
        G + "openucx/ucx/pull/11412",
        "pcie_acs",
        YES,
        "PCIe ACS bits on intermediate bridges block GPUDirect RDMA between an RDMA NIC and a GPU; errors when the "
        "transport is used\n",
    ),
    case(
        "order of writes",
        G + "openucx/ucx/pull/8062",
        "pcie_acs",
        YES,
        "AMD EPYC: with relaxed order 200Gbps (line rate), otherwise only 150Gbps\n",
    ),
    case(
        "system for hypervisors",
        G + "lxc/incus-os/issues/1071",
        "pcie_acs",
        YES,
        "P2PDMA between GPUs/NICs: ACS on PCIe root ports and switch downstream ports has to be configured, "
        "iommu.forcedac=1\n",
    ),
    case(
        "gpu plugged into a running guest",
        G + "kata-containers/runtime/issues/1128",
        "vm_mmio",
        YES,
        "pci 0000:00:06.0: BAR 1: no space for [mem size 0x400000000 64bit pref]\n"
        "pci 0000:00:06.0: BAR 1: failed to assign [mem size 0x400000000 64bit pref]\n"
        "nvidia_drm: loading out-of-tree module taints kernel.\n",
    ),
    case(
        "root bus of a small guest",
        G + "kata-containers/kata-containers/issues/835",
        "vm_mmio",
        YES,
        "[    9.976683] pci 0000:02:00.0: BAR 1: failed to assign [mem size 0x800000000 64bit pref]\n"
        "[    9.976684] pci 0000:02:00.0: BAR 3: no space for [mem size 0x02000000 64bit pref]\n",
    ),
    case(
        "firmware below four",
        G + "tianocore/edk2/issues/59",
        "vm_mmio",
        YES,
        'OVMF: 64MMIO / "above 4G decoding" for a Tesla K80 pass-through to qemu\n',
    ),
    case(
        "bar of sixteen functions",
        G + "cloud-hypervisor/cloud-hypervisor/issues/4375",
        "vm_mmio",
        CANDIDATES,
        "[    1.654374] pci 0000:00:05.0: VF(n) BAR0 space: [mem 0xfc000000-0x13bffffff] (contains BAR0 for 16 VFs)\n"
        "no GPU in the guest\n",
    ),
    case(
        "reservation of a number",
        "https://serverdevworker.com/14037ed7e2",
        "vm_memory",
        YES,
        "Failed - Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize(2048)\n",
    ),
    case(
        "pages of a guest",
        G + "cloud-hypervisor/cloud-hypervisor/issues/165",
        "host_limits vm_memory",
        CANDIDATES,
        "[  365.159219] vfio_pin_pages_remote: RLIMIT_MEMLOCK (4194304) exceeded\n",
    ),
    case(
        "pages of a mediated device",
        G + "intel/gvt-linux/issues/78",
        "host_limits vm_memory",
        CANDIDATES,
        "vfio_pin_page_external: Task qemu-system-x86 (2296) RLIMIT_MEMLOCK (65536) exceeded\n",
    ),
    case(
        "group with a stranger",
        G + "BigAnteater/KVM-GPU-Passthrough/issues/19",
        "vm_passthrough",
        YES,
        "vfio 0000:09:00.0: group 2 is not viable\n"
        "Please ensure all devices within the iommu_group are bound to their vfio bus driver.\n",
    ),
    case(
        "group of somebody else",
        G + "joeknock90/Single-GPU-Passthrough/issues/103",
        "vm_passthrough",
        YES,
        "qemu-system-x86_64: vfio: Cannot reset device 0000:03:00.0, depends on group 14 which is not owned.\n",
    ),
    case(
        "device that is mediated already",
        G + "DualCoder/vgpu_unlock/issues/71",
        "vm_passthrough",
        YES,
        "Verify all devices in group 25 are bound to vfio-<bus> or pci-stub and not already in use\n",
    ),
    case(
        "nested guest",
        "https://knowledge.broadcom.com/external/article/437651/unable-to-enable-expose-hardware-assiste.html",
        "vm_passthrough",
        YES,
        "Virtualization is not supported on a virtual machine with a PCI passthrough device.\n",
    ),
    case(
        "slot that the host unplugs",
        "HPE support, document a00121002en_us; Broadcom: VM with GPU in passthrough fails to start on HPE",
        "esxi_host",
        CANDIDATES,
        "Module DevicePowerOn power on failed. Failed to start the virtual machine. Device 6:0.0 is not a passthrough "
        "device.\n"
        "cpu98:2097948)PCIEHP: 1496: 0000:a8:01.0: hotplug slot:0x1 (0000:a9:00.0) Adapter removed.\n",
    ),
    case(
        "tree of the host in a guest",
        G + "NVIDIA/nccl/issues/977",
        "topology",
        YES,
        "hpc-10:52319:52461 [3] NCCL INFO Could not find real path of /sys/class/pci_bus/0000:4f/../../0000:4f:00.0\n"
        "NCCL_TOPO_FILE=./system-vm-gpu-nic.xml, only 2 of 8 NICs used\n",
    ),
    case(
        "nics in another order",
        G + "NVIDIA/nccl/issues/820",
        "topology",
        CANDIDATES,
        "allreduce slower in some process groups: GPU 0 thinks NIC 1 is closer and GPU 1 thinks NIC 0 is closer, "
        "PEX88096 virtual bridge\n",
    ),
    case(
        "same number, other rail",
        G + "NVIDIA/nccl/issues/1755",
        "topology fabric_routing",
        CANDIDATES,
        "GPU-0 of Srv-0 gets mapped to the NIC in 10.200.0.x/24 and GPU-0 of Srv-1 to the NIC in 10.200.1.x/24\n",
    ),
    case(
        "guest without a hierarchy",
        G + "NVIDIA/nccl/issues/1674",
        "topology",
        YES,
        "nvidia-smi topo -m in the VM: all PHB, NUMA of the NICs -1, no hierarchy as on the host\n",
    ),
    case(
        "nodes of a socket",
        G + "ovh/infrastructure-roadmap/issues/468",
        "numa_bios",
        YES,
        "EPYC 9005 shipped with NPS4, exposes 4 NUMA nodes; numa=off only makes the OS ignore them\n",
    ),
    case(
        "functions that are switched off",
        G + "k8snetworkplumbingwg/sriov-network-device-plugin/issues/601",
        "nic_firmware",
        YES,
        "        SRIOV_EN                                    False(0)\n"
        "        NUM_OF_VFS                                  0\n"
        "ConnectX-7 does not create vf\n",
    ),
    case(
        "mode of a switch inside",
        G + "k8snetworkplumbingwg/sriov-network-operator/issues/1015",
        "nic_firmware guest_driver",
        CANDIDATES,
        "can't set eSwitch mode to [switchdev] on device [0101:00:00.0]: invalid argument\n"
        "bad resource state(0x9), syndrome (0x98afbb)\n",
    ),
    case(
        "path larger than the wire",
        G + "tensorflow/tensorflow/pull/9667",
        "nic_mtu",
        YES,
        "attr.path_mtu = IBV_MTU_4096 but ports are configured with MTU 1500: retry count exceeded\n",
    ),
    case(
        "size that is refused",
        G + "FDio/csit/issues/4048",
        "nic_mtu",
        YES,
        "ip link set ens4f0np0 mtu 9200\nRTNETLINK answers: Invalid argument\n3502 is the largest not refused\n",
    ),
    case(
        "hiccups of a new version",
        G + "NVIDIA/nccl/issues/306",
        "nic_qos switch_config",
        CANDIDATES,
        "RoCE, all_reduce: 10 GB/s with NCCL 2.5, with 2.6 hiccups down to 0.x GB/s\n",
    ),
    case(
        "queue that does not move",
        "https://www.juniper.net/documentation/us/en/software/junos/qfabric-troubleshooting/topics/task/"
        "port-reset-queue-stops-transmitting-traffic-qfx-series.html",
        "switch_config nic_qos",
        CANDIDATES,
        "queue did not transmit packets for 12 consecutive seconds, port reset; continuous PFC or PAUSE received\n",
    ),
    case(
        "connection manager alone",
        G + "linux-rdma/perftest/issues/132",
        "fabric_routing host_routing",
        CANDIDATES,
        "ib_write_bw works, ib_write_bw -R: Failed to modify QP to RTS\nUnable to Connect the HCA's through the link\n",
    ),
    case(
        "driver container on a cloud",
        G + "Mellanox/doca-driver-build/issues/52",
        "guest_driver",
        YES,
        "Unloading HCA driver:[  OK  ]\nFailed loading kernel module mlx5_ib:[FAILED]\n"
        "Loading Mellanox MLX5_IB HCA driver:[FAILED]\n",
    ),
    case(
        "module of the distribution beside it",
        G + "Mellanox/doca-driver-build/pull/51",
        "guest_driver",
        YES,
        "[15441.935171] mlx5_vdpa: disagrees about version of symbol mlx5_db_free\n",
    ),
    case(
        "peer module of another build",
        G + "Mellanox/nv_peer_memory/issues/28",
        "guest_driver",
        YES,
        "modprobe: ERROR: could not insert 'nv_peer_mem': Invalid argument\n",
    ),
    case(
        "packages of a kernel that is gone",
        G + "Mellanox/network-operator/pull/1450",
        "guest_driver",
        YES,
        "mlnx-ofed-kernel-modules : Depends: linux-modules-extra-5.15.0-130-generic but it is not installable\n",
    ),
    case(
        "events that the module lacks",
        G + "openucx/ucx/issues/6906",
        "guest_driver",
        YES,
        "mlx5dv_devx_create_event_channel() failed\nmodinfo mlx5_ib: intree: Y, "
        "/lib/modules/3.10.0-1160.62.1.el7.x86_64/kernel/drivers/infiniband/hw/mlx5/mlx5_ib.ko.xz\n",
    ),
    case(
        "hooks of two versions",
        G + "NVIDIA/gds-nvidia-fs/issues/87",
        "guest_driver",
        YES,
        "nvidia-fs binds nvme_v1_register_nvfs_dma_ops while the nvme module of DOCA-OFED exports nvme_v2: compat "
        "mode\n",
    ),
    case(
        "configuration in another place",
        G + "openucx/ucx/issues/11540",
        "guest_kernel guest_driver",
        CANDIDATES,
        "GPUDirect RDMA is not supported on Fedora CoreOS, bnxt_re0, no /boot/config of the kernel\n",
    ),
    case(
        "device memory that is counted",
        G + "NVIDIA/NV-Kernels/pull/249",
        "guest_kernel vm_passthrough host_limits",
        CANDIDATES,
        "IOMMUFD: ENOMEM for large device BARs that exceed the memlock limit of qemu\n",
    ),
    case(
        "no carrier with a reason",
        "https://docs.nvidia.com/networking/display/FREEBSDv371/Port+Down+State+Diagnostics",
        "cabling",
        YES,
        "mce0: flags=8843<UP,BROADCAST,RUNNING>\nstatus: no carrier (FEC sync loss)\n",
    ),
    case(
        "reason of the monitor",
        "https://docs.nvidia.com/networking/display/nvidiamlnxosusermanualv3126000/link+diagnostic+per+port",
        "cabling",
        YES,
        "Status Opcode : 16\nRecommendation : Cable compliance code mismatch (protocol mismatch between cable and "
        "port)\n",
    ),
)

SYSTEMS_THIRD_SOUND: tuple[tuple[str, str, str], ...] = (
    (
        "link that is well",
        "http://kontronn.com/network/using-mlxlink-to-inspect-the-status-of-nvidia-cx-6-nic-and-optical-modules",
        "State                           : Active\nPhysical state                  : ETH_AN_FSM_ENABLE\n"
        "Speed                           : 200G\nFEC                             : Standard RS-FEC (544,514)\n"
        "Status Opcode                   : 0\nRecommendation                  : No issue was observed\n",
    ),
    (
        "module that was plugged",
        "https://docs.nvidia.com/networking/display/FREEBSDv371/Port+Down+State+Diagnostics",
        "mlx5_core0: INFO: mlx5_port_module_event:710:(pid 11): Module 0, status: plugged and enabled\nState: Active\n",
    ),
    (
        "firmware menu",
        G + "cncf/cnf-testbed/issues/129",
        "  |  Above 4G Decoding                         [Enabled]               |\n"
        "  |  SR-IOV Support                            [Enabled]               |\n"
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 186.351\n",
    ),
    (
        "bridges that let pass",
        G + "NVIDIA/nccl/issues/606",
        "                ACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
        "                ACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
        "# Out of bounds values : 0 OK\n",
    ),
    (
        "window that grew",
        G + "tianocore/edk2/pull/12997",
        "PlatformDynamicMmioWindow: using dynamic mmio window\n"
        "PlatformDynamicMmioWindow:   MMIO Space 0x100000000000 (16384 GB)\n"
        "# Out of bounds values : 0 OK\n",
    ),
    (
        "rings over every nic",
        G + "NVIDIA/nccl/issues/601",
        "gpu24:1188:1203 [3] NCCL INFO Pattern 3, crossNic 0, nChannels 0, speed 0.000000/0.000000, type NVL/PIX, "
        "sameChannels 1\n"
        "gpu24:1188:1203 [3] NCCL INFO comm 0x7fe9c0000fa0 rank 3 nranks 8 cudaDev 3 busId af000 - Init COMPLETE\n",
    ),
)
