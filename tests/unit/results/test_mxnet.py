"""MXNet: measure.py, speed logs, DLPerf's table by DLPerf's rule, and the published tables."""

from __future__ import annotations

import ast
import json
import pathlib
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import (
    mxnet_bandwidth,
    mxnet_scaling,
    mxnet_speed,
    perf_tables,
)

from .logs import codes, log

MEASURE = (
    "INFO:root:Namespace(gpus='0,1', kv_store='device', network='resnet')\n"
    "INFO:root:num of arrays = 205, total size = 257.991328 MB\n"
)

SPEED = "Epoch[0] Batch[1] Speed: 1.0 samples/sec\n"

# ------------------------------------------------------------------------------------------------------- measure.py


def test_published_measure_py_runs_and_their_formula() -> None:
    result = mxnet_bandwidth.read(log("measure_py.txt"))
    assert result.good
    assert [
        (run.gpus, run.options["kv_store"], run.as_dict()["distributed"], len(run.iterations)) for run in result.parts
    ] == [
        (2, "device", False, 5),
        (8, "device", False, 5),
        (8, "local", False, 5),
        (8, "device", False, 5),
        (8, "dist_device_sync", True, 5),
        (8, "dist_device_sync", True, 5),
    ]
    first = result.parts[0]
    assert (first.arrays, first.size_mb) == (205, 257.991328)
    assert [round(mxnet_bandwidth.bandwidth(257.991328, 2, entry.seconds), 4) for entry in first.iterations] == [
        11.1002,
        11.1656,
        11.1117,
        11.1237,
        11.1738,
    ]
    assert round(mxnet_bandwidth.bandwidth(257.991328, 8, 0.102321), 4) == 4.4124
    assert (result.parts[3].options["network"], result.parts[3].size_mb) == ("inception-v3", 95.200544)
    assert result.parts[1].command == (
        "python measure.py --kv-store device --gpus 0,1,2,3,4,5,6,7 --network resnet --num-layers 200"
    )


def test_new_form_without_rounding_is_read() -> None:
    text = MEASURE + "INFO:root:iter 1, 0.0232419967651 sec, 11.100223 GB/sec per gpu, error 1.2e-07\n"
    (run,) = mxnet_bandwidth.read(text).parts
    assert run.iterations == [mxnet_bandwidth.Iteration(1, 0.0232419967651, 11.100223, 1.2e-07)]
    assert len(run.problems) == 0


def test_unchecked_sum_is_told_from_a_right_one() -> None:
    line = "iter 1, 0.023242 sec, 11.100222 GB/sec per gpu, error {}\n"
    results = [mxnet_bandwidth.read(MEASURE + line.format(error)) for error in ("-1.0", "0.000000")]
    assert [result.good for result in results] == [True, True]
    assert [result.as_dict()["runs"][0]["checked"] for result in results] == [False, True]


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("iter 1, 0.023242 sec, 12.000000 GB/sec per gpu, error 0.000000\n", "bandwidth_disagrees"),
        ("iter 1, 0.023242 sec, 11.100222 GB/sec per gpu, error 0.020000\n", "wrong_values"),
        ("iter 1, 0.023242 sec, 11.100222 GB/sec per gpu, error nan\n", "wrong_values"),
        ("iter 1, -0.023242 sec, 11.100222 GB/sec per gpu, error 0.000000\n", "clock_backwards"),
        ("iter 1, nan sec, inf GB/sec per gpu, error 0.000000\n", "not_finite"),
        ("iter 1, 0.023242 sec, 11.100222 GB/sec per gpu, error 0.000000\n" * 2, "iterations_repeat"),
        ("", "no_iterations"),
    ],
)  # fmt: skip
def test_problems_of_measure_py_are_named(lines: str, code: str) -> None:
    result = mxnet_bandwidth.read(MEASURE + lines)
    assert code in codes(result)
    assert not result.good
    json.dumps(result.as_dict(), allow_nan=False)


def test_iterations_that_begin_anew_are_of_the_next_run() -> None:
    """Several starts of which only these lines were kept: no mean over all of them, and no kind of store is known."""
    lines = "".join(
        f"INFO:root:iter {count}, 0.023242 sec, {rate:.6f} GB/sec per gpu, error 0.000000\n"
        for rate in (11, 12)
        for count in (1, 2, 3)
    )
    result = mxnet_bandwidth.read(lines)
    runs = result.as_dict()["runs"]
    assert [(run["gigabytes_per_second"]["mean"], run["distributed"]) for run in runs] == [(11, None), (12, None)]
    assert (result.good, codes(mxnet_bandwidth.read(lines + lines[-70:]))) == (True, ["iterations_repeat"])


@pytest.mark.parametrize(
    ("options", "ended"),
    [
        ("disp_batches=1, num_batches=2", True),
        ("disp_batches=1, num_batches=3", False),
        ("disp_batches=2, num_batches=3", True),
        ("num_batches=5", False),
    ],
)
def test_a_run_without_its_last_iteration_did_not_end(options: str, ended: bool) -> None:
    line = "iter {}, 0.023242 sec, 11.100222 GB/sec per gpu, error 0.000000\n"
    result = mxnet_bandwidth.read(f"INFO:root:Namespace({options})\n" + line.format(1) + line.format(2))
    assert codes(result) == ([] if ended else ["unfinished"])


def test_one_gpu_exchanges_nothing() -> None:
    text = MEASURE.replace("0,1", "0") + "iter 1, 0.02 sec, 0.000000 GB/sec per gpu, error 0.0\n"
    assert codes(mxnet_bandwidth.read(text)) == ["one_gpu"]


# ------------------------------------------------------------------------------------------------------- one speed log


def test_mlperf_log_with_nan_accuracy_and_a_slow_window() -> None:
    result = mxnet_speed.read(log("mlperf_resnet.txt"))
    assert result.good
    (source,) = result.parts
    data = source.as_dict()
    assert (data["node"], data["windows"], data["slow_windows"]) == (0, 5, 1)
    assert data["samples_per_second"]["median"] == 21809.31
    assert data["samples_per_second"]["min"] == 12035.97
    assert result.more["mlperf"]["status"] == "success"
    assert result.more["mlperf"]["throughput"]["max"] == pytest.approx(21785.6144)
    assert result.more["figure"] is None


def test_a_window_with_several_metrics_counts_once() -> None:
    """MXNet prints a line per metric: epoch, batch and speed are those of the line before."""
    text = "".join(
        f"INFO:root:Epoch[0] Batch [{batch}]\tSpeed: {speed} samples/sec\t{metric}=0.1\n"
        for batch, speed in ((20, 90.5), (40, 90.5), (60, 91.0))
        for metric in ("accuracy", "top_k_accuracy_5", "cross-entropy")
    )
    (source,) = mxnet_speed.read(text).as_dict()["sources"]
    assert source["windows"] == 3
    assert source["samples_per_second"]["count"] == 3


@pytest.mark.parametrize(
    "line",
    [
        "Epoch[0] Batch [20]\tSpeed: 1910.41 samples/sec",
        "INFO:root:Epoch[32] Batch [0-20]\tSpeed: 1910.41 samples/sec\taccuracy=nan",
        "2023-03-22 17:35:00,378 Node[0] Epoch[32] Batch [0-20]\tSpeed: 1910.41 samples/sec",
        "Epoch[0] Batch[7]\tLoss[7.1]\tSpeed: 1910.41 samples/sec",
        "[1,0]<stderr>:INFO:root:[Epoch 0][Batch 9], Speed: 1910.41 samples/sec, RPN_Conf=0.669",
        "[Epoch 0][Batch 99], LR: 1.00E-03, Speed: 1910.41 samples/sec, ObjLoss=8.955",
    ],
)
def test_dialects(line: str) -> None:
    (source,) = mxnet_speed.read(line + "\n").parts
    assert source.speeds.entries == [1910.41]


def test_the_package_of_r_counts_epochs_from_one_and_names_them_behind_their_windows() -> None:
    """mx.callback.log.speedometer of R-package/R/callback.R; the line of the epoch is that of model.R."""
    window = "Batch [50] Speed: {} samples/sec Train-accuracy=0.1\n"
    text = f"{window.format(26130.0133261041)}[1] Train-accuracy=0.7\n{window.format(24854.5)}[2] Train-accuracy=0.8\n"
    result = mxnet_speed.read(text)
    assert [source.speeds.entries for source in result.parts] == [[26130.0133261041, 24854.5]]
    assert (codes(result), result.more["windows_of_first_epoch"], result.more["figure"]) == ([], 0, None)
    assert codes(mxnet_speed.read(window.format(1.5) + window.format(2.5))) == ["several_sources"]


@pytest.mark.parametrize(
    ("batch", "epoch", "expected"),
    [
        ("Node[0] Epoch[0] Batch [0-20]", "Node[0] Epoch[0] Time cost=36.1", (None, 36.1)),
        ("INFO:root:Epoch[0] Batch [40]", "INFO:root:Epoch[0] Time cost=36.1", (None, 36.1)),
        ("Epoch[000] Batch [0049]/[1879]", "[Epoch 0] speed: 184 samples/sec\ttime cost: 36.1", (184.0, 36.1)),
        ("INFO:root:Epoch[0] Batch [49]", "INFO:root:[Epoch 0] time cost: 36.1", (None, 36.1)),
        ("[Epoch 0][Batch 49],", "[Epoch 0] Training cost: 36.1, CrossEntropy=4.966", (None, 36.1)),
    ],
)
def test_first_epoch_is_counted_in_every_dialect(
    batch: str, epoch: str, expected: tuple[float | None, float | None]
) -> None:
    batches = {100.5: batch, 101.5: batch.translate(str.maketrans("249", "358"))}
    lines = [f"{name}\tSpeed: {speed} samples/sec\taccuracy=0.1\n" for speed, name in batches.items()]
    text = "".join(lines) + epoch + "\n"
    result = mxnet_speed.read(text)
    assert (result.good, result.more["windows_of_first_epoch"], result.more["figure"]) == (True, 2, None)
    (found,) = result.as_dict()["epochs"]
    assert (found["epoch"], found["samples_per_second"], found["seconds"]) == (0, *expected)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ':::MLL 1560888219.473 eval_accuracy: {"metadata": {"lineno": 980}, "value": 0.75}\n'
            ':::MLL 1560888219.474 global_batch_size: {"value": 1664, "metadata": {}}\n'
            ':::MLL 1560888219.475 run_stop: {"metadata": {"status": "success"}, "value": null}\n',
            {"eval_accuracy": 0.75, "global_batch_size": 1664, "status": "success"},
        ),
        (
            ':::MLPv0.5.0 resnet 1541673188.94 (/work/log.py:49) eval_accuracy: {"value": 0.67, "epoch": 43}\n'
            ':::MLPv0.5.0 resnet 1541673188.94 (/work/log.py:49) eval_accuracy: {"value": 0.75, "epoch": 61}\n'
            ":::MLPv0.5.0 resnet 1541674532.55 (/work/log.py:49) run_final\n",
            {"eval_accuracy": 0.75},
        ),
        (':::MLL 1560888219.475 run_stop: {"metadata": {"status": "aborted"}}\n', {"status": "aborted"}),
    ],
)
def test_older_mlperf_lines_are_read(lines: str, expected: dict[str, Any]) -> None:
    result = mxnet_speed.read(SPEED + lines)
    assert result.more["mlperf"] == expected
    assert result.good == (expected.get("status", "success") == "success")


def test_mlperf_without_a_speed_is_a_problem() -> None:
    result = mxnet_speed.read(':::MLLOG {"time_ms": 1, "key": "eval_accuracy", "value": 0.8}\n')
    assert (codes(result), result.good) == (["no_result"], False)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Epoch[0] Batch[1]\tSpeed: inf samples/sec\nEpoch[0] Batch[2]\tSpeed: nan samples/sec\n", "not_finite"),
        ("Epoch[0] Batch[0] Loss[6.9]\n", "lines_without_speed"),
        ("".join(f"[1,{rank}]<stdout>:{SPEED}" for rank in range(2)), "several_sources"),
        # Two workers that put no name before their lines.
        (SPEED + SPEED.replace("1.0", "1.1"), "several_sources"),
        # Two runs, and one that ends within an epoch, where an earlier one has its closing line.
        (SPEED.replace("[0]", "[3]") + SPEED, "several_sources"),
        (f"{SPEED}[Epoch 0] time cost: 9.5\n" + SPEED.replace("[0]", "[1]"), "unfinished"),
        ("[1] Train-mse=1\n".join(["Batch [5] Speed: 1.5 samples/sec Train-mse=1\n"] * 2), "unfinished"),
        ("".join(f"2023-03-22 17:3{minute}:05,378 {SPEED}" for minute in (5, 4)), "clock_backwards"),
        (f"2023-02-30 17:35:05,378 {SPEED}", "clock_backwards"),
        ("".join(f':::MLLOG {{"time_ms": {ms}, "key": "a", "value": 1}}\n' for ms in (2000, 5)), "clock_backwards"),
        (':::MLLOG {"time_ms": 2000, "key"\n', "unreadable_mllog"),
        (':::MLLOG {"time_ms": 1, "key": "run_stop", "value": null, "metadata": {"status": "aborted"}}\n', "aborted"),
    ],
)  # fmt: skip
def test_problems_of_speed_logs_are_named(text: str, code: str) -> None:
    result = mxnet_speed.read(text)
    assert code in codes(result)
    assert not result.good
    json.dumps(result.as_dict(), allow_nan=False)


def test_lines_without_a_speed_are_none_of_a_program_that_prints_it_elsewhere() -> None:
    found = mxnet_speed.read("Epoch[0] Batch[5] avg_epoch_loss=2.5\nEpoch[0] Batch [5]#011Speed: 70.5 samples/sec\n")
    assert (found.good, found.more["lines_without_speed"], found.more["windows_of_first_epoch"]) == (True, 1, 1)


@pytest.mark.parametrize("name", ["", "Node[1] ", "[1,4]<stdout>:"])
def test_a_second_run_of_one_source_has_a_name_of_its_own(name: str) -> None:
    line = f"{name}Epoch[{{}}] Batch [{{}}]\tSpeed: {{}} samples/sec\n"
    runs = [line.format(epoch, batch, speed) for speed in (9.0, 9.5) for epoch in (0, 1) for batch in (5, 10)]
    found = mxnet_speed.read("".join(runs))
    assert [source.speeds.seen for source in found.parts] == [4, 4]
    assert "run 2" in found.problems[0].message


# ---------------------------------------------------------------------------------------------------------- DLPerf


def run_log(speed: float, windows: int = 120, warm: float = 1.0) -> str:
    """A run whose first 20 windows are slow, and that goes on into epoch 1."""
    lines = [
        f"INFO:root:Epoch[0] Batch[{n}]\tSpeed: {warm if n < 20 else speed + (n % 2 - 0.5) / 10:.4f} samples/sec"
        for n in range(windows)
    ]
    return "\n".join([*lines, "INFO:root:Epoch[1] Batch[0]\tSpeed: 9999.0 samples/sec", ""])


def tree(cases: dict[str, list[float]], precision: str = "fp32", batch: int = 128) -> dict[str, str]:
    return {
        f"bz{batch}/{case}/rn50_b{batch}_{precision}_{run}.log": run_log(speed)
        for case, speeds in cases.items()
        for run, speed in enumerate(speeds, 1)
    }


# The published figures of the five runs of each case.
PUBLISHED: dict[str, list[float]] = {}
for _line in log("dlperf_extractor.txt").splitlines():
    if ".log {" in _line:
        PUBLISHED[_line.split("/")[4]] = list(
            dict(sorted(ast.literal_eval(_line[_line.index("{") :]).items())).values()
        )


def expected_result() -> Any:
    text = log("dlperf_extractor.txt")
    return ast.literal_eval(text[text.index("{'rn50'") : text.rindex("}}}") + 3])


def test_published_table_is_reproduced_from_a_tree_of_logs() -> None:
    assert sorted(PUBLISHED) == ["1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g"]
    result = mxnet_scaling.read_tree(tree(PUBLISHED).items(), repeats=5)
    assert result.good
    data = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert data["result"] == expected_result()
    cases = data["result"]["rn50"]
    assert [cases[name]["median_speed"] for name in PUBLISHED if name] and {
        name: (case["median_speed"], case["speedup"], case["average_speed"]) for name, case in cases.items()
    } == {
        "1n1g": (384.19, 1.0, 384.59),
        "1n2g": (749.04, 1.95, 749.68),
        "1n4g": (1494.58, 3.89, 1496.32),
        "1n8g": (2556.03, 6.65, 2550.74),
        "2n8g": (4855.34, 12.64, 4867.95),
        "4n8g": (9579.74, 24.93, 9594.1),
    }


def test_what_the_extractor_printed_gives_the_same_and_is_checked() -> None:
    result = mxnet_scaling.read_printed(log("dlperf_extractor.txt"), repeats=5)
    assert result.good
    assert result.as_dict()["result"] == expected_result()
    edited = mxnet_scaling.read_printed(log("dlperf_extractor.txt").replace("'speedup': 24.93", "'speedup': 29.93"))
    assert codes(edited) == ["table_disagrees"]


def test_efficiency_is_told_against_one_gpu_and_against_one_node() -> None:
    (group,) = mxnet_scaling.read_printed(log("dlperf_extractor.txt")).as_dict()["groups"]
    efficiency = {case["case"]: case["efficiency"] for case in group["cases"]}
    assert [round(100 * entry["one_gpu"], 1) for entry in efficiency.values()] == [100, 97.5, 97.3, 83.2, 79.0, 77.9]
    assert round(100 * efficiency["2n8g"]["one_node"], 1) == 95.0
    assert round(100 * efficiency["4n8g"]["one_node"], 1) == 93.7
    spreads = [round(100 * case["relative_spread"], 2) for case in group["cases"]]
    assert spreads == [0.33, 2.01, 0.64, 1.25, 1.66, 0.66]


def test_twenty_of_exactly_120_windows_are_dropped() -> None:
    assert mxnet_speed.read(run_log(100.0)).more["figure"] == 100.0
    assert mxnet_speed.read(run_log(100.0, windows=119)).more["figure"] is None
    assert mxnet_speed.read(run_log(100.0, windows=121)).more["figure"] is None
    assert mxnet_speed.read(run_log(100.0, windows=12), 12, 0).more["figure"] == 1.0
    only_warm_up_is_slow = run_log(100.0).replace("Batch[20]\tSpeed: 99.9500", "Batch[20]\tSpeed: 1099.9500")
    assert mxnet_speed.read(only_warm_up_is_slow).more["figure"] == 110.0


def test_each_window_is_rounded_before_the_mean() -> None:
    text = "".join(f"Epoch[0] Batch[{n}]\tSpeed: 100.004999 samples/sec\n" for n in range(120))
    assert mxnet_speed.read(text).more["figure"] == 100.0


def test_more_than_nine_nodes_and_several_groups() -> None:
    files = {**tree({"1n1g": [10.0], "16n8g": [1000.0]}), **tree({"1n1g": [20.0]}, "fp16", 256)}
    result = mxnet_scaling.read_tree(files.items())
    assert result.good
    assert [(group.model, group.batch_size, group.precision) for group in result.parts] == [
        ("rn50", 128, "fp32"),
        ("rn50", 256, "fp16"),
    ]
    case = result.parts[0].cases["16n8g"]
    assert (case.nodes, case.gpus_per_node, case.gpus, result.parts[0].speedup(case)) == (16, 8, 128, 100.0)
    assert result.as_dict()["result"] is None


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("", "empty"),
        (run_log(100.0, windows=90), "90 windows of epoch 0 instead of 120"),
        (run_log(100.0).replace("Speed: 99.9500", "Speed: nan", 1), "finite"),
        ("INFO:root:Epoch[0] Batch[3] Loss[6.9]\n" * 120, "no speed"),
        ("\x7fELF\x00\x01", "ELF"),
        (log("horovod_16_gpus.txt"), "Horovod"),
    ],
)
def test_a_broken_run_is_named_and_left_out(broken: str, words: str) -> None:
    files = {**tree({"1n1g": [10.0, 10.0]}), "bz128/1n1g/rn50_b128_fp32_3.log": broken}
    result = mxnet_scaling.read_tree(files.items(), repeats=3)
    assert sorted(codes(result)) == ["missing_runs", "unusable_run"]
    assert any(words in problem.message and "fp32_3.log" in problem.message for problem in result.problems)
    assert result.parts[0].cases["1n1g"].runs == {1: 10.0, 2: 10.0}


def test_tree_without_baseline_or_logs_says_so() -> None:
    result = mxnet_scaling.read_tree(tree({"1n2g": [10.0]}).items())
    assert codes(result) == ["no_baseline"]
    assert result.as_dict()["result"]["rn50"]["1n2g"]["speedup"] is None
    nothing = mxnet_scaling.read_tree([("a/readme.md", "")])
    assert (codes(nothing), nothing.more["ignored"], nothing.good) == (["no_result"], ("a/readme.md",), False)


def test_tree_on_disk(tmp_path: pathlib.Path) -> None:
    for path, text in tree({"1n1g": [10.0], "2n1g": [19.0]}).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "bz128/1n1g/rn50_b128_fp32_2.log").symlink_to(tmp_path / "gone")
    result = mxnet_scaling.read_tree(mxnet_scaling.tree_files(str(tmp_path)))
    assert codes(result) == ["unreadable_log"]
    assert result.more["ignored"] == ("notes.txt",)
    assert result.parts[0].speedup(result.parts[0].cases["2n1g"]) == 1.9
    with pytest.raises(FileNotFoundError):
        list(mxnet_scaling.tree_files(str(tmp_path / "none")))


# ------------------------------------------------------------------------------------------------- published tables


@pytest.mark.parametrize("wrap", [False, True])
def test_tables_of_the_performance_guide(wrap: bool) -> None:
    text = log("mxnet_perf_tables.txt")
    if wrap:  # as a listing on the web shows each line
        text = "".join(f"| {line} |\n" if line else "| |\n" for line in text.splitlines())
    result = perf_tables.read(text)
    assert result.good
    assert [(table.kind, table.device, len(table.rows), len(table.columns)) for table in result.parts] == [
        ("scoring", None, 6, 7),
        ("scoring", "K80 (single GPU)", 6, 7),
        ("scoring", "M40", 6, 7),
        ("scoring", "P100", 6, 7),
        ("training", "K80 (single GPU)", 6, 4),
        ("training", "M40", 6, 4),
        ("training", "P100", 6, 4),
    ]
    assert result.parts[6].as_dict()["rows"][-1] == {
        "Batch": 32,
        "Alexnet(*8)": 1869.69,
        "Inception-v3": 129.98,
        "Resnet 50": 181.53,
    }


def test_tables_of_dlperf_in_both_precisions() -> None:
    result = perf_tables.read(log("dlperf_tables.txt"))
    assert result.good
    assert [[row["samples/s"] for row in table.as_dict()["rows"]] for table in result.parts] == [
        [384.19, 749.04, 1494.58, 2556.03, 4855.34, 9579.74],
        [833.65, 1373.55, 2331.91, 2908.88, 5451.27, 10565.55],
    ]
    edited = perf_tables.read(log("dlperf_tables.txt").replace("| 24.93", "| 26.93"))
    assert codes(edited) == ["speedup_disagrees"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("| Batch | a |\n| --- | --- |\n| 1 | much |\n", "unreadable_row"),
        ("| Batch | a |\n| --- | --- |\n| 1 | 2 | 3 |\n", "unreadable_row"),
        ("| Batch | a |\n| --- | --- |\n| 1 | nan |\n", "not_finite"),
        ("| Batch | a |\n| --- | --- |\n", "no_rows"),
        ("| Batch | a\n| --- | ---\n| 1 | 22", "unreadable_row"),
        ("| name | a |\n| --- | --- |\n| 1 | 2 |\n", "no_result"),
    ],
)
def test_problems_of_tables_are_named(text: str, code: str) -> None:
    result = perf_tables.read(text)
    assert code in codes(result)
    assert not result.good


def test_three_workers_without_a_name_are_three_sources() -> None:
    lines = (
        f"Epoch[0] Batch [{batch}]\tSpeed: {batch + rank} samples/sec\n" for batch in (20, 40) for rank in range(3)
    )
    found = mxnet_speed.read("".join(lines))
    assert [source.speeds.entries for source in found.parts] == [[20.0, 40.0], [21.0, 41.0], [22.0, 42.0]]
    twice = "".join(f"Epoch[0] Batch [20]\tSpeed: 20.5 samples/sec\t{name}=0.1\n" for name in ("accuracy", "top_k"))
    assert [source.speeds.seen for source in mxnet_speed.read(twice).parts] == [1]


@pytest.mark.parametrize(("key", "value", "good"), [("throughput", 812.5, True), ("imgs_sec", 812.5, False)])
def test_throughput_of_mlperf_is_a_speed_without_any_window(key: str, value: float, good: bool) -> None:
    entry = {
        "namespace": "",
        "time_ms": 1000,
        "event_type": "POINT_IN_TIME",
        "key": key,
        "value": value,
        "metadata": {},
    }
    found = mxnet_speed.read(":::MLLOG " + json.dumps(entry) + "\n")
    assert (found.good, "throughput" in found.more["mlperf"]) == (good, good)
