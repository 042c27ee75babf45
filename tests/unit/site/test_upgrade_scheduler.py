"""playbooks/tasks/scheduler.yml against scripts that stand for Slurm and Kubernetes, their node as files."""

from __future__ import annotations

import json
import os
import pathlib

import pytest

from tests.plays import ROOT, ansible

# Each writes down how it was called. Jobs end while they are waited for.
SLURM = """#!/bin/sh
echo "$(basename "$0") $*" >> calls
case "$*" in
  "--oneliner show node node7") echo "NodeName=node7 State=$(cat state) Reason=$(cat reason)";;
  *State=DRAIN*) echo IDLE+DRAIN > state; echo "${4#Reason=}" > reason;;
  *State=RESUME*) echo IDLE > state; : > reason;;
esac
"""
KUBERNETES = """#!/bin/sh
echo "$(basename "$0") $*" >> calls
case "$*" in
  "get node"*) echo "$(cat state) $(cat reason)";;
  "annotate --overwrite"*) echo '{"rocemesh-upgrade":"drained"}' > reason;;
  "annotate"*) : > reason;;
  "cordon"*) echo true > state;;
  "uncordon"*) : > state;;
esac
"""
PROGRAMS = {"slurm": (("scontrol", "squeue"), SLURM, "IDLE"), "kubernetes": (("kubectl",), KUBERNETES, "")}


def play(folder: pathlib.Path, kind: str, step: str) -> tuple[bool, str, list[str]]:
    """Whether it went well, the output, and what the scheduler was told (not asked)."""
    (folder / "calls").write_text("")
    tasks = {"ansible.builtin.include_tasks": str(ROOT / "playbooks/tasks/scheduler.yml")}
    known = {"upgraded": "gpu07", "scheduler_step": step, "rocemesh_upgrade": {"scheduler": {"kind": kind}}}
    known["rocemesh_scheduler_node"] = "node7"
    here = {"ansible_connection": "local"}
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": {"gpu07": {**here, **known}}}}))
    (folder / "play.yml").write_text(
        json.dumps(
            [
                {
                    "hosts": "gpu07",
                    "gather_facts": False,
                    "vars_files": [str(ROOT / "playbooks/vars/window.yml")],
                    "tasks": [tasks],
                }
            ]
        )
    )
    done = ansible(folder, "-i", "hosts.json", "play.yml", PATH=f"{folder}:{os.environ['PATH']}")
    asked = ("--oneliner", "squeue", "get node", "kubectl drain")
    calls = [line for line in (folder / "calls").read_text().splitlines() if not any(word in line for word in asked)]
    return done.returncode == 0, done.stdout + done.stderr, calls


@pytest.fixture(params=list(PROGRAMS))
def kind(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> str:
    names, text, state = PROGRAMS[request.param]
    for name in names:
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "state").write_text(state)
    (tmp_path / "reason").write_text("")
    return str(request.param)


def test_node_is_drained_once_and_resumed_once(kind: str, tmp_path: pathlib.Path) -> None:
    before = (tmp_path / "state").read_text().strip()
    for step in ("drain", "resume"):
        well, said, calls = play(tmp_path, kind, step)
        assert well and calls and all("node7" in call for call in calls), said
        # A run that was killed after it and begins again tells nothing twice.
        well, said, calls = play(tmp_path, kind, step)
        assert well and calls == [], said
    assert (tmp_path / "state").read_text().strip() == before


@pytest.mark.parametrize("step", ["drain", "resume"])
def test_node_that_somebody_else_has_drained_is_left_alone(step: str, kind: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "state").write_text("IDLE+DRAIN" if kind == "slurm" else "true")
    (tmp_path / "reason").write_text("broken-fan")
    well, said, calls = play(tmp_path, kind, step)
    assert not well and calls == [] and "broken-fan" in said
