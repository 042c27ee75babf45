"""Witnesses: the exchange is as fast as its links, and no figure is above what the hardware can do. Pure.

Data may take the path and crawl: behind a switch port that redirects, at a GPU with half its lanes, before a host that
pauses its senders. Each of them shows in the pace of an all-reduce, and some show nowhere else.
"""

from __future__ import annotations

from typing import Any, Mapping

from ..._results.figures.limits import Comparison
from ..._results.figures.speed import BAD, LEAST_SHARE, NOT_MEASURED, USUAL_SHARE
from ..evidence import Evidence
from ..witness import Doubts


def speed(evidence: Evidence, doubts: Doubts) -> str:
    pace = evidence.speed
    if pace is None or pace.state == NOT_MEASURED:
        doubts.missing.append(pace.why if pace else "no rank measured an all-reduce alone after the training")
        return ""
    share = pace.share or 0.0
    figure = (
        f"an all-reduce alone reaches {pace.bus_gb_s:.4g} GB/s, {100 * share:.0f} % of what the links of a node carry "
        f"({pace.link_gb_s:.4g} GB/s)"
    )
    if pace.state == BAD:
        doubts.add("speed_slow", figure=figure, least=100 * pace.least_share)
        for each in pace.slow_copies[:4]:
            doubts.add("speed_copies", host=each.host, gb_s=each.gb_s, usual=each.usual_gb_s)
    elif LEAST_SHARE <= share < USUAL_SHARE:
        doubts.add("speed_low")
    doubts.add_if(_paused(evidence.rdma or {}, pace.least_share), "speed_paused")
    fact = f"{100 * share:.0f} % of what the links carry"
    if doubts.wrong:
        doubts.fact = fact
    elif pace.nvlink_share and share < LEAST_SHARE:
        limit = f"{100 * pace.nvlink_share:.0f} % of what the NVLinks of a GPU carry"
        doubts.fact = f"{fact}, because NVLink is the limit ({limit})"
    elif share < LEAST_SHARE:
        doubts.fact = f"{fact}, because least_share is {pace.least_share:g}"
    return figure


def _paused(rdma: Mapping[str, Any], least_share: float) -> list[str]:
    """Nodes whose lossless class stood still for a longer part of the run than a sound exchange can miss."""
    found = []
    for place, seen in (rdma.get("places") or {}).items():
        paused, times = seen.get("paused_seconds"), [seen.get("before_at"), seen.get("after_at")]
        if paused is None or not all(isinstance(at, (int, float)) for at in times) or times[1] <= times[0]:
            continue
        share = paused / (times[1] - times[0])
        if share > 1 - least_share:
            found.append(f"{place} ({100 * share:.0f} % of the time)")
    return found


def limits(evidence: Evidence, doubts: Doubts) -> str:
    """No figure lies above what the hardware can do."""
    known = [comparison for comparison in evidence.comparisons if comparison.ratio is not None]
    above = [comparison for comparison in known if comparison.exceeded]
    doubts.impossible.extend(_above(comparison) for comparison in above if comparison.physical)
    doubts.wrong.extend(_above(comparison) for comparison in above if not comparison.physical)
    if evidence.nodes_given is not None and evidence.nodes_given != len(evidence.job.hosts):
        doubts.add("limits_nodes", given=evidence.nodes_given, hosts=len(evidence.job.hosts))
    physical = [comparison for comparison in known if comparison.physical]
    if not physical:
        unknown = [each.limit.how for each in evidence.comparisons if each.physical and each.limit.value is None]
        doubts.add("limits_none", because=f" ({unknown[0]})" if unknown else "")
        return ""
    closest = max(physical, key=lambda comparison: comparison.ratio or 0.0)
    return (
        f"{len(physical)} compared; the closest, {closest.what}, is at {100 * (closest.ratio or 0):.1f} % of its limit"
    )


def _above(comparison: Comparison) -> str:
    return (
        f"{comparison.what}: {comparison.achieved:.4g} {comparison.limit.unit} is above the limit of "
        f"{comparison.limit.value:.4g} ({comparison.limit.name}: {comparison.limit.how})"
    )
