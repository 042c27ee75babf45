"""Public threads, after the mending of the fourth round: 14 of 14 were right at first sight and the sound output
healthy."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, YES, Case, case
from tests.unit.doctor.cases_threads import G

SYSTEMS_LAST: tuple[Case, ...] = (
    case(
        "no address of the fourth version",
        G + "ml-explore/mlx/pull/4191",
        "rdma_gid",
        YES,
        "[jaccl] Changing queue pair to RTR failed with errno 22\nGID[0] = fe80::347c:94ff:fecd:45c4\n",
    ),
    case(
        "only the sixth version",
        G + "kvcache-ai/Mooncake/issues/1593",
        "rdma_gid",
        YES,
        "W0302 09:15:07.980530     7 rdma_context.cpp:581] No suitable GID found on mlx5_bond_1/\n"
        "E0302 09:15:07.980793     7 rdma_transport.cpp:662] RdmaTransport: No available RNIC\n",
    ),
    case(
        "entry that disappeared",
        G + "SoftRoCE/rxe-dev/issues/79",
        "rdma_gid",
        CANDIDATES,
        "ibv_rc_pingpong not working on rxe0\ncat /sys/class/infiniband/rxe0/ports/1/gids/0\n"
        "0000:0000:0000:0000:0000:0000:0000:0000\n",
    ),
    case(
        "first generation was chosen",
        G + "kvcache-ai/Mooncake/pull/113",
        "rdma_gid",
        CANDIDATES,
        "E0219 16:52:31.208603 273373 worker_pool.cpp:281] Worker: Process failed for slice (opcode: 0, length: 4096, "
        "local_nic: mlx5_bond_0, peer_nic: 192.0.2.7:12345@mlx5_bond_2, retry_cnt: 0): transport retry counter "
        "exceeded\n",
    ),
    case(
        "freeze with four gpus",
        G + "NVIDIA/nccl/issues/631",
        "pcie_acs",
        CANDIDATES,
        "the model freezes when using 4 or more GPUs, works by setting NCCL_P2P_DISABLE=1\n",
    ),
    case(
        "values that are no numbers",
        G + "tensorflow/tensorflow/issues/57893",
        "pcie_acs",
        CANDIDATES,
        "Nan errors in multiple-gpu training, RTX A5000 PCIe 4.0, one GPU is right; NCCL P2P\n",
    ),
    case(
        "matrix that gets slower",
        G + "stas00/ml-engineering/issues/1",
        "pcie_acs",
        CANDIDATES,
        "Parallel training hangs\nUnidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n     0 673.20  13.15  13.15\n"
        "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n     0 673.49   2.60   1.58\n",
    ),
    case(
        "hang of a workstation",
        G + "local-inference-lab/vllm/issues/262",
        "pcie_acs numa_bios",
        YES,
        "vLLM hangs after NCCL init with TP=2, IOMMU/ACS enabled in BIOS; amd_iommu=off works\n",
    ),
    case(
        "aperture of a cloud",
        G + "yunionio/cloudpods/issues/25408",
        "vm_mmio",
        YES,
        "V100 SXM2 多卡透传 BAR1=0M 错误 · OVMF 64bit MMIO aperture 不足\n",
    ),
    case(
        "card that the firmware does not start",
        G + "tianocore/edk2/issues/8745",
        "vm_mmio",
        CANDIDATES,
        "libvirt/qemu/KVM: OVMF cannot initialize Radeon Pro VII attached through VFIO, other cards work\n",
    ),
    case(
        "root port that is missing",
        G + "cloud-hypervisor/cloud-hypervisor/issues/5108",
        "vm_passthrough vm_mmio",
        CANDIDATES,
        "VM can't be booted with GPU passthrough; -device vfio-pci,host=0000:61:00.0 on pcie.0 fails, on a "
        "pcie-root-port it works\n",
    ),
    case(
        "storm that nobody watches",
        G + "sonic-net/sonic-buildimage/issues/19648",
        "switch_config",
        CANDIDATES,
        "Intermittent lossless packet drop with PFCWD disabled and pause storm on the egress port\n",
    ),
    case(
        "watchdog that sends pauses on",
        G + "sonic-net/sonic-buildimage/issues/8483",
        "switch_config",
        YES,
        "show pfcwd config\nEthernet0      drop               200                 200\n"
        "PFC WD is not working: pause frames are transmitted to the ingress port instead of dropping packets\n",
    ),
    case(
        "lossy class reacts",
        G + "sonic-net/sonic-buildimage/issues/23441",
        "switch_config",
        CANDIDATES,
        "Lossy priority traffic is dropped on receiving pause frames for lossy priority 0\n",
    ),
)

SYSTEMS_LAST_SOUND: tuple[tuple[str, str, str], ...] = (
    (
        "peers of a matrix",
        G + "pytorch/pytorch/issues/1637",
        "Device=0 CAN Access Peer Device=1\n"
        "***NOTE: In case a device doesn't have P2P access to other one, it falls back to normal memcopy procedure.\n"
        "P2P Connectivity Matrix\n     0\t     1     1     1     1\n# Out of bounds values : 0 OK\n",
    ),
)
