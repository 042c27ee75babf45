"""What the lines of a failed run mean: one table, most telling line first. Pure data.

Texts of Open MPI, ssh and Docker: recorded (Open MPI 4.1.4 and 5.0.11, OpenSSH 9.2, Docker 20.10). Texts of CUDA, NCCL
and TensorFlow: from their sources, not verified on hardware.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Pattern

from ..._judge import words
from ..._judge.xids import numbers


@dataclasses.dataclass(frozen=True)
class Rule:
    """If a line matches ``pattern``, the cause is ``cause``.

    Groups: host, host2, rank, by (reporter); what* is shown.
    """

    cause: str
    pattern: Pattern[str]
    summary: str
    remedy: str

    @functools.cached_property
    def words(self) -> tuple[str, ...]:
        return words.any_of(self.pattern)


def _rule(cause: str, pattern: str, summary: str, remedy: str) -> Rule:
    return Rule(cause, re.compile(pattern, re.IGNORECASE), summary, remedy)


def _xid(cause: str) -> str:
    return rf"NVRM: (?P<what>Xid \(PCI:[0-9a-f:.]+\): (?:{numbers((cause,))})\b)"


# A failed request of RDMA: who says so (NCCL's prefix) and with whom.
_COMPLETION = (
    r"(?:(?P<by>[^\s:\[\]<>]+):\d+:\d+ \[\d+\].*?)?Got completion (?:from peer (?P<host>[^\s<]+)<\d+> )?"
    r".*?(?:status=|error )%(status)d\b.*"
)

# In order: a line that names a cause precedes lines that only name consequences.
RULES: tuple[Rule, ...] = (
    _rule(
        "host_key_changed",
        "REMOTE HOST IDENTIFICATION HAS CHANGED"
        r"|host key for \[?(?P<host>[^\]\s]+)\]?(?::\d+)? has changed",
        "the ssh host key is not the one that was pinned",
        "find out why (reinstalled host, wrong address, a machine in between); only then pin the "
        "new key by running the mesh stage again",
    ),
    _rule(
        "host_key_unknown",
        r"No \w+ host key is known for \[?(?P<host>[^\]\s]+?)\]?(?::\d+)? and you have requested"
        "|Host key verification failed",
        "the ssh host key is not known in the container that wanted to log in",
        "run the mesh stage again: it pins the keys of all hosts in known_hosts of the head; where a "
        "worker wanted to log in (more than 64 without plm_rsh_no_tree_spawn), set that parameter as role run does, "
        "or mesh_topology: all",
    ),
    _rule(
        "ssh_refused",
        r"connect to host (?P<host>\S+) port \d+: Connection refused",
        "nothing listens on the ssh port",
        "start the container on this host (docker logs says why it ended); with mesh_transport guide, "
        "start sshd (systemctl status ssh)",
    ),
    _rule(
        "ssh_closed",
        r"Connection (?:reset|closed) by (?P<host>\S+) port \d+"
        r"|kex_exchange_identification: (?:read: )?Connection (?:reset by peer|closed by remote host)",
        "an ssh server ended the connection before it greeted: it was just stopped, or takes no more (MaxStartups)",
        "look at the ssh server of each container (docker logs) or, with mesh_transport guide, host, then run again",
    ),
    _rule(
        "ssh_timeout",
        r"connect to host (?P<host>\S+) port \d+: "
        "(?:Connection timed out|Operation timed out|No route to host|Network is unreachable)"
        "|Connection timed out during banner exchange"
        r"|Connection to (?P<host2>\S+) port \d+ timed out",
        "the host does not answer on the ssh port",
        "check that the VM is powered on and that the cluster network reaches it (link, VLAN, "
        "firewall), then run again",
    ),
    _rule(
        "ranks_unreachable",
        r"gloo/transport/\S+\] connect \[(?P<host>[^\]\s]+)\](?::\d+)?: (?:Connection timed out|No route to host)"
        r"|Call to connect to (?P<host2>[^\s<]+)<\d+> failed : (?:Connection timed out|No route to host)",
        "its ranks do not answer on their ports, although the host could be logged into",
        "look for a firewall there and on the way (iptables -S; nft list ruleset): ranks use any TCP port between the "
        "cluster addresses, and UDP 4791; then at the link and the route of the cluster network",
    ),
    _rule(
        "name_unknown",
        r"Could not resolve hostname (?P<host>[^\s:]+)",
        "the host name cannot be resolved inside the container",
        "give addresses in run_hosts, not names",
    ),
    _rule(
        "key_file_refused",
        r"UNPROTECTED PRIVATE KEY FILE|Bad owner or permissions on (?P<what>\S+)"
        r"|Load key \S+: (?:bad permissions|invalid format|error in libcrypto)",
        "ssh in the container refuses its key or its config file",
        "run the mesh stage again: it sets owner root and mode 0600 on the files of the mesh",
    ),
    _rule(
        "docker_permission",
        "permission denied while trying to connect to the Docker daemon"
        r"|dial unix \S*docker\.sock: connect: permission denied|docker\.sock.*permission denied",
        "the ssh user of the mesh may not use Docker",
        "put the user into the group docker on this host (the mesh stage does it), then log in again",
    ),
    _rule(
        "permission_denied",
        r"(?:\S+@)?(?P<host>[\w.:-]+): Permission denied \([\w,-]+\)|Permission denied \(publickey",
        "the host does not take the mesh key",
        "run the mesh stage again: it lets this host accept the head's key",
    ),
    _rule(
        "docker_down",
        "Cannot connect to the Docker daemon|error during connect:.*docker|Is the docker daemon running",
        "the Docker daemon does not run",
        "start it (systemctl status docker) on this host",
    ),
    _rule(
        "container_not_running",
        r"Container \S+ is (?:not running|restarting|paused)|The container \S+ has been paused"
        r"|container \S+ is not running|cannot exec in a stopped container",
        "the MPI container exists but does not run (after a reboot without a restart policy it stays down)",
        "run the container stage again, or docker start it on this host",
    ),
    _rule(
        "container_missing",
        r"No such container: \S+|Could not find container",
        "there is no MPI container",
        "run the container stage on this host",
    ),
    _rule(
        "orted_missing",
        "orted: (?:command )?not found|orted: No such file or directory"
        r"|prted: (?:command )?not found|exec: \"?orted\"?: executable file not found",
        "Open MPI's daemon (orted) is not on the PATH of the worker's container",
        "use the same image on all hosts (docker image inspect: digest), with the directory of "
        "orted in the image's PATH",
    ),
    _rule(
        "orted_broken",
        "orte_init failed|orte_session_dir failed|orted: Error: unknown option"
        r"|ORTE_ERROR_LOG: Bad parameter in file \S*ess_base_std_orted",
        "Open MPI's daemon started on a worker and could not initialise (its arguments were lost "
        "or its /tmp is not writable)",
        "check that /tmp of the worker's container can be written; with mesh_transport guide, that mpicont.sh has "
        '"$SSH_ORIGINAL_COMMAND" in double quotes',
    ),
    _rule(
        "gpu_fault",
        _xid("gpu_fault") + "|GPU has fallen off the bus"
        r"|uncorrectable (?P<what2>(?:ECC|NVLink) error)[^\n]*",
        "a GPU failed",
        "drain this host and reset the GPU or restart the host: another rank's error is an echo of it",
    ),
    _rule(
        "driver_bug",
        _xid("driver_bug"),
        "the GPU's driver or its own processor hangs",
        "reset the GPU, and take a newer driver if it comes back: another rank's error is an echo of it",
    ),
    _rule(
        "gpu_error_contained",
        _xid("gpu_error_contained"),
        "an error in a GPU's memory ended the program that met it; the GPU goes on",
        "start the run again, and reset this GPU in the next window",
    ),
    _rule(
        "nvml_mismatch",
        "Driver/library version mismatch",
        "the NVIDIA driver that is loaded is not the one that is installed (NVML)",
        "it was updated while loaded (nvidia-smi on this host says both versions): restart the guest in a window of "
        "yours, and hold the driver's packages (apt-mark hold)",
    ),
    _rule(
        "driver_too_old",
        r"NVIDIA driver on your system is too old(?: \(found version (?P<what>\d+)\))?"
        "|CUDA driver version is insufficient for CUDA runtime version"
        "|unsupported display driver ?/ ?cuda driver combination",
        "the NVIDIA driver of the host is older than the CUDA of the image wants",
        "install a newer driver on this host, or take an image for its CUDA (nvidia-smi prints the newest it can run)",
    ),
    _rule(
        "fabric_manager",
        "system not yet initialized|CUDA_ERROR_SYSTEM_NOT_READY|cudaErrorSystemNotReady",
        "the GPUs are not ready: NVLink switches without their Fabric Manager (CUDA error 802)",
        "start nvidia-fabricmanager on this host in just the driver's version (systemctl status nvidia-fabricmanager)",
    ),
    _rule(
        "version_mismatch",
        "mpirun has detected.*different version|(?<!library )Version mismatch"
        "|incompatible version of (?:Open MPI|ORTE|PMIx)",
        "the hosts have different versions of Open MPI",
        "use one image digest on all hosts",
    ),
    _rule(
        "slots",
        "There are not enough slots available",
        "more ranks were asked for than the hosts have slots",
        "raise slots in run_hosts (one per GPU) or ask for fewer ranks",
    ),
    _rule(
        "mpirun_option",
        r"a parameter given to a command line\s*$|option does not match the expected format"
        "|unrecognized (?:option|argument)|mpirun: Error: unknown option",
        "mpirun does not take its own command line",
        "compare with the version of Open MPI in the image (this collection writes for 4 and 5); a "
        'blank inside -np "4 " is refused by 4.1',
    ),
    _rule(
        "run_as_root",
        "(?:mpirun|prterun) has detected an attempt to run as root",
        "mpirun refuses to run as root",
        "add --allow-run-as-root",
    ),
    _rule(
        "program_missing",
        r"Executable: (?P<what>\S+)|can't open file '(?P<what2>[^']+)'"
        r"|(?:ModuleNotFoundError|python[\d.]*): No module named '?(?P<what3>[\w.]+)",
        "the program is not in the container",
        "build the image again with the workload in it, and pull it on every host (same digest)",
    ),
    _rule(
        "port_in_use",
        "Address already in use|EADDRINUSE",
        "the port of rank 0 is taken",
        "end what an earlier run left behind (run_end_leftovers: true), or choose another run_master_port",
    ),
    _rule(
        "interfaces",
        # The box of Open MPI is wrapped, so each alternative fits one of its lines.
        "accepted a TCP connection from what appears to be|cannot find a corresponding process"
        "|No network interfaces were found for out-of-band"
        "|unable to find a usable interface|None of the networks specified to be included",
        "the ranks cannot find each other: Open MPI took an interface that is not the cluster "
        "network (docker0 has the same address on every host)",
        "set run_network to the CIDR of the cluster network (btl_tcp_if_include, and oob_tcp_if_include or "
        "prte_if_include of Open MPI 5)",
    ),
    _rule(
        "interface_missing",
        r"no interface has an address in (?P<what>\S+)",
        "a rank's host has no address in the cluster network",
        "check the addresses of this host and run_network",
    ),
    _rule(
        "wrong_sum",
        r'ROCEMESH-ALLREDUCE \{.*"ok": false',
        "an MPI collective returned a wrong sum or ran with the wrong number of ranks",
        "check that all hosts have the same image; this is a broken MPI, do not train on it",
    ),
    _rule(
        "gpu_memory",
        "CUDA (?:error: )?out of memory|CUDA_ERROR_OUT_OF_MEMORY|ResourceExhaustedError|OOM when allocating"
        r"|Cuda failure '?out of memory|torch\.cuda\.OutOfMemoryError",
        "a GPU ran out of memory",
        "lower run_batch_size, and look for another process on that GPU (nvidia-smi)",
    ),
    _rule(
        "host_memory",
        r"process rank (?P<rank>\d+) with PID \d+ on node (?P<host>\S+) exited on signal 9"
        "|oom-kill|Out of memory: Killed|DefaultCPUAllocator: can't allocate memory|MemoryError",
        "a rank was killed, most likely because the host ran out of memory",
        "look at dmesg on this host for the OOM killer; lower run_batch_size or give the VM more memory",
    ),
    _rule(
        "shared_memory",
        "posix_fallocate failed: No space left on device|/dev/shm.*No space left",
        "/dev/shm of the container is too small",
        "start the container with --ipc=host or a shm-size of at least 1 GB per rank (container stage)",
    ),
    _rule(
        "disk_full",
        r"(?P<what>[^\s:'\"]*/[^\s:'\"]*)['\"]?: No space left on device|No space left on device|Disk quota exceeded",
        "a disk is full",
        "df -h and df -i, on this host and in its container (docker system df)",
    ),
    _rule(
        "memlock",
        "ibv_reg_mr.*Cannot allocate memory|Call to ibv_reg_mr failed",
        "the container may not lock enough memory for RDMA",
        "start the container with --ulimit memlock=-1 (container stage) and check ulimit -l through mpirun",
    ),
    _rule(
        "gpu_taken_away",
        "Failed to initialize NVML: Unknown Error",
        "the container had GPUs and lost them: systemd was reloaded on the host since it was started, and what only "
        "the hook of the NVIDIA runtime has given is not on systemd's list of devices",
        "restart the container when no job runs in it; container_gpu_access auto gives GPUs in a way (CDI, named "
        "devices) that a reload leaves alone",
    ),
    _rule(
        "no_gpu",
        "Failed to initialize NVML|No devices were found|no NVIDIA driver|no CUDA-capable device|sees no CUDA device",
        "a rank sees no GPU",
        "check nvidia-smi on the host and that the container was started with --gpus all",
    ),
    _rule(
        "container_exec",
        "OCI runtime exec failed(?P<what>:.*)?",
        "docker exec could not start a process in the container",
        "docker exec a command by hand on this host; start the container again (container stage)",
    ),
    _rule(
        "rdma_retries",
        _COMPLETION % {"status": 12} + r"|Failed status 12\b.*|ibv_modify_qp .*timed out",
        "RDMA packets do not arrive (retries exceeded)",
        "check between the hosts that are named: the GID index of each (RoCE v2, its own address), then routing, PFC "
        "and ECN of the switch",
    ),
    _rule(
        "rdma_protection",
        _COMPLETION % {"status": 4} + r"|Failed status 4\b.*",
        "a NIC may not reach the memory that it was given (local protection error)",
        "inside a VM this is what missing ATS, ACS or peer memory looks like: run the stages esxi, vm and nic and look "
        "for ATSCtl: Enable+; NCCL_NET_GDR_LEVEL=LOC shows whether it is GPUDirect",
    ),
    _rule(
        "dmabuf",
        "Call to ibv_reg_dmabuf_mr failed",
        "the NIC driver cannot register GPU memory as DMA-BUF",
        "set NCCL_DMABUF_ENABLE=0 (run_env) with nvidia_peermem loaded, or install a newer OFED",
    ),
    _rule(
        "no_socket_interface",
        "Bootstrap : no socket interface found|NET/Socket : no interface found",
        "NCCL finds no network interface of the name that it was given",
        "check NCCL_SOCKET_IFNAME (run_env) against the interfaces of each host",
    ),
    _rule(
        "no_rdma_device",
        "Did not detect devices|Unable to find the Infiniband/RoCE device|Failed to initialize any NET plugin"
        "|Error: network IB not found",
        "there is no RDMA device in the container",
        "start the container with /dev/infiniband and rdma-core in its image (container stage); check ibv_devices",
    ),
    _rule(
        "nccl_tests",
        r"Test (?:NCCL|CUDA) failure (?P<what>.*)|Invalid number of GPUs: (?P<what2>.*)",
        "nccl-tests failed",
        "read the NCCL WARN lines before it; start one process per GPU",
    ),
    _rule(
        "cuda",
        r"CUDA error: (?P<what>[^\n]*)|Cuda failure (?P<what2>[^\n]*)",
        "a call of CUDA failed",
        "a later call than the one that failed may report it: run again with CUDA_LAUNCH_BLOCKING=1 (run_env), and "
        "read the kernel log of this host (Xid)",
    ),
    _rule(
        "nccl",
        "NCCL WARN (?P<what>.*)|ncclUnhandledCudaError|ncclSystemError|ncclRemoteError|ncclInternalError"
        "|unhandled system error|DistBackendError",
        "NCCL failed",
        "read the NCCL WARN lines in the saved log; run with NCCL_DEBUG=INFO (run_env) for the "
        "interfaces that it chose",
    ),
    _rule(
        "weights_differ",
        "the ranks ended with different weights",
        "the ranks did not train together",
        "this is wrong arithmetic or a broken network path; do not use the figures",
    ),
    # A rank that is ended leaves such an Xid, too: every line that names a cause precedes it.
    _rule(
        "app_illegal_access",
        _xid("app_illegal_access"),
        "the driver ended a program on a GPU, mostly for a fault of the program",
        "read what the program on this host printed before it (CUDA_LAUNCH_BLOCKING=1, compute-sanitizer)",
    ),
    # Last: a warning, which a run may survive.
    _rule(
        "network_ignored",
        "Did not find interface matching this subnet",
        "Open MPI ignored the network that it was pinned to, and its daemons take any of this family (5.0.11 does this "
        "where the interface has an IPv6 address too)",
        "name the interface instead: run_mca: {prte_if_include: ens192}",
    ),
)
