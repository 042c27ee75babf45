"""The fabric check as a witness: it may be missing, but what it found counts. The id names the rule."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import gpus
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.page import markdown as render
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.page import report as page
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import Inputs, build

from tests.unit.fabric.test_gpus import host
from tests.unit.proof.truth import STARTED, Run
from tests.unit.results.report_samples import faults

TRUTH = Run("4x1 ring").inputs()
HOSTS = ["gpu01", "gpu02", "gpu03", "gpu04"]
FAULT = {
    "thing": "slow",
    "kind": "nic",
    "place": "gpu02 rail 1 at leaf1 1/3",
    "hosts": ["gpu02"],
    "found": "4 of 4 bad",
    "remedy": "swap the cable",
}
RAIL = {**FAULT, "kind": "rail", "place": "rail 1", "hosts": []}
RIGHT = {
    "schema": 1,
    "form": "quick",
    "ok": True,
    "complete": True,
    "simulated": False,
    "hosts": HOSTS,
    "rails": 2,
    "missing": [],
    "faults": [],
    "measured": {"ib_write_bw": {"tests": 24, "bad": 0, "medians": {"rail 0": 391.5}}},
}


def summary(fabric: dict[str, Any] | None) -> dict[str, Any]:
    inputs = copy.deepcopy(TRUTH)
    if fabric is not None:
        inputs["evidence"]["fabric"] = fabric
    return build(Inputs(run_id="x", **inputs))


def told(at: float = STARTED - 300, **changed: Any) -> dict[str, Any]:
    return {"at": at, "report": {**RIGHT, **changed}}


@pytest.mark.parametrize(
    ("fabric", "state", "text", "verdict"),
    [
        pytest.param(
            told(), "agrees", "24 measurements between 4 hosts on 2 rail(s), nothing found", "PROVEN", id="right"
        ),
        pytest.param(None, "missing", "no check before", "PROVEN", id="not checked: unknown, and not needed"),
        pytest.param({"skipped": "no perftest"}, "missing", "no perftest", "PROVEN", id="the reason is told"),
        pytest.param(told(faults=[FAULT], ok=False), "disagrees", "gpu02 rail 1", "PATH PROVEN", id="fault of a host"),
        pytest.param(told(faults=[RAIL], ok=False), "disagrees", "rail 1: slow", "PATH PROVEN", id="fault of a rail"),
        pytest.param(
            told(hosts=[*HOSTS, "gpu09"], ok=False, faults=[{**FAULT, "hosts": ["gpu09"], "place": "gpu09 rail 0"}]),
            "agrees",
            "gpu09 rail 0: slow",
            "PROVEN",
            id="fault of a host that took no part is told",
        ),
        pytest.param(
            told(faults=[{**FAULT, "kind": "gpu", "thing": "ecc", "place": "gpu02 GPU 5"}], ok=False),
            "agrees",
            "gpu02 GPU 5: ecc",
            "PROVEN",
            id="a GPU says nothing of the path, and is told",
        ),
        pytest.param(told(hosts=HOSTS[:3]), "missing", "not checked: gpu04", "PROVEN", id="a host was not checked"),
        pytest.param(told(complete=False, missing=["gpu03"]), "missing", "no answer from gpu03", "PROVEN", id="cut"),
        pytest.param(told(measured={}), "missing", "nothing was measured", "PROVEN", id="nothing measured"),
        pytest.param(told(ok=False), "missing", "does not say that it is in order", "PROVEN", id="not ok, no fault"),
        pytest.param(told(at=STARTED - 7200), "missing", "60 minutes before", "PROVEN", id="an old one"),
        pytest.param(told(at=STARTED + 50), "missing", "60 minutes before", "PROVEN", id="one of afterwards"),
        pytest.param(told(simulated=True), "missing", "SIMULATED", "PROVEN", id="of stand-ins"),
    ],
)
def test_witness(fabric: dict[str, Any] | None, state: str, text: str, verdict: str) -> None:
    found = summary(fabric)
    (witness,) = [each for each in found["verdict"]["witnesses"] if each["name"] == "fabric"]
    assert (witness["state"], found["verdict"]["state"]) == (state, verdict), witness["evidence"]
    assert text in witness["evidence"]
    assert faults(found) == []


def test_its_word_is_one_more() -> None:
    without, with_it = (
        re.match(r"PROVEN: (\d+) independent", summary(each)["verdict"]["line"]) for each in (None, told())
    )
    assert without and with_it and int(with_it[1]) == int(without[1]) + 1


def test_report_has_a_section_with_faults_and_heat_map() -> None:
    found = summary(told(faults=[FAULT], ok=False))
    text = render(found, heat_map="fabric.svg")
    assert "| slow | gpu02 rail 1 at leaf1 1/3 | 4 of 4 bad | swap the cable |" in text
    assert "rail 0 391.5" in text and "![host against host](fabric.svg)" in text
    web = page(found, heat_map="<svg xmlns='http://www.w3.org/2000/svg'/>")
    assert 'id="fabric"' in web and "swap the cable" in web and "data:image/svg+xml;base64," in web


def test_report_has_the_gpus_in_one_table_with_equal_ones_in_one_row() -> None:
    right = gpus.judge(
        HOSTS, {name: {"gpus": host({3: {"slowed": ["hw_slowdown"]}} if name == "gpu02" else None)} for name in HOSTS}
    )
    found = summary(told(gpus=[dict(row) for row in right.rows]))
    text, web = render(found), page(found)
    assert text.count("NVIDIA H100 80GB HBM3") == web.count("NVIDIA H100 80GB HBM3") == 3
    assert (
        "| gpu01, gpu03, gpu04 | 0-7 |" in text
        and "| gpu02 | 3 |" in text
        and "| hw_slowdown | on | slowed down |" in text
    )
    assert "Xid since boot" in web and "slowed down" in web
    assert "Xid since boot" not in render(summary(told())) and "Xid since boot" not in page(summary(told()))


def test_report_says_that_it_was_not_checked_and_why() -> None:
    found = summary({"skipped": "the image has no ib_write_bw"})
    assert "image has no ib_write_bw." in render(found)
    assert "image has no ib_write_bw." in page(found)
    assert 'id="fabric"' not in page(summary(None)) and "## Fabric" not in render(summary(None))
