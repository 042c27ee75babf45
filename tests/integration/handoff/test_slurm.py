"""The hand-off under a real Slurm and a real torchrun, on four CPU ranks; its report has the form of mpirun's."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Iterator

import pytest
import yaml

from tests.plays import ROOT, ansible
from tests.system_torch import SYSTEM_PYTHON, has_torch

from .playing import hand_off, without_engine
from .slurm import HOSTS, PARTITIONS, Slurm, cluster, missing

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=f"no {', '.join(missing())}: lab/bootstrap.sh --dev installs them"),
    pytest.mark.skipif(not has_torch(), reason=f"no torch in {SYSTEM_PYTHON}"),
]
# Two host names, one machine: every address of the loopback network is it.
NODES = [{"name": name, "address": f"127.0.0.{at}", "slots": 2} for at, name in enumerate(HOSTS, start=1)]
SMALL: dict[str, Any] = {
    "run_hosts": NODES,
    "run_network": "127.0.0.0/8",
    "run_rdma_facts": {},
    "run_python": SYSTEM_PYTHON,
    "run_torch_script": str(ROOT / "workloads/resnet50/resnet50.py"),
    "run_precision": "fp32",
    "run_threads": 1,
    "run_batch_size": 2,
    "run_image_size": 32,
    "run_num_batches": 2,
    "run_num_warmup_batches": 1,
    "run_display_every": 1,
    "run_handoff_launchers": ["slurm", "torchrun"],
    "run_handoff_options": {"pyxis": False, "partition": PARTITIONS[0]},
}


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with cluster(tmp_path_factory.mktemp("slurm")) as started:
        yield started


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("handoff")
    outcome = hand_off(folder, **SMALL)
    assert outcome.rc == 0, outcome.output
    return outcome.folder


def submit(slurm: Slurm, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return slurm.run(str(folder / "submit.sh"), "--parsable", *words, cwd=folder)


def report(folder: Path, results: Path) -> dict[str, Any]:
    """What playbooks/report.yml makes of the results, without any inventory."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    done = ansible(
        folder,
        str(ROOT / "playbooks/report.yml"),
        *("-e", json.dumps({"report_job": str(results), "report_dir": str(folder / "reports"), "report_plots": False})),
        **without_engine(folder),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads((folder / "reports/latest/summary.json").read_text())
    return found


@dataclasses.dataclass(frozen=True)
class Form:
    """What two reports of the same job have in common whatever started it; no figure is compared."""

    ranks: int
    hosts: tuple[str, ...]
    per_rank: int
    agreed: bool
    keys: tuple[str, ...]
    state: str
    witnesses: tuple[tuple[str, str], ...]


def form(summary: dict[str, Any]) -> Form:
    ranks = summary["rank_details"]
    return Form(
        summary["ranks"],
        tuple(sorted(rank["host"] for rank in ranks)),
        len([rank for rank in ranks if rank["images_per_second"] > 0]),
        summary["agreement"]["ok"],
        tuple(sorted(summary)),
        summary["verdict"]["state"],
        # What the doctor finds is of the hour: a machine that was busy meanwhile is not of the form.
        tuple(
            (witness["name"], witness["state"])
            for witness in summary["verdict"]["witnesses"]
            if witness["name"] != "doctor"
        ),
    )


def mpirun(slurm: Slurm, written: Path, results: Path) -> None:
    """The same job, started by Open MPI, with its output where a hand-off's would be."""
    job = json.loads((written / "job.json").read_text())
    results.mkdir()
    shutil.copy(written / "job.json", results)
    (results / "id").write_text("by-mpirun\n")
    (results / "started").write_text(f"{time.time()}\n")
    names = {rank: HOSTS[rank // 2] for rank in range(4)}
    # One machine: each rank takes the host name that its place would have.
    inside = (
        f"case $OMPI_COMM_WORLD_RANK in 0|1) name={names[0]};; *) name={names[2]};; esac; "
        """exec unshare --uts sh -c 'hostname "$0"; exec "$@"' $name "$@" """
    )
    done = subprocess.run(
        [
            *("mpirun", "--allow-run-as-root", "--oversubscribe", "--tag-output", "-np", "4", "-bind-to", "none"),
            *("-mca", "btl_tcp_if_include", "lo", "-mca", "oob_tcp_if_include", "lo"),
            *(
                "-x",
                "MASTER_ADDR=127.0.0.1",
                "-x",
                f"MASTER_PORT={free_port()}",
                "sh",
                "-c",
                inside,
                "sh",
                *job["command"],
            ),
        ],
        env={**slurm.env, "SLURM_CONF": "/dev/null"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    (results / "ended").write_text(f"{time.time()}\n")
    (results / "train.log").write_text(done.stdout)
    (results / "status").write_text("0\n")
    for host in HOSTS:
        subprocess.run(
            [str(written / "counters.sh"), str(results), "before"], env={**slurm.env, "ROCEMESH_NODE": host}, check=True
        )
        subprocess.run(
            [str(written / "counters.sh"), str(results), "after"], env={**slurm.env, "ROCEMESH_NODE": host}, check=True
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_four_ranks_train_under_slurm_torchrun_and_mpirun_and_the_reports_have_one_form(
    slurm: Slurm, written: Path, tmp_path: Path
) -> None:
    mpirun(slurm, written, tmp_path / "mpirun")
    wanted = form(report(tmp_path / "one", tmp_path / "mpirun"))
    assert (wanted.ranks, wanted.per_rank, wanted.agreed) == (4, 4, True)
    assert wanted.hosts == (HOSTS[0], HOSTS[0], HOSTS[1], HOSTS[1])

    slurm.env["MASTER_PORT"] = str(free_port())
    done = submit(slurm, written)
    assert done.returncode == 0, done.stderr
    job = done.stdout.strip()
    assert slurm.wait(job) == "COMPLETED", (written / f"resnet50-{job}.out").read_text() + slurm.log()
    summary = report(tmp_path / "two", written / "results" / job)
    assert form(summary) == wanted
    assert summary["verdict"]["state"] == "NOT PROVEN"
    assert not [one for one in summary["problems"] if one["code"].startswith(("slurm", "job"))]

    # torchrun, as a step of Slurm on each node and so under the host name of each.
    slurm.env["MASTER_PORT"] = str(free_port())
    results = tmp_path / "torchrun"
    done = slurm.run(
        *(
            "srun",
            "-N2",
            "--ntasks-per-node=1",
            f"--export=ALL,ROCEMESH_RESULTS={results}",
            str(written / "torchrun.sh"),
        ),
        cwd=written,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr + "".join(path.read_text() for path in results.glob("*.err"))
    assert form(report(tmp_path / "three", results)) == wanted


def test_a_partition_that_does_not_exist_is_named_with_those_that_do(slurm: Slurm, written: Path) -> None:
    done = submit(slurm, written, "--partition=gpu")
    assert done.returncode == 65
    assert "no partition gpu. What to do: take one of: other train" in done.stderr
    # Without the look before, Slurm itself refuses.
    assert slurm.run("sbatch", "--partition=gpu", "resnet50.sbatch", cwd=written).returncode != 0


def test_a_partition_without_one_of_the_nodes_is_refused(slurm: Slurm, written: Path) -> None:
    done = submit(slurm, written, "-p", PARTITIONS[1])
    assert done.returncode == 65
    assert f"node {HOSTS[1]} is not in partition {PARTITIONS[1]}" in done.stderr


def test_a_drained_node_is_named_with_its_reason_instead_of_a_job_that_waits(slurm: Slurm, written: Path) -> None:
    drain = ("scontrol", "update", f"nodename={HOSTS[1]}", "state=drain", "reason=bad cable")
    assert slurm.run(*drain).returncode == 0
    try:
        done = submit(slurm, written)
    finally:
        slurm.run("scontrol", "update", f"nodename={HOSTS[1]}", "state=resume")
    assert done.returncode == 65
    assert f"node {HOSTS[1]} is drained (reason: bad cable" in done.stderr
    assert f"scontrol update nodename={HOSTS[1]} state=resume" in done.stderr
    assert slurm.run("squeue", "-h").stdout == "", "a job was submitted all the same"


def test_what_an_upgrade_asks_of_slurm(slurm: Slurm) -> None:
    """By playbooks/vars/window.yml: a node takes no new jobs, its jobs are seen, and it takes jobs again."""
    window = yaml.safe_load((ROOT / "playbooks/vars/window.yml").read_text())["schedulers"]["slurm"]

    def asks(words: list[str], node: str = HOSTS[1]) -> subprocess.CompletedProcess[str]:
        return slurm.run(*(word.replace("{{ scheduler_node }}", node) for word in words))

    def drained() -> tuple[bool, bool]:
        told = asks(window["state"]).stdout
        return bool(re.search(window["drained"], told)), "rocemesh-upgrade" in told

    assert drained() == (False, False)
    sleeps = ("--nodes=2", "--output=none", "--wrap", "srun sleep 300")
    job = slurm.run("sbatch", "--parsable", f"--partition={PARTITIONS[0]}", *sleeps).stdout.strip()
    assert slurm.wait(job, "RUNNING") == "RUNNING"
    try:
        assert [asks(words).returncode for words in window["drain"]] == [0]
        assert drained() == (True, True)
        assert asks(window["jobs"]).stdout.split() == [job]
        slurm.run("scancel", job)
        until = time.monotonic() + 30
        while asks(window["jobs"]).stdout.split():
            assert time.monotonic() < until, slurm.log()
            time.sleep(0.05)
    finally:
        slurm.run("scancel", job)
        assert [asks(words).returncode for words in window["resume"]] == [0]
    assert drained() == (False, False)
    assert asks(window["state"], "nobody").returncode != 0 and asks(window["drain"][0], "nobody").returncode != 0


def test_a_killed_job_says_so_in_its_report(slurm: Slurm, tmp_path: Path) -> None:
    command = ["sh", "-c", "echo begun; sleep 300"]
    outcome = hand_off(tmp_path, **SMALL, run_handoff_command=command, run_handoff_name="own")
    assert outcome.rc == 0, outcome.output
    job = submit(slurm, outcome.folder).stdout.strip()
    log = outcome.folder / "results" / job / "train.log"
    until = time.monotonic() + 30
    while not log.is_file() or log.read_text().count("begun") < 4:
        assert time.monotonic() < until, slurm.log()
        time.sleep(0.05)
    assert slurm.run("scancel", job).returncode == 0
    assert slurm.wait(job) == "CANCELLED"
    until = time.monotonic() + 30
    while "CANCELLED" not in (outcome.folder / f"own-{job}.out").read_text():
        assert time.monotonic() < until
        time.sleep(0.05)
    summary = report(tmp_path / "report", log.parent)
    (problem,) = [one for one in summary["problems"] if one["code"] == "slurm_cancelled"]
    assert f"job {job} was cancelled at" in problem["message"]
    assert "What to do:" in problem["message"]
    assert summary["verdict"]["state"] != "PROVEN"


def test_a_node_that_the_job_was_not_made_for_is_refused(slurm: Slurm, tmp_path: Path) -> None:
    one = {**SMALL, "run_hosts": [NODES[0]], "run_handoff_name": "one"}
    outcome = hand_off(tmp_path, **one)
    assert outcome.rc == 0, outcome.output
    job = slurm.run("sbatch", "--parsable", "-w", HOSTS[1], "one.sbatch", cwd=outcome.folder).stdout.strip()
    assert slurm.wait(job) == "FAILED"
    told = (outcome.folder / f"one-{job}.out").read_text()
    assert f"Slurm gave node {HOSTS[1]}, for which nothing" in told
    assert not (outcome.folder / "results").exists()
