"""What a host says to one command after a job, as pieces; and the doctor as a witness. The ids name the rules."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor import host_output, run_facts
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import diagnosis
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import Inputs, build

from tests.unit.proof.truth import Run
from tests.unit.results.report_samples import faults

ROOT = Path(__file__).resolve().parents[3]
SAID = """\
Welcome to this machine
=== ROCEMESH uptime.txt
8200.00 1.0
=== ROCEMESH dmesg.txt
[    7.1] old
[ 7819.9] before the run
[ 7820.0] new
no time
=== ROCEMESH container/env.txt
NCCL_IB_DISABLE=1
=== ROCEMESH empty.txt
"""
FINDING = {
    "layer": "cabling",
    "cause": "link_faulty",
    "certainty": "candidate",
    "means": "The link is down.",
    "host": "gpu02",
    "hosts": ["gpu02"],
    "evidence": [{"file": "hosts/gpu02/dmesg.txt", "line": 1, "text": "Link down"}],
}
PAUSE = {**FINDING, "cause": "host_slow_receiver", "evidence": [{"text": "tx_prio3_pause: 9912331"}]}
MARKS = {**FINDING, "cause": "nic_qos_differs", "evidence": [{"text": "np_ecn_marked_roce_packets: 812345"}]}


def test_outputs_become_pieces_and_what_stands_before_the_first_name_is_none() -> None:
    found = host_output.pieces("gpu02", {"said": SAID, "at": 1000.0, "since": 0})
    assert set(found) == {"hosts/gpu02/dmesg.txt", "containers/gpu02/env.txt"}
    assert "old" in found["hosts/gpu02/dmesg.txt"]


def test_of_a_job_that_ended_well_only_what_the_kernel_logged_since_counts() -> None:
    found = host_output.pieces("gpu02", {"said": SAID, "at": 1000.0, "since": 620.0})
    assert found["hosts/gpu02/dmesg.txt"] == "[ 7820.0] new\n"


def test_without_the_uptime_nothing_of_the_kernel_s_log_is_of_this_run() -> None:
    said = SAID.replace("8200.00 1.0\n", "")
    assert "hosts/gpu02/dmesg.txt" not in host_output.pieces("gpu02", {"said": said, "at": 1000.0, "since": 620.0})


def test_a_host_that_did_not_answer_says_so_and_one_that_nobody_asked_says_nothing() -> None:
    assert host_output.pieces("gpu02", {"said": "", "error": "no\nroute"}) == {
        "hosts/gpu02/answer": "unreachable: no route\n"
    }
    assert host_output.pieces("gpu02", {}) == {}


def test_vcenter_and_hosts_are_evidence_for_the_doctor() -> None:
    vcenter = {"hosts": [{"asked": "esx01", "maintenance": True}]}
    texts = run_facts.pieces({"hosts": {"gpu02": {"said": SAID, "since": 0}}, "vcenter": vcenter})
    (fact,) = json.loads(texts["esxi/esx01/vcenter/facts/maintenance.json"])
    assert fact == {"thing": "maintenance mode", "value": True}
    assert texts["containers/gpu02/env.txt"] == "NCCL_IB_DISABLE=1\n"


def test_what_a_host_says_stands_beside_its_readings_but_for_the_kernel_s_log() -> None:
    gpus = {"xids": [{"bus": "0000:3b:00.0", "xid": 79, "count": 1}], "state": [{"slowed": ["hw_slowdown"]}]}
    said = "=== ROCEMESH dmesg.txt\n[ 1.0] mine\n=== ROCEMESH nvidia-smi-q.txt\nmore\n"
    texts = run_facts.pieces(
        {"rdma": {"gpu01": {"start": {"gpus": gpus}}}, "hosts": {"gpu01": {"said": said, "since": 0}}}
    )
    assert texts["hosts/gpu01/dmesg.txt"] == "[ 1.0] mine\n"
    assert "hosts/gpu01/facts/dmesg.json" not in texts
    assert "hw_slowdown" in texts["hosts/gpu01/facts/nvidia-smi-q.json"]
    assert texts["hosts/gpu01/nvidia-smi-q.txt"] == "more\n"


def test_the_rate_of_a_port_is_in_megabits_as_ethtool_has_it() -> None:
    device = {"name": "mlx5_0", "rate": "25 Gb/sec (1X EDR)"}
    texts = run_facts.pieces({"rdma": {"gpu01": {"start": {"devices": [device]}}}})
    assert [each["value"] for each in json.loads(texts["hosts/gpu01/facts/ethtool.json"])] == [25000]


@pytest.mark.parametrize(
    ("doctor", "state", "text", "verdict"),
    [
        pytest.param(None, "missing", "did not run", "PROVEN", id="not asked: not needed"),
        pytest.param({"findings": []}, "agrees", "names a cause of trouble", "PROVEN", id="nothing found"),
        pytest.param({"failed": "OSError: x"}, "missing", "it failed: OSError", "PROVEN", id="it failed: not needed"),
        pytest.param(
            {"findings": [FINDING]}, "disagrees", "gpu02: link_faulty (cabling", "NOT PROVEN", id="a mere candidate"
        ),
        pytest.param({"findings": [PAUSE, MARKS]}, "agrees", "tx_prio3_pause", "PROVEN", id="congestion control"),
        pytest.param({"findings": [PAUSE, FINDING]}, "disagrees", "Link down", "NOT PROVEN", id="beside it a fault"),
    ],
)
def test_the_doctor_as_a_witness(doctor: Any, state: str, text: str, verdict: str) -> None:
    found = build(Inputs(run_id="x", **Run("4x1 ring").inputs(), doctor=doctor))
    (witness,) = [each for each in found["verdict"]["witnesses"] if each["name"] == "doctor"]
    assert (witness["state"], found["verdict"]["state"]) == (state, verdict), witness["evidence"]
    assert text in witness["evidence"]
    assert faults(found) == []


def test_what_the_hosts_are_asked_only_reads_and_runs_to_its_end(tmp_path: Path) -> None:
    """The script of tasks/tell.yml, with commands that hang, fail, or are not there."""
    task = yaml.safe_load((ROOT / "playbooks/tasks/tell.yml").read_text())[0]
    begin, _open, rest = task["vars"]["__tell_script"].partition("{{ tell_reads")
    assert rest.endswith("}}; true")
    script = f"{begin} tell a.txt 'echo one'; tell b.txt 'exit 127'; tell c.txt 'echo two >&2; false'; true"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60)
    assert host_output.sections(done.stdout) == {"a.txt": "one\n", "c.txt": "two\n"}
    assert "timeout 20" in begin and os.listdir(tmp_path) == []


def test_the_verdict_hears_the_doctor_and_the_summary_keeps_its_answer_for_runs_that_are_not_proven() -> None:
    inputs = Inputs(run_id="x", **Run("4x1 ring").inputs())
    line = build(dataclasses.replace(inputs, doctor={"findings": [FINDING]}))["verdict"]["line"]
    assert line.startswith("NOT PROVEN: doctor findings: gpu02: link_faulty (cabling, candidate)")


# ------------------------------------------------------------------------------------------ what somebody goes on with

ACCEPT = {"cause": "link_faulty", "why": "a spare port", "host": None}


def judged(finding: dict[str, Any], *entries: dict[str, Any]) -> dict[str, Any]:
    known = diagnosis.accepted_from(entries)
    doctor = {"findings": diagnosis.marked([finding], known)}
    found: dict[str, Any] = build(Inputs(run_id="x", **Run("4x1 ring").inputs(), doctor=doctor))["verdict"]
    return found


@pytest.mark.parametrize(
    ("finding", "entries", "state"),
    [
        pytest.param(FINDING, [ACCEPT], "PROVEN", id="a candidate"),
        pytest.param({**FINDING, "certainty": "likely"}, [ACCEPT], "PROVEN", id="what is likely"),
        pytest.param({**FINDING, "certainty": "proven"}, [ACCEPT], "NOT PROVEN", id="never what is proven"),
        pytest.param(FINDING, [{**ACCEPT, "host": "gpu02"}], "PROVEN", id="on its host"),
        pytest.param(FINDING, [{**ACCEPT, "host": "gpu03"}], "NOT PROVEN", id="not on another host"),
        pytest.param(FINDING, [{**ACCEPT, "cause": "gpu_fault"}], "NOT PROVEN", id="not another cause"),
        pytest.param(
            {**FINDING, "hosts": ["gpu02", "gpu03"]}, [{**ACCEPT, "host": "gpu02"}], "NOT PROVEN", id="not half of it"
        ),
        pytest.param(
            {**FINDING, "hosts": ["gpu02", "gpu03"]},
            [{**ACCEPT, "host": "gpu02"}, {**ACCEPT, "host": "gpu03", "why": "another one"}],
            "PROVEN",
            id="host by host",
        ),
    ],
)
def test_what_is_accepted_keeps_no_run_from_proven_and_is_told(
    finding: dict[str, Any], entries: list[dict[str, Any]], state: str
) -> None:
    verdict = judged(finding, *entries)
    assert verdict["state"] == state, verdict["line"]
    if state == "PROVEN":
        assert "accepted: link_faulty, because" in verdict["line"]
        (witness,) = [each for each in verdict["witnesses"] if each["name"] == "doctor"]
        assert "accepted: gpu02" in witness["evidence"] and "a spare port" in witness["evidence"]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        pytest.param({"cause": "link_fault", "why": "x"}, "link_faulty", id="a cause that there is not"),
        pytest.param({"cause": "link_faulty", "why": " "}, "has no reason", id="no reason"),
    ],
)
def test_what_makes_no_sense_is_refused(entry: dict[str, Any], says: str) -> None:
    with pytest.raises(RefusedError, match="report_accepted_findings") as refused:
        diagnosis.accepted_from([entry])
    assert says in str(refused.value)


def test_what_is_accepted_in_vain_is_told() -> None:
    known = diagnosis.accepted_from([ACCEPT, {**ACCEPT, "cause": "gpu_fault", "host": "gpu01"}])
    assert diagnosis.notes([FINDING], known) == [
        "report_accepted_findings: gpu_fault on gpu01 was not found, take it out"
    ]
    (note,) = diagnosis.notes([{**FINDING, "certainty": "proven"}], known[:1])
    assert "is proven, and" in note


def test_findings_that_nobody_accepts_stand_first_and_none_is_lost_behind_the_others() -> None:
    rows = diagnosis.marked([FINDING, {**FINDING, "cause": "gpu_fault"}], diagnosis.accepted_from([ACCEPT]))
    assert [(row["cause"], bool(row["accepted"])) for row in rows] == [("gpu_fault", False), ("link_faulty", True)]


# ------------------------------------------------------------------------------------- behind the message of a failure

READ = [f"hosts/gpu0{number}/mlnx_qos.txt" for number in range(1, 4)]
LOOK = {"next": {"where": "on the host", "run": "look"}, "fix": {"what": "mend it"}}
STATE = {
    **FINDING,
    **LOOK,
    "hosts": ["gpu01", "gpu02", "gpu03"],
    "evidence": [{"file": "hosts/gpu01/mlnx_qos.txt", "line": 2, "text": "enabled 0"}],
}


@pytest.mark.parametrize(
    ("findings", "settled", "behind"),
    [
        pytest.param([STATE], "", "", id="a state of all hosts has nothing to do with it"),
        pytest.param([{**STATE, "hosts": ["gpu02"]}], "", "Look at: look", id="a state of one host may"),
        pytest.param([{**STATE, "certainty": "likely"}], "", "Look at: look", id="what is likely"),
        pytest.param([STATE], "link_faulty", "What to do: mend it", id="what is settled"),
        pytest.param(
            [{**STATE, "evidence": [{"file": "job/train.log", "text": "x"}]}], "", "look", id="the job said it"
        ),
        pytest.param(
            [{**STATE, "evidence": [{"file": "hosts/gpu01/dmesg.txt", "text": "x"}]}], "", "look", id="a kernel"
        ),
        pytest.param(
            [STATE, {**STATE, "cause": "gpu_fault", "hosts": ["gpu02"]}], "", "gpu_fault", id="the next one may"
        ),
        pytest.param([{**STATE, "hosts": ["gpu02"], "accepted": "meant"}], "", "", id="what is accepted"),
    ],
)
def test_what_stands_behind_the_message_of_a_failed_run(findings: list[Any], settled: str, behind: str) -> None:
    said = diagnosis.brief({"findings": findings, "settled": settled, "verdict": "cannot_tell", "read": READ})
    assert (behind in said) if behind else said == ""


@pytest.mark.parametrize(
    ("wanted", "qos", "told_"),
    [
        pytest.param(False, {"trust": "pcp", "pfc_priorities": []}, False, id="none asked for, none there"),
        pytest.param(False, {"trust": "dscp", "pfc_priorities": [3]}, True, id="none asked for, one there"),
        pytest.param(True, {"trust": "pcp", "pfc_priorities": []}, True, id="asked for, none there"),
        pytest.param(None, {"trust": "pcp", "pfc_priorities": []}, True, id="nobody says"),
    ],
)
def test_nics_without_a_lossless_class_are_as_wished_where_none_is_asked_for(
    wanted: bool | None, qos: dict[str, Any], told_: bool
) -> None:
    readings = {host: {"start": {"devices": [{"name": "mlx5_0", "qos": qos}]}} for host in ("gpu01", "gpu02")}
    texts = run_facts.pieces({"rdma": readings, "job": {"nic_qos": wanted}})
    assert ("hosts/gpu01/facts/mlnx_qos.json" in texts) == told_


def test_nics_that_differ_are_told_though_none_is_asked_for() -> None:
    readings = {
        host: {"start": {"devices": [{"name": "mlx5_0", "qos": {"trust": trust, "pfc_priorities": []}}]}}
        for host, trust in (("gpu01", "dscp"), ("gpu02", "pcp"))
    }
    assert "hosts/gpu02/facts/mlnx_qos.json" in run_facts.pieces({"rdma": readings, "job": {"nic_qos": False}})


@pytest.mark.parametrize("name", ["cpupower.txt", "kernel-config.txt"])
def test_what_is_asked_after_a_run_says_one_thing_in_one_line_or_nothing(name: str) -> None:
    command = yaml.safe_load((ROOT / "playbooks/vars/reads.yml").read_text())["__reads_after_run"][name]
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    form = {
        "cpupower.txt": r"\s*\d+ \S+: governor \S+",
        "kernel-config.txt": r"GPUDirect: P2PDMA [yn], nvidia_peermem [yn]",
    }
    assert done.stderr == "" and done.returncode in (0, 127)
    assert (done.returncode == 127) == (done.stdout == "")
    assert all(re.fullmatch(form[name], line) for line in done.stdout.splitlines())
