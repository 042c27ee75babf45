"""One table of Xids: fabric check, doctor, failed run and report of a run give one answer for each."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor import doctor, run_facts
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import gpus
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.xids import known_from, table
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.gpu_health import parse_xids
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.failure import diagnose
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import Node
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import diagnosis
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import Inputs, build

from tests.unit.fabric.test_gpus import HOSTS, host, readings
from tests.unit.proof.truth import Run

BUS = "0000:1d:00.0"
LAST = "2026-01-31T09:30:00Z"
CAUSES = {entry.cause for entry in table().values()} - {""}
# In NVIDIA's catalogue without an action, or not in it: nothing is certain.
UNKNOWN = (32, 38, 61, 999)


def line(number: int) -> str:
    return f"[  100.000000] NVRM: Xid (PCI:0000:1d:00): {number}, pid=1, name=python\n"


def reading(number: int, **entry: Any) -> dict[str, Any]:
    return host(xids=[{"bus": BUS, "xid": number, "count": 1, "last": LAST, **entry}])


def of_fabric(number: int, known: tuple[str, ...] = (), **entry: Any) -> bool:
    """Whether the fabric check calls the GPU faulty."""
    found = gpus.judge(HOSTS, readings(gpu02=reading(number, **entry)), known_from(known))
    return any(fault.thing == "xid" for fault in found.faults)


def of_report(number: int, known: tuple[str, ...] = (), **entry: Any) -> list[tuple[str, str]]:
    """What the report says of a reading of the GPUs: causes of Xids, and how certain."""
    evidence = {
        "job": {"known_xids": list(known)},
        "rdma": {"gpu02": {"start": {"gpus": reading(number, **entry)}}},
    }
    return _causes(doctor.diagnose(None, run_facts.pieces(evidence)))


def of_doctor(number: int) -> list[tuple[str, str]]:
    return _causes(doctor.diagnose(None, {"hosts/gpu02/dmesg.txt": line(number)}))


def _causes(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["cause"], each["certainty"]) for each in found["findings"] if each["cause"] in CAUSES]


def of_failed_run(number: int) -> str:
    cause = diagnose(1, "", f"[1,0]<stderr>:{line(number)}", [Node("gpu02", 1)]).cause
    return cause if cause in CAUSES else ""


@pytest.mark.parametrize("number", sorted(table()))
def test_four_askers_give_one_answer(number: int) -> None:
    expected = table()[number]
    assert of_fabric(number) is not expected.goes_on
    assert [cause for cause, _certainty in of_doctor(number)][:1] == ([expected.cause] if expected.cause else [])
    assert of_failed_run(number) == expected.cause
    reported = [cause for cause, _certainty in of_report(number)][:1]
    assert reported == ([] if expected.goes_on else [expected.cause])


@pytest.mark.parametrize("number", UNKNOWN)
def test_an_xid_without_a_row_decides_nothing(number: int) -> None:
    assert number not in table()
    assert not of_fabric(number)
    assert {certainty for _cause, certainty in of_doctor(number)} <= {"candidate"}
    assert of_failed_run(number) == ""
    assert of_report(number) == []


def test_an_nvlink_xid_that_is_not_fatal_is_certain_nowhere() -> None:
    """NVIDIA's catalogue decodes it to no action, or to a restart of the program."""
    said = line(145).replace("pid=1, name=python", "RLW_REMAP Nonfatal XC0 i0 Link 00 (0x00000004 0x80000000)")
    assert parse_xids(said, 0.0) == []
    found = _causes(doctor.diagnose(None, {"hosts/gpu02/dmesg.txt": said}))
    assert {certainty for _cause, certainty in found} <= {"candidate"}
    assert diagnose(1, "", f"[1,0]<stderr>:{said}", [Node("gpu02", 1)]).cause not in CAUSES


@pytest.mark.parametrize("number", [entry.number for entry in table().values() if not entry.goes_on])
def test_a_settled_xid_takes_nothing_away(number: int) -> None:
    """The driver was loaded again after it, or the inventory names it."""
    named = (f"gpu02/{BUS}/{number}/{LAST}",)
    assert not of_fabric(number, earlier=True) and of_report(number, earlier=True) == []
    assert not of_fabric(number, named) and of_report(number, named) == []
    later = {"last": "2026-01-31T09:40:00Z"}
    assert of_fabric(number, named, **later) and of_report(number, named, **later) != []


@pytest.mark.parametrize(
    ("number", "earlier", "state"),
    [
        (79, True, "PROVEN"),
        (79, False, "NOT PROVEN"),
        (13, False, "PROVEN"),
        (63, False, "PROVEN"),
        (94, False, "PROVEN"),
    ],
)
def test_a_proven_run_loses_it_only_by_an_open_xid(number: int, earlier: bool, state: str) -> None:
    """Read at the start of the run: what stops no GPU, or was settled, was before the run."""
    given = copy.deepcopy(Run("2x1 ring", nodes=2).inputs())
    gpus_read = {"xids": [{"bus": BUS, "xid": number, "count": 1, "earlier": earlier}], "state": [{"bus": BUS}]}
    given["evidence"]["rdma"]["gpu01"].setdefault("start", {})["gpus"] = gpus_read
    inputs = Inputs(run_id="one", **given)
    answer = diagnosis.diagnose(build(inputs), inputs.evidence, None)
    verdict = build(dataclasses.replace(inputs, doctor=answer))["verdict"]
    assert verdict["state"] == state, verdict["line"]
