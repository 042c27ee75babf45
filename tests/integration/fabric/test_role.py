# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role in check mode: the plan and what it takes are printed, and nothing is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.unit.fabric.test_check import site

ROOT = Path(__file__).resolve().parents[3]


def test_check_mode_prints_the_plan_and_starts_nothing(tmp_path: Path) -> None:
    what = site(16, 8)
    play = [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "tasks": [
                {
                    "ansible.builtin.include_role": {"name": "rocemesh.multinode.fabric"},
                    "vars": {
                        "fabric_hosts": what["hosts"],
                        "fabric_readings": what["readings"],
                        "fabric_networks": what["options"]["networks"],
                        "fabric_dir": str(tmp_path / "reports"),
                    },
                }
            ],
        }
    ]
    (tmp_path / "play.json").write_text(json.dumps(play))
    result = subprocess.run(
        [
            str(Path(sys.executable).parent / "ansible-playbook"),
            "-i",
            "localhost,",
            "-c",
            "local",
            "--check",
            "play.json",
        ],
        cwd=tmp_path,
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": f"{ROOT / 'collections'}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Check mode: nothing is started. Form quick: 12 round(s)" in result.stdout
    assert "768 measurement(s)" in result.stdout
    assert "at most 1 min 0 s" in result.stdout
    assert not (tmp_path / "reports").exists()
