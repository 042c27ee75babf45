"""Whoever started the ranks: they know their number, or they refuse to train alone."""

from __future__ import annotations

from types import ModuleType
from typing import Callable

import pytest

Load = Callable[[str, str], ModuleType]
SLURM_STEP = {"SLURM_PROCID": "3", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "1"}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({}, (0, 1, 0)),
        (OPEN_MPI, (2, 4, 0)),
        (TORCHRUN, (1, 2, 1)),
        (SLURM_STEP, (3, 4, 1)),
        ({**SLURM_STEP, "PMIX_RANK": "3"}, (3, 4, 1)),
        ({"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0"}, (1, 2, 0)),
        ({**SLURM_STEP, **TORCHRUN}, (1, 2, 1)),
        ({**SLURM_STEP, **OPEN_MPI}, (2, 4, 0)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_LOCALID": "0"}, (0, 1, 0)),
        ({"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4"}, (0, 1, 0)),
    ],
    ids=["alone", "open-mpi", "torchrun", "srun", "srun-pmix", "hydra", "torchrun-under-srun", "mpirun-under-srun",
         "batch-of-one", "shell-of-salloc"],
)  # fmt: skip
def test_every_launcher_gives_a_rank_its_place(load: Load, environment: dict[str, str], place: tuple[int, ...]) -> None:
    found = load("resnet50", "ranks").place(environment)
    assert (found.rank, found.world, found.local_rank) == place


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"PMIX_RANK": "3"}, "each would train alone"),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_LOCALID": "0"}, "Put srun before it"),
        ({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4"}, "SLURM_LOCALID is not"),
        ({"RANK": "1"}, "WORLD_SIZE, LOCAL_RANK is not"),
        ({**SLURM_STEP, "SLURM_PROCID": "4"}, "SLURM_PROCID=4 does not fit SLURM_STEP_NUM_TASKS=4"),
    ],
    ids=["pmix-alone", "batch-script-of-four", "srun-cut", "torchrun-cut", "rank-beyond-the-world"],
)
def test_a_launchers_mark_without_a_world_is_refused(load: Load, environment: dict[str, str], words: str) -> None:
    """Else every task would train alone and each call itself rank 0."""
    with pytest.raises(SystemExit, match=words):
        load("resnet50", "ranks").place(environment)
