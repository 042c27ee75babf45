"""What repeated measurements say, and how sure one can be of it. Pure, and the same on every run.

The bootstrap draws with a fixed seed: the same figures give the same interval, so a report can be written again and a
regression gate does not change its mind.
"""

from __future__ import annotations

import math
import random
import statistics
from typing import Any, Mapping, Sequence

from ..._judge.sentences import refusal
from ..._layer import RefusedError
from ..readers.reading import by_key

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 20260101
# Fewer repeats than this give a bootstrap that only repeats the few figures; DLPerf's published runs have five, too.
MINIMUM_REPEATS = 5
# The published DLPerf repeats differ by up to 2.01 % of their median among themselves: a narrower gate would flap.
MARGIN = 0.03
_MAD_TO_SIGMA = 1.4826  # of a normal distribution


def describe(figures: Sequence[float]) -> dict[str, Any]:
    """``count``, ``median``, ``mean``; ``stdev``; ``iqr``, between the quartiles (linear interpolation, as numpy's
    default); ``mad``, median absolute deviation, times 1.4826 to compare with a standard deviation; ``cv``, standard
    deviation (n - 1) / mean; ``low`` and ``high`` of the median's interval, and its ``confidence``. All but counts and
    shares in the unit of the figures; None where one figure cannot have it.

    Raises RefusedError for no figure, or one that is not a finite number.
    """
    sample = _checked(figures)
    median, mean = statistics.median(sample), statistics.fmean(sample)
    found: dict[str, Any] = {"count": len(sample), "median": median, "mean": mean}
    found.update(dict.fromkeys(("stdev", "iqr", "mad", "cv", "low", "high")), confidence=CONFIDENCE)
    if len(sample) > 1:
        found["stdev"] = stdev = statistics.stdev(sample)
        found["iqr"] = quantile(sample, 0.75) - quantile(sample, 0.25)
        found["mad"] = _MAD_TO_SIGMA * statistics.median(abs(value - median) for value in sample)
        found["cv"] = stdev / abs(mean) if mean else None
        found["low"], found["high"] = median_interval(sample)
    return found


def quantile(figures: Sequence[float], share: float) -> float:
    ordered = sorted(figures)
    position = share * (len(ordered) - 1)
    low, high, weight = ordered[math.floor(position)], ordered[math.ceil(position)], position % 1
    # Not a + w * (b - a): that leaves [a, b] by a rounding step where both are equal.
    return low if low == high else (1 - weight) * low + weight * high


def median_interval(
    figures: Sequence[float], confidence: float = CONFIDENCE, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Percentile bootstrap interval of the median (Efron 1979). Both ends lie among, or between, the figures."""
    medians = _resampled_medians(figures, random.Random(SEED), resamples)
    tail = (1 - confidence) / 2
    return quantile(medians, tail), quantile(medians, 1 - tail)


def gate(
    new: Sequence[float],
    baseline: Sequence[float],
    *,
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> dict[str, Any]:
    """Is ``new`` worse than ``baseline`` by more than ``margin`` (a share of the baseline's median)?

    Both samples are resampled independently; the probability is the share of draws in which the new median is worse by
    more than the margin. From ``confidence`` on the answer is slower, up to 1 - ``confidence`` not_slower, between the
    two uncertain: measure more repeats. Figures must be positive, and larger is better: rates.

    ``verdict``: slower, not_slower, uncertain, not_enough_repeats. ``probability``: that the new median is worse by
    more than ``margin`` (None where the repeats do not carry it). ``change``: (new - old) / old of the medians, so
    that negative is worse. ``message``: the answer in words. ``passed``: it is known to be no regression.
    """
    now, before = _checked(new, positive=True), _checked(baseline, positive=True)
    for thing, value in (("confidence", confidence), ("margin", margin)):
        if not 0 < value < 1:
            raise RefusedError(
                "lies outside 0 to 1", host="statistics", thing=thing, value=value, remedy="give a share"
            )
    old_median = statistics.median(before)
    change = (statistics.median(now) - old_median) / old_median
    figures = f"median {statistics.median(now):.6g} against {old_median:.6g} ({100 * change:+.2f} %, negative is worse)"
    probability = None
    if min(len(now), len(before)) < MINIMUM_REPEATS:
        given = f"{len(now)} new and {len(before)} of the baseline, {MINIMUM_REPEATS} of each are needed"
        verdict, message = "not_enough_repeats", f"not enough repeats to judge: {given}; {figures}"
    else:
        draw = random.Random(SEED)
        medians = [_resampled_medians(sample, draw, resamples) for sample in (now, before)]
        probability = sum((a - b) / b < -margin for a, b in zip(*medians)) / resamples
        if probability >= confidence:
            verdict, words = "slower", "slower"
        elif probability <= 1 - confidence:
            verdict, words = "not_slower", "not slower"
        else:
            verdict, words = "uncertain", "cannot be distinguished, measure more repeats"
        chance = f"the chance of being worse by more than {100 * margin:g} % is {100 * probability:.1f} %"
        message = f"{words}: {figures}; {chance}"
    answer = {"verdict": verdict, "probability": probability, "change": change, "margin": margin, "message": message}
    return {**answer, "passed": verdict == "not_slower"}


def scaling(cases: Mapping[tuple[int, int], float]) -> dict[tuple[int, int], dict[str, Any]]:
    """Speed-up and efficiency (1.0 = linear), against one GPU and against one node with as many GPUs as each node of
    the case has: a loss inside the node must not be mistaken for one on the network.

    ``cases``: (nodes, GPUs per node) -> images/s of the whole case. A ratio is None where its baseline was not
    measured, which ``baseline_missing`` names then.
    """
    found = {}
    for (nodes, gpus), rate in cases.items():
        row: dict[str, Any] = {"gpus": nodes * gpus}
        missing: dict[str, None] = {}
        for name, base, linear in (("1gpu", (1, 1), nodes * gpus), ("1node", (1, gpus), nodes)):
            speedup = rate / cases[base] if base in cases else None
            row[f"speedup_{name}"], row[f"efficiency_{name}"] = speedup, speedup and speedup / linear
            missing.update({} if base in cases else {f"1n{base[1]}g": None})
        row["baseline_missing"] = " and ".join(missing) + " was not measured" if missing else ""
        found[nodes, gpus] = row
    return found


def _resampled_medians(sample: Sequence[float], draw: random.Random, resamples: int) -> list[float]:
    """As `statistics.median` of each draw, which would check and sort for its own sake thousands of times."""
    size, middle = len(sample), len(sample) // 2
    medians = []
    for _draw in range(resamples):
        drawn = sorted(draw.choices(sample, k=size))
        medians.append(drawn[middle] if size % 2 else (drawn[middle - 1] + drawn[middle]) / 2)
    return medians


def _checked(figures: Sequence[float], positive: bool = False) -> list[float]:
    try:
        sample = [float(value) for value in figures]
    except (TypeError, ValueError) as error:
        raise refusal("no_figures", figures, what=f"not a list of numbers ({error})") from error
    if not sample:
        raise refusal("no_figures", figures, what="no figure at all")
    for value in sample:
        if not math.isfinite(value) or (positive and value <= 0):
            raise refusal("no_figures", value, what=f"not a {'positive, ' * positive}finite number")
    return sample


def groups(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Rows that share the values of ``keys`` (a missing key counts as None), in the order of their first appearance."""
    return by_key((tuple(row.get(key) for key in keys), row) for row in rows)
