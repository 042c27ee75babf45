"""From the release with a broker, as git has it, to the present one, while a job of the old way runs on all nodes.

The old role, its broker, sudo, useradd, sshd and mpirun are real; the engine is the fleet's stand-in.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from tests.integration.mesh import earlier_release, many
from tests.integration.mesh.earlier_release import ACCOUNT
from tests.integration.mesh.fleet import CONTAINER, Fleet, Node, fleet, missing
from tests.integration.mesh.playing import OURS, play
from tests.integration.mesh.test_star import changed

MPIRUN = "/usr/bin/mpirun"
WHY = missing() or earlier_release.missing()
pytestmark = pytest.mark.skipif(bool(WHY), reason=WHY)
# A rank that says that it runs, and ends when it is told to. Each node has a /run of its own.
RANK = "touch /run/begun; while [ ! -e /run/enough ]; do sleep 0.1; done; echo ended well on $(hostname)"
SECONDS = 600
PLACES = ("/etc", "/usr/local", "/usr/lib", "/home", "/opt", "/root", "/run", "/tmp", "/var/mail", "/var/spool")


@pytest.fixture
def nodes() -> Iterator[Fleet]:
    with fleet(3) as started, earlier_release.tree() as tree:
        done = play(started, earlier_release.plays(), "earlier", tree=tree)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
        yield started


def until(what: Callable[[], bool], why: str) -> None:
    deadline = time.monotonic() + 120
    while not what():
        assert time.monotonic() < deadline, why
        time.sleep(0.1)


def upgraded(nodes: Fleet) -> subprocess.CompletedProcess[str]:
    done = play(nodes, OURS, "upgraded")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return done


def left(node: Node, uid: str) -> dict[str, str]:
    """What find, getent and sudo know of the broker."""
    asked = {
        "find": ["find", *PLACES, "(", "-name", "*mesh-broker*", "-o", "-name", "mesh_grammar*", "-o", "-path",
                 "*/mesh/login*", "-o", "-uid", uid, ")"],
        "passwd": ["getent", "passwd", ACCOUNT],
        "group": ["getent", "group", ACCOUNT],
        "sudo": ["sh", "-c", f"for user in root {ACCOUNT}; do sudo -n -l -U $user; done 2>/dev/null | grep broker"],
    }  # fmt: skip
    return {what: said for what, command in asked.items() if (said := node.inside(command).stdout)}


def test_a_job_that_runs_ends_well_and_then_nothing_of_the_broker_is_there(nodes: Fleet) -> None:
    head, *workers = nodes.nodes
    version = subprocess.run([MPIRUN, "--version"], capture_output=True, text=True, check=True).stdout
    uids = [node.inside(["id", "-u", ACCOUNT]).stdout.strip() for node in nodes.nodes]
    for node, uid in zip(nodes.nodes, uids, strict=True):
        assert set(left(node, uid)) == {"find", "passwd", "group", "sudo"}
    argv = many.launch(nodes, ["sh", "-c", RANK], version, seconds=SECONDS)
    job = subprocess.Popen(
        [*head.entering(), "/usr/local/bin/docker", "exec", CONTAINER, *argv],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        until(lambda: job.poll() is not None or all((n.root / "run/begun").exists() for n in nodes.nodes), "no ranks")
        assert job.poll() is None, job.communicate()
        # Through the broker and by no other way: the present one's server is not there yet.
        assert all(node.inside(["pgrep", "-u", ACCOUNT]).stdout for node in workers)
        told = upgraded(nodes).stderr
        assert all(f"{node.name}: a launch of an earlier release holds the account" in told for node in workers), told
        assert all("/etc/sudoers.d" in left(node, uid)["find"] for node, uid in zip(workers, uids[1:], strict=True))
        assert job.poll() is None
        for node in nodes.nodes:
            (node.root / "run/enough").touch()
        out, err = job.communicate(timeout=SECONDS)
    finally:
        job.kill()
        job.wait()
    assert job.returncode == 0, err
    assert many.answered(out) == {rank: [f"ended well on {node.name}"] for rank, node in enumerate(nodes.nodes)}
    until(lambda: not any(node.inside(["pgrep", "-u", ACCOUNT]).stdout for node in workers), "the account is in use")
    upgraded(nodes)
    assert [left(node, uid) for node, uid in zip(nodes.nodes, uids, strict=True)] == [{}, {}, {}]
    assert set(changed(upgraded(nodes).stdout).values()) == {0}
    for node in nodes.nodes:
        node.start_container()
    done = many.mpirun(nodes, ["hostname"], version)
    assert many.answered(done.stdout) == {rank: [node.name] for rank, node in enumerate(nodes.nodes)}, done.stderr
