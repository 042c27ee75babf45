"""What the training script prints must be what tf_cnn_benchmarks prints, and what this collection reads."""

from __future__ import annotations

import json
import math
import pathlib
import statistics
from types import ModuleType
from typing import Any, Callable

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import torch_ranks
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.tf_cnn import read
from hypothesis import given
from hypothesis import strategies as st

Load = Callable[[str, str], ModuleType]


@pytest.fixture
def output(load: Load) -> ModuleType:
    return load("resnet50", "output")


@pytest.fixture
def ranks(load: Load) -> ModuleType:
    return load("resnet50", "ranks")


def test_step_line_is_the_guides_line(output: ModuleType) -> None:
    assert output.step_line(10, 512, [0.25, 0.25, 0.25], 7.6071) == (
        "10\timages/sec: 2048.0 +/- 0.0 (jitter = 0.0)\t7.607"
    )
    assert output.total_lines(8400.456) == ("-" * 64, "total images/sec: 8400.46", "-" * 64)
    assert output.HEADER == "Step\tImg/sec\ttotal_loss"


def test_speed_uncertainty_and_jitter_follow_the_published_formulas(output: ModuleType) -> None:
    seconds = [0.1, 0.2, 0.4, 0.1]
    speeds = [80.0, 40.0, 20.0, 80.0]
    mean = 8 / 0.2  # batch / mean step time, not the mean of the speeds
    uncertainty = statistics.pstdev(speeds) / 2
    jitter = 1.4826 * 20.0  # median 60, deviations 20 20 40 20
    assert output.speed_text(8, seconds) == f"images/sec: {mean:.1f} +/- {uncertainty:.1f} (jitter = {jitter:.1f})"


@given(
    st.lists(st.floats(0.01, 10), min_size=1, max_size=30),
    st.integers(1, 512),
    st.floats(allow_nan=True, allow_infinity=False, width=16),
)
def test_every_line_that_is_printed_can_be_read_back(seconds: list[float], batch: int, loss: float) -> None:
    import output  # noqa: PLC0415  # on the path since the fixture of the first test

    line = output.step_line(len(seconds), batch, seconds, loss)
    (step,) = read(line + "\n").steps
    assert step.step == len(seconds)
    assert step.images_per_second == pytest.approx(batch / statistics.fmean(seconds), abs=0.051)
    assert step.loss is not None
    assert math.isnan(step.loss) if math.isnan(loss) else step.loss == pytest.approx(loss, abs=0.00051)


def test_machine_line_is_one_short_line_that_can_be_read_back(output: ModuleType) -> None:
    line = output.machine_line({"rank": 0, "world": 1, "host": "gpu01", "images_per_second": 12.5})
    assert "\n" not in line
    (rank,) = read(line + "\ntotal images/sec: 12.50\n").ranks
    assert (rank.host, rank.images_per_second, rank.source) == ("gpu01", 12.5, "machine_line")
    with pytest.raises(ValueError, match="bytes"):
        output.machine_line({"host": "x" * 5000})
    with pytest.raises(ValueError, match="JSON compliant"):
        output.machine_line({"loss": math.nan})


def test_machine_lines_of_all_ranks_are_one_sound_run(output: ModuleType) -> None:
    seconds = [0.1, 0.2, 0.1]
    records = [
        {
            "rank": rank,
            "world": 2,
            "images_per_second": 60.0,
            "total_images_per_second": 120.0,
            "wall_seconds": 0.4,
            "batches": 3,
            "batch_size": 8,
            "step": output.step_summary(seconds),
        }
        for rank in range(2)
    ]
    result = torch_ranks.read("".join(output.machine_line(record) + "\n" for record in records), 2)
    assert result.good
    assert result.as_dict()["per_rank"] == records


def test_percentiles_come_from_measured_steps(output: ModuleType) -> None:
    summary = output.step_summary([index / 1000 for index in range(1, 21)])
    assert (summary["min_ms"], summary["p95_ms"], summary["max_ms"]) == (1.0, 19.0, 20.0)
    assert output.step_summary([0.5]) == dict.fromkeys(("mean_ms", "median_ms", "min_ms", "p95_ms", "max_ms"), 500.0)


def test_json_file_is_replaced_whole(output: ModuleType, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")
    with pytest.raises(ValueError, match="JSON compliant"):
        output.write_json(str(target), {"loss": math.inf})
    assert target.read_text() == "old"
    output.write_json(str(target), {"a": 1})
    assert json.loads(target.read_text()) == {"a": 1}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (0, 1, 0)),
        ({"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}, (5, 8, 1)),
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "3"}, (3, 4, 3)),
        (
            {
                "OMPI_COMM_WORLD_RANK": "1",
                "OMPI_COMM_WORLD_SIZE": "2",
                "OMPI_COMM_WORLD_LOCAL_RANK": "0",
                "RANK": "0",
                "WORLD_SIZE": "1",
                "LOCAL_RANK": "0",
            },
            (1, 2, 0),
        ),
    ],
)
def test_rank_comes_from_the_launcher(ranks: ModuleType, environment: dict[str, str], expected: Any) -> None:
    place = ranks.place(environment)
    assert (place.rank, place.world, place.local_rank) == expected


@pytest.mark.parametrize(
    "environment",
    [
        {"RANK": "0"},
        {"WORLD_SIZE": "4"},
        {"OMPI_COMM_WORLD_RANK": "4", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0"},
    ],
)
def test_half_an_environment_is_refused(ranks: ModuleType, environment: dict[str, str]) -> None:
    with pytest.raises(SystemExit):
        ranks.place(environment)


def test_the_master_is_never_guessed_among_several_ranks(ranks: ModuleType) -> None:
    assert ranks.master(None, {}, 1) == "127.0.0.1"
    assert ranks.master(None, {"MASTER_ADDR": "192.0.2.1"}, 4) == "192.0.2.1"
    assert ranks.master("192.0.2.2", {"MASTER_ADDR": "192.0.2.1"}, 4) == "192.0.2.2"
    with pytest.raises(SystemExit, match="--master_addr"):
        ranks.master(None, {}, 4)


def test_the_interface_is_found_by_network_and_never_docker0(ranks: ModuleType) -> None:
    addresses = [("lo", "127.0.0.1"), ("docker0", "172.17.0.1"), ("ens192", "192.0.2.11")]
    assert ranks.interface_in("192.0.2.0/24", addresses) == "ens192"
    with pytest.raises(SystemExit, match="docker0 172"):
        ranks.interface_in("198.51.100.0/24", addresses)


def test_the_loopback_interface_of_this_machine_is_found(ranks: ModuleType) -> None:
    assert ("lo", "127.0.0.1") in ranks.local_addresses()


def test_interface_with_ipv6_alone_is_found(
    ranks: ModuleType, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "if_inet6"
    table.write_text("fd10007800000000000000000000000b 02 40 00 80 ens192\n")
    monkeypatch.setattr(ranks, "INET6", str(table))
    assert ranks.interface_in("fd10:78::/64", ranks.local_addresses()) == "ens192"
    assert ranks.rendezvous("fd10:78::b", 29500) == "tcp://[fd10:78::b]:29500"
    assert ranks.rendezvous("192.0.2.1", 29500) == "tcp://192.0.2.1:29500"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        ((0.1, 0.1, 0.109), ""),
        (
            (0.1, 0.1, 0.15, 0.1),
            "rank 2 takes 150.0 ms to compute a step without any exchange, the median rank 100.0 ms",
        ),
        ((0.1,), ""),
    ],
)
def test_the_rank_that_computes_slowest_has_a_name(load: Load, seconds: tuple[float, ...], words: str) -> None:
    found = load("resnet50", "output").straggler_line(seconds)
    assert words in found and bool(words) == bool(found)


@pytest.mark.parametrize(
    ("gradients", "lines"), [("fp32", []), ("bf16", ["Gradients:   bf16"])], ids=["fp32", "bf16-a-line-of-its-own"]
)
def test_the_precision_in_the_head_is_the_precision_alone(load: Load, gradients: str, lines: list[str]) -> None:
    """The rate of one GPU is looked up by it."""
    program = load("resnet50", "resnet50")
    options = program.parse_arguments(["--precision", "bf16", "--gradients", gradients])
    head = program.banner(options, "nccl", 2, "2.13.0")
    assert [line for line in head if line.startswith("Gradients:")] == lines
    assert read("\n".join(head) + "\n").parameters["precision"] == "bf16"
