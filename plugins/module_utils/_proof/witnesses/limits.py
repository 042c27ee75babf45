"""Witness: no figure lies above what the hardware can do. Pure."""

from __future__ import annotations

from ..._results.figures.limits import Comparison
from ..evidence import Evidence
from ..witness import Doubts


def judge(evidence: Evidence, doubts: Doubts) -> str:
    known = [comparison for comparison in evidence.comparisons if comparison.ratio is not None]
    above = [comparison for comparison in known if comparison.exceeded]
    doubts.impossible.extend(_above(comparison) for comparison in above if comparison.physical)
    doubts.wrong.extend(_above(comparison) for comparison in above if not comparison.physical)
    if evidence.nodes_given is not None and evidence.nodes_given != len(evidence.job.hosts):
        doubts.wrong.append(f"limits are given for {evidence.nodes_given} nodes, the job had {len(evidence.job.hosts)}")
    physical = [comparison for comparison in known if comparison.physical]
    if not physical:
        because = next(
            (each.limit.how for each in evidence.comparisons if each.physical and each.limit.value is None), ""
        )
        doubts.missing.append(f"no figure could be compared with a physical limit{because and ' (' + because + ')'}")
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
