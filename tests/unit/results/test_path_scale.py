"""The work of reading and judging NCCL's log grows with the ranks and no faster. Calls are counted, not seconds."""

from __future__ import annotations

import sys
from typing import Any, Sequence

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.path import path_verdict
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import nccl_log

from tests.unit.proof.truth import Run
from tests.unit.results.nccl_shapes import Job


def _calls(text: str, hosts: Sequence[str], size: int) -> tuple[int, int]:
    """Python calls of reader and judge, resumed generators among them."""
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call"

    found = []
    for step in ("read", "judge"):
        count = 0
        sys.setprofile(note)
        try:
            if step == "read":
                log = nccl_log.read(text, hosts)
            else:
                assert path_verdict.judge(log, size, hosts).verdict == "gdrdma"
        finally:
            sys.setprofile(None)
        found.append(count)
    return found[0], found[1]


@pytest.mark.parametrize("algorithm", ["ring", "tree"])
def test_calls_of_twice_the_ranks_are_twice_as_many(algorithm: str) -> None:
    # The first run also compiles what is asked later on.
    runs = [Run("x", nodes=nodes, gpus=4, rails=4, algorithm=algorithm) for nodes in (8, 8, 16)]
    _first, small, large = (_calls(run.nccl(), run.hosts, run.size) for run in runs)
    for few, many in zip(small, large):
        assert 1.5 < many / few < 2.4, (small, large)


def test_calls_for_what_speaks_against_gpudirect_grow_with_the_ranks() -> None:
    far = tuple(f"GPU Direct RDMA Disabled for GPU {gpu} / HCA 1 (distance 9 > 5)" for gpu in range(8))
    jobs = [Job("2.27.7", tuple(f"gpu{host:02}" for host in range(hosts)), 4, extra=far) for hosts in (8, 8, 16)]
    _first, small, large = (_calls(job.text(), job.hosts, job.size) for job in jobs)
    assert large[1] / small[1] < 2.4, (small, large)
