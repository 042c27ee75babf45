"""Somebody else works on the host between any two requests of a window: what he has done stays done, and the run's last
word is true. ROCEMESH_MEANWHILE=all tries every request; `make test` tries a sample."""

from __future__ import annotations

import contextlib
import os
import random
import unittest.mock
from collections.abc import Iterator
from typing import Any

import pytest
from pyVmomi import SoapAdapter

from .conftest import Result, Vcenter
from .windows import WINDOW, Killer, admin, as_text, killed_run, marks, run_as, settle

# Requests of one window from its login to its last word; which they are differs a little from run to run.
REQUESTS = 100
SAMPLE, LEAST = 12, 8
WANTED = {"window": WINDOW, "adopted": {**WINDOW, "in_maintenance": "adopt", "power_on": ["gpu01", "gpu02"]}}
# What a technician does, and whether the host has to be in maintenance mode at the end on his account.
DEEDS = {"enter": True, "reenter": True, "exit": False, "reboot": False}
# Where in a run he can do it at all (nobody enters twice, or ends what nobody has entered); the sample is of these.
REACH = {
    ("window", "enter"): range(1, 31),
    ("window", "reenter"): range(1, 66),
    ("window", "exit"): range(50, 55),
    ("window", "reboot"): range(1, 76),
    ("adopted", "reenter"): range(1, 66),
    ("adopted", "exit"): range(1, 53),
    ("adopted", "reboot"): range(1, 61),
}
EVERYTHING = os.environ.get("ROCEMESH_MEANWHILE") == "all"


def points() -> list[tuple[str, str, int]]:
    if EVERYTHING:
        return [(kind, deed, number) for kind in WANTED for deed in DEEDS for number in range(1, REQUESTS + 1)]
    within = [(kind, deed, number) for (kind, deed), numbers in REACH.items() for number in numbers]
    return sorted(random.Random(4147).sample(within, SAMPLE))


@pytest.fixture(scope="module")
def idle() -> list[str]:
    """Points at which he had nothing to do."""
    return []


class Meanwhile:
    """Before the ``number``th request of the run somebody does his ``deed``; ``at``: which request that was."""

    def __init__(self, vcenter: Vcenter, deed: str, number: int) -> None:
        self.vcenter, self.deed, self.left, self.at = vcenter, deed, number, ""
        self.looked = False  # the run has asked by then who entered
        self.stopped: list[str] = []  # VMs that ran until then: his, from then on

    @contextlib.contextmanager
    def armed(self) -> Iterator[None]:
        real = SoapAdapter.SoapStubAdapter.InvokeMethod

        def invoke(stub: Any, target: Any, info: Any, *more: Any, **options: Any) -> Any:
            self.left -= 1
            self.looked = self.looked or (self.left > 0 and info.wsdlName == "QueryEvents")
            if self.left == 0:
                self.at = info.wsdlName
                self.do()
            return real(stub, target, info, *more, **options)

        with unittest.mock.patch.object(SoapAdapter.SoapStubAdapter, "InvokeMethod", invoke):
            yield

    def do(self) -> None:
        host = self.vcenter.host("esx01")
        if (self.deed == "exit" and not host["maintenance"]) or (self.deed == "enter" and host["maintenance"]):
            self.at = ""  # vCenter would refuse that
            return
        if self.deed in ("enter", "reenter"):  # nobody enters with VMs that run
            self.stopped = [vm for vm in ("gpu01", "gpu02") if self.vcenter.vm(vm)["power"] == "on"]
            for vm in self.stopped:
                admin(self.vcenter, "off", vm=vm)
        admin(self.vcenter, self.deed, host="esx01")


def untrue(vcenter: Vcenter, result: Result, his: list[str]) -> list[str]:
    """What the run says and is not so, or does not say."""
    host, calls, found = vcenter.host("esx01"), vcenter.calls(), []
    text = result.msg + result.warned
    if result.failed and "nothing was changed" in result.msg and calls:
        found.append(f"says that nothing was changed, after {calls}")
    for vm in ("gpu01", "gpu02"):
        if f"ShutdownGuest {vm}" in calls and vm not in his and vcenter.vm(vm)["power"] == "off" and vm not in text:
            found.append(f"{vm} is off by this run, and not named")
    if not result.failed and result["rebooted"] and not host["boots"]:
        found.append("claims a reboot")
    if "in_maintenance" in result.get("resume", {}) and not host["maintenance"]:
        found.append("advises adopt for a host that is not in maintenance mode")
    return found + [f"left behind: {mark}" for mark in marks(vcenter) if mark.startswith("rocemesh-lease")]


@pytest.mark.parametrize(("kind", "deed", "number"), points(), ids=str)
def test_what_somebody_else_does_meanwhile_stays_done(
    quick: Vcenter, idle: list[str], kind: str, deed: str, number: int
) -> None:
    quick.ask("POST", "/reset")
    if kind == "adopted":
        killed_run(quick, Killer("RebootHost_Task", "before"), **WINDOW)
    quick.ask("DELETE", "/calls")
    somebody = Meanwhile(quick, deed, number)
    with somebody.armed():
        result = run_as(quick, "first", **WANTED[kind])
    settle(quick)
    if not somebody.at:
        idle.append(f"{kind} {deed} {number}")
        return  # the run was over by then, or there was nothing for him to do
    host = quick.host("esx01")
    seen = f"{deed} before {somebody.at}: {result.msg or as_text(result)}"
    # At the very request nobody can know: vCenter carries out what was asked for. And whoever says "adopt" means the
    # maintenance mode that the run finds.
    found = kind == "adopted" and not somebody.looked
    if DEEDS[deed] and not found and somebody.at != "ExitMaintenanceMode_Task":
        assert host["maintenance"], seen
        assert "in_maintenance" not in result.get("resume", {}), seen
    assert untrue(quick, result, somebody.stopped) == [], seen
    assert host["boots"] <= (2 if deed == "reboot" else 1), seen


def test_most_of_the_sample_met_a_run(idle: list[str]) -> None:
    """Also where the sample is divided between processes: none of them may have met more idle points than all may."""
    assert EVERYTHING or len(idle) <= SAMPLE - LEAST, idle
