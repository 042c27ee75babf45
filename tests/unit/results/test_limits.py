"""Limits against figures that others computed or measured; what is not known stays unknown, with what is missing."""

from __future__ import annotations

import json
import pathlib
import re
import types
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures import limits
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures.benchmark_files import read
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures.limits import Limit
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import tf_cnn
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import analysis
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.results.report_samples import LIMITS

ROOT = pathlib.Path(__file__).resolve().parents[3]
LINK = Limit("link", 10.0, "GB/s", "given")


def wire(link: Any = 100, mtu: Any = 4096, **more: Any) -> Limit:
    return limits.wire_gbyte_per_s(link, mtu, **{"vlan_tagged": True, **more})


@pytest.mark.parametrize(("mtu", "share"), [(1024, 0.9225), (2048, 0.9597), (4096, 0.9794)])
def test_payload_share_of_a_tagged_roce_v2_packet(mtu: int, share: float) -> None:
    assert limits.roce_header_bytes(vlan_tagged=True) == 86
    assert wire(8, mtu).value == pytest.approx(share, abs=5e-5)


@pytest.mark.parametrize(
    ("link", "mtu", "gbyte_per_s"),
    [
        (25, 1024, 2.88),
        (25, 4096, 3.06),
        (100, 1024, 11.53),
        (200, 4096, 24.49),
        (400, 1024, 46.13),
        (400, 4096, 48.97),
    ],
)
def test_wire_payload_in_gbyte_per_s(link: int, mtu: int, gbyte_per_s: float) -> None:
    assert wire(link, mtu).value == pytest.approx(gbyte_per_s, abs=0.006)


def test_untagged_and_ipv6_packets_differ_by_their_headers() -> None:
    assert limits.roce_header_bytes(vlan_tagged=False) == 82
    assert limits.roce_header_bytes(vlan_tagged=True, ip_version=6) == 106


def test_two_nics_carry_twice_as_much() -> None:
    assert wire(nics_per_node=2).value == pytest.approx(2 * (wire().value or 0))


@pytest.mark.parametrize(
    ("interface", "roce"),
    [(1500, 1024), (4191, 2048), (4192, 4096), (9000, 4096), (300, None), (0, None)],
)
def test_roce_mtu_is_what_linux_takes_for_an_interface(interface: int, roce: int | None) -> None:
    assert limits.roce_mtu_bytes(interface) == roce


@pytest.mark.parametrize(
    ("generation", "width", "link_gbyte_per_s"),
    [(1, 16, 4.0), (2, 8, 4.0), (3, 16, 15.754), (4, 16, 31.508), (5, 16, 63.015), (6, 16, 118.0)],
)
def test_pcie_link_rate_less_packet_overhead(generation: int, width: int, link_gbyte_per_s: float) -> None:
    around = 16 if generation == 6 else 24
    found = limits.pcie_gbyte_per_s(generation, width, 256).value
    assert found == pytest.approx(link_gbyte_per_s * 256 / (256 + around), rel=1e-3)


def test_measured_nics_stay_below_the_pcie_limit() -> None:
    """Published: 12.5 to 13 GB/s through Gen3 x16, 25 to 26 GB/s through Gen4 x16."""
    assert 13 < (limits.pcie_gbyte_per_s(3, 16, 256).value or 0) < 15
    assert 26 < (limits.pcie_gbyte_per_s(4, 16, 256).value or 0) < 30


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)", (4, 16)),
        ("LnkSta: Speed 8GT/s, Width x8, TrErr- Train-", (3, 8)),
        ("LnkSta: Speed 2.5GT/s (downgraded), Width x4 (downgraded)", (1, 4)),
        ("LnkSta: Speed unknown, Width x0", None),
        ("LnkSta: Speed 17GT/s, Width x16", None),
        ("", None),
        (None, None),
    ],
)
def test_link_status_as_lspci_prints_it(text: str | None, expected: tuple[int, int] | None) -> None:
    assert limits.pcie_link_status(text) == expected


@pytest.mark.parametrize(
    ("found", "missing"),
    [
        (wire(None), "the link speed of the NIC"),
        (wire(mtu=None), "the RoCE MTU"),
        (wire(vlan_tagged=None), "VLAN tag"),
        (wire(nics_per_node=None), "number of NICs"),
        (wire(mtu=1500), "1500 is not a RoCE MTU"),
        (wire(link=float("nan")), "the link speed of the NIC"),
        (limits.pcie_gbyte_per_s(None, 16, 256), "generation"),
        (limits.pcie_gbyte_per_s(4, 16, None), "MaxPayload"),
        (limits.pcie_gbyte_per_s(9, 16, 256), "generation 9"),
        (limits.pcie_gbyte_per_s(4, 7, 256), "x7 is not a PCIe width"),
        (limits.gradient_bytes(None, "fp32"), "number of parameters"),
        (limits.gradient_bytes(10, "fp8"), "'fp8'"),
        (limits.gradient_bytes(10, None), "not known"),
        (limits.compute_images_per_s(None, 4), "rate of one GPU"),
        (limits.allreduce_gbyte_per_s(LINK, 1, 8), "on one node"),
        (limits.allreduce_gbyte_per_s(LINK, None, 8), "number of nodes"),
        (limits.ring_allreduce_seconds(limits.unknown("size", "bytes", "x"), 4, LINK), "size is not known"),
        (limits.tightest(LINK, limits.unknown("PCIe", "GB/s", "x")), "PCIe is not known"),
    ],
)
def test_what_is_not_known_makes_a_limit_unknown_and_is_named(found: Limit, missing: str) -> None:
    assert found.value is None
    assert found.how.startswith("unknown, because ")
    assert missing in found.how


def test_gradients_of_resnet50() -> None:
    assert limits.gradient_bytes(limits.RESNET50_PARAMETERS, "fp32").value == 102_228_128
    assert limits.gradient_bytes(limits.RESNET50_PARAMETERS, "bf16").value == 51_114_064


@pytest.mark.parametrize(("ranks", "megabytes"), [(2, 102.2), (4, 153.3), (8, 178.9), (64, 201.3)])
def test_ring_traffic_of_resnet50_per_rank(ranks: int, megabytes: float) -> None:
    assert 102.228128 * limits.ring_factor(ranks) == pytest.approx(megabytes, abs=0.06)


@pytest.mark.parametrize(
    ("size", "ranks", "seconds", "gbyte_per_s"),
    [(257.991328e6, 2, 0.023242, 11.1002), (257.991328e6, 8, 0.102321, 4.4124)],
)
def test_bus_bandwidth_is_the_one_that_measure_py_prints(
    size: float, ranks: int, seconds: float, gbyte_per_s: float
) -> None:
    assert limits.bus_gbyte_per_s(size, ranks, seconds) == pytest.approx(gbyte_per_s, abs=1e-4)


@pytest.mark.parametrize(
    ("link", "step_s", "efficiency"),
    [(12.24, 512 / 2375, 94.5), (24.49, 512 / 2375, 97.2), (12.24, 256 / 2375, 89.6), (3.06, 512 / 2375, 81.1)],
)
def test_ring_time_without_overlap_gives_the_predicted_efficiency(
    link: float, step_s: float, efficiency: float
) -> None:
    size = limits.gradient_bytes(limits.RESNET50_PARAMETERS, "fp32")
    ring = limits.ring_allreduce_seconds(size, 4, Limit("link", link, "GB/s", "")).value or 0
    assert 100 * step_s / (step_s + ring) == pytest.approx(efficiency, abs=0.15)


def test_bus_bandwidth_of_two_nodes_may_exceed_the_wire_and_is_not_impossible() -> None:
    """Two nodes of eight GPUs: a tree sends the data once, the figure counts it 1.875 times."""
    assert limits.allreduce_gbyte_per_s(LINK, 2, 16).value == pytest.approx(18.75)
    assert limits.allreduce_gbyte_per_s(LINK, 4, 4).value == pytest.approx(10.0)


@given(st.integers(2, 64), st.integers(1, 16))
def test_bus_bandwidth_limit_is_never_below_the_wire(nodes: int, gpus: int) -> None:
    assert (limits.allreduce_gbyte_per_s(LINK, nodes, nodes * gpus).value or 0) >= 10.0 - 1e-9


@given(st.floats(0.001, 100), st.floats(0.001, 100), st.floats(0.0001, 100))
def test_exposed_share_and_overlap_are_shares(step: float, single: float, allreduce: float) -> None:
    found = limits.communication(step, single, allreduce)
    assert found["exposed_share"] is not None and 0 <= found["exposed_share"] < 1
    assert found["overlap"] is not None and 0 <= found["overlap"] <= 1


def test_exposed_communication_by_hand() -> None:
    found = limits.communication(0.25, 0.2, 0.1)
    assert found["exposed_s"] == pytest.approx(0.05)
    assert found["exposed_share"] == pytest.approx(0.2)
    assert found["overlap"] == pytest.approx(0.5)


def test_a_run_that_is_faster_than_one_rank_alone_says_so() -> None:
    assert "the faster one" in limits.communication(0.2, 0.25, None)["how"]
    for step in (0.25, 0.3):
        assert "the faster one" not in limits.communication(step, 0.25, None)["how"]
    assert "something else waits" in limits.communication(0.4, 0.2, 0.1)["how"]
    assert "something else waits" not in limits.communication(0.3, 0.2, 0.1001)["how"]


def test_exposed_communication_without_the_single_rate_is_unknown() -> None:
    found = limits.communication(0.25, None, 0.1)
    assert (found["exposed_share"], found["overlap"]) == (None, None)
    assert "one rank alone" in found["how"]


def test_no_rate_of_a_product_stands_in_the_code() -> None:
    """8400 is what a guide prints; it is no threshold of anything."""
    for path in (ROOT / "plugins").rglob("*.py"):
        if path.name != "published.py":
            assert not re.search(r"\b8[_,]?400\b", path.read_text()), path


# ----------------------------------------------------------------------------------------------------------- analysis

RANKS = [{"rank": rank, "host": f"gpu{rank}", "machine": {}} for rank in range(4)]
OWN = {
    "model": "resnet50",
    "variables": "distributed_data_parallel (nccl)",
    "batch_size_per_device": "256",
    "batch_size_global": "1024",
    "precision": "bf16",
    "num_batches": "100",
}


def analyse(*given: Any) -> Any:
    """What the summary is given, and what the witnesses are, by their names."""
    judged, told = analysis.analyse(*given)
    return types.SimpleNamespace(**{**judged, **told})


def comparison(found: Any, limit_name: str) -> Any:
    return next(entry for entry in found.comparisons if entry.limit.name == limit_name)


def test_a_rate_that_the_wire_cannot_carry_is_physically_exceeded() -> None:
    """1024 images per step, 153.3 MB per rank and step over 12.24 GB/s: at most 81,780 images/s."""
    name = "gradient exchange over the wire"
    assert not comparison(analyse(LIMITS, RANKS, 81_000.0, OWN, {}), name).exceeded
    beyond = comparison(analyse(LIMITS, RANKS, 90_000.0, OWN, {}), name)
    assert beyond.exceeded and beyond.physical


def test_the_single_rate_comes_from_the_benchmark_only_with_the_same_batch_and_precision() -> None:
    def one(precision: str, batch: int) -> Any:
        row = {"nodes": 1, "gpus_per_node": 1, "precision": precision, "batch": batch, "repeats": [500.0] * 5}
        return read({"scaling": {"kind": "scaling", "simulated": False, "results": [row]}})

    name = "linear scaling from one GPU"
    assert comparison(analyse({}, RANKS, 1800.0, OWN, one("bf16", 256)), name).ratio == pytest.approx(0.9)
    for other in (one("fp32", 256), one("bf16", 128)):
        assert comparison(analyse({}, RANKS, 1800.0, OWN, other), name).ratio is None


def test_a_path_that_does_not_say_its_wire_is_not_held_against_the_nic() -> None:
    results = [
        {"network": "resnet50", "path": path, "ranks": 4, "size_bytes": 1e9, "seconds": [0.1] * 5}
        for path in ("cpu", "gpu_direct")
    ]
    found = analyse(LIMITS, RANKS, None, OWN, read({"bandwidth": {"kind": "bandwidth", "results": results}}))
    assert [entry.ratio is None for entry in found.comparisons] == [True, False]
    assert found.comparisons[1].exceeded  # 15 GB/s through 12.24


@pytest.mark.parametrize(
    "other",
    [
        {"path": "servers"},
        {"path": "servers_async"},
        {"path": "point_to_point"},
        {"path": "both_ways"},
        {"path": "gpu_direct", "servers": 2},
        {"path": "gpu_direct", "optimizer": "sgd"},
        {"path": "gpu_direct", "network": "vgg16"},
        {"path": "gpu_direct", "ranks": 2},
    ],
    ids=["servers", "servers_async", "point_to_point", "both_ways", "servers-of-any-name", "optimizer",
         "another-network", "fewer-ranks"],
)  # fmt: skip
def test_the_time_of_the_all_reduce_is_of_an_all_reduce(other: dict[str, Any]) -> None:
    """1024 images per step at 2000 images/s: 0.512 s, of which 0.256 s are computed; its all-reduce takes 0.4 s."""
    row = {"network": "resnet50", "ranks": 4, "size_bytes": 1e6}
    slow, quick = {**row, "path": "cpu", "seconds": [0.4] * 5}, {**row, **other, "seconds": [0.001] * 5}
    given = {**LIMITS, "single_gpu_images_per_s": 1000.0}

    def overlap(*results: dict[str, Any]) -> float | None:
        files = read({"bandwidth": {"kind": "bandwidth", "results": [*results]}})
        return analyse(given, RANKS, 2000.0, OWN, files).communication["overlap"]

    assert overlap(slow) == pytest.approx(1 - 0.256 / 0.4)
    assert overlap(slow, quick) == overlap(slow)
    assert overlap(quick) is None


def test_the_largest_all_reduce_of_nccl_tests_is_compared_and_no_other_collective() -> None:
    row = {"ranks": 4, "hosts": 4, "in_place_busbw_gb_s": 1.0}
    rows = [
        {**row, "size_bytes": 8, "out_of_place_busbw_gb_s": 99.0},
        {**row, "size_bytes": 1024, "out_of_place_busbw_gb_s": 11.0, "collective": "all_reduce_perf"},
        {**row, "size_bytes": 4096, "out_of_place_busbw_gb_s": 77.0, "collective": "all_gather"},
        {**row, "size_bytes": None, "out_of_place_busbw_gb_s": 88.0},
    ]
    found = comparison(analyse(LIMITS, RANKS, None, OWN, {"nccl_tests": {"rows": rows}}), "all-reduce bus bandwidth")
    assert (found.achieved, "1024 bytes" in found.what) == (11.0, True)
    assert not analyse(LIMITS, RANKS, None, OWN, {"nccl_tests": {"rows": rows[2:]}}).comparisons


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 102_228_128),
        ({"parameters": 1000}, 4000),  # what was told goes before what is known of the collection's own workload
        ({"gradient_precision": "bf16"}, 51_114_064),
        ({"parameters": 1000, "gradient_precision": "bf16"}, 2000),
    ],
)
def test_what_was_told_of_the_gradients_goes_before_what_is_known_of_the_own_workload(
    given: dict[str, Any], expected: int
) -> None:
    own = {key: value for key, value in LIMITS.items() if key not in ("parameters", "gradient_precision")}
    found = analyse({**own, **given}, [{"host": "a"}, {"host": "b"}], None, OWN, {})
    (size,) = [limit for limit in found.limits if limit["unit"] == "bytes"]
    assert size["value"] == expected


def _reported(*formats: str | None) -> list[dict[str, Any]]:
    """Details of the ranks of a log, whose machine lines name the number format of the gradients (None: an old one)."""
    records = [
        {"rank": rank, "world": len(formats), "host": f"gpu{rank}", "images_per_second": 10.0}
        | ({"gradients": name} if name else {})
        for rank, name in enumerate(formats)
    ]
    text = "".join(f"[1,{record['rank']}]<stdout>:ROCEMESH {json.dumps(record)}\n" for record in records)
    return list(tf_cnn.read(text, len(formats)).as_dict()["per_rank"])


@pytest.mark.parametrize(
    ("formats", "expected"),
    [
        (("fp32", "fp32"), 102_228_128),
        (("bf16", "bf16"), 51_114_064),
        (("fp16", "fp16"), 51_114_064),
        ((None, None), 102_228_128),
        (("bf16", "fp32"), None),
        (("bf16", None), None),
    ],
    ids=["fp32", "bf16", "fp16", "not-told", "not-the-same", "one-does-not-say"],
)
def test_the_gradients_are_as_large_as_the_format_in_which_every_rank_exchanged_them(
    formats: tuple[str | None, ...], expected: int | None
) -> None:
    ranks = _reported(*formats)
    found = analyse(LIMITS, ranks, None, OWN, {})
    (size,) = [limit for limit in found.limits if limit["unit"] == "bytes"]
    assert size["value"] == expected
    assert (None if found.due is None else found.due.gradient_bytes) == (None if expected is None else 100 * expected)
    (told,) = [limit for limit in analyse({**LIMITS, "gradient_precision": "fp32"}, ranks, None, OWN, {}).limits
               if limit["unit"] == "bytes"]  # fmt: skip
    assert told["value"] == 102_228_128
    assert expected is not None or any("the same (" in note for note in found.notes)


def test_gradients_of_an_unknown_workload_are_not_guessed() -> None:
    found = analyse(LIMITS, RANKS, 100.0, {"model": "resnet50", "variables": "horovod"}, {})
    wire = comparison(found, "gradient exchange over the wire")
    assert wire.limit.value is None
