"""A run that fails, as playbooks/run.yml sees it: a report with what is wrong, and the failure itself as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
WHY = "gpu01: mpirun ended with 1: rank 3 was killed. What to do: look at its host"
LOG = "gpu02:4321:4325 [0] NCCL WARN Connection closed by remote peer gpu01<4>\n"
KERNEL = "[ 812.1] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"


def failing(folder: Path, **facts: Any) -> subprocess.CompletedProcess[str]:
    """The second half of playbooks/run.yml, in which a task fails with WHY; what roles publish is ``facts``."""
    plays = yaml.safe_load((ROOT / "playbooks" / "run.yml").read_text())
    first = next(at for at, play in enumerate(plays) if play["name"] == "ResNet-50 over all nodes")
    training, *after = plays[first:-1]
    training["tasks"][0]["block"] = [
        {"name": "What roles publish", "ansible.builtin.set_fact": facts},
        {"name": "mpirun", "ansible.builtin.fail": {"msg": WHY}},
    ]
    never = {"hosts": "gpu_vms", "gather_facts": False, "tasks": [{"ansible.builtin.debug": {"msg": "reached"}}]}
    for name in ("vars", "tasks"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / "playbooks" / name)
    (folder / "play.yml").write_text(yaml.safe_dump([training, *after, never]))
    (folder / "ansible.cfg").touch()
    host = {"ansible_connection": "local", "ansible_become": False, "rocemesh_address": "192.0.2.11"}
    (folder / "hosts.yml").write_text(yaml.safe_dump({"gpu_vms": {"hosts": {"gpu01": host, "gpu02": host}}}))
    return subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "hosts.yml", "play.yml"],
        cwd=folder,
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
            "ANSIBLE_HOME": str(folder / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "train.log").write_text(LOG)
    (folder / "train.err").write_text(KERNEL)
    return folder


def test_a_failed_run_has_a_report_that_names_the_cause_and_fails_as_it_failed(tmp_path: Path, logs: Path) -> None:
    done = failing(tmp_path, run_log_folder=str(logs), report_plots=False, report_id="one")
    assert done.returncode == 2, done.stdout + done.stderr
    fatal = done.stdout.rpartition("Stop with what failed")[2]
    assert WHY in fatal
    assert "The doctor: " in fatal and "gpu_fault (gpu_hardware" in fatal
    assert "reached" not in done.stdout
    summary = json.loads((tmp_path / "reports/one/summary.json").read_text())
    assert summary["verdict"]["state"] == "NOT PROVEN"
    assert {"code": "run_failed", "message": WHY} in summary["problems"]
    first = summary["doctor"]["findings"][0]
    assert (summary["doctor"]["verdict"], first["cause"]) == ("faulty", "gpu_fault")
    assert first["evidence"][0]["file"] == "job/train.err"
    assert {f"hosts/gpu0{number}/meminfo.txt" for number in (1, 2)} <= set(summary["doctor"]["read"])
    assert "What is wrong" in (tmp_path / "reports/one/report.html").read_text()


def test_no_report_and_no_doctor_hide_why_the_run_failed(tmp_path: Path) -> None:
    lost = failing(tmp_path, run_log_folder=str(tmp_path / "gone"), report_plots=False, report_id="one")
    assert lost.returncode == 2
    assert WHY in lost.stdout.rpartition("Stop with what failed")[2]
    told = json.loads((tmp_path / "reports/one/summary.json").read_text())["doctor"]
    assert told["failed"].startswith("FileNotFoundError")
    (tmp_path / "file").touch()
    none = failing(tmp_path, report_dir=str(tmp_path / "file" / "reports"), report_plots=False)
    assert none.returncode == 2
    assert "No report" in none.stdout
    assert WHY in none.stdout.rpartition("Stop with what failed")[2]
