"""The guide's own steps over MPI: every host answers, every rank has a GPU, and its own training command is started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.results.nccl_shapes import Job

from .test_probe import HOSTS, play

# The guide's arguments, in its order.
TRAINING = ["--model", "resnet50", "--batch_size", "512", "--use_fp16", "--variable_update=horovod", "--xla=True"]
SCRIPT = "/workspace/benchmarks/scripts/tf_cnn_benchmarks/tf_cnn_benchmarks.py"
PRINTED = "".join(
    f"[1,{rank}]<stdout>:{line}\n"
    for rank in range(2)
    for line in (
        *("Batch size:  1024 global", "             512 per device", "Running warm up", "Done warm up"),
        *("Step\tImg/sec\ttotal_loss", "10\timages/sec: 2100.0 +/- 3.0 (jitter = 5.0)\t7.8"),
        "total images/sec: 4200.00",
    )
)


def names(*answers: str) -> dict[str, str]:
    return {"hostname": "".join(f"[1,{rank}]<stdout>:{name}\n" for rank, name in enumerate(answers))}


def gpus(*counts: int) -> dict[str, str]:
    lines = {
        rank: [f"HOST {HOSTS[rank]}", *(f"GPU {number}: NVIDIA A100 (UUID: GPU-{number})" for number in range(count))]
        for rank, count in enumerate(counts)
    }
    text = "".join(f"[1,{rank}]<stdout>:{line}\n" for rank, found in lines.items() for line in [*found, "CUDA DEVICE"])
    return {"nvidia-smi": text}


def test_all_hosts_that_answer_are_the_cluster(tmp_path: Path) -> None:
    outcome = play(tmp_path, Job(hosts=HOSTS), steps=("hostname",), answers=names("gpu02", "gpu01"))
    assert outcome.failed == ""


@pytest.mark.parametrize("answers", [("gpu01", "gpu01"), ("gpu01", "db03")], ids=["one-host-twice", "a-stranger"])
def test_a_host_that_does_not_answer_is_no_cluster(tmp_path: Path, answers: tuple[str, ...]) -> None:
    outcome = play(tmp_path, Job(hosts=HOSTS), steps=("hostname",), answers=names(*answers))
    said = " ".join(outcome.failed.split())
    assert "missing: ['gpu02']" in said
    assert "run_hosts" in said


def test_a_host_with_fewer_gpus_than_ranks_is_refused(tmp_path: Path) -> None:
    hosts = [{"name": name, "address": f"192.0.2.{at}", "slots": 2} for at, name in enumerate(HOSTS, start=11)]
    outcome = play(tmp_path, Job(hosts=HOSTS), steps=("gpu_check",), answers=gpus(2, 1), run_hosts=hosts)
    assert "gpu02: 1 GPU(s) in mpicont for 2 slot(s)" in " ".join(outcome.failed.split())
    assert "gpu01: 2 GPU(s)" not in outcome.failed


def test_a_host_with_more_gpus_than_ranks_is_refused_unless_asked_for(tmp_path: Path) -> None:
    answers = gpus(2, 1)
    outcome = play(tmp_path / "one", Job(hosts=HOSTS), steps=("gpu_check",), answers=answers)
    said = " ".join(outcome.failed.split())
    assert "gpu01: 1 rank(s) and 2 GPUs in mpicont" in said and "rocemesh_allow_idle_gpus" in said
    assert "gpu02: 1 rank(s)" not in said
    # As -e gives it: a text.
    asked = {"run_allow_idle_gpus": "true"}
    assert play(tmp_path / "two", Job(hosts=HOSTS), steps=("gpu_check",), answers=answers, **asked).failed == ""


def test_no_gpu_is_looked_for_where_none_is_expected(tmp_path: Path) -> None:
    outcome = play(tmp_path, Job(hosts=HOSTS), steps=("gpu_check",), run_expect_gpus="false")
    assert (outcome.failed, outcome.calls) == ("", [])


def stacks(*told: dict[str, Any]) -> dict[str, str]:
    lines = [f"[1,{rank}]<stdout>:ROCEMESH-STACK {json.dumps(one)}\n" for rank, one in enumerate(told)]
    return {"ROCEMESH-STACK": "".join(lines)}


CUDA = {"torch": "2.6.0", "cuda": "12.4", "nccl": "2.21.5", "available": True, "gpus": 1, "why": "", "error": ""}
CPU = {**CUDA, "torch": "1.13.1", "cuda": "", "nccl": "", "available": False, "gpus": 0}
USABLE = {"__run_gpus": {host: ["GPU 0"] for host in HOSTS}, "__run_cuda_hosts": 2}


def test_torch_for_cpus_beside_gpus_is_refused_before_any_training_unless_asked_for(tmp_path: Path) -> None:
    answers = stacks(CUDA, CPU)
    outcome = play(tmp_path / "one", Job(hosts=HOSTS), steps=("gpu_stack", "train"), answers=answers, **USABLE)
    said = " ".join(outcome.failed.split())
    assert "gpu02: 1 GPU(s), and torch 1.13.1 of the image" in said
    assert "gpu01: 1 GPU(s)" not in said
    assert len(outcome.calls) == 1, "the question alone, no training"
    asked = {"run_allow_cpu": "true", **USABLE}
    assert play(tmp_path / "two", Job(hosts=HOSTS), steps=("gpu_stack",), answers=answers, **asked).failed == ""


def test_without_gpus_torch_is_not_asked(tmp_path: Path) -> None:
    outcome = play(tmp_path, Job(hosts=HOSTS), steps=("gpu_stack",), __run_cuda_hosts=0, __run_gpus={})
    assert (outcome.failed, outcome.calls) == ("", [])


def test_the_training_command_is_the_guides(tmp_path: Path) -> None:
    outcome = play(
        tmp_path,
        Job(hosts=HOSTS),
        answers={"tf_cnn_benchmarks.py": PRINTED},
        run_workload="tf_cnn_benchmarks",
        __run_cuda_hosts=0,
    )
    assert outcome.failed == ""
    (call,) = outcome.calls
    at = call.index(SCRIPT)
    assert call[at - 1] == "python3"
    assert call[at + 1 :] == TRAINING
    assert call[call.index("-np") + 1] == "2"
    assert outcome.environment(0) == {"NCCL_IB_DISABLE": "0", "NCCL_DEBUG": "INFO"}
    assert "total images/sec: 4200.00" in (outcome.logs / "train.log").read_text()
