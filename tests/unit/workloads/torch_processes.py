"""Ranks of a program with torch on this machine, as mpirun would start them."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess

import pytest

from tests.system_torch import TORCH_PYTHON as PYTHON
from tests.system_torch import can_import

WORKLOADS = pathlib.Path(__file__).parents[3] / "workloads"
QUIET = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
needs_torch = pytest.mark.skipif(
    not can_import(PYTHON, "torch"), reason=f"no torch in {PYTHON}; name another with ROCEMESH_TORCH_PYTHON"
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start(script: str, rank: int, world: int, port: int, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            *(PYTHON, str(WORKLOADS / script), "--threads", "1", "--interface_cidr", "127.0.0.0/8"),
            *("--master_addr", "127.0.0.1", "--master_port", str(port), "--init_timeout", "120", *options),
        ],
        env={
            **QUIET,
            "OMPI_COMM_WORLD_RANK": str(rank),
            "OMPI_COMM_WORLD_SIZE": str(world),
            "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
