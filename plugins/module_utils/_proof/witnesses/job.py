"""Witness: one job, that much is known of it, on GPUs with NCCL over the network that was asked for. Pure."""

from __future__ import annotations

import re

from ..evidence import Evidence
from ..witness import Doubts

# What CUDA calls its devices: "NVIDIA H100 80GB HBM3", older drivers "Tesla V100-SXM2-16GB", "A100-SXM4-40GB".
_GPU = re.compile(r"NVIDIA |Tesla |Quadro |GeForce |TITAN |GRID |[A-Z]{1,2}\d{1,3}[A-Z]?\b")
# What each rank says of itself, what is right, and how that is said.
_MEANS = (
    ("backend", re.compile(r"nccl\Z"), "talked through", "used", "NCCL"),
    ("device", _GPU, "computed on", "computed on", "GPUs"),
)


def judge(evidence: Evidence, doubts: Doubts) -> str:
    job = evidence.job
    if not job.id or not job.hosts or job.ranks is None:
        doubts.missing.append("the run, its hosts or its number of ranks are not known")
    if len(job.names) != len(job.hosts):
        doubts.wrong.append("two of the hosts call themselves the same")
    if job.started is None or job.ended is None:
        doubts.missing.append("the start and the end of the training are not known")
    elif job.ended <= job.started:
        doubts.wrong.append("the training ended before it began")
    if job.started is not None:
        late = sorted(host for host, at in evidence.booted.items() if at > job.started)
        doubts.wrong.extend(f"{host} booted after the training had begun" for host in late)
    if not job.network:
        doubts.missing.append("NCCL was free to choose its network: it may have chosen another one for the training")
    # Whatever the caller reports about the run (it failed, it was killed, its launcher gave no end) speaks against it.
    doubts.wrong.extend(f"{problem.get('code')}: {problem.get('message')}" for problem in evidence.problems)
    expected = evidence.expected_ranks
    if expected is not None and job.ranks is not None and expected != job.ranks:
        doubts.wrong.append(f"{expected} ranks were to be started, the job had {job.ranks}")
    for key, right, through, used, wanted in _MEANS:
        values = {str(machine.get(key) or "") for machine in evidence.machines}
        other = sorted(value for value in values if not right.match(value))
        if not values or "" in values:
            doubts.missing.append(f"not every rank says what the ranks {through}")
        elif other:
            doubts.wrong.append(f"the ranks {used} {', '.join(other)}, not {wanted}")
    said = f"run {job.id}: {job.ranks} ranks with NCCL ({job.network}) on GPUs of {len(job.hosts)} hosts"
    return said if job.hosts else ""
