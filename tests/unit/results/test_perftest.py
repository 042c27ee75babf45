"""perftest: units, both ends in one log, latency, and tables that are refused."""

from __future__ import annotations

import json

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import perftest

from .logs import codes, log

RULE = "-" * 87 + "\n"
TITLE = "                    RDMA_Write BW Test\n"
SETTINGS = (
    " Dual-port       : OFF\t\tDevice         : mlx5_0\n Number of qps   : 4\t\tTransport type : IB\n"
    " Mtu             : 4096[B]\n Link type       : Ethernet\n GID index       : 3\n"
    " local address: LID 0000 QPN 0x0087 PSN 0x176d37\n GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:01\n"
)
GBITS = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
LATENCY = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
    "99% percentile[usec]   99.9% percentile[usec]\n"
)
ROW = " 65536      20000            392.35             391.87              0.747433\n"
DOUBT = "Conflicting CPU frequency values detected: 1200 != 3000\n"
NCCL_TESTS = (
    "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 validation: 1\n"
    "#      size        count     type   redop   root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "  134217728     33554432    float     sum     -1   1234.5  108.72  203.85      0   1230.1  109.11  204.58      0\n"
    "# Avg bus bandwidth    : 204.2\n"
)


def test_both_ends_in_one_log_are_one_measurement_in_mebibytes() -> None:
    result = perftest.read(log("perftest_both_ends.txt"))
    (test,) = result.parts
    assert codes(result) == ["loopback"]
    assert (test.verb, test.bidirectional, test.unit, len(test.bandwidth)) == ("RDMA_Write", False, "MB/sec", 23)
    largest = test.bandwidth[8388608]
    assert largest.gigabytes_per_second == pytest.approx(23240.68 * 1048576 / 1e9)
    assert largest.gigabits_per_second == pytest.approx(194.957, abs=1e-3)
    data = test.as_dict()
    assert (data["device"], data["mtu"], data["link_type"], data["queue_pairs"]) == ("ib0", 4096, "IB", 1)
    assert data["peak_gigabytes_per_second"] == pytest.approx(23277.91 * 1048576 / 1e9)


def test_gigabits_settings_and_address_of_the_gid() -> None:
    (test,) = perftest.read(RULE + TITLE + SETTINGS + RULE + GBITS + ROW + RULE).parts
    data = json.loads(json.dumps(test.as_dict(), allow_nan=False))
    assert data["ok"] is True
    assert data["largest"]["gigabits_per_second"] == pytest.approx(391.87)
    assert data["largest"]["gigabytes_per_second"] == pytest.approx(391.87 / 8)
    assert (data["gid_index"], data["gids"], data["queue_pairs"]) == (3, ["10.0.0.1"], 4)


def test_the_direction_is_not_known_without_the_title() -> None:
    for title, both in ((TITLE, False), ("", None)):
        (test,) = perftest.read(RULE + title + SETTINGS + RULE + GBITS + ROW + RULE).parts
        assert test.as_dict()["bidirectional"] is both


def test_mib_is_the_same_unit_as_mb() -> None:
    old = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    rows = " 65536      1000             11000.00            10900.00             0.174400\n"
    results = [perftest.read(TITLE + head + rows).parts[0] for head in (old, old.replace("MB/", "MiB/"))]
    assert results[0].bandwidth == results[1].bandwidth
    assert results[0].bandwidth[65536].gigabytes_per_second == pytest.approx(10900 * 1048576 / 1e9)
    assert not any(len(test.problems) for test in results)


def test_bidirectional_adds_both_directions() -> None:
    text = TITLE.replace("BW", "Bidirectional BW") + GBITS + " 65536 1000 390.00 380.00 0.362396\n"
    for verb in ("RDMA_Write", "RDMA_Write_imm", "Send_imm"):
        (test,) = perftest.read(text.replace("RDMA_Write", verb)).parts
        assert (test.verb, test.bidirectional, len(test.problems)) == (verb, True, 0)
    (test,) = perftest.read(text.replace("Bidirectional ", "")).parts
    assert [problem.code for problem in test.problems.all()] == ["unit_disagrees"]


def test_time_limited_run_has_no_peak() -> None:
    (test,) = perftest.read(TITLE + GBITS + " 65536   213004   0.00   111.57   \t\t   0.212801\n").parts
    assert test.bandwidth[65536].peak_gigabytes_per_second is None
    assert len(test.problems) == 0


def test_small_sizes_with_six_decimals() -> None:
    rows = " 2   1000   0.029629   0.028911   1.806916\n 8  1000  0.12  0.12   \t\t   1.822011\n"
    result = perftest.read(TITLE + GBITS + rows)
    assert codes(result) == []
    assert result.parts[0].bandwidth[2].gigabits_per_second == pytest.approx(0.028911)


def test_latency_table() -> None:
    text = (
        TITLE.replace("BW", "Latency")
        + LATENCY
        + " 2       1000          1.02           9.31         1.05     \t       1.06   0.11  1.30   2.10\n"
    )
    (test,) = perftest.read(text).parts
    assert test.as_dict()["latency"] == [
        {
            "bytes": 2,
            "iterations": 1000,
            "average_us": 1.06,
            "minimum_us": 1.02,
            "maximum_us": 9.31,
            "typical_us": 1.05,
            "deviation_us": 0.11,
            "p99_us": 1.3,
            "p999_us": 2.1,
        }
    ]
    assert len(test.problems) == 0


def test_several_tests_of_one_log_are_kept_apart() -> None:
    result = perftest.read(
        TITLE
        + GBITS
        + ROW
        + TITLE.replace("RDMA_Write", "Send")
        + GBITS
        + ROW.replace("391", "191.1"[:3]).replace("392", "192").replace("0.747433", "0.365970")
    )
    assert [test.verb for test in result.parts] == ["RDMA_Write", "Send"]
    assert result.good


@pytest.mark.parametrize(
    ("before", "seen"),
    [
        ("initializing CUDA\nPicking device No. 0\n" + TITLE, True),
        ("Using ROCm Device with ID: 1, Name: AMD Instinct MI300X\n" + TITLE + SETTINGS, True),
        (TITLE + SETTINGS + " Use ROCm memory : OFF\n", False),
        (TITLE + SETTINGS, False),
        (TITLE, None),
    ],
)
def test_gpu_memory_is_seen_or_not_known_where_the_settings_are_left_out(before: str, seen: bool | None) -> None:
    (test,) = perftest.read(before + GBITS + ROW).as_dict()["tests"]
    assert test["gpu_memory"] is seen


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (TITLE + GBITS.replace("Gb/sec", "MB/sec") + ROW, "unit_disagrees"),
        (TITLE + GBITS + ROW + ROW.replace("391.87", "300.00"), "two_measurements"),
        (TITLE + GBITS.replace("MsgRate[Mpps]", "BW Port1[Gb/sec]") + ROW, "unknown_columns"),
        (TITLE + GBITS.replace("Gb/sec", "furlongs"), "unknown_columns"),
        (TITLE + GBITS + " 65536      20000            392.35\n", "unreadable_row"),
        (TITLE + GBITS + " 65536 20000 nan nan nan\n", "not_finite"),
        (TITLE + GBITS, "no_rows"),
        (TITLE + SETTINGS, "no_rows"),
        (TITLE + SETTINGS + SETTINGS.replace("4096[B]", "1024[B]") + GBITS + ROW, "ends_differ"),
        (TITLE.replace("BW", "Latency") + LATENCY + " 2 1000 1.02 9.31 1.05 -1.06 0.11 1.30 2.10\n", "not_finite"),
        (TITLE.replace("BW", "Latency") + LATENCY + " 2 1000 5.02 9.31 1.05 1.06 0.11 1.30 2.10\n", "clock_backwards"),
        (" Did not detect devices \n If device exists, check if driver is up\n", "failed"),
        (" Unable to find the Infiniband/RoCE device\n", "failed"),
        (" Couldn't connect to gpu02:18515\nUnable to open file descriptor for socket connection", "failed"),
        (TITLE + SETTINGS + " Failed to modify QP 341 to RTR\n", "failed"),
        (TITLE + SETTINGS + " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n", "failed"),
        ("ethernet_read_keys: Couldn't read remote address\n Unable to read to socket/rdma_cm\n", "failed"),
    ],
)  # fmt: skip
def test_problems_are_named(text: str, code: str) -> None:
    result = perftest.read(text)
    assert code in codes(result)
    assert not result.good


def test_failures_say_what_to_do() -> None:
    for text in ("status 4: wr_id 0 syndrom 0x51", "status-local protection error (4): wr_id 0 syndrom 0x51"):
        (problem,) = perftest.read(f" Failed {text}\n").problems
        assert "ATS" in problem.message
    (problem,) = perftest.read(" Couldn't connect to gpu02:18515\n").problems
    assert "gpu02:18515" in problem.message


@pytest.mark.parametrize(
    "table",
    [
        TITLE + GBITS + DOUBT + ROW,
        TITLE.replace("BW", "Latency") + LATENCY + DOUBT + " 2 9 1.0 9.3 1.0 1.1 0.1 1.3 2.1\n",
        " #bytes        #iterations       t_avg[usec]    tps average\n" + DOUBT + " 64  151456  99.03  5048.78\n",
    ],
    ids=["bandwidth", "latency", "latency by time"],
)
def test_a_notice_about_the_clock_is_a_note(table: str) -> None:
    """perftest prints it on every machine whose cores change their clock, and prints the same table below it."""
    result = perftest.read(table)
    assert result.good
    assert "Conflicting CPU frequency" in result.as_dict()["tests"][0]["notes"][0]


@pytest.mark.parametrize(
    ("unit", "row", "gigabytes"),
    [
        ("MB/sec", " 65536  5000  0.00  97.30  0.185585\n", 97.30 / 8),
        ("Gb/sec", " 1048576  5000  11730.00  11720.00  0.011720\n", 11720 * 1048576 / 1e9),
        ("MiB/sec", " 8388608  5000  393.00  392.80  0.005853\n", 392.80 / 8),
    ],
)
def test_a_unit_that_the_message_rate_refutes_is_the_other_one(unit: str, row: str, gigabytes: float) -> None:
    """The figure is the true one, and the contradiction stays a problem."""
    (test,) = perftest.read(TITLE + GBITS.replace("Gb/sec", unit) + row).parts
    (found,) = test.bandwidth.values()
    assert found.gigabytes_per_second == pytest.approx(gigabytes)
    assert [problem.code for problem in test.problems.all()] == ["unit_disagrees"]


@pytest.mark.parametrize(
    "table",
    [
        "       #bytes #repetitions      t[usec]   Mbytes/sec\n            0         1000         0.42         0.00\n",
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n   4   1000   1.58   1.58   1.58\n",
        "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n1                       1.20\n",
        "bytes   iters   total       time     MB/sec    usec/xfer\n64  1k  62k  0.00s  72.31  0.89\n",
        "bytes   #sent   #ack     total       time     MB/sec    usec/xfer\n64  10  =10  1.2k  0.00s  1.31  42.89\n",
    ],
)
def test_a_table_of_another_program_is_no_table_of_perftest(table: str) -> None:
    assert codes(perftest.read(table)) == ["no_result"]
    for rule in (RULE, ""):
        behind = perftest.read(RULE + TITLE + GBITS + ROW + rule + table)
        assert (codes(behind), [len(test.bandwidth) for test in behind.parts]) == ([], [1])


@pytest.mark.parametrize(
    ("printed", "quoted"),
    [
        ("#iterations", "iterations"),
        ("#bytes     #iterations", "bytes     iterations"),
        ("392.35             391.87", "392.35             **391.87**"),
        ("RDMA_Write BW", "RDMA_Write **BW**"),
    ],
)
def test_a_page_that_took_marks_away_or_made_figures_bold_is_read(printed: str, quoted: str) -> None:
    text = RULE + TITLE + SETTINGS + RULE + GBITS + ROW + RULE
    assert perftest.read(text.replace(printed, quoted)).as_dict() == perftest.read(text).as_dict()


def address(end: str, lid: str, last: int | None) -> str:
    gid = "" if last is None else f" GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:00:02:{last:02}\n"
    return f" {end} address: LID {lid} QPN 0x0087 PSN 0x176d37\n{gid}"


@pytest.mark.parametrize(
    ("local", "remote", "problems"),
    [
        (("0000", 1), ("0000", 1), ["loopback"]),
        (("0x06", None), ("0x06", None), ["loopback"]),
        (("0x06", 1), ("0x06", 1), ["loopback"]),
        (("0000", 1), ("0000", 2), []),
        (("0x06", 1), ("0x06", 2), []),
        (("0000", None), ("0000", None), []),
        (("0x06", None), ("0x05", None), []),
    ],
)
def test_a_test_with_both_ends_at_one_port_is_a_loopback(
    local: tuple[str, int | None], remote: tuple[str, int | None], problems: list[str]
) -> None:
    one, other = address("local", *local), address("remote", *remote)
    assert codes(perftest.read(TITLE + 2 * one + 2 * other + GBITS + ROW)) == problems
    both = one + address("local", *remote) + other + address("remote", *local)
    assert codes(perftest.read(TITLE + both + GBITS + ROW)) == problems


def test_percentiles_have_a_short_name_too() -> None:
    text = TITLE.replace("BW", "Latency") + LATENCY + " 2       1000    1.02   9.31   1.05   1.06   0.11  1.30   2.10\n"
    assert perftest.read(text.replace("% percentile", "%")).as_dict() == perftest.read(text).as_dict()


def test_the_label_of_a_task_of_ray_or_skypilot_is_no_part_of_the_line() -> None:
    text = RULE + TITLE + SETTINGS + RULE + GBITS + ROW + RULE
    for label in (
        *("(worker1, rank=1, pid=33870, ip=192.0.2.15) ", "(RayTrainWorker pid=77) ", "(head, rank=0, pid=9) "),
        "2026-11-21 03:43:24,132 process          L0458 DEBUG| [stdout] ",
    ):
        assert perftest.read("".join(label + line + "\n" for line in text.splitlines())).good


def test_the_table_ends_where_another_program_begins() -> None:
    """perftest and nccl-tests one after the other in one log, as cluster checks write it."""
    for between in (RULE, ""):
        result = perftest.read(RULE + TITLE + SETTINGS + RULE + GBITS + ROW + between + NCCL_TESTS)
        assert codes(result) == []
        assert [row.gigabits_per_second for row in result.parts[0].bandwidth.values()] == [pytest.approx(391.87)]


def test_a_row_that_is_cut_inside_the_table_is_still_told() -> None:
    assert "unreadable_row" in codes(perftest.read(TITLE + GBITS + ROW + " 131072      20000            392.35\n"))


def test_both_ends_one_after_the_other_are_one_measurement() -> None:
    end = RULE + TITLE + SETTINGS + RULE + GBITS + ROW + RULE
    result = perftest.read(end + end.replace("10:00:00:01", "10:00:00:02"))
    (test,) = result.parts
    assert result.good
    assert test.gids == ["10.0.0.1", "10.0.0.2"]
    assert test.notes == ("printed by both ends, counted once",)


def test_two_runs_one_after_the_other_stay_two() -> None:
    end = RULE + TITLE + SETTINGS + RULE + GBITS + ROW + RULE
    assert len(perftest.read(end + end.replace("391.87", "391.90")).parts) == 2


@pytest.mark.parametrize(("cut", "problems"), [(0, []), (1, []), (2, ["unreadable_row"]), (4, ["unreadable_row"])])
def test_a_row_that_ends_within_its_last_number_is_cut(cut: int, problems: list[str]) -> None:
    text = RULE + TITLE + GBITS + ROW.replace("65536", "32768") + ROW
    result = perftest.read(text[: len(text) - cut])
    assert [entry.code for entry in result.all_problems if entry.code == "unreadable_row"] == problems


@pytest.mark.parametrize(
    ("sizes", "connection", "behind", "problems"),
    [
        (range(1, 10), "RC", "", ["unfinished"]),
        (range(1, 10), "RC", RULE, []),
        (range(1, 24), "RC", "", []),
        (range(1, 13), "UD", "", []),
        (range(1, 12), "UD", "", ["unfinished"]),
        # Who quotes a table leaves out its lines, and chooses sizes.
        (range(1, 24, 4), "RC", "", []),
        (range(10, 16), "RC", "", []),
        (range(1, 3), "RC", "", []),
    ],
)
def test_a_test_of_all_sizes_that_stops_before_the_last_is_not_whole(
    sizes: range, connection: str, behind: str, problems: list[str]
) -> None:
    settings = SETTINGS + f" Connection type : {connection}\n"
    latencies = "".join(f" {1 << size} 1000 1.02 9.31 1.05 1.06 0.11 1.30 2.10\n" for size in sizes)
    result = perftest.read(RULE + TITLE.replace("BW", "Latency") + settings + RULE + LATENCY + latencies + behind)
    assert codes(result) == problems
