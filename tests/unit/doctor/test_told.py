# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host says to one command after a job, as pieces; and the doctor as a witness. The ids name the rules."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor import run_facts, told
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import schema
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import Inputs, build

from tests.unit.proof.truth import Run

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
    found = told.pieces("gpu02", {"said": SAID, "at": 1000.0, "since": 0})
    assert set(found) == {"hosts/gpu02/dmesg.txt", "containers/gpu02/env.txt"}
    assert "old" in found["hosts/gpu02/dmesg.txt"]


def test_of_a_job_that_ended_well_only_what_the_kernel_logged_since_counts() -> None:
    found = told.pieces("gpu02", {"said": SAID, "at": 1000.0, "since": 620.0})
    assert found["hosts/gpu02/dmesg.txt"] == "[ 7820.0] new\n"


def test_without_the_uptime_nothing_of_the_kernel_s_log_is_of_this_run() -> None:
    said = SAID.replace("8200.00 1.0\n", "")
    assert "hosts/gpu02/dmesg.txt" not in told.pieces("gpu02", {"said": said, "at": 1000.0, "since": 620.0})


def test_a_host_that_did_not_answer_says_so_and_one_that_nobody_asked_says_nothing() -> None:
    assert told.pieces("gpu02", {"said": "", "error": "no\nroute"}) == {"hosts/gpu02/answer": "unreachable: no route\n"}
    assert told.pieces("gpu02", {}) == {}


def test_vcenter_and_hosts_are_evidence_for_the_doctor() -> None:
    vcenter = {"hosts": [{"asked": "esx01", "maintenance": True}]}
    texts = run_facts.pieces({"hosts": {"gpu02": {"said": SAID, "since": 0}}, "vcenter": vcenter})
    assert texts["esxi/esx01/maintenance.txt"] == "Maintenance Mode: Enabled\n"
    assert texts["containers/gpu02/env.txt"] == "NCCL_IB_DISABLE=1\n"


def test_what_a_host_says_stands_beside_its_readings_but_for_the_kernel_s_log() -> None:
    gpus = {"xids": [{"bus": "0000:3b:00.0", "xid": 79, "count": 1}], "state": [{"slowed": ["hw_slowdown"]}]}
    said = "=== ROCEMESH dmesg.txt\n[ 1.0] mine\n=== ROCEMESH nvidia-smi-q.txt\nmore\n"
    texts = run_facts.pieces(
        {"rdma": {"gpu01": {"start": {"gpus": gpus}}}, "hosts": {"gpu01": {"said": said, "since": 0}}}
    )
    assert texts["hosts/gpu01/dmesg.txt"] == "[ 1.0] mine\n"
    assert "HW Slowdown" in texts["hosts/gpu01/nvidia-smi-q.txt"] and "more" in texts["hosts/gpu01/nvidia-smi-q.txt"]


def test_a_slower_port_has_the_words_of_ethtool() -> None:
    device = {"name": "mlx5_0", "rate": "25 Gb/sec (1X EDR)"}
    assert run_facts.pieces({"rdma": {"gpu01": {"start": {"devices": [device]}}}})["hosts/gpu01/ethtool.txt"] == (
        "\tSpeed: 25000Mb/s\n"
    )


@pytest.mark.parametrize(
    ("doctor", "state", "text", "verdict"),
    [
        pytest.param(None, "missing", "nobody asked it", "PROVEN", id="nobody asked: not needed"),
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
    assert schema.check(found) == []


def test_what_the_hosts_are_asked_only_reads_and_runs_to_its_end(tmp_path: Path) -> None:
    """The script of tasks/tell.yml, with commands that hang, fail, or are not there."""
    task = yaml.safe_load((ROOT / "playbooks/tasks/tell.yml").read_text())[0]
    begin, _open, rest = task["vars"]["__tell_script"].partition("{{ tell_reads")
    assert rest.endswith("}}; true")
    script = f"{begin} tell a.txt 'echo one'; tell b.txt 'exit 127'; tell c.txt 'echo two >&2; false'; true"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60)
    assert told.sections(done.stdout) == {"a.txt": "one\n", "c.txt": "two\n"}
    assert "timeout 20" in begin and os.listdir(tmp_path) == []


def test_the_verdict_hears_the_doctor_and_the_summary_keeps_its_answer_for_runs_that_are_not_proven() -> None:
    inputs = Inputs(run_id="x", **Run("4x1 ring").inputs())
    line = build(dataclasses.replace(inputs, doctor={"findings": [FINDING]}))["verdict"]["line"]
    assert line.startswith("NOT PROVEN: what else was read: gpu02: link_faulty (cabling, candidate)")
