"""Which Python has torch: the one that `ROCEMESH_TORCH_PYTHON` names, else the system's, with Debian's package.

Asked once per process: the import takes seconds.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess

SYSTEM_PYTHON = shutil.which("python3", path="/usr/bin") or "/usr/bin/python3"
TORCH_PYTHON = os.environ.get("ROCEMESH_TORCH_PYTHON", SYSTEM_PYTHON)


@functools.cache
def can_import(python: str, modules: str) -> bool:
    try:
        return subprocess.run([python, "-c", f"import {modules}"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def has_torch() -> bool:
    """The system's Python, which ranks run with."""
    return can_import(SYSTEM_PYTHON, "torch")
