"""The benchmarks in the lab, on the site that the tests before have finished: four real ranks on four nodes (gloo)."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import shutil
import signal
from typing import Any

import pytest

from tests import site_run

NODES = ("gpu01", "gpu02", "gpu03", "gpu04")
KINDS = ("bandwidth", "scaling", "scoring", "training", "advice", "input")
pytestmark = pytest.mark.usefixtures("twin")


def outputs(identity: str) -> pathlib.Path:
    return site_run.ROOT / "reports" / identity / "benchmarks"


def document(identity: str, kind: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((outputs(identity) / f"{kind}.json").read_text())
    return value


def repeats(identity: str) -> dict[str, tuple[int, int]]:
    return {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in (outputs(identity) / "scaling").glob("*.json")
    }


def trained(identity: str) -> dict[str, int]:
    """Raw log of each repeat -> when it was written: the log of the runs, apart from the repeats' own files."""
    return {
        path.name: path.stat().st_mtime_ns for path in (site_run.ROOT / "reports" / "logs" / identity).glob("*_r*.log")
    }


IDENTITY = "test-benchmark"
# The least that shows each rule; several repeats and sizes are measured, and averaged, without the lab.
LEAST = (
    "-e",
    json.dumps(
        {
            "benchmark_id": IDENTITY,
            # The other paths and advice are options of the same programs: tests/unit/workloads has real ranks of them.
            "benchmark_bandwidth": {
                "networks": ["inception-bn"],
                "paths": ["cpu", "point_to_point"],
                "optimizer": "sgd",
                "iterations": 3,
                "warmup": 1,
            },
            "benchmark_advice": {"advice": ["none", "both"], "batch": 1},
            "benchmark_scaling": {"batches": {"fp32": 2}, "repeats": 1, "iterations": 4, "dropped": 1},
            "benchmark_scoring": {"models": ["resnet50"], "batches": [1], "iterations": 3, "warmup": 1},
            "benchmark_training": {"models": ["resnet50"], "batches": [1], "iterations": 2, "warmup": 1, "trace": True},
        }
    ),
)


@dataclasses.dataclass(frozen=True)
class Killed:
    """What was there when the measurement died."""

    repeats: dict[str, tuple[int, int]]
    logs: dict[str, int]
    unfinished: str
    scaling_written: bool


@pytest.fixture(scope="module")
def killed() -> Killed:
    """SIGKILL to a measurement in its third repeat, the first one on all four nodes: two are finished by then."""
    for folder in (outputs(IDENTITY).parent, site_run.ROOT / "reports" / "logs" / IDENTITY):
        shutil.rmtree(folder, ignore_errors=True)
    run = site_run.play(
        "benchmark.yml",
        *("--tags", "scaling", *LEAST),
        when=(lambda: len(repeats(IDENTITY)) == 2 and site_run.trains(NODES[1]), site_run.kill),
    )
    assert run.rc == -signal.SIGKILL, run.tail()
    return Killed(
        repeats(IDENTITY),
        trained(IDENTITY),
        (site_run.ROOT / "reports" / "unfinished-benchmark").read_text().strip(),
        (outputs(IDENTITY) / "scaling.json").exists(),
    )


@pytest.fixture(scope="module")
def everything(killed: Killed) -> site_run.Run:
    """The whole of it, which goes on where the killed one stopped."""
    run = site_run.play("benchmark.yml", *LEAST)
    assert run.rc == 0, run.tail()
    return run


@pytest.mark.parametrize("kind", KINDS)
def test_every_benchmark_leaves_its_file_from_four_ranks(everything: site_run.Run, kind: str) -> None:
    found = document(IDENTITY, kind)
    assert (found["kind"], found["simulated"], found["backend"]) == (kind, True, "gloo")
    assert found["problems"] == []
    assert found["results"]
    if kind != "scaling":
        alone = ("point_to_point", "both_ways")
        assert {result["ranks"] for result in found["results"] if result.get("path") not in alone} == {4}
    else:
        assert [result["nodes"] for result in found["results"]] == [1, 2, 4]
        assert {len(result["repeats"]) for result in found["results"]} == {1}


def test_every_sum_over_four_ranks_was_right(everything: site_run.Run) -> None:
    results = [result for result in document(IDENTITY, "bandwidth")["results"] if result["ranks"] == 4]
    assert {(result["network"], result["path"]) for result in results} == {("inception-bn", "cpu")}
    assert {result["optimizer"] for result in results} == {"sgd"}
    for result in results:
        assert 0 < result["error"] < 1e-6
        middle = sorted(result["seconds"])[len(result["seconds"]) // 2]
        assert result["gb_s"] == pytest.approx(result["size_bytes"] * 1.5 / middle / 1e9, rel=1e-4)


def test_each_node_sends_to_the_next_and_what_arrives_is_what_was_sent(everything: site_run.Run) -> None:
    pairs = [result for result in document(IDENTITY, "bandwidth")["results"] if result["ranks"] == 2]
    assert len(pairs) == 8 and {result["path"] for result in pairs} == {"point_to_point", "both_ways"}
    assert {result["network"] for result in pairs} == {
        f"{node} rank {rank} to {NODES[(rank + 1) % 4]} rank {(rank + 1) % 4}" for rank, node in enumerate(NODES)
    }
    assert {result["error"] for result in pairs} == {0}


def test_advice_is_compared_and_input_decoded(everything: site_run.Run) -> None:
    advice = document(IDENTITY, "advice")["results"]
    assert [row["advice"] for row in advice] == ["none", "both"]
    decoded = [row for row in document(IDENTITY, "input")["results"] if row["step"] == "decode"]
    assert [row["decoders"] for row in decoded] == [1, 2] and all(row["slowest_img_s"] > 0 for row in decoded)


def test_profile_and_published_keys_are_there(everything: site_run.Run) -> None:
    events = json.loads((outputs(IDENTITY) / "training-trace.json").read_text())
    assert len(events["traceEvents"] if isinstance(events, dict) else events) > 100
    assert document(IDENTITY, "training")["settings"]["operators"]["by_self_time"]
    table = json.loads((outputs(IDENTITY) / "fp32_bz2_result.json").read_text())["rn50"]
    assert list(table) == ["1n1g", "2n1g", "4n1g"]
    assert table["1n1g"]["speedup"] == 1.0


def test_what_needs_devices_says_why_it_was_left_out(everything: site_run.Run) -> None:
    text = " ".join(everything.out.split())
    assert "nccl-tests skipped: gpu01: no GPU in the container" in text
    assert re.search(r"perftest skipped: gpu01: no RDMA device", text)


def test_progress_shows_while_it_runs_and_nothing_is_changed(everything: site_run.Run) -> None:
    assert re.search(r"^\[gpu01\] \S+: .*\d+:\d\d", everything.out, re.M), everything.tail()
    assert everything.changed == {}
    assert "SIMULATED" in everything.out


def test_sigkill_in_the_middle_of_scaling_resumes_without_repeating_finished_repeats(
    killed: Killed, everything: site_run.Run
) -> None:
    assert (len(killed.repeats), killed.unfinished, killed.scaling_written) == (2, IDENTITY, False), killed
    after, logs = repeats(IDENTITY), trained(IDENTITY)
    assert {name: after[name] for name in killed.repeats} == killed.repeats, "a finished repeat was written again"
    assert len(killed.logs) == 2
    assert {name: logs[name] for name in killed.logs} == killed.logs, "a finished repeat ran again"
    assert len(after) == 3
    assert f"{IDENTITY}: 2 of 3 repeats done, 1 to do" in " ".join(everything.out.split())
    assert {len(result["repeats"]) for result in document(IDENTITY, "scaling")["results"]} == {1}
    assert not (site_run.ROOT / "reports" / "unfinished-benchmark").exists()
    for node in NODES:
        assert not site_run.trains(node), f"{node}: ranks are left"
