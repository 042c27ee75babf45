"""The doctor in the report of a run: what is read for it, what is marked SIMULATED, and that it takes nothing away."""

from __future__ import annotations

import copy
import dataclasses
import json
import pathlib
from typing import Any

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor import doctor, run_facts
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import diagnosis, page
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.page import markdown as render
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import Inputs, build

from tests.unit.proof.truth import Run
from tests.unit.results.report_samples import faults

ROOT = pathlib.Path(__file__).resolve().parents[3]
RUN = Run("2x1 ring", nodes=2)
XID = "Feb  1 10:00:00 gpu02 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
CLOSED = "gpu01:1:2 [0] NCCL WARN Connection closed by remote peer gpu02<3>\n"
KERNEL = {"name": "atsSupport", "type": "Bool", "configured": "TRUE", "runtime": "FALSE", "default": "FALSE"}


def summary(logs: pathlib.Path | None = None, simulated: bool = False, **evidence: Any) -> dict[str, Any]:
    given = {**RUN.inputs(), "result": None}
    given["evidence"] = {**given["evidence"], **evidence}
    inputs = Inputs(run_id="one", **given)
    found = build(dataclasses.replace(inputs, simulated=simulated))
    if found["verdict"]["state"] != "PROVEN":
        found["doctor"] = diagnosis.diagnose(found, inputs.evidence, str(logs) if logs else None)
    assert faults(found) == []
    return found


def told(**evidence: Any) -> dict[str, Any]:
    found: dict[str, Any] = summary(**evidence)["doctor"]
    return found


def causes(found: dict[str, Any]) -> list[str]:
    return [finding["cause"] for finding in found["findings"]]


def changed(**device: Any) -> dict[str, Any]:
    """Readings of the NICs in which the one of gpu02 is different after the training."""
    readings = copy.deepcopy(RUN.rdma())
    readings["gpu02"]["after"]["devices"][0].update(device)
    return readings


def on_priority_0() -> dict[str, Any]:
    """Readings in which all that gpu02 has sent during the training is in priority 0."""
    readings = copy.deepcopy(RUN.rdma())
    for moment, sent in (("before", 0), ("after", 10**9)):
        readings["gpu02"][moment]["devices"][0]["counters"]["ethtool"] = {"tx_prio0_bytes": sent, "tx_prio3_bytes": 0}
    return readings


def test_a_proven_run_is_not_asked_about() -> None:
    found = build(Inputs(run_id="one", **RUN.inputs()))
    assert (found["verdict"]["state"], found["doctor"]) == ("PROVEN", None)
    assert "What is wrong" not in render(found)


def test_sound_readings_of_an_unproven_run_name_nothing() -> None:
    found = told()
    assert (found["verdict"], found["findings"]) == ("no_fault_seen", [])
    assert found["message"].startswith("Nothing that this")


def test_the_logs_of_the_run_are_read_and_what_else_lies_there_is_not(tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.log").write_text(CLOSED)
    (tmp_path / "train.err").write_text(XID)
    (tmp_path / "job.json").write_text('{"why": "Xid 48"}\n')
    found = summary(tmp_path)
    first = found["doctor"]["findings"][0]
    assert (first["cause"], first["host"], first["simulated"]) == ("gpu_fault", "gpu02", False)
    assert {"job/train.log", "job/train.err"} <= set(found["doctor"]["read"])
    assert "job/job.json" not in found["doctor"]["read"]
    for text in (render(found), page.report(found)):
        assert "What is wrong" in text
        assert "job/train.err:1: " in text
        assert first["fix"]["what"] in text


@pytest.mark.parametrize(
    ("cause", "evidence"),
    [
        ("link_faulty", {"rdma": changed(state="DOWN")}),
        ("mtu_differs", {"rdma": changed(active_mtu=1024)}),
        ("nic_qos_differs", {"rdma": changed(qos={"trust": "dscp", "pfc_priorities": []})}),
        ("nic_qos_differs", {"rdma": changed(counters={"ethtool": {"rx_prio3_discards": 7 + 5000}})}),
        ("nic_qos_differs", {"rdma": on_priority_0()}),
    ],
)
def test_readings_of_a_node_lead_to_its_fault_on_this_node(cause: str, evidence: dict[str, Any]) -> None:
    found = told(**evidence)
    assert causes(found)[0] == cause
    assert "gpu02" in found["findings"][0]["hosts"]


def test_what_was_counted_before_the_run_is_no_trouble_of_the_run() -> None:
    readings = copy.deepcopy(RUN.rdma())
    for moment in ("before", "after"):
        readings["gpu02"][moment]["devices"][0]["counters"]["ethtool"] = {"rx_prio3_discards": 812345}
    assert told(rdma=readings)["verdict"] == "no_fault_seen"


def test_gpus_switches_and_hosts_are_facts_with_their_places() -> None:
    readings = copy.deepcopy(RUN.rdma())
    readings["gpu01"]["start"]["gpus"] = {
        "xids": [{"bus": "0000:3b:00.0", "xid": 79, "count": 1}],
        "driver": {"loaded": "550.54.15"},
        "state": [{"slowed": ["hw_thermal_slowdown"], "remap_failed": False, "fabric": "Completed"}],
        "pci": [{"kind": "nvswitch"}],
        "fabric_manager": {"state": "failed"},
    }
    switches = copy.deepcopy(RUN.switches())
    switches["sw01"]["after"]["roce"] = {"mode": "lossless", "pfc": "enabled"}
    switches["sw01"]["after"]["ports"]["1/1"].update(admin="down", oper="down", mtu=1500)
    texts = run_facts.pieces({"rdma": readings, "switches": switches}, {"esx01": [KERNEL]})
    places = ("hosts/gpu01/{}dmesg", "hosts/gpu01/{}nvidia-smi-q", "hosts/gpu01/{}fabricmanager")
    assert {place.format("facts/") + ".json" for place in places} <= texts.keys()
    assert '{"thing": "Xid", "value": 79, "device": "0000:3b:00.0"}' in texts["hosts/gpu01/facts/dmesg.json"]
    found = set(causes(doctor.diagnose(None, texts)))
    assert {"gpu_fault", "gpu_throttled", "fabric_manager", "switch_port_off", "esxi_setting"} <= found


def test_discards_of_a_switch_are_those_of_the_run() -> None:
    switches = copy.deepcopy(RUN.switches())
    switches["sw01"]["after"]["ports"]["1/1"]["counters"]["tx_discards"] = 2 + 40000
    piece = run_facts.pieces({"switches": switches})["switches/sw01/facts/counters.json"]
    assert {"thing": "discarded packets", "value": 40000, "device": "1/1 tx"} in json.loads(piece)


def test_a_device_that_did_not_answer_is_named() -> None:
    texts = run_facts.pieces({"rdma": {"gpu01": {"start": {"error": "no\nanswer", "devices": []}}}})
    assert texts == {"hosts/gpu01/answer": "unreachable: no answer\n"}


def test_what_simulated_devices_say_is_marked_and_the_log_is_not(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(CLOSED)
    found = summary(log, simulated=True, rdma=changed(state="DOWN"))
    marks = {finding["cause"]: finding["simulated"] for finding in found["doctor"]["findings"]}
    assert marks["link_faulty"] is True
    assert "SIMULATED candidate" in render(found)
    alone = summary(log, simulated=True)["doctor"]["findings"]
    assert [finding["simulated"] for finding in alone] == [False] * len(alone)
    assert alone


def test_a_reading_that_calls_itself_simulated_is_marked_whatever_the_run_says() -> None:
    readings = changed(state="DOWN")
    readings["gpu02"]["after"]["simulated"] = True
    assert [finding["simulated"] for finding in told(rdma=readings)["findings"]][:1] == [True]


def test_a_doctor_that_fails_says_so_and_changes_nothing_of_the_report(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = summary()
    gone = summary(tmp_path / "gone")
    assert gone["doctor"]["failed"].startswith("FileNotFoundError")

    def explode(*_given: Any, **_more: Any) -> Any:
        raise RuntimeError("widget")

    monkeypatch.setattr(doctor, "diagnose", explode)
    broken = summary()
    assert broken["doctor"]["message"] == "The doctor failed: RuntimeError: widget"
    assert "The doctor failed: RuntimeError: widget" in render(broken)
    assert "The doctor failed: RuntimeError: widget" in page.report(broken)
    for found in (sound, gone, broken):
        found.pop("doctor")
    assert json.dumps(sound) == json.dumps(gone) == json.dumps(broken)


def test_what_a_log_says_becomes_no_markup(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("Xid 79 <script>alert(1)</script> | `x`\n")
    found = summary(log)
    assert "<script>alert" not in page.report(found)
    assert "<script>" not in render(found)


def test_both_halves_of_the_run_have_a_report_when_they_fail() -> None:
    """Each is followed by what all hosts say, then by the report and the failure itself."""
    plays = yaml.safe_load((ROOT / "playbooks" / "run.yml").read_text())
    found = {}
    for play, after, report in zip(plays, plays[1:], plays[2:]):
        task = (play.get("tasks") or [{}])[0]
        if "block" in task:
            assert [step["ansible.builtin.include_tasks"] for step in task["rescue"]] == ["tasks/note_failure.yml"]
            assert (after["hosts"], report["hosts"]) == ("gpu_vms", "gpu_vms[0]")
            steps = [each["tasks"][0]["ansible.builtin.include_tasks"] for each in (after, report)]
            found[task["block"][0]["ansible.builtin.include_role"]["tasks_from"]] = steps
    assert found == {half: ["tasks/tell.yml", "tasks/after_failure.yml"] for half in ("checks", "timed")}
