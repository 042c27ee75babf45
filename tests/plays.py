"""ansible-playbook as tests start it: with a configuration and a home of its own, and the collection of this tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def ansible(
    folder: Path, *words: str, within: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """In ``folder``. ``within``: what ansible-playbook is started by."""
    (folder / "ansible.cfg").touch()
    return subprocess.run(
        [*within, str(Path(sys.executable).with_name("ansible-playbook")), *words],
        cwd=folder,
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
            "ANSIBLE_HOME": str(folder / "home"),
            "ANSIBLE_NOCOLOR": "1",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=900,  # of a machine that runs three of these and a lab
    )
