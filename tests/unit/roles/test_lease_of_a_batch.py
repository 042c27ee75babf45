"""The lease is kept for every batch of hosts, whichever of them gets no window."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.unit.roles.collection import ROOT, load

PLAY = "One host at a time"
LEASE = "Keep the lease"
WINDOW = "Run the maintenance window of this host"
# In place of tasks/windows.yml, which asks vCenter once for all hosts.
STUB = [{"name": "Ask", "run_once": True, "ansible.builtin.debug": {"msg": "lease <{{ window_lease }}>"}}]
BOOT = {"vm": "gpu01", "next_boot": {"differences": [{"text": "gpu01: another network"}]}}


def play(folder: pathlib.Path, changed: str) -> str:
    (windows,) = [each for each in load(ROOT / "playbooks/reboot.yml") if each["name"] == PLAY]
    del windows["module_defaults"]
    windows |= {"hosts": "esxi_hosts", "serial": 2, "vars_files": [str(ROOT / "playbooks/vars/window.yml")]}
    windows["vars"]["window_boots"] = {"results": [BOOT]}
    windows["vars"]["window_boot"] = "{{ window_boots.results if inventory_hostname == '" + changed + "' else [] }}"
    asked, *rest = windows["tasks"]
    assert asked["register"] == "window_boots"
    for block in [task for task in rest if "block" in task]:
        shown = {"ansible.builtin.debug": {"msg": "window of <{{ inventory_hostname }}>"}}
        kept = [task for task in block["block"] if task["name"] == LEASE]
        block["block"] = [*kept, *([shown] if block["name"] == WINDOW else [])]
        block.pop("rescue")
    windows["tasks"] = rest
    (folder / "tasks").mkdir()
    (folder / "tasks/windows.yml").write_text(yaml.safe_dump(STUB))
    (folder / "play.yml").write_text(yaml.safe_dump([windows]))
    hosts: dict[str, Any] = {"vars": {"rocemesh_allow_reboot": True}, "hosts": {"esx01": {}, "esx02": {}}}
    (folder / "hosts.yml").write_text(yaml.safe_dump({"esxi_hosts": hosts}))
    done = subprocess.run(
        [str(pathlib.Path(sys.executable).with_name("ansible-playbook")), "-i", str(folder / "hosts.yml"),
         str(folder / "play.yml")],
        cwd=ROOT, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("changed", "other"), [("esx01", "esx02"), ("esx02", "esx01")])
def test_lease_is_kept_where_one_host_of_the_batch_gets_no_window(
    tmp_path: pathlib.Path, changed: str, other: str
) -> None:
    told = play(tmp_path, changed)
    assert f"window of <{other}>" in told and f"window of <{changed}>" not in told, told
    assert told.count("lease <held>") == 1 and told.index("lease <held>") < told.index("window of <"), told
