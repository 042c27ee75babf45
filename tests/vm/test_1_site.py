"""The guide on real guests, from factory state to the mesh, and the fabric check through it.

First of these tests: the others find the site that it leaves.
"""

from __future__ import annotations

import json

from lab import config
from tests import site_run
from tests.site_run import ALLOW

from .guests import BOOT, NIC, bit, module, on_both, sh

Two = tuple[config.Node, config.Node]
# The image has no torch, and an emulated processor no time for it.
NO_JOB = ("--skip-tags", "run,report")
# Nothing runs there yet.
AT_ONCE = ("-e", "rocemesh_max_unavailable=100%")


def test_card_as_delivered_shows_no_ats_nor_does_a_setting_that_waits_for_the_host(two: Two) -> None:
    assert [bit(node) for node in two] == ["", ""], "after these tests: make lab-down"
    states = dict(zip(two, ("queried", "enabled")))
    answers = on_both(two, lambda node: module("mlxconfig_ats", node, state=states[node]))
    assert [device["diagnosis"] for answer in answers for device in answer["devices"]] == ["disabled", "pending"]
    assert [bit(node) for node in two] == ["", ""]


def test_guide_from_factory_state_then_nothing_to_do(two: Two) -> None:
    boots = [sh(node, BOOT) for node in two]
    run = site_run.play("site.yml", *ALLOW, *NO_JOB, *AT_ONCE)
    assert run.rc == 0, run.tail()
    assert all(sh(node, BOOT) != boot for node, boot in zip(two, boots)), "a reboot of the host is one of its guests"
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
