"""Which Python has torch: the one that `ROCEMESH_TORCH_PYTHON` names, else the system's, with Debian's package."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess

SYSTEM_PYTHON = shutil.which("python3", path="/usr/bin") or "/usr/bin/python3"
TORCH_PYTHON = os.environ.get("ROCEMESH_TORCH_PYTHON", SYSTEM_PYTHON)


@functools.cache
def has(python: str, *modules: str) -> bool:
    """Installed there. What is installed and cannot be imported fails the tests that need it."""
    program = "import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, sys.argv[1:])))"
    try:
        return subprocess.run([python, "-c", program, *modules], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def has_torch() -> bool:
    """The system's Python, which ranks run with."""
    return has(SYSTEM_PYTHON, "torch")
