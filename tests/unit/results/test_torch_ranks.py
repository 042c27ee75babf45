"""The machine lines of the training: every figure that is said twice must be the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import horovod, torch_ranks

from .logs import codes, log, tag

WORLD = 4


def record(rank: int, **changes: Any) -> dict[str, Any]:
    """As workloads/resnet50 writes it: 10 batches of 8 in 2 s."""
    return {
        "format": 1,
        "rank": rank,
        "world": WORLD,
        "host": f"gpu{rank + 1:02}",
        "images_per_second": 40.0,
        "total_images_per_second": 160.0,
        "wall_seconds": 2.0,
        "busy_seconds": 1.9,
        "batches": 10,
        "batch_size": 8,
        "image_size": 64,
        "precision": "fp32",
        "step": {"mean_ms": 190.0, "median_ms": 189.0, "min_ms": 180.0, "p95_ms": 200.0, "max_ms": 210.0},
        "loss": 1.5,
        "loss_finite": True,
        "checksum": "abc",
        "checksums_equal": True,
        "backend": "gloo",
        "torch": "1.13.1",
        "cuda": None,
        **changes,
    }


def lines(*records: dict[str, Any], tagged: bool = True) -> str:
    text = [("ROCEMESH " + json.dumps(entry) + "\n") for entry in records]
    return "".join(tag(entry["rank"], line) for entry, line in zip(records, text)) if tagged else "".join(text)


def run(**changes: Any) -> str:
    return lines(*(record(rank, **changes) for rank in range(WORLD)))


@pytest.mark.parametrize("tagged", [True, False])
def test_a_sound_run_is_good_and_keeps_every_field(tagged: bool) -> None:
    records = [record(rank, something_new=[1, 2]) for rank in range(WORLD)]
    result = torch_ranks.read(lines(*reversed(records), tagged=tagged), expected_ranks=WORLD)
    assert result.good
    data = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert (data["total"], data["sum_of_ranks"], data["world"], data["agreement"]["ok"]) == (160.0, 160.0, 4, True)
    assert data["hosts"] == ["gpu01", "gpu02", "gpu03", "gpu04"]
    assert data["per_rank"] == records


def test_the_file_that_the_training_writes_is_read() -> None:
    records = [record(rank) for rank in range(WORLD)]
    text = json.dumps({"format": 1, "ranks": records}, indent=2, sort_keys=True) + "\n"
    result = torch_ranks.read([text[:100], text[100:]], expected_ranks=WORLD)
    assert result.good
    assert result.as_dict()["per_rank"] == records


def test_text_form_of_the_first_measurements() -> None:
    result = torch_ranks.read(log("torch_text_form.txt"))
    assert codes(result) == ["several_runs"]
    assert [(one.world, len(one.ranks), one.agree) for one in result.parts] == [(4, 4, True)] * 3
    assert [one.sum_of_ranks for one in result.parts] == pytest.approx([3.53, 9.23, 22.0])
    assert result.parts[2].ranks[1]["step"] == {"mean_ms": 729.0, "min_ms": 638.0, "max_ms": 835.0}
    assert result.parts[2].ranks[1]["allreduce_ms"] == 139.0
    assert result.as_dict()["total"] is None  # no figure covers three runs


@pytest.mark.parametrize(
    ("text", "ranks", "code"),
    [
        (run(), 8, "missing_ranks"),
        (run(), 2, "worlds_differ"),
        (run() + run(), 4, "several_runs"),
        (lines(*(record(rank) for rank in (0, 1, 3))), 4, "missing_ranks"),
        ("".join(tag(rank, lines(record(0, world=1), tagged=False)) for rank in range(4)), 4, "not_one_job"),
        (run().replace('{"format": 1, "rank": 1,', '{"format": 1, "rank": 0,'), 4, "rank_conflict"),
        (run(total_images_per_second=200.0), 4, "inconsistent_total"),
        (run(total_images_per_second=None), 4, "missing_total"),
        (run().replace('per_second": 160.0', 'per_second": 170.0', 1), 4, "totals_disagree"),
        (run(images_per_second=41.0, total_images_per_second=164.0), 4, "record_contradicts_itself"),
        (run(step={"min_ms": 200.0, "mean_ms": 190.0, "max_ms": 210.0}), 4, "record_contradicts_itself"),
        (run(wall_seconds=-2.0), 4, "clock_backwards"),
        (run(step={"min_ms": -1.0, "mean_ms": 190.0, "max_ms": 210.0}), 4, "clock_backwards"),
        (run(busy_seconds=3.0), 4, "clock_backwards"),
        (run(loss=None, loss_finite=False), 4, "loss_not_finite"),
        (run().replace('"abc"', '"abd"', 1), 4, "weights_differ"),
        (run(checksums_equal=False), 4, "weights_differ"),
        (run().replace('"precision": "fp32"', '"precision": "bf16"', 1), 4, "ranks_differ"),
        (run() + tag(1, "ROCEMESH {broken\n"), 4, "unreadable_machine_line"),
        (run() + "ROCEMESH " + json.dumps(record(0))[:-30], 4, "unreadable_machine_line"),
        (run(images_per_second=float("nan")), 4, "unreadable_machine_line"),
        (run(images_per_second=10**400), 4, "unreadable_machine_line"),
        (run(world=True), 4, "unreadable_machine_line"),
        (run(images_per_second="40"), 4, "unreadable_machine_line"),
    ],
)  # fmt: skip
def test_problems_are_named(text: str, ranks: int, code: str) -> None:
    result = torch_ranks.read(text, ranks)
    assert code in codes(result)
    assert not result.good
    json.dumps(result.as_dict(), allow_nan=False)


def test_missing_ranks_are_listed_by_number() -> None:
    result = torch_ranks.read(lines(*(record(rank) for rank in (0, 2))), 4)
    (problem,) = [entry for entry in result.parts[0].problems.all() if entry.code == "missing_ranks"]
    assert "rank(s) 1, 3" in problem.message


def test_the_slowest_rank_is_named() -> None:
    speeds = [40.0, 39.9, 40.0, 39.8]
    text = lines(*(record(rank, images_per_second=speed, wall_seconds=80 / speed) for rank, speed in enumerate(speeds)))
    assert torch_ranks.read(text).as_dict()["runs"][0]["slowest_rank"] == 3


def test_two_records_glued_together_are_both_read() -> None:
    assert torch_ranks.read(lines(*(record(rank) for rank in range(WORLD)), tagged=False).replace("\n", "")).good


# ---------------------------------------------------------------------------------------------------------- Horovod


def test_horovod_page_of_sixteen_gpus() -> None:
    result = horovod.read(log("horovod_16_gpus.txt"), expected_ranks=16)
    assert result.good
    data = result.as_dict()["runs"][0]
    assert (data["ranks"], data["per_device"], data["plus_minus"], data["total"]) == (16, 234.8, 42.0, 3756.0)
    assert data["total_is_extrapolated"] is True
    assert data["images_per_second"]["mean"] == pytest.approx(234.74)
    assert len(data["iterations"]) == 10


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("3756.0", "3956.0", "inconsistent_total"),
        ("Iter #0: 199.4", "Iter #0: 999.4", "mean_disagrees"),
        ("Iter #0: 199.4", "Iter #0: nan", "not_finite"),
        ("on 16 GPU", "on 8 GPU", "missing_ranks"),
        ("Total img/sec", "Tot", "unfinished"),
        ("Iter #1:", "Iter #0:", "iterations_repeat"),
    ],
)
def test_problems_of_horovod_are_named(old: str, new: str, code: str) -> None:
    result = horovod.read(log("horovod_16_gpus.txt").replace(old, new), 16)
    assert code in codes(result)
    assert not result.good
    json.dumps(result.as_dict(), allow_nan=False)


def test_horovod_iteration_that_warms_up_is_left_out_where_the_mean_leaves_it_out() -> None:
    text = "".join(f"Iter #{n}: {speed} img/sec per GPU\n" for n, speed in enumerate((400.0, 1500.0, 1502.0)))
    closing = "Img/sec per GPU: {0} +-2.0\nTotal img/sec on 2 GPU(s): {1} +-4.0\n"
    result = horovod.read(text + closing.format(1501.0, 3002.0))
    assert result.good
    assert result.as_dict()["runs"][0]["images_per_second"]["count"] == 2
    assert codes(horovod.read(text + closing.format(1201.0, 2402.0))) == ["mean_disagrees"]


def test_bagua_prints_its_iterations_as_those_of_all_ranks() -> None:
    text = "".join(f"Iter #{n}: {speed} img/sec GPU\n" for n, speed in enumerate((400.0, 408.0)))
    closing = "Img/sec per GPU: 101.0 +-2.0\n"
    (run,) = (whole := horovod.read(f"{text}{closing}Total img/sec on 4 GPU(s): 404.0 +-8.0\n")).parts
    assert (whole.good, run.iterations) == (True, [(0, 100.0), (1, 102.0)])
    (run,) = (cut := horovod.read(text + closing)).parts
    assert (codes(cut), run.iterations) == (["unfinished"], [])
    wrong = horovod.read(f"{text}Img/sec per GPU: 404.0 +-8.0\nTotal img/sec on 4 GPU(s): 1616.0 +-32.0\n")
    assert codes(wrong) == ["mean_disagrees"]


def test_a_run_of_horovod_that_began_and_measured_nothing_is_one() -> None:
    head = "Model: resnet50\nBatch size: 32\nNumber of GPUs: 16\n"
    found = horovod.read(log("horovod_16_gpus.txt") + head)
    assert ([run.total for run in found.parts], codes(found)) == ([3756.0, None], ["unfinished"])
    assert codes(horovod.read(head)) == ["no_result"]


def test_horovod_says_cpu_as_well() -> None:
    text = log("horovod_16_gpus.txt").replace("GPU", "CPU")
    assert horovod.read(text).parts[0].device == "CPU"
