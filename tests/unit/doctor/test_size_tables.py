"""Tables of benchmarks as the doctor reads them: by message size, whatever program prints them, and where they end."""

from __future__ import annotations

from typing import Any, Sequence

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

RULE = "-" * 87 + "\n"
PERFTEST = (
    RULE
    + "                    {kind} Test\n Number of qps   : 1\t\tTransport type : IB\n Link type       : Ethernet\n"
    + RULE
)
LATENCY = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
    "99% percentile[usec]   99.9% percentile[usec]\n"
    " 2       1000          1.24           5.19         1.27     \t       1.27        \t0.00   \t\t1.37    \t\t5.19\n"
)
IMB_RULE = "#---------------------------------------------------\n"
IMB_END = "\n\n# All processes entering MPI_Finalize\n\n"
PINGPONG = "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
ALLREDUCE = "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"


def ask(text: str) -> dict[str, Any]:
    return diagnose(None, {"job.log": text})


def gaps(found: dict[str, Any]) -> list[str]:
    return [gap["code"] for gap in found["not_shown"]]


def imb(name: str, head: str, rows: Sequence[Sequence[float]]) -> str:
    body = "".join(
        f"{size:13.0f}{1000:13d}" + "".join(f"{figure:13.2f}" for figure in rest) + "\n" for size, *rest in rows
    )
    return f"{IMB_RULE}# Benchmarking {name}\n# #processes = 2\n{IMB_RULE}{head}{body}\n"


def osu(title: str, head: str, rows: Sequence[str]) -> str:
    return f"\n# OSU MPI {title} Test v7.4\n# Datatype: MPI_CHAR.\n# {head}\n" + "\n".join(rows) + "\n"


def test_latencies_of_perftest_are_a_test_that_ended() -> None:
    for text in (PERFTEST.format(kind="Send Latency") + LATENCY + RULE, LATENCY):
        found = ask(text)
        assert (found["verdict"], gaps(found)) == ("no_fault_seen", ["size"])
        assert found["shown"] == ["job.log: perftest to 2 bytes"]


def test_a_figure_that_the_reader_refuses_is_not_shown_as_a_figure() -> None:
    table = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    found = ask(PERFTEST.format(kind="RDMA_Write BW") + table + " 65536  5000  0.00  97.30  0.185585\n" + RULE)
    assert (found["verdict"], gaps(found)) == ("cannot_tell", ["figure"])
    assert "12.162 GB/s" in found["not_shown"][0]["text"]


def test_tables_of_imb_are_read_to_their_end() -> None:
    text = imb("PingPong", PINGPONG, [(0, 0.4, 0), (1024, 0.9, 1187.6), (4194304, 664.9, 6308.2)])
    text += imb("Allreduce", ALLREDUCE, [(0, 0.03, 0.03, 0.03), (4194304, 1011.9, 1012.3, 1012.1)])
    found = ask(text + IMB_END)
    assert (found["verdict"], gaps(found)) == ("no_fault_seen", ["size", "link_speed"])
    assert found["shown"] == ["job.log: IMB to 4194304 bytes"]
    assert "6.308 GB/s at 4194304 bytes" in found["not_shown"][1]["text"]
    cut = ask(imb("PingPong", PINGPONG, [(size, 0.9, size / 0.9) for size in (0, 1, 2, 4, 8, 16, 32, 64)]))
    assert gaps(cut) == ["last_row"]


@pytest.mark.parametrize(("both", "seen"), [(49.0, []), (22.5, ["figure"])], ids=["sound", "half a link"])
def test_two_directions_in_one_figure_are_compared_as_one(both: float, seen: list[str]) -> None:
    link = "        rate:            200 Gb/sec (4X HDR)\n"
    head = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    row = f" 65536 5000 {8 * both:.2f} {8 * both:.2f} {both * 1e3 / 65536:.6f}\n"
    assert gaps(ask(link + PERFTEST.format(kind="RDMA_Write Bidirectional BW") + head + row + RULE)) == seen
    rows = [f"67108864{both * 1e3:24.2f}"]
    assert gaps(ask(link + osu("Bi-Directional Bandwidth", "Size      Bandwidth (MB/s)", rows))) == seen
    sendrecv = "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n"
    time = 2 * 67108864 / both / 1e3
    assert gaps(ask(link + imb("Sendrecv", sendrecv, [(67108864, time, time, time, both * 1e3)]) + IMB_END)) == seen


def test_a_smaller_last_size_is_the_end_if_the_program_says_so() -> None:
    assert ask(imb("PingPong", PINGPONG, [(0, 0.4, 0), (4096, 1.5, 2800)]) + IMB_END)["shown"]


@pytest.mark.parametrize(
    "table",
    [
        "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
        "64      1k      62k         0.00s     72.31       0.89       1.13\n"
        "1m      100     100m        0.01s  12108.80      86.60       0.01\n",
        "size                          latency(us)                   BW(MB/s)\n"
        "1024                          15.195517                     67.389\n"
        "65536                         28.689172                     2284.345\n"
        "262144                        37.126793                     7060.778\n"
        "1048576                       71.462034                     14673.186\n",
        "# msg size      throughput (GB/s)\n65536             11.20\n131072            11.60\n262144            11.90\n"
        "1048576           12.10\n",
    ],
    ids=["fabtests", "a test of NCCL", "a script"],
)
def test_a_table_of_no_known_program_is_called_that(table: str) -> None:
    found = ask("mpirun -np 2 ./bench\n" + table)
    assert (found["verdict"], gaps(found), found["findings"]) == ("no_fault_seen", ["last_row"], [])
    assert "1048576" in found["not_shown"][0]["text"]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (osu("Bandwidth", "Size      Bandwidth (MB/s)", ["268435456           12254.16"]), 268435456),
        (osu("Latency", "Size       Avg Latency(us)        Validation", ["4194304    183.66    Pass"]), 4194304),
        ("# OSU MPI Barrier Latency Test v7.3\n# Avg Latency(us)\n             21.74\n", 0),
    ],
)
def test_a_few_lines_of_a_benchmark_are_no_words_of_a_person(text: str, size: int) -> None:
    """Names of MPI, UCX or Slurm above a table that is whole are no reason to suspect these."""
    found = ask(f"[node01:263198] SET UCX_NET_DEVICES=mlx5_2:1\n$ srun -N 4 ./osu_test\n{text}")
    assert (found["verdict"], found["findings"]) == ("no_fault_seen", [])
    assert found["shown"] == [f"job.log: OSU to {size} bytes"]


SMOOTH = ["4    1.98", "1024    9.31", "16384    19.72", "32768    26.73", "1048576    630.67"]
WARNS = (
    "[node01:mpi_rank_0][dreg_register] [Performance Warning]: Entries are being evicted from the cache. This can lead "
    "to degraded performance.\n"
)


def test_a_step_in_a_table_is_named_and_a_warning_in_it_is_shown() -> None:
    smooth = osu("Allreduce Latency", "Size       Avg Latency(us)", SMOOTH)
    steep = smooth.replace("26.73", "456.73")
    for table, codes in ((smooth, ["size"]), (steep, ["figure", "size"])):
        assert gaps(ask(table)) == codes
    head, rest = steep.split("1024", 1)
    warned = ask(f"{head}{WARNS}1024{rest}")
    assert (warned["verdict"], gaps(warned), warned["findings"]) == ("cannot_tell", ["figure", "size", "line"], [])
    assert "16384" in warned["not_shown"][0]["text"] and "32768" in warned["not_shown"][0]["text"]
    head, rest = smooth.split("1024", 1)
    assert gaps(ask(f"{head}{WARNS}1024{rest}")) == ["size"]  # the program went on as it began


NCCL_ROWS = """\
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     4194304       1048576     float     sum      -1   301.20   13.93   26.11      0   300.90   13.94   26.14      0
     8388608       2097152     float     sum      -1   {time}      0   575.10   14.59   27.35      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 20.1
"""


def test_a_row_of_nccl_tests_that_takes_many_times_its_time_is_no_sound_result() -> None:
    slow = NCCL_ROWS.format(time="9575.6    0.88    1.64")
    even, alike = ask(NCCL_ROWS.format(time="575.60   14.57   27.33")), ask(slow)
    both = ask(slow.replace("575.10   14.59   27.35", "9601.1    0.87    1.64"))
    # The better half of a row counts.
    assert [found["verdict"] for found in (even, alike, both)] == ["no_fault_seen", "no_fault_seen", "cannot_tell"]
    assert "figure" in gaps(both) and "8388608" in both["message"]


@pytest.mark.parametrize(("row", "codes"), [("1024    90.31", ["size"]), ("16384    190.72", ["figure", "size"])])
def test_a_time_that_falls_is_a_step_where_messages_are_large(row: str, codes: Sequence[str]) -> None:
    """Below, another algorithm and the first exchange do that to sound tables."""
    rows = [row if line.startswith(row.partition(" ")[0] + " ") else line for line in SMOOTH]
    assert gaps(ask(osu("Allreduce Latency", "Size       Avg Latency(us)", rows))) == codes


TIMES = "#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec] 99% percentile[usec]\n"


@pytest.mark.parametrize(("typical", "verdict"), [("1.57", "no_fault_seen"), ("712.40", "cannot_tell")])
def test_a_few_bytes_by_rdma_take_microseconds(typical: str, verdict: str) -> None:
    row = f" 2  1000  1.42  {typical}  {typical}  {typical}  0.05  {typical}\n"
    found = ask(PERFTEST.format(kind="Send Latency") + TIMES + row + RULE)
    assert (found["verdict"], "figure" in gaps(found)) == (verdict, verdict == "cannot_tell")


def test_messages_of_a_few_bytes_need_no_bandwidth() -> None:
    table = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    rows = (" 8  5000  18.10  17.76  2.328000\n", " 65536  5000  18.10  17.76  0.000284\n")
    answers = [ask(PERFTEST.format(kind="RDMA_Write BW") + table + row + RULE) for row in rows]
    assert [found["verdict"] for found in answers] == ["no_fault_seen", "cannot_tell"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([("812.4", "1350.2", 32), ("0.0", "1290.8", 30), ("0.0", "0.0", 0)], ["job_end"]),
        ([("0.0", "7.0", 0), ("0.0", "0.0", 0)], ["job_end"]),
        ([("0.0", "41.0", 1), ("0.0", "40.0", 1)], ["job_end"]),
        ([("10.0", "1350.2", 32), ("0.0", "0.0", 32)], ["job_end", "figure"]),
        ([("0.0", "0.0", 4)], ["job_end", "figure"]),
    ],
)
def test_a_server_without_requests_has_no_rate_to_show(lines: Sequence[Any], expected: list[str]) -> None:
    text = "".join(
        f"INFO 07-02 09:00:{at:02d} [loggers.py:118] Engine 000: Avg prompt throughput: {prompt} tokens/s, Avg "
        f"generation throughput: {made} tokens/s, Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: 1.2%\n"
        for at, (prompt, made, running) in enumerate(lines)
    )
    assert gaps(ask(text)) == expected


@pytest.mark.parametrize(
    ("checked", "verdict"),
    [
        ("1 tests completed and passed residual checks,\n 0 tests completed and failed residual checks,", "healthy"),
        (
            "0 tests completed and passed residual checks,\n 1 tests completed and failed residual checks,",
            "cannot_tell",
        ),
    ],
)
def test_a_program_that_finds_its_own_result_wrong_is_not_well(checked: str, verdict: str) -> None:
    found = ask(f"WR11C2R4  115200  192  6  8  3417.23  2.9826e+02\nHPL_pdgesv() end time\n {checked}End of Tests.\n")
    assert (found["verdict"], found["findings"]) == (verdict, [])


def test_the_end_of_hpcg_is_an_end() -> None:
    text = "Final Summary=\nFinal Summary::HPCG result is VALID with a GFLOP/s rating of=5.99649\n"
    assert ask(text)["shown"]
    assert ask(text.replace("VALID", "INVALID."))["verdict"] != "healthy"


def test_an_exchange_of_keys_that_broke_names_no_cause() -> None:
    """The other end ended: its own output says why."""
    said = "ethernet_read_keys: Couldn't read remote address\n Unable to read to socket/rdma_cm\n"
    rest = "Failed to exchange data between server and clients\n Failed to deallocate PD - Device or resource busy\n"
    found = ask(PERFTEST.format(kind="RDMA_Read BW") + said + rest)
    assert found["verdict"] == "cannot_tell"
    assert "guest_ofed_mismatch" not in {finding["cause"] for finding in found["findings"]}
    assert found["line"]["line"] == 6


def test_a_collective_that_was_given_up_is_a_note_with_its_line() -> None:
    watchdog = "[rank{0}]:[E1114 12:00:00.1 ProcessGroupNCCL.cpp:629] [Rank {0}] Watchdog caught collective operation "
    gave_up = (
        f"{watchdog}timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
        "600081 milliseconds before timing out.\n"
        "[rank{0}]:[E1114 12:00:00.2 ProcessGroupNCCL.cpp:2168] [PG ID 1 PG GUID 1 Rank {0}]  failure detected by "
        "watchdog at work sequence id: 1 PG status: last enqueued work: 547, last completed work: -1\n"
        "[rank{0}]:[E1114 12:00:00.3 ProcessGroupNCCL.cpp:667] Stack trace of the failed collective not found, "
        "potentially because FlightRecorder is disabled.\n"
    )
    found = ask("".join(map(gave_up.format, range(2))))
    assert found["verdict"] == "cannot_tell"
    assert "Watchdog caught" in found["line"]["text"]
    (note,) = found["notes"]
    assert all(word in note for word in ("BROADCAST", "number 1", "0, 1", "600 s"))
