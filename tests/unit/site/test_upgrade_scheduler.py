"""playbooks/tasks/scheduler.yml against scripts that stand for Slurm and Kubernetes, their node as files."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import pytest
import yaml

from tests.plays import ROOT, ansible

# Each writes down how it was called. Jobs end while they are waited for.
SLURM = """#!/bin/sh
echo "$(basename "$0") $*" >> calls
case "$*" in
  "--oneliner --all show node node7") echo "NodeName=node7 State=$(cat state) Reason=$(cat reason)";;
  *State=DRAIN*) echo IDLE+DRAIN > state; echo "${4#Reason=}" > reason;;
  *State=RESUME*) echo IDLE > state; : > reason;;
esac
"""
KUBERNETES = """#!/bin/sh
echo "$(basename "$0") $*" >> calls
case "$*" in
  "get node"*) echo "$(cat state) $(cat reason)";;
  patch*'{"rocemesh-upgrade":"drained"}},"spec":{"unschedulable":true}'*)
    echo true > state; echo rocemesh-upgrade > reason;;
  patch*'{"rocemesh-upgrade":null}},"spec":{"unschedulable":null}'*) : > state; : > reason;;
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
    asked = ("--oneliner", "squeue", "get node", "get pods", "kubectl drain")
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


def test_jobs_of_kubernetes_end_before_other_pods_are_evicted(tmp_path: pathlib.Path) -> None:
    """A pod of a job is waited for, what a drain refuses is said, and only a drain that went well ends the wait."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\necho "$1" >> calls\n. ./"$1"\n')
    kubectl.chmod(0o755)
    argv = yaml.safe_load((ROOT / "playbooks/vars/window.yml").read_text())["schedulers"]["kubernetes"]["jobs"]

    def left(get: str, drain: str) -> tuple[int, str]:
        (tmp_path / "get").write_text(get)
        (tmp_path / "drain").write_text(drain)
        path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        done = subprocess.run(
            [*argv[:-1], "node7"], cwd=tmp_path, env=path, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout.strip()

    evicted = "echo node/node7 drained"
    assert left("echo training/resnet50-node-0-0-abcde", evicted) == (0, "training/resnet50-node-0-0-abcde")
    assert left("exit 1", evicted)[0] == 1
    assert (tmp_path / "calls").read_text().split() == ["get", "get"]
    assert left("", "echo error: cannot delete Pods >&2; exit 1") == (0, "error: cannot delete Pods")
    assert left("", evicted) == (0, "")


def test_jobs_of_partitions_that_the_account_does_not_see_are_waited_for(tmp_path: pathlib.Path) -> None:
    """A real squeue told an account that is not root nothing of them without --all: hidden ones, those of a group."""
    squeue = tmp_path / "squeue"
    squeue.write_text('#!/bin/sh\ncase "$*" in *--all*--nodelist=*) echo 4711;; esac\n')
    squeue.chmod(0o755)
    argv = yaml.safe_load((ROOT / "playbooks/vars/window.yml").read_text())["schedulers"]["slurm"]["jobs"]
    assert subprocess.run([squeue, *argv[1:]], capture_output=True, text=True, check=True).stdout.strip() == "4711"
