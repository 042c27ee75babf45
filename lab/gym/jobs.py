"""Faults of the job: NCCL and its variables, launcher, the program itself."""

from __future__ import annotations

from .model import HOST, JOB, add, fault, swap

_C = "containers/{host}/"
_J = "job/job.log"
_NCCL = "{host}:40{n}:41{n} [0] "
_OUT = "[1,{r}]<stderr>:"
_SSH = "OpenSSH"
_OMPI = "Open MPI documentation"

FAULTS = (
    fault(
        "nccl_version",
        "nccl_version: nccl_mixed",
        HOST,
        "NVIDIA/nccl issue 1267",
        swap(_C + "version.txt", "NCCL version 2.21.5", "NCCL version 2.19.3"),
        symptom="gone",
    ),
    fault(
        "nccl_plugin",
        "nccl_version: nccl_mixed",
        HOST,
        "NVIDIA/nccl issue 1634",
        swap(
            _J,
            "{host}:40{n}:40{n} [0] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so)",
            "{host}:40{n}:40{n} [0] NCCL INFO Plugin Path : /opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so",
        ),
        symptom="hang",
    ),
    fault(
        "env_ib_disabled",
        "run_env: vars_wrong",
        HOST,
        "NCCL documentation, NCCL_IB_DISABLE",
        add(_C + "env.txt", "NCCL_IB_DISABLE=1"),
        symptom="slow",
    ),
    fault(
        "env_net_socket",
        "run_env: vars_wrong",
        JOB,
        "NCCL documentation, NCCL_NET",
        add(_J, _NCCL + "NCCL INFO NCCL_NET set by environment to Socket."),
        symptom="slow",
    ),
    fault(
        "env_interface",
        "run_env: socket_interface_missing",
        JOB,
        "NVIDIA/nccl issue 1837",
        add(
            _J,
            _NCCL + "NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth2",
            _NCCL + "NCCL WARN Bootstrap : no socket interface found",
        ),
        symptom="gone",
    ),
    fault(
        "env_buffer_sizes",
        "run_env: vars_wrong",
        JOB,
        "NVIDIA/nccl issue 2408",
        add(_J, _NCCL + "NCCL INFO NCCL_CHUNK_SIZE=2097152", "# Out of bounds values : 512 FAILED"),
        symptom="",
    ),
    fault(
        "port_taken",
        "run_env: port_in_use",
        JOB,
        "errno EADDRINUSE",
        add(_J, "[rank0]: The server socket has failed to bind to 0.0.0.0:29500 (errno: 98 - Address already in use)."),
        symptom="gone",
    ),
    fault(
        "topology_flat",
        "topology: gdr_distance",
        JOB,
        "NVIDIA/nccl issue 1464",
        add(_J, _NCCL + "NCCL INFO GPU Direct RDMA Disabled for GPU 0 / HCA 0 (distance 7 > 4)"),
        symptom="slow",
    ),
    fault(
        "ssh_key_mode",
        "mpi_launch: ssh_key_file",
        JOB,
        _SSH,
        add(_J, "Permissions 0644 for '/root/.ssh/id_ed25519' are too open."),
        symptom="",
    ),
    fault(
        "ssh_host_key",
        "mpi_launch: ssh_host_key",
        JOB,
        _SSH,
        add(_J, "Host key verification failed."),
        symptom="",
    ),
    fault(
        "ssh_refused",
        "mpi_launch: ssh_login_refused",
        JOB,
        _SSH,
        add(_J, "nvidia@{host}: Permission denied (publickey)."),
        symptom="",
    ),
    fault(
        "orted_missing",
        "mpi_launch: mpi_not_on_worker",
        JOB,
        "horovod/horovod issue 527",
        add(_J, "bash: line 1: orted: command not found", "ORTE was unable to reliably start one or more daemons."),
        symptom="",
    ),
    fault(
        "slots",
        "mpi_launch: slots_missing",
        JOB,
        _OMPI,
        add(_J, "There are not enough slots available in the system to satisfy the 8"),
        symptom="",
    ),
    fault(
        "mpi_root",
        "mpi_launch: mpirun_as_root",
        JOB,
        _OMPI,
        add(_J, "mpirun has detected an attempt to run as root."),
        symptom="",
    ),
    fault(
        "mpi_tcp",
        "mpi_launch: mpi_transport",
        JOB,
        _OMPI,
        add(_J, "At least one pair of MPI processes are unable to reach each other for MPI communications."),
        symptom="",
    ),
    fault(
        "app_traceback",
        "application: application_failed",
        JOB,
        "Python",
        add(_J, _OUT + "Traceback (most recent call last):", _OUT + "KeyError: 'learning_rate'"),
        symptom="gone",
    ),
    fault(
        "app_module",
        "application: python_package_missing",
        JOB,
        "Python",
        add(_J, _OUT + "ModuleNotFoundError: No module named 'apex'"),
        symptom="gone",
    ),
    fault(
        "app_gpu_memory",
        "application: app_gpu_memory",
        JOB,
        "CUDA driver API: error 2",
        add(_J, _OUT + "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB"),
        symptom="gone",
    ),
    fault(
        "app_duplicate_gpu",
        "application: app_gpu_shared",
        JOB,
        "NCCL: Duplicate GPU detected",
        add(_J, _NCCL + "init.cc:943 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device b000"),
        symptom="",
    ),
    fault(
        "app_collectives",
        "application: app_collective_mismatch",
        JOB,
        "PyTorch distributed documentation",
        add(_J, _OUT + "RuntimeError: Detected mismatch between collectives on ranks."),
        symptom="hang",
    ),
    fault(
        "app_illegal_access",
        "application: app_illegal_access",
        JOB,
        "NVIDIA: XID errors, 31",
        add(_J, _OUT + "RuntimeError: CUDA error: an illegal memory access was encountered"),
        symptom="gone",
    ),
    fault(
        "image_cuda",
        "container: cuda_arch_not_built",
        JOB,
        "CUDA: error 209",
        add(_J, _OUT + "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
        symptom="gone",
    ),
)
