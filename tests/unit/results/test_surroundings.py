"""What a careful person reads from lines in the surroundings in which people publish them.

Each row: a text of our own, the kind of reader, and what it must say (`path` is the filter nccl_path). Forms: the
source of NCCL 2.8 to 2.30, nccl-tests 2.0 to 2.19, perftest 4 to 24; prefixes of Open MPI, Slurm, kubectl, pdsh, Ray,
torchrun, docker compose, journald and GitHub Actions.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import pytest
from ansible_collections.rocemesh.multinode.plugins.filter.nccl_path import nccl_path
from ansible_collections.rocemesh.multinode.plugins.filter.read_log import read_log

from .nccl_shapes import HOSTS, Job
from .test_nccl_tests import COLUMNS, HEAD, SOUND, device, devices, footer, row
from .test_perftest import GBITS, RULE, SETTINGS, TITLE
from .test_perftest import ROW as PERF_ROW

Found = dict[str, Any]
ALONE = HEAD + device(0, "gpu01", 71) + COLUMNS + row(1048576, factor=0) + row(2097152, factor=0) + footer(0)
INFINITE = (" 65536  882805  0.00  92.57  0.176554\n", " 65536  882791  0.00  92.56  0.176552\n")
FAILURE = "{}: Test NCCL failure common.cu:1204 'unhandled cuda error (run with NCCL_DEBUG=INFO for details) / '\n"
RANKS = "gpu0{}:7{}:7{} [{}] NCCL INFO comm 0x55a2 rank {} nRanks 4 nNodes 2 localRanks 2 localRank {} MNNVL 0\n"
CROSSING = "gpu02:72:72 [0] NCCL INFO Channel 00/0 : {} [{}] via NET/{}\n"


@dataclasses.dataclass(frozen=True)
class Form:
    name: str
    kind: str
    text: str
    right: Callable[[Found], bool]


def codes(found: Found) -> list[str]:
    return [problem["code"] for problem in found["problems"]]


def said(found: Found) -> str:
    return " ".join(problem["message"] for problem in found["problems"])


def before(text: str, *labels: str) -> str:
    """Each line behind a label; several labels take turns."""
    return "".join(labels[at % len(labels)] + line for at, line in enumerate(text.splitlines(keepends=True)))


def same_table(found: Found) -> bool:
    return bool(found["tables"] == read_log(SOUND, "nccl_tests")["tables"] and found["one_job"] is True and found["ok"])


def one_of_perftest(found: Found) -> bool:
    (test,) = found["tests"]
    return bool(found["ok"] and test["largest"]["gigabits_per_second"] == 391.87 and test["device"] == "mlx5_0")


PERF = RULE + TITLE + SETTINGS + RULE + GBITS + PERF_ROW + RULE
CUT = Job(HOSTS and "2.21.5", HOSTS[:2], channels=False, complete=False)

FORMS = [
    # ------------------------------------------------------------------------------------- who wrote a line of NCCL
    Form(
        "hosts-of-warnings-and-returns-alone",
        "nccl_log",
        "n1:5:9 [0] NCCL INFO proxy.cc:698 -> 6\n[pod/w-1/c] n2:6:9 [1] transport/net.cc:1 NCCL WARN bind failed\n",
        lambda found: found["hosts"] == ["n1", "n2"],
    ),
    Form(
        "hosts-behind-the-date-of-actions",
        "nccl_log",
        "2025-05-05T06:16:47.1234567Z n1:5:9 [0] NCCL INFO cudaDriverVersion 12080\n",
        lambda found: found["hosts"] == ["n1"],
    ),
    Form(
        "a-name-that-lost-its-beginning-is-no-second-host",
        "nccl_log",
        "worker-1:5:9 [0] NCCL INFO a\nworker-1:5:9 [0] NCCL INFO b\nrker-1:5:9 [0] NCCL INFO c\n",
        lambda found: found["hosts"] == ["worker-1"],
    ),
    Form(
        "hosts-without-a-device",
        "nccl_log",
        "n1:5:9 [-1] NCCL INFO Bootstrap: Using eth0:192.0.2.1<0>\n",
        lambda found: found["hosts"] == ["n1"],
    ),
    # ------------------------------------------------------------------------------------------- ranks, and how many
    Form(
        "ranks-of-the-topology-line",
        "nccl_log",
        RANKS.format(1, 0, 0, 0, 0, 0) + RANKS.format(1, 1, 1, 1, 1, 1),
        lambda found: (
            [(r["rank"], r["nranks"], r["host"], r["device"], r["complete"]) for r in found["ranks"]]
            == [(0, 4, "gpu01", 0, False), (1, 4, "gpu01", 1, False)]
        ),
    ),
    Form(
        "ranks-of-the-timings",
        "nccl_log",
        "n1:5:9 [2] NCCL INFO Init timings: rank 2 nranks 16 total 1.08 (kernels 0.51)\n"
        "n1:5:10 [3] NCCL INFO Init timings - ncclCommInitRank: rank 3 nranks 16 total 1.08 (kernels 0.51)\n",
        lambda found: [(r["rank"], r["nranks"], r["device"]) for r in found["ranks"]] == [(2, 16, 2), (3, 16, 3)],
    ),
    Form(
        "ranks-of-the-end",
        "nccl_log",
        "n1:5:9 [0] NCCL INFO comm 0x7f rank 3 nranks 8 cudaDev 3 busId 1c000 - Destroy COMPLETE\n",
        lambda found: [(r["rank"], r["nranks"], r["device"]) for r in found["ranks"]] == [(3, 8, 3)],
    ),
    Form(
        "the-same-rank-said-in-three-forms-is-one",
        "nccl_log",
        "n1:5:9 [1] NCCL INFO comm 0x7f rank 1 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n"
        "n1:5:9 [1] NCCL INFO ncclCommInitRank comm 0x7f rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 80 commId 0x2e - "
        "Init COMPLETE\nn1:5:9 [1] NCCL INFO Init timings - ncclCommInitRank: rank 1 nranks 2 total 2.13 (kernels 0)\n",
        lambda found: [(r["rank"], r["comm"], r["complete"]) for r in found["ranks"]] == [(1, "0x2e", True)],
    ),
    Form(
        "ranks-of-a-multicast-group-are-not-those-of-the-job",
        "nccl_log",
        "n1:5:9 [1] NCCL INFO NVLS Creating Multicast group nranks 8 size 2097152 on rank 3\n",
        lambda found: found["ranks"] == [],
    ),
    Form(
        "one-host-of-two-says-what-it-shows",
        "path",
        RANKS.format(2, 2, 2, 0, 2, 0)
        + RANKS.format(2, 3, 3, 1, 3, 1)
        + CROSSING.format("1[1] -> 2[0]", "receive", "IB/0/GDRDMA"),
        lambda found: found["verdict"] == "unknown" and "gpu02 alone: 2 of 4 ranks" in found["reason"],
    ),
    Form(
        "sockets-of-one-end-are-sockets",
        "path",
        RANKS.format(2, 2, 2, 0, 2, 0) + CROSSING.format("1[1] -> 2[0]", "receive", "Socket/0"),
        lambda found: found["verdict"] == "sockets" and found["nranks"] == 4,
    ),
    Form(
        "staged-receiving-of-one-end-is-staged",
        "path",
        RANKS.format(2, 2, 2, 0, 2, 0) + CROSSING.format("1[1] -> 2[0]", "receive", "IB/0"),
        lambda found: found["verdict"] == "rdma_via_host",
    ),
    # ------------------------------------------------------------------------------------------------- torn and cut
    Form(
        "a-prefix-torn-in-two-is-no-second-job",
        "path",
        Job(hosts=HOSTS[:2])
        .text()
        .replace("gpu02:1001:2001 [0] NCCL INFO ncclComm", "gpu02:10\n01:2001 [0] NCCL INFO ncclComm")
        .replace("gpu02:1001:2001 [0] NCCL INFO comm", "gpu02:10\n01:2001 [0] NCCL INFO comm", 1),
        lambda found: found["verdict"] == "unknown" and not found["ok"],
    ),
    Form(
        "a-version-torn-in-two-is-no-second-version",
        "nccl_log",
        "NCCL version 2.21.5+cuda12.4\nNCCL version 2.2\n1.5+cuda12.4\n",
        lambda found: found["versions"] == ["2.21.5"] and "mixed_versions" not in codes(found),
    ),
    Form(
        "a-log-cut-behind-the-trees-is-no-firewall",
        "path",
        CUT.text()
        + "".join(CUT.prefix(at) + f"Trees [0] -1/-1/-1->{at}->{1 - at} [1] -1/-1/-1->{at}->-1\n" for at in (0, 1)),
        lambda found: found["verdict"] == "unknown" and "firewall" not in found["reason"] and "cut" in found["reason"],
    ),
    Form(
        "a-log-that-ends-at-the-start-may-be-cut",
        "path",
        CUT.text(),
        lambda found: "firewall" in found["reason"] and "log ends" in found["reason"],
    ),
    # ------------------------------------------------------------------------------------- tables behind a prefix
    *[
        Form(f"table-behind-{name}", "nccl_tests", before(SOUND, label), same_table)
        for name, label in (
            ("kubectl", "[pod/nccl-launcher-x7/launcher] "),
            ("actions", "2025-05-05T06:16:47.1234567Z "),
            ("pdsh", "gpu-01: "),
            ("compose", "launcher-1  | "),
            ("ray", "(NcclWorker pid=4242, ip=192.0.2.1) "),
            ("torchrun", "[default0]:"),
            ("colours", "\x1b[36m(pid=3)\x1b[0m "),
            ("a-quotation", "> "),
            ("journald", "Nov 21 07:42:28 gpu01 nccl-tests[4242]: "),
        )
    ],
    Form(
        "a-line-without-its-tag-is-of-the-same-table",
        "nccl_tests",
        before(SOUND, "[1,0]<stdout>:").replace("[1,0]<stdout>:" + row(2097152), row(2097152)),
        lambda found: found["one_job"] is True and found["ok"] and len(found["tables"]) == 1,
    ),
    Form("perftest-behind-kubectl", "perftest", before(PERF, "[pod/server/c] "), one_of_perftest),
    Form("perftest-behind-actions", "perftest", before(PERF, "2025-05-05T06:16:47.12Z "), one_of_perftest),
    # ---------------------------------------------------------------------------------- one job, several, or none
    Form(
        "each-process-alone-one-behind-the-other",
        "nccl_tests",
        ALONE + ALONE.replace("gpu01", "gpu02").replace("71", "72"),
        lambda found: found["one_job"] is False and "not_one_job" in codes(found),
    ),
    Form(
        "rows-of-two-tables-mixed",
        "nccl_tests",
        COLUMNS + "".join(map(row, (1024, 2048, 4096, 1024, 8192, 2048, 16384))),
        lambda found: found["one_job"] is False,
    ),
    Form(
        "rows-of-two-tables-in-step",
        "nccl_tests",
        COLUMNS + "".join(row(size, speed) for size in (1024, 2048, 4096) for speed in (8.0, 7.5)),
        lambda found: found["one_job"] is False,
    ),
    Form(
        "the-same-sweep-again-is-one-job",
        "nccl_tests",
        HEAD + devices() + COLUMNS + 2 * (row(1048576) + row(2097152)) + footer(),
        lambda found: found["one_job"] is True and "not_one_job" not in codes(found),
    ),
    Form(
        "a-sweep-per-type-is-one-sound-job",
        "nccl_tests",
        HEAD
        + devices()
        + COLUMNS
        + row(1048576)
        + row(2097152)
        + (row(1048576) + row(2097152)).replace("float", " half")
        + footer(),
        lambda found: found["ok"] and found["one_job"] is True,
    ),
    Form(
        "two-runs-of-two-pods-are-two-runs",
        "nccl_tests",
        before(SOUND, "[pod/run-a/c] ") + before(SOUND, "[pod/run-b/c] "),
        lambda found: found["ok"] and found["one_job"] is True and len(found["tables"]) == 2,
    ),
    # ------------------------------------------------------------------------------------------ names and failures
    Form(
        "the-command-names-the-collective",
        "nccl_tests",
        "$ srun -N 2 /opt/nccl-tests/build/all_gather_perf -b 1M -e 2M -g 1\n" + HEAD + COLUMNS + row(1048576),
        lambda found: found["tables"][0]["collective"] == "all_gather_perf",
    ),
    Form(
        "two-commands-name-none",
        "nccl_tests",
        "for t in all_reduce_perf all_gather_perf; do srun $t; done\n" + HEAD + COLUMNS + row(1048576),
        lambda found: found["tables"][0]["collective"] is None,
    ),
    Form(
        "a-failure-names-its-hosts",
        "nccl_tests",
        FAILURE.format("gpu01") + " .. gpu01 pid 71: Test failure common.cu:915\n" + FAILURE.format("gpu02"),
        lambda found: not found["ok"] and "unhandled cuda error" in said(found) and "gpu01, gpu02" in said(found),
    ),
    Form(
        "a-failure-names-its-ranks",
        "nccl_tests",
        before(FAILURE.format("gpu01"), "3: ") + "[1,5]<stdout>:" + FAILURE.format("gpu02"),
        lambda found: "rank 3, rank 5" in said(found),
    ),
    Form(
        "a-failure-of-mpirun-is-named",
        "nccl_tests",
        "some text\nmpirun noticed that process rank 3 with PID 71 on node gpu02 exited on signal 6 (Aborted).\n",
        lambda found: "no_result" in codes(found) and "rank 3" in said(found) and "gpu02" in said(found),
    ),
    Form(
        "an-abort-of-mpi-is-named",
        "nccl_tests",
        "MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\nwith errorcode 3.\n",
        lambda found: "no_result" in codes(found) and "rank 2" in said(found),
    ),
    Form(
        "a-relayed-failure-alone-is-a-failure",
        "nccl_tests",
        " .. gpu02 pid 757466: Test failure common.cu:915\n",
        lambda found: "failed" in codes(found) and "gpu02" in said(found),
    ),
    # ------------------------------------------------------------------------------------------------------ perftest
    Form(
        "rows-of-an-endless-test-are-repeats",
        "perftest",
        TITLE + SETTINGS + GBITS + "".join(INFINITE),
        lambda found: found["ok"] and len(found["tests"][0]["bandwidth"]) == 2,
    ),
    Form(
        "both-ends-time-for-themselves",
        "perftest",
        TITLE + SETTINGS + GBITS + TITLE + SETTINGS + GBITS + "".join(INFINITE),
        lambda found: found["ok"] and len(found["tests"][0]["bandwidth"]) == 1,
    ),
    Form(
        "two-trainings-one-behind-the-other-are-no-ranks-that-disagree",
        "tf_cnn",
        "".join(
            f"1\timages/sec: {speed} +/- 0.0 (jitter = 0.0)\t7.7\n9\timages/sec: {speed} +/- 0.1 (jitter = 0.2)\t7.6\n"
            f"total images/sec: {speed}1\n"
            for speed in (750.1, 1180.4)
        ),
        lambda found: codes(found) == ["not_one_job"] and "one behind the other" in said(found),
    ),
    Form(
        "a-second-table-behind-the-line-is-a-second-run",
        "perftest",
        TITLE + SETTINGS + GBITS + PERF_ROW + RULE + GBITS + PERF_ROW.replace("391.87", "389.00") + RULE,
        lambda found: "two_measurements" not in codes(found) and len(found["tests"]) == 2,
    ),
    Form(
        "a-column-that-is-not-known-is-read-around",
        "perftest",
        TITLE + GBITS.rstrip("\n") + "  BW min[Gb/sec]\n" + PERF_ROW.rstrip("\n") + "  0.00\n",
        lambda found: (
            codes(found) == ["unknown_columns"]
            and "BW min[Gb/sec]" in said(found)
            and found["tests"][0]["largest"]["gigabits_per_second"] == 391.87
        ),
    ),
    Form(
        "columns-of-both-ports",
        "perftest",
        TITLE
        + GBITS.rstrip("\n")
        + "   BW Port1[Gb/sec]   MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]\n"
        + PERF_ROW.rstrip("\n")
        + "  195.93  0.373716  195.94 0.373717\n",
        lambda found: found["ok"] and found["tests"][0]["largest"]["message_rate_mpps"] == 0.747433,
    ),
    Form(
        "a-limit-that-was-not-reached-is-a-failure",
        "perftest",
        PERF + "Error: BW result is below bw limit\n",
        lambda found: codes(found) == ["failed"],
    ),
    Form(
        "perftests-own-notes-are-notes",
        "perftest",
        "  WARNING: BW peak won't be measured in this run.\n" + PERF,
        lambda found: found["ok"] and any("peak won't be measured" in note for note in found["tests"][0]["notes"]),
    ),
    Form(
        "the-memory-of-the-second-run-is-not-that-of-the-first",
        "perftest",
        PERF + "initializing CUDA\n" + PERF.replace("391.87", "389.00"),
        lambda found: [test["gpu_memory"] for test in found["tests"]] == [False, True],
    ),
    Form(
        "what-perftest-says-instead-of-a-table",
        "perftest",
        RULE + TITLE + SETTINGS + " Port number 1 state is Down\n Couldn't set the link layer\n Couldn't get context\n",
        lambda found: "no_rows" in codes(found) and "Port number 1 state is Down" in said(found),
    ),
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_what_a_careful_person_reads(form: Form) -> None:
    found = nccl_path(form.text) if form.kind == "path" else read_log(form.text, form.kind)
    assert form.right(found), found
