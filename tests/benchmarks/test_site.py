# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run with nothing to change costs against a shell script of the same checks; where a first run spends its time.

Writes reports/bench/site.json: `ratios` (name to median ratio) and `runs` (seconds, alternating).
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time

import pytest

from tests import site_run

PAIRS = 3
BATCHES, WARMUP, SIZE = 4, 1, 1


def shell_script() -> float:
    begun = time.monotonic()
    done = subprocess.run(
        ["tests/benchmarks/same_checks.sh", str(site_run.LAB), str(BATCHES), str(WARMUP), str(SIZE)],
        cwd=site_run.ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return time.monotonic() - begun


def site() -> tuple[float, float]:
    """Wall seconds of the whole run, and of its stages without the stage `run` (training is the same work in both)."""
    run = site_run.play("site.yml", *site_run.SHORT)
    assert run.rc == 0, run.tail()
    assert run.changed == {}, run.tail()
    stages = site_run.summary()["stages"]
    return run.seconds, run.seconds - stages["run"]


@pytest.mark.usefixtures("twin")
def test_nothing_to_change_against_a_shell_script() -> None:
    site_run.reset()
    first = site_run.play("site.yml", *site_run.ALLOW, *site_run.SHORT)
    assert first.rc == 0, first.tail()
    first_stages = site_run.summary()["stages"]
    shell: list[float] = []
    whole: list[float] = []
    checks: list[float] = []
    for _pair in range(PAIRS):
        shell.append(shell_script())
        total, without_run = site()
        whole.append(total)
        checks.append(without_run)
    target = site_run.ROOT / "reports" / "bench" / "site.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(
        json.dumps(
            {
                "simulated": True,
                "ratios": {
                    "site_yml_nothing_to_change_vs_shell_script": round(
                        statistics.median(a / b for a, b in zip(whole, shell, strict=True)), 3
                    ),
                },
                "runs": {"site_yml": whole, "shell_script": shell, "site_yml_without_stage_run": checks},
                "first_run": {"seconds": first.seconds, "stages": first_stages},
            },
            indent=1,
        )
        + "\n"
    )
    print(target.read_text())
