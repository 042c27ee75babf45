"""What a run with nothing to change costs against a shell script of the same checks; where a first run spends its time.

checks   site.yml without its jobs and report, the second time, against same_checks.sh: the same reads by ssh and curl
jobs     site.yml as it is, against the script with the same jobs by docker and mpirun. It writes no report

The script changes nothing, and says no more than the first thing that is wrong. Who goes first takes turns. `wall`
seconds; `processor`: what the machine's processors worked meanwhile, with nodes and devices, which all run here.
Writes site.json. ROCEMESH_BENCH_ROUNDS (5).
"""

from __future__ import annotations

import os
import subprocess

import pytest

from tests import site_run
from tests.benchmarks.record import Record, Run, metered, ratio, turns

ROUNDS = int(os.environ.get("ROCEMESH_BENCH_ROUNDS", "5"))
CASES = {"checks": (("--skip-tags", "run,report"), ()), "jobs": (site_run.SHORT, ("4", "1", "1"))}


def script(*jobs: str) -> None:
    """``jobs``: batches, those that warm up, batch size."""
    done = subprocess.run(
        ["tests/benchmarks/same_checks.sh", str(site_run.LAB), *jobs],
        cwd=site_run.ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def site(*options: str) -> None:
    run = site_run.play("site.yml", *options)
    assert run.rc == 0 and run.changed == {}, run.tail()


@pytest.mark.usefixtures("twin")
def test_nothing_to_change_against_a_shell_script() -> None:
    record = Record("site", simulated=True, compared=__doc__ or "")
    site_run.reset()
    first = site_run.play("site.yml", *site_run.ALLOW, *site_run.SHORT)
    assert first.rc == 0, first.tail()
    record.content["first_run"] = {"seconds": first.seconds, "stages": site_run.summary()["stages"]}
    for case, (options, jobs) in CASES.items():
        runs: dict[str, list[Run]] = {}
        for turn in range(ROUNDS):
            for side in turns(("site", "script"), turn):
                with metered() as run:
                    site(*options) if side == "site" else script(*jobs)
                runs.setdefault(side, []).append(run)
        ratios = {f"script_vs_site_{case}{tail}": ratio(runs["script"], runs["site"], what)
                  for what, tail in (("wall", ""), ("processor", "_processor"))}  # fmt: skip
        record.add(f"nothing_to_change_{case}", runs, ratios)
