"""Logs of nccl-tests and perftest become rows, and what is wrong with them becomes problems of the file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.page import markdown as render
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import Inputs, build

from tests.unit.decisions import decide
from tests.unit.results.report_samples import faults

from .logs import log

LIMITS = {
    "nic_link_gbit_per_s": 100.0,
    "nics_per_node": 2,
    "roce_mtu_bytes": 4096,
    "vlan_tagged": False,
    "pcie_generation": 4,
    "pcie_width": 16,
    "pcie_max_payload_bytes": 256,
    "nodes": 2,
}
TABLE = (
    "                    RDMA_Write BW Test\n"
    " Number of qps   : 1\t\tDevice         : mlx5_0\n Mtu             : 4096[B]\n GID index       : 3\n"
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    " 1048576    58000            {peak}              {average}              {rate}\n"
)


def end(rank: int, average: float, peak: float = 0.0, before: str = "") -> str:
    """What one end prints, as mpirun tags it; the message rate follows from the bandwidth."""
    text = before + TABLE.format(peak=f"{peak:.2f}", average=f"{average:.2f}", rate=f"{average / 8388.608:.6f}")
    return "".join(f"[1,{rank}]<stdout>:{line}\n" for line in text.splitlines())


def benchmark_rows(text: str, kind: str, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = decide("benchmark_file", state="read", kind=kind, output=text, **options)["said"]
    return found


def pair(text: str) -> dict[str, Any]:
    return benchmark_rows(text, "perftest", log="a.log", ends=["gpu01", "gpu02"])


def test_nccl_tests_have_a_row_per_size() -> None:
    said = benchmark_rows(log("nccl_tests_16_ranks_roce.txt"), "nccl_tests", log="nccl.log")
    largest = said["results"][-1]
    assert len(said["results"]) == 29
    assert {key: largest[key] for key in ("size_bytes", "type", "out_of_place_us", "out_of_place_busbw_gb_s")} == {
        "size_bytes": 2147483648,
        "type": "float",
        "out_of_place_us": 175667.0,
        "out_of_place_busbw_gb_s": 22.92,
    }
    assert largest["in_place_busbw_gb_s"] == 22.85
    assert said["settings"]["log"] == "nccl.log" and said["settings"]["average_busbw"] == 7.76739
    json.dumps(said, allow_nan=False)


def test_processes_that_each_tested_themselves_are_a_problem_of_the_file() -> None:
    said = benchmark_rows(log("nccl_tests_without_mpi.txt"), "nccl_tests", ranks=2, hosts=2)
    assert said["settings"]["one_job"] is False
    assert said["problems"] and all(text.startswith("nccl-tests: ") for text in said["problems"])


@pytest.mark.parametrize("text", ["", "all_reduce_perf: command not found\n", "\x00\x01binary"])
def test_a_log_without_a_figure_is_a_problem_and_no_result(text: str) -> None:
    for said in (benchmark_rows(text, "nccl_tests"), pair(text)):
        assert said["results"] == [] and said["problems"]


def test_both_ends_of_perftest_count_once_with_the_smaller_figure() -> None:
    said = pair(end(1, 96.50) + end(0, 96.40, 97.0))
    (row,) = said["results"]
    assert said["problems"] == []
    assert (row["from"], row["to"], row["size_bytes"], row["memory"], row["log"]) == (
        "gpu01", "gpu02", 1048576, "host", "a.log",
    )  # fmt: skip
    assert (row["gbit_s"], row["gid_index"], row["mtu"]) == (pytest.approx(96.40), 3, 4096)
    assert row["gb_s"] == pytest.approx(12.05)


def test_ends_that_disagree_are_a_problem() -> None:
    said = pair(end(1, 96.0) + end(0, 50.0))
    assert said["results"][0]["gbit_s"] == pytest.approx(50.0)
    assert any("two ends say 6.250 and 12.000 GB/s" in text for text in said["problems"])


def test_a_client_that_asked_before_the_server_listened_did_not_fail() -> None:
    early = "Couldn't connect to 192.0.2.12:18515\nUnable to init the socket connection\n"
    assert pair(end(1, 96.0) + end(0, 96.0, before=early))["problems"] == []
    tagged = "".join(f"[1,0]<stdout>:{line}\n" for line in early.splitlines())
    assert any("Couldn't connect" in text for text in pair(tagged)["problems"]), "without a figure it did"


def test_another_failure_stays_a_problem_beside_the_figure() -> None:
    said = pair(end(1, 96.0) + end(0, 96.0) + "[1,0]<stderr>: Failed status 12: wr_id 0 syndrom 0x81\n")
    assert said["results"] and any("retries exceeded" in text for text in said["problems"])


@pytest.mark.parametrize(("kind", "more"), [("perftest", {}), ("perftest", {"ends": ["a"]}), ("iperf", {})])
def test_wrong_calls_are_refused(kind: str, more: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        benchmark_rows("", kind, **more)


def document(kind: str, said: dict[str, Any]) -> dict[str, Any]:
    given = {key: said[key] for key in ("results", "problems", "settings")}
    made: dict[str, Any] = decide("benchmark_file", check=True, folder="/", kind=kind, **given)["document"]
    return made


def test_the_report_shows_the_rows_and_compares_them_with_the_limits() -> None:
    nccl = document("nccl_tests", benchmark_rows(log("nccl_tests_16_ranks_roce.txt"), "nccl_tests"))
    nccl["results"] = [{**row, "ranks": 16, "hosts": 2} for row in nccl["results"]]
    perf = document("perftest", pair(end(0, 96.40)))
    summary = build(Inputs("one", limits=LIMITS, benchmarks={"nccl_tests": nccl, "perftest": perf}))
    assert faults(summary) == []
    compared = {entry["what"]: entry for entry in summary["limits"]["comparisons"]}
    nccl_row = compared["nccl-tests all_reduce, 2147483648 bytes"]
    assert nccl_row["achieved"] == 22.92 and nccl_row["ratio"] == pytest.approx(22.92 / nccl_row["limit"])
    perf_row = compared["perftest RDMA_Write gpu01 to gpu02, 1048576 bytes"]
    assert perf_row["achieved"] == pytest.approx(12.05)
    assert 0.97 < perf_row["ratio"] < 1.0, "one connection is compared with one NIC of the two"
    text = render(summary)
    assert "2147483648" in text and "96.4" in text


def test_a_figure_above_the_wire_is_impossible_and_is_said_in_the_verdict() -> None:
    perf = document("perftest", pair(end(0, 120.0)))
    summary = build(Inputs("one", limits=LIMITS, benchmarks={"perftest": {**perf, "simulated": False}}))
    assert summary["verdict"]["state"] == "INVALID RUN" and "perftest RDMA_Write" in summary["verdict"]["line"]


def test_unknown_limits_leave_the_figures_without_a_ratio() -> None:
    perf = document("perftest", pair(end(0, 96.4)))
    (entry,) = build(Inputs("one", benchmarks={"perftest": perf}))["limits"]["comparisons"]
    assert entry["ratio"] is None and entry["how"].startswith("unknown, because")
