"""The gate where something can be measured: from the look into the images to the report. The role run is a stand-in."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from tests.integration.fabric.playing import ROOT, entry, play
from tests.integration.fabric.test_role import real
from tests.unit.fabric.test_check import site

PROGRAM = [
    {
        "name": "Print what the hosts would",
        "ansible.builtin.command": {
            "argv": [
                sys.executable,
                "-m",
                "tests.integration.fabric.stub_run",
                "{{ run_step.name }}",
                "{{ run_step.program | last }}",
            ],
            "chdir": str(ROOT),
        },
        "environment": {"PYTHONPATH": str(ROOT / "collections")},
        "register": "stub_said",
        "changed_when": False,
    },
    {"name": "As the role does", "ansible.builtin.set_fact": {"run_said": {"stdout": "{{ stub_said.stdout }}"}}},
]
PREFLIGHT = [
    {"name": "Hosts", "ansible.builtin.debug": {"msg": "preflight of {{ run_hosts | map(attribute='slots') | list }}"}}
]


@pytest.fixture
def collections(tmp_path: Path) -> Path:
    """This collection, with another role run."""
    mine = tmp_path / "collections/ansible_collections/rocemesh/multinode"
    (mine / "roles/run/tasks").mkdir(parents=True)
    for part in ROOT.iterdir():
        if part.name in ("plugins", "meta", "workloads", "galaxy.yml"):
            (mine / part.name).symlink_to(part)
    (mine / "roles/fabric").symlink_to(ROOT / "roles/fabric")
    for name, tasks in (("program", PROGRAM), ("preflight", PREFLIGHT)):
        (mine / f"roles/run/tasks/{name}.yml").write_text(yaml.safe_dump(tasks))
    return tmp_path / "collections"


def test_right_fabric_is_checked_and_published_for_the_report(tmp_path: Path, collections: Path) -> None:
    result = play(tmp_path, entries=[entry("gate", real(site(4, 2)))], collections=collections)
    assert result.returncode == 0, result.stdout + result.stderr
    (told,) = [line for line in result.stdout.splitlines() if "outcome: {" in line]
    assert "'at': " in told or '"at": ' in told.replace("\\", "")
    (folder,) = (tmp_path / "reports").iterdir()
    report = json.loads((folder / "fabric.json").read_text())
    assert report["ok"] and report["form"] == "quick" and report["measured"]["ib_write_bw"]["tests"] > 0
    assert (folder / "fabric.svg").read_text().startswith("<svg")


def test_fault_stops_the_run_with_its_place(tmp_path: Path, collections: Path) -> None:
    entries = [entry("gate", real(site(4, 2)))]
    result = play(tmp_path, entries=entries, collections=collections, env={"STUB_SLOW": "5"})
    assert result.returncode != 0
    assert "1 fault(s) in the fabric" in result.stdout and "gpu02 rail 1 (mlx5_1) at leaf1 1/3" in result.stdout
    (folder,) = (tmp_path / "reports").iterdir()
    assert json.loads((folder / "fabric.json").read_text())["faults"][0]["thing"] == "slow"


def test_image_without_perftest_is_told_and_the_run_goes_on(tmp_path: Path, collections: Path) -> None:
    entries = [entry("gate", real(site(4, 2)))]
    result = play(tmp_path, entries=entries, collections=collections, env={"STUB_LACKS": "2"})
    assert result.returncode == 0, result.stdout + result.stderr
    assert "is not checked: gpu02: the image lacks" in result.stdout
    assert not (tmp_path / "reports").exists()


def test_image_without_one_of_several_programs_stops_a_run_that_requires_the_check(
    tmp_path: Path, collections: Path
) -> None:
    """Said with the variable of the site, and once for each host: all of them lack the program."""
    entries = [entry("gate", real(site(4, 2)))]
    said = ("-e", "rocemesh_fabric_gate=required", "-e", "fabric_programs=ib_write_bw,ib_send_lat")
    result = play(tmp_path, *said, entries=entries, collections=collections)
    assert result.returncode != 0
    told = "the image lacks a program of ib_write_bw, ib_send_lat"
    reasons = "; ".join(f"gpu{number:02d}: {told}" for number in range(4))
    screen = " ".join(result.stdout.split())
    assert "fabric_gate is required" in screen and f"is not checked: {reasons}" in screen
    assert not (tmp_path / "reports").exists()


def test_run_plays_the_gate_before_anything_of_the_job() -> None:
    """With what it needs; the report gets what it published."""
    plays = yaml.safe_load((ROOT / "playbooks/run.yml").read_text())
    included = [
        (number, task["ansible.builtin.include_role"], task.get("vars", {}))
        for number, each in enumerate(plays)
        for outer in each.get("tasks", ())
        for task in outer.get("block", [outer])
        if "ansible.builtin.include_role" in task
    ]
    (gate,) = [each for each in included if each[1]["name"].endswith(".fabric")]
    assert gate[1]["tasks_from"] == "gate" and plays[gate[0]]["hosts"] == "gpu_vms[0]"
    assert set(gate[2]) == {"fabric_hosts", "fabric_readings", "fabric_switches"}
    job = [each[0] for each in included if each[1]["tasks_from"] in ("checks", "timed")]
    assert gate[0] < min(job) and max(each[0] for each in included if each[1]["tasks_from"] == "rdma") > gate[0]
    assert "fabric_outcome" in (ROOT / "playbooks/tasks/report_site.yml").read_text()
