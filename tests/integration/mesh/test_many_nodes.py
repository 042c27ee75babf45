"""mpirun over as many real SSH servers as Open MPI starts by itself (64), and over more, with the head's key alone."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.failure import diagnose
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import Node as Host
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import major_of

from tests.integration.mesh import many
from tests.integration.mesh.fleet import Fleet, fleet, missing

SECONDS = 240  # a busy machine takes a while for so many logins
pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs openmpi-bin"),
]


@pytest.fixture(scope="module", params=[64, 66])
def nodes(request: pytest.FixtureRequest) -> Iterator[Fleet]:
    with fleet(request.param) as started:
        many.join(started)
        yield started


@pytest.fixture(scope="module")
def version() -> str:
    said = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=True).stdout
    if major_of(said) != 4:
        pytest.skip(
            "the distribution's Open MPI is not version 4; 5.0 over 64 nodes is not reliable (prrte issue 1839)"
        )
    return said


def test_every_host_answers_with_the_key_on_the_head_only(nodes: Fleet, version: str) -> None:
    done = many.mpirun(nodes, ["hostname"], version, seconds=SECONDS)
    assert done.returncode == 0, done.stderr[-3000:]
    assert many.answered(done.stdout) == {rank: [node.name] for rank, node in enumerate(nodes.nodes)}
    head, *workers = nodes.nodes
    assert many.key_holders(nodes) == [head.name]
    # Each worker took one login, from the head; the head took none. No server turned one away (MaxStartups).
    assert [node.connections() for node in nodes.nodes] == [0] + [1] * len(workers)
    assert all(f"Connection from {head.address} port" in node.log() for node in workers)
    assert not any("drop connection" in node.log() or "Failed" in node.log() for node in nodes.nodes)


def test_the_shape_of_the_launch_decides_beyond_64_workers(nodes: Fleet, version: str) -> None:
    """What `plm_rsh_no_tree_spawn` is for: without it a worker starts the 66th, which it was not told of."""
    done = many.mpirun(nodes, ["hostname"], version, seconds=SECONDS, plm_rsh_no_tree_spawn=0)
    if len(nodes.nodes) <= 65:
        assert done.returncode == 0, done.stderr[-3000:]
    else:
        found = diagnose(done.returncode, done.stdout, done.stderr, [Host(n.name, n.address) for n in nodes.nodes])
        assert (found.cause, found.hosts) == ("host_key_unknown", (nodes.nodes[-1].name,)), done.stderr[-3000:]
        assert "plm_rsh_no_tree_spawn" in found.message
