"""Only a whole job is healthy: 100 failures without a word of trouble, and what they do not show."""

from __future__ import annotations

import gzip
import pathlib
import re
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import STATUS, diagnose

from tests.unit.doctor import attack_programs as programs
from tests.unit.doctor.silent_failures import SILENT, SOUND_JOBS, tagged


def ask(text: str) -> dict[str, Any]:
    return diagnose(None, {"job.log": text})


def codes(found: dict[str, Any]) -> set[str]:
    return {gap["code"] for gap in found["not_shown"]}


def test_silent_failures_are_a_hundred() -> None:
    assert len(set(SILENT.values())) == len(SILENT) >= 100


@pytest.mark.parametrize("name", SILENT)
def test_silent_failure_is_never_healthy(name: str) -> None:
    found = ask(SILENT[name])
    assert found["verdict"] in ("no_fault_seen", "cannot_tell")
    assert found["not_shown"] or found["findings"] or found["line"]


@pytest.mark.parametrize("name", SOUND_JOBS)
def test_whole_job_is_healthy(name: str) -> None:
    found = ask("\n".join(SOUND_JOBS[name]))
    assert (found["verdict"], found["not_shown"], found["next"]) == ("healthy", [], [])
    assert found["shown"]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("last_row", "two hosts: row 18 is the last"),
        ("last_row", "one host: the header alone"),
        ("job_end", "two hosts: row 28 is the last"),
        ("job_end", "steps: line 9 is the last"),
        ("last_step", "counted steps: line 9 is the last"),
        ("job_end", "two hosts: silence behind the rings"),
        ("job", "no name: alone"),
        ("wrong_values", "one host: nan"),
        ("figure", "two hosts: 0.1 of the link"),
        ("figure", "one host: 0.1 of the link"),
        ("figure", "two hosts: each host alone"),
        ("link_speed", "two hosts: a tenth, and no word of the link"),
        ("gpus", "1 hosts: seven GPUs"),
        ("gpus", "two hosts: without rank 15"),
        ("ranks", "one host: rank 3 is not up"),
        ("ranks", "tagged: rank 3 has no end"),
    ],
)
def test_gap_has_the_code_of_what_is_missing(code: str, name: str) -> None:
    assert code in codes(ask(SILENT[name]))


@pytest.mark.parametrize("name", [name for name in SILENT if ": nan" in name or ": inf" in name])
def test_figure_of_a_training_that_is_no_number_is_the_line_of_the_fault(name: str) -> None:
    found = ask(SILENT[name])
    if "host" in name:  # figures of a test are judged by its table
        assert "wrong_values" in codes(found)
    else:
        assert found["verdict"] == "cannot_tell"
        assert {"nan", "inf"} & set(re.split(r"\W+", found["line"]["text"]))
        assert found["line"]["text"] in found["message"].replace("\\t", "\t")


def test_no_fault_seen_has_an_exit_status_of_its_own() -> None:
    assert STATUS == {"healthy": 0, "faulty": 2, "cannot_tell": 3, "no_fault_seen": 6}


def test_glued_lines_of_ranks_count_for_each() -> None:
    lines = tagged(4)
    glued = [a + b for a, b in zip(lines[::2], lines[1::2])]
    assert ask("\n".join(glued))["verdict"] == "healthy"
    assert "job_end" in codes(ask("\n".join(glued[:-1])))


def test_processes_without_tags_that_end_are_counted() -> None:
    untagged = [line.partition(":")[2] for line in tagged(4)]
    glued = [f"{number} {line}".replace(" Done", "Done") for number, line in enumerate(untagged)]
    assert ask("\n".join(glued))["verdict"] == "healthy"
    assert codes(ask("\n".join(glued[:-1]))) == {"ranks"}


def test_last_step_of_a_long_log_is_read() -> None:
    steps = [f"step {n}/5000 loss: 2.{n % 10}" for n in range(1, 5001)]
    assert ask("\n".join(steps))["verdict"] == "healthy"
    assert codes(ask("\n".join(steps[:-1]))) == {"last_step"}


def test_connections_that_close_while_a_job_ends_are_no_trouble() -> None:
    """NCCL's threads find their peers gone while ranks end one by one."""
    steps = [f"step {n}/200 loss: 2.{n % 10}" for n in range(1, 201)]
    trail, end = "gpu02:7070:7147 [0] NCCL INFO misc/socket.cc:832 -> 3", "Training completed"
    reset = "gpu02:7070:7147 [0] NCCL WARN Net : Call to recv from 192.0.2.11<33411> failed : Connection reset by peer"
    rows = ([*steps, trail, end], [*steps, end, trail], [*steps[:150], trail], [*steps, end, reset, trail])
    verdicts = [ask("\n".join(lines))["verdict"] for lines in rows]
    assert verdicts == ["healthy", "healthy", "cannot_tell", "cannot_tell"]


def test_a_communicator_that_grew_is_complete_though_its_end_names_its_parent() -> None:
    line = "gpu0{0}:7:9 [0] NCCL INFO {1} comm 0x6{0} rank {0} nranks 2 cudaDev 0 busId b1000 {2}"
    start = [line.format(rank, "[Rank 0] ncclCommGrow", "commId 0x22 - Init START") for rank in range(2)]
    old = line.format(0, "ncclCommGrow", "parent 0x5 childCount 1 color 0 key 0 - Init COMPLETE")
    new = line.format(1, "ncclCommGrow", "commId 0x22 - Init COMPLETE")
    assert codes(ask("\n".join([*start, old, new]))) == {"job_end"}
    assert codes(ask("\n".join([*start, new]))) == {"ranks"}


def test_second_job_that_hangs_beside_a_whole_one_is_a_gap() -> None:
    job = SOUND_JOBS["steps"]
    assert codes(ask("\n".join([*job, *job[:-1]]))) == {"job_end"}


def test_gpus_of_nvidia_smi_without_part_in_the_job_are_a_gap() -> None:
    job = "\n".join(SOUND_JOBS["four hosts"])
    smi = "".join(f"|   {n}  NVIDIA L40S          On  | 00000000:0{n}:00.0 Off |       0 |\n" for n in range(4))
    assert codes(diagnose(None, {"job/a.log": job, "hosts/gpu02/nvidia-smi.txt": smi})) == {"gpus"}


def test_speed_of_ethtool_bounds_the_figure() -> None:
    job = "\n".join(line for line in SOUND_JOBS["four hosts"] if "speed=" not in line)
    assert codes(ask(job)) == {"link_speed"}
    fast, slow = ({"job/a.log": job, "hosts/gpu01/ethtool.txt": f"Speed: {n}Mb/s\n"} for n in (400_000, 100_000))
    assert codes(diagnose(None, fast)) == {"figure"}
    assert diagnose(None, slow)["verdict"] == "healthy"


def test_of_several_speeds_that_hosts_have_none_bounds_the_figure() -> None:
    links = "Speed: 10000Mb/s\nSpeed: 400000Mb/s\n"
    told = "\n".join(SOUND_JOBS["four hosts"])
    untold = "\n".join(line for line in SOUND_JOBS["four hosts"] if "speed=" not in line)
    assert codes(diagnose(None, {"job/a.log": untold, "hosts/gpu01/ethtool.txt": links})) == {"link_speed"}
    assert diagnose(None, {"job/a.log": told, "hosts/gpu01/ethtool.txt": links})["verdict"] == "healthy"
    slow = re.sub(r"speed=\d+", "speed=400000", told)
    assert codes(diagnose(None, {"job/a.log": slow, "hosts/gpu01/ethtool.txt": links})) == {"figure"}


def test_log_that_is_cut_in_its_archive_is_a_gap(tmp_path: pathlib.Path) -> None:
    steps = [f"step {n} loss: {n * n % 9973}" for n in range(10_000)]
    packed = gzip.compress("\n".join([*steps, "Training complete", *["-" * 64] * 10_000, ""]).encode())
    (tmp_path / "job.log.gz").write_bytes(packed[:-4])
    assert "rest" in codes(diagnose(tmp_path))


@pytest.mark.parametrize(
    ("card", "codes_of_it"),
    [("NVIDIA H200", {"figure"}), ("NVIDIA H200 NVL", {"link_speed"}), ("NVIDIA GH200 480GB", {"link_speed"})],
)
def test_what_nvlink_carries_is_that_of_the_board(card: str, codes_of_it: set[str]) -> None:
    text = "\n".join(programs.nccl_tests(1, 4, card, 68.0, release="2.17"))
    assert codes(ask(text)) == codes_of_it


def test_each_launch_of_a_text_has_its_own_processes() -> None:
    run = "$ horovodrun -np {0} python train.py\n[0]<stdout>:Number of GPUs: {1}\n"
    run += "".join(f"[0]<stdout>:Iter #{number}: 62.{number} img/sec per GPU\n" for number in range(10))
    assert "ranks" not in codes(ask(run.format(1, 1) + run.format(2, 2)))
    assert "ranks" in codes(ask(run.format(1, 1) + run.format(2, 1)))


@pytest.mark.parametrize(("host", "causes"), [("gpu02", []), ("gpu09", ["name_resolution"])])
def test_host_that_was_not_there_at_first_is_no_trouble_of_a_job_that_it_took_part_in(
    host: str, causes: list[str]
) -> None:
    job = programs.nccl_tests(2, 8, "NVIDIA A100-SXM4-80GB", 180.0)
    found = ask("\n".join([f"ssh: Could not resolve hostname {host}.job: Name or service not known", *job]))
    assert [finding["cause"] for finding in found["findings"]] == causes


WORK = [*(f"step {number} loss: {2 + number / 977:.4f}" for number in range(40, 0, -1))]
AGENT = "[INFO] Local worker group finished (WorkerState.{}). Waiting 300 seconds for other agents to finish"
IGNORED = [
    "Exception ignored in: <function Pool.__del__ at 0x7f16>",
    "Traceback (most recent call last):",
    '  File "/opt/env/lib/python3.10/site-packages/pool.py", line 680, in __del__',
    "TypeError: 'NoneType' object is not callable",
]
NUMPY = [
    "A module that was compiled using NumPy 1.x cannot be run in",
    "NumPy 2.1.2 as it may crash. To support both 1.x and 2.x",
    'Traceback (most recent call last):  File "/opt/env/bin/torchrun", line 5, in <module>',
]
BARE = "libibverbs: Warning: no userspace device-specific driver found for /sys/class/infiniband_verbs/uverbs1"


@pytest.mark.parametrize(
    ("verdict", "lines"),
    [
        ("healthy", [*NUMPY, *WORK, *IGNORED, *IGNORED, AGENT.format("SUCCEEDED")]),
        ("cannot_tell", [*WORK, *IGNORED, AGENT.format("FAILED"), AGENT.format("SUCCEEDED")]),
        ("cannot_tell", [*WORK, *IGNORED, *IGNORED[1:], AGENT.format("SUCCEEDED")]),
        ("cannot_tell", [*WORK, *IGNORED[:2], *WORK, *WORK, IGNORED[3], AGENT.format("SUCCEEDED")]),
        ("faulty", [*WORK, *IGNORED, "ModuleNotFoundError: No module named 'apex'", AGENT.format("SUCCEEDED")]),
        ("no_fault_seen", [BARE, *WORK, AGENT.format("SUCCEEDED")]),
        ("cannot_tell", [*WORK, BARE]),
        ("cannot_tell", [BARE, *WORK, "ERROR: RDMA is needed"]),
        # What a batch script says behind its program is no end of the ranks.
        ("no_fault_seen", [*(f"{rank}: {line}" for rank in range(2) for line in WORK), "DONE!"]),
    ],
)
def test_what_a_job_outlived_is_no_trouble_and_its_own_failure_is(verdict: str, lines: list[str]) -> None:
    assert ask("\n".join(["NCCL version 2.18.1", *lines]))["verdict"] == verdict


PORT = "Port          Align-Err    FCS-Err   Xmit-Err    Rcv-Err  UnderSize OutDiscards\n-----\n"


@pytest.mark.parametrize(
    ("causes", "row"),
    [
        (["link_faulty"], "Eth1/1   0   4711   0   0   1000   0"),
        (["switch_pfc"], "Eth1/1   0   0   0   0   0   90000"),
        ([], "Eth1/1   0   3   0   --   1000   0"),
        ([], "Eth1/1   4711   4711"),
    ],
)
def test_counters_of_ports_are_those_of_their_head(causes: list[str], row: str) -> None:
    found = ask(PORT + row)
    assert [each["cause"] for each in found["findings"]] == causes
    assert not any("Align" in each["text"] for each in found["unknown"])


STORE = (
    "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed."
)
BEAT = (
    "The node 'gpu02_1_0' has failed to send a keep-alive heartbeat to the rendezvous '17' due to an error of type X."
)
WATCHDOG = "[E ProcessGroupNCCL.cpp:474] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)"
EXIT, CANCELLED = (
    "srun: error: gpu01: task 0: Exited with exit code 1",
    "slurmstepd: error: *** JOB 5 ON gpu01 CANCELLED AT X ***",
)


@pytest.mark.parametrize(
    ("first", "lines"),
    [
        (("store_not_reached", "candidate"), [STORE]),
        (("rank_missing", "candidate"), [WATCHDOG, EXIT, BEAT, "RuntimeError: Broken pipe", STORE]),
        (("job_cancelled", "likely"), [CANCELLED, "srun: error: gpu01: task 0: Terminated"]),
        (("job_cancelled", "candidate"), [EXIT, CANCELLED]),
    ],
)
def test_echoes_of_an_end_are_behind_it(first: tuple[str, str], lines: list[str]) -> None:
    found = ask("\n".join([*WORK, *lines]))["findings"][0]
    assert (found["cause"], found["certainty"]) == first


def steps(*rates: float) -> str:
    return "".join(
        f"completed step: {at}, seconds: 1.1, Tokens/s/device: {rate}, loss: {9.1234 - at}\n"
        for at, rate in enumerate(rates)
    )


@pytest.mark.parametrize(
    ("rates", "uneven"),
    [
        ((9100.0, 512.1, 511.4, 512.2), False),  # the first step returns before its work is done
        ((512.1, 9100.0, 511.4, 512.2), False),
        ((9100.0, 9104.2, 511.4, 512.2), True),
        ((512.1, 511.4, 512.2), False),
    ],
)
def test_a_rate_that_one_line_alone_reaches_is_no_pace(rates: tuple[float, ...], uneven: bool) -> None:
    assert ("figure" in codes(ask(steps(*rates)))) is uneven


@pytest.mark.parametrize(("norm", "whole"), [("nan", False), ("0.752", True)])
def test_a_norm_that_is_no_number_to_the_end_is_not_sound(norm: str, whole: bool) -> None:
    line = " iteration {:8}/    8000 | elapsed time per iteration (ms): 7613.1 | loss scale: 1.0 | grad norm: {} |\n"
    found = ask("".join(line.format(at, "0.741" if at < 9 else norm) for at in range(1, 15)))
    assert ("figure" not in codes(found), found["verdict"] == "no_fault_seen") == (whole, whole)


HEAD = "# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20\n"
RANKS = "".join(
    f"#  Rank  {n} Group  0 Pid 4{n} on gpu0{n + 1} device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n" for n in (0, 1)
)
BROKEN = "gpu01: Test NCCL failure common.cu:1279 'remote process exited or there was a network error / '\n"


def test_a_test_behind_one_that_failed_before_its_table_is_no_second_job_beside_it() -> None:
    found = ask(f"{HEAD}{RANKS}{BROKEN}{HEAD}{RANKS}{BROKEN}")
    assert "ranks_alone" not in [finding["cause"] for finding in found["findings"]]
    assert found["line"]["line"] == 4
    beside = ask(f"{HEAD}{RANKS.splitlines()[0]}\n" * 2)
    assert [finding["cause"] for finding in beside["findings"]] == ["ranks_alone"]


@pytest.mark.parametrize(
    "line",
    [
        "Downloading data: 100%|##########| 9990/9990 [00:00<00:00, 39.6MB/s]",
        "Generating train split: 100%|##########| 2119719/2119719 [00:05<00:00, 356503.03 examples/s]",
    ],
)
def test_what_comes_before_the_steps_is_no_end_of_a_job(line: str) -> None:
    begun = "[rank0] world_size=16, NCCL version 2.21.5+cuda12.4\n"
    assert ask(f"{begun}{line}\n[rank 2] Step: 1 | Loss: 10.9062\n")["verdict"] != "healthy"


def test_a_label_of_a_node_is_no_end_of_a_job() -> None:
    label = "machineconfiguration.openshift.io/state: Done"
    found = ask(f"Name:    gpu01\nRoles:   worker\n    {label}\nCapacity:\n  nvidia.com/gpu:  8\n")
    assert found["verdict"] == "no_fault_seen"
