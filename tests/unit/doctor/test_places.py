"""The host of a line, whatever launchers and collectors of logs put in front of it."""

from __future__ import annotations

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

NCCL = "{host}:815:864 [0] transport/net_ib.cu:80 NCCL WARN NET/IB : mlx5_0:1 Got async event : port error"
FRONTS = (
    "",
    "0: ",
    "> ",
    "[0] ",
    "[80746] ",
    "[1,12]<stdout>:",
    "[2026-01-04 21:33:04] ",
    "2026-01-04 21:33:04 ",
    "2019-06-02T16:13:44.884Z: [1,12]<stdout>:",
    "Jan  4 21:33:04 head slurmd[812]: ",
    "[default0]:",
    "(RayWorkerWrapper pid=812, ip=192.0.2.7) ",
    "[pod/job-0/main] ",
    "worker-1 | ",
    "INFO 10-27 07:48:16 ",
)


@pytest.mark.parametrize("host", ["gpu01", "node1", "GPU-606", "node023", "container-e275-01-000057", "b5192-mn"])
@pytest.mark.parametrize("front", FRONTS)
def test_nccl_names_its_host(front: str, host: str) -> None:
    found = diagnose(None, {"job.log": front + NCCL.format(host=host) + "\n"})
    assert {tuple(finding["hosts"]) for finding in found["findings"]} == {(host,)}


@pytest.mark.parametrize(
    ("line", "hosts"),
    [
        ("[1645552289.027611] [m7-31:723275:0]      ib_mlx5.c:93   UCX  ERROR mlx5dv_create_cq(cqe=4608) failed: "
         "Operation canceled", ["m7-31"]),
        ("srun: error: Task launch for 5.0 failed on node gpu7: Communication connection failure", ["gpu7"]),
        ("srun: error: fwd_tree_thread: can't find address for host gpu8, check slurm.conf", ["gpu8"]),
        ("[2024-05-02T10:11:12.100] error: Node gpu9 has low cpu count (1 < 20)", ["gpu9"]),
        ("srun: error: gpu5: task 3: Out Of Memory", ["gpu5"]),
        ("node7: mlx5_core 0000:01:00.0: ENABLE_HCA(0x104) failed", ["node7"]),
        ("process rank 1 with PID 39 on node job-worker-1 exited on signal 9 (Killed).", ["job-worker-1"]),
        ("launch failed on x3006c0s1b1n0: Operation not permitted", ["x3006c0s1b1n0"]),
        ("slurmstepd-sp-0016: error: pyxis: couldn't start container", ["sp-0016"]),
        ("debug*       up   infinite      2  down* gpu02", ["gpu02"]),
        ("sqlite3.OperationalError: [Errno 28] No space left on device", []),
        ("12:30:45 [812] mlx5_core 0000:01:00.0: ENABLE_HCA(0x104) failed", []),
    ],
)  # fmt: skip
def test_so_do_others_and_a_time_is_no_host(line: str, hosts: list[str]) -> None:
    found = diagnose(None, {"job.log": line + "\n"})
    assert found["findings"][0]["hosts"] == hosts


def test_ranks_of_two_hosts_are_compared_behind_a_label() -> None:
    said = "{label}: node{label}:7:9 [0] NCCL INFO NCCL version {version}+cuda12.4\n"
    text = said.format(label=0, version="2.21.5") + said.format(label=1, version="2.27.3")
    assert diagnose(None, {"job.log": text})["findings"][0]["cause"] == "nccl_mixed"


def test_the_rank_that_is_missing_is_named_and_not_the_one_that_waits() -> None:
    line = "[1,0]<stderr>:[W horovod/common/operations.cc:588] HorovodBroadcast_dense_0 [missing ranks: 3, 5]"
    assert [finding["rank"] for finding in diagnose(None, {"job.log": line + "\n"})["findings"]] == [3]


def test_the_host_of_a_row_is_in_the_table_of_torchrun() -> None:
    rows = [
        "[0]:",
        "  time      : 2026-01-04",
        "  host      : {host}",
        "  rank      : 9 (local_rank: 1)",
        "  exitcode  : -9 (pid: 9)",
    ]
    text = "\n".join(["torch.distributed.elastic", *rows, "-" * 9]).format(host="gpu05.site")
    assert diagnose(None, {"job.log": text + "\n"})["findings"][0]["hosts"] == ["gpu05.site"]
    far = "\n".join([*text.splitlines()[:2], text.splitlines()[3], *["-" * 9] * 9, "exitcode  : -9 (pid: 9)"])
    assert diagnose(None, {"job.log": far + "\n"})["findings"][0]["hosts"] == []


def test_of_errors_that_nccl_passes_on_the_own_one_comes_before_that_of_a_peer() -> None:
    text = (
        "gpu02:7:9 [0] NCCL INFO misc/socket.cc:61 (socketProgress) -> 6\n"
        "gpu02:7:9 [0] misc/socket.cc:59 (socketProgress) NCCL WARN Connection closed by remote peer gpu01\n"
        "gpu01:8:9 [0] NCCL INFO init.cc:1358 (initTransportsRank) -> 1\n"
    )
    (finding,) = diagnose(None, {"job.log": text})["findings"]
    assert (finding["cause"], finding["host"]) == ("nccl_call_failed", "gpu01")


STATUS = (
    "[rank{rank}]:[E1114 12:00:00.0 ProcessGroupNCCL.cpp:2271] [PG ID {group} PG GUID {group}(default_pg) Rank {rank}] "
    " failure detected by watchdog at work sequence id: 14 "
    "PG status: last enqueued work: {begun}, last completed work: {done}\n"
)
DUMP = (
    "[rank{rank}]:[E1114 12:00:00.0 ProcessGroupNCCL.cpp:1870] [PG ID {group} PG GUID {group}(default_pg) Rank {rank}] "
    "Received a dump signal due to a collective timeout from  rank 1. "
    "Last enqueued NCCL work: {begun}, last completed NCCL work: {done}.\n"
)


@pytest.mark.parametrize(
    ("ranks", "behind"),
    [
        # Rank, group, what it has enqueued and completed.
        ([(0, 0, 16, 13), (1, 0, 14, 13), (3, 0, 13, 13)], 3),
        ([(0, 0, 14, 13), (3, 0, 12, 12)], 3),
        ([(0, 0, 16, 13), (1, 0, 14, 13), (3, 0, 14, 13)], None),
        ([(0, 0, 14, 13), (1, 0, 13, 13), (3, 0, 13, 13)], None),
        ([(0, 1, 16, 13), (1, 1, 14, 13), (3, 2, 7, 6)], None),
        ([(0, 0, 13, 13), (1, 0, 13, 13), (3, 0, 12, 12)], None),
    ],
)
def test_the_rank_that_has_not_begun_what_others_wait_for_is_the_place(
    ranks: list[tuple[int, int, int, int]], behind: int | None
) -> None:
    names = "".join(f"gpu0{rank}:7:9 [0] NCCL INFO comm 0x1 rank {rank} nranks 4 cudaDev 0\n" for rank in range(4))
    said = [
        (STATUS if begun > done else DUMP).format(rank=rank, group=group, begun=begun, done=done)
        for rank, group, begun, done in ranks
    ]
    found = diagnose(None, {"job.log": names + "".join(said)})["findings"]
    places = [(each["host"], each["rank"]) for each in found if each["cause"] == "rank_missing"]
    assert places == ([] if behind is None else [(f"gpu0{behind}", behind)])


def test_the_host_of_a_message_of_open_mpi_stands_below_its_words() -> None:
    box = (
        "-" * 74
        + "\nA requested component was not found, or was unable to be opened.\n\nHost:      {host}\n"
        + "-" * 74
    )
    text = "\n".join(["mpirun: starts", *(box.format(host=host) for host in ("gpu05", "gpu06")), "NCCL WARN x"])
    found = diagnose(None, {"job.log": text})
    assert found["findings"][0]["hosts"] == ["gpu05", "gpu06"]
