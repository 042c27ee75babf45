# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Process and resource managers: PMI and MPICH, PRRTE, Slurm, Ray, torchrun, and commands that are not there.

Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, ECHO, FACT, rule, sign

SIGNS = (
    # MPICH, Intel MPI, MVAPICH: the stack of a call that failed; Hydra's own messages.
    sign(
        "mpich",
        r"Fatal error in (?:internal_|P?MPI)\w+|Other MPI error|\bPMI\d?_\w+ (?:returned|failed)|\[(?:mpiexec"
        r"|proxy)[@:]"
        r"|\bHYD\w*_\w+|control_cb \(|MPIR?_\w+\(\d+\)\.{2,}|MPIDI?U?_\w+\(\d+\)\.{2,}|unable to (?:parse|read) "
        r"hostfile"
        r"|pmi_proxy|MPIR_pmi_\w+",
    ),
    # Help texts of PRRTE and ORTE: hosts, slots, binding, mapping, out-of-band connections.
    sign(
        "prrte",
        r"(?:PRR?TE|ORTE|prterun|orterun|mpirun|mpiexec)\b.{0,20}(?:was unable|could not|cannot|has lost"
        r"|detected a mismatch in versions|does not support|requires|failed to)|No OOB path to target|contact "
        r"information"
        r" is unknown|\brml[/_]oob|An? (?:PRTE|ORTE|prted|orted) daemon has (?:unexpectedly )?(?:failed|died)"
        r"|daemon could not establish its identity|Your job failed to map|No nodes are available for this job"
        r"|All nodes which are allocated for this job are already filled|no allocated resources"
        r"|more (?:processes|slots|cpus) than|Either request fewer|hosts? (?:is|are) not included in the current"
        r"|hostfile.{0,40}(?:could not|cannot|not found|invalid|empty|was unable|does not exist)"
        r"|binding policy|request was made to bind|mapping (?:request|directive)\b.{0,40}(?:not|unrecogni|contains)"
        r"|launch agent\b.{0,40}(?:not|empty)|plm_(?:rsh|ssh)_agent.{0,60}(?:not|could|found)"
        r"|No (?:usable network interfaces were found on this host|sockets were able)"
        r"|A message is attempting to be sent to a process|Unable to locate the variable file"
        r"|requested to be forwarded, but was not found|mpirun.{0,40}\bhangs?\b|\bhangs?\b.{0,40}\bmpirun"
        r"|mpirun of .{0,60}\bhangs?",
    ),
    # How it is with a program of MPI itself, without CUDA.
    sign(
        "mpi_itself",
        r"hello(?: |-|_)?(?:world|program|mpi)?.{0,60}(?:hang|fail|stuck)|mpirun .{0,20}hostname.{0,40}(?:hang|stuck"
        r"|fail)",
    ),
    # Slurm: srun, sbatch, slurmstepd, plugins.
    sign(
        "slurm",
        r"(?:srun|sbatch|salloc|scontrol|slurmd|slurmctld|slurmstepd): (?:error|fatal)(?!: \S+: tasks? [\d,-]+: )"
        r"|Unable to (?:create step|confirm allocation|allocate resources|contact slurm)|Zero Bytes were transmitted"
        r"|Invalid (?:generic resource|partition|qos|account|node name|job credential)|Job "
        r"credential\b.{0,30}(?:expired|invalid|revoked)"
        r"|Requested node configuration is not available|Requested nodes are busy|Prolog (?:error|failed)|prolog error"
        r"|munge\b.{0,60}(?:fail|error|invalid|expired|denied)|Unable to satisfy (?:cpu bind|generic)|State=(?:DOWN"
        r"|DRAIN)"
        r"|task/(?:cgroup|affinity).{0,60}(?:fail|error)|PMI\w* (?:plugin|type).{0,40}(?:not|missing|invalid)"
        r"|mpi/pmix\w*.{0,60}(?:fail|error|not|invalid)|invalid mpi plugin|MPI plugin",
    ),
    sign(
        "command_missing",
        r"(?:mpirun|mpiexec|orted|prted|torchrun|deepspeed|accelerate|horovodrun|srun|pdsh|pdcp|ssh|sshd|ray|python3?"
        r"|ninja|nvcc|numactl)\S*: "
        r"(?:command )?not found|(?:mpirun|mpiexec|torchrun|deepspeed|ssh|pdsh|python3?|nvidia-smi|ray)\W{1,3}:? "
        r"executable file not found"
        r"|\"(?:mpirun|mpiexec|torchrun|deepspeed|ssh|python3?|nvidia-smi|ray|bash)\": executable file not found"
        r"|/(?:mpirun|mpiexec|orted|prted|torchrun|deepspeed|python3?|pdsh)\b\S*: No such file or directory"
        r"|env: \S*python3?\W{0,3}: No such file",
    ),
    sign(
        "mpi_library",
        r"lib(?:mpi|open-rte|open-pal|pmix|prrte|oshmem|mpi_cxx|mpicxx|hwloc|event_core|event\w*)\.so\S*: cannot open"
        r"|undefined symbol: (?:MPI_|ompi_|opal_|orte_|PMIx_|pmix_)\w*|cannot load MPI library"
        r"|mpi4py\b.{0,80}(?:cannot|could not|fail|error)",
    ),
    # Ray: node addresses, GCS, placement groups; vLLM's checks of them.
    sign(
        "ray_nodes",
        r"No available node types can fulfill|Waiting for creating a placement group|placement group\b.{0,60}(?:pending"
        r"|timed? ?out|hang|stuck|cannot|never|not (?:created|ready)|infeasible)|node IP\w*\b.{0,60}(?:not|differ"
        r"|mismatch|wrong)"
        r"|Every node should have a unique IP|(?:fail\w*|unable|timed out|could not|cannot).{0,40}(?:connect to |reach "
        r"|contact )?(?:the )?"
        r"(?:GCS\b|gcs server|raylet|ray head|ray cluster)|Ray (?:cluster|head|worker)\b.{0,60}(?:unreachable|not "
        r"(?:found|reachable"
        r"|running)|timed? ?out)|GcsRpcClient|gcs_rpc_client|rpc_client\.h\S* .{0,60}(?:fail|disconnect|unavail)"
        r"|current node has no GPU|number of required GPUs exceeds|exceeds available GPUs",
    ),
    # torch.distributed: what env:// wants.
    sign(
        "env_expected",
        r"environment variable (?:MASTER_ADDR|MASTER_PORT|WORLD_SIZE|RANK|LOCAL_RANK)\b|(?:MASTER_ADDR|MASTER_PORT"
        r"|WORLD_SIZE"
        r"|LOCAL_RANK|LOCAL_WORLD_SIZE|OMPI_COMM_WORLD_\w+)\W.{0,30}(?:expected|not set|unset|missing|undefined|empty"
        r"|KeyError)"
        r"|KeyError: '(?:RANK|LOCAL_RANK|WORLD_SIZE|MASTER_ADDR|SLURM_\w+|OMPI_\w+)'"
        r"|from LD_PRELOAD cannot be preloaded|export of .{0,20}variables?",
    ),
    sign("command_env", r"^\s*(?:[$#>] ?)?(?:[A-Z][A-Z0-9_]+=\S+ )+(?:\S*/)?(?:mpirun|mpiexec|srun|pdsh)\b", FACT),
    sign("slurm_oom", r"Detected \d+ oom[_-]kill|task \d+: Out Of Memory|have been OOM Killed"),
    # How torch's agent names a signal: -9 killed, -7 bus error, -11 segmentation fault.
    sign("ended_killed", r"exit ?code\W{1,6}-9\b"),
    sign("ended_bus", r"exit ?code\W{1,6}-7\b|SIGBUS"),
    sign("ended_segv", r"exit ?code\W{1,6}(?:-11|139)\b"),
    sign(
        "ray_actor_gone",
        r"RayActorError|ActorDiedError|actor died unexpectedly|EngineDeadError|Engine ?core\b.{0,40}died"
        r"|WorkerProc\b.{0,60}died",
        ECHO,
    ),
    sign("ray_node_dead", r"marked (?:as )?dead\b|missed too many heartbeats"),
    sign("probe_failed", r"(?:Readiness|Liveness|Startup) probe (?:failed|errored)"),
    sign(
        "env_listed",
        r"NCCL_NET(?:_PLUGIN)?\s*(?:=|set by environment to) ?\"?(?!none\b|Socket\b|IB\b)\w+",
        FACT,
    ),
    sign("master_port", r"MASTER_PORT\W{1,3}\d+", FACT),
    sign("ucx_env", r"\bUCX_(?:TLS|NET_DEVICES|IB_\w+)\s*[=:]", FACT),
    sign("proxy_env", r"\bhttps?_proxy\b|\bno_proxy\b|\ball_proxy\b", FACT),
    sign(
        "proxy_in_way",
        r"Proxy Authentication Required|connect to proxy|HTTP proxy returned|proxy\b.{0,40}(?:403|503|407)\b|failed to "
        r"connect to .{0,40}via proxy",
    ),
)

RULES = (
    rule(
        "mpich",
        "mpich",
        CANDIDATE,
        "launch_failed mpi_transport wrong_interface",
        "MPICH source: src/pm/hydra, src/pmi, and the error stack of MPIR_Err",
    ),
    rule(
        "prrte",
        "prrte !name_unknown",
        CANDIDATE,
        "launch_failed mpi_transport wrong_interface firewall",
        "PRRTE source: help-errmgr-base.txt, help-prte-rmaps-base.txt, help-oob-tcp.txt and the other help texts",
    ),
    rule(
        "mpi_itself",
        "mpi_itself",
        CANDIDATE,
        "firewall mpi_transport wrong_interface",
        "Open MPI FAQ: a job that hangs over hosts and not on one: firewalls, interfaces that lead nowhere",
    ),
    rule(
        "slurm",
        "slurm !pyxis_failed|slurm_oom",
        CANDIDATE,
        "launch_failed limits_host mpi_transport",
        "Slurm documentation: srun, slurmstepd, MPI plugins",
    ),
    rule(
        "command_missing",
        "command_missing",
        CANDIDATE,
        "launch_failed container_libraries",
        "a shell that is not a login shell has another PATH; the image may lack the program",
    ),
    rule(
        "mpi_library",
        "mpi_library",
        CANDIDATE,
        "launch_failed container_libraries application_failed",
        "ld.so(8): LD_LIBRARY_PATH is not handed to other hosts unless -x or --prefix says so",
    ),
    rule(
        "ray_nodes",
        "ray_nodes",
        CANDIDATE,
        "wrong_interface vars_wrong firewall launch_failed",
        "Ray documentation: --node-ip-address; vLLM documentation: VLLM_HOST_IP, one address per node for Ray and the "
        "job",
    ),
    rule(
        "env_expected",
        "env_expected",
        CANDIDATE,
        "vars_wrong launch_failed",
        "PyTorch distributed: initialisation by env:// wants MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE",
    ),
    rule(
        "command_env",
        "command_env connect_refused|connect_retry|hang|watchdog|remote_closed|if_missing|nccl_internal",
        CANDIDATE,
        "vars_wrong launch_failed wrong_interface",
        "mpirun hands variables to other hosts with -x alone; what stands before the command is of the first host",
    ),
    rule(
        "slurm_oom",
        "slurm_oom",
        CANDIDATE,
        "limits_host app_host_memory container_memory",
        "Slurm documentation: a step that takes more memory than it asked for is killed by its cgroup",
    ),
    rule(
        "ended_killed",
        "ended_killed",
        CANDIDATE,
        "limits_host app_host_memory container_memory",
        "signal(7): 9 is sent from outside, most often by the kernel for want of memory",
    ),
    rule(
        "ended_bus",
        "ended_bus",
        CANDIDATE,
        "container_shm limits_host",
        "signal(7): 7 is a mapped page that cannot be had, most often one of /dev/shm",
    ),
    rule("ended_segv", "ended_segv", CANDIDATE, "application_failed nccl_bug", "signal(7): 11; 139 is 128 and 11"),
    rule(
        "ray_actor_gone",
        "ray_actor_gone",
        CANDIDATE,
        "peer_process_gone limits_host wrong_interface",
        "Ray documentation: an actor that died; its own log says of what",
    ),
    rule(
        "ray_node_dead",
        "ray_node_dead",
        CANDIDATE,
        "wrong_interface limits_host firewall kernel_fault",
        "Ray documentation: fault tolerance, heartbeats of nodes",
    ),
    rule(
        "probe_failed",
        "probe_failed",
        CANDIDATE,
        "application_failed container_down",
        "Kubernetes: probes of a pod that does not serve yet, or no more",
    ),
    rule(
        "plugin_wanted",
        "env_listed plugin_internal",
        CANDIDATE,
        "vars_wrong container_libraries nccl_mixed",
        "NCCL documentation, NCCL_NET_PLUGIN: a plugin that was asked for, and the internal one in its place",
    ),
    rule(
        "env_harm_felt",
        "env_harmful slow|hang !p2p_hang|gdr_lower",
        CANDIDATE,
        "vars_wrong",
        "two facts: a transport that a variable switches off, and a job that is slow or stands",
    ),
    rule(
        "master_port",
        "master_port torch_store|connect_timeout|port_taken|connect_refused|hang",
        CANDIDATE,
        "vars_wrong firewall",
        "PyTorch distributed: the port has to be free on the first host and open to the others",
    ),
    rule(
        "ucx_env",
        "ucx_env mpi_comm|ucx_device_missing",
        CANDIDATE,
        "vars_wrong mpi_transport container_devices",
        "two facts: transports or devices that were chosen by hand, and UCX that finds none",
    ),
    rule(
        "proxy",
        "proxy_in_way|proxy_env proxy_in_way|connect_refused|connect_timeout|torch_store|ray_nodes|hang",
        CANDIDATE,
        "vars_wrong firewall",
        "gRPC and HTTP clients of a job take a proxy from the environment, also for hosts of the cluster",
    ),
)
