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
        doubts.missing.append("there is no training result")
        return ""
    evidence.job.same(result.get("job"), "the result", doubts)
    _problems(result, doubts, of_ranks=False)
    _sum(result, doubts)
    if result.get("ok") is None:
        doubts.missing.append("the reader does not say whether the log is in order")
    elif result.get("ok") is not True and not result.get("problems"):
        doubts.wrong.append("the reader says that the log is not in order")
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
        doubts.impossible.append("the sum of the ranks contradicts the printed total")
        return
    speeds = [rank.get("images_per_second") for rank in result.get("per_rank") or ()]
    total = result.get("total")
    if agreement.get("ok") is not True or not speeds or total is None or not all(map(is_positive, [*speeds, total])):
        doubts.missing.append("sum and total cannot be compared: one of the two was not printed")
    elif abs(math.fsum(speeds) - total) > _TOLERANCE * total + 0.05 * len(speeds) + 0.01:
        doubts.impossible.append(f"the ranks add up to {math.fsum(speeds):.2f} images/s, the total is {total:.2f}")


def _sizes(evidence: Evidence, result: Mapping[str, Any], doubts: Doubts) -> None:
    """What the log says of the work, against what a person said, against the ranks, and against the clock."""
    parameters = result.get("parameters") or {}
    for key in _SIZES:
        if key in parameters and key in evidence.workload and str(parameters[key]) != str(evidence.workload[key]):
            doubts.wrong.append(
                f"{key} is {parameters[key]} in the log and {evidence.workload[key]} in the workload given"
            )
    for key, own in (("num_batches", "batches"), ("batch_size_per_device", "batch_size")):
        values = {str(machine[own]) for machine in evidence.machines if own in machine}
        if values and parameters.get(key) is not None and values != {str(parameters[key])}:
            doubts.wrong.append(f"{key} is {parameters[key]} in the log, and {', '.join(sorted(values))} of the ranks")
    job = evidence.job
    keys = ("batch_size_global", "batch_size_per_device", "num_batches")
    (images, each, count), total = (positive(parameters.get(key)) for key in keys), positive(result.get("total"))
    if not (images and count and each):
        doubts.missing.append("the number of trained images is not known, so whether it fits the run is not known")
    elif job.ranks and images != each * job.ranks:
        doubts.wrong.append(f"{job.ranks} ranks of {each:g} images do not make {images:g}")
    for rank in result.get("per_rank") or ():
        told_s = positive((rank.get("machine") or {}).get("wall_seconds"))
        rate = positive(rank.get("images_per_second"))
        if told_s and rate and each and count and not 1 / _WALL < told_s * rate / (each * count) < _WALL:
            doubts.wrong.append(
                f"rank {rank.get('rank')}: {count:g} batches of {each:g} images at {rate:g} images/s take "
                f"{each * count / rate:.0f} s, it says {told_s:.0f} s"
            )
    if images and count and total and job.started and job.ended:
        needed = images * count / total
        if job.ended - job.started > _START_S + _LONGEST * needed:
            doubts.wrong.append(
                f"the run took {job.ended - job.started:.0f} s, the training that its log shows {needed:.0f} s: what "
                "moved through the counters in the rest is not known"
            )
        if needed > (job.ended - job.started) * (1 + _TOLERANCE) + CLOCK_S:
            doubts.wrong.append(
                f"{count:g} batches of {images:g} images at {total:g} images/s take {needed:.0f} s, but the run took "
                f"{job.ended - job.started:.0f} s"
            )


def ranks(evidence: Evidence, doubts: Doubts) -> str:
    """Every rank that was started reports, from its host."""
    job, per_rank = evidence.job, evidence.per_rank
    _problems(evidence.result or {}, doubts, of_ranks=True)
    if not per_rank:
        doubts.missing.append("no rank has a result")
        return ""
    expected = evidence.expected_ranks if evidence.expected_ranks is not None else job.ranks
    if expected is None:
        doubts.missing.append("the number of started ranks is not known")
    elif len(per_rank) != expected:
        doubts.impossible.append(f"{expected} ranks were started, {len(per_rank)} have a result")
    numbers = [rank.get("rank") for rank in per_rank]
    if None in numbers:
        doubts.missing.append(f"{len(per_rank)} results, but the log does not tell whose they are")
    elif sorted(numbers, key=str) != sorted(range(len(per_rank)), key=str):
        doubts.impossible.append(f"the ranks number themselves {', '.join(map(str, numbers[:8]))}")
    worlds = {machine.get("world", expected) for machine in evidence.machines}
    if len(worlds) > 1 or (expected is not None and worlds - {expected}):
        doubts.impossible.append(f"ranks say that there are {', '.join(map(str, sorted(worlds, key=str)))} ranks")
    weights = {machine.get("checksum") for machine in evidence.machines} - {None}
    if "" in weights:
        doubts.missing.append("a rank does not say which weights it ended with")
    if len(weights) > 1:
        doubts.impossible.append(f"{len(weights)} different checksums of the weights: the ranks trained apart")
    hosts = {host_of(rank) for rank in per_rank}
    if "" in hosts or not job.hosts:
        doubts.missing.append("the hosts of the ranks are not known")
    else:
        doubts.wrong += job.foreign(list(hosts), "ranks trained on")
    return f"{len(per_rank)} of {len(per_rank)} ranks, on {len(hosts)} host{'s' if len(hosts) > 1 else ''}"
