"""Public threads about containers, drivers, GPUs and limits, in the form of ``cases``: a few lines each, as somebody
would paste them. Hosts and addresses are made up."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, YES, Case, case
from tests.unit.doctor.cases_threads import G, W

JOBS_A: tuple[Case, ...] = (
    # The container toolkit, Docker, Kubernetes.
    case(
        "toolkit cannot start cuda",
        G + "NVIDIA/libnvidia-container/issues/103",
        "gpu_driver container",
        CANDIDATES,
        "nvidia-container-cli: initialization error: cuda error: unknown error\n",
    ),
    case(
        "toolkit finds no driver",
        G + "HonuRobotics/dockwater/pull/10",
        "gpu_driver",
        YES,
        "stderr: nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown\n",
    ),
    case(
        "fan of a gpu failed",
        G + "NVIDIA/libnvidia-container/issues/204",
        "gpu_hardware",
        YES,
        "|ERR!   ERR! ERR!    N/A / ERR! |  GPU is lost |\nnvidia-container-cli: initialization error: cuda error: "
        "unknown "
        "error\n",
    ),
    case(
        "driver answers too late",
        G + "NVIDIA/nvidia-container-toolkit/issues/556",
        "gpu_driver container",
        CANDIDATES,
        "nvidia-container-cli: initialization error: driver rpc error: failed to process request: unknown.\n",
    ),
    case(
        "device of a macvlan container",
        G + "NVIDIA/nccl/issues/925",
        "container rdma_gid",
        CANDIDATES,
        W + "misc/ibvwrap.cc:160 NCCL WARN Call to ibv_modify_qp failed with error No such device\nworks with "
        "--net=host, fails with --net mynet (macvlan), /dev/infiniband/uverbs0 is there\n",
    ),
    case(
        "ray container without devices",
        G + "vllm-project/vllm/pull/42075",
        "container",
        CANDIDATES,
        "docker run --network host --gpus all --shm-size 10.24g vllm-openai ray start\n" + W + "NCCL INFO NET/Socket : "
        "Using [0]eth0:192.0.2.11<0>\nib_write_bw on the host saturates the link\n",
    ),
    case(
        "static cpu manager takes devices",
        G + "kubernetes/kubernetes/issues/77073",
        "container",
        YES,
        'Failed to initialize NVML: Unknown Error\nopen("/dev/nvidiactl", O_RDWR) = -1 EPERM (Operation not '
        "permitted)\n"
        "--cpu-manager-policy=static\n",
    ),
    case(
        "numbers of devices changed at boot",
        G + "NVIDIA/k8s-device-plugin/issues/222",
        "container",
        YES,
        "after a reboot of the node: crw-rw-rw- 1 root root 237, 0 /dev/nvidia-uvm in the container, major number 239 "
        "on "
        'the host\nopen("/dev/nvidia-uvm", O_RDWR|O_CLOEXEC) = -1 EPERM (Operation not permitted)\n',
    ),
    case(
        "bus error with many ranks",
        G + "NVIDIA/nccl-tests/issues/143",
        "container",
        CANDIDATES,
        "docker run --gpus all nccl-tests ./build/all_reduce_perf -g 16\nBus error (core dumped)\n",
    ),
    case(
        "bus error of a loader",
        G + "PaddlePaddle/Paddle/issues/34725",
        "container host_limits",
        YES,
        "Unexpected BUS error encountered in DataLoader worker. This might be caused by insufficient shared memory "
        "(shm)\n",
    ),
    case(
        "pods without a mount for shm",
        G + "pytorch/ci-infra/pull/490",
        "container",
        YES,
        "workflow-pod:202016:202235 [0] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-WU88OE to "
        "9637892 bytes, error: No space left on device (28)\n",
    ),
    case(
        "signal seven at init",
        G + "NVIDIA/nccl/issues/983",
        "container host_limits",
        CANDIDATES,
        "[4c217144f0b1:113168] *** Process received signal ***\n[4c217144f0b1:113168] Signal: Bus error (7)\n"
        "[4c217144f0b1:113168] Signal code: Nonexistant physical address (2)\n",
    ),
    case(
        "shm in chinese",
        G + "THU-DA-6D-Pose-Group/GDR-Net/issues/16",
        "container host_limits",
        YES,
        "训练时报共享内存不足的错\nRuntimeError: DataLoader worker (pid 3216) is killed by signal: Bus error.\n",
    ),
    case(
        "mount that is not shared",
        G + "NVIDIA/gpu-operator/issues/315",
        "container",
        YES,
        'Error: failed to generate container spec: path "/run/nvidia/validations" is mounted on "/run" but it is not a '
        "shared mount\n",
    ),
    case(
        "library of nvml not found by the toolkit",
        G + "NVIDIA/gpu-operator/issues/625",
        "gpu_driver container",
        YES,
        "nvidia-container-cli.real: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared "
        "object file: no such file or directory: unknown\n",
    ),
    case(
        "runtime that nobody configured",
        G + "NVIDIA/gpu-operator/issues/1679",
        "container",
        YES,
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "
        '"nvidia" is configured\n',
    ),
    case(
        "memory of other hosts not permitted",
        G + "NVIDIA/nvbandwidth/issues/39",
        "container",
        CANDIDATES,
        "Driver Version: 560.35.03\n[CUDA_ERROR_NOT_PERMITTED] operation not permitted in expression "
        "cuMemCreate(&handle, roundedUpAllocationSize, &prop, 0) on worker-0, rank = 0\n",
    ),
    case(
        "handle of a gpu in another container",
        G + "NVIDIA/nccl/issues/1647",
        "container",
        CANDIDATES,
        "job-0:1:92 [0] transport/p2p.cc:275 NCCL WARN Cuda failure 101 'invalid device ordinal'\njob-0:1:92 [0] NCCL "
        "INFO transport/p2p.cc:352 -> 1\nboth pods run on one node, each sees one GPU of its own\n",
    ),
    case(
        "nccl without privileges",
        G + "NVIDIA/nccl/issues/1925",
        "container",
        CANDIDATES,
        "worker-0:620968:620968 [0] transport/nvls.cc NCCL WARN Cuda failure 800 'operation not permitted'\nworks with "
        "privileged: true\n",
    ),
    # Drivers.
    case(
        "modeset does not load",
        G + "NVIDIA/gpu-operator/issues/671",
        "gpu_driver",
        YES,
        "modprobe: ERROR: could not insert 'nvidia_modeset': No such device\nERROR: Unable to load the kernel module "
        "'nvidia-modeset.ko'.\n",
    ),
    case(
        "another driver has the device",
        G + "mattshma/bigdata/issues/133",
        "gpu_driver",
        YES,
        "NVRM: The NVIDIA probe routine was not called for 3 device(s).\nNVRM: This can occur when a driver such as: \n"
        "NVRM: nouveau, rivafb, nvidiafb or rivatv \n",
    ),
    case(
        "module of the kernel before",
        G + "NVIDIA/nvidia-docker/issues/365",
        "gpu_driver",
        YES,
        "modprobe: FATAL: Module nvidia not "
        "found.\n/lib/modules/3.13.0-88-generic/kernel/drivers/video/nvidia.ko\nLinux "
        "node1 3.13.0-116-generic #163-Ubuntu SMP\n",
    ),
    case(
        "kernel upgraded without dkms",
        G + "GoogleCloudPlatform/compute-gpu-installation/pull/18",
        "gpu_driver",
        YES,
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
        "NVIDIA "
        "driver is installed and running.\n",
    ),
    case(
        "library built for a newer cuda",
        G + "NVIDIA/nccl-tests/issues/98",
        "gpu_driver nccl_version container",
        CANDIDATES,
        "Test CUDA failure common.cu:1045 'CUDA driver version is insufficient for CUDA runtime version'\nNVRM "
        "version: "
        "NVIDIA UNIX x86_64 Kernel Module  440.33.01  Wed Nov 13 00:00:22 UTC 2019\n",
    ),
    # GPUs.
    case(
        "context on a broken gpu",
        G + "MFlowCode/MFC/pull/1748",
        "gpu_hardware",
        YES,
        "Accelerator Fatal Error: call to cuCtxCreate returned error 214 (CUDA_ERROR_ECC_UNCORRECTABLE): uncorrectable "
        "ECC error encountered\n",
    ),
    case(
        "nvlink that torch names",
        G + "NVIDIA/srt-slurm/pull/307",
        "gpu_hardware",
        YES,
        "torch.AcceleratorError: CUDA error: uncorrectable NVLink error detected during the execution\n",
    ),
    case(
        "one node of many",
        G + "jade-hpc-gpu/jade-hpc-gpu.github.io/issues/194",
        "gpu_hardware",
        YES,
        "RuntimeError: CUDA error: uncorrectable ECC error encountered\nCUDA kernel errors might be asynchronously "
        "reported at some other API call, so the stacktrace below might be incorrect.\n",
    ),
    case(
        "ecc that looks like memory",
        G + "NVIDIA/k8s-device-plugin/issues/267",
        "gpu_hardware",
        CANDIDATES,
        "|   1  Tesla V100-SXM2...  On   | 00000000:3B:00.0 Off |                    1 |\nVolatile Uncorr. ECC of GPU "
        "1 "
        "is 1\nRuntimeError: CUDA error: out of memory\n",
    ),
    case(
        "works without one instance",
        G + "vllm-project/vllm/issues/7896",
        "gpu_hardware gpu_driver",
        CANDIDATES,
        "RuntimeError: NCCL error: unhandled cuda error (run with NCCL_DEBUG=INFO for details) [repeated 6x across "
        "cluster]\n",
    ),
    # Limits.
    case(
        "accept without descriptors",
        G + "goodfire-ai/spd/pull/957",
        "host_limits",
        YES,
        W + "NCCL WARN ncclOsSocketTryAccept: Accept failed: Too many open files\nulimit -n: 1024\n",
    ),
    case(
        "batch shell of slurm",
        G + "ai4d-iasc/trixie/issues/81",
        "host_limits",
        YES,
        "cn110:21011:0] ib_iface.c:1035 UCX  ERROR ibv_create_cq(cqe=4096) failed: Cannot allocate memory : Please set "
        "max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)\n",
    ),
    case(
        "all to all without descriptors",
        G + "NVIDIA/nccl/issues/550",
        "host_limits",
        YES,
        W
        + "include/socket.h:415 NCCL WARN Net : Socket creation failed : Too many open files\ngpu01: Test NCCL failure "
        "alltoall.cu:76 'unhandled system error'\n",
    ),
    case(
        "limit that does not propagate",
        G + "omnivector-solutions/snap-slurm/issues/83",
        "host_limits",
        CANDIDATES,
        "$ ulimit -l\nunlimited\n$ srun -N2 sh -c 'ulimit -l'\n16384\n16384\n",
    ),
    case(
        "limits of a daemon",
        G + "clustervision/trinity/issues/498",
        "host_limits",
        CANDIDATES,
        "# cat /proc/12287/limits\nMax open files            4096                 4096                 files     \nMax "
        "locked memory         65536                65536                bytes     \n",
    ),
    case(
        "files of the loader",
        G + "open-mmlab/mmpose/issues/774",
        "host_limits application",
        YES,
        "OSError: [Errno 24] Too many open files: '/data/coco/train2017/000000391895.jpg'\n",
    ),
)
