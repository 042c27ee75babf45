# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Launchers: ssh, mpirun, Slurm, Horovod, DeepSpeed, and what the ranks of an MPI say to each other. Pure data.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

from ..model import CANDIDATE, LIKELY, rule, sign

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
        r"|MaxStartups|pam_\w+.*(?:denied|fail)",
    ),
    sign(
        "unprotected_key",
        r"UNPROTECTED PRIVATE KEY|Permissions \d+ for '.*' are too open"
        r"|Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED"
        r"|Authentication refused: bad ownership",
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
        r"|mpirun (?:was unable|has detected|detected)|mpirun does not support"
        r"|MPI_Init\w* (?:failed|.*error)|MPI_ABORT was invoked|No such file or directory.*mpirun"
        r"|different version of (?:Open MPI|PMIx|MPI)|srun: (?:error|fatal)|slurmstepd: error"
        r"|slurm_\w+.*(?:error|fail)|SLURM_\w+.*(?:not set|unset|invalid)|launcher .*(?:fail\w*"
        r"|not ready|cannot)|btl_tcp_endpoint|btl_openib.*error"
        r"|Unable to run job|fork\(\) .*openib|MPI version .*(?:mismatch|differ)",
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
    rule("ssh", "ssh_bad", CANDIDATE, "launch_failed wrong_interface", "OpenSSH"),
    rule("ssh_key", "unprotected_key", LIKELY, "launch_failed", "OpenSSH says what it refuses"),
    rule(
        "orted",
        "orted_bad|mpi_root",
        CANDIDATE,
        "launch_failed mpi_transport application_failed",
        "Open MPI, PMIx, Hydra, Slurm documentation",
    ),
    rule("mpi_comm", "mpi_comm", CANDIDATE, "mpi_transport wrong_interface firewall", "Open MPI and UCX documentation"),
)
