"""GPUs that a real Slurm gives to the hand-off: terminals stand in for them, and no program uses one."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path
from typing import Iterator

import pytest

from .playing import hand_off
from .slurm import HOSTS, PARTITIONS, Slurm, cluster, missing

GPUS = 2
TERMINALS = [f"/dev/tty{number}" for number in range(GPUS)]
pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=f"no {', '.join(missing())}: lab/bootstrap.sh --dev installs them"),
    pytest.mark.skipif(not all(map(os.path.exists, TERMINALS)), reason=f"no {' '.join(TERMINALS)}"),
]
SEEN = 'echo "$SLURM_PROCID $SLURM_GPUS_ON_NODE $SLURM_JOB_GPUS $CUDA_VISIBLE_DEVICES"'


@dataclasses.dataclass(frozen=True)
class Written:
    two: Path
    three: Path


@pytest.fixture(scope="module", name="written")
def fixture_written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Hand-offs with two and with three ranks per node."""
    found = []
    for slots in (GPUS, GPUS + 1):
        folder = tmp_path_factory.mktemp("handoff")
        hosts = [{"name": name, "address": f"127.0.0.{at}", "slots": slots} for at, name in enumerate(HOSTS, start=1)]
        outcome = hand_off(
            folder,
            run_hosts=hosts,
            run_network="127.0.0.0/8",
            run_rdma_facts={},
            run_handoff_launchers=["slurm"],
            run_handoff_command=["sh", "-c", SEEN],
            run_handoff_options={"pyxis": False, "gpus": True, "partition": PARTITIONS[0]},
        )
        assert outcome.rc == 0, outcome.output
        found.append(outcome.folder)
    return Written(*found)


@pytest.fixture(scope="module", name="slurm")
def fixture_slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with cluster(tmp_path_factory.mktemp("slurm"), GPUS) as started:
        yield started


def submit(slurm: Slurm, folder: Path) -> subprocess.CompletedProcess[str]:
    return slurm.run(str(folder / "submit.sh"), "--parsable", cwd=folder)


def test_each_rank_sees_all_gpus_of_its_node(slurm: Slurm, written: Written) -> None:
    """As under mpirun: which of them it takes follows from its local rank."""
    done = submit(slurm, written.two)
    assert done.returncode == 0, done.stderr
    job = done.stdout.strip()
    assert slurm.wait(job) == "COMPLETED", slurm.log()
    lines = (written.two / "results" / job / "train.log").read_text().splitlines()
    assert sorted(lines) == [f"{rank}: {rank} {GPUS} 0,1 0,1" for rank in range(2 * GPUS)]


def test_node_with_fewer_gpus_than_ranks_is_refused(slurm: Slurm, written: Written) -> None:
    done = submit(slurm, written.three)
    assert (done.returncode, done.stdout) == (65, "")
    assert f"Slurm knows {GPUS} GPU(s) of node {HOSTS[0]}, and the job asks for {GPUS + 1}" in done.stderr
    # Without the look before, Slurm itself refuses, and names no node.
    done = slurm.run("sbatch", "resnet50.sbatch", cwd=written.three)
    assert "Requested node configuration" in done.stderr


def test_slurm_that_gives_steps_no_gpus_is_refused(written: Written, tmp_path: Path) -> None:
    """With select/linear a job gets its GPUs and each step in it ends with an invalid specification (22.05)."""
    with cluster(tmp_path) as plain:
        done = submit(plain, written.two)
    assert done.returncode == 65
    assert "select/cons_tres" in done.stderr
