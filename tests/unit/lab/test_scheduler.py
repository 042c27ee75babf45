"""A scheduler in the lab on request: what its nodes get, what a second `up` changes, and how a job goes through it.

That real Slurm takes the configuration, tests/integration/handoff/test_slurm.py shows.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import config, nodes, scheduler


@pytest.fixture(name="slurm")
def fixture_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "SCHEDULER", "slurm")


def told(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a new process makes of the environment."""
    asks = "from lab import config; print(repr(config.SCHEDULER), config.NODE_IMAGE, config.keep_shape(config.paths()))"
    return subprocess.run(
        [sys.executable, "-c", asks],
        cwd=config.REPO,
        env={**os.environ, "ROCEMESH_LAB_DIR": str(tmp_path), "ROCEMESH_LAB_SHAPE": "", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_scheduler_is_asked_for_once_and_remembered_as_long_as_the_lab_is_there(tmp_path: Path) -> None:
    assert told(tmp_path, ROCEMESH_LAB_SCHEDULER="slurm").stdout == "'slurm' rocemesh-lab/node:slurm guide, slurm\n"
    assert told(tmp_path).stdout == "'slurm' rocemesh-lab/node:slurm guide, slurm\n"


def test_without_a_word_there_is_none_and_the_image_is_the_guides(tmp_path: Path) -> None:
    assert told(tmp_path).stdout == "'' rocemesh-lab/node:latest guide\n"
    late = told(tmp_path, ROCEMESH_LAB_SCHEDULER="slurm")
    assert late.returncode != 0 and "built without slurm" in late.stderr and "make lab-down" in late.stderr


def test_another_scheduler_is_refused_by_its_name(tmp_path: Path) -> None:
    other = told(tmp_path, ROCEMESH_LAB_SCHEDULER="pbs")
    assert other.returncode != 0 and "'pbs'; there is slurm" in other.stderr


def test_the_image_is_built_with_the_packages_and_only_then() -> None:
    text = (config.REPO / "lab/node/Dockerfile").read_text()
    assert 'ARG SCHEDULER_PACKAGES=""' in text
    # Each build argument in a layer of its own, after what both images share.
    assert text.index("docker.io") < text.index("SCHEDULER_PACKAGES") < text.index("COPY files/")
    assert "slurm-wlm" in config.SCHEDULERS["slurm"] and config.SCHEDULERS[""] == ""


def arguments(tmp_path: Path) -> list[str]:
    paths = config.Paths(tmp_path)
    return nodes.create_arguments(config.NODES[0], paths, privileges=[], controller_key="key", resolvers=[])


@pytest.mark.usefixtures("slurm")
def test_all_nodes_see_one_folder_under_one_path(tmp_path: Path) -> None:
    assert f"{tmp_path / 'shared'}:/shared" in arguments(tmp_path)


def test_nodes_without_a_scheduler_share_no_folder(tmp_path: Path) -> None:
    assert config.SCHEDULER == "" and not [word for word in arguments(tmp_path) if word.endswith(":/shared")]


def test_configuration_has_every_node_at_its_address_and_one_partition_with_all() -> None:
    text = scheduler.slurm_conf(config.NODES, 2)
    assert "SlurmctldHost=gpu01(10.78.0.11)\n" in text
    for node in config.NODES:
        assert f"NodeName={node.name} NodeAddr={node.cluster_ip} CPUs=2" in text
    assert "PartitionName=lab Nodes=gpu01,gpu02,gpu03,gpu04 Default=YES State=UP\n" in text
    variables = yaml.safe_load(scheduler.VARIABLES.read_text())
    assert variables["run_handoff_options"]["partition"] == scheduler.PARTITION


def test_a_node_that_does_not_answer_is_not_usable() -> None:
    said = "gpu01 idle\ngpu02 idle*\ngpu03 drained\ngpu04 allocated\n\nslurm_load_partitions: no\n"
    assert scheduler.usable(said) == ["gpu01", "gpu04"]


class Engine:
    """Stands in for the Docker client."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.states = iter(["", "gpu01 idle\ngpu02 idle*\n"])
        self.changed = "yes"
        monkeypatch.setattr(scheduler.engine, "docker", self.docker)

    def docker(self, *words: str, **_more: Any) -> subprocess.CompletedProcess[str]:
        self.asked.append(words)
        if "sinfo" in words:
            return subprocess.CompletedProcess(words, 0, next(self.states, "gpu01 idle\ngpu02 mixed\n"), "")
        return subprocess.CompletedProcess(words, 0, f"{self.changed}\n", "")

    def set_up(self) -> list[tuple[str, tuple[str, ...]]]:
        return sorted((words[1], words[6:]) for words in self.asked if "sh" in words)


@pytest.mark.usefixtures("slurm")
def test_slurm_is_set_up_on_the_nodes_that_are_on_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(monkeypatch)
    said = scheduler.ensure(config.Paths(tmp_path), config.NODES[:2])
    assert said == "Slurm, partition lab: set up gpu01, gpu02"
    assert engine.set_up() == [
        ("rocemesh-gpu01", ("munge", "slurmctld", "slurmd")),
        ("rocemesh-gpu02", ("munge", "slurmd")),
    ]
    # Until none of them is missing or silent.
    assert len([words for words in engine.asked if "sinfo" in words]) == 3
    key = tmp_path / "shared/slurm/munge.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o400
    first = key.read_bytes()
    assert len(first) == 128
    engine.changed = "no"
    assert scheduler.ensure(config.Paths(tmp_path), config.NODES[:2]) == "Slurm, partition lab: already there"
    assert key.read_bytes() == first


@pytest.mark.usefixtures("slurm")
def test_a_lab_whose_first_node_is_off_says_why_there_is_no_slurm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(monkeypatch)
    assert scheduler.ensure(config.Paths(tmp_path), config.NODES[1:]) == "no Slurm: gpu01 is powered off"
    assert engine.asked == []


def test_no_scheduler_touches_no_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch)
    scheduler.ensure(config.Paths(tmp_path), config.NODES)
    assert engine.asked == [] and list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of other users are installed")
def test_the_script_in_a_node_restarts_what_changed_and_nothing_else(tmp_path: Path) -> None:
    """The script itself, with its folders moved below a temporary one and systemctl written down."""
    log = tmp_path / "systemctl.log"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/systemctl").write_text(f'#!/bin/sh\necho "$*" >> {log}\n')
    (tmp_path / "bin/systemctl").chmod(0o755)
    (tmp_path / "shared/slurm").mkdir(parents=True)
    (tmp_path / "shared/slurm/slurm.conf").write_text("ClusterName=lab\n")
    (tmp_path / "shared/slurm/munge.key").write_bytes(b"k" * 128)
    script = scheduler._SETUP.replace("400 munge", "400 root")
    for folder in ("/shared/", "/etc/", "/var/"):
        script = script.replace(f" {folder}", f" {tmp_path}{folder}")

    def run() -> tuple[str, list[str]]:
        log.write_text("")
        done = subprocess.run(
            ["sh", "-c", script, "setup", "munge", "slurmd"],
            env={"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip(), log.read_text().splitlines()

    assert run() == ("yes", ["--quiet enable munge slurmd", "restart munge slurmd"])
    assert (tmp_path / "etc/slurm/slurm.conf").read_text() == "ClusterName=lab\n"
    assert stat.S_IMODE((tmp_path / "etc/munge/munge.key").stat().st_mode) == 0o400
    assert run() == ("no", ["--quiet enable munge slurmd", "start munge slurmd"])
    (tmp_path / "shared/slurm/slurm.conf").write_text("ClusterName=other\n")
    assert run()[0] == "yes"
    assert (tmp_path / "etc/slurm/slurm.conf").read_text() == "ClusterName=other\n"


class Job(Engine):
    """Takes a job; ``status``: its end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, said: str, status: int = 0) -> None:
        super().__init__(monkeypatch)
        self.folder, self.said, self.status = folder, said, status
        self.played: list[tuple[str, ...]] = []
        monkeypatch.setattr(scheduler, "_play", self.play)

    def docker(self, *words: str, **_more: Any) -> subprocess.CompletedProcess[str]:
        self.asked.append(words)
        if self.said.isdigit():
            (self.folder / "shared/handoff/results" / self.said).mkdir(parents=True)
        return subprocess.CompletedProcess(words, self.status, f"{self.said}\n", "node gpu02 is drained")

    def play(self, *words: str) -> int:
        self.played.append(words)
        return 0


@pytest.mark.usefixtures("slurm")
@pytest.mark.parametrize("status", [0, 1])
def test_the_hand_off_is_submitted_waited_for_and_reported_however_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    job = Job(monkeypatch, tmp_path, "7", status)
    assert scheduler.train(config.Paths(tmp_path)) == status
    wrote, reported = job.played
    assert wrote[0] == "playbooks/handoff.yml" and f"run_handoff_dir={tmp_path / 'shared/handoff'}" in wrote
    assert job.asked == [("exec", "rocemesh-gpu01", "/shared/handoff/submit.sh", "--parsable", "--wait")]
    assert reported == ("playbooks/report.yml", "-e", f"report_job={tmp_path / 'shared/handoff/results/7'}")
    # Where the variables of the hand-off say that the nodes find it.
    script = yaml.safe_load(scheduler.VARIABLES.read_text())["run_torch_script"]
    assert (tmp_path / script.lstrip("/")).is_file()
    assert json.dumps(script).startswith('"/shared/')


@pytest.mark.usefixtures("slurm")
def test_a_job_that_slurm_does_not_take_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Job(monkeypatch, tmp_path, "", 65)
    with pytest.raises(config.LabError, match="took no job: node gpu02 is drained"):
        scheduler.train(config.Paths(tmp_path))


def test_a_lab_without_a_scheduler_trains_nothing(tmp_path: Path) -> None:
    with pytest.raises(config.LabError, match="SCHEDULER=slurm"):
        scheduler.train(config.Paths(tmp_path))
