"""A host that failed before the window leaves a hole in the plan: refused; a check run still shows its table."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import yaml

from tests.unit.roles.collection import ROOT, load

# Plays of the window that ask no device, as long as nothing has to be done.
DECIDING = ("Plan and permission", "The lease of the site", "One host at a time")
SITE: dict[str, Any] = {
    "switches": {"hosts": {"sw01": {"switch_plan": []}}},
    "esxi_hosts": {
        "hosts": {
            "esx01": {
                "esxi_host_outcome": {"changes": ["configure atsSupport"]},
                "esxi_host_pending": {
                    "host": "esx01",
                    "host_moid": "h-1",
                    "reboot_required": False,
                    "reboot_reasons": [],
                },
            }
        }
    },
    "gpu_vms": {"hosts": {"gpu01": {"guest_plan": [], "container_outcome": {"changes": []}}}},
}


def play(folder: pathlib.Path, *words: str) -> str:
    plays = [each for each in load(ROOT / "playbooks/reboot.yml") if each["name"] in DECIDING]
    assert len(plays) == len(DECIDING)
    for each in plays:
        each["vars_files"] = [str(ROOT / "playbooks/vars/window.yml")]
    named = {"ansible.builtin.set_fact": {"window_vms": list(SITE["gpu_vms"]["hosts"])}}
    plays.insert(0, {"hosts": "localhost", "gather_facts": False, "tasks": [named]})
    shutil.copytree(ROOT / "playbooks/tasks", folder / "tasks")
    (folder / "play.yml").write_text(yaml.safe_dump([*plays, *load(ROOT / "playbooks/plan.yml")]))
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": SITE}}))
    done = subprocess.run(
        [
            str(pathlib.Path(sys.executable).with_name("ansible-playbook")),
            *("-i", str(folder / "hosts.yml"), str(folder / "play.yml"), *words),
        ],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode == 0) is ("--check" in words), done.stdout + done.stderr
    return done.stdout


def test_a_check_run_shows_the_table_and_names_who_was_silent(tmp_path: pathlib.Path) -> None:
    told = play(tmp_path, "--check")
    assert "configure atsSupport" in told and "are not known." in told
    assert "far: gpu01 (mesh), gpu01 (window)." in " ".join(told.split())


def test_a_run_that_would_restart_something_is_refused(tmp_path: pathlib.Path) -> None:
    """Not with the advice to skip it: of a VM that cannot be read nobody knows whose window that would close."""
    told = " ".join(play(tmp_path).split())
    assert "gpu01: failed above" in told and "--limit 'all:!gpu01'" in told and "rocemesh_skip_hosts" not in told
