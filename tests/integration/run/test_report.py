# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role report: what was found on the nodes becomes limits with sources, and what you set goes before it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
FOUND = {
    "limits": {"nic_link_gbit_per_s": 100.0, "roce_mtu_bytes": 4096, "nics_per_node": 1},
    "sources": dict.fromkeys(("nic_link_gbit_per_s", "roce_mtu_bytes", "nics_per_node"), "rdma_info"),
    "unknown": {"vlan_tagged": "gpu02 mlx5_0 may be a virtual function", "pcie_generation": "gpu01: not read"},
    "notes": ["gpu02 mlx5_0: PCIe runs with 8 of 16 lanes"],
}


def summary(folder: Path, **variables: Any) -> dict[str, Any]:
    role = {
        "ansible.builtin.include_role": {"name": "rocemesh.multinode.report"},
        "vars": {"report_dir": str(folder / "reports"), "report_id": "one", "report_plots": False, **variables},
    }
    play = {"hosts": "localhost", "gather_facts": False, "tasks": [role]}
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    (folder / "ansible.cfg").touch()
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "play.yml"],
        cwd=folder,
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
            "ANSIBLE_HOME": str(folder / "home"),
            "ANSIBLE_NOCOLOR": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads((folder / "reports/one/summary.json").read_text())
    return found


def test_limits_that_were_found_are_used_and_yours_go_before_them(tmp_path: Path) -> None:
    limits = summary(tmp_path, report_limits_found=FOUND, report_limits={"roce_mtu_bytes": 1024, "vlan_tagged": True})
    told = limits["limits"]
    assert told["given"] == {
        "nic_link_gbit_per_s": 100.0,
        "roce_mtu_bytes": 1024,
        "nics_per_node": 1,
        "vlan_tagged": True,
    }
    assert told["sources"] == {
        "nic_link_gbit_per_s": "rdma_info",
        "roce_mtu_bytes": "report_limits",
        "nics_per_node": "rdma_info",
        "vlan_tagged": "report_limits",
    }
    assert "gpu02 mlx5_0: PCIe runs with 8 of 16 lanes" in told["notes"]
    assert "pcie_generation: gpu01: not read" in told["notes"]
    assert not any("vlan_tagged" in note for note in told["notes"]), "what you said is not unknown"


def test_without_findings_the_report_is_what_it_was(tmp_path: Path) -> None:
    told = summary(tmp_path)["limits"]
    assert (told["given"], told["sources"], told["notes"]) == ({}, {}, [])
