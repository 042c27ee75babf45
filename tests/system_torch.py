# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the system's Python, which ranks run with, has torch. Asked once per process: the import takes seconds."""

from __future__ import annotations

import functools
import shutil
import subprocess


@functools.cache
def has_torch() -> bool:
    python = shutil.which("python3", path="/usr/bin")
    if python is None:
        return False
    return subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0
