# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-playbook is killed with SIGKILL at ten tasks across the layers; running it again finishes each time.

`FAULTS_FROM=factory` starts every kill from factory state and finishes after each (ten more full runs); without it the
kills follow one another on one twin, each in the run that has to recover from the one before. The registry keeps the
image between the kills, but before the one in the middle of its build.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests import site_run
from tests.site_run import ALLOW, SHORT

KILL_AT = {
    "switch_being_configured": r"TASK \[.*Switch \| Configure",
    "kernel_setting_being_configured": r"TASK \[.*ESXi host \| Configure the kernel settings",
    "nic_being_set": r"TASK \[.*Guest \| Store ATS",
    "vms_getting_their_keys": r"TASK \[.*GPU VM \| Set peer-to-peer keys",
    "host_rebooting": r"TASK \[Reboot the host",
    "guests_coming_back": r"TASK \[Wait for the guests of this host",
    "image_being_built": r"TASK \[.*Build \| Image",
    "image_being_pulled": r"TASK \[.*Pull \| Image\]",
    "mesh_being_written": r"TASK \[.*Present \| Broker, keys of the peers",
    "training": r"TASK \[.*Run mpirun: train",
}
FACTORY_EACH = os.environ.get("FAULTS_FROM") == "factory"


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
        "containers": {
            node: [(name, status) for name, _identity, status in site_run.containers(node)] for node in state["nodes"]
        },
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
    run = site_run.play("site.yml", *ALLOW, *SHORT, when=(KILL_AT[where], site_run.kill))
    assert run.rc == -signal.SIGKILL, f"the run ended before the task began: {run.tail()}"
    if FACTORY_EACH:
        finish(undisturbed)


def test_the_run_after_the_last_kill_finishes_with_the_same_state(undisturbed: dict[str, Any]) -> None:
    finish(undisturbed)


def finish(wanted: dict[str, Any]) -> None:
    run = site_run.play("site.yml", *ALLOW, *SHORT)
    assert run.rc == 0, run.tail()
    assert final_state() == wanted
    assert site_run.summary()["ranks"] == 4
