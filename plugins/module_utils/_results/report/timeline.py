"""Throughput over time per rank, from the step lines of a log. Pure.

A step line prints the mean speed SINCE the warm-up, which hides a dip the better the longer the run lasts. The speed
between two lines follows from both: s steps at mean speed v took s * batch / v seconds. Step lines carry one decimal,
so at low speeds the difference drowns in the rounding; then the means are shown as printed, and said to be means.
"""

from __future__ import annotations

import math
from typing import Any, Iterable

from ..readers.tf_cnn import StepLine

ROUNDING_IMAGES_PER_S = 0.05
ACCEPTED_ERROR = 0.05  # of the speed between two lines
# Points that a report keeps: of one rank, and of all ranks together; at least ten of each rank.
POINTS_OF_A_RANK, POINTS, FEWEST = 120, 20_000, 10
BETWEEN, MEAN = "between_lines", "mean_since_warm_up"
SECONDS, STEPS = "s", "step"


def nothing(unit: str, reason: str) -> dict[str, Any]:
    """The same without a point, and why."""
    return {"x_unit": unit, "kind": MEAN, "reason": reason, "every": 1, "ranks": []}


def from_steps(lines: Iterable[StepLine], batch_per_rank: float | None) -> dict[str, Any]:
    """``ranks``: [{rank, x, images_per_second}], two lists of one length. ``x_unit``: s since the warm-up, or step.
    ``kind``: between_lines or mean_since_warm_up. ``every``: only each n-th line is kept (a speed between lines then
    covers all the steps between the kept ones). ``reason``: why means are shown, or why there is nothing.

    Lines without a rank are left out: their rank is not known. So are lines whose step does not grow, and those with a
    speed that rounds to nothing.
    """
    by_rank: dict[int, list[StepLine]] = {}
    for line in lines:
        if line.rank is not None and ROUNDING_IMAGES_PER_S <= line.images_per_second < math.inf:
            found = by_rank.setdefault(line.rank, [])
            if not found or line.step > found[-1].step:
                found.append(line)
    batch = batch_per_rank if batch_per_rank and batch_per_rank > 0 else None
    unit = SECONDS if batch else STEPS
    if not by_rank:
        return nothing(unit, "no step line names its rank")
    most = max(FEWEST, min(POINTS_OF_A_RANK, POINTS // len(by_rank)))
    every = math.ceil(max(map(len, by_rank.values())) / most)
    # From the end, so that the last line, which represents the run, stays.
    by_rank = {rank: found[::-1][::every][::-1] for rank, found in by_rank.items()}
    worst = max(map(_worst, by_rank.values()))
    exact = worst <= ACCEPTED_ERROR
    ranks = [_rank(rank, by_rank[rank], batch, exact) for rank in sorted(by_rank)]
    why = "step lines carry one decimal, too coarse at this speed to tell one interval from the next "
    reason = "" if exact else f"{why}(error up to {100 * worst:.0f} %)"
    kind = BETWEEN if exact else MEAN
    return {"x_unit": unit, "kind": kind, "reason": reason, "every": every, "ranks": ranks}


def _end(line: StepLine, batch: float | None) -> float:
    """Seconds from the warm-up to this line; without a batch size, in units of seconds per image of the batch."""
    return line.step * (batch or 1.0) / line.images_per_second


def _worst(found: list[StepLine]) -> float:
    """The largest relative error that rounding can cause in the time between two lines."""
    worst = 0.0
    for before, after in zip(found, found[1:]):
        between = _end(after, None) - _end(before, None)
        error = sum(_end(line, None) * ROUNDING_IMAGES_PER_S / line.images_per_second for line in (before, after))
        worst = max(worst, error / between if between > 0 else float("inf"))
    return worst if worst != float("inf") else 10.0


def _rank(rank: int, found: list[StepLine], batch: float | None, exact: bool) -> dict[str, Any]:
    x = [round(_end(line, batch), 6) if batch else line.step for line in found]
    speeds = [line.images_per_second for line in found]
    if exact:
        pairs = zip(found, found[1:])
        speeds[1:] = [(two.step - one.step) / (_end(two, None) - _end(one, None)) for one, two in pairs]
    return {"rank": rank, "x": x, "images_per_second": [round(speed, 3) for speed in speeds]}
