"""Result files of benchmarks, throughput over time, and the published shape of summary.json."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import jsonschema
import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import STATUS
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.packs.model import CERTAINTIES
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.verdict import VERDICTS
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.witness import STATES
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures import (
    benchmark_files,
    published,
    speed,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import tf_cnn
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.reading import plain
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import page
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import (
    LAYERS,
    OF_MACHINE,
    OF_RANK,
    Inputs,
    build,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.timeline import (
    BETWEEN,
    MEAN,
    from_steps,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.results import report_samples

ROOT = pathlib.Path(__file__).resolve().parents[3]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


keys = "nodes gpus_per_node model precision batch repeats mean median network path ranks size_bytes seconds gb_s error"
entries = st.dictionaries(
    st.sampled_from([*keys.split(), "compute_s", "comm_s", "img_s"]),
    json_values | st.integers(1, 8) | st.lists(st.floats(0.1, 1e9), min_size=1, max_size=5) | st.just(10**400),
)


def one(kind: str, *results: Any, **more: Any) -> dict[str, Any]:
    return benchmark_files.read(
        {kind: {"kind": kind, "simulated": False, "backend": "nccl", "results": results, **more}}
    )[kind]


# --------------------------------------------------------------------------------------------------------- benchmarks


def test_published_matrix_gives_both_efficiencies() -> None:
    rows = {(row["case"], row["precision"]): row for row in one("scaling", *published.scaling_results())["rows"]}
    assert len(rows) == 12
    assert round(100 * rows["4n8g", "fp32"]["efficiency_1gpu"], 1) == 77.9
    assert round(100 * rows["4n8g", "fp32"]["efficiency_1node"], 1) == 93.7


def test_a_row_that_cannot_be_read_is_named_and_takes_no_other_with_it() -> None:
    good = {"nodes": 1, "gpus_per_node": 1, "precision": "fp32", "batch": 4, "repeats": [1.0, 2.0]}
    bad = [{**good, "repeats": []}, {**good, "nodes": "two"}, {"nodes": 1}, "text", {**good, "repeats": [float("nan")]}]
    bad += [{**good, "nodes": 0}, {**good, "gpus_per_node": 0}, {**good, "repeats": [0.0]}]
    found = one("scaling", *bad, good)
    assert [row["median"] for row in found["rows"]] == [1.5]
    assert len(found["problems"]) == len(bad)
    assert all(f"result {index + 1} is left out" in text for index, text in enumerate(found["problems"]))


def test_of_a_case_that_comes_twice_the_first_one_counts() -> None:
    row = {"nodes": 1, "gpus_per_node": 1, "precision": "fp32", "batch": 4, "repeats": [1.0, 2.0]}
    found = one("scaling", row, {**row, "repeats": [5.0]}, {**row, "batch": 8, "repeats": [7.0]})
    assert [each["median"] for each in found["rows"]] == [1.5, 7.0]
    assert len(found["problems"]) == 1 and "1n1g comes twice" in found["problems"][0]


def test_a_median_that_the_repeats_do_not_give_is_a_problem() -> None:
    row = {"nodes": 1, "gpus_per_node": 1, "precision": "fp32", "batch": 4, "repeats": [1.0, 2.0, 3.0], "median": 9.0}
    assert one("scaling", row)["problems"] == ["scaling: 1n1g prints the median 9, its repeats give 2"]


def test_bandwidth_is_recomputed_from_size_and_times() -> None:
    row = {"network": "resnet-200", "path": "gpu_direct", "ranks": 2, "size_bytes": 257.991328e6, "seconds": [0.023242]}
    found = one("bandwidth", {**row, "gb_s": 11.1}, {**row, "gb_s": 22.2})
    assert [round(entry["gb_s"], 4) for entry in found["rows"]] == [11.1002, 11.1002]
    assert len(found["problems"]) == 1 and "prints 22.2 GB/s" in found["problems"][0]


def test_communication_share_and_the_rule_of_the_seed() -> None:
    rows = one(
        "training",
        {"model": "resnet50", "batch": 1, "compute_s": 0.1, "comm_s": 0.3, "img_s": 2.5},
        {"model": "resnet50", "batch": 8, "compute_s": 0.8, "comm_s": 0.2, "img_s": 8.0},
    )["rows"]
    assert [(row["comm_share"], row["comm_below_compute"]) for row in rows] == [
        (pytest.approx(0.75), False),
        (pytest.approx(0.2), True),
    ]


def test_results_of_other_tools_are_shown_as_their_readers_give_them() -> None:
    rows = [{"size": 8, "host": "a|b", "in_place": {"bus_gb_s": 1.5}, "raw": [1, 2]}, {"size": 16}, "text"]
    found = one("nccl_tests", *rows)
    assert found["rows"] == [{"size": 8, "host": "a|b", "in_place.bus_gb_s": 1.5}, {"size": 16}]
    assert len(found["problems"]) == 1
    header, cells = page.tables("nccl_tests", found["rows"])
    assert header == ["size", "host", "in_place.bus_gb_s"]
    assert cells == [["8", "a|b", "1.5"], ["16", "-", "-"]]


def test_what_does_not_say_that_it_is_real_is_simulated() -> None:
    assert benchmark_files.read({"scoring": {"results": []}})["scoring"]["simulated"] is True
    assert one("scoring")["simulated"] is False


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000])
def test_a_broken_file_is_a_problem_and_no_result(text: str) -> None:
    found = benchmark_files.read({"scaling": benchmark_files.load("scaling", text)})["scaling"]
    assert found["rows"] == []
    assert "scaling.json" in found["problems"][0]


@given(
    st.dictionaries(
        st.sampled_from(benchmark_files.KINDS), st.fixed_dictionaries({"results": st.lists(entries | json_values)})
    )
)
@settings(max_examples=60, deadline=None)
def test_nothing_that_json_can_hold_breaks_the_report(documents: dict[str, Any]) -> None:
    summary = plain(build(Inputs(run_id="x", benchmarks=documents)))
    assert report_samples.faults(summary) == []
    assert page.markdown(summary)
    assert page.report(summary)


def test_benchmarks_without_hardware_are_used_for_nothing_in_a_report_of_hardware() -> None:
    summary = report_samples.summary(simulated=False)
    assert "benchmark_simulated" in [problem["code"] for problem in summary["problems"]]
    assert not [entry for entry in summary["limits"]["comparisons"] if "ranks" in entry["what"]]


# ----------------------------------------------------------------------------------------------------------- timeline


def steps(*lines: tuple[int, int, float]) -> list[tf_cnn.StepLine]:
    return [tf_cnn.StepLine(rank, step, speed, None) for rank, step, speed in lines]


def test_a_dip_that_the_running_mean_hides_is_seen_between_the_lines() -> None:
    """10 steps of 100 images at 1000 images/s, then 10 at 500: the second line prints the mean, 666.7."""
    found = from_steps(steps((0, 10, 1000.0), (0, 20, 666.7)), 100)
    assert found["kind"] == BETWEEN
    assert found["ranks"][0]["x"] == [pytest.approx(1.0), pytest.approx(3.0, rel=1e-3)]
    assert found["ranks"][0]["images_per_second"] == [1000.0, pytest.approx(500.0, rel=1e-3)]


def test_lines_too_coarse_to_subtract_stay_means_and_say_so() -> None:
    found = from_steps(steps((0, 1, 0.9), (0, 4, 1.1)), 1)
    assert found["kind"] == MEAN
    assert found["ranks"][0]["images_per_second"] == [0.9, 1.1]
    assert "one decimal" in found["reason"]


def test_without_a_batch_size_the_axis_counts_steps() -> None:
    found = from_steps(steps((0, 10, 1000.0), (0, 20, 1000.0)), None)
    assert (found["x_unit"], found["ranks"][0]["x"]) == ("step", [10, 20])


def test_lines_without_rank_or_with_a_step_going_back_are_left_out() -> None:
    lines = [*steps((0, 10, 1000.0), (0, 5, 900.0), (0, 20, 1000.0)), tf_cnn.StepLine(None, 1, 5.0, None)]
    assert [rank["x"] for rank in from_steps(lines, None)["ranks"]] == [[10, 20]]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 50), st.floats(0, 1e5)),
        max_size=40,
    ),
    st.none() | st.floats(0, 1e4),
)
def test_no_step_lines_break_the_timeline(lines: list[tuple[int, int, float]], batch: float | None) -> None:
    found = from_steps(steps(*lines), batch)
    json.dumps(found, allow_nan=False)
    for rank in found["ranks"]:
        assert len(rank["x"]) == len(rank["images_per_second"])
        assert all(speed >= 0 for speed in rank["images_per_second"])


def test_a_long_run_of_many_ranks_is_thinned_and_keeps_its_last_line() -> None:
    lines = steps(*((rank, step, 1000.0) for rank in range(512) for step in range(10, 5010, 10)))
    found = from_steps(lines, 256)
    assert sum(len(rank["x"]) for rank in found["ranks"]) <= 22_000
    assert found["every"] > 1
    assert {rank["x"][-1] for rank in found["ranks"]} == {5000 * 256 / 1000}


# ------------------------------------------------------------------------------------------------------------- schema


def test_the_schema_is_one_and_lists_what_the_code_can_say() -> None:
    """Where the schema enumerates values or keys, they are those of the constants, in their order."""
    jsonschema.Draft202012Validator.check_schema(report_samples.SCHEMA)
    shape = report_samples.SCHEMA["properties"]
    doctor, verdict = shape["doctor"]["properties"], shape["verdict"]["properties"]
    assert verdict["state"]["enum"] == list(VERDICTS)
    assert verdict["witnesses"]["items"]["properties"]["state"]["enum"] == list(STATES)
    assert doctor["verdict"]["enum"] == [None, *STATUS]
    assert doctor["findings"]["items"]["properties"]["certainty"]["enum"] == list(CERTAINTIES)
    assert shape["speed"]["properties"]["state"]["enum"] == [speed.GOOD, speed.BAD, speed.NOT_MEASURED]
    assert list(shape["benchmarks"]["properties"]) == list(benchmark_files.KINDS)
    facts = [*OF_RANK, *OF_MACHINE]
    assert list(shape["rank_details"]["items"]["properties"]) == shape["rank_details"]["items"]["required"] == facts
    assert list(shape["layers"]["properties"]) == list(LAYERS)


@pytest.mark.parametrize("simulated", [True, False])
@pytest.mark.parametrize("ranks", [0, 4, 64])
def test_a_summary_has_the_published_shape(simulated: bool, ranks: int) -> None:
    summary = report_samples.summary(simulated=simulated, ranks=ranks)
    assert report_samples.faults(summary) == []
