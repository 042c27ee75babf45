"""Results of another launcher's job become what a report of a run is made of; what is missing stays missing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._handoff import home
from ansible_collections.rocemesh.multinode.plugins.module_utils._handoff.home import read
from ansible_collections.rocemesh.multinode.plugins.module_utils._handoff.job import job_of
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof import snapshots
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import Inputs, build

from tests.unit.proof.truth import STARTED, Run

from .asking import asked
from .rendering import render

RUN = Run("2x2 ring", nodes=2, gpus=2)


def lines(rank: int) -> list[str]:
    """Of one rank, as workloads/resnet50 prints them."""
    record = {
        "format": 1,
        "rank": rank,
        "world": 4,
        "host": RUN.hosts[rank // 2],
        "images_per_second": 2000.0,
        "batches": 100,
        "batch_size": 256,
        "loss": 7.0,
        "checksum": "a",
        "checksums_equal": True,
        "backend": "nccl",
        "device": "NVIDIA H100",
    }
    head = ["Batch size:  1024 global", "             256 per device", "Num batches: 100"] if rank == 0 else []
    return [*head, "Done warm up", "total images/sec: 8000.00", "ROCEMESH " + json.dumps(record)]


def results(folder: Path, form: Callable[[int, str], str] = lambda rank, line: f"{rank}: {line}") -> Path:
    """A job of Slurm that ended well. ``form``: how the launcher prints a rank's line."""
    (folder / "counters").mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps(job_of(asked())))
    (folder / "train.log").write_text("".join(form(rank, line) + "\n" for rank in range(4) for line in lines(rank)))
    for name, text in (("id", "42"), ("status", "0"), ("started", f"{STARTED}"), ("ended", f"{STARTED + 60}")):
        (folder / name).write_text(text + "\n")
    (folder / "nccl.gpu01.1.log").write_text(RUN.nccl())
    return folder


@pytest.mark.parametrize(
    "form",
    [
        lambda rank, line: f"{rank}: {line}",
        lambda rank, line: f"[1,{rank}]<stdout>:{line}",
        lambda _rank, line: line,
    ],
    ids=["srun --label", "mpirun", "no tags"],
)
def test_the_figures_are_the_same_whatever_launcher_printed_them(
    tmp_path: Path, form: Callable[[int, str], str]
) -> None:
    found = read(results(tmp_path / "42", form))
    assert found["result"]["ok"], found["result"]["problems"]
    assert (found["result"]["ranks"], found["result"]["total"], found["expected_ranks"]) == (4, 8000.0, 4)
    assert [rank["host"] for rank in found["result"]["per_rank"]] == ["gpu01", "gpu01", "gpu02", "gpu02"]
    assert (found["id"], found["result"]["job"], found["problems"]) == ("42", "42", [])
    assert found["evidence"]["nccl_path"]["verdict"] == "gdrdma"


@pytest.mark.parametrize("label", ["", "[default{local}]:"], ids=["no labels", "torchrun --tee"])
def test_logs_of_every_node_are_one_job(tmp_path: Path, label: str) -> None:
    folder = results(tmp_path / "torchrun")
    (folder / "train.log").unlink()
    for node, host in enumerate(RUN.hosts):
        # Without the last newline, as a log that is still copied.
        text = "\n".join(label.format(local=at) + line for at in range(2) for line in lines(2 * node + at))
        (folder / f"train.{host}.log").write_text(text)
    found = read(folder)
    assert found["result"]["ok"], found["result"]["problems"]
    assert found["log"] == ""
    told = "".join(home._tagged(folder / "train.gpu02.log", 2))
    assert ("[1,3]<stdout>:ROCEMESH {" in told) is bool(label), "the node's first rank is 2"


def test_the_job_witnesses_of_a_sound_job_agree_and_what_nobody_read_is_missing(tmp_path: Path) -> None:
    found = read(results(tmp_path / "42"))
    summary = build(
        Inputs(run_id="one", result=found["result"], evidence=found["evidence"], expected_ranks=found["expected_ranks"])
    )
    states = {witness["name"]: witness["state"] for witness in summary["verdict"]["witnesses"]}
    assert {states[name] for name in ("job", "log", "ranks", "path")} == {"agrees"}, summary["verdict"]["reasons"]
    assert {states[name] for name in ("layers", "switch_counters")} == {"missing"}
    assert summary["verdict"]["state"] == "NOT PROVEN"


def test_a_rank_that_is_missing_makes_the_result_no_result(tmp_path: Path) -> None:
    folder = results(tmp_path / "42")
    text = (folder / "train.log").read_text()
    (folder / "train.log").write_text("".join(line for line in text.splitlines(True) if not line.startswith("3:")))
    assert "missing_ranks" in [problem["code"] for problem in read(folder)["result"]["problems"]]


# In the forms of Slurm's documentation and of published outputs. What ends a job names its first node.
_AT = "ON gpu02 CANCELLED AT 2026-01-31T12:00:00"
SAID = {
    "slurm_time_limit": f"slurmstepd: error: *** STEP 7.0 {_AT} DUE TO TIME LIMIT ***",
    "slurm_cancelled": f"slurmstepd: error: *** JOB 7 {_AT} ***",
    "slurm_node_failure": "srun: error: Node failure on gpu02\nslurmstepd-gpu01: error: *** STEP 7.0 ON gpu01 "
    "CANCELLED AT 2026-11-26T19:00:07 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
    "slurm_preempted": f"slurmstepd: error: *** JOB 7 {_AT} DUE TO PREEMPTION ***",
    "slurm_out_of_memory": "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.0. Some of your processes may "
    "have been killed by the cgroup out-of-memory handler.",
    "slurm_rank_killed": "srun: error: gpu02: task 2: Killed",
    "slurm_rank_failed": "srun: error: gpu02: task 2: Exited with exit code 3",
}


def ended_with(tmp_path: Path, text: str) -> dict[str, str]:
    """The one problem of a job that ended badly, of what Slurm said."""
    folder = results(tmp_path / "7")
    (folder / "status").write_text("1\n")
    (folder / "train.err").write_text(text)
    problem: dict[str, str]
    (problem,) = read(folder)["problems"]
    return problem


def test_of_a_lost_node_that_srun_does_not_name_no_other_is_named(tmp_path: Path) -> None:
    said = f"slurmstepd: error: *** JOB 7 {_AT} DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"
    problem = ended_with(tmp_path, said)
    assert problem["code"] == "slurm_node_failure" and "gpu02" not in problem["message"]


def test_a_step_that_took_too_much_memory_was_not_cancelled_by_somebody(tmp_path: Path) -> None:
    problem = ended_with(
        tmp_path,
        "slurmstepd-gpu02: error: StepId=3.0 exceeded memory limit (460627968 > 104857600), being killed\n"
        "slurmstepd-gpu01: error: *** STEP 3.0 ON gpu01 CANCELLED AT 2026-11-26T18:58:05 ***\n"
        "srun: error: gpu02: tasks 2-3: Killed\n",
    )
    assert problem["code"] == "slurm_out_of_memory"
    assert "460627968" in problem["message"] and "104857600" in problem["message"]


@pytest.mark.parametrize("end", ["", " BY UID 1000", " DUE to SIGNAL Terminated"])
def test_cancelled_job_is_told_by_every_release(tmp_path: Path, end: str) -> None:
    """The signal is in published outputs of Slurm 24."""
    assert ended_with(tmp_path, f"slurmstepd: error: *** JOB 7 {_AT}{end} ***\n")["code"] == "slurm_cancelled"


@pytest.mark.parametrize("step", ["StepId=7.0.", "StepId=7.0 cgroup.", "step 7.0 cgroup.", "StepId=7.batch."])
def test_step_of_an_oom_kill_is_named_by_every_release(tmp_path: Path, step: str) -> None:
    """With "step" in the source of Slurm 19.05, with "StepId=" and "cgroup" in that of 20.11."""
    problem = ended_with(tmp_path, f"slurmstepd: error: Detected 1 oom-kill event(s) in {step} Some of your")
    assert problem["code"] == "slurm_out_of_memory" and " step 7 " in problem["message"]


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (
            "srun: error: gpu12: task 0: Segmentation fault\nslurmstepd: error: *** STEP 7.0 {at} ***\n",
            "slurm_rank_killed",
        ),
        ("slurmstepd: error: *** STEP 7.0 {at} ***\nsrun: error: gpu12: task 0: Killed\n", "slurm_step_ended"),
    ],
)
def test_a_step_that_slurm_ended_after_its_rank_was_not_cancelled(tmp_path: Path, lines: str, code: str) -> None:
    assert ended_with(tmp_path, lines.format(at=_AT))["code"] == code


# Printed by Slurm 22.05.8 of Debian 12 as two slurmd of one machine ran jobs of two nodes that ended so (`slurm/`).
PRINTED = {
    "preempt": ("slurm_preempted", "gpu01"),
    "timelimit": ("slurm_time_limit", "gpu01"),
    "nodefail": ("slurm_node_failure", "gpu02"),
    "memory": ("slurm_out_of_memory", "460627968"),
    "killed": ("slurm_rank_killed", "gpu01: rank 1"),
    "failed": ("slurm_rank_failed", "status 3"),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_a_real_slurm_printed(tmp_path: Path, name: str) -> None:
    problem = ended_with(tmp_path, (Path(__file__).parent / "slurm" / f"{name}.txt").read_text())
    assert problem["code"] == PRINTED[name][0] and PRINTED[name][1] in problem["message"]


@pytest.mark.parametrize("code", SAID)
def test_what_slurm_says_of_an_end_becomes_a_cause_and_a_way_out(tmp_path: Path, code: str) -> None:
    problem = ended_with(tmp_path, f"other words\n{SAID[code]}\nsrun: error: gpu01: task 0: Exited with exit code 1\n")
    assert problem["code"] == code
    assert "What to do:" in problem["message"]
    assert ("gpu02" in problem["message"]) is (code != "slurm_out_of_memory")


def test_a_job_without_an_end_or_with_a_bad_one_says_so(tmp_path: Path) -> None:
    folder = results(tmp_path / "7")
    (folder / "status").unlink()
    assert read(folder)["problems"] == []  # from Kubernetes, as docs/other-launchers.md has it
    (folder / "ended").unlink()
    assert [problem["code"] for problem in read(folder)["problems"]] == ["job_no_end"]
    (folder / "status.gpu02").write_text("124\n")
    (problem,) = read(folder)["problems"]
    assert problem["code"] == "job_failed" and "gpu02: 124" in problem["message"]


def test_job_that_ended_in_its_probe_is_reported_with_its_end(tmp_path: Path) -> None:
    """The scripts start no training then, and the figures of a probe are no result."""
    folder = results(tmp_path / "7")
    for name in ("started", "ended", "nccl.gpu01.1.log"):
        (folder / name).unlink()
    (folder / "train.log").rename(folder / "probe.log")
    (folder / "probe.err").write_text("srun: error: gpu02: task 2: Exited with exit code 3\n")
    (folder / "status").write_text("3\n")
    found = read(folder)
    assert [problem["code"] for problem in found["problems"]] == ["slurm_rank_failed"]
    assert (found["result"]["ok"], found["result"]["total"], found["log"]) == (False, None, "")


def test_slurm_says_nothing_of_a_job_that_ended_well() -> None:
    assert home.slurm_said("srun: job 7 queued and waiting for resources\n") is None


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda folder: (folder / "job.json").unlink(), "no job of a hand-off"),
        (lambda folder: (folder / "job.json").write_text("{"), "not JSON"),
        (lambda folder: (folder / "job.json").write_text('{"format": 99, "hosts": []}'), "format 1"),
        (lambda folder: (folder / "train.log").unlink(), "no output of the ranks"),
    ],
)
def test_a_folder_that_is_no_hand_offs_is_refused_with_what_it_lacks(
    tmp_path: Path, break_it: Callable[[Path], Any], words: str
) -> None:
    folder = results(tmp_path / "42")
    break_it(folder)
    with pytest.raises((RefusedError, OSError), match=words):
        read(folder)


def sysfs(root: Path, sent: int, simulated: bool = False) -> Path:
    """What counters.sh reads of one port; its GID table has an empty place, which cannot be read."""
    port = root / "class/infiniband/mlx5_0/ports/1"
    for name, text in {
        "link_layer": "Ethernet",
        "state": "4: ACTIVE",
        "rate": "100 Gb/sec (4X EDR)",
        "counters/port_xmit_data": str(sent),
        "counters/port_rcv_data": str(sent),
        "hw_counters/lifespan": "10",
        "hw_counters/out_of_sequence": "0",
        "gids/0": "0000:0000:0000:0000:0000:0000:0000:0000",
        "gids/3": "0000:0000:0000:0000:0000:ffff:c000:020b",
        "gid_attrs/types/3": "RoCE v2",
        "gid_attrs/ndevs/3": "ens192",
    }.items():
        (port / name).parent.mkdir(parents=True, exist_ok=True)
        (port / name).write_text(text + "\n")
    if simulated:
        (root / "SIMULATED").touch()
    return root


def counted(folder: Path, moment: str, root: Path) -> str:
    script = folder / "counters.sh"
    script.write_text(render("counters.sh", asked()))
    subprocess.run(
        ["sh", str(script), str(folder), moment],
        env={**os.environ, "ROCEMESH_SYSFS_ROOT": str(root), "ROCEMESH_NODE": "gpu01.example.org"},
        check=True,
    )
    return (folder / "counters" / f"gpu01.{moment}").read_text()


def test_counters_that_the_script_wrote_down_are_judged_like_those_of_the_module(tmp_path: Path) -> None:
    before = home.node_counters(counted(tmp_path, "before", sysfs(tmp_path / "sys", 1000)), "gpu01")
    after = home.node_counters(counted(tmp_path, "after", sysfs(tmp_path / "sys", 5000)), "gpu01")
    assert (before["error"], before["simulated"]) == ("", False)
    (port,) = before["devices"]
    assert (port["name"], port["port"], port["state"], port["link_layer"]) == ("mlx5_0", 1, "ACTIVE", "Ethernet")
    assert [gid["index"] for gid in port["gids"]] == [3]
    assert "lifespan" not in port["counters"]["hw_counters"]
    places = snapshots.rdma({"gpu01": {"before": before, "after": after}}, ["gpu01"], ["192.0.2.0/24"])["places"]
    assert places["gpu01"]["sent_bytes"] == 4 * 4000
    assert places["gpu01"]["why"] == ""


def test_counters_of_devices_that_do_not_exist_are_marked(tmp_path: Path) -> None:
    assert home.node_counters(counted(tmp_path, "before", sysfs(tmp_path / "sys", 1, simulated=True)), "gpu01")[
        "simulated"
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[: len(text) // 2], "is cut"),
        (lambda _text: "", "is cut"),
        (lambda text: "what is this\n" + text, "an unknown line"),
        (lambda text: "file class/infiniband/mlx5_0/ports/1/unheard 1\n" + text, "an unknown file"),
        (lambda text: "file class/net/eth0 1\n" + text, "an unknown file"),
    ],
)
def test_half_a_reading_or_an_unknown_one_is_none(tmp_path: Path, change: Callable[[str], str], words: str) -> None:
    text = counted(tmp_path, "before", sysfs(tmp_path / "sys", 1000))
    found = home.node_counters(change(text), "gpu01")
    assert words in found["error"]
    assert found["devices"] == []
