"""False evidence through the module `run_report` itself: it is refused, and the reason names the thing."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from tests.unit.decisions import decide
from tests.unit.proof.test_bound_evidence import ATTACKS, ONE, Attack
from tests.unit.proof.test_timed_run import STREAMS, Stream


def reported(folder: pathlib.Path, inputs: dict[str, Any]) -> dict[str, Any]:
    """What the module returns in check mode."""
    # As Ansible sends it: JSON.
    given = json.loads(json.dumps({**inputs, "path": str(folder), "run_id": "x", "plots": False}))
    return decide("run_report", check=True, **given)


def test_module_reports_a_sound_run_as_proven(tmp_path: pathlib.Path) -> None:
    assert reported(tmp_path, ONE.inputs())["verdict"].startswith("PROVEN")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name.replace(" ", "-"))
def test_module_refuses_false_evidence_by_name(attack: Attack, tmp_path: pathlib.Path) -> None:
    inputs = attack.run.inputs()
    attack.change(inputs)
    found = reported(tmp_path, inputs)
    assert not found["verdict"].startswith("PROVEN")
    (witness,) = [one for one in found["summary"]["verdict"]["witnesses"] if one["name"] == attack.witness]
    assert witness["state"] != "agrees" and attack.names in witness["evidence"]


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name.replace(" ", "-"))
def test_module_refuses_a_timed_run_that_lost_its_path(stream: Stream, tmp_path: pathlib.Path) -> None:
    inputs = stream.run.inputs()
    inputs["evidence"]["nccl_path"] = stream.run.path(stream.change(stream.run.nccl()))
    found = reported(tmp_path, inputs)
    assert found["verdict"].startswith(("NOT PROVEN", "INVALID RUN"))
    (witness,) = [one for one in found["summary"]["verdict"]["witnesses"] if one["name"] == "path"]
    assert witness["state"] != "agrees" and stream.names in witness["evidence"]
