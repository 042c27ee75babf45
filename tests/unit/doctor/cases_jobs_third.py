"""Threads that the rules had never seen, third round: containers, drivers and boards of GPUs, libraries, variables,
launchers, programs, limits, addresses, firewalls, and sound logs. Shortened, in our own words where that was possible;
hosts and addresses are made up; the layers were written down before the doctor saw the rows. When they were written, 45
of the 63 here and in ``cases_jobs_third_b`` were right, 17 weak and 1 wrong: a plugin that could not be loaded sounded
like one that is not there."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, YES, Case, case
from tests.unit.doctor.cases_threads import G

W = "gpu01:124:392 [0] "
NVIDIA = G + "NVIDIA/"

JOBS_THIRD: tuple[Case, ...] = (
    case(
        "pod loses its GPUs",
        G + "Project-HAMi/HAMi/issues/1520",
        "container",
        YES,
        'kubernetes pod run nvidia-smi report: "Failed to initialize NVML: Unknown Error"\n',
    ),
    case(
        "device plugin under runc",
        NVIDIA + "k8s-device-plugin/issues/263",
        "container",
        YES,
        "Failed to initialize NVML: could not load NVML library.\nIf this is a GPU node, did you set the docker "
        "default runtime to `nvidia`?\n",
    ),
    case(
        "bond that a container cannot open",
        NVIDIA + "nccl/issues/451",
        "container",
        CANDIDATES,
        "misc/ibvwrap.cc:212 NCCL WARN Call to ibv_open_device failed\ntransport/net_ib.cc:148 NCCL WARN NET/IB : "
        "Unable to open device mlx5_bond_0\nNCCL INFO NET/IB : No device found.\n",
    ),
    case(
        "half of the verbs devices",
        G + "linux-rdma/rdma-core/pull/1060",
        "container",
        YES,
        "# ls /sys/class/infiniband\nmlx5_0  mlx5_1  mlx5_2  mlx5_3\n# ls /dev/infiniband/\nrdma_cm  ucm0  ucm2  "
        "uverbs0  uverbs2\n",
    ),
    case(
        "management functions in a privileged pod",
        G + "openucx/ucx/issues/11820",
        "container run_env rdma_gid",
        CANDIDATES,
        "privileged pod: uct_iface_open(rc_verbs/mlx5_5:1) fails with EADDRNOTAVAIL, the ibp* ports are never tried; "
        "non-privileged pods work\n",
    ),
    case(
        "other people's functions",
        G + "hustcat/k8s-rdma-device-plugin/issues/8",
        "container",
        CANDIDATES,
        "Failed to open device\nFailed to open device\nhca_id: mlx4_2\nFailed to open device\n",
    ),
    case(
        "verbs without providers",
        G + "dsx-ai-factory/infra-controller/pull/5251",
        "container",
        YES,
        "libibverbs: Warning: couldn't open config directory '/etc/libibverbs.d'.\nNo IB devices found\n",
    ),
    case(
        "provider that an image lacks",
        NVIDIA + "nccl-tests/issues/41",
        "container",
        YES,
        "Singularity> ./build/all_reduce_perf -g 4\nlibibverbs: Warning: no userspace device-specific driver found "
        "for /sys/class/infiniband_verbs/uverbs0\n",
    ),
    case(
        "image of cuda without verbs",
        NVIDIA + "nvidia-container-toolkit/issues/1877",
        "container",
        YES,
        "cuda:12.6.3-devel-ubuntu22.04 does not include libibverbs.so, NCCL uses NET/Socket\n",
    ),
    case(
        "bus error of a loader",
        G + "pytorch/pytorch/issues/16979",
        "container",
        YES,
        "RuntimeError: DataLoader worker (pid 125) is killed by signal: Bus error.\n",
    ),
    case(
        "descriptor of another process",
        G + "flashinfer-ai/flashinfer/pull/4089",
        "container",
        YES,
        "RuntimeError: pidfd_getfd(pidfd=88, fd=61) failed with errno 1: Operation not permitted.\n",
    ),
    case(
        "memory of another process",
        G + "pytorch/tensorpipe/issues/188",
        "container guest_kernel",
        CANDIDATES,
        "process_vm_readv: Operation not permitted, kernel.yama.ptrace_scope = 1\n",
    ),
    case(
        "compose file without a GPU",
        G + "AEON-7/Qwen3.6-27B-AEON-Ultimate-Uncensored-DFlash/issues/5",
        "container",
        YES,
        "docker-compose.spark-xs.yml has neither runtime: nvidia nor deploy.resources.reservations.devices; vLLM "
        "crashes at once\n",
    ),
    case(
        "hook without its tool",
        NVIDIA + "pyxis/issues/101",
        "container",
        YES,
        "slurmstepd: error: pyxis:     [ERROR] Command not found: nvidia-container-cli, see "
        "https://github.com/NVIDIA/libnvidia-container\nslurmstepd: error: pyxis:     [ERROR] "
        "/etc/enroot/hooks.d/98-nvidia.sh exited with return code 1\n",
    ),
    case(
        "runtime that nobody configured",
        NVIDIA + "gpu-operator/issues/413",
        "container",
        YES,
        'Failed to create pod sandbox: failed to get sandbox runtime: no runtime for "nvidia" is configured\n',
    ),
    case(
        "completion queue in a container",
        G + "open-mpi/ompi/issues/6468",
        "container host_limits",
        CANDIDATES,
        "Failed to create a completion queue (CQ):\nHostname: gpu01\nRequested CQE: 16384\nError:    Cannot allocate "
        "memory\n",
    ),
    case(
        "limit that rootless containers keep",
        G + "rootless-containers/usernetes/issues/373",
        "container host_limits",
        CANDIDATES,
        "ulimit -l looks unlimited in the rootless kubelet node, mlock still stops at the kernel's 64kb\n",
    ),
    case(
        "unit of containerd",
        G + "kubesphere/kubekey/pull/2609",
        "container host_limits",
        YES,
        "containerd.service: LimitNOFILE=1048576 LimitNPROC=1048576 LimitCORE=infinity, no LimitMEMLOCK\n",
    ),
    case(
        "whole folder into an unprivileged pod",
        G + "smg-project/smg/pull/1762",
        "container",
        YES,
        "hostPath /dev/infiniband, privileged: false: the device cgroup blocks every uverbs that the plugin did not "
        "allocate\n",
    ),
    case(
        "sandbox without NUMA files",
        G + "google/gvisor/issues/12876",
        "container",
        YES,
        "gVisor has no /sys/devices/system/node/: SIGSEGV at addr=0x0 inside libcuda.so during cuCtxCreate()\n",
    ),
    case(
        "proxy beside every pod",
        NVIDIA + "nccl/issues/1638",
        "firewall container host_routing",
        CANDIDATES,
        "nccl stuck when pods are with istio envoy\n",
    ),
    case(
        "cuInit of jax",
        G + "jax-ml/jax/pull/34113",
        "gpu_driver",
        YES,
        "cuInit(0) failed: CUDA_ERROR_SYSTEM_NOT_READY\n",
    ),
    case(
        "driver older than the image",
        G + "vllm-project/vllm/issues/4940",
        "gpu_driver container",
        YES,
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted on "
        "non supported HW\n",
    ),
    case(
        "closed modules on a new GPU",
        G + "Start9Labs/start-technologies/pull/3693",
        "gpu_driver",
        YES,
        "NVRM: Xid (PCI:000f:01:00): 169, fd8cd000 94000000\nNVRM: GPU 000f:01:00.0: RmInitAdapter failed! "
        "(0x62:0x1a:2631)\nwith nvidia-580-open: works\n",
    ),
    case(
        "module that does not build",
        G + "korvahannu/arch-nvidia-drivers-installation-guide/issues/37",
        "gpu_driver",
        YES,
        "==> dkms install --no-depmod nvidia/470.256.02 -k 6.14.4-arch1-2\nError! Bad return status for module build "
        "on kernel: 6.14.4-arch1-2 (x86_64)\n",
    ),
    case(
        "signed boot",
        G + "MicrosoftDocs/azure-docs/issues/111536",
        "gpu_driver guest_kernel",
        YES,
        "after apt upgrade nvidia-smi stopped working; the VM has secure boot ON and a new MOK\n",
    ),
    case(
        "board in a bad state",
        NVIDIA + "open-gpu-kernel-modules/issues/1230",
        "gpu_driver gpu_hardware",
        CANDIDATES,
        "NVRM: GPU6 _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP\nNVRM: GPU6 "
        "_kgspBootGspRm: (the GPU is likely in a bad state and may need to be reset)\n",
    ),
    case(
        "handle of a lost GPU",
        G + "rwth-i6/returnn/issues/1486",
        "gpu_hardware",
        YES,
        "Unable to determine the device handle for GPU0000:03:00.0: Unknown Error\npcieport 0000:00:03.0: PCIe Bus "
        "Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)\n",
    ),
    case(
        "memory error in an old torch",
        NVIDIA + "semantic-segmentation/issues/33",
        "gpu_hardware",
        YES,
        "RuntimeError: cuda runtime error (39) : uncorrectable ECC error encountered at THCCachingHostAllocator.cpp\n",
    ),
    case(
        "cascade over NVLink",
        "https://forums.developer.nvidia.com/t/369786",
        "gpu_hardware",
        CANDIDATES,
        "XID 137 (NVLink TLC RX PRIV Error) on 6 of 8 GPUs, in the same second XID 94 Contained: SM (0x1). RST: No, "
        "D-RST: No\n",
    ),
)
