"""15 more faults that a release mended: one bundle below and one at the release, in the form of ``attack_versions``.

Case -> (release before, release that mended it, form of the line with the release, the rest of the log). ``MENDED`` has
for each case the public note and what is right below and at the release. All texts are SIMULATED.
"""

from __future__ import annotations

GPU = "gpu01:3100:3200 [0] NCCL "
SMI = (
    "$ nvidia-smi\n"
    "+-----------------------------------------------------------------------------------------+\n"
    "| NVIDIA-SMI {0:<22} Driver Version: {0:<14} CUDA Version: 12.4     |\n"
    "|-----------------------------------------+------------------------+----------------------+\n"
)
NCCL = "gpu01:3100:3100 [0] NCCL INFO NCCL version {}+cuda12.4\n"
TORCH = "PyTorch version: {}+cu128\nCUDA used to build PyTorch: 12.8\n"
OFED = "$ ofed_info -s\nMLNX_OFED_LINUX-{}:\n"
DOCA = "$ ofed_info -s\nOFED-internal-{}:\n"
TOOLKIT = "$ nvidia-container-cli --version\ncli-version: {0}\nlib-version: {0}\n"
FIRMWARE = "$ ethtool -i ens5f0np0\ndriver: mlx5_core\nversion: 5.4-1.0.3\nfirmware-version: {} (MT_0000000359)\n"
FIRMWARE_6 = "$ ethtool -i ens5f0np0\ndriver: mlx5_core\nversion: 5.7-1.0.2\nfirmware-version: {} (MT_0000000223)\n"
TASK = (
    "[ 4321.101010] INFO: task {0} blocked for more than 120 seconds.\n[ 4321.101020]       Tainted: P           OE\n"
)
HANG = (
    "[rank0]:[E203 12:00:00.101010101 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds "
    "before timing out.\n"
)
ROWS = "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"

VERSIONS: dict[str, tuple[str, str, str, str]] = {
    "driver: GSP stops to answer": (
        "525.85.12",
        "525.105.17",
        SMI,
        "[ 912.345678] NVRM: GPU at PCI:0000:3b:00: GPU-2f0c5a3e-0000-0000-0000-000000000001\n"
        "[ 912.345690] NVRM: Xid (PCI:0000:3b:00): 119, pid=3100, name=python3, Timeout waiting for RPC from GSP! "
        "Expected function 76 (GSP_RM_CONTROL) (0x2080a0a4 0x44).\n",
    ),
    "driver: module does not build for the kernel": (
        "550.40.07",
        "550.54.14",
        "$ dkms status\nnvidia/{}: added\n$ uname -r\n6.7.3-generic\n",
        "  MODPOST Module.symvers\n"
        "ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol '__rcu_read_lock'\n"
        "ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol '__rcu_read_unlock'\n"
        "make[2]: *** [scripts/Makefile.modpost:145: Module.symvers] Error 1\n",
    ),
    "fabric manager: driver container without one": (
        "v1.7.1",
        "v1.8.0",
        "$ helm list -n gpu-operator\nNAME          NAMESPACE     REVISION  STATUS    CHART\n"
        "gpu-operator  gpu-operator  1         deployed  gpu-operator-{}\n",
        "$ kubectl exec nvidia-driver-daemonset-x2x4x -- nvidia-smi -L\n"
        + "".join(f"GPU {n}: NVIDIA A100-SXM4-40GB (UUID: GPU-{n:08d}-0000-0000-0000-000000000000)\n" for n in range(8))
        + "$ lspci | grep -c 'NVSwitch'\n6\n"
        "RuntimeError: CUDA error 802: system not yet initialized\n",
    ),
    "OFED: lock inversion when a peer registration is taken back": (
        "5.4-1.0.3.0",
        "5.4-3.0.3.0",
        OFED,
        "$ lsmod | grep peer\nnv_peer_mem            16384  0\n"
        + TASK.format("python3:3100")
        + "[ 4321.101040] Call Trace:\n[ 4321.101050]  __mutex_lock+0x1f0/0x4b0\n"
        "[ 4321.101060]  ib_invalidate_peer_memory+0x6a/0x110 [ib_core]\n"
        "[ 4321.101070]  nv_get_p2p_free_callback+0x41/0x80 [nv_peer_mem]\n",
    ),
    "OFED: UMR queue pair does not recover": (
        "24.10-1.1.4.0",
        "24.10-2.1.8.0",
        DOCA,
        "[ 4300.000100] mlx5_0: mlx5r_umr_post_send_wait:333:(pid 3100): reg umr failed (6). Trying to recover and "
        "resubmit the flushed WQEs\n" + TASK.format("python3:3100") + "[ 4321.101040] Call Trace:\n"
        "[ 4321.101050]  wait_for_completion+0x34/0x40\n"
        "[ 4321.101060]  mlx5r_umr_post_send_wait+0x1c5/0x2a0 [mlx5_ib]\n"
        "[ 4321.101070]  mlx5r_umr_revoke_mr+0x9a/0xc0 [mlx5_ib]\n",
    ),
    "firmware: assert of query_vport_state": (
        "22.30.1004",
        "22.31.1014",
        FIRMWARE,
        "[ 77.000001] mlx5_core 0000:5e:00.0: mlx5_health_check_fatal_sensors:413:(pid 0): Fatal error 1 detected\n"
        "[ 77.000002] mlx5_core 0000:5e:00.0: print_health_info:412:(pid 0): Health issue observed, firmware internal "
        "error, severity(3) ERROR:\n"
        "[ 77.000003] mlx5_core 0000:5e:00.0: print_health_info:424:(pid 0): synd 0x1: firmware internal error\n"
        "[ 77.000004] mlx5_core 0000:5e:00.0: print_health_info:426:(pid 0): ext_synd 0x8274\n",
    ),
    "firmware: assert where functions are more than supported": (
        "20.34.1002",
        "20.35.1012",
        FIRMWARE_6,
        "$ mlxconfig -d 0000:5e:00.0 q NUM_OF_VFS PF_TOTAL_SF\nNUM_OF_VFS  120\nPF_TOTAL_SF  900\n"
        "[ 78.000001] mlx5_core 0000:5e:00.0: print_health_info:412:(pid 0): Health issue observed, firmware internal "
        "error, severity(3) ERROR:\n"
        "[ 78.000002] mlx5_core 0000:5e:00.0: print_health_info:426:(pid 0): ext_synd 0x888e\n",
    ),
    "Open MPI: a start without mpirun": (
        "5.0.1",
        "5.0.2",
        "$ ompi_info --version\nOpen MPI v{}\n",
        "$ ./all_reduce_perf -b 8 -e 128M -f 2 -g 8\n"
        "[gpu01:03100] *** Process received signal ***\n[gpu01:03100] Signal: Segmentation fault (11)\n"
        "[gpu01:03100] [ 2] /opt/openmpi/lib/libmpi.so.40(ompi_rte_init+0x4d2)[0x7f3a]\n"
        "[gpu01:03100] [ 3] /opt/openmpi/lib/libmpi.so.40(ompi_mpi_instance_init+0x61)[0x7f3b]\n"
        "[gpu01:03100] [ 4] /opt/openmpi/lib/libmpi.so.40(MPI_Init+0x7b)[0x7f3c]\n",
    ),
    "UCX: the CUDA context is gone at the end": (
        "1.17.0",
        "1.18.0",
        "$ ucx_info -v\n# Library version: {}\n# Library path: /usr/lib/libucs.so.0\n",
        "step 5000/5000 loss 1.92\n"
        "[gpu01:3100 :0:3100] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x28)\n"
        "==== backtrace (tid:   3100) ====\n"
        " 2  uct_cuda_copy_iface_t_cleanup()  /src/uct/cuda/cuda_copy/cuda_copy_iface.c:612\n"
        " 5  ucp_worker_destroy()  /src/ucp/core/ucp_worker.c:2973\n"
        " 8  mca_pml_ucx_cleanup()  pml_ucx.c:0\n"
        " 9  ompi_mpi_finalize()  ???:0\n",
    ),
    "kernel: warning of a field-spanning write": (
        "6.5.0-41-generic",
        "6.9.3-generic",
        "$ uname -r\n{}\n",
        "[ 55.000001] ------------[ cut here ]------------\n"
        '[ 55.000002] memcpy: detected field-spanning write (size 56) of single field "eseg->inline_hdr.start" at '
        "drivers/infiniband/hw/mlx5/wr.c:131 (size 2)\n"
        "[ 55.000003] WARNING: CPU: 3 PID: 3100 at drivers/infiniband/hw/mlx5/wr.c:131 mlx5_ib_post_send+0x191b/0x1a60 "
        "[mlx5_ib]\n",
    ),
    "CUDA: a product of matrices hangs or reads foreign memory": (
        "12.9.1",
        "12.9.2",
        "$ cat /usr/local/cuda/version.json | grep -A2 '\"cuda\"'\n"
        '   "cuda" : {{\n      "name" : "CUDA SDK",\n      "version" : "{}"\n',
        "cublasLtMatmul: algo ALGO_CONFIG_ID 66\n"
        "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasLtMatmul( ltHandle, "
        "computeDesc.descriptor(), &alpha_val, mat1_ptr)`\n"
        "[ 88.000001] NVRM: Xid (PCI:0000:3b:00): 31, pid=3100, name=python3, Ch 00000008, intr 00000000. MMU Fault: "
        "ENGINE GRAPHICS GPC0 GPCCLIENT_T1_0 faulted @ 0x7f_10000000. Fault is of type FAULT_PDE "
        "ACCESS_TYPE_VIRT_READ\n",
    ),
    "container toolkit: device rules in another cgroup": (
        "1.17.7",
        "1.17.8",
        TOOLKIT,
        "slurmstepd: error: pyxis: container start failed with error code: 1\n"
        "slurmstepd: error: pyxis: printing enroot log file:\n"
        "slurmstepd: error: pyxis:     nvidia-container-cli: mount error: failed to add device rules: open "
        "/sys/fs/cgroup/devices/slurm/uid_1000/job_85/step_0/task_0/devices.allow: permission denied\n"
        "slurmstepd: error: pyxis:     [ERROR] /etc/enroot/hooks.d/98-nvidia.sh exited with return code 1\n",
    ),
    "container toolkit: CDI with a driver of branch 565": (
        "1.17.4",
        "1.17.5",
        "$ nvidia-ctk --version\nNVIDIA Container Toolkit CLI version {}\n",
        "$ cat /proc/driver/nvidia/version\nNVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01\n"
        "$ nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml\n"
        "SIGSEGV: segmentation violation\nPC=0x7f2a m=0 sigcode=1 addr=0x0\nsignal arrived during cgo execution\n"
        "github.com/NVIDIA/go-nvlib/nvsandboxutils._Cfunc_nvSandboxUtilsInit_v1(0xc000)\n",
    ),
    "PyTorch: barrier makes contexts on the first GPU": (
        "2.7.0",
        "2.7.1",
        TORCH,
        "$ nvidia-smi --query-compute-apps=gpu_bus_id,pid,used_memory --format=csv\n"
        "gpu_bus_id, pid, used_gpu_memory [MiB]\n00000000:1B:00.0, 3100, 78012 MiB\n"
        + "".join(f"00000000:1B:00.0, {3100 + n}, 518 MiB\n" for n in range(1, 8))
        + "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity "
        "of 79.11 GiB of which 412.00 MiB is free.\n"
        "[rank0]:   dist.barrier()\n",
    ),
    "NCCL: sockets between processes after a split": (
        "2.20.3",
        "2.20.5",
        NCCL,
        GPU
        + "INFO ncclCommSplit comm 0x55 rank 0 nranks 4 cudaDev 0 parent 0x44 color 1 key 0 - Init START\n"
        + GPU
        + "WARN "
        "UDS: Sending data over socket /tmp/nccl-socket-1-a5b6 failed : Connection refused (111)\n"
        + GPU
        + "INFO proxy.cc:1220 -> 2\n"
        + GPU
        + "INFO transport/p2p.cc:253 -> 2\n",
    ),
    "NCCL: kernels for fp8 on a GPU that is older": (
        "2.27.6",
        "2.27.7",
        NCCL,
        "GPU 0: NVIDIA A100-SXM4-80GB\n"
        + GPU
        + "WARN Cuda failure 209 'no kernel image is available for execution on the device'\n"
        + GPU
        + "INFO "
        "symmetric.cc:84 -> 1\n" + GPU + "INFO init.cc:1487 -> 1\n",
    ),
    "NCCL: wrong sums over trees with LL128": (
        "2.18.1",
        "2.18.3",
        NCCL,
        GPU + "INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
        "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4194304 step: 2(factor)\n"
        "#  Rank  0 Group  0 Pid   3100 on      gpu01 device  0 [0x1b] NVIDIA H100 80GB HBM3\n"
        + ROWS
        + "     1048576        262144     float     sum      -1    98.10   10.69   20.04    118\n"
        "     2097152        524288     float     sum      -1   131.2   15.98   29.97    221\n"
        "# Out of bounds values : 2 FAILED\n# Avg bus bandwidth    : 25.0\n",
    ),
    "PyTorch: communicators that do not block": (
        "2.7.0",
        "2.7.1",
        TORCH,
        "TORCH_NCCL_USE_COMM_NONBLOCKING=1\n"
        "gpu01:3100:3100 [0] NCCL INFO NCCL version 2.26.2+cuda12.2\n" + GPU + "INFO ncclCommInitRankConfig comm 0x55 "
        "rank 0 nranks 16 - Init START\n" + HANG,
    ),
}

NCCL_NOTE = "https://github.com/NVIDIA/nccl/releases/tag/v"
NVIDIA = "https://docs.nvidia.com/"
TOOLKIT_NOTE = "https://github.com/NVIDIA/nvidia-container-toolkit/blob/main/CHANGELOG.md"
MENDED: dict[str, tuple[str, str, str]] = {
    "driver: GSP stops to answer": (
        NVIDIA + "datacenter/tesla/pdf/NVIDIA_Data_Center_GPU_Driver_Release_Notes_525_v3.0.pdf",
        "the driver of the 525 branch times out at its GSP: upgrade the driver",
        "the GPU or its GSP firmware is sick: reset or reboot, then the hardware",
    ),
    "driver: module does not build for the kernel": (
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/594",
        "the driver is older than the kernel's change of pfn_valid: newer driver or older kernel",
        "not this fault of the driver: another release was built, or a patched kernel",
    ),
    "fabric manager: driver container without one": (
        NVIDIA + "datacenter/cloud-native/gpu-operator/1.8/release-notes.html",
        "the driver container does not start a Fabric Manager: upgrade the operator or start one",
        "a Fabric Manager is there and did not come up: read its log",
    ),
    "OFED: lock inversion when a peer registration is taken back": (
        NVIDIA + "networking/display/MLNXOFEDv543030/Bug+Fixes+in+This+Version",
        "known deadlock of this OFED (2696789): upgrade OFED and nv_peer_mem",
        "a hung task that this release does not explain",
    ),
    "OFED: UMR queue pair does not recover": (
        NVIDIA + "networking/display/mlnxofedv24103250lts/bug+fixes+history",
        "known fault of this release (4300094): upgrade",
        "why the UMR queue pair fails at all is the question",
    ),
    "firmware: assert of query_vport_state": (
        NVIDIA + "networking/display/ConnectX6DxFirmwarev22321010/Bug+Fixes+History",
        "known assert of this firmware (2687283): upgrade the firmware",
        "a new assert: dump and support",
    ),
    "firmware: assert where functions are more than supported": (
        NVIDIA + "networking/display/connectx6firmwarev20352000lts/bug+fixes+history",
        "known assert of this firmware (3048162) with so many functions: upgrade, or fewer VFs and SFs",
        "a new assert: dump and support",
    ),
    "Open MPI: a start without mpirun": (
        "https://github.com/open-mpi/ompi/blob/main/docs/release-notes/changelog/v5.0.x.rst",
        "known crash of a singleton in 5.0.1: upgrade, or start with mpirun -n 1",
        "not the known crash",
    ),
    "UCX: the CUDA context is gone at the end": (
        "https://github.com/openucx/ucx/blob/master/NEWS",
        "known crash in MPI_Finalize, after the work: upgrade UCX",
        "not the known crash",
    ),
    "kernel: warning of a field-spanning write": (
        "https://github.com/torvalds/linux/commit/4d5e86a56615cc387d21c629f9af8fb0e958d350",
        "a known warning that changes nothing (CVE-2024-26907)",
        "the mended kernel does not print it: an older OFED's module is loaded, or something new",
    ),
    "CUDA: a product of matrices hangs or reads foreign memory": (
        NVIDIA + "cuda/archive/12.9.2/cuda-toolkit-release-notes/index.html",
        "known fault of cuBLASLt in this toolkit: upgrade CUDA",
        "the program reads foreign memory",
    ),
    "container toolkit: device rules in another cgroup": (
        TOOLKIT_NOTE,
        "known fault of 1.17.7 where nvidia-container-cli is called directly: 1.17.8 or 1.17.6",
        "the cgroup does not allow it: no-cgroups, or the delegation of Slurm",
    ),
    "container toolkit: CDI with a driver of branch 565": (
        TOOLKIT_NOTE,
        "known crash of 1.17.4 with driver 565: upgrade the toolkit",
        "not the known crash",
    ),
    "PyTorch: barrier makes contexts on the first GPU": (
        "https://github.com/pytorch/pytorch/releases/tag/v2.7.1",
        "known fault of 2.7.0 (149144): upgrade, or barrier with device_ids",
        "the program does not set its device before it uses CUDA",
    ),
    "NCCL: sockets between processes after a split": (
        NCCL_NOTE + "2.20.5-1",
        "known fault of 2.20.3 with ncclCommSplit (issue 1185): upgrade",
        "the peer process is gone or its namespace differs",
    ),
    "NCCL: kernels for fp8 on a GPU that is older": (
        NCCL_NOTE + "2.27.7-1",
        "known failure of 2.27.5 and 2.27.6 on GPUs before Blackwell: upgrade",
        "NCCL was built without this GPU's architecture",
    ),
    "NCCL: wrong sums over trees with LL128": (
        NCCL_NOTE + "2.18.3-1",
        "known corruption of 2.18.1 where a NIC and one GPU share a switch: upgrade, NCCL_PROTO=^LL128 until then",
        "data are corrupted by hardware or by PCIe ordering",
    ),
    "PyTorch: communicators that do not block": (
        "https://github.com/pytorch/pytorch/releases/tag/v2.7.1",
        "known hang of the non-blocking mode with NCCL 2.26 (154055): upgrade, or the blocking mode",
        "a hang in the initialisation: a rank or the network",
    ),
}
