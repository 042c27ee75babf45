"""Who stood still is named, not who complains. gloo's texts are recorded; the others are composed from known forms."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.failure import Diagnosis, diagnose
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import Node

RECORDED = pathlib.Path(__file__).parent / "fixtures" / "hangs"
HOSTS = (Node("gpu01", "192.0.2.11", 2), Node("gpu02", "192.0.2.12", 2))
THREE = (Node("gpu01", "192.0.2.11"), Node("gpu02", "192.0.2.12"), Node("gpu03", "192.0.2.13"))


def watchdog(rank: int, number: int = 1580, what: str = "ALLREDUCE", tagged: bool = True) -> str:
    tag = f"[1,{rank}]<stderr>:" if tagged else ""
    return (
        f"{tag}[rank{rank}]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank {rank}] Watchdog caught "
        f"collective operation timeout: WorkNCCL(SeqNum={number}, OpType={what}, NumelIn=4, NumelOut=4, "
        "Timeout(ms)=600000) ran for 600060 milliseconds before timing out.\n"
    )


def progress(rank: int, enqueued: int, completed: int) -> str:
    return (
        f"[1,{rank}]<stderr>:[rank{rank}]:[E321 02:07:08.465150152 ProcessGroupNCCL.cpp:1664] [PG 1 Rank {rank}] "
        f"Exception (either an error or timeout) detected by watchdog at work: 1580, last enqueued NCCL work: "
        f"{enqueued}, last completed NCCL work: {completed}.\n"
    )


def closed(rank: int, peer: str) -> str:
    return (
        f"[1,{rank}]<stderr>:RuntimeError: [./gloo/transport/tcp/pair.cc:589] Read error [{peer}]:23937: Broken pipe\n"
    )


def told(found: Diagnosis) -> tuple[str, tuple[str, ...], int | None]:
    return found.cause, found.hosts, found.rank


def test_a_stopped_rank_is_named_and_not_those_that_ran_into_their_limit() -> None:
    """Recorded: three ranks under Open MPI 4.1.4, rank 1 under SIGSTOP; mpirun itself blames rank 0."""
    text = (RECORDED / "gloo_sigstop_rank1.txt").read_text()
    assert "Process name: [[" in text
    found = diagnose(1, text, "", THREE)
    assert told(found) == ("rank_stuck", ("gpu02",), 1)
    assert "2 ranks waited" in found.summary
    assert "Timed out waiting 20000ms" in found.evidence


def test_a_killed_rank_is_named_by_mpirun_and_not_by_its_peers() -> None:
    found = diagnose(137, (RECORDED / "gloo_sigkill_rank1.txt").read_text(), "", THREE)
    assert told(found) == ("host_memory", ("gpu02",), 1)


@pytest.mark.parametrize("tagged", [True, False])
def test_the_rank_that_the_watchdogs_of_all_others_wait_for_is_named(tagged: bool) -> None:
    text = "".join(watchdog(rank, tagged=tagged) for rank in (0, 1, 3))
    found = diagnose(1, "", text, HOSTS)
    assert told(found) == ("rank_stuck", ("gpu02",), 2)
    assert "3 ranks waited in ALLREDUCE number 1580 for 600 s" in found.summary


def test_the_few_ranks_that_wait_in_an_earlier_collective_held_up_the_others() -> None:
    text = watchdog(3, 1579, "BROADCAST") + "".join(watchdog(rank) for rank in (0, 1, 2))
    assert told(diagnose(1, "", text, HOSTS)) == ("rank_stuck", ("gpu02",), 3)


def test_where_all_wait_in_the_same_exchange_nobody_is_accused() -> None:
    """One has enqueued fewer than the others beyond it."""
    text = "".join(watchdog(rank) + progress(rank, 1580 if rank == 2 else 1582, 1579) for rank in range(4))
    found = diagnose(1, "", text, HOSTS)
    assert told(found) == ("collective_hang", (), None)
    assert "network" in found.remedy


def test_where_half_waits_in_each_of_two_exchanges_nobody_is_accused() -> None:
    text = "".join(watchdog(rank, 1579 + rank % 2) for rank in range(4))
    assert diagnose(1, "", text, HOSTS).cause == "collective_hang"


def test_a_monitored_barrier_names_who_is_missing() -> None:
    text = "[1,0]<stderr>:RuntimeError: [Rank 0]: Ranks 2, 3 failed to pass monitoredBarrier in 60000 ms\n"
    assert told(diagnose(1, "", text, HOSTS)) == ("rank_stuck", ("gpu02",), 2)


@pytest.mark.parametrize(
    "text",
    [
        closed(0, "192.0.2.12") + closed(1, "192.0.2.12"),
        "[1,0]<stdout>:gpu01:1:2 [0] NCCL WARN socketProgress: Connection closed by remote peer 192.0.2.12<43210>\n",
        "[1,0]<stdout>:gpu01:1:2 [0] misc/socket.cc:500 NCCL WARN Call to recv from 192.0.2.12<43> failed : broken\n",
        "[1,0]<stdout>:gpu01:1:2 [0] misc/socket.cc:500 NCCL WARN Call to send to 192.0.2.12<43> failed : broken\n",
    ],
)
def test_the_peer_that_went_away_is_named_and_not_who_lost_it(text: str) -> None:
    found = diagnose(1, "", text, HOSTS)
    assert told(found) == ("peer_lost", ("gpu02",), None)


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", "nvml_mismatch"),
        ("RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please", "driver_too_old"),
        ("CUDA driver version is insufficient for CUDA runtime version", "driver_too_old"),
        (
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
            "fabric_manager",
        ),
        ("kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.", "gpu_fault"),
        ("OSError: [Errno 28] No space left on device: '/workspace/out.json'", "disk_full"),
        ("cp: error writing '/data/x': No space left on device", "disk_full"),
        ("RuntimeError: unable to write to file </dev/shm/torch_1>: No space left on device (28)", "shared_memory"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "cuda"),
        ("RuntimeError: CUDA error: out of memory", "gpu_memory"),
        ("torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:1691, internal error", "nccl"),
        ("mpirun has detected an attempt to run with a different version", "version_mismatch"),
    ],
)
def test_lines_of_driver_gpu_and_disk_get_their_own_cause(line: str, cause: str) -> None:
    found = diagnose(1, "", f"[1,2]<stderr>:{line}\n", HOSTS)
    assert found.cause == cause
    assert cause == "version_mismatch" or found.hosts == ("gpu02",)


def test_the_rank_that_failed_is_not_hidden_by_the_echoes_of_those_that_lost_it() -> None:
    """A cascade: each rank that loses a peer ends too, and is lost by others. mpirun says who was the first."""
    text = (
        "[1,3]<stderr>:ValueError: a bad sample\n"
        + "".join(closed(rank, peer) for rank, peer in ((0, "192.0.2.12"), (1, "192.0.2.11"), (2, "192.0.2.11")))
        + "  Process name: [[9877,1],3]\n  Exit code:    1\n"
    )
    found = diagnose(1, "", text, HOSTS)
    assert told(found) == ("rank_failed", ("gpu02",), 3)
    assert "ValueError" in found.evidence


def test_the_tag_of_mpirun_goes_before_a_rank_within_a_group() -> None:
    """In tensor x data parallel jobs the watchdog's number counts within its process group."""
    text = "".join(f"[1,{rank}]<stderr>:" + watchdog(rank % 2, tagged=False) for rank in (0, 1, 3))
    assert told(diagnose(1, "", text, HOSTS)) == ("rank_stuck", ("gpu02",), 2)


def test_the_first_cause_stays_before_the_echo_of_its_victims() -> None:
    text = "[1,3]<stderr>:RuntimeError: CUDA error: an illegal memory access was encountered\n" + closed(
        0, "192.0.2.12"
    )
    assert told(diagnose(1, "", text, HOSTS)) == ("cuda", ("gpu02",), 3)


def test_a_run_without_any_of_it_is_judged_as_before() -> None:
    assert diagnose(1, "", "[1,0]<stdout>:all is well\n", HOSTS).cause == "unknown"


STEPS = "".join(f"[1,0]<stdout>:{step}\timages/sec: 10.0 +/- 0.0 (jitter = 0.0)\t7.0\n" for step in (10, 20))
ERROR = "[1,0]<stderr>:ValueError: cannot read cache, rebuilding\n"
EXIT = "  Process name: [[9877,1],{rank}]\n  Exit code:    1\n"


@pytest.mark.parametrize(
    ("stdout", "stderr", "expected"),
    [
        ("", ERROR + STEPS + closed(1, "192.0.2.13"), ("peer_lost", ("gpu03",), None)),
        (STEPS, ERROR + closed(1, "192.0.2.13"), ("peer_lost", ("gpu03",), None)),
        (STEPS, ERROR + closed(1, "192.0.2.11"), ("rank_failed", ("gpu01",), 0)),
        ("", ERROR + STEPS + closed(1, "192.0.2.11"), ("peer_lost", ("gpu01",), None)),
        ("", ERROR + closed(1, "198.51.100.7"), ("rank_failed", ("gpu01",), 0)),
        ("", ERROR + STEPS + closed(1, "198.51.100.7"), ("peer_lost", ("198.51.100.7",), None)),
    ],
    ids=[
        "went-on-and-another-was-lost",
        "another-was-lost",
        "its-last-words-and-it-was-lost",
        "went-on-and-was-lost",
        "its-last-words-and-the-lost-address-is-nobodys",
        "went-on-and-the-lost-address-is-nobodys",
    ],
)
def test_an_error_accuses_only_a_rank_that_it_may_have_ended(
    stdout: str, stderr: str, expected: tuple[str, tuple[str, ...], int | None]
) -> None:
    """Steps and errors may come in one stream or in two."""
    assert told(diagnose(1, stdout, stderr, THREE)) == expected


@pytest.mark.parametrize(
    ("behind", "words"),
    [
        ("[1,0]<stderr>:KeyError: 'weight'\n", "KeyError"),
        ("[1,0]<stderr>:[W] Warning: ProcessGroupNCCL was not destroyed\n", "cannot read cache"),
        ("[1,0]<stderr>:nothing is left to try\n", "left to try"),
    ],
    ids=["last-error", "echo-behind-it", "went-on"],
)
def test_the_evidence_of_a_failed_rank_is_its_last_error_unless_it_went_on(behind: str, words: str) -> None:
    found = diagnose(1, "", ERROR + behind + EXIT.format(rank=0), THREE)
    assert told(found) == ("rank_failed", ("gpu01",), 0)
    assert words in found.evidence
