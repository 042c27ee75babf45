"""Logs in the forms that other people publish, and what each reader may make of them.

The id of a row names the public place whose form it has (project or thread); the lines are our own, with figures of
our own. A form is here because some reader once misread it, or because it looks like success and is not.
"""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.path import path_verdict
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import (
    mxnet_bandwidth,
    mxnet_speed,
    nccl_log,
    nccl_tests,
    perftest,
)

from .logs import codes
from .nccl_shapes import Job
from .test_nccl_tests import devices, footer, row

WIDE = (
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw"
    " #wrong\n#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)"
    "  (GB/s)\n"
)


# ------------------------------------------------------------------------------------------------- tables of nccl-tests


@dataclasses.dataclass(frozen=True)
class Collective:
    """``factor``: bus over algorithm bandwidth; ``columns``: type, operation and root as printed."""

    name: str
    columns: str
    factor: float
    ranks: int = 8


COLLECTIVES = (
    Collective("allgather", "     float    none      -1", 7 / 8),
    Collective("alltoall", "     float    none      -1", 7 / 8),
    Collective("broadcast", "     float    none       0", 1.0),
    Collective("reduce", "     float     sum       0", 1.0),
    Collective("reducescatter", "     float     sum      -1", 7 / 8),
)


def table(each: Collective, error: str = "0e+00") -> str:
    """Old form: no line of threads, an error column instead of a count."""
    head = WIDE.replace("#wrong", " error")
    rows = ""
    for size, algbw in ((4294967296, 240.0), (8589934592, 260.0)):
        half = f"{size / algbw / 1e3:9.1f} {algbw:7.2f} {algbw * each.factor:7.2f}  {error}"
        rows += f"{size:12} {size // 4:13}{each.columns} {half} {half}\n"
    average = (240.0 + 260.0) * each.factor / 2
    return (
        "# nThread: 1 nGpus: 8 minBytes: 8 maxBytes: 8589934592 step: 2(factor) warmup iters: 5 iters: 20 validation: 1"
        f"\n#\n# Using devices\n{devices(each.ranks)}#\n{head}{rows}{footer(round(average, 3))}"
    )


@pytest.mark.parametrize("each", COLLECTIVES, ids=lambda each: f"superbench-{each.name}")
def test_each_collective_of_a_published_table_is_read_with_its_own_factor(each: Collective) -> None:
    result = nccl_tests.read(table(each), expected_ranks=8)
    assert codes(result) == []
    assert result.good
    assert result.parts[0].average_busbw == pytest.approx(250.0 * each.factor, abs=1e-2)


@pytest.mark.parametrize("separator", ["", "job 2 on gpu[01-04]\n"], ids=["aws-do-eks-efa", "aks-rdma-infiniband"])
def test_two_tables_of_one_log_are_two(separator: str) -> None:
    one = table(COLLECTIVES[0])
    result = nccl_tests.read(one + separator + one.partition("# Using devices\n")[2])
    assert [len(found.rows) for found in result.parts] == [2, 2]
    assert [found.average_busbw for found in result.parts] == [pytest.approx(218.75), pytest.approx(218.75)]
    assert "average_disagrees" not in codes(result)


@pytest.mark.parametrize("dropped", [0, 1], ids=["awsome-distributed-training", "do-eks-nccl"])
def test_rows_that_the_author_cut_out_are_noticed_by_the_average(dropped: int) -> None:
    each = COLLECTIVES[4]
    rows = [
        line for line in table(each).splitlines(keepends=True) if line.split()[:1] in (["4294967296"], ["8589934592"])
    ]
    result = nccl_tests.read(table(each).replace(rows[dropped], ""))
    assert "average_disagrees" in codes(result)
    assert not result.good


def test_superbench_noise_of_nccl_inside_a_table_is_no_row() -> None:
    text = WIDE + row(1048576) + "gpu01:3442:3442 [0] NCCL INFO Launch mode Parallel\n" + row(2097152) + footer()
    assert [found.size for found in nccl_tests.read(devices() + text).parts[0].rows] == [1048576, 2097152]


# -------------------------------------------------------------------------------------------------------- path of NCCL


SOCKETS = Job("2.3.7", send="NET/Socket/0", receive="NET/Socket/0", network="Socket")
FLUSH = "NET/IB/0/GDRDMA/flush=None"


@pytest.mark.parametrize(
    ("job", "verdict"),
    [
        pytest.param(Job("2.9.9", gpus=4), "gdrdma", id="aws-efa-eks-readme-16-ranks"),
        pytest.param(Job("2.12.7", send="NET/IB/0", receive="NET/IB/0"), "rdma_via_host", id="aws-do-eks-staged"),
        pytest.param(Job("2.31.2", receive=FLUSH), "gdrdma", id="nccl-2389-flush-none"),
        pytest.param(Job("2.31.2", receive=FLUSH.replace("None", "Always")), "gdrdma", id="rccl-flush-always"),
        pytest.param(SOCKETS, "sockets", id="nccl-226-sockets"),
        pytest.param(
            Job("2.8.4", send="NET/IB/0", receive="NET/IB/0", extra=("NET/IB : Using [0]mlx4_0:1/RoCE ; ",)),
            "rdma_via_host",
            id="tagged-mlx4-without-gdr",
        ),
        pytest.param(Job("2.21.5", send="NET/IB/0(0)/GDRDMA", gpus=2), "gdrdma", id="pxn-proxy-rank"),
    ],
)
def test_the_path_of_a_published_log(job: Job, verdict: str) -> None:
    found = path_verdict.judge(nccl_log.read(job.text()), job.size, job.hosts)
    assert (found.verdict, found.good) == (verdict, verdict == "gdrdma"), found.reason


EXCERPTS = {
    "nccl-1291": "gpu01:11:12 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:192.0.2.1<0>\n"
    "gpu01:11:12 [0] NCCL INFO Using network IB\n",
    "nccl-tests-133": "gpu01:11:12 [0] NCCL INFO Bootstrap : Using eth0:192.0.2.1<0>\n"
    "gpu01:11:12 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation\n",
    "nv_peer_memory-56": "gpu01:11:12 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled "
    "for GPU 0[3b000] / HCA 0 (distance 4 <= 5), read 1\n",
    "one-side-only": "gpu01:11:12 [0] NCCL INFO Channel 00/0 : 3[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n",
    "ray-prefix": "(Worker pid=4242, ip=192.0.2.2) gpu02:11:12 [0] NCCL INFO "
    "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA\n",
    "rdma-plugin": "gpu01:11:12 [0] NCCL INFO NET/Plugin: Loaded net plugin NCCL RDMA Plugin v8 (v8)\n"
    "gpu01:11:12 [0] NCCL INFO P2P plugin IBext_v8\n",
}


@pytest.mark.parametrize("name", EXCERPTS)
def test_an_excerpt_is_never_called_gpudirect(name: str) -> None:
    """Threads quote the lines that look good; a job is more than these."""
    found = path_verdict.judge(nccl_log.read(EXCERPTS[name]))
    assert (found.verdict == "gdrdma", found.good) == (False, False), found.reason


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("NET/IB : Using [0]rocep1s0f0:1/RoCE [1]roceP2p1s0f0:1/RoCE [RO]", id="dgx-spark"),
        pytest.param("NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]", id="jsc"),
    ],
)
def test_nics_are_read_where_no_address_follows(line: str) -> None:
    found = nccl_log.read(f"gpu01:11:12 [0] NCCL INFO {line}\n")
    assert [(hca.index, hca.layer) for hca in found.hcas] == [(0, "RoCE"), (1, "RoCE")]
    assert found.relaxed_ordering is True


@pytest.mark.parametrize(
    "opcode", [pytest.param("opcode 1, len 0", id="nccl-707"), pytest.param("opcode 32600, len 32680", id="nccl-1052")]
)
def test_error_4_is_local_protection(opcode: str) -> None:
    line = f"gpu01:11:12 [0] NCCL WARN NET/IB : Got completion with error 4, {opcode}, vendor err 81\n"
    assert [problem.code for problem in nccl_log.read(line).problems] == ["ib_local_protection"]


# ------------------------------------------------------------------------------------------------------------ perftest


RULE = "-" * 87 + "\n"
BANDWIDTH = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"


def test_openshift_one_row_of_a_slow_virtual_function() -> None:
    text = RULE + "                    RDMA_Write BW Test\n" + RULE + BANDWIDTH
    text += " 65536      5000             18.61              18.58              0.035439\n" + RULE
    result = perftest.read(text)
    assert result.good
    assert result.parts[0].as_dict()["largest"]["gigabits_per_second"] == pytest.approx(18.58)


def test_bidirectional_over_all_sizes_keeps_every_row() -> None:
    text = RULE + "                    Send Bidirectional BW Test\n" + RULE + BANDWIDTH
    text += "".join(
        f" {2**power:<10} 1000   {power * 8:.2f}   {power * 7.9:.2f}   {power * 7.9e3 / 8 / 2**power:.6f}\n"
        for power in range(1, 24)
    )
    result = perftest.read(text + RULE)
    assert result.good
    assert (result.parts[0].bidirectional, len(result.parts[0].bandwidth)) == (True, 23)


def test_deepops_roce_perf_ends_its_table_where_nccl_tests_begins() -> None:
    text = RULE + "                    RDMA_Write BW Test\n" + RULE + BANDWIDTH
    text += (
        " 65536      5000             92.41              92.40              0.176239\n" + RULE + table(COLLECTIVES[0])
    )
    result = perftest.read(text)
    assert codes(result) == []
    assert [found.gigabits_per_second for found in result.parts[0].bandwidth.values()] == [pytest.approx(92.40)]


# --------------------------------------------------------------------------------------------------------------- MXNet


def test_mxnet_4062_iterations_of_one_run_are_read() -> None:
    text = "INFO:root:Namespace(gpus='0,1,2,3', kv_store='device', network='resnet', num_batches=3)\n"
    text += "INFO:root:num of arrays = 158, total size = 102.400000 MB\n"
    text += "".join(
        f"INFO:root:iter {at}, 0.010000 sec, 15.360000 GB/sec per gpu, error 0.000000\n" for at in (1, 2, 3)
    )
    assert mxnet_bandwidth.read(text).good


def test_mxnet_2443_one_window_with_a_line_per_metric_counts_once() -> None:
    text = "".join(
        f"INFO:root:Epoch[0] Batch [{batch}]\tSpeed: {speed} samples/sec\tTrain-{metric}=0.2\n"
        for batch, speed in ((20, 101.5), (40, 102.5))
        for metric in ("accuracy", "top_k_accuracy_5", "cross-entropy")
    )
    (source,) = mxnet_speed.read(text).as_dict()["sources"]
    assert (source["windows"], source["samples_per_second"]["median"]) == (2, pytest.approx(102.0))
