"""The work of reading and judging NCCL's log grows with the ranks and no faster. Calls are counted, not seconds."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.path import path_verdict
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import nccl_log

from tests.unit.proof.truth import Run


def _calls(run: Run) -> tuple[int, int]:
    """Python calls of reader and judge, resumed generators among them."""
    text = run.nccl()
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
                log = nccl_log.read(text, run.hosts)
            else:
                assert path_verdict.judge(log, run.size, run.hosts).verdict == "gdrdma"
        finally:
            sys.setprofile(None)
        found.append(count)
    return found[0], found[1]


@pytest.mark.parametrize("algorithm", ["ring", "tree"])
def test_calls_of_twice_the_ranks_are_twice_as_many(algorithm: str) -> None:
    # The first run also compiles what is asked later on.
    _first, small, large = (_calls(Run("x", nodes=nodes, gpus=4, rails=4, algorithm=algorithm)) for nodes in (8, 8, 16))
    for few, many in zip(small, large):
        assert 1.5 < many / few < 2.4, (small, large)
