"""The verdict on systems that others published is what their authors found (published_systems.yml).

Each row is played as a whole sound run of that shape, whose exchange went at the published speed: sound GPUDirect is
PROVEN, slow GPUDirect never; what the owner declares as the machine's limit (`least_share`) is PROVEN with it; data
that went through host memory is NOT PROVEN, however fast.
"""

from __future__ import annotations

import pathlib
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
SLOT = {400: 32.0, 800: 64.0}  # GT/s of a slot that such a NIC needs
SPEED = {"sound": "agrees", "slow": "disagrees", "explained": "disagrees"}


def played(row: dict[str, Any]) -> Site:
    size = {"nodes": row["nodes"], "gpus": row["gpus"], "rails": row["nics"], "link": row["links"]}
    run = Run(row["system"], version="2.27.7", algorithm=row.get("algorithm", "ring"), **size)
    run = Run(row["system"], version="2.27.7", algorithm=run.algorithm, share=_share(run, row["busbw"]), **size)
    site = enriched(run)
    if row.get("path") == "host":
        site.replace(r"/GDRDMA\S*", "")
    for device in site.nics():
        device["pcie"]["current_link_speed"] = SLOT.get(row["links"], 16.0)
    return site


def _share(run: Run, busbw: float) -> float:
    return busbw / (run.link_gb_s * run.rails)


def found(row: dict[str, Any]) -> tuple[str, str]:
    """State of the verdict, and of the witness of the speed."""
    verdict = summary(played(row))["verdict"]
    (speed,) = [each for each in verdict["witnesses"] if each["name"] == "speed"]
    return verdict["state"], speed["state"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['system']}, {row['busbw']}".replace(" ", "-"))
def test_verdict_is_what_the_authors_found(row: dict[str, Any]) -> None:
    state, speed = found(row)
    assert speed == SPEED[row["found"]]
    assert state in ALLOWED["host" if row.get("path") == "host" else row["found"]]


@pytest.mark.parametrize("row", [row for row in ROWS if row["found"] == "explained"], ids=lambda row: row["system"])
def test_limit_that_the_owner_declares_is_proven(row: dict[str, Any]) -> None:
    site = played(row)
    site.inputs["limits"] = {"least_share": 0.9 * _share(site.run, row["busbw"])}
    assert summary(site)["verdict"]["state"] == "PROVEN"


def test_table_covers_the_published_range() -> None:
    assert len(ROWS) >= 30 and all(row["source"].startswith("https://") for row in ROWS)
    assert {row["links"] for row in ROWS} >= {100, 200, 400, 800}
    assert {row["found"] for row in ROWS} == set(SPEED) and {row.get("path") for row in ROWS} >= {"host", None}
    assert min(row["nodes"] for row in ROWS) == 2 and max(row["nodes"] for row in ROWS) == 64
