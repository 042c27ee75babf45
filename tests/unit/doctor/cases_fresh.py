"""Public threads again, read after the rules had been mended for those of ``cases_threads``: they say whether the rules
became more general. When they were written, 18 of 22 and 4 of 7 sound outputs were right, none wrong."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, NO, YES, Case, case
from tests.unit.doctor.cases_threads import G, W

FRESH: tuple[Case, ...] = (
    case(
        "one node per socket",
        G + "NVIDIA/nccl/issues/1285",
        "numa_bios pcie_acs topology",
        CANDIDATES,
        "Model name: AMD EPYC 7K62 48-Core Processor\nNUMA node(s): 2\np2p between GPUs is slow, busbw 3.1 instead "
        "of 20 "
        "GB/s\n",
    ),
    case(
        "algorithm that got worse",
        G + "NVIDIA/nccl/issues/2035",
        "nccl_version",
        CANDIDATES,
        "NCCL version 2.29.7+cuda13.1\nNVLSTree on 4 nodes: 200 GB/s; NCCL_ALGO=Ring works: 760 GB/s\n",
    ),
    case(
        "ranks run other collectives",
        G + "Lightning-AI/pytorch-lightning/issues/19045",
        "application",
        YES,
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 3 is running collective: "
        "CollectiveFingerPrint(SequenceNumber=152517, OpType=BROADCAST, TensorShape=[1]), but Rank 0 is running "
        "collective: CollectiveFingerPrint(SequenceNumber=0OpType=REDUCE).\n",
    ),
    case(
        "more data on one rank",
        G + "k2-fsa/snowfall/issues/152",
        "application",
        CANDIDATES,
        "rank 0: 1204 utterances, rank 1: 1201 utterances\nthe rank with the most utterances hangs at the end of the "
        "epoch\n",
    ),
    case(
        "attributes of a file server",
        G + "NVIDIA-NeMo/Speech/issues/7756",
        "application host_limits guest_kernel",
        YES,
        'Traceback (most recent call last):\n  File "megatron/core/dist_checkpointing/strategies/zarr.py", line '
        "63, in "
        "save\nCheckpointingException: Zarr directory not found: /nfs/ckpt/model.layers.0\n",
    ),
    case(
        "stands still while it saves",
        G + "tdrussell/qlora-pipe/issues/19",
        "",
        NO,
        "node04: Running eval\nnode04: [E ProcessGroupNCCL.cpp:474] [Rank 7] Watchdog caught collective operation "
        "timeout: "
        "WorkNCCL(SeqNum=5727, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800240 "
        "milliseconds "
        "before timing out.\n",
    ),
    case(
        "keys that killed processes left",
        G + "kvcache-ai/Mooncake/pull/1765",
        "host_limits guest_driver nic_firmware",
        CANDIDATES,
        "E0329 10:11:12.133 rdma_context.cpp:201] Failed to register memory 0x7f4680000000: Resource temporarily "
        "unavailable [11]\n",
    ),
    case(
        "limit below what is registered",
        G + "kvcache-ai/Mooncake/pull/1405",
        "host_limits container",
        CANDIDATES,
        "E0119 10:11:12.133 rdma_context.cpp:201] Failed to register memory 0x7f4680000000: Cannot allocate memory "
        "[12]\n",
    ),
    case(
        "memory of a gpu cannot be registered",
        G + "kvcache-ai/Mooncake/issues/351",
        "guest_driver run_env application guest_kernel",
        CANDIDATES,
        "E0429 07:15:48.497743  1710 rdma_context.cpp:201] Failed to register memory 0x7f4680000000: Bad address "
        "[14]\n",
    ),
    case(
        "no index that fits",
        G + "kvcache-ai/Mooncake/issues/1592",
        "rdma_gid",
        YES,
        "E0302 10:03:01.210035 72983 rdma_context.cpp:512] No suitable GID found on rocep153s0\n",
    ),
    case(
        "vfio may not lock the guest",
        G + "kubevirt/kubevirt/issues/8472",
        "host_limits vm_memory container",
        CANDIDATES,
        "[  +0.001779] vfio_pin_pages_remote: RLIMIT_MEMLOCK (65536) exceeded\nmax locked memory       (kbytes, -l) "
        "64\n",
    ),
    case(
        "libvirt may not raise the limit",
        G + "kubevirt/kubevirt/issues/10379",
        "vm_memory container host_limits",
        CANDIDATES,
        "server error. command SyncVMI failed: LibvirtError(Message='internal error: Process exited prior to exec: "
        "libvirt:  error : cannot limit locked memory of process 84 to 9074376704: Operation not permitted')\n",
    ),
    case(
        "two devices pin the guest twice",
        G + "kubevirt/kubevirt/issues/18915",
        "vm_memory host_limits container",
        CANDIDATES,
        "internal error: QEMU unexpectedly closed the monitor: vfio 0000:3b:00.0: failed to setup container for "
        "group 9: "
        "memory listener initialization failed: Region ram-node0: vfio_container_dma_map = -12 (Cannot allocate "
        "memory)\n",
    ),
    case(
        "group with another device",
        G + "kubevirt/kubevirt/issues/4950",
        "vm_passthrough",
        YES,
        "qemu-kvm: -device vfio-pci,host=0000:01:00.0: vfio 0000:01:00.0: group 1 is not viable\nPlease ensure all "
        "devices "
        "within the iommu_group are bound to their vfio bus driver.\n",
    ),
    case(
        "module that the container never had",
        G + "NVIDIA/gpu-operator/issues/2619",
        "guest_driver gpu_driver",
        YES,
        "The NVIDIA driver is already loaded with the desired configuration, performing userspace-only "
        "install\nmodprobe: "
        "FATAL: Module nvidia-peermem not found in directory /lib/modules/6.8.0-1059-azure\n",
    ),
    case(
        "peermem holds the stack",
        G + "Mellanox/doca-driver-build/pull/481",
        "guest_driver",
        YES,
        "rmmod: ERROR: Module ib_uverbs is in use by: nvidia_peermem\nFailed to unload the driver stack, openibd "
        "restart\n",
    ),
    case(
        "filter that leaves no interface",
        G + "marin-community/marin/issues/7018",
        "run_env host_routing",
        YES,
        "Failed to create NCCL communicator: INTERNAL: ncclCommInitRankConfig failed: invalid usage. Last NCCL "
        "warning(error): 'Bootstrap : no socket interface found'\n",
    ),
    case(
        "link-local bootstrap",
        G + "uccl-project/uccl/pull/1034",
        "host_routing run_env",
        YES,
        W + "NCCL INFO Bootstrap: Using enP2p1s0f0:169.254.3.1<0>\n" + W + "NCCL WARN socketStartConnect: Connect to "
        "169.254.3.1<40211> failed : Connection refused\n",
    ),
    case(
        "bootstrap by way of a veth",
        G + "NVIDIA/nccl/issues/913",
        "host_routing run_env",
        CANDIDATES,
        W + "NCCL INFO Bootstrap : Using veth1a2b3c4:fe80::42:acff:fe11:2%veth1a2b3c4<0>\nncclCommInitRank hangs\n",
    ),
    case(
        "loopback by name",
        G + "NVIDIA/nccl/issues/286",
        "run_env host_routing",
        CANDIDATES,
        W + "NCCL INFO NCCL_SOCKET_IFNAME set by environment to lo\n" + W + "NCCL INFO Bootstrap : Using "
        "[0]lo:127.0.0.1<0>\n"
        + W
        + "NCCL WARN Net : Call to recv from 127.0.0.1<33411> failed : Connection reset by peer\n",
    ),
    case(
        "card that sits loosely",
        G + "NVIDIA/open-gpu-kernel-modules/issues/387",
        "gpu_hardware",
        CANDIDATES,
        "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error\n",
    ),
    case(
        "checksums that a switch spoilt",
        "http://securiosity.blogspot.com/2014/09/troubleshooting-crc-and-input-errors.html",
        "switch_config cabling nic_mtu",
        CANDIDATES,
        "Ethernet1/5 is up\n    0 runts  0 giants  51233 CRC  0 no buffer\n    51233 input error  0 short frame\n  "
        "HW MTU: "
        "1500 (1500 configured)\n",
    ),
)

DONE = "total images/sec: 8400.66\n"
FRESH_SOUND: tuple[tuple[str, str, str], ...] = (
    (
        "power cap under load",
        G + "mlfoundations/open_clip/issues/703",
        "    Clocks Event Reasons\n        Idle                              : Not Active\n        SW Power Cap      "
        "        "
        "        : Active\n        HW Slowdown                       : Not Active\n            HW Thermal Slowdown   "
        "      "
        "  : Not Active\n            HW Power Brake Slowdown       : Not Active\n",
    ),
    (
        "bond of two ports",
        G + "NVIDIA/nccl/pull/2150",
        "Ethernet Channel Bonding Driver: v6.6\nBonding Mode: IEEE 802.3ad Dynamic link aggregation\nMII Status: "
        "up\n802.3ad "
        "info\nLACP active: on\nPartner Mac Address: 00:00:5e:00:01:01\nSlave Interface: reth0\nMII Status: up\nSpeed: "
        "400000 Mbps\nDuplex: full\nLink Failure Count: 0\nActor Churn State: none\nPartner Churn State: none\nActor "
        "Churned Count: 0\n",
    ),
    (
        "bridges that do not redirect",
        G + "NVIDIA/nccl/issues/1405",
        "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X "
        "\tPIX\tPIX\t0-37,76-113\t0\t\tN/A\nGPU1\tPIX\t X "
        "\tPIX\t0-37,76-113\t0\t\tN/A\n  ACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- "
        "DirectTrans-\n",
    ),
    (
        "module of peer memory is built",
        G + "Mellanox/nv_peer_memory/issues/8",
        "Kernel preparation unnecessary for this kernel.  Skipping...\nBuilding module:\ncleaning build "
        "area....\nDKMS: build "
        "completed.\nnv_peer_mem:\nRunning module version sanity check.\n - Original module\n   - No original module "
        "exists "
        "within this kernel\n - Installation\n   - Installing to /lib/modules/6.8.0-45-generic/updates/dkms/\nDKMS: "
        "install "
        "completed.\nsuccessfully loaded nvidia-peermem module, now waiting for signal\n",
    ),
    (
        "image that is about to go",
        G + "NVIDIA/nvidia-container-toolkit/issues/69",
        "==========\n== CUDA ==\n==========\n\nCUDA Version 11.4.0\n\nContainer image Copyright (c) 2016-2022, NVIDIA "
        "CORPORATION & AFFILIATES. All rights reserved.\n\n*************************\n** DEPRECATION NOTICE! **\n"
        "*************************\nTHIS IMAGE IS DEPRECATED and is scheduled for DELETION.\n| NVIDIA-SMI 525.85.12  "
        "  Driver "
        "Version: 525.85.12    CUDA Version: 12.0     |\n",
    ),
    (
        "steps of RETURNN",
        G + "rwth-i6/returnn/issues/1485",
        "ep 27 train, step 37, ce 5.456, ctc_17 6.806, fer 0.872, mem_usage:cuda:3 6.7GB, 0.169 sec/step\nep 27 "
        "train, step "
        "37, ce 5.190, ctc_17 6.508, fer 0.851, mem_usage:cuda:0 6.8GB, 0.172 sec/step\n"
        "Finished training in epoch 27\n",
    ),
    (
        "VM that was started",
        G + "kubevirt/kubevirt/issues/10379",
        "57m         Normal    AddedInterface          pod/virt-launcher-vm   Add eth0 [192.0.2.44/16] from "
        "kube-ovn\n57m     "
        "    Normal    Created                 pod/virt-launcher-vm   Created container compute\n57m         Normal    "
        "Started                 pod/virt-launcher-vm   Started container compute\n" + DONE,
    ),
)
