"""Role report: what was found on the nodes becomes limits with sources, and what you set goes before it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tests.plays import ansible
from tests.unit.proof.truth import Run

RUN = Run("2x1 ring", nodes=2)


def summary(folder: Path, **variables: Any) -> dict[str, Any]:
    role = {
        "ansible.builtin.include_role": {"name": "rocemesh.multinode.report"},
        "vars": {"report_dir": str(folder / "reports"), "report_id": "one", "report_plots": False, **variables},
    }
    play = {"hosts": "localhost", "gather_facts": False, "tasks": [role]}
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    done = ansible(folder, "play.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads((folder / "reports/one/summary.json").read_text())
    return found


def test_limits_that_were_found_are_used_and_yours_go_before_them(tmp_path: Path) -> None:
    readings = RUN.rdma()
    readings["gpu02"]["start"]["devices"][0].update(is_vf=True, pcie={})
    told = summary(
        tmp_path,
        report_evidence={"job": RUN.inputs()["evidence"]["job"], "rdma": readings},
        report_limits={"roce_mtu_bytes": 1024, "vlan_tagged": True},
    )["limits"]
    assert (told["given"]["nic_link_gbit_per_s"], told["given"]["roce_mtu_bytes"]) == (200.0, 1024)
    assert told["sources"]["nic_link_gbit_per_s"].startswith("rdma_info: rate")
    assert (told["sources"]["roce_mtu_bytes"], told["sources"]["vlan_tagged"]) == ("given", "given")
    assert "pcie_generation: gpu02 mlx5_0: PCIe link not read" in told["notes"]
    assert not any("vlan_tagged" in note for note in told["notes"]), "what you said is not unknown"


def test_the_readings_of_a_sound_run_are_judged_as_they_come_through_ansible(tmp_path: Path) -> None:
    inputs = RUN.inputs()
    found = summary(
        tmp_path,
        report_evidence=inputs["evidence"],
        report_result=inputs["result"],
        report_layers=inputs["layers"],
        report_run={"expected_ranks": 2},
    )
    assert found["verdict"]["state"] == "PROVEN", found["verdict"]["reasons"]


def test_without_findings_the_report_is_what_it_was(tmp_path: Path) -> None:
    told = summary(tmp_path)["limits"]
    assert (told["given"], told["sources"], told["notes"]) == ({}, {}, [])
