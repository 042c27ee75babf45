"""The training script and the MPI check for real, where this machine has what they need."""

from __future__ import annotations

import json
import pathlib
import shutil
import socket
import subprocess
import sys
from types import ModuleType
from typing import Callable

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.tf_cnn import read

from tests.unit.workloads import torch_processes
from tests.unit.workloads.torch_processes import PYTHON, QUIET, WORKLOADS, free_port, needs_torch

SCRIPT = WORKLOADS / "resnet50" / "resnet50.py"


def start(rank: int, world: int, port: int, *options: str) -> torch_processes.Rank:
    small = ("--batch_size", "2", "--image_size", "64", "--num_batches", "3")
    short = ("--num_warmup_batches", "1", "--display_every", "2")
    return torch_processes.start("resnet50/resnet50.py", rank, world, port, *small, *short, *options)


@needs_torch
def test_two_ranks_train_together_and_their_log_is_a_good_result(tmp_path: pathlib.Path) -> None:
    port = free_port()
    ranks = [start(rank, 2, port, "--json", str(tmp_path / "all.json")) for rank in range(2)]
    log = ""
    for rank, process in enumerate(ranks):
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        log += "".join(f"[1,{rank}]<stdout>:{line}\n" for line in out.splitlines())
    result = read(log, 2)
    assert result.good, result.problems
    first, second = (rank.machine for rank in result.ranks)
    assert first["checksum"] == second["checksum"]
    assert first["loss"] != second["loss"], "the ranks trained on the same images: equal weights would prove nothing"
    assert first["batches"] == 3
    assert first["exchange"] is None, "on CPUs nothing is measured that was not asked for"
    assert [step.step for step in result.steps if step.rank == 0] == [1, 2, 3]
    assert json.loads((tmp_path / "all.json").read_text())["ranks"] == [dict(first), dict(second)]


@needs_torch
def test_a_rank_alone_needs_no_port() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        alone = start(0, 1, other.getsockname()[1])
        _out, err = alone.communicate(timeout=240)
    assert alone.returncode == 0, err


@needs_torch
def test_an_all_reduce_alone_is_measured_where_it_is_asked_for() -> None:
    port = free_port()
    ranks = [start(rank, 2, port, "--exchange_mb", "1") for rank in range(2)]
    for process in ranks:
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        (line,) = [line for line in out.splitlines() if line.startswith("ROCEMESH ")]
        record = json.loads(line.partition(" ")[2])
        assert record["exchange"]["bytes"] == 1 << 20 and record["exchange"]["times"] == 7
        assert record["exchange"]["seconds"] > 0 and record["copy_gb_s"] is None


@needs_torch
def test_this_is_resnet50() -> None:
    text = (
        "import sys; sys.path.insert(0, sys.argv[1]); import model; net = model.resnet50(); "
        "print(sum(p.numel() for p in net.parameters()), len(list(net.parameters())), "
        "sum(type(m).__name__ == 'BatchNorm2d' for m in net.modules()))"
    )
    done = subprocess.run(
        [PYTHON, "-c", text, str(SCRIPT.parent)], env=QUIET, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["25557032", "161", "53"]


@needs_torch
def test_what_a_cpu_cannot_do_is_refused_before_the_ranks_meet() -> None:
    process = start(0, 2, free_port(), "--precision", "fp16", "--backend", "gloo")
    _out, err = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "needs a GPU" in err


@needs_torch
def test_the_order_of_the_axes_changes_and_the_warm_up_is_reported_apart() -> None:
    process = start(0, 1, free_port(), "--memory_format", "channels_last", "--gradients", "fp16")
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    (machine,) = [json.loads(line[9:]) for line in out.splitlines() if line.startswith("ROCEMESH ")]
    assert machine["memory_format"] == "channels_last"
    assert (machine["compiled"], machine["cuda_graph"]) == (False, False)
    assert (machine["gradients"], machine["tf32"]) == ("fp16", None)
    assert machine["alone_ms"] > 0, "computing alone is measured apart from the exchange"
    assert machine["warmup_seconds"] > 0


@needs_torch
def test_a_torch_that_cannot_compile_says_so() -> None:
    # Any release of torch becomes an old one without its `compile`.
    program = (
        "import os, runpy, sys, torch; vars(torch).pop('compile', None); del sys.argv[0]; "
        "sys.path.insert(0, os.path.dirname(sys.argv[0])); runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    done = subprocess.run(
        [PYTHON, "-c", program, str(SCRIPT), "--compile"],
        env={**QUIET, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_LOCAL_RANK": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode != 0
    assert "--compile needs torch 2.0 or later" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--batch_size", "0"], "at least 1"),
        (["--image_size", "16"], "at least 32"),
        (["--precision", "fp8"], "invalid choice"),
        (["--batch", "4"], "unrecognized"),
        (["--cuda_graph", "--num_warmup_batches", "10"], "11 or more"),
        (["--cuda_graph", "--num_warmup_batches", "11", "--precision", "fp16"], "use bf16"),
    ],
)
def test_wrong_options_are_told_without_torch(options: list[str], words: str) -> None:
    done = subprocess.run([sys.executable, SCRIPT, *options], env=QUIET, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no Open MPI here")
@pytest.mark.parametrize(("told", "status"), [("3", 0), ("4", 4)])
def test_mpi_adds_up_over_all_ranks_and_a_missing_rank_is_an_error(told: str, status: int) -> None:
    done = subprocess.run(
        [
            *("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "3", "-mca", "btl", "self,tcp"),
            *("-mca", "btl_tcp_if_include", "lo", "-mca", "oob_tcp_if_include", "lo"),
            *(sys.executable, str(WORKLOADS / "checks" / "allreduce.py"), told, "1000"),
        ],
        env=QUIET,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    records = [
        json.loads(line.partition(" ")[2]) for line in done.stdout.splitlines() if line.startswith("ROCEMESH-ALLREDUCE")
    ]
    assert done.returncode == status, done.stderr
    assert sorted(record["rank"] for record in records) == [0, 1, 2]
    assert {record["sum"] for record in records} == {6.0}
    assert {record["ok"] for record in records} == {status == 0}


def test_a_missing_mpi_library_is_named(
    load: Callable[[str, str], ModuleType], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    allreduce = load("checks", "allreduce")
    monkeypatch.setattr(allreduce, "LIBRARY", "libmpi-that-is-not-there.so.40")
    assert allreduce.main([]) == allreduce.NO_LIBRARY
    assert "libmpi-that-is-not-there.so.40" in capsys.readouterr().err
