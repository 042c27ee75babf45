"""Ranks of a program with torch on this machine, as mpirun would start them."""

from __future__ import annotations

import atexit
import functools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

import pytest

from tests.system_torch import TORCH_PYTHON as PYTHON
from tests.system_torch import has

WORKLOADS = pathlib.Path(__file__).parents[3] / "workloads"
QUIET = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
needs_torch = pytest.mark.skipif(
    not has(PYTHON, "torch"), reason=f"no torch in {PYTHON}; name another with ROCEMESH_TORCH_PYTHON"
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@functools.cache
def _server() -> str:
    """The socket of the process that the ranks of this session are forks of."""
    folder = tempfile.mkdtemp(prefix="rocemesh-torch-")
    atexit.register(shutil.rmtree, folder)
    program = pathlib.Path(__file__).with_name("torch_forks.py")
    process = subprocess.Popen(
        [PYTHON, str(program), f"{folder}/socket"], env=QUIET, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    atexit.register(process.wait)
    atexit.register(process.kill)
    assert process.stdout and process.stdout.readline() == b"ready\n"
    return f"{folder}/socket"


class Rank:
    """A rank that runs; `communicate` and `returncode` are those of a Popen."""

    returncode: int | None = None

    def __init__(self, words: list[str], environment: dict[str, str]) -> None:
        self._said = [tempfile.TemporaryFile("w+", encoding="utf-8") for _stream in range(2)]  # noqa: SIM115
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(_server())
        request = json.dumps({"words": words, "environment": environment}).encode()
        socket.send_fds(self._connection, [request], [stream.fileno() for stream in self._said])

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Standard output and standard error, when it has ended. Raises TimeoutError."""
        self._connection.settimeout(timeout)
        with self._connection:
            self.returncode = int(self._connection.recv(16))
        for stream in self._said:
            stream.seek(0)
        out, err = (stream.read() for stream in self._said)
        return out, err


def start(script: str, rank: int, world: int, port: int, *options: str) -> Rank:
    return Rank(
        [
            *(str(WORKLOADS / script), "--threads", "1", "--interface_cidr", "127.0.0.0/8"),
            *("--master_addr", "127.0.0.1", "--master_port", str(port), "--init_timeout", "120", *options),
        ],
        {
            **QUIET,
            "OMPI_COMM_WORLD_RANK": str(rank),
            "OMPI_COMM_WORLD_SIZE": str(world),
            "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
        },
    )
