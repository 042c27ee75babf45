"""Witness: every rank that was started reports, from its host. Pure."""

from __future__ import annotations

import collections

from ..evidence import Evidence, short
from ..witness import Doubts

RANK_CODES = ("missing_ranks", "too_many_ranks", "duplicate_rank", "rank_conflict", "not_one_job", "unfinished")
_FATAL = ("missing_ranks", "too_many_ranks", "duplicate_rank", "rank_conflict", "not_one_job")


def judge(evidence: Evidence, doubts: Doubts) -> str:
    job, per_rank = evidence.job, evidence.per_rank
    for problem in (evidence.result or {}).get("problems") or ():
        if problem.get("code") in RANK_CODES:
            (doubts.impossible if problem["code"] in _FATAL else doubts.wrong).append(str(problem.get("message")))
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
    hosts = collections.Counter(short(str(rank.get("host") or "")) for rank in per_rank)
    if "" in hosts or not job.hosts:
        doubts.missing.append("the hosts of the ranks are not known")
    else:
        doubts.wrong += job.foreign(list(hosts), "ranks trained on")
    return f"{len(per_rank)} of {len(per_rank)} ranks, on {len(hosts)} host{'s' if len(hosts) > 1 else ''}"
