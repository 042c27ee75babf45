"""Witnesses: the log of the training, which has to agree with itself and with the clock, and its ranks. Pure."""

from __future__ import annotations

import math
from typing import Any, Mapping

from ..._results.figures.limits import is_positive
from ..._results.readers.reading import positive
from ..._yaml_files import Beside
from ..evidence import CLOCK_S, Evidence, host_of
from ..witness import Doubts

_TABLE = Beside(__file__, "log.yml")
_TOLERANCE = 0.01  # sum of the ranks against the total, as the readers have it
_WALL = 1.25  # a rank's own clock against its rate: programs print a mean of steps, not images over seconds
# Images are pulled, data is read and graphs are compiled before the first step; a multiple of the training is no start.
_START_S, _LONGEST = 3600.0, 20.0
_SIZES = ("num_batches", "batch_size_per_device", "batch_size_global", "model", "precision")


def judge(evidence: Evidence, doubts: Doubts) -> str:
    result = evidence.result
    if not result or (result.get("total") is None and not result.get("per_rank")):
        doubts.add("log_none")
        return ""
    evidence.job.same(result.get("job"), "the result", doubts)
    _problems(result, doubts, of_ranks=False)
    _sum(result, doubts)
    if result.get("ok") is None:
        doubts.add("log_unjudged")
    elif result.get("ok") is not True and not result.get("problems"):
        doubts.add("log_disorder")
    _sizes(evidence, result, doubts)
    difference = (result.get("agreement") or {}).get("relative_difference") or 0.0
    return f"the ranks add up to the printed total ({100 * difference:+.2f} %)"


def _problems(result: Mapping[str, Any], doubts: Doubts, *, of_ranks: bool) -> None:
    for problem in result.get("problems") or ():
        code = problem.get("code")
        if (code in _TABLE["of_ranks"]) is of_ranks:
            (doubts.impossible if code in _TABLE["invalidating"] else doubts.wrong).append(str(problem.get("message")))


def _sum(result: Mapping[str, Any], doubts: Doubts) -> None:
    agreement = result.get("agreement") or {}
    if agreement.get("ok") is False:
        doubts.add("sum_contradicts")
        return
    speeds = [rank.get("images_per_second") for rank in result.get("per_rank") or ()]
    total = result.get("total")
    if agreement.get("ok") is not True or not speeds or total is None or not all(map(is_positive, [*speeds, total])):
        doubts.add("sum_unknown")
    elif abs(math.fsum(speeds) - total) > _TOLERANCE * total + 0.05 * len(speeds) + 0.01:
        doubts.add("sum_other", sum=math.fsum(speeds), total=total)


def _sizes(evidence: Evidence, result: Mapping[str, Any], doubts: Doubts) -> None:
    """What the log says of the work, against what a person said, against the ranks, and against the clock."""
    parameters, workload = result.get("parameters") or {}, evidence.workload
    for key in _SIZES:
        if key in parameters and key in workload and str(parameters[key]) != str(workload[key]):
            doubts.add("size_other", key=key, logged=parameters[key], given=workload[key])
    for key, own in (("num_batches", "batches"), ("batch_size_per_device", "batch_size")):
        values = {str(machine[own]) for machine in evidence.machines if own in machine}
        if values and parameters.get(key) is not None and values != {str(parameters[key])}:
            doubts.add("size_of_ranks", key=key, logged=parameters[key], said=", ".join(sorted(values)))
    job = evidence.job
    keys = ("batch_size_global", "batch_size_per_device", "num_batches")
    (images, each, count), total = (positive(parameters.get(key)) for key in keys), positive(result.get("total"))
    if not (images and count and each):
        doubts.add("images_unknown")
    elif job.ranks and images != each * job.ranks:
        doubts.add("images_other", ranks=job.ranks, each=each, images=images)
    for rank in result.get("per_rank") or ():
        told_s = positive((rank.get("machine") or {}).get("wall_seconds"))
        rate = positive(rank.get("images_per_second"))
        if told_s and rate and each and count and not 1 / _WALL < told_s * rate / (each * count) < _WALL:
            words = {"count": count, "each": each, "rate": rate, "needed": each * count / rate, "said": told_s}
            doubts.add("rank_clock", rank=rank.get("rank"), **words)
    if images and count and total and job.started and job.ended:
        needed, took = images * count / total, job.ended - job.started
        doubts.add_if(took > _START_S + _LONGEST * needed, "run_longer", took=took, needed=needed)
        if needed > took * (1 + _TOLERANCE) + CLOCK_S:
            doubts.add("run_shorter", count=count, images=images, total=total, needed=needed, took=took)


def ranks(evidence: Evidence, doubts: Doubts) -> str:
    """Every rank that was started reports, from its host."""
    job, per_rank = evidence.job, evidence.per_rank
    _problems(evidence.result or {}, doubts, of_ranks=True)
    if not per_rank:
        doubts.add("ranks_none")
        return ""
    expected = evidence.expected_ranks if evidence.expected_ranks is not None else job.ranks
    if expected is None:
        doubts.add("ranks_unknown")
    elif len(per_rank) != expected:
        doubts.add("ranks_few", expected=expected, found=len(per_rank))
    numbers = [rank.get("rank") for rank in per_rank]
    if None in numbers:
        doubts.add("ranks_unnamed", found=len(per_rank))
    elif sorted(numbers, key=str) != sorted(range(len(per_rank)), key=str):
        doubts.add("ranks_numbers", numbers=", ".join(map(str, numbers[:8])))
    worlds = {machine.get("world", expected) for machine in evidence.machines}
    if len(worlds) > 1 or (expected is not None and worlds - {expected}):
        doubts.add("ranks_worlds", worlds=", ".join(map(str, sorted(worlds, key=str))))
    weights = {machine.get("checksum") for machine in evidence.machines} - {None}
    doubts.add_if("" in weights, "weights_unknown")
    doubts.add_if(len(weights) > 1, "weights_differ", count=len(weights))
    hosts = {host_of(rank) for rank in per_rank}
    if "" in hosts or not job.hosts:
        doubts.add("ranks_hosts")
    else:
        job.foreign(hosts, "ranks trained on", doubts)
    return f"{len(per_rank)} of {len(per_rank)} ranks, on {len(hosts)} host{'s' if len(hosts) > 1 else ''}"
