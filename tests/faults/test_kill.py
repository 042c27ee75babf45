"""ansible-playbook is killed with SIGKILL at ten moments across the layers; running it again finishes each time.

A moment is something that a device has received or done (triggers.py). Each kill is asserted by itself: the run died of
it, what it was killed at had begun and the site was not finished, and no report of it was left.

`FAULTS_FROM=factory` starts every kill from factory state and finishes after each (ten more full runs); without it the
kills follow one another on one twin, each in the run that has to recover from the one before: it gets further than the
one before did, or its own moment would never come. The registry keeps the image between the kills, but before the one
in the middle of its build.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from lab import config
from tests import site_run
from tests.faults import triggers
from tests.site_run import ALLOW, SHORT

KILL_AT = {
    "switch_being_configured": triggers.switch_took_a_line,
    "kernel_setting_being_configured": triggers.a_host_took_its_kernel_setting,
    "nic_being_set": triggers.a_card_stored_ats,
    "vms_getting_their_keys": triggers.a_vm_took_its_keys,
    "host_rebooting": triggers.a_host_was_told_to_reboot,
    "guests_coming_back": triggers.a_host_is_back_and_its_guests_are_not,
    "image_being_built": triggers.an_image_is_being_built,
    "image_being_pulled": triggers.a_worker_fetches_layers,
    "mesh_being_written": triggers.a_node_has_its_keys,
    "training": triggers.a_worker_trains,
}
FACTORY_EACH = os.environ.get("FAULTS_FROM") == "factory"


def containers(node: str) -> list[tuple[str, str]] | None:
    """(name, state) of each, None where no engine answers: a kill leaves nodes that are off, or on their way."""
    try:
        return [(name, status) for name, _identity, status in site_run.containers(node)]
    except config.LabError:
        return None


def final_state() -> dict[str, Any]:
    """What must be the same after every detour; keys, image digests and boot counts are new each time."""
    state = site_run.state()
    vsphere = state["vsphere"]
    return {
        "switch": {**state["switch"]["running"], "saved": not state["switch"]["unsaved"]},
        "hosts": {name: (host["kernel"], host["maintenance"]) for name, host in vsphere["hosts"].items()},
        "vms": {name: (vm["power"], vm["extra_config"], vm["in_force"]) for name, vm in vsphere["vms"].items()},
        "nics": state["physics"]["nic"],
        "pci": state["physics"]["pci"],
        "containers": {node: containers(node) for node in state["nodes"]},
        "pending": state["pending"],
    }


@pytest.fixture(scope="module")
def undisturbed(twin: None) -> dict[str, Any]:
    site_run.reset()
    run = site_run.play("site.yml", *ALLOW, *SHORT)
    assert run.rc == 0, run.tail()
    wanted = final_state()
    site_run.reset()
    return wanted


@pytest.mark.parametrize("where", KILL_AT, ids=list(KILL_AT))
def test_killed_at(where: str, undisturbed: dict[str, Any]) -> None:
    if FACTORY_EACH:
        site_run.reset(keep_registry=where != "image_being_built")
    triggers.listen()
    reached = KILL_AT[where]
    assert not reached(), f"{where}: the moment is there before the run begins"
    reports = sorted(path.name for path in (site_run.ROOT / "reports").iterdir())
    run = site_run.play("site.yml", *ALLOW, *SHORT, when=(reached, site_run.kill))
    assert run.rc == -signal.SIGKILL, f"the run ended before its moment came: {run.tail()}"
    assert "PLAY RECAP" not in run.out, "the run was finished"
    new = {path.name for path in (site_run.ROOT / "reports").iterdir()} - {*reports, "state", "logs"}
    assert not new, "the killed run left a report"
    if where != "training":
        assert final_state() != undisturbed, f"{where}: all was done, so nothing was interrupted"
    if FACTORY_EACH:
        finish(undisturbed)


def test_the_run_after_the_last_kill_finishes_with_the_same_state(undisturbed: dict[str, Any]) -> None:
    finish(undisturbed)


def finish(wanted: dict[str, Any]) -> None:
    run = site_run.play("site.yml", *ALLOW, *SHORT)
    assert run.rc == 0, run.tail()
    assert final_state() == wanted
    assert site_run.summary()["ranks"] == 4
