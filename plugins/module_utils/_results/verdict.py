# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PROVEN, NOT PROVEN or INVALID RUN: what independent witnesses say about one run. Pure.

The claim is always the same: the ranks trained together, and their gradients went from GPU to GPU by RDMA over this
network. A run is proven only if every witness was heard and agrees. Simulated devices cannot prove anything about
hardware, so a simulated run is never proven, whatever they answered.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable, Mapping, Sequence

from .counters import judge as judge_counters
from .limits import Comparison

PROVEN, NOT_PROVEN, INVALID = "PROVEN", "NOT PROVEN", "INVALID RUN"
AGREES, DISAGREES, MISSING, IMPOSSIBLE = "agrees", "disagrees", "missing", "impossible"

# Problems of a log after which its figures are no result of a run of all ranks. Everything else in a log (a header that
# cannot be read) is a disagreement: it must be looked at before anybody believes the run.
INVALIDATING = (
    "inconsistent_total",
    "totals_disagree",
    "not_one_job",
    "missing_ranks",
    "too_many_ranks",
    "duplicate_rank",
    "rank_conflict",
    "weights_differ",
    "loss_not_finite",
)
PATHS: Mapping[str, str] = {
    "gdrdma": "GPUDirect RDMA",
    "rdma_via_host": "RDMA through host memory",
    "sockets": "TCP sockets",
    "not_one_job": "no channel between the hosts",
    "unknown": "unknown",
}


@dataclasses.dataclass(frozen=True)
class Witness:
    """``state``: agrees, disagrees, missing or impossible; ``evidence``: what it said, in one sentence."""

    name: str
    title: str
    state: str
    evidence: str

    def as_result(self) -> dict[str, str]:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """``line``: the first line of every report."""

    state: str
    simulated: bool
    line: str
    reasons: tuple[str, ...]
    witnesses: tuple[Witness, ...]

    def as_result(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "simulated": self.simulated,
            "line": self.line,
            "reasons": list(self.reasons),
            "witnesses": [witness.as_result() for witness in self.witnesses],
        }


def judge(witnesses: Sequence[Witness], simulated: bool) -> Verdict:
    """One impossible witness makes the run invalid; else every witness has to agree."""
    said = {
        state: [witness for witness in witnesses if witness.state == state]
        for state in (AGREES, DISAGREES, MISSING, IMPOSSIBLE)
    }
    if said[IMPOSSIBLE]:
        state = INVALID
        reasons = [f"{witness.title}: {witness.evidence}" for witness in said[IMPOSSIBLE]]
        text = "; ".join(reasons)
    elif said[DISAGREES] or said[MISSING] or not witnesses:
        state = NOT_PROVEN
        reasons = [f"{witness.title} disagrees: {witness.evidence}" for witness in said[DISAGREES]]
        reasons += [f"{witness.title} is missing: {witness.evidence}" for witness in said[MISSING]]
        parts = [
            f"{label} {_names(said[key])}"
            for key, label in ((DISAGREES, "disagreeing:"), (MISSING, "missing:"))
            if said[key]
        ]
        text = "; ".join(parts) or "no witness was heard"
    elif simulated:
        state, reasons, text = NOT_PROVEN, [], "every witness agrees"
    else:
        state = PROVEN
        reasons = []
        text = f"{len(witnesses)} independent witnesses agree that the gradients went from GPU to GPU by RDMA"
    if simulated:
        reasons.append("simulated devices prove nothing about hardware")
        text = f"{text}; simulated devices prove nothing about hardware"
    line = f"{'SIMULATED - ' if simulated else ''}{state}: {text}."
    return Verdict(state, simulated, line, tuple(reasons), tuple(witnesses))


def witnesses(
    *,
    result: Mapping[str, Any] | None,
    layers: Mapping[str, Mapping[str, Any]],
    layer_titles: Mapping[str, str],
    path: Mapping[str, Any] | None,
    rdma_counters: Mapping[str, Any] | None,
    switch_counters: Mapping[str, Any] | None,
    comparisons: Sequence[Comparison],
    expected_ranks: int | None = None,
) -> list[Witness]:
    """Hear every witness; the list has the same names in the same order for every run."""
    return [
        _log(result),
        _ranks(result, expected_ranks),
        _layers(layers, layer_titles),
        _path(path, result),
        _counters("rdma_counters", "RDMA counters of the NICs", rdma_counters),
        _counters("switch_counters", "Counters of the switch in the lossless class", switch_counters),
        _limits(comparisons),
    ]


def _log(result: Mapping[str, Any] | None) -> Witness:
    name, title = "log", "The log of the run"
    if not result or (result.get("total") is None and not result.get("per_rank")):
        return Witness(name, title, MISSING, "there is no training result")
    problems = [problem for problem in result.get("problems", ()) if problem.get("code") not in _RANK_CODES]
    fatal = [problem["message"] for problem in problems if problem.get("code") in INVALIDATING]
    agreement = result.get("agreement", {})
    if agreement.get("ok") is False and not fatal:
        fatal = ["the sum of the ranks contradicts the printed total"]
    if fatal:
        return Witness(name, title, IMPOSSIBLE, "; ".join(fatal))
    if problems:
        return Witness(name, title, DISAGREES, "; ".join(problem["message"] for problem in problems))
    if agreement.get("ok") is not True:
        return Witness(name, title, MISSING, "sum and total cannot be compared: one of the two was not printed")
    difference = agreement.get("relative_difference") or 0.0
    return Witness(name, title, AGREES, f"the ranks add up to the printed total ({100 * difference:+.2f} %)")


_RANK_CODES = ("missing_ranks", "too_many_ranks", "duplicate_rank", "rank_conflict", "not_one_job", "unfinished")


def _ranks(result: Mapping[str, Any] | None, expected: int | None) -> Witness:
    name, title = "ranks", "Every rank reports"
    per_rank = list((result or {}).get("per_rank", ()))
    if not per_rank:
        return Witness(name, title, MISSING, "no rank has a result")
    problems = [problem for problem in (result or {}).get("problems", ()) if problem.get("code") in _RANK_CODES]
    if problems:
        fatal = any(problem["code"] in INVALIDATING for problem in problems)
        return Witness(
            name, title, IMPOSSIBLE if fatal else DISAGREES, "; ".join(problem["message"] for problem in problems)
        )
    if expected is not None and len(per_rank) != expected:
        return Witness(name, title, IMPOSSIBLE, f"{expected} ranks were started, {len(per_rank)} have a result")
    if any(rank.get("rank") is None for rank in per_rank):
        return Witness(name, title, MISSING, f"{len(per_rank)} results, but the log does not tell whose they are")
    hosts = {rank.get("host") for rank in per_rank}
    where = "hosts not told" if None in hosts else f"on {len(hosts)} host{'s' if len(hosts) > 1 else ''}"
    return Witness(name, title, AGREES, f"{len(per_rank)} of {len(per_rank)} ranks, {where}")


def _layers(layers: Mapping[str, Mapping[str, Any]], titles: Mapping[str, str]) -> Witness:
    name, title = "layers", "Settings read back"
    wrong = [titles[key] for key in titles if layers.get(key, {}).get("verified") is False]
    unseen = [titles[key] for key in titles if layers.get(key, {}).get("verified") is None]
    if wrong:
        return Witness(name, title, DISAGREES, "not as wanted: " + ", ".join(wrong))
    if unseen:
        return Witness(name, title, MISSING, "nobody looked at: " + ", ".join(unseen))
    return Witness(name, title, AGREES, f"{len(titles)} of {len(titles)} layers are as wanted")


def _path(path: Mapping[str, Any] | None, result: Mapping[str, Any] | None) -> Witness:
    return Witness("path", "The data path in NCCL's own log", *_path_says(path or {}, result or {}))


def _path_says(path: Mapping[str, Any], result: Mapping[str, Any]) -> tuple[str, str]:
    if not path:
        backends = {rank.get("machine", {}).get("backend") for rank in result.get("per_rank", ())} - {None}
        other = ", ".join(sorted(backends)) if "nccl" not in backends else ""
        log = f"the ranks used {other}, not NCCL" if other else "no NCCL log was read"
        return MISSING, f"{log}; a run without one is unknown, not good"
    verdict, reason = str(path.get("verdict", "unknown")), str(path.get("reason") or "no reason given")
    pairs = [pair for pair in path.get("pairs") or () if isinstance(pair, Mapping)]
    others = sorted({str(pair["verdict"]) for pair in pairs if pair.get("verdict") not in (None, verdict)})
    if verdict == "not_one_job":
        return IMPOSSIBLE, f"the hosts did not form one job: {reason}"
    if verdict == "gdrdma" and others:
        return DISAGREES, f"not every pair of ranks does: {', '.join(others)} ({reason})"
    if verdict == "gdrdma":
        return AGREES, f"{PATHS[verdict]}{f' on {len(pairs)} pairs of ranks' if pairs else ''}: {reason}"
    if verdict in PATHS and verdict != "unknown":
        return DISAGREES, f"{PATHS[verdict]}: {reason}"
    return (
        MISSING,
        reason if verdict == "unknown" else f"the reader said {verdict!r}, which is not known here: {reason}",
    )


def _counters(name: str, title: str, counters: Mapping[str, Any] | None) -> Witness:
    """See `counters`: what is expected there, and when it is enough."""
    return Witness(name, title, *judge_counters(counters))


def _limits(comparisons: Sequence[Comparison]) -> Witness:
    name, title = "limits", "Figures below what the hardware can do"
    known = [comparison for comparison in comparisons if comparison.ratio is not None]
    above = [comparison for comparison in known if comparison.exceeded]
    impossible = [comparison for comparison in above if comparison.physical]
    if impossible:
        return Witness(name, title, IMPOSSIBLE, "; ".join(map(_above, impossible)))
    if above:
        return Witness(name, title, DISAGREES, "; ".join(map(_above, above)))
    physical = [comparison for comparison in known if comparison.physical]
    if not physical:
        because = next(
            (
                comparison.limit.how
                for comparison in comparisons
                if comparison.physical and comparison.limit.value is None
            ),
            "",
        )
        return Witness(
            name, title, MISSING, f"no figure could be compared with a physical limit{because and ' (' + because + ')'}"
        )
    closest = max(physical, key=lambda comparison: comparison.ratio or 0.0)
    return Witness(
        name,
        title,
        AGREES,
        f"{len(physical)} compared; the closest, {closest.what}, is at {100 * (closest.ratio or 0):.1f} % of its limit",
    )


def _above(comparison: Comparison) -> str:
    return (
        f"{comparison.what}: {comparison.achieved:.4g} {comparison.limit.unit} is above the limit of "
        f"{comparison.limit.value:.4g} ({comparison.limit.name}: {comparison.limit.how})"
    )


def _names(found: Iterable[Witness]) -> str:
    return ", ".join(
        witness.title[0].lower() + witness.title[1:] if witness.title[1:2].islower() else witness.title
        for witness in found
    )
