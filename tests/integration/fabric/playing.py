"""The role, played on this machine; nothing is started there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


def entry(tasks_from: str, what: dict[str, Any], **variables: Any) -> dict[str, Any]:
    """The role, from one of its entry points."""
    return {
        "ansible.builtin.include_role": {"name": "rocemesh.multinode.fabric", "tasks_from": tasks_from},
        "vars": {
            "fabric_hosts": what["hosts"],
            "fabric_readings": what["readings"],
            "fabric_switches": what["switches"],
            "fabric_networks": what["options"]["networks"],
            **variables,
        },
    }


def play(
    folder: Path,
    *words: str,
    entries: list[dict[str, Any]],
    collections: Path = ROOT / "collections",
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    shown = {"ansible.builtin.debug": {"msg": "outcome: {{ fabric_outcome | default('none') }}"}}
    tasks = [task for each in entries for task in (each, shown)]
    (folder / "play.json").write_text(
        json.dumps(
            [
                {
                    "hosts": "localhost",
                    "gather_facts": False,
                    "vars": {"fabric_dir": str(folder / "reports"), "ansible_python_interpreter": sys.executable},
                    "tasks": tasks,
                }
            ]
        )
    )
    program = Path(sys.executable).parent / "ansible-playbook"
    return subprocess.run(
        [str(program), "-i", "localhost,", "-c", "local", *words, "play.json"],
        cwd=folder,
        env={
            **os.environ,
            **(env or {}),
            "ANSIBLE_COLLECTIONS_PATH": f"{collections}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
