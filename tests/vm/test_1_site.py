"""The guide on real guests, from factory state to the mesh, and the fabric check through it.

First of these tests: the others find the site that it leaves.
"""

from __future__ import annotations

import json

from lab import config
from tests import site_run
from tests.site_run import ALLOW

from .guests import NIC, bit

Two = tuple[config.Node, config.Node]
# The image has no torch, and an emulated processor no time for it.
NO_JOB = ("--skip-tags", "run,report")


def test_guide_from_factory_state_then_nothing_to_do(two: Two) -> None:
    run = site_run.play("site.yml", *ALLOW, *NO_JOB)
    assert run.rc == 0, run.tail()
    assert [bit(node) for node in two] == ["+", "+"], f"ATSCtl of {NIC}"
    again = site_run.play("site.yml", *ALLOW, *NO_JOB)
    assert again.rc == 0 and again.changed == {}, again.tail()


def test_fabric_check_through_mpirun_and_containers_over_rdma_of_the_kernels(two: Two) -> None:
    run = site_run.play("fabric.yml")
    assert run.rc == 0, run.tail()
    newest = max((site_run.ROOT / "reports/fabric").glob("*/fabric.json"))
    report = json.loads(newest.read_text())
    assert report["ok"] and report["complete"] and not report["simulated"]
    assert report["measured"]["ib_write_bw"]["medians"]["rail 0"] > 0
