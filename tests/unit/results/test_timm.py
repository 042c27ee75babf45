"""What timm's own benchmark program prints: one process, one figure; several ranks are several measurements."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.filter.read_log import read_log
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import timm
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import comparison

from tests.unit.results.logs import codes, log, tag

PLAIN = log("timm_benchmark.txt")
CSV = (
    "model,train_samples_per_sec,train_step_time,train_batch_size,train_img_size,param_count\n"
    "resnet50,1998.25,127.9,256,224,25.56\nresnet101,1201.5,213.0,256,224,44.55\n"
)


def printed(said: Any) -> str:
    return f"--result\n{json.dumps(said, indent=4)}\n"


def result(**changes: Any) -> dict[str, Any]:
    return {
        "model": "resnet50",
        "train_samples_per_sec": 100.0,
        "train_batch_size": 8,
        "train_step_time": 80,
        **changes,
    }


def test_the_figure_of_one_process_with_batch_precision_and_layout() -> None:
    found = timm.read(PLAIN)
    assert found.good
    (only,) = found.parts
    assert (only.model, only.kind, only.images_per_second, only.step_ms) == ("resnet50", "train", 1998.25, 127.9)
    assert (only.batch, only.image_size, only.precision, only.layout) == (256, 224, "amp", "NHWC")


def test_what_its_program_printed_on_cpu_is_read() -> None:
    """pytorch-image-models 1.0.29, --bench both, torch 1.13; v0.9.2 prints the same lines for --bench train."""
    found = timm.read(log("timm_benchmark_recorded.txt"))
    assert found.good
    assert [(each.kind, each.images_per_second, each.step_ms, each.batch, each.image_size) for each in found.parts] == [
        ("train", 16.84, 115.773, 2, 64),
        ("infer", 133.5, 14.543, 2, 64),
    ]
    assert {(each.precision, each.layout) for each in found.parts} == {("fp32", "NCHW")}


def test_its_figure_stands_beside_a_run_in_a_comparison() -> None:
    figures = read_log(PLAIN, "timm")["figures"]
    assert figures == [
        {"name": "timm resnet50", "images_per_second": 1998.25, "nodes": 1, "ranks": 1, "precision": "amp"}
        | {"batch": 256, "note": f"{timm.NOTE}; NHWC"}
    ]
    table = comparison.build([], figures)
    (row,) = (row for row in table["parts"][0]["rows"] if row["cells"][0] == "timm resnet50")
    assert "1,998.25" in row["cells"] and "no exchange of gradients" in row["cells"][-1]


def test_another_size_than_ours_stands_in_the_note() -> None:
    (figure,) = read_log(PLAIN.replace('"train_img_size": 224', '"train_img_size": 288'), "timm")["figures"]
    assert figure["note"] == f"{timm.NOTE}; NHWC; 288 pixels"


def test_several_ranks_are_several_measurements_and_never_added() -> None:
    text = "".join(tag(rank, PLAIN.replace("1998.25", f"{1998 - rank}.25")) for rank in (0, 1))
    found = timm.read(text)
    assert found.good and [(each.rank, each.images_per_second) for each in found.parts] == [
        (0, 1998.25),
        (1, 1997.25),
    ]
    assert [figure["name"] for figure in found.as_dict()["figures"]] == [
        "timm resnet50, rank 0",
        "timm resnet50, rank 1",
    ]


def test_results_of_two_ranks_that_mix_line_by_line_are_taken_apart() -> None:
    streams = [PLAIN.splitlines(), PLAIN.replace("1998.25", "1900.0").splitlines()]
    mixed = [tag(rank, line + "\n") for pair in zip(*streams) for rank, line in enumerate(pair)]
    found = timm.read("".join(mixed))
    assert found.good and sorted(each.images_per_second for each in found.parts) == [1900.0, 1998.25]


def test_training_and_inference_are_told_apart_and_a_comparison_gets_the_training() -> None:
    both = result(infer_samples_per_sec=400.0, infer_batch_size=8, infer_step_time=19.0, infer_img_size=224)
    found = timm.read(printed(both))
    assert [(each.kind, each.images_per_second) for each in found.parts] == [("train", 100.0), ("infer", 400.0)]
    assert [figure["images_per_second"] for figure in found.as_dict()["figures"]] == [100.0]


def test_a_list_of_results_and_its_csv_say_the_same() -> None:
    rows = [
        {"model": "resnet50", "train_samples_per_sec": 1998.25, "train_step_time": 127.9, "train_batch_size": 256},
        {"model": "resnet101", "train_samples_per_sec": 1201.5, "train_step_time": 213.0, "train_batch_size": 256},
    ]
    facts = [
        [(each.model, each.images_per_second, each.batch) for each in timm.read(text).parts]
        for text in (printed(rows), CSV)
    ]
    assert facts[0] == facts[1] == [("resnet50", 1998.25, 256), ("resnet101", 1201.5, 256)]
    assert timm.read(CSV).good


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (PLAIN[: PLAIN.index("param_count")], "unfinished"),
        (PLAIN[: PLAIN.index("param_count")] + PLAIN, "unfinished"),
        (printed(result(error="CUDA out of memory")), "failed"),
        (printed({"model": "resnet50"}), "no_rate"),
        (printed(result(train_samples_per_sec="nan")), "no_rate"),
        (printed(result(train_samples_per_sec=-1.0)), "no_rate"),
        (printed(result(train_samples_per_sec=10**400)), "no_rate"),
        (printed(result(train_samples_per_sec=120.0)), "rate_disagrees"),
        (printed({"train_samples_per_sec": 1.0}), "not_a_result"),
        (printed([7]), "not_a_result"),
        ("--result\n{ broken\n}\n", "not_json"),
        ("--result\n" + "x" * 1000 + ("\n" + "x" * 1000) * 1100, "too_long"),
        (CSV + "resnet152,1.0\n", "cut_row"),
        ('"out" while running benchmark. Reducing batch size to 128 for retry.\n' + PLAIN, "batch_reduced"),
        ("--result\n[]\n", "no_result"),
        ("nothing of it\n", "no_result"),
    ],
)
def test_what_is_not_whole_or_not_what_was_asked_is_no_good_result(text: str, code: str) -> None:
    found = timm.read(text)
    assert code in codes(found) and not found.good
