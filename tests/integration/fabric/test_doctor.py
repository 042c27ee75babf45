"""fabric.json as live evidence: playbooks/doctor.yml reads it along with a log."""

from __future__ import annotations

import json
from pathlib import Path

from tests.plays import ROOT, ansible
from tests.unit.doctor.test_fabric import HANG, written
from tests.unit.fabric.test_check import site, whole


def test_the_playbook_names_the_place_that_the_fabric_check_found(tmp_path: Path) -> None:
    report = whole(site(), lambda pair: 150.0 if 5 in pair else 390.0)[0]["report"]
    (tmp_path / "checked.json").write_text(written(report))
    (tmp_path / "job.log").write_text(HANG)
    words = {"doctor_bundle": "job.log", "doctor_fabric": "checked.json", "doctor_dest": "doctor.json"}
    told = {name: str(tmp_path / file) for name, file in words.items()}
    done = ansible(tmp_path, str(ROOT / "playbooks/doctor.yml"), "-i", "localhost,", "-e", json.dumps(told))
    assert done.returncode != 0, done.stdout + done.stderr
    answer = json.loads((tmp_path / "doctor.json").read_text())
    assert (answer["verdict"], answer["findings"][0]["cause"]) == ("faulty", "fabric_link")
    assert answer["findings"][0]["evidence"][0]["text"].startswith("gpu02 rail 1 (mlx5_1) at leaf1 1/3: slow")
    assert "gpu02" in done.stdout and "NIC, its cable" in done.stdout
