"""ansible-playbook over a fleet, from the fleet's own network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.integration.mesh.fleet import CONTAINER, NETWORK, Fleet

ROOT = Path(__file__).resolve().parents[3]
FORKS = 16  # this repository's ansible.cfg


def inventory(fleet: Fleet) -> dict[str, Any]:
    options = f"-F none -o UserKnownHostsFile={fleet.known_hosts} -o StrictHostKeyChecking=yes"
    return {
        "all": {
            "vars": {
                "ansible_user": "root",
                "ansible_python_interpreter": "/usr/bin/python3",
                "ansible_ssh_private_key_file": str(fleet.key),
                "ansible_ssh_common_args": options,
                "ansible_control_path_dir": str(fleet.folder / "cp"),
            },
            "hosts": {node.name: {"ansible_host": node.address} for node in fleet.nodes},
        }
    }


OURS: list[dict[str, Any]] = [
    {
        "hosts": "all",
        "gather_facts": False,
        "vars": {"mesh_user": "root", "mesh_cidr": [NETWORK], "mesh_container_name": CONTAINER},
        "roles": ["rocemesh.multinode.mesh"],
    }
]


def playbook(fleet: Fleet, plays: list[dict[str, Any]], name: str) -> list[str]:
    for file, content in (("inventory.yml", inventory(fleet)), (f"{name}.yml", plays)):
        (fleet.folder / file).write_text(json.dumps(content))
    program = Path(sys.executable).with_name("ansible-playbook")
    return [
        str(program),
        "-i",
        str(fleet.folder / "inventory.yml"),
        "--forks",
        str(FORKS),
        str(fleet.folder / f"{name}.yml"),
    ]


def play(
    fleet: Fleet, plays: list[dict[str, Any]], name: str, *arguments: str, tree: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """``tree``: whose roles and modules."""
    return fleet.run(
        [*playbook(fleet, plays, name), *arguments], cwd=tree, timeout=1800, ANSIBLE_HOME=str(fleet.folder / "home"),
        ANSIBLE_NOCOLOR="1", ANSIBLE_SSH_CONTROL_PATH_DIR=str(fleet.folder / "cp"),
        ANSIBLE_COLLECTIONS_PATH=str(tree / "collections"),
    )  # fmt: skip
