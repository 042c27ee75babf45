"""What a run with nothing to change costs against a shell script of the same checks; where a first run spends its time.

site     site.yml, the second time
script   same_checks.sh: the same reads and the same jobs by ssh, curl, docker and mpirun. It changes nothing and
         writes no report

Who goes first takes turns. Writes site.json.
"""

from __future__ import annotations

import subprocess
import time

import pytest

from tests import site_run
from tests.benchmarks.record import Record, Run, ratio, turns

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
    runs: dict[str, list[Run]] = {}
    for turn in range(PAIRS):
        for side in turns(("site", "script"), turn):
            if side == "site":
                seconds, without_run = site()
                runs.setdefault(side, []).append({"seconds": seconds, "seconds_without_stage_run": without_run})
            else:
                runs.setdefault(side, []).append({"seconds": shell_script()})
    record = Record("site", simulated=True, compared=__doc__ or "")
    record.content["first_run"] = {"seconds": first.seconds, "stages": first_stages}
    name = "site_again_vs_script_of_the_same_checks"
    record.add("nothing_to_change", runs, {name: ratio(runs["script"], runs["site"], "seconds")})
