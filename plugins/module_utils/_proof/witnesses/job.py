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
    doubts.add_if(not job.id or not job.hosts or job.ranks is None, "job_unknown")
    doubts.add_if(len(job.names) != len(job.hosts), "job_same_names")
    if job.started is None or job.ended is None:
        doubts.add("job_times")
    elif job.ended <= job.started:
        doubts.add("job_backwards")
    for host, at in sorted(evidence.booted.items()):
        doubts.add_if(job.started is not None and at > job.started, "job_booted", host=host)
    doubts.add_if(not job.network, "job_network")
    # Whatever the caller reports about the run (it failed, it was killed, its launcher gave no end) speaks against it.
    doubts.wrong.extend(f"{problem.get('code')}: {problem.get('message')}" for problem in evidence.problems)
    expected = evidence.expected_ranks
    other = expected is not None and job.ranks is not None and expected != job.ranks
    doubts.add_if(other, "job_ranks", expected=expected, ranks=job.ranks)
    for key, right, through, used, wanted in _MEANS:
        values = {str(machine.get(key) or "") for machine in evidence.machines}
        others = ", ".join(sorted(value for value in values if not right.match(value)))
        if not values or "" in values:
            doubts.add("means_unknown", through=through)
        else:
            doubts.add_if(others, "means_other", used=used, wanted=wanted)
    said = f"run {job.id}: {job.ranks} ranks with NCCL ({job.network}) on GPUs of {len(job.hosts)} hosts"
    return said if job.hosts else ""
