"""Role container, tasks topology, as Ansible runs them on a node; lspci is a stand-in."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.plays import ansible
from tests.unit.site.test_nccl_topology import APART, GUEST, ONE

FACTS = ("__container_topology", "__container_topology_volumes", "__container_topology_env")


def play(folder: Path, rows: list[dict[str, Any]], mode: str) -> tuple[str, dict[str, Any]]:
    """What Ansible said if it failed, and the facts that the tasks leave."""
    (folder / "lspci").write_text(f"#!/bin/sh\ncat <<'END'\n{GUEST}\nEND\n")
    (folder / "lspci").chmod(0o755)
    written = folder / "facts.json"
    content = "{{ {" + ", ".join(f"'{name}': {name}" for name in FACTS) + "} | to_json }}"
    tasks: list[dict[str, Any]] = [
        {
            "ansible.builtin.include_role": {
                "name": "rocemesh.multinode.container",
                "tasks_from": "topology",
                "public": True,
            }
        },
        {"ansible.builtin.copy": {"content": content, "dest": str(written), "mode": "0644"}},
    ]
    variables = {
        "ansible_connection": "local",
        "ansible_become": False,
        "ansible_python_interpreter": sys.executable,
        "container_nccl_topology": mode,
        "container_nccl_topology_facts": [{"devices": []}, {"devices": rows}],
        "gpu_vm_name": "gpu01",
    }
    (folder / "play.yml").write_text(
        yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "vars": variables, "tasks": tasks}])
    )
    done = ansible(
        folder,
        *("play.yml", "-e", json.dumps({"__container_topology_directory": str(folder / "nccl")})),
        PATH=f"{folder}:{os.environ['PATH']}",
        ANSIBLE_PIPELINING="1",
    )
    said = " ".join((done.stdout + done.stderr).split())
    return ("" if done.returncode == 0 else said), json.loads(written.read_text()) if written.exists() else {}


def test_clear_facts_give_file_volume_and_variable(tmp_path: Path) -> None:
    failed, facts = play(tmp_path, ONE, "required")
    assert failed == ""
    place = f"{tmp_path}/nccl"
    assert facts["__container_topology_volumes"] == [f"{place}:{place}:ro"]
    assert facts["__container_topology_env"] == {"NCCL_TOPO_FILE": f"{place}/topology.xml"}
    assert (tmp_path / "nccl/topology.xml").read_text() == facts["__container_topology"]["xml"]


@pytest.mark.parametrize(("rows", "mode"), [(APART, "auto"), ([], "auto"), (ONE, "off")])
def test_nothing_is_mounted_where_nothing_helps(tmp_path: Path, rows: list[dict[str, Any]], mode: str) -> None:
    failed, facts = play(tmp_path, rows, mode)
    assert failed == ""
    assert (facts["__container_topology_volumes"], facts["__container_topology_env"]) == ([], {})
    assert not (tmp_path / "nccl").exists()


def test_required_but_not_below_one_switch_is_refused_with_the_distance(tmp_path: Path) -> None:
    failed, _facts = play(tmp_path, APART, "required")
    assert "are PHB apart" in failed and "0000:3d:00.0" in failed
