# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The job: what may be wrong, where one looks, what puts it right. Pure data."""

from __future__ import annotations

from ..model import Cause

CAUSES = (
    Cause(
        "nccl_mixed",
        "nccl_version",
        "The ranks do not run the same NCCL, or not the same network plugin: two protocols talk to each other.",
        "in the container of every rank",
        "NCCL_DEBUG=VERSION; NCCL log: NET/Plugin; ldd or /proc/PID/maps "
        "| grep -E 'libnccl' (what is loaded, not what pip lists)",
        "one image digest on all hosts; NCCL_NET_PLUGIN=none or the same plugin everywhere",
        "NCCL: versions are not compatible on the wire",
        role="container",
    ),
    Cause(
        "nccl_bug",
        "nccl_version",
        "This version of NCCL (or of its plugin) is known for such a fault, or does not fit CUDA or the driver.",
        "in the container",
        "NCCL_DEBUG=VERSION; the same run with another NCCL (LD_PRELOAD)",
        "another version of NCCL",
        "NCCL release notes: fixed and known issues",
        cost=3,
    ),
    Cause(
        "vars_wrong",
        "run_env",
        "A variable of the job does not fit this site (NCCL_*, UCX_*, CUDA_VISIBLE_DEVICES, "
        "MASTER_ADDR), or comes from /etc/nccl.conf unseen.",
        "in the shell of a rank",
        "env | grep -E 'NCCL|UCX|OMPI|GLOO|CUDA|MASTER'; cat /etc/nccl.conf ~/.nccl.conf",
        "unset what nobody needs; set the rest the same on every rank (mpirun -x)",
        "NCCL documentation: environment variables",
        role="run",
    ),
    Cause(
        "launch_failed",
        "mpi_launch",
        "The launcher could not start or keep its daemons: ssh, host keys, hosts file, slots, "
        "PATH, different Open MPI.",
        "on the head",
        "mpirun -H HOST hostname, one host at a time; ssh -v HOST orted --version",
        "mesh stage: keys, known_hosts, the same Open MPI on all hosts",
        "Open MPI documentation",
        role="mesh",
    ),
    Cause(
        "mpi_transport",
        "mpi_launch",
        "Open MPI, PMIx or UCX chose a transport or interface that does not work here.",
        "on the head",
        "mpirun --mca pml_base_verbose 10 --mca btl_base_verbose 30 hostname; UCX_LOG_LEVEL=info",
        "btl_tcp_if_include with the cluster network; pml ob1 where UCX is not wanted",
        "Open MPI and UCX documentation",
        role="run",
    ),
    Cause(
        "application_failed",
        "application",
        "The program itself ended with an error (its code, data, or arguments); what other ranks say follows from it.",
        "on the rank that failed first",
        "the first traceback of the log, by time",
        "fix the program or its data",
        "Python traceback",
    ),
    Cause(
        "app_collective_mismatch",
        "application",
        "The ranks did not call the same collective in the same order, or with the same sizes.",
        "where the job runs",
        "TORCH_DISTRIBUTED_DEBUG=DETAIL; flight recorder (TORCH_NCCL_TRACE_BUFFER_SIZE)",
        "every rank the same number of batches and the same calls",
        "PyTorch distributed documentation",
        cost=3,
    ),
    Cause(
        "app_gpu_memory",
        "application",
        "The program wants more memory than the GPU has.",
        "on the host that is named",
        "nvidia-smi",
        "smaller batch; end other processes on this GPU",
        "CUDA: error 2",
        role="run",
    ),
    Cause(
        "app_gpu_shared",
        "application",
        "Two processes use one GPU (ranks on the same device, or somebody else's job).",
        "on the host that is named",
        "nvidia-smi; NCCL log: busId of each rank",
        "one rank per GPU: torch.cuda.set_device(local_rank)",
        "NCCL: Duplicate GPU detected",
    ),
    Cause(
        "app_host_memory",
        "application",
        "The program wants more memory than host or container has.",
        "on the host",
        "free -g; dmesg | grep -i oom",
        "fewer loaders, smaller batch, more memory",
        "kernel: OOM killer",
    ),
    Cause(
        "container_memory",
        "container",
        "The memory limit of the container was reached.",
        "on the host",
        "docker inspect -f '{{.HostConfig.Memory}}' NAME; cat /sys/fs/cgroup/memory.max",
        "a higher limit",
        "cgroup v2: memory.max",
        role="container",
    ),
    Cause(
        "app_fork",
        "application",
        "The program started processes by fork after CUDA was initialised.",
        "where the program runs",
        "multiprocessing start method",
        "spawn in place of fork",
        "CUDA and fork are incompatible",
    ),
    Cause(
        "peer_process_gone",
        "application",
        "A rank ended or stands still; those who complain are its victims.",
        "on the rank that is named as peer, or that says nothing",
        "its last lines; ps (state D or T), py-spy dump; dmesg of its host (Xid, OOM)",
        "repair what ended it",
        "NCCL: remote process exited or network error",
    ),
)
