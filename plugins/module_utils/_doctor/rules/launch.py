# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Launchers: ssh, mpirun, Slurm, Horovod, DeepSpeed, and what the ranks of an MPI say to each other. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, ECHO, LIKELY, rule, sign

SIGNS = (
    sign(
        "ssh_bad",
        r"UNPROTECTED PRIVATE KEY|Permissions \d+ for '.*' are too open|bad permissions"
        r"|Bad owner or permissions|Load key \S+: |Host key verification failed"
        r"|REMOTE HOST IDENTIFICATION HAS CHANGED|No \w+ host key is known"
        r"|Permission denied \((?:publickey|password|keyboard|gssapi)"
        r"|Permission denied, please try again|Too many authentication failures"
        r"|no matching (?:host key|key exchange|cipher|MAC)|sshd.*(?:Authentication refused"
        r"|not listening|fatal)|connect to host \S+ port \d+|kex_exchange_identification"
        r"|ssh_exchange_identification|Connection closed by .* port 22|ssh: .*(?:not found"
        r"|fail\w*|error)|missing ssh|\brsh\b.*not found|Authentication refused|StrictModes"
        r"|MaxStartups|pam_\w+.*(?:denied|fail)"
        # ssh(1): 255 is its own error, everything else that of the remote command.
        r"|\bssh\b.{0,200}\bexit (?:status|code) 255\b",
    ),
    sign(
        "unprotected_key",
        r"UNPROTECTED PRIVATE KEY|Permissions \d+ for '.*' are too open"
        r"|Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED"
        r"|Authentication refused: bad ownership",
    ),
    sign("gloo_pair", r"gloo/transport/\S+\] connect \[\S+?\]:\d+: (?:Connection timed out|No route to host)"),
    # The launcher did its work, and tells how a rank ended.
    sign(
        "ranks_ended",
        r"mpirun (?:has )?detected that one or more processes exited|mpirun noticed that process rank"
        r"|MPI_ABORT was invoked|srun: error: \S+: tasks? [\d,-]+: ",
        ECHO,
    ),
    sign(
        "orted_bad",
        r"orted: (?:command )?not found|prted: (?:command )?not found|hydra_\w+: .*(?:not found"
        r"|error)|HYDU?_\w+|bash: .*(?:orted|prted|hydra_pmi_proxy|mpirun).*(?:not found|No such)"
        r"|(?:ORTE|PRTE) (?:was unable|does not know|has lost)|orte_(?:init|session_dir|ess)"
        r"|ORTE_ERROR_LOG|PMIX ERROR|PMIx_\w+|pmix.*(?:error|fail\w*|not found|unable"
        r"|incompatible|mismatch)|opal_(?:init|pmix)|plm_rsh|plm:rsh|not enough slots"
        r"|There are no allocated resources|An ORTE daemon has unexpectedly failed"
        r"|unable to (?:launch|start|locate) .*(?:executable|daemon|proxy|process|orted)"
        r"|mpirun was unable|mpirun does not support"
        r"|MPI_Init\w* (?:failed|.*error)|No such file or directory.*mpirun"
        r"|different version of (?:Open MPI|PMIx|MPI)|slurmstepd: error"
        r"|srun: (?:error|fatal)(?!: \S+: tasks? [\d,-]+: )"
        r"|slurm_\w+.*(?:error|fail)|SLURM_\w+.*(?:not set|unset|invalid)|launcher .*(?:fail\w*"
        r"|not ready|cannot)|btl_tcp_endpoint|btl_openib.*error"
        r"|MPI startup\(\): .*(?:not found|error|fail)|PMI server not found"
        r"|not built with SLURM's PMI|\bPMI2?_\w+ .*fail"
        r"|Unable to run job|fork\(\) .*openib|MPI version .*(?:mismatch|differ)",
    ),
    # DeepSpeed: launcher/runner.py.
    sign("launcher_missing", r"launcher '\w+' not installed"),
    # Horovod: util/network.py; none of the addresses of a service answers.
    sign("service_unreachable", r"NoValidAddressesFound|unable to connect to \S+ (?:driver|task|\S+) service on any"),
    # Open MPI: help-mpi-btl-tcp.txt, invalid if_inexclude.
    sign("if_value_invalid", r"invalid value was given for (?:btl|oob)_tcp_if|Did not find interface matching"),
    # UCX: ucp_context.c names what was asked for and is not there.
    sign("ucx_device_missing", r"UCX +WARN +(?:network device|transport)s? '.*is not available"),
    # libfabric: fi_av_insert of the peer; EFA: the peer never answers.
    sign(
        "efa_peer",
        r"NET/OFI.{0,80}(?:remote address|address vector)|Unresponsive re(?:ceiver|mote)|FI_EFA_ERR_UNRESP\w*"
        r"|FI_EFA_ERR_UNESTABLISHED\w*",
    ),
    sign("mpi_root", r"attempt to run as root|allow-run-as-root"),
    sign(
        "mpi_comm",
        r"failed to TCP connect to a peer MPI|mca_btl_tcp\w*.*(?:fail\w*|error|connect)"
        r"|btl_tcp.*(?:fail\w*|error|refused|unreachable)|PML (?:add procs|ucx|ob1).*(?:fail\w*"
        r"|not available|cannot)|UCX +(?:ERROR|FATAL)|ucp_\w+.*(?:fail\w*|error)|pml_ucx"
        r"|no components? .*(?:pml|btl)|At least one pair of MPI processes are unable to reach"
        r"|unable to reach each other|libfabric.*(?:error|fail)|MPIDI?_\w+.*fail|OFI .*fail",
    ),
)

RULES = (
    rule(
        "service_address",
        "service_unreachable",
        CANDIDATE,
        "wrong_interface firewall launch_failed",
        "Horovod source: common/util/network.py",
    ),
    rule(
        "launcher_missing",
        "launcher_missing",
        CANDIDATE,
        "launch_failed",
        "DeepSpeed source: launcher/runner.py looks for pdsh and its like",
    ),
    rule(
        "if_value",
        "if_value_invalid",
        CANDIDATE,
        "vars_wrong wrong_interface launch_failed",
        "Open MPI: help-mpi-btl-tcp.txt: no interface of this host has that name or subnet",
    ),
    rule(
        "ucx_device",
        "ucx_device_missing",
        CANDIDATE,
        "container_devices container_libraries vars_wrong",
        "UCX source: ucp_context.c: what UCX_NET_DEVICES or UCX_TLS names is not seen by any transport",
    ),
    rule(
        "efa_peer",
        "efa_peer",
        CANDIDATE,
        "firewall nccl_mixed container_libraries",
        "AWS: an EFA security group has to allow all traffic to and from itself, outbound, too; libfabric fi_av(3)",
    ),
    rule(
        "ranks_ended",
        "ranks_ended",
        CANDIDATE,
        "application_failed mpi_transport",
        "Open MPI and Slurm documentation: the launcher reports how a rank ended",
    ),
    # The ranks have met at the store already: what fails is what only they send to each other.
    rule(
        "gloo_pair",
        "gloo_pair",
        CANDIDATE,
        "firewall wrong_interface host_out_of_reach",
        "gloo source: transport/tcp, a rank connects to the address that a peer gave to the store",
    ),
    rule("ssh", "ssh_bad", CANDIDATE, "launch_failed wrong_interface", "OpenSSH"),
    rule("ssh_key", "unprotected_key", LIKELY, "launch_failed", "OpenSSH says what it refuses"),
    rule(
        "orted",
        "orted_bad|mpi_root !pyxis_failed|slurm_oom",
        CANDIDATE,
        "launch_failed mpi_transport application_failed",
        "Open MPI, PMIx, Hydra, Slurm documentation",
    ),
    rule("mpi_comm", "mpi_comm", CANDIDATE, "mpi_transport wrong_interface firewall", "Open MPI and UCX documentation"),
)
