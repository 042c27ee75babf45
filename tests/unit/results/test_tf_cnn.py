"""Reading a training log: who said what, does it add up, and never a figure that the log itself contradicts."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import tf_cnn
from hypothesis import given
from hypothesis import strategies as st

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
RULE = "-" * 64


def step(number: int, speed: float, loss: str = "7.500") -> str:
    return f"{number}\timages/sec: {speed:.1f} +/- 0.5 (jitter = 1.2)\t{loss}"


def machine(rank: int, world: int, speed: float, **rest: Any) -> str:
    record = {
        "rank": rank,
        "world": world,
        "host": f"gpu{rank + 1:02}",
        "images_per_second": speed,
        "loss": 1.5,
        **rest,
    }
    return "ROCEMESH " + json.dumps(record)


def tagged(rank: int, *lines: str) -> str:
    return "".join(f"[1,{rank}]<stdout>:{line}\n" for line in lines)


def run(speeds: list[float], total: float | None = None, **rest: Any) -> str:
    """A complete run of this collection's ResNet-50, tagged."""
    total = sum(speeds) if total is None else total
    return "".join(
        tagged(
            rank,
            "Done warm up",
            "Step\tImg/sec\ttotal_loss",
            step(1, speed),
            step(10, speed),
            RULE,
            f"total images/sec: {total:.2f}",
            RULE,
            machine(rank, len(speeds), speed, **rest),
        )
        for rank, speed in enumerate(speeds)
    )


def codes(result: tf_cnn.RunResult) -> list[str]:
    return [problem.code for problem in result.problems]


@pytest.mark.parametrize(("name", "numbered"), [("guide_sample.txt", False), ("guide_sample_numbered.txt", True)])
def test_the_guides_own_sample_contradicts_itself(name: str, numbered: bool) -> None:
    result = tf_cnn.read((FIXTURES / name).read_text())
    assert [rank.images_per_second for rank in result.ranks] == [2100.2, 1520.1, 1517.6, 1517.9]
    assert [*result.totals] == [8400.46, 8400.99, 8400.84, 8400.58]
    assert len(result.steps) == 44
    assert {entry.step for entry in result.steps} == {1, *range(10, 101, 10)}
    # The loss stands behind the jitter.
    losses = [entry.loss for entry in result.steps if entry.loss is not None]
    assert (len(losses), min(losses), max(losses)) == (44, 7.468, 7.77)
    assert result.sum_of_ranks == pytest.approx(6655.8)
    assert result.relative_difference == pytest.approx(-0.2077, abs=1e-4)
    assert (result.agree, result.good, codes(result)) == (False, False, ["inconsistent_total"])
    assert result.numbered_listing is numbered


@pytest.mark.parametrize(
    ("batches", "number", "last"),
    [
        ("100", "2020", 100),
        ("100", "100100", 100),
        ("100", "202020", 100),
        ("3000", "2020", 2020),
        ("100", "2010", 2010),
    ],
)
def test_a_step_that_ranks_without_a_mark_glued_is_that_of_both(batches: str, number: str, last: int) -> None:
    lines = [step(20, 187.5), step(100, 187.5).replace("100", number, 1), step(100, 187.5)]
    result = tf_cnn.read(f"Num batches: {batches}\n" + "".join(f"{line}\n" for line in lines))
    assert (result.last_step, result.step_lines) == (last, 3)


def test_glued_step_lines_recorded_from_mpirun_are_attributed_to_their_ranks() -> None:
    result = tf_cnn.read((FIXTURES / "openmpi414" / "tag_output_glued.txt").read_text())
    assert [(rank.rank, rank.images_per_second, rank.source) for rank in result.ranks] == [
        (rank, 2100.0 + rank, "step_line") for rank in range(4)
    ]
    assert result.total == 8400.0
    assert result.good


def test_machine_lines_win_over_rounded_step_lines() -> None:
    # 1.46 images/s prints as 1.5: four ranks of step lines would be 2.7 % off.
    result = tf_cnn.read(run([1.46] * 4))
    assert result.sum_of_ranks == pytest.approx(5.84)
    assert [rank.source for rank in result.ranks] == ["machine_line"] * 4
    assert [rank.host for rank in result.ranks] == ["gpu01", "gpu02", "gpu03", "gpu04"]
    assert result.good


def test_totals_are_never_added_and_steps_never_averaged() -> None:
    result = tf_cnn.read("".join(tagged(r, step(1, 50), step(10, 100), "total images/sec: 400.00") for r in range(4)))
    assert (result.total, result.sum_of_ranks, result.good) == (400.0, 400.0, True)


def test_rounding_of_slow_step_lines_is_not_a_contradiction() -> None:
    result = tf_cnn.read("".join(tagged(r, step(1, 1.46), "total images/sec: 5.84") for r in range(4)))
    assert result.agree is True


@pytest.mark.parametrize(("total", "agree"), [(404.0, True), (396.1, True), (405.0, False), (395.0, False)])
def test_one_percent_is_the_limit(total: float, agree: bool) -> None:
    result = tf_cnn.read(run([100.0] * 4, total))
    assert result.agree is agree
    assert ("inconsistent_total" in codes(result)) is not agree


@pytest.mark.parametrize(
    ("text", "expected_ranks", "code"),
    [
        (run([10.0, 10.0]), 4, "missing_ranks"),
        (run([10.0, 10.0]), 1, "too_many_ranks"),
        ("".join(tagged(r, machine(0, 1, 10.0), "total images/sec: 10.00") for r in range(4)), 4, "not_one_job"),
        (tagged(0, step(10, 5.0)), 1, "missing_total"),
        ("", 4, "no_result"),
        ("Traceback (most recent call last):\n", None, "no_result"),
        (run([10.0] * 2) + tagged(0, machine(0, 2, 11.0)), 2, "duplicate_rank"),
        (run([9.0, 9]).replace('1]<stdout>:ROCEMESH {"rank": 1', '1]<stdout>:ROCEMESH {"rank": 0'), 2, "rank_conflict"),
        (tagged(0, "ROCEMESH {broken", "total images/sec: 5.00"), 1, "unreadable_machine_line"),
        (tagged(0, machine(0, 1, -5.0), "total images/sec: 5.00"), 1, "unreadable_machine_line"),
        (run([10.0] * 2, loss=None, loss_finite=False), 2, "loss_not_finite"),
        (tagged(0, step(1, 5.0, "nan"), "total images/sec: 5.00"), 1, "loss_not_finite"),
        (tagged(0, step(1, 5), step(20, 5)) + tagged(1, step(1, 5), step(10, 5)), 2, "unfinished"),
        (tagged(0, step(1, 5), "total images/sec: 10.00") + tagged(1, "total images/sec: 5.00"), 2, "totals_disagree"),
    ],
)  # fmt: skip
def test_problems_are_named(text: str, expected_ranks: int | None, code: str) -> None:
    result = tf_cnn.read(text, expected_ranks)
    assert code in codes(result)
    assert not result.good


def test_different_weights_are_no_common_training() -> None:
    lines = run([10.0] * 2, checksum="a").replace('"checksum": "a"', '"checksum": "b"', 1)
    assert codes(tf_cnn.read(lines)) == ["weights_differ"]


def test_missing_ranks_are_listed_by_number() -> None:
    text = "".join(line for line in run([10.0] * 4).splitlines(keepends=True) if not line.startswith("[1,2]"))
    (problem,) = [entry for entry in tf_cnn.read(text, 4).problems if entry.code == "missing_ranks"]
    assert "rank(s) 2" in problem.message


def test_the_log_itself_tells_how_many_ranks_there_were() -> None:
    text = tagged(0, "Batch size:  2048 global", "             512 per device", step(1, 5.0), "total images/sec: 5.00")
    assert "missing_ranks" in codes(tf_cnn.read(text))
    (problem,) = tf_cnn.read("total images/sec: 1476.57\n").problems
    assert (problem.code, "started" in problem.message) == ("missing_ranks", False)


def test_a_log_that_prints_every_step_is_not_taken_for_a_numbered_listing() -> None:
    text = "".join(step(number, 100.0) + "\n" for number in range(1, 6)) + "total images/sec: 100.00\n"
    result = tf_cnn.read(text)
    assert [entry.step for entry in result.steps] == [1, 2, 3, 4, 5]
    assert (result.numbered_listing, result.good) == (False, True)


def test_a_rank_beyond_nine_is_not_split() -> None:
    result = tf_cnn.read(run([10.0] * 12))
    assert [rank.rank for rank in result.ranks] == list(range(12))


def test_parameters_of_the_run_are_kept() -> None:
    text = tagged(0, "Model:       resnet50", "Batch size:  8 global", "             4 per device", "Num batches: 6")
    assert tf_cnn.read(text).parameters == {
        "model": "resnet50",
        "batch_size_global": "8",
        "batch_size_per_device": "4",
        "num_batches": "6",
    }


def test_step_lines_fed_by_character_are_read_once() -> None:
    reader = tf_cnn.Reader()
    for character in run([10.0, 20.0]):
        reader.feed(character)
    assert [(entry.rank, entry.step, entry.images_per_second) for entry in reader.result().steps] == [
        (0, 1, 10.0),
        (0, 10, 10.0),
        (1, 1, 20.0),
        (1, 10, 20.0),
    ]


@given(st.lists(st.floats(0.5, 5000), min_size=1, max_size=6), st.randoms(use_true_random=False), st.booleans())
def test_any_interleaving_of_pieces_gives_the_same_result(speeds: list[float], random: Any, cut: bool) -> None:
    whole = run(speeds)
    streams = [
        [line.partition(">:")[2] for line in whole.splitlines(keepends=True) if line.startswith(f"[1,{rank}]")]
        for rank in range(len(speeds))
    ]
    if cut:  # the newline in a piece of its own, as a printer with two writes per line makes it
        streams = [[part for line in lines for part in (line[:-1], "\n")] for lines in streams]
    mixed = ""
    while any(streams):
        rank = random.choice([rank for rank, parts in enumerate(streams) if parts])
        mixed += f"[1,{rank}]<stdout>:{streams[rank].pop(0)}"
    # Live reading sees the lines in another order; everything that counts must be equal.
    expected, got = tf_cnn.read(whole).as_dict(), tf_cnn.read(mixed).as_dict()
    assert got == expected
    assert got["ok"]


def test_header_of_tf_cnn_benchmarks_is_kept() -> None:
    lines = (
        "TensorFlow:  1.15",
        "Model:       resnet50",
        "Dataset:     imagenet (synthetic)",
        "SingleSess:  False",
        "Batch size:  2048 global",
        "             512 per device",
        "Num batches: 100",
        "Num epochs:  0.16",
        "Devices:     ['horovod/gpu:0', 'horovod/gpu:1']",
        "Data format: NCHW",
        "Optimizer:   sgd",
        "Variables:   horovod",
        "AllReduce:   None",
        "Horovod on:  GPU",
        "==========",
    )
    parameters = tf_cnn.read(tagged(0, *lines, step(1, 5.0))).parameters
    assert (parameters["tensorflow"], parameters["num_epochs"], parameters["data_format"]) == ("1.15", "0.16", "NCHW")
    assert (parameters["batch_size_global"], parameters["batch_size_per_device"]) == ("2048", "512")
    assert (parameters["horovod_on"], parameters["allreduce"], parameters["singlesess"]) == ("GPU", "None", "False")
    assert len(parameters) == 14


@pytest.mark.parametrize(
    "devices",
    [
        ("/gpu:0", "/gpu:1", "/gpu:2", "/gpu:3"),
        (
            "/job:worker/task:0/gpu:0",
            "/job:worker/task:0/gpu:1",
            "/job:worker/task:0/gpu:2",
            "/job:worker/task:0/gpu:3",
        ),
        ("/device:GPU:0", "/device:GPU:1", "/device:GPU:2", "/device:GPU:3"),
    ],
)
@pytest.mark.parametrize("variables", ["replicated", "parameter_server"])
def test_one_process_with_several_gpus_is_one_rank(devices: tuple[str, ...], variables: str) -> None:
    """Four devices, one process: it prints one step line and one total, and nobody is missing."""
    head = (
        f"Batch size:  256 global\n             64 per device\nDevices:     {list(devices)}\nVariables:   {variables}\n"
    )
    result = tf_cnn.read(head + "100\timages/sec: 1000.0 +/- 1.0 (jitter = 2.0)\t7.5\ntotal images/sec: 1000.00\n")
    assert codes(result) == []
    assert (len(result.ranks), result.total, result.good) == (1, 1000.0, True)


def test_horovods_list_of_devices_names_ranks() -> None:
    head = (
        "Batch size:  128 global\n             64 per device\nDevices:     ['horovod/gpu:0', 'horovod/gpu:1']\n"
        "Variables:   horovod\n"
    )
    text = head + "100\timages/sec: 500.0 +/- 1.0 (jitter = 2.0)\t7.5\ntotal images/sec: 500.00\n"
    assert "missing_ranks" in codes(tf_cnn.read(text))


def test_a_batch_size_that_is_printed_as_a_fraction_is_read_whole() -> None:
    text = "Batch size:  2048.0 global\n             1024.0 per device\n10\timages/sec: 5.0\ntotal images/sec: 5.00\n"
    result = tf_cnn.read(text)
    assert (result.parameters["batch_size_global"], result.parameters["batch_size_per_device"]) == ("2048", "1024")


def test_evaluation_columns_and_a_missing_uncertainty_are_read() -> None:
    first, second = tf_cnn.read(
        "10\timages/sec: 5.0 +/- 0.1 (jitter = 0.2)\t7.5\t0.125\t0.250\n1\timages/sec: 6.0\n"
    ).steps
    assert (first.images_per_second, first.loss) == (5.0, 7.5)
    assert (second.images_per_second, second.loss) == (6.0, None)


@pytest.mark.parametrize("end", ["10\timages/sec: 21", "total images/sec: 84", "total images/sec: 8400.4"])
def test_a_figure_cut_by_the_end_of_the_log_is_left_out_and_named(end: str) -> None:
    result = tf_cnn.read(run([10.0]) + "[1,0]<stdout>:" + end)
    assert codes(result) == ["cut_line"]
    assert (result.total, result.last_step) == (10.0, 10)
    # The same text with its newline is a whole line.
    assert "cut_line" not in codes(tf_cnn.read(run([10.0]) + "[1,0]<stdout>:" + end + "\n"))


@pytest.mark.parametrize("speed", ["nan", "inf"])
def test_a_speed_that_is_no_number_is_no_result(speed: str) -> None:
    text = tagged(0, step(1, 5.0).replace("5.0 +", speed + " +"), "total images/sec: 5.00")
    result = tf_cnn.read(text)
    assert "speed_not_finite" in codes(result)
    assert result.ranks == ()
    json.dumps(result.as_dict(), allow_nan=False)
    total = tf_cnn.read(tagged(0, step(1, 5.0), f"total images/sec: {speed}"))
    assert (total.total, total.good) == (None, False)


def test_steps_that_go_back_are_two_runs() -> None:
    result = tf_cnn.read(tagged(0, step(1, 5), step(10, 5), step(1, 9), "total images/sec: 5.00"))
    assert "steps_go_back" in codes(result)
    assert "from step 10 back to step 1" in result.problems[0].message


def test_a_first_step_behind_a_total_begins_another_run() -> None:
    once = f"{step(1, 80)}\n{step(10, 80)}\ntotal images/sec: 80.00\n"
    result = tf_cnn.read(once + once.replace("80.00", "160.00"))
    assert (codes(result), result.sum_of_ranks, result.agree) == (["not_one_job"], None, None)
    assert [*result.totals] == [80.0, 160.0]
    both = f"{step(1, 80)}\n{step(1, 81)}\n{step(10, 80)}\n{step(10, 81)}\n" + "total images/sec: 161.00\n" * 2
    assert codes(tf_cnn.read(both)) == []


def test_unequal_weights_that_a_rank_reports_count() -> None:
    assert codes(tf_cnn.read(run([10.0] * 2, checksums_equal=False))) == ["weights_differ"]


def test_a_header_behind_many_lines_of_nccl_is_found() -> None:
    noise = "gpu01:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] via NET/IB/0"
    text = tagged(
        0, *[noise] * 500, "Batch size:  64 global", *[noise] * 500, "             16 per device", step(1, 5.0)
    )
    assert "4 ranks were started, 1 have a result" in [
        problem.message.partition(";")[0] for problem in tf_cnn.read(text).problems
    ]


def test_result_is_plain_json_even_for_a_broken_loss() -> None:
    json.dumps(tf_cnn.read(run([10.0], loss=None, loss_finite=False)).as_dict(), allow_nan=False)
    json.dumps(tf_cnn.read(tagged(0, step(1, 5.0, "nan"))).as_dict(), allow_nan=False)


@pytest.mark.parametrize(("rate", "total", "share"), [(83.3, 167.4, 2), (245.5, 982.11, 4), (310.0, 9876.0, 32)])
def test_a_total_of_workers_that_print_no_steps_holds(rate: float, total: float, share: int) -> None:
    """One worker's output, and nothing in it says how many there are."""
    for line in (lambda text: text, lambda text: f"[1,0]<stdout>:{text}"):
        text = "\n".join(line(each) for each in (step(1, rate), step(100, rate), f"total images/sec: {total:.2f}"))
        result = tf_cnn.read(text + "\n")
        assert (result.good, result.total, result.sum_of_ranks) == (True, total, rate)
        assert f" {share} times " in result.note
    # Where it is known, the others are missing.
    assert "missing_ranks" in codes(tf_cnn.read(text + "\n", share))
    assert not tf_cnn.read(text + "\n", share).good


@pytest.mark.parametrize(("total", "holds"), [(96.8, True), (80.0, True), (70.0, False), (125.0, False), (50.0, False)])
def test_time_outside_the_steps_is_in_the_total_alone(total: float, holds: bool) -> None:
    result = tf_cnn.read(f"{step(1, 99)}\n{step(100, 100)}\ntotal images/sec: {total:.2f}\n")
    assert (result.good, bool(result.note)) == (holds, holds)
    assert ("inconsistent_total" in codes(result)) is not holds
    assert result.sum_of_ranks == 100.0
