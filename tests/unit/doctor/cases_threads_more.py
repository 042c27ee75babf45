"""Public threads with a known cause, second half: containers, launchers, VMs, programs. See ``cases_threads``."""

from __future__ import annotations

from tests.unit.doctor.cases import CANDIDATES, NO, YES, Case, case
from tests.unit.doctor.cases_threads import G, W

THREADS_MORE: tuple[Case, ...] = (
    case(
        "cgroups left to the user",
        G + "NVIDIA/nvidia-container-toolkit/issues/381",
        "container",
        YES,
        "$ docker run --rm --gpus all ubuntu nvidia-smi\nFailed to initialize NVML: Unknown Error\nno-cgroups = true\n",
    ),
    case(
        "kubelet takes the devices",
        G + "mattshma/bigdata/issues/150",
        "container",
        YES,
        'Failed to initialize NVML: Unknown Error\nopen("/dev/nvidiactl", O_RDWR)          = -1 EPERM (Operation not '
        "permitted)\n",
    ),
    case(
        "podman without root",
        G + "NVIDIA/nvidia-docker/issues/1608",
        "container gpu_driver",
        CANDIDATES,
        "$ podman run --rm ubuntu nvidia-smi\nFailed to initialize NVML: Insufficient Permissions\n",
    ),
    case(
        "toolkit and no driver",
        G + "docker/for-win/issues/13835",
        "gpu_driver container",
        CANDIDATES,
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object "
        "file: no such file or directory: unknown.\n",
    ),
    case(
        "toolkit looks in another root",
        G + "NVIDIA/nvidia-container-toolkit/issues/154",
        "container gpu_driver",
        CANDIDATES,
        "docker: Error response from daemon: failed to create shim task: OCI runtime create failed: "
        "nvidia-container-cli: "
        'initialization error: load library failed: libnvidia-ml.so.1\n  root = "/run/nvidia/driver"\n',
    ),
    case(
        "image moves libcuda",
        G + "gpustack/gpustack/issues/4678",
        "container gpu_driver",
        YES,
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver "
        "/ cuda "
        "driver combination\ndocker run --runtime nvidia IMAGE: fails; --gpus all: works\n",
    ),
    case(
        "a right that a user without root never has",
        G + "NVIDIA/nvidia-container-toolkit/issues/2037",
        "container",
        YES,
        W + "misc/ibvwrap.cc:190 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory\npod, uid "
        "1000, CapEff 0000000000000000, ulimit -l: 8192\n",
    ),
    # Launchers.
    case(
        "srun and an Open MPI without its support",
        G + "spack/spack/pull/22086",
        "mpi_launch",
        YES,
        "[gpu01:13428] PMI_Get_clique_size [pmix_s1.c:281:s1_init]: Operation failed\nThe application appears to "
        "have been "
        'direct launched using "srun",\nbut OMPI was not built with SLURM\'s PMI support and therefore '
        "cannot\nexecute.\n"
        "*** An error occurred in MPI_Init\n",
    ),
    case(
        "no server of pmix",
        G + "open-mpi/ompi/issues/10940",
        "mpi_launch",
        YES,
        "[gpu01:94018] PMIX ERROR: NOT-FOUND in file ptl_usock.c at line 175\n[gpu01:94018] OPAL ERROR: Unreachable in "
        "file pmix3x_client.c at line 112\n*** An error occurred in MPI_Init_thread\n",
    ),
    case(
        "ssh asks for a password",
        G + "deepspeedai/DeepSpeed/issues/4907",
        "mpi_launch",
        YES,
        'Traceback (most recent call last):\n  File "deepspeed/launcher/runner.py", line 437, in main\n'
        "subprocess.CalledProcessError: Command 'ssh -o PasswordAuthentication=no 192.0.2.11 hostname' returned "
        "non-zero "
        "exit status 255.\n",
    ),
    case(
        "launcher is not installed",
        G + "stanford-crfm/mistral/issues/38",
        "mpi_launch",
        YES,
        'Traceback (most recent call last):\n  File "deepspeed/launcher/runner.py", line 380, in main\nRuntimeError: '
        "launcher 'pdsh' not installed.\n",
    ),
    case(
        "program of another MPI",
        G + "aws/aws-parallelcluster/issues/3980",
        "mpi_launch",
        YES,
        "MPI startup(): PMI server not found. Please set I_MPI_PMI_LIBRARY variable if it is not a singleton case.\n",
    ),
    # VMs.
    case(
        "slot that is plugged again",
        "https://knowledge.broadcom.com: VM with GPU in passthrough mode fails to start on HPE server",
        "esxi_host vm_passthrough",
        CANDIDATES,
        "Module DevicePowerOn power on failed.\nFailed to start the virtual machine.\nDevice 6:0.0 is not a "
        "passthrough "
        "device.\ncpu98:2097948)PCIEHP: 1496: 0000:a8:01.0: hotplug slot:0x1 (0000:a9:00.0) Adapter removed.\n",
    ),
    case(
        "device of another host",
        "https://powercli46.rssing.com/chan-4263263/all_p448.html",
        "vm_passthrough",
        YES,
        "The systemId does not match the current system or the deviceId, and the vendorId does not match the device "
        "currently at 97:0.0.\nFailed to start the virtual machine.\n",
    ),
    case(
        "purple screen of a vgpu host",
        "https://knowledge.broadcom.com/external/article/394974",
        "gpu_driver esxi_host",
        CANDIDATES,
        "IOMMU Fault detected for (vmgpX/nvidia) Reason: 0x6 (PTE not set to allow Read.)\nNVRM: Xid (PCI:0000:3b:00): "
        "32, pid=2099100, name=vmx, Channel ID 00000003 intr0 00040000\n",
    ),
    case(
        "vgpu of two releases",
        "https://docs.nvidia.com/vgpu/19.0/grid-vgpu-release-notes-vmware-vsphere",
        "gpu_driver vm_passthrough",
        CANDIDATES,
        "vmx| I005: vmiop_log: (0x0): Incompatible Guest/Host drivers: Guest VGX version is older than the minimum "
        "version "
        "supported by the Host. Disabling vGPU.\n",
    ),
    case(
        "large bar in a small window",
        G + "LekKit/RVVM/issues/197",
        "vm_mmio numa_bios",
        YES,
        "pci 0000:00:02.0: BAR 1 [mem size 0x400000000 64bit pref]: can't assign; no space\npci 0000:00:02.0: BAR 1 "
        "[mem "
        "size 0x400000000 64bit pref]: failed to assign\nHypervisor detected: KVM\n",
    ),
    # Programs, versions.
    case(
        "memory for the buffers of nccl",
        G + "rwth-i6/returnn/issues/1626",
        "application",
        YES,
        W + "include/alloc.h:102 NCCL WARN Cuda failure 2 'out of memory'\ntorch.distributed.DistBackendError: NCCL "
        "error in: ProcessGroupNCCL.cpp:2006, unhandled cuda error, NCCL version 2.20.5\n",
    ),
    case(
        "cgroup of a job",
        G + "ArjunaCluster/ArjunaUsers/issues/52",
        "application host_limits mpi_launch",
        CANDIDATES,
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup. Some of your processes may have "
        "been "
        "killed by the cgroup out-of-memory handler.\n",
    ),
    case(
        "more memory than there is on earth",
        G + "NVIDIA/nccl/issues/1284",
        "",
        NO,
        "[rank3]:[E ProcessGroupNCCL.cpp:475] [Rank 3] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=61, "
        "OpType=BROADCAST, Timeout(ms)=1800000) ran for 1800741 milliseconds before timing out.\n"
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.\n",
    ),
    case(
        "connects to itself",
        G + "awslabs/awsome-distributed-ai/issues/192",
        "host_routing run_env",
        CANDIDATES,
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1331, unhandled system error, NCCL "
        "version 2.18.5\nsocketStartConnect: Connect to 127.0.0.1<45069> failed : Software caused connection abort\n",
    ),
    case(
        "wrong sums with multicast",
        G + "NVIDIA/nccl-tests/issues/167",
        "nccl_version gpu_driver gpu_hardware",
        CANDIDATES,
        "# Out of bounds values : 12 FAILED\nwith NCCL_NVLS_ENABLE=0 the error is gone\n",
    ),
    case(
        "stops in an old release",
        G + "NVIDIA/nccl/issues/238",
        "nccl_version",
        CANDIDATES,
        "NCCL version 2.4.2+cuda10.0\nhangs at random, GPU util 100%; NCCL_LL_THRESHOLD=0 works\n",
    ),
)
