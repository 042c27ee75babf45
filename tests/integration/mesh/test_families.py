"""mpirun over nodes with both families of addresses, and over nodes with IPv6 alone; docker0 is on every node."""

from __future__ import annotations

import ipaddress
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import Node as Host
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import command, major_of

from tests.integration.mesh import many
from tests.integration.mesh.fleet import NETWORK, Fleet, fleet, missing

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs openmpi-bin"),
]
ALLREDUCE = (Path(__file__).parents[3] / "workloads/checks/allreduce.py").read_text()
IPV6 = "2001:db8:79::/64"
DOCKER0 = "ip link add docker0 type bridge; ip address add 172.17.0.1/16 dev docker0; ip link set docker0 up"


@pytest.fixture(scope="module")
def open_mpi_5() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rocemesh-mpi-", dir="/opt") as directory:
        Path(directory).chmod(0o755)
        try:
            yield many.open_mpi_5(Path(directory, "ompi5")) / "bin/mpirun"
        except many.NotAvailable as reason:
            pytest.skip(str(reason))


@pytest.fixture(scope="module", params=["IPv4 with an IPv6 address besides", "IPv6 alone"])
def network(request: pytest.FixtureRequest) -> Iterator[tuple[Fleet, str]]:
    alone = request.param == "IPv6 alone"
    with fleet(3) as nodes:
        for number, node in enumerate(nodes.nodes, start=1):
            address = f"2001:db8:79::{number}"
            drop = "ip address flush dev eth0 scope global;" if alone else ""
            script = f"{drop} ip -6 address add {address}/64 dev eth0 nodad; {DOCKER0}"
            assert node.inside(["sh", "-c", script]).returncode == 0
            node.address = address if alone else node.address
        many.join(nodes)
        yield nodes, IPV6 if alone else NETWORK


@pytest.mark.parametrize("major", [4, 5])
def test_a_collective_runs_in_the_family_of_the_run_network(
    network: tuple[Fleet, str], open_mpi_5: Path, major: int
) -> None:
    nodes, subnet = network
    mpirun = str(open_mpi_5) if major == 5 else "/usr/bin/mpirun"
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=True).stdout
    if major_of(version) != major:
        pytest.skip("the distribution's Open MPI is not version 4")
    hosts = [Host(node.name, node.address) for node in nodes.nodes]
    program = [many.PYTHON, "-c", ALLREDUCE, "3", "65536"]
    # Who connected to the daemon of the head.
    verbose = {"oob_base_verbose": 5}
    argv = command(hosts, program, subnet, timeout=30, version=version, mca=verbose)
    argv = [mpirun if word == "mpirun" else word for word in argv]
    done = many.ended(lambda: nodes.nodes[0].in_container(argv), 3, version)
    assert done.returncode == 0, done.stdout + done.stderr
    answers = [json.loads(lines[-1].split(" ", 1)[1]) for lines in many.answered(done.stdout).values()]
    assert [(answer["ok"], answer["sum"]) for answer in answers] == [(True, 6.0)] * 3
    peers = re.findall(r"connection_handler: working connection \(\d+, \d+\) (\S+):\d+$", done.stderr, re.MULTILINE)
    assert len(peers) == 2 and all(ipaddress.ip_address(peer) in ipaddress.ip_network(subnet) for peer in peers)
