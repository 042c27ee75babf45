"""Communicators that were split off: they say nothing about who the ranks of the job are."""

from __future__ import annotations

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.path.path_verdict import judge
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.nccl_log import read as parse

from tests.unit.results.nccl_shapes import HOSTS, Job


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
