"""Whether an exchange is as fast as its links. The ids name the rules."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor import run_facts
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.counters import Due
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures import speed
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures.limits import Limit
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import analysis

WIRE = Limit("wire payload per node", 12.0, "GB/s", "100 Gbit/s")
SIZE = 512 << 20


def ranks(seconds: float, count: int = 4, copies: tuple[float, ...] = ()) -> list[dict[str, Any]]:
    exchange = {"bytes": SIZE, "times": 7, "seconds": seconds}
    return [
        {
            "rank": rank,
            "host": f"gpu0{rank + 1}",
            "machine": {
                "device": "A100",
                "exchange": dict(exchange),
                **({"copy_gb_s": copies[rank]} if copies else {}),
            },
        }
        for rank in range(count)
    ]


def seconds_for(gb_s: float, count: int = 4) -> float:
    return SIZE * 2 * (count - 1) / count / gb_s / 1e9


@pytest.mark.parametrize(
    ("gb_s", "least", "state"),
    [
        pytest.param(11.0, None, "good", id="as fast as sound sites are"),
        pytest.param(9.01, None, "good", id="just fast enough"),
        pytest.param(8.99, None, "bad", id="just too slow"),
        pytest.param(6.0, 0.45, "good", id="a person says what may be expected"),
        pytest.param(6.0, 0.55, "bad", id="slower than a person expects"),
    ],
)
def test_the_share_of_the_links_decides(gb_s: float, least: float | None, state: str) -> None:
    assert speed.judge(ranks(seconds_for(gb_s)), WIRE, 4, least).state == state


@pytest.mark.parametrize(
    ("wire", "nodes", "why"),
    [
        pytest.param(Limit("wire", None, "GB/s", "unknown, because not read"), 4, "not read", id="no link"),
        pytest.param(WIRE, 1, "all ranks are on one node", id="one node"),
    ],
)
def test_without_a_link_to_hold_it_against_nothing_is_judged(wire: Limit, nodes: int, why: str) -> None:
    found = speed.judge(ranks(0.1), wire, nodes, None)
    assert found.state == "not measured" and why in found.why


@pytest.mark.parametrize(
    ("gb_s", "crossed", "state", "share"),
    [
        pytest.param(11.0, 1.875, "good", 11 / 12, id="ring"),
        pytest.param(20.6, 1.0, "good", 20.6 / 1.875 / 12, id="tree"),
        pytest.param(11.0, 1.0, "bad", 11 / 1.875 / 12, id="tree over half its links"),
        pytest.param(11.0, None, "not measured", None, id="either"),
        pytest.param(20.6, None, "good", 20.6 / 1.875 / 12, id="both would be fast"),
        pytest.param(8.0, None, "bad", 8 / 12, id="both would be slow"),
    ],
)
def test_share_of_links_follows_the_counters(
    gb_s: float, crossed: float | None, state: str, share: float | None
) -> None:
    """Two nodes of eight GPUs: a tree prints 1.875 times what its links carry, a ring what they carry."""
    found = speed.judge(ranks(seconds_for(gb_s, 16), 16), WIRE, 2, None, seen=crossed and (crossed, crossed))
    assert found.state == state and found.share == (None if share is None else pytest.approx(share))


@pytest.mark.parametrize(
    ("gb_s", "nvlink", "state"),
    [
        pytest.param(14.0, 15.0, "good", id="both conditions"),
        pytest.param(14.0, None, "bad", id="NVLinks were not read"),
        pytest.param(14.0, 20.0, "bad", id="NVLink carries more"),
        pytest.param(13.0, 13.0, "bad", id="hardly more than half the links"),
        pytest.param(11.2, 11.2, "bad", id="half the links"),
        pytest.param(21.0, 60.0, "good", id="as fast as its links"),
    ],
)
def test_nvlink_is_the_limit_of_a_tree_that_fills_more_than_half_its_links(
    gb_s: float, nvlink: float | None, state: str
) -> None:
    limit = None if nvlink is None else Limit("NVLinks of a GPU", nvlink, "GB/s", "")
    found = speed.judge(ranks(seconds_for(gb_s, 16), 16), WIRE, 2, None, seen=(1.0, 1.0), nvlink=limit)
    assert found.state == state and bool(found.nvlink_share) is (state == "good" and gb_s < 20)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ((10, 10), (10, 10)),
        ((0, 0), (0, 0)),
        ((10, 11), (0, 12)),
        ((10, None), (0, 12)),
        ((101, 101), (0, 12)),
        ((True, True), (0, 12)),
    ],
)
def test_steps_before_the_clock_are_known_where_all_ranks_say_the_same(
    said: tuple[object, ...], found: tuple[float, float]
) -> None:
    assert analysis._steps_before([{"machine": {"warmup_batches": each}} for each in said], 100) == found


def test_all_reduce_of_a_few_bytes_measures_no_bandwidth() -> None:
    few = ranks(seconds_for(11.0))
    for rank in few:
        rank["machine"]["exchange"]["bytes"] = 8
    assert speed.judge(few, WIRE, 4, None).state == "not measured"


@pytest.mark.parametrize(
    ("copies", "slow"),
    [
        pytest.param((24.6, 24.1, 22.0, 24.3), [], id="alike GPUs scatter"),
        pytest.param((24.6, 12.4, 24.5, 24.3), ["gpu02"], id="half the lanes"),
        pytest.param((24.6, 12.4, 12.3, 24.3), ["gpu02", "gpu03"], id="two of four"),
        pytest.param((0, 24.0, 24.1, 24.3), [], id="one that was not measured is not slow"),
    ],
)
def test_a_gpu_that_copies_more_slowly_than_its_like_is_named(copies: tuple[float, ...], slow: list[str]) -> None:
    assert [each.host for each in speed.slow_copies(ranks(0.1, copies=copies))] == slow


def test_other_models_are_not_compared() -> None:
    told = ranks(0.1, copies=(24.6, 12.4, 24.5, 24.3))
    told[1]["machine"]["device"] = "T4"
    assert speed.slow_copies(told) == ()


def test_what_is_measured_alone_is_due_at_the_counters_too() -> None:
    """Else it could stand in for gradients that never came by."""
    due = Due(10e9, 4, 3e9)
    assert (due.each, due.everywhere, due.of_gradients) == (13e9, 78e9, 60e9)


def test_only_what_is_slow_is_told_to_the_doctor_under_the_names_of_the_inventory() -> None:
    hosts = {"node1": "gpu01", "node2": "gpu02"}
    good = dataclasses.asdict(speed.judge(ranks(seconds_for(11.0)), WIRE, 4, None))
    assert run_facts.speed(good, hosts) == run_facts.speed({}, hosts) == {}
    bad = dataclasses.asdict(speed.judge(ranks(seconds_for(5.0), copies=(24.0, 6.0, 24.0, 24.0)), WIRE, 4, None))
    told = run_facts.speed(bad, hosts)
    assert [each["value"] for each in json.loads(told["job/facts/speed.json"])] == ["5 of 12 GB/s"]
    (copy,) = json.loads(told["hosts/node2/facts/gpu-copy.json"])
    assert copy["device"] == "rank 1" and copy["value"].startswith("6 GB/s")
