"""Statistics against figures computed by hand, against published ones, and properties that hold for every sample."""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures.published import DLPERF
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures.statistics import (
    MINIMUM_REPEATS,
    describe,
    gate,
    median_interval,
    quantile,
    scaling,
)
from hypothesis import given, settings
from hypothesis import strategies as st

# One of DLPerf's published cases (1n8g, fp32), run by run.
DLPERF_1N8G = [2564.3, 2539.38, 2561.71, 2556.03, 2532.26]
figures = st.lists(st.floats(0.01, 1e9), min_size=1, max_size=30)
repeats = st.lists(st.floats(1.0, 1e6), min_size=MINIMUM_REPEATS, max_size=9)


def test_published_runs_give_the_published_median_and_mean() -> None:
    spread = describe(DLPERF_1N8G)
    assert round(spread["median"], 2) == 2556.03
    assert round(spread["mean"], 2) == 2550.74


def test_spread_is_what_one_computes_by_hand() -> None:
    spread = describe([1.0, 2.0, 4.0, 8.0, 10.0])
    assert (spread["median"], spread["mean"], spread["count"]) == (4.0, 5.0, 5)
    assert spread["iqr"] == 6.0  # quartiles 2 and 8
    assert spread["mad"] == pytest.approx(1.4826 * 3)  # distances 3 2 0 4 6
    assert spread["stdev"] == pytest.approx(math.sqrt(60 / 4))
    assert spread["cv"] == pytest.approx(math.sqrt(15) / 5)


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.25, 1.75), (0.5, 2.5), (0.9, 3.7), (1.0, 4.0)])
def test_quantile_interpolates_between_neighbours(share: float, expected: float) -> None:
    assert quantile([4, 1, 3, 2], share) == pytest.approx(expected)


def test_one_figure_has_no_spread_and_no_interval() -> None:
    spread = describe([7.0])
    assert spread["median"] == 7.0
    assert [spread[key] for key in ("stdev", "iqr", "mad", "cv", "low", "high")] == [None] * 6


def test_bootstrap_probabilities_of_the_median_are_the_exact_ones() -> None:
    """Of three figures, the resampled median is the smallest one in 7 of 27 draws, the middle one in 13, exactly."""
    low, high = median_interval([1.0, 2.0, 3.0], confidence=1 - 2 * 7.5 / 27, resamples=20_000)
    assert (low, high) == (2.0, 2.0)
    low, high = median_interval([1.0, 2.0, 3.0], confidence=1 - 2 * 6.5 / 27, resamples=20_000)
    assert (low, high) == (1.0, 3.0)


def test_interval_of_a_large_sample_is_as_wide_as_theory_says() -> None:
    """Standard error of the median of n normal figures: 1.2533 sigma / sqrt(n)."""
    sample = [statistics.NormalDist(100, 5).inv_cdf((index + 0.5) / 201) for index in range(201)]
    low, high = median_interval(sample)
    assert high - low == pytest.approx(2 * 1.96 * 1.2533 * 5 / math.sqrt(201), rel=0.2)


@given(figures)
@settings(max_examples=40, deadline=None)
def test_interval_encloses_the_median_and_stays_within_the_sample(sample: list[float]) -> None:
    spread = describe(sample)
    assert min(sample) <= spread["median"] <= max(sample)
    if spread["low"] is not None and spread["high"] is not None:
        assert min(sample) <= spread["low"] <= spread["median"] <= spread["high"] <= max(sample)


@given(figures, st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_same_figures_same_spread_whatever_was_drawn_before(sample: list[float], shuffled: Any) -> None:
    assert describe(sample) == describe(sample)
    other = list(sample)
    shuffled.shuffle(other)
    assert describe(other)["median"] == describe(sample)["median"]


@pytest.mark.parametrize("sample", [[], [math.nan], [1.0, math.inf], ["x"], None])
def test_what_is_no_figure_is_refused(sample: Any) -> None:
    with pytest.raises(RefusedError):
        describe(sample)


# ---------------------------------------------------------------------------------------------------- regression gate


def test_clearly_slower_is_slower_and_says_how_sure() -> None:
    found = gate([90.0, 91.0, 89.5, 90.4, 90.2], [100.0, 101.0, 99.5, 100.4, 100.2])
    assert (found["verdict"], found["probability"], found["passed"]) == ("slower", 1.0, False)
    assert found["change"] == pytest.approx(-0.1, abs=0.002)


def test_same_repeats_are_not_slower() -> None:
    found = gate(DLPERF_1N8G, DLPERF_1N8G)
    assert (found["verdict"], found["passed"]) == ("not_slower", True)


def test_a_change_within_the_margin_passes() -> None:
    assert gate([98.0] * 5, [100.0] * 5, margin=0.03)["verdict"] == "not_slower"
    assert gate([96.0] * 5, [100.0] * 5, margin=0.03)["verdict"] == "slower"


def test_noise_as_wide_as_the_change_is_uncertain_and_does_not_pass() -> None:
    found = gate([80.0, 120.0, 95.0, 97.0, 110.0], [100.0, 99.0, 101.0, 100.0, 100.0])
    assert found["verdict"] == "uncertain"
    assert found["probability"] is not None and 0.05 < found["probability"] < 0.95
    assert found["passed"] is False
    assert "measure more repeats" in found["message"]


@pytest.mark.parametrize(("new", "old"), [(4, 5), (5, 4), (1, 1)])
def test_not_enough_repeats_is_an_answer_and_no_pass(new: int, old: int) -> None:
    found = gate([50.0] * new, [100.0] * old)
    assert (found["verdict"], found["probability"], found["passed"]) == ("not_enough_repeats", None, False)
    assert f"{new} new and {old} of the baseline" in found["message"]


@given(repeats, repeats)
@settings(max_examples=20, deadline=None)
def test_a_wider_margin_never_makes_a_run_slower(new: list[float], old: list[float]) -> None:
    narrow = gate(new, old, margin=0.01, resamples=300)["probability"]
    wide = gate(new, old, margin=0.2, resamples=300)["probability"]
    assert narrow is not None and wide is not None and wide <= narrow


@given(repeats, repeats, st.floats(0.001, 1000))
@settings(max_examples=20, deadline=None)
def test_the_answer_does_not_depend_on_the_unit(new: list[float], old: list[float], factor: float) -> None:
    scaled = gate([value * factor for value in new], [value * factor for value in old], resamples=300)
    assert scaled["probability"] == pytest.approx(gate(new, old, resamples=300)["probability"], abs=0.02)


@pytest.mark.parametrize("options", [{"margin": 0.0}, {"margin": 1.0}, {"confidence": 95}])
def test_a_margin_that_is_no_share_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(RefusedError):
        gate([1.0] * 5, [1.0] * 5, **options)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------------ scaling


@pytest.mark.parametrize(
    ("series", "speedups"),
    [
        (("fp32", 128), [1.0, 1.95, 3.89, 6.65, 12.64, 24.93]),
        (("fp16", 256), [1.0, 1.65, 2.8, 3.49, 6.54, 12.67]),
    ],
)
def test_published_medians_give_the_published_speed_ups(series: tuple[str, int], speedups: list[float]) -> None:
    rows = scaling({(nodes, gpus): rate for nodes, gpus, rate in DLPERF[series]})
    assert [round(row["speedup_1gpu"], 2) for row in rows.values()] == speedups


def test_both_baselines_tell_a_loss_in_the_node_from_one_on_the_network() -> None:
    row = scaling({(nodes, gpus): rate for nodes, gpus, rate in DLPERF["fp16", 256]})[4, 8]
    assert round(100 * row["efficiency_1gpu"], 1) == 39.6
    assert round(100 * row["efficiency_1node"], 1) == 90.8


def test_a_baseline_that_was_not_measured_is_unknown_and_named() -> None:
    row = scaling({(4, 8): 100.0})[4, 8]
    ratios = [row[f"{kind}_{base}"] for kind in ("speedup", "efficiency") for base in ("1gpu", "1node")]
    assert ratios == [None] * 4
    assert row["baseline_missing"] == "1n1g and 1n8g was not measured"
    row = scaling({(4, 1): 100.0})[4, 1]
    assert row["baseline_missing"] == "1n1g was not measured"


def test_more_than_nine_nodes_are_a_number_and_not_a_character() -> None:
    row = scaling({(1, 1): 10.0, (16, 8): 1000.0})[16, 8]
    assert (row["gpus"], row["speedup_1gpu"]) == (128, 100.0)
