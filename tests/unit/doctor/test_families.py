"""Messages of a family that no thread showed lead to the cause of the family. Lines of our own making."""

from __future__ import annotations

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

FAMILIES = (
    ("driver_too_old", "libfoo.so: undefined symbol: cuMemCreate"),
    ("base_too_old", "libm.so.6: version `GLIBC_2.38' not found (required by ./all_reduce_perf)"),
    ("container_devices", "error gathering device information while adding custom device /dev/infiniband"),
    ("container_down", "slurmstepd: error: pyxis: container start failed with error code: 1"),
    (
        "driver_not_running",
        "RuntimeError: cudaGetDeviceCount() Error 304: OS call failed or operation not supported on this OS",
    ),
    ("gpu_fault", "| Diagnostic            | Fail - All GPUs |\n|     | PCIe | Fail |"),
    ("gpu_needs_reset", "        Pending                           : Yes"),
    ("mpich_failed", "MPIR_pmi_kvs_get(227).......: PMI_KVS_Get returned -1"),
    ("command_not_on_path", "bash: line 1: deepspeed: command not found"),
    (
        "mpi_library_missing",
        "mpirun: error while loading shared libraries: libpmix.so.2: cannot open shared object file",
    ),
    ("ssh_failed", "kex_exchange_identification: banner line contains invalid characters"),
    ("ssh_login_refused", "sshd[9]: pam_unix(sshd:auth): authentication failure; rhost=192.0.2.9  user=train"),
    ("slurm_step_failed", "srun: error: task 0 launch failed: Unspecified error"),
    ("slurm_credential", "srun: error: Application launch failed: Invalid job credential"),
    (
        "container_bridge_network",
        "NCCL WARN socketStartConnect: Connect to 172.17.0.9<40001> failed : Connection refused",
    ),
    ("killed_for_memory", "failed (exitcode: -9) local_rank: 0 (pid: 4321)"),
    ("container_shm", "exitcode  : -7 (pid: 4321)"),
    ("wrong_interface", "RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error"),
    ("ray_gpus_too_few", "No available node types can fulfill resource request {'GPU': 1.0}"),
    ("foreign_client", "nmap found the port of the store"),
    ("application_failed", "gpu01:1:2 [0] NCCL WARN AllReduce : invalid root 9 (root should be in the 0..8 range)"),
    ("nccl_bug", "free(): invalid next size (fast) in all_reduce_perf"),
    ("link_faulty", "NCCL version 2.21.5+cuda12.4\nNCCL WARN NET/IB : mlx5_0:1 Got async event : port error"),
    ("link_faulty", "gpu01:1:2 [0] NCCL WARN NET/IB : mlx5_0:1 Got async error event: port error"),
    (
        "acs_redirects",
        "NCCL WARN NET/IB : mlx5_0:1 async fatal event on QP (0x7f): local access violation work queue error",
    ),
    ("nic_firmware_fault", "NCCL WARN NET/IB : Got completion from peer 192.0.2.1<4> with error 19, opcode 0, len 0"),
)

STATED = (
    ("driver_too_old", "NCCL WARN CUDA Driver version found is 11000. Minimum requirement is 11020"),
    ("pod_no_gpu_left", "Allocate failed due to no healthy devices present; cannot allocate nvidia.com/gpu"),
    ("mount_not_shared", "Error: path /run/x is mounted on /run but it is not a shared mount"),
    ("driver_absent_for_toolkit", "nvidia-container-cli: initialization error: nvml error: driver not loaded"),
    ("launcher_variables_missing", "ValueError: environment variable MASTER_ADDR expected, but not set"),
    ("nccl_mixed", "NCCL WARN NCCL version mismatch with remote peer 192.0.2.1 (local: 22703, remote 22605)"),
    ("container_no_gpu", 'could not select device driver "" with capabilities: [[gpu]].'),
    ("app_gpu_shared", "NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1b000"),
    ("app_collective_mismatch", "NCCL WARN Mismatched collective detected, please check your collective calls"),
    ("gpu_fault", "NVRM: Xid (PCI:0000:3b:00): 149, NETIR Fatal XC0 i0 Link 03 (0x1 0x0 0x0 0x0 0x0 0x0)"),
    (
        "gpu_needs_reset",
        "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot)",
    ),
    ("gpu_error_contained", "NVRM: Xid (PCI:0000:3b:00): 94, pid=77, Contained memory error"),
    ("iommu_blocks_peers", "nvidia 0000:3b:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x1 address=0x1]"),
    ("nvlink_error", "NVRM: Xid (PCI:0000:3b:00): 45, pid=77, name=python3, Ch 00000003 caused by previous Xid 145"),
    ("ssh_closed", "kex_exchange_identification: banner line 0: Exceeded MaxStartups"),
    ("ssh_closed", "kex_exchange_identification: Connection closed by remote host"),
    ("ssh_algorithms", "Unable to negotiate with 192.0.2.7 port 22: no matching cipher found. Their offer: aes256-cbc"),
    ("slurm_pmix", "slurmd: error: mpi/pmix_v5: init: (null) [0]: mpi_pmix.c:197: pmi/pmix: can not load PMIx library"),
    ("slurm_munge", "error: Munge decode failed: Invalid credential"),
    ("clocks_differ", "error: Munge decode failed: Rewound credential"),
    ("container_shm", "x.py:46: UserWarning: [Errno 28] No space left on device.  joblib will operate in serial mode"),
    (
        "container_shm",
        "    sl = self._semlock = _multiprocessing.SemLock(\nOSError: [Errno 28] No space left on device",
    ),
    (
        "ucx_without_rdma",
        "UCX ERROR no auxiliary transport to <no debug data>: posix/memory - no peer failure handler, "
        "self/memory - no peer failure handler",
    ),
    (
        "container_bridge_network",
        "4f1c2d3e5a6b:8:9 [1] NCCL WARN socketStartConnect: Connect to 172.17.0.2<40001> failed : No route to host",
    ),
    ("host_is_a_number", "ssh: connect to host 0.0.0.3 port 22: Connection timed out"),
    ("no_nvswitch", "request to query NVSwitch device information failed: Nothing to do [NV_WARN_NOTHING_TO_DO]"),
)


@pytest.mark.parametrize(("cause", "line"), STATED)
def test_a_message_that_states_its_cause_is_certain_and_alone(cause: str, line: str) -> None:
    found = diagnose(None, {"a.log": line + "\n"})
    assert found["verdict"] == "faulty"
    assert [finding["cause"] for finding in found["findings"]] == [cause]


@pytest.mark.parametrize(("cause", "line"), FAMILIES)
def test_a_message_of_a_family_leads_to_its_cause_first(cause: str, line: str) -> None:
    found = diagnose(None, {"a.log": line + "\n"})
    assert (found["findings"][0]["cause"], found["findings"][0]["certainty"]) == (cause, "candidate")


def test_an_exception_that_wraps_an_error_does_not_hide_it() -> None:
    plain = diagnose(None, {"a.log": "RuntimeError: the widget is bad\n"})
    wrapped = diagnose(None, {"a.log": "RuntimeError: [Errno 24] Too many open files\n"})
    assert plain["findings"][0]["cause"] == "application_failed"
    assert wrapped["findings"][0]["cause"] == "files_limit"
    assert "application_failed" not in [finding["cause"] for finding in wrapped["findings"]]
