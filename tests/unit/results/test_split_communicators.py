"""Communicators that were split off: they say nothing about who the ranks of the job are."""

from __future__ import annotations

import re

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.path.path_verdict import judge
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.nccl_log import read as parse

from tests.unit.results.nccl_shapes import HOSTS, Job

NET = "NET/IB/0/GDRDMA"


def split_off(job: Job, order: list[int]) -> str:
    """Every rank joins a communicator of the same size in which the ranks are numbered anew."""
    return "".join(
        f"{job.prefix(rank)}ncclCommSplit comm 0x7f1{rank} rank {order[rank]} nranks {len(order)} cudaDev 0 nvmlDev 0 "
        f"busId b1000 parent 0x7f00c0 splitCount 1 color 0 key {order[rank]} commId 0xa1 - Init COMPLETE\n"
        for rank in range(len(order))
    )


@pytest.mark.parametrize("order", [[3, 2, 1, 0], [1, 0, 3, 2], [0, 1, 2, 3]], ids=str)
def test_a_communicator_of_all_ranks_in_another_order_changes_nothing(order: list[int]) -> None:
    job = Job("2.24.3")
    alone = judge(parse(job.text()), 4, HOSTS).as_result()
    assert (alone["verdict"], alone["ok"]) == ("gdrdma", True)
    assert judge(parse(job.text() + split_off(job, order)), 4, HOSTS).as_result() == alone


@pytest.mark.parametrize("path", ["gdrdma", "rdma_via_host"])
def test_parts_without_a_name_are_told_apart_by_what_they_are_part_of(path: str) -> None:
    """Since 2.23 NCCL prints no commId for them (src/init.cc): here pairs of one host each, then pairs across hosts."""
    job, lines = Job("2.27.7", hosts=HOSTS[:2], gpus=2), []
    net = "NET/IB/0" + "/GDRDMA" * (path == "gdrdma")
    for count, pairs in enumerate(([(0, 1), (2, 3)], [(0, 2), (1, 3)]), start=1):
        for color, pair in enumerate(pairs):
            gpus = [rank % 2 for rank in pair]
            for number, rank in enumerate(pair):
                made = (
                    f"ncclCommSplit comm 0x7f1{count} rank {number} nranks 2 cudaDev {rank % 2} nvmlDev {rank % 2} "
                    f"busId b1000 parent 0x7f00c0 splitCount {count} color {color} key {number}"
                )
                ways = ("send", "receive") if count == 2 else ("",)
                said = [f"{made}- Init START", f"{made} - Init COMPLETE"]
                for way in ways:
                    ends = (1 - number, number) if way == "receive" else (number, 1 - number)
                    via = f"[{way}] via {net}" if way else "via P2P/IPC"
                    said.append(f"Channel 00/0 : {ends[0]}[{gpus[ends[0]]}] -> {ends[1]}[{gpus[ends[1]]}] {via}")
                lines += [job.prefix(rank) + text for text in said]
    found = judge(parse(job.text() + "\n".join(lines) + "\n"), 4, HOSTS[:2])
    assert {(pair.source, pair.target): pair.verdict for pair in found.pairs}[0, 2] == path
    assert (found.verdict, found.problems, len(found.pairs)) == (path, (), 6)


def test_a_communicator_that_grew_keeps_the_name_of_its_start() -> None:
    """The end names its parent instead (src/init.cc, 2.29 and later)."""
    grown = "ncclCommGrow comm 0x66b0 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId b1000 "
    text = (
        f"gpu01:815:864 [0] NCCL INFO [Rank 0] {grown}commId 0x22 - Init START\n"
        f"gpu01:815:864 [0] NCCL INFO {grown}parent 0x55a0 childCount 1 color 0 key 0 - Init COMPLETE\n"
    )
    (rank,) = parse(text).ranks
    assert (rank.comm, rank.complete, rank.split) == ("0x22", True, False)


def groups(job: Job, members: list[tuple[int, ...]], named: bool) -> str:
    """Groups of the job's ranks: rings over the network, and with ``named`` a commId; connected by another thread."""
    lines = []
    for group in members:
        size = len(group)
        for number, rank in enumerate(group):
            gpu = "busId b1000" if named else f"busId {rank % job.gpus}a000"
            ends = [f"{at}[{each % job.gpus}{'' if named else 'a000'}]" for at, each in enumerate(group)]
            said = [
                f"Channel 00 : {ends[number - 1]} -> {ends[number]} [receive] via {NET}",
                f"Channel 00 : {ends[number]} -> {ends[(number + 1) % size]} [send] via {NET}",
                f"comm 0x7f22 rank {number} nranks {size} cudaDev {rank % job.gpus} {gpu}"
                f"{f' commId 0x{group[0]:x}' if named else ''} - Init COMPLETE",
            ]
            lines += [job.prefix(rank).replace(f":{2000 + rank} ", ":99 ") + text for text in said]
    return "\n".join(lines) + "\n"


def old_job(hosts: int) -> tuple[Job, str]:
    """NCCL 2.7.8 on hosts of two GPUs, whose bus ids are alike on all hosts."""
    job = Job("2.7.8", hosts=HOSTS[:hosts], gpus=2)
    text = re.sub(r"cudaDev (\d) busId b1000", r"cudaDev \1 busId \1a000", job.text())
    return job, re.sub(r"(\d)\[b1000\]", lambda end: f"{end[1]}[{int(end[1]) % 2}a000]", text)


def test_ranks_of_a_group_are_told_from_those_of_the_world_by_their_gpus() -> None:
    job, world = old_job(2)
    found = judge(parse(world + groups(job, [(0, 2), (1, 3)], named=False)), 4, HOSTS[:2])
    assert (found.verdict, found.problems, found.within) == ("gdrdma", (), {"p2p": 2})
    assert {(pair.source, pair.target) for pair in found.pairs} == {(1, 2), (3, 0), (0, 2), (2, 0), (1, 3), (3, 1)}


def test_groups_that_no_line_tells_apart_are_left_open() -> None:
    """Before 2.16 NCCL prints no commId; each GPU of these has a partner with the same bus id on several hosts."""
    job, world = old_job(4)
    members = [(0, 2), (4, 6), (1, 3), (5, 7)]
    found = judge(parse(world + groups(job, members, named=False)), 8, HOSTS)
    assert (found.verdict, found.within) == ("unknown", {"p2p": 4})
    assert [problem.code for problem in found.problems] == ["incomplete"]
    assert {(pair.source, pair.target) for pair in found.pairs} == {(1, 2), (3, 4), (5, 6), (7, 0)}
    without = re.sub(r".*1\[1a000\] -> 2\[0a000\] \[send\].*\n", "", world)
    unclear, missing = (
        judge(parse(text), 8, HOSTS).pairs[0] for text in (without + groups(job, members, False), without)
    )
    assert [(pair.source, pair.send.path, pair.receive.path) for pair in (unclear, missing)] == [
        (1, "unknown", "gdrdma")
    ] * 2
    assert unclear.send.reason != missing.send.reason


def test_a_group_of_a_thread_that_began_no_communicator_is_known_by_its_gpus() -> None:
    job = Job("2.27.5", hosts=HOSTS[:2], gpus=2)
    found = judge(parse(job.text() + groups(job, [(0, 2), (1, 3)], named=True)), 4, HOSTS[:2])
    assert (found.verdict, found.problems, found.within) == ("gdrdma", (), {"p2p": 2})
    assert (0, 2) in {(pair.source, pair.target) for pair in found.pairs}


def test_a_process_in_the_place_of_another_is_no_further_rank() -> None:
    """The others begin a communicator with it; together they are more processes than the job has ranks."""
    job = Job("2.25.1", hosts=HOSTS[:1], gpus=4)
    first = re.sub(r"cudaDev (\d) nvmlDev \d busId b1000", r"cudaDev \1 nvmlDev \1 busId \g<1>a000", job.text())
    again = first.replace("0x65e0bd6ee7449db4", "0x77").replace("gpu01:1000:2000 ", "gpu01:5000:5000 ")
    found = judge(parse(first + again))
    assert (found.verdict, found.nranks, found.grouped) == ("not_one_job", 4, False)
    assert "rank 0 of 4 exists 2 times (gpu01:1000, gpu01:5000)" in found.reason
    assert found.rank_hosts == dict.fromkeys((1, 2, 3), "gpu01")


def test_hosts_of_jobs_that_are_not_one_are_all_named_and_no_rank_is_put_on_one_of_them() -> None:
    found = judge(parse(Job(hosts=HOSTS[:2], nranks=1, channels=False).text()))
    assert (found.verdict, found.hosts, found.rank_hosts) == ("not_one_job", HOSTS[:2], {})
