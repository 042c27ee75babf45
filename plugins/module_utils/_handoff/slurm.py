"""What Slurm says of a job that did not end well, in words that say what to do. Pure.

Recorded with Slurm 22.05: a job that was cancelled, reached its time limit, was preempted, lost a node, whose steps
took more memory than they asked for (JobAcctGatherParams=OverMemoryKill), and ranks that were killed or failed. What
the kernel's cgroup adds (oom_kill) is from published outputs.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """``early``: only what was said before Slurm ended anything; what ranks say after that follows from it."""

    code: str
    pattern: re.Pattern[str]
    message: str
    early: bool = False


_END = re.compile(r"\*\*\* (?:JOB|STEP) ")
_RANK = r"srun: error: (?P<host>\S+): tasks? (?P<rank>\S+): "
_STEPD = r"slurmstepd(?:-\S+)?: error: "
_BY_SLURM = r"\*\*\* (?:JOB|STEP) (?P<id>\S+) (?:ON (?P<host>\S+) )?CANCELLED AT (?P<at>\S+)"
# A line that names a cause comes before those that only name consequences.
_RULES = (
    Rule(
        "slurm_time_limit",
        re.compile(_BY_SLURM + " DUE TO TIME LIMIT"),
        "{host}: job {id} reached its time limit at {at}. What to do: raise run_timeout and make the hand-off again, "
        "or sbatch --time; if the same work took less before, look for the rank that stood still",
    ),
    # What ends the job names its first node, whichever was lost.
    Rule(
        "slurm_node_failure",
        re.compile(r"(?:srun|salloc): error: Node failure on (?P<host>\S+)"),
        "{host}: Slurm lost this node. What to do: sinfo -R has the reason; repair it, or hand off other nodes",
    ),
    Rule(
        "slurm_node_failure",
        re.compile(r"\*\*\* (?:JOB|STEP) (?P<id>\S+) .*?CANCELLED AT (?P<at>\S+) DUE TO NODE FAILURE"),
        "Slurm lost a node of job {id} at {at}. What to do: sinfo -R names it; repair it, or hand off other nodes",
    ),
    Rule(
        "slurm_preempted",
        re.compile(_BY_SLURM + " DUE TO PREEMPTION"),
        "{host}: another job took the nodes of job {id} at {at}. What to do: submit it again, in a partition that is "
        "not preempted",
    ),
    Rule(
        "slurm_out_of_memory",
        re.compile(_STEPD + r"(?:StepId=|Job |Step )(?P<id>\S+) exceeded memory limit \((?P<took>\d+) > (?P<most>\d+)"),
        "a step of job {id} took {took} bytes of memory on a node and may have {most}. What to do: sbatch --mem=0 for "
        "all memory of the node, or a smaller batch",
    ),
    Rule(
        "slurm_out_of_memory",
        re.compile(_STEPD + r"Detected \d+ oom[-_]kill event\(?s?\)? in (?:StepId=|step )?(?P<id>\S+?)[. ]"),
        "the kernel ended a rank of step {id} for memory. What to do: a smaller batch, or sbatch --mem=0 for all "
        "memory of the node",
    ),
    Rule(
        "slurm_out_of_memory",
        re.compile(_RANK + "Out Of Memory"),
        "{host}: the kernel ended rank {rank} for memory. What to do: a smaller batch, or sbatch --mem=0 for all "
        "memory of the node",
    ),
    Rule(
        "slurm_rank_killed",
        re.compile(_RANK + "(?P<how>Aborted|Segmentation fault|Bus error|Illegal instruction)"),
        "{host}: rank {rank} was ended by a signal ({how}). What to do: the .err files have the rank's last words",
        early=True,
    ),
    Rule(
        "slurm_rank_killed",
        re.compile(_RANK + "(?P<how>Killed|Terminated)"),
        "{host}: rank {rank} was ended by a signal ({how}). What to do: dmesg on {host} tells whether the kernel did "
        "it for memory; the .err files have the rank's last words",
        early=True,
    ),
    Rule(
        "slurm_rank_failed",
        re.compile(_RANK + r"Exited with exit code (?P<rc>\d+)"),
        "{host}: rank {rank} ended with status {rc}. What to do: read its lines in the .err files",
        early=True,
    ),
    Rule(
        "slurm_cancelled",
        re.compile(
            r"\*\*\* JOB (?P<id>\S+) ON (?P<host>\S+) CANCELLED AT (?P<at>\S+)"
            r"(?: BY UID (?P<user>\d+)| DUE to SIGNAL [\w ]+)? \*\*\*"
        ),
        "{host}: job {id} was cancelled at {at}{by}. What to do: nothing is wrong with the nodes; ask who cancelled it "
        "(sacct -j {id} -o JobID,State,User), and submit it again",
    ),
    # Slurm says the same of a step that a user cancelled and of one whose first rank has failed.
    Rule(
        "slurm_step_ended",
        re.compile(_BY_SLURM),
        "{host}: the ranks of job {id} were ended at {at}: one of them failed, or the job was cancelled. "
        "What to do: read the ranks' last words in the .err files; sacct -j {id} -o JobID,State,ExitCode tells which",
    ),
)


def explain(text: str) -> dict[str, str] | None:
    """The first rule that a line of ``text`` meets, as code and message; None if Slurm says nothing of an end."""
    end = _END.search(text)
    early = text[: end.start()] if end else text
    for rule in _RULES:
        match = rule.pattern.search(early if rule.early else text)
        if match:
            found = {key: value or "" for key, value in match.groupdict().items()}
            found["by"] = f" by user {found['user']}" if found.get("user") else ""
            found["id"] = found.get("id", "").split(".", maxsplit=1)[0]
            return {"code": rule.code, "message": rule.message.format(**found)}
    return None
