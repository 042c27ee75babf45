"""The verdict on systems that others published is what their authors found (published_systems.yml).

Each row is played as a whole sound run of that shape, whose exchange went at the published speed: sound GPUDirect is
PROVEN, slow GPUDirect never; what the owner declares as the machine's limit (`least_share`) is PROVEN with it; data
that went through host memory is NOT PROVEN, however fast.
"""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
import yaml

from tests.unit.proof.attack_base import Site, enriched, summary
from tests.unit.proof.truth import Run

HERE = pathlib.Path(__file__)
ROWS: list[dict[str, Any]] = yaml.safe_load(HERE.with_name("published_systems.yml").read_text(encoding="utf-8"))
ALLOWED: dict[str, tuple[str, ...]] = {
    "sound": ("PROVEN",),
    "slow": ("PATH PROVEN", "NOT PROVEN"),
    "explained": ("PATH PROVEN",),
    "host": ("NOT PROVEN",),
}
# GB/s of the NVLinks of a GPU in one direction, as nvidia-smi nvlink -s adds up; systems of PCI Express have none.
NVLINK = {"V100": 150.0, "A100": 300.0, "DGX": 300.0, "A800": 200.0, "H100": 478.116, "H200": 478.116}
SLOT = {400: 32.0, 800: 64.0}  # GT/s of a slot that such a NIC needs
SPEED = {"sound": "agrees", "slow": "disagrees", "explained": "disagrees"}


def played(row: dict[str, Any]) -> Site:
    size = {"nodes": row["nodes"], "gpus": row["gpus"], "rails": row["nics"], "link": row["links"]}
    run = Run(row["system"], version="2.27.7", algorithm=row.get("algorithm", "ring"), **size)
    run = Run(row["system"], version="2.27.7", algorithm=run.algorithm, share=_share(run, row["busbw"]), **size)
    site = enriched(run)
    if row.get("path") == "host":
        site.replace(r"/GDRDMA\S*", "")
    model = re.match(r"DGX(?= A100)|[\w-]+?(?=-SXM|[ ,])", row["system"])
    if model and model[0] in NVLINK and "PCIe" not in row["system"]:
        _nvlink(site, NVLINK[model[0]])
    for device in site.nics():
        device["pcie"]["current_link_speed"] = SLOT.get(row["links"], 16.0)
    return site


def _nvlink(site: Site, gb_s: float | None) -> None:
    for host in site.hosts:
        site.rdma[host]["start"]["gpus"] = {"state": [{"nvlinks_gb_s": gb_s}] * site.run.gpus}


def _share(run: Run, busbw: float) -> float:
    return busbw / (run.link_gb_s * run.rails)


def speed_of(site: Site) -> tuple[str, dict[str, Any]]:
    """State of the verdict, and the witness of the speed."""
    verdict = summary(site)["verdict"]
    (speed,) = [each for each in verdict["witnesses"] if each["name"] == "speed"]
    return verdict["state"], speed


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["system"])
def test_verdict_is_what_the_authors_found(row: dict[str, Any]) -> None:
    state, speed = speed_of(played(row))
    assert speed["state"] == SPEED[row["found"]] and row.get("says", "") in speed["evidence"]
    assert state in ALLOWED["host" if row.get("path") == "host" else row["found"]]


LIMITED = next(row for row in ROWS if row["system"].startswith("H100, NVLS tree over two nodes"))


@pytest.mark.parametrize(
    ("busbw", "nvlink"),
    [(LIMITED["busbw"], None), (LIMITED["busbw"], 900.0), (367.0, 478.116), (340.0, 420.0)],
    ids=["not read", "more than it needs", "half of the links' lanes", "less than half of them"],
)
def test_nvlink_explains_nothing_else(busbw: float, nvlink: float | None) -> None:
    """A tree over two nodes prints 1.875 times what its links carry: 367 is what a half of them leaves."""
    site = played({**LIMITED, "busbw": busbw})
    _nvlink(site, nvlink)
    assert speed_of(site)[0] == "PATH PROVEN"


def test_nvlink_of_one_gpu_that_is_not_known_is_no_limit() -> None:
    site = played(LIMITED)
    site.rdma[site.hosts[1]]["start"]["gpus"]["state"][3] = {"nvlinks_gb_s": None}
    assert speed_of(site)[0] == "PATH PROVEN"


def test_limit_by_nvlink_is_said_in_the_first_line() -> None:
    assert "NVLink is the limit (98 %" in summary(played(LIMITED))["verdict"]["line"]


@pytest.mark.parametrize("row", [row for row in ROWS if row["found"] == "explained"], ids=lambda row: row["system"])
def test_limit_that_the_owner_declares_is_proven(row: dict[str, Any]) -> None:
    site = played(row)
    site.inputs["limits"] = {"least_share": 0.9 * _share(site.run, row["busbw"])}
    assert summary(site)["verdict"]["state"] == "PROVEN"


def test_table_covers_the_published_range() -> None:
    assert len(ROWS) == len({row["system"] for row in ROWS}) >= 36
    assert all(row["source"].startswith("https://") for row in ROWS)
    assert {row["links"] for row in ROWS} >= {100, 200, 400, 800}
    assert {row["found"] for row in ROWS} == set(SPEED) and {row.get("path") for row in ROWS} >= {"host", None}
    assert min(row["nodes"] for row in ROWS) == 2 and max(row["nodes"] for row in ROWS) == 64
