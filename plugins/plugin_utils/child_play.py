"""ansible-playbook once more, beside this run: it asks nothing, and writes into neither journal nor log of this run."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Sequence

from .planned import JOURNAL


def play(words: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """``words``: the program and its arguments, as in sys.argv."""
    return subprocess.run(
        [sys.executable, *words],
        env={
            **{key: value for key, value in os.environ.items() if key != JOURNAL},
            "ANSIBLE_LOG_PATH": "",
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def failures(said: str) -> list[str]:
    """Lines of the output that say what failed."""
    return [line for line in said.splitlines() if line.startswith(("fatal:", "failed:"))]
