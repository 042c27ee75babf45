"""Logs of an H200: two processes as "two hosts" on one GPU (NCCL_HOSTID), over sockets.

NCCL 2.28.9 and 2.32.3, nccl-tests 2.19.6, this collection's training, timm's benchmark: what real programs printed.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.filter.nccl_path import nccl_path
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import (
    nccl_log,
    nccl_tests,
    tf_cnn,
    timm,
)

from tests.unit.results.logs import FIXTURES

FOLDER = FIXTURES / "h200"


@functools.lru_cache(maxsize=None)
def text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def diagnosed(name: str) -> dict[str, Any]:
    return diagnose(None, {name: text(name)})


@pytest.mark.parametrize("release", ["2.28.9", "2.32.3"])
def test_each_rank_says_its_way_and_then_nothing(release: str) -> None:
    logs = [text(f"nccl-{release}.{rank}.log") for rank in range(2)]
    for rank, log in enumerate(logs):
        found = nccl_log.read(log)
        assert found.good and list(found.versions) == [release]
        assert {channel.network for channel in found.channels} == {"Socket"}
        (only,) = found.ranks
        assert (only.rank, only.nranks, only.complete) == (rank, 2, True)
        # 12 and 150 timed steps came behind this line; they wrote nothing.
        after = log.partition("Connected all rings")[2].splitlines()[1:]
        assert all("Destroy" in line or "Closing" in line or "/speed" in line for line in after)
    assert nccl_path("".join(logs))["verdict"] == "sockets"


def test_nccl_tests_says_a_row_for_each_size() -> None:
    for name, busbw in (("all_reduce.txt", 1.82), ("all_reduce_one_host.txt", 3.66)):
        found = nccl_tests.read(text(name))
        assert found.good
        (table,) = found.parts
        assert (table.ranks, table.finished, table.largest.size) == (2, True, 16 << 20)
        assert found.as_dict()["tables"][0]["largest"]["busbw"] == busbw


def test_training_and_timm_are_read() -> None:
    found = tf_cnn.read(text("training.txt"), 2)
    assert found.good and found.total == 747.03 and found.last_step == 150
    (only,) = timm.read(text("timm.txt")).parts
    assert (only.images_per_second, only.image_size, only.precision) == (2632.29, 288, "amp")


@pytest.mark.parametrize("name", ["training.txt", "timm.txt"])
def test_a_job_that_went_well_is_healthy(name: str) -> None:
    assert diagnosed(name)["verdict"] == "healthy"


@pytest.mark.parametrize(
    "name", ["all_reduce.txt", "all_reduce_one_host.txt", "diagnostics.txt", "ras.txt", "bandwidth.txt"]
)
def test_a_test_over_sockets_has_no_fault(name: str) -> None:
    found = diagnosed(name)
    assert found["verdict"] != "faulty" and not found["findings"], [each["cause"] for each in found["findings"]]


def test_sockets_without_gpudirect_are_no_fault_of_gpudirect() -> None:
    for release in ("2.28.9", "2.32.3"):
        causes = {each["cause"] for each in diagnosed(f"nccl-{release}.0.log")["findings"]}
        assert not causes & {"peermem_missing", "gdr_distance", "guest_ofed_mismatch"}, causes
