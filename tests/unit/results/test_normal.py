"""Is my number normal? Each figure in words: its share of the limit, and published figures of like hardware alone."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures import limits as lim
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures import published
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.page import markdown as render
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.page import report as page

from tests.unit.results import report_samples
from tests.unit.results.report_samples import faults

A100 = "NVIDIA A100-PCIE-40GB"
WIRE = lim.Limit("gradient exchange over the wire", 10000.0, "images/s", "computed")
LINEAR = lim.Limit("linear scaling from one GPU", 9000.0, "images/s", "computed")
BUS = lim.Limit("all-reduce bus bandwidth", 24.5, "GB/s", "computed")
ONE = lim.Limit("wire payload per NIC", 24.5, "GB/s", "computed")


def training(achieved: float | None = 8200.0) -> list[lim.Comparison]:
    return [lim.Comparison("training rate", achieved, limit, physical=limit is WIRE) for limit in (WIRE, LINEAR)]


def words(
    comparisons: list[lim.Comparison], simulated: bool, *, gpus: tuple[str, ...] = (A100,), nodes: int = 4,
    ranks: int = 4, precision: str = "bf16", model: str = "resnet50", link: float | None = 200.0, nics: int = 1,
) -> list[dict[str, str]]:  # fmt: skip
    per_rank = [{"machine": {"device": gpus[rank % len(gpus)]} if gpus else {}} for rank in range(ranks)]
    workload = {"precision": precision, "model": model}
    limits = {"nic_link_gbit_per_s": link, "nics_per_node": nics}
    return published.words(comparisons, per_rank, workload, limits, hosts=nodes, simulated=simulated)


def said(comparisons: list[lim.Comparison], simulated: bool = False, **changes: Any) -> str:
    (told,) = words(comparisons, simulated, **changes)
    return told["text"]


def test_a_training_rate_stands_beside_both_limits_and_the_nearest_figures_of_the_same_gpu() -> None:
    text = said(training())
    assert text.startswith("8,200 images/s: 82 % of what")
    assert "91 % of as many" in text
    assert "Others with A100 in half precision: " in text
    assert "21,810 images/s on 2 x 4, 2,726 each (two Dell R750xa, A100-PCIe-80GB; MLCommons Training v3.0" in text
    assert "H100" not in text and "V100" not in text


def test_one_gpu_is_shown_beside_figures_of_one_gpu() -> None:
    text = said(training(), nodes=1, ranks=1)
    assert "on 1 x 1 (timm, channels_last; huggingface" in text and "on 2 x 4" not in text


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"gpus": ("NVIDIA L40S",)}, "No figure is published of NVIDIA L40S in bf16"),
        ({"gpus": ("NVIDIA H200",)}, "No figure is published of NVIDIA H200"),
        ({"precision": "fp32"}, "No figure is published of NVIDIA A100-PCIE-40GB in fp32"),
        ({"precision": ""}, "precision that is not known"),
        ({"gpus": ()}, "GPU of the ranks is not known"),
        ({"gpus": (A100, "NVIDIA H100 PCIe")}, "differs (NVIDIA A100-PCIE-40GB, NVIDIA H100 PCIe)"),
        ({"model": "vgg16"}, "Nothing is published here for vgg16"),
        ({"ranks": 0}, "GPU of the ranks is not known"),
    ],
)
def test_where_nobody_published_anything_alike_that_is_said(changes: dict[str, Any], wanted: str) -> None:
    text = said(training(), **changes)
    assert wanted in text and "Others" not in text


def test_simulated_devices_are_beside_nobody() -> None:
    text = said(training(), simulated=True)
    assert "82 %" in text and "simulated" in text and "Others" not in text


def test_a_share_that_is_not_known_says_why_and_an_impossible_one_says_so() -> None:
    unknown = lim.Comparison("x", 5.0, lim.unknown("all-reduce bus bandwidth", "GB/s", "the link is not known"), True)
    assert "not known (the link" in said([unknown])
    assert "200 % of what the NICs of these nodes" in said([lim.Comparison("x", 49.0, BUS, physical=True)])


def test_what_was_not_measured_has_no_sentence() -> None:
    assert words(training(None), False) == []


@pytest.mark.parametrize(
    ("link", "nics", "wanted", "without"),
    [
        (200.0, 1, "24 GB/s is the peak of each NIC (NVIDIA/nccl-tests issue 119", "192"),
        (200.0, 8, "192 GB/s (8 NICs, NVIDIA/nccl issue 778)", "386"),
        (100.0, 2, "22.9 GB/s (2 x 8 V100, RoCE, NVIDIA/deepops", "24 GB/s"),
        (400.0, 8, "231 GB/s (2 x 8 H100, RoCE, NVIDIA/nccl issue 2409, reported as too slow)", "12 GB/s"),
        (25.0, 1, "No figure is published of 1 NIC(s) of 25 Gb/s per node", "Others"),
        (None, 1, "The link of the NICs is not known", "Others"),
    ],
)
def test_an_all_reduce_stands_beside_those_over_the_same_links(
    link: float | None, nics: int, wanted: str, without: str
) -> None:
    text = said([lim.Comparison("all-reduce", 20.0, BUS, physical=True)], link=link, nics=nics)
    assert "82 % of what the NICs of these nodes" in text
    assert wanted in text and without not in text.partition(". ")[2]


def test_one_connection_stands_beside_what_others_ask_of_one() -> None:
    text = said([lim.Comparison("perftest", 24.0, ONE, physical=True)])
    assert "98 % of what" in text and "180 Gb/s" in text
    assert "180 Gb/s" not in said([lim.Comparison("perftest", 12.0, ONE, physical=True)], link=100.0)


def test_every_figure_has_a_source_and_the_dlperf_ones_are_those_of_the_seed() -> None:
    used = {peer.source for peer in published.PEERS}
    used |= {row[-1] for row in (*published.ALL_REDUCE, *published.ONE_NIC)}
    assert used == set(published.SHORT)
    assert sum(peer.source == "dlperf" for peer in published.PEERS) == sum(map(len, published.DLPERF.values()))


def test_both_pages_and_the_schema_have_the_sentences() -> None:
    summary = report_samples.summary(simulated=False)
    told = summary["limits"]["in_words"]
    assert told[0]["what"] == "training rate" and "GPU of the ranks" not in told[0]["text"]
    assert faults(summary) == []
    for text in (render(summary), page(summary, [])):
        assert "Is that normal?" in text and "this wire can" in text
    del summary["limits"]["in_words"]  # of an earlier release
    assert "Is that normal?" not in render(summary) + page(summary, [])
