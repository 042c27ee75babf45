"""The verdict about the data path, rule by rule: each row is a log and what it may be called. The id names the rule."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.path.path_verdict import (
    ORDER,
    PathVerdict,
    judge,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.path.reasons import distance_name, reason
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.nccl_log import read as parse

from tests.unit.results.nccl_shapes import HOSTS, Job

STAGED = "NET/IB/0"
GDR = "NET/IB/0/GDRDMA"
VERSIONS = (
    *("2.4.7", "2.7.8", "2.8.4", "2.9.9", "2.10.3", "2.11.4", "2.12.12", "2.13.4", "2.14.3", "2.15.5", "2.16.5"),
    *("2.17.1", "2.18.6", "2.19.4", "2.20.5", "2.21.5", "2.22.3", "2.23.4", "2.24.3", "2.25.1", "2.26.6", "2.27.7"),
    *("2.28.9", "2.29.7", "2.30.7"),
)


@dataclasses.dataclass(frozen=True)
class Case:
    """``says``: words that the reason must have; ``ranks``, ``hosts``: what was started, None: not told."""

    rule: str
    text: str
    verdict: str
    says: str = ""
    ranks: int | None = 4
    hosts: tuple[str, ...] | None = HOSTS
    problem: str = ""


def two(version: str = "2.21.5", **changes: Any) -> str:
    return Job(version, HOSTS[:2], **changes).text()


PAIR: dict[str, Any] = {"ranks": 2, "hosts": HOSTS[:2]}
TWO_GPUS: dict[str, Any] = {"ranks": 4, "hosts": HOSTS[:2]}


def lines(job: Job, *more: str, rank: int = 0) -> str:
    return job.text() + "".join(job.prefix(rank) + line + "\n" for line in more)


# Before commId.
GROUP = Job("2.12.6", hosts=HOSTS[:2]).text()
BESIDE = GROUP + GROUP.replace(":100", ":300").replace("b1000", "c1000")
UNTOLD: dict[str, Any] = {"ranks": None, "hosts": None}
CASES = [
    # ------------------------------------------------------------------------------------------ each version's shapes
    *[Case(f"gdrdma-both-ways-{version}", Job(version).text(), "gdrdma", "/GDRDMA") for version in VERSIONS],
    *[
        Case(f"staged-{version}", Job(version, send=STAGED, receive=STAGED).text(), "rdma_via_host", STAGED)
        for version in VERSIONS[::4]
    ],
    *[
        Case(
            f"sockets-{version}",
            Job(version, send="NET/Socket/0", receive="NET/Socket/0", network="Socket").text(),
            "sockets",
            "NET/Socket/0",
        )
        for version in VERSIONS[1::4]
    ],
    # ---------------------------------------------------------------------------------------------- suffixes and names
    Case("shared-suffix-keeps-gdrdma", Job(send=GDR + "/Shared", receive=GDR + "/Shared").text(), "gdrdma"),
    Case("shared-alone-is-no-gdrdma", Job(send=STAGED + "/Shared", receive=GDR).text(), "rdma_via_host", "send side"),
    Case("c2c-mode-keeps-gdrdma", Job("2.27.7", send=GDR + "(PCI)", receive=GDR + "(PCI)/Shared").text(), "gdrdma"),
    Case("proxy-rank-keeps-gdrdma", Job("2.18.6", send="NET/IB/0(2)/GDRDMA").text(), "gdrdma"),
    Case(
        "external-plugin-without-gdrdma-is-staged",
        Job(send="NET/IBext_v8/2", receive="NET/IBext_v8/2", network="IBext_v8").text(),
        "rdma_via_host",
        "IBext_v8",
    ),
    Case(
        "external-plugin-with-gdrdma",
        Job(send="NET/IBext_v8/2/GDRDMA", receive="NET/IBext_v8/2/GDRDMA", network="IBext_v8").text(),
        "gdrdma",
    ),
    Case(
        "blank-in-the-name-of-a-network",
        Job(send="NET/AWS Libfabric/0/GDRDMA", receive="NET/AWS Libfabric/0/GDRDMA", network="AWS Libfabric").text(),
        "gdrdma",
    ),
    Case(
        "tcp-under-another-name-is-sockets",
        Job(send="NET/FastSocket/0", receive="NET/FastSocket/0", network="FastSocket").text(),
        "sockets",
    ),
    # ------------------------------------------------------------------------------------------------ each side apart
    Case("only-the-receiver-uses-gdr-one-gpu-2.10", Job("2.10.3", send=STAGED).text(), "rdma_via_host", "send side"),
    Case(
        "before-2.19-two-gpus-may-send-through-the-host",
        Job("2.10.3", HOSTS[:2], 2, send=STAGED).text(),
        "receive_only",
        "NCCL_NET_GDR_READ=1",
        **TWO_GPUS,
    ),
    Case(
        "since-2.19-two-gpus-may-not-send-through-the-host",
        Job("2.19.4", HOSTS[:2], 2, send=STAGED).text(),
        "rdma_via_host",
        "NCCL_NET_GDR_READ=1",
        **TWO_GPUS,
    ),
    Case(
        "unknown-version-is-given-no-excuse-for-sending",
        Job("2.10.3", HOSTS[:2], 2, send=STAGED).text().split("\n", 1)[1],
        "rdma_via_host",
        "send side",
        **TWO_GPUS,
    ),
    Case(
        "gdr-read-off-by-environment-is-named",
        Job("2.10.3", HOSTS[:2], 2, send=STAGED, extra=("NCCL_NET_GDR_READ set by environment to 0.",)).text(),
        "rdma_via_host",
        "NCCL_NET_GDR_READ set by environment to 0",
        **TWO_GPUS,
    ),
    Case(
        "staged-receiving-is-never-excused",
        Job("2.10.3", HOSTS[:2], 2, receive=STAGED).text(),
        "rdma_via_host",
        "receive side",
        **TWO_GPUS,
    ),
    Case(
        "one-bad-channel-of-many-counts",
        lines(Job(), "Channel 07/0 : 0[0] -> 1[0] [send] via NET/IB/1"),
        "rdma_via_host",
        "rank 0 (gpu01) -> rank 1 (gpu02), send side on gpu01",
    ),
    Case(
        "one-socket-pair-of-four-counts",
        lines(Job(), "Channel 07/0 : 3[0] -> 0[0] [receive] via NET/Socket/0"),
        "sockets",
        "1 of 4 pairs",
    ),
    # --------------------------------------------------------------------------------------------------- why not GDR
    Case(
        "distance-is-named-phb-2.12",
        Job(
            "2.12.12",
            send=STAGED,
            receive=STAGED,
            extra=("GPU Direct RDMA Disabled for GPU b1000 / HCA 0 (distance 6 > 4)",),
        ).text(),
        "rdma_via_host",
        "= PHB, allowed PXB",
    ),
    Case(
        "distance-is-named-sys-2.7",
        Job(
            "2.7.8",
            send=STAGED,
            receive=STAGED,
            extra=("GPU Direct RDMA Disabled for GPU b1000 / HCA 0 (distance 5 > 3)",),
        ).text(),
        "rdma_via_host",
        "= SYS, allowed PXB",
    ),
    Case(
        "distance-is-named-phb-2.27",
        Job(
            "2.27.7",
            send=STAGED,
            receive=STAGED,
            extra=("GPU Direct RDMA Disabled for GPU 0 / HCA 0 (distance 8 > 5)",),
        ).text(),
        "rdma_via_host",
        "flat PCI tree",
    ),
    Case(
        "peer-memory-missing-is-named-2.7",
        Job(
            "2.7.8",
            send=STAGED,
            receive=STAGED,
            extra=("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)",),
        ).text(),
        "rdma_via_host",
        "nvidia-peermem is not registered",
    ),
    Case(
        "peer-memory-missing-is-named-2.21",
        Job(send=STAGED, receive=STAGED, extra=("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'",)).text(),
        "rdma_via_host",
        "DMA-BUF is not available",
    ),
    # Of a log that was filtered, or cut at its left edge: a line that names no host may be of any.
    Case(
        "a-distance-without-a-host-is-told-all-the-same",
        Job(send=STAGED, receive=STAGED).text()
        + "NCCL INFO GPU Direct RDMA Disabled for GPU 0 / HCA 0 (distance 8 > 5)\n",
        "rdma_via_host",
        "GPU and NIC look too far apart",
    ),
    Case(
        "enabled-without-a-host-is-no-cause",
        Job(send=STAGED, receive=STAGED).text()
        + "NCCL INFO GPU Direct RDMA Enabled for GPU 0 / HCA 0 (distance 4 <= 4)\n",
        "rdma_via_host",
        "NCCL prints why only with",
    ),
    Case(
        "level-by-environment-is-named",
        Job(send=STAGED, receive=STAGED, extra=("NCCL_NET_GDR_LEVEL set by environment to LOC",)).text(),
        "rdma_via_host",
        "NCCL_NET_GDR_LEVEL set by environment to LOC",
    ),
    Case(
        "2.30-does-not-say-why",
        Job("2.30.7", send=STAGED, receive=STAGED).text(),
        "rdma_via_host",
        "NCCL 2.30 and later do not print why",
    ),
    Case(
        "enabled-for-the-nic-does-not-make-a-staged-channel-good",
        Job(send=STAGED, receive=STAGED, extra=("NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'",)).text(),
        "rdma_via_host",
    ),
    # ------------------------------------------------------------------------------------------------- why sockets
    Case(
        "ib-disabled-is-named",
        Job(
            send="NET/Socket/0",
            receive="NET/Socket/0",
            network="Socket",
            extra=("NCCL_IB_DISABLE set by environment to 1.",),
        ).text(),
        "sockets",
        "NCCL_IB_DISABLE set by environment to 1",
    ),
    Case(
        "ib-disable-0-is-not-a-cause",
        Job(
            send="NET/Socket/0",
            receive="NET/Socket/0",
            network="Socket",
            extra=("NCCL_IB_DISABLE set by environment to 0.",),
        ).text(),
        "sockets",
        "NCCL does not say why",
    ),
    Case(
        "a-warning-about-verbs-is-the-cause",
        Job(
            send="NET/Socket/0",
            receive="NET/Socket/0",
            network="Socket",
        ).text()
        + "gpu01:11:11 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]\n",
        "sockets",
        "Cause: NCCL warns: gpu01:11: Failed to open libibverbs.so[.1]",
    ),
    Case(
        "wrong-hca-is-named",
        Job(
            send="NET/Socket/0",
            receive="NET/Socket/0",
            network="Socket",
            extra=("NCCL_IB_HCA set to mlx5_1", "NET/IB : No device found."),
        ).text(),
        "sockets",
        "NCCL_IB_HCA is mlx5_1",
    ),
    Case(
        "no-device-points-at-the-container",
        Job(send="NET/Socket/0", receive="NET/Socket/0", network="Socket", extra=("NET/IB : No device found.",)).text(),
        "sockets",
        "/dev/infiniband",
    ),
    Case(
        "using-network-socket-is-enough",
        Job("2.22.3", network="Socket", channels=False).text(),
        "sockets",
        "Using network Socket",
    ),
    Case(
        "gdr-summary-does-not-outweigh-a-socket-channel",
        lines(Job("2.24.3", send="NET/Socket/0"), "Connected all rings, use ring PXN 0 GDR 1"),
        "sockets",
    ),
    # ------------------------------------------------------------------ looks fast, but is not the job that was wanted
    Case(
        "no-mpi-build-is-not-one-job",
        Job(nranks=1, channels=False).text(),
        "not_one_job",
        "computed alone (nranks 1)",
    ),
    Case(
        "no-mpi-build-is-found-without-knowing-the-ranks",
        Job(nranks=1, channels=False).text(),
        "not_one_job",
        "computed alone",
        ranks=None,
        hosts=None,
    ),
    Case(
        "no-mpi-build-2.10",
        Job("2.10.3", nranks=1, channels=False).text(),
        "not_one_job",
        "built without MPI",
        ranks=None,
        hosts=None,
    ),
    Case(
        "each-host-for-itself-is-not-one-job",
        Job(hosts=HOSTS[:2], gpus=2, nranks=2, channels=False).text(),
        "not_one_job",
        "rank 0 of 2 exists 2 times",
        ranks=None,
        hosts=None,
    ),
    Case(
        "ranks-with-gpus-of-their-own-are-groups-or-jobs",
        BESIDE,
        "unknown",
        "rank 0 of 2 exists 2 times on one host",
        **UNTOLD,
    ),
    Case(
        "wanted-ranks-that-one-group-has-are-several-jobs",
        BESIDE,
        "not_one_job",
        "rank 0 of 2 exists 2 times",
        **PAIR,
    ),
    Case(
        "a-gpu-of-two-processes-is-of-two-runs",
        GROUP + GROUP.replace(":100", ":300"),
        "not_one_job",
        "rank 0 of 2 exists 2 times",
        **UNTOLD,
    ),
    Case(
        "each-host-for-itself-with-fast-p2p-is-not-one-job",
        "".join(Job(hosts=(host,), gpus=2).text() for host in HOSTS[:2]),
        "not_one_job",
        "exists 2 times",
        ranks=4,
        hosts=HOSTS[:2],
    ),
    Case(
        "one-node-of-four-missing",
        Job(hosts=HOSTS[:3]).text(),
        "not_one_job",
        "3 ranks, 4 were wanted (no rank on gpu04)",
    ),
    Case("one-node-of-four-missing-hosts-not-told", Job(hosts=HOSTS[:3]).text(), "not_one_job", "4 were", hosts=None),
    Case(
        "all-ranks-on-one-host",
        Job(hosts=HOSTS[:1], gpus=4).text(),
        "not_one_job",
        "no rank on gpu02, gpu03, gpu04",
    ),
    Case(
        "one-host-of-the-list-took-no-part",
        Job(hosts=HOSTS[:3]).text(),
        "not_one_job",
        "no rank on gpu04",
        ranks=3,
    ),
    Case(
        "logs-of-two-runs-in-one",
        two() + two().replace(":1000:", ":7000:").replace(":1001:", ":7001:").replace("449db4", "449db5"),
        "not_one_job",
        "several runs in one text",
        **PAIR,
    ),
    Case("one-rank-of-many-is-alone", Job(hosts=HOSTS[:1], channels=False).text(), "not_one_job", "computed alone"),
    # ------------------------------------------------------------------------------------- nothing known, never "good"
    Case("empty-log", "", "unknown", "no line of NCCL"),
    Case("log-of-another-program", "Step\tImg/sec\ttotal_loss\n1\timages/sec: 2100.3\n", "unknown", "no line of NCCL"),
    Case("binary-file", "\x00\x01\x7fELF\x02\n\x00NCCL\x00", "unknown", "no line of NCCL"),
    Case("version-alone", "NCCL version 2.21.5+cuda12.4\n", "unknown", "no line of a rank"),
    Case("launch-mode-alone", "gpu01:3442:3442 [0] NCCL INFO Launch mode Parallel\n", "unknown", "NCCL_DEBUG_SUBSYS"),
    Case("fast-figures-without-nccl-lines", "total images/sec: 8400.46\n" * 4, "unknown", "no line of NCCL"),
    Case("no-channel-lines", Job(channels=False).text(), "unknown", "no channel between them"),
    Case(
        "gdr-summary-alone-is-no-proof",
        lines(Job("2.24.3", channels=False), "Connected all rings, use ring PXN 0 GDR 1"),
        "unknown",
    ),
    Case("start-never-finished", Job(complete=False, channels=False).text(), "unknown", "cannot reach each other"),
    Case(
        "gdr-lines-alone-are-no-proof",
        Job(
            "2.21.5", channels=False, extra=("GPU Direct RDMA Enabled for GPU b1000 / HCA 0 (distance 4 <= 4), read 0",)
        ).text(),
        "unknown",
    ),
    Case("one-rank-s-log-missing", Job(silent=(2,)).text(), "unknown", "rank(s) 2 of 4", problem="incomplete"),
    Case(
        "missing-log-does-not-hide-a-known-fault",
        Job(silent=(2,), send="NET/Socket/0", receive="NET/Socket/0", network="Socket").text(),
        "sockets",
    ),
    Case(
        "last-host-unheard",
        Job(silent=(3,)).text(),
        "unknown",
        problem="incomplete",
    ),
    Case(
        "channel-line-cut-at-the-end",
        two(gpus=1)[: two().rindex("/GDRDMA")],
        "unknown",
        problem="unreadable_channel",
        **PAIR,
    ),
    Case("channel-line-cut-in-a-word", two()[: two().rindex("/GDRDMA") + 4], "unknown", **PAIR),
    Case("unknown-suffix-is-not-guessed", Job(send="NET/IB/0/NEWMODE").text(), "unknown", problem="unreadable_channel"),
    Case("unknown-transport-is-not-guessed", Job(send="WARP/0").text(), "unknown", problem="unreadable_channel"),
    Case("multi-node-nvlink-is-not-judged", Job("2.27.7", send="P2P/MNNVL").text(), "unknown"),
    Case(
        "ring-neighbour-without-channel-line",
        Job(rings=True, channels=False).text(),
        "unknown",
        "no [send] line for this connection",
    ),
    Case(
        "containers-that-share-a-name",
        Job().text().replace("gpu02:", "gpu01:").replace("gpu03:", "gpu01:").replace("gpu04:", "gpu01:"),
        "unknown",
        "--uts=host",
    ),
    Case(
        "summary-contradicts-the-channels",
        lines(Job("2.24.3"), "Connected all rings, use ring PXN 0 GDR 0"),
        "unknown",
        "lines are missing",
    ),
    Case("more-ranks-than-wanted", Job().text(), "unknown", "4 ranks, 2 were wanted", ranks=2),
    Case("one-host-only", Job(hosts=HOSTS[:1], gpus=2).text(), "unknown", "nothing crosses", ranks=2, hosts=HOSTS[:1]),
    # ------------------------------------------------------------------------------- the surroundings do not matter
    Case(
        "tagged-by-mpirun",
        "".join(f"[1,{rank}]<stdout>:{line}\n" for rank in range(4) for line in Job().rank_lines(rank)),
        "gdrdma",
    ),
    Case(
        "tags-glued-inside-a-line",
        "".join(
            f"[1,{rank}]<stdout>:0.1[1,{rank}]<stdout>:{line}\n" for rank in range(4) for line in Job().rank_lines(rank)
        ),
        "gdrdma",
    ),
    Case("timestamps", "".join(f"[2026-05-05 06:16:47] {line}\n" for line in Job().text().splitlines()), "gdrdma"),
    Case("carriage-returns", Job().text().replace("\n", "\r\n"), "gdrdma"),
    Case("figures-between-the-lines", Job().text().replace("\n", "\n10\timages/sec: 2100.1 +/- 61.9\t7.7\n"), "gdrdma"),
    Case("without-the-last-newline", Job().text().rstrip("\n"), "gdrdma"),
    Case("fully-qualified-names", Job().text(), "gdrdma", hosts=tuple(f"{name}.example.org" for name in HOSTS)),
    Case(
        "one-file-per-rank-behind-each-other",
        "".join("\n".join(Job().rank_lines(rank)) + "\n" for rank in (3, 1, 0, 2)),
        "gdrdma",
    ),
    Case(
        "shared-memory-within-a-host-is-named",
        Job(hosts=HOSTS[:2], gpus=2, local="SHM/direct/direct").text(),
        "gdrdma",
        ranks=4,
        hosts=HOSTS[:2],
        problem="staged_within_host",
    ),
    Case(
        "split-communicator-is-not-another-job",
        lines(
            Job("2.24.3"),
            "ncclCommSplit comm 0x7f11 rank 0 nranks 1 cudaDev 0 nvmlDev 0 busId b1000 parent 0x7f00c0 splitCount 1 "
            "color 0 key 0 - Init COMPLETE",
        ),
        "gdrdma",
    ),
    # -------------------------------------------------------------------------- a good path with errors is not "ok"
    Case(
        "completion-error-12-is-a-problem",
        lines(Job()) + "\ngpu01:1000:2000 [0] net_ib.cc:839 NCCL WARN NET/IB : Got completion with error 12, opcode 1, "
        "len 0, vendor err 129\n",
        "gdrdma",
        problem="ib_transport_retry_exceeded",
    ),
    Case(
        "completion-error-4-is-a-problem-2.30",
        lines(Job("2.30.7")) + "\n[2026-05-05 06:16:47] gpu01:1000:2000 [0] net_ib/p2p.cc:700 (ncclIbTest) NCCL WARN "
        "NET/IB: Got completion from peer 192.0.2.2<4711> with status=IBV_WC_LOC_PROT_ERR(4) opcode=IBV_WC_SEND(0) "
        "vendor_err=81 (Recv) hca mlx5_0\n",
        "gdrdma",
        problem="ib_local_protection",
    ),
    Case(
        "mixed-versions-are-a-problem",
        Job().text() + "NCCL version 2.18.6+cuda12.1\n",
        "gdrdma",
        problem="mixed_versions",
    ),
]


def verdict_of(case: Case) -> PathVerdict:
    return judge(parse(case.text, case.hosts or ()), case.ranks, case.hosts)


def test_the_table_is_as_large_as_promised_and_no_rule_stands_twice() -> None:
    assert len(CASES) >= 60
    assert len({case.rule for case in CASES}) == len(CASES)
    assert {case.verdict for case in CASES} == set(ORDER)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_verdict(case: Case) -> None:
    verdict = verdict_of(case)
    assert (verdict.verdict, verdict.reason) == (case.verdict, verdict.reason)
    assert case.says in verdict.reason
    if case.problem:
        assert case.problem in {problem.code for problem in verdict.problems}
        assert not verdict.good
    if case.verdict == "gdrdma" and not case.problem:
        assert verdict.good, verdict.problems


def test_send_and_receive_are_told_apart_with_the_line_that_decided() -> None:
    (pair, *_rest) = judge(parse(two("2.21.5", send=STAGED)), 2, HOSTS[:2]).pairs
    assert (pair.send.path, pair.receive.path, pair.verdict) == ("rdma_via_host", "gdrdma", "rdma_via_host")
    assert "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0" in pair.send.reason
    assert (pair.source_host, pair.target_host, pair.send.devices, pair.send.lines) == (
        "gpu01",
        "gpu02",
        (0,),
        {"rdma_via_host": 1},
    )


def test_a_send_side_that_old_releases_stage_is_a_verdict_of_its_own_and_not_good() -> None:
    verdict = judge(parse(Job("2.10.3", HOSTS[:2], 2, send=STAGED).text()), 4, HOSTS[:2])
    assert {(pair.send.path, pair.receive.path) for pair in verdict.pairs} == {("receive_only", "gdrdma")}
    assert not verdict.good and "with NVLink this" in verdict.reason


def test_every_pair_that_crosses_hosts_is_listed_and_no_other() -> None:
    verdict = judge(parse(Job(hosts=HOSTS[:2], gpus=2).text()), 4, HOSTS[:2])
    assert [(pair.source, pair.target) for pair in verdict.pairs] == [(1, 2), (3, 0)]


def test_ranks_of_a_smaller_communicator_are_named_as_in_the_whole_job() -> None:
    """A group of the first GPUs of two hosts: its rank 1 is rank 2 of the job."""
    job = Job("2.21.5", HOSTS[:2], 2)
    group = ""
    for rank, number in ((0, 0), (2, 1)):
        group += job.prefix(rank) + (
            f"comm 0x7f22 rank {number} nranks 2 cudaDev 0 nvmlDev 0 busId b1000 commId 0x1111 - Init COMPLETE\n"
        )
    group += job.prefix(0) + "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n"
    verdict = judge(parse(job.text() + group), 4, HOSTS[:2])
    (bad,) = [pair for pair in verdict.pairs if pair.verdict == "rdma_via_host"]
    assert (bad.source, bad.target, bad.source_host, bad.target_host) == (0, 2, "gpu01", "gpu02")


def test_hosts_that_were_started_by_address_are_those_that_the_log_names() -> None:
    addresses = [f"192.0.2.{number}" for number in range(1, 5)]
    assert judge(parse(Job().text(), addresses), 4, addresses).good
    other = judge(parse(Job().text(), addresses), 4, [*addresses[:3], "192.0.2.9"])
    assert not other.good and any("192.0.2.9" in problem.message for problem in other.problems)


def test_roce_is_told_from_infiniband() -> None:
    assert judge(parse(Job().text())).layers == ("RoCE",)
    assert judge(parse(Job().text().replace("/RoCE", "/IB"))).layers == ("IB",)


@pytest.mark.parametrize(
    ("version", "number", "name"),
    [
        ((2, 7), 3, "PXB"),
        ((2, 7), 4, "PHB"),
        ((2, 8), 5, "PHB"),
        ((2, 11), 6, "SYS"),
        ((2, 12), 6, "PHB"),
        ((2, 25), 4, "PXB"),
        ((2, 26), 5, "PXB"),
        ((2, 26), 7, "PHB"),
        ((2, 27), 8, "PHB"),
        ((2, 30), 9, "SYS"),
        ((2, 4), 4, None),
        ((2, 27), 2, None),
        (None, 4, None),
    ],
)
def test_distance_is_named_by_version(version: tuple[int, int] | None, number: int, name: str | None) -> None:
    assert distance_name(version, number) == name


@pytest.mark.parametrize(("gpu", "verdict"), [(1, "gdrdma"), (5, "unknown")])
def test_a_gpu_without_gpudirect_is_named_by_its_rank(gpu: int, verdict: str) -> None:
    """Not by the device of its process, since 2.24 (src/graph/paths.cc); rank 1 uses no network."""
    extra = f"GPU Direct RDMA Disabled for GPU {gpu} / HCA 0 (distance 9 > 5)"
    text = Job("2.27.7", hosts=HOSTS[:2], gpus=3, extra=(extra,)).text()
    text = re.sub(
        r"rank (\d) nranks 6 cudaDev \d nvmlDev (\d) busId b", r"rank \1 nranks 6 cudaDev 1 nvmlDev \2 busId \1", text
    )
    assert judge(parse(text), 6, HOSTS[:2]).verdict == verdict


@pytest.mark.parametrize(("hca", "verdict"), [("a", "unknown"), ("10", "unknown"), ("b", "gdrdma")])
def test_a_nic_without_gpudirect_is_named_by_its_number_in_either_notation(hca: str, verdict: str) -> None:
    """Decimal up to 2.20, hexadecimal from 2.21 on (src/graph/paths.cc)."""
    extra = f"GPU Direct RDMA Disabled for GPU 0 / HCA {hca} (distance 9 > 5)"
    text = Job("2.27.7", hosts=HOSTS[:2], extra=(extra,)).text()
    text = text.replace("NET/IB/0", "NET/IB/10").replace("[0]mlx5_0", "[10]mlx5_10")
    assert judge(parse(text), 2, HOSTS[:2]).verdict == verdict


@pytest.mark.parametrize("distance", ["GPU 1 / HCA 0 (distance 9 > 5)", "GPU 0 / HCA 0 (distance 4 > 0)"])
def test_a_distance_that_does_not_matter_is_no_cause(distance: str) -> None:
    """That of a GPU that uses no network, and one that is too long only because a variable allows none."""
    variable = "NCCL_NET_GDR_LEVEL set by environment to LOC"
    job = Job("2.27.7", hosts=HOSTS[:2], gpus=3, send=STAGED, receive=STAGED)
    text = dataclasses.replace(job, extra=(f"GPU Direct RDMA Disabled for {distance}", variable)).text()
    assert judge(parse(text), 6, HOSTS[:2]).reason.endswith(variable)


def test_result_is_plain_data() -> None:
    result = judge(parse(Job(send=STAGED).text()), 4, HOSTS).as_result()
    assert result["counts"] == {"rdma_via_host": 4}
    assert result["pairs"][0]["send"]["path"] == "rdma_via_host"
    assert (result["ok"], result["nranks"], result["hosts"]) == (False, 4, list(HOSTS))


def test_a_summary_of_all_ranks_is_no_contradiction_where_another_rank_stages() -> None:
    """With NCCL_LOCAL_REGISTER or NCCL_GRAPH_REGISTER a rank without GPUDirect RDMA makes it GDR 0 on all."""
    staged, from_gpu = Job("2.24.3", receive=STAGED), Job("2.24.3").rank_lines(1)
    text = "\n".join([line for rank in (0, 2, 3) for line in staged.rank_lines(rank)] + from_gpu)
    found = judge(parse(f"{text}\n{staged.prefix(1)}Connected all rings, use ring PXN 0 GDR 0\n"))
    assert (found.verdict, [problem.code for problem in found.problems]) == ("rdma_via_host", [])


def test_sockets_that_were_asked_for_are_a_setting_that_was_kept() -> None:
    extra = ("NCCL_IB_DISABLE set by environment to 1.",)
    said = Job("2.27.5", hosts=HOSTS[:2], send="NET/Socket/0", receive="NET/Socket/0", network="Socket", extra=extra)
    found = judge(parse(said.text()), 2, HOSTS[:2])
    assert (found.verdict, found.problems) == ("sockets", ())


def test_the_cause_of_a_detour_is_that_of_the_gpu_in_the_channel_line_where_no_rank_begins() -> None:
    """As with NCCL_DEBUG_SUBSYS=NET: NCCL says for each GPU of the host how far it is, and no rank's start is there."""
    line = "GPU Direct RDMA Disabled for GPU b1000 / HCA 0 (distance 7 > 4)"
    said = Job("2.12.12", hosts=HOSTS[:2], gpus=2, send="NET/IB/0", receive="NET/IB/0", extra=(line,)).text()
    text = "".join(each for each in said.splitlines(keepends=True) if " nranks " not in each)
    found = judge(parse(text))
    assert (found.verdict, found.nranks, line in found.reason) == ("rdma_via_host", None, True)
    assert line not in judge(parse(text.replace("GPU b1000", "GPU c1000"))).reason


TAGGED = "[1,{0}]<stdout>:gpu0{1}:{0}:9 [0] NCCL INFO {2}\n"


def test_a_host_that_only_a_tag_of_mpirun_names_is_an_end_of_a_connection() -> None:
    lines = TAGGED.format(1, 2, "Ring 00 : 0 -> 1 [receive] via NET/Socket/0")
    assert not judge(parse(lines)).pairs
    (pair,) = judge(parse(lines + TAGGED.format(0, 1, "Launch mode Parallel"))).pairs
    assert (pair.source_host, pair.target_host, pair.verdict) == ("gpu01", "gpu02", "sockets")
    other = TAGGED.format(7, 1, "Launch mode Parallel") + TAGGED.format(7, 2, lines.partition("INFO ")[2].strip())
    assert not judge(parse(other)).pairs


def test_a_host_is_not_alone_where_an_end_is_on_a_host_that_is_not_known() -> None:
    ring = "gpu0{}:{}:9 [0] NCCL INFO Ring 00 : {} -> {} [{}] via NET/Socket/0\n"
    text = ring.format(1, 1, 0, 1, "send") + ring.format(2, 2, 0, 1, "receive")
    alone = sum(problem.code == "incomplete" for problem in judge(parse(text)).problems)
    open_end = judge(parse(text + ring.format(2, 2, 1, 5, "send")))
    assert (alone, [problem.code for problem in open_end.problems]) == (3, ["incomplete"])


def test_a_failure_is_the_reason_where_nothing_else_is_known() -> None:
    ring = "gpu0{0}:{0}:9 [0] NCCL INFO Ring 00 : {1} -> {2} [send] via NET/IB/0/GDRDMA\n"
    text = ring.format(1, 0, 1) + ring.format(2, 1, 0)
    found = judge(parse(text + "gpu02:2:9 [0] NCCL INFO init.cc:915 -> 2\n"))
    assert (found.verdict, "init.cc:915 -> 2" in found.reason) == ("unknown", True)
    refused = "Call to connect returned Connection refused, retrying"
    assert refused in judge(parse(f"gpu01:1:9 [0] NCCL INFO {refused}\n")).reason


def test_ranks_whose_start_is_cut_off_are_heard_by_their_channels() -> None:
    text = Job("2.21.5", hosts=HOSTS[:1], gpus=4, silent=(1, 2)).text()
    text = "".join(each for each in text.splitlines(keepends=True) if ":1000:" not in each or " via " in each)
    said = [problem.message for problem in judge(parse(text)).problems]
    assert any("1, 2 of 4" in message for message in said)
    assert any(message.endswith("of rank(s) 0") for message in said)


def test_what_nccl_connected_has_channels_whose_lines_are_missing() -> None:
    text = Job("2.12.12", hosts=HOSTS[:2], channels=False).text()
    plain, connected = (
        judge(parse(each)) for each in (text, text + "gpu01:1000:2000 [0] NCCL INFO Connected all trees\n")
    )
    assert plain.verdict == connected.verdict == "unknown"
    assert ("NCCL_DEBUG_SUBSYS" in plain.reason, "NCCL_DEBUG_SUBSYS" in connected.reason) == (True, False)


def test_channels_to_ranks_that_say_nothing_are_channels() -> None:
    said = [f"Ring 00 : {rank} -> {rank + 1} [send] via NET/AWS Libfabric/0" for rank in (7, 15)]
    found = judge(parse("".join(f"{host}:1:2 [7] NCCL INFO {each}\n" for host, each in zip(HOSTS, said))))
    assert reason("ends_unheard", count=2, line=said[0]) in [problem.message for problem in found.problems]
