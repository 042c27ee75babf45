"""Witness beside the verdict: GPUDirect is faster than the detour through host memory. Pure."""

from __future__ import annotations

from ..._results.figures.limits import MEASUREMENT_MARGIN
from ..evidence import Evidence
from ..path_nics import NOT_READ
from ..witness import Doubts

# Two figures at the wire's own limit cannot differ: then the wire is what was measured, and not the way to it.
AT_THE_WIRE = 0.9
# perftest's figure of host memory is no detour, only the best that this NIC can do: GPU memory may lose this much.
MAY_LOSE = 0.05


def judge(evidence: Evidence, doubts: Doubts) -> str:
    good = []
    for pair in evidence.detours:
        shown = f"{pair.what}: {pair.direct:.4g} GB/s by GPUDirect, {pair.host:.4g} "
        shown += "through host memory" if pair.staged else "from host memory"
        wire = pair.limit is not None and pair.direct >= AT_THE_WIRE * pair.limit
        if pair.staged and pair.direct <= pair.host * (1 + MEASUREMENT_MARGIN) and not wire:
            doubts.wrong.append(f"GPUDirect is not faster than the detour: {shown}")
        elif not pair.staged and pair.direct < pair.host * (1 - MAY_LOSE):
            doubts.wrong.append(f"GPU memory is slower than host memory: {shown}")
        else:
            good.append(shown + (", at the limit of the wire" if wire else ""))
    if not evidence.detours:
        doubts.missing.append(f"{NOT_READ}: both ways were not measured (benchmark bandwidth, gpu_direct and gpu_host)")
    return "; ".join(good[:2])
