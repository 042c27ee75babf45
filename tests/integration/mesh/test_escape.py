# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a shell of `mesh_user`, on the head and on a worker, there is no way to root of that node.

Real sshd, sudo and Open MPI, and the role's own files; only the engine is a stand-in, which runs what it is told as
root of the node itself, so that a request that gets through is a root shell. `test_the_attempts_are_real` opens the
door and sees the same attempt succeed.
"""

from __future__ import annotations

import copy
import hashlib
import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.integration.mesh.escapes import BROKER, ESCAPES, LOGIN, MESH
from tests.integration.mesh.fleet import Fleet, Node, fleet, missing
from tests.integration.mesh.playing import OURS, play

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
SECRET = "SECRET-" + hashlib.sha256(b"root alone").hexdigest()
PAYLOAD = "#!/bin/sh\ncat /root/secret\ntouch /root/taken\n"
USER = "nvidia"


def plays(**variables: Any) -> list[dict[str, Any]]:
    (found,) = copy.deepcopy(OURS)
    found["vars"].update({"mesh_user": USER, **variables})
    return [found]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Fleet]:
    with fleet(2) as started:
        for node in started.nodes:
            assert node.inside(["useradd", "--create-home", "--shell", "/bin/bash", USER]).returncode == 0
            secret = node.root / "root/secret"
            secret.write_text(SECRET)
            secret.chmod(0o600)
        done = play(started, plays(), "made")
        assert done.returncode == 0, done.stdout[-3000:]
        yield started


def as_user(nodes: Fleet, node: Node, name: str) -> str:
    """Everything that the user sees of one attempt. A home directory of its own, a time limit."""
    home, script = f"/home/{USER}/{name}", ESCAPES[name]
    head, worker = nodes.nodes
    other = worker if node is head else head
    line = (
        'orted -mca ess "env" -mca ess_base_jobid "1994326016" -mca ess_base_vpid 1 -mca ess_base_num_procs "2" '
        f'-mca orte_hnp_uri "1994326016.0;tcp://{head.address}:4711"'
    )
    told = {
        "HOME": home, "PAY": f"{home}/payload", "LINE": line, "ME": node.address,
        "OTHER": other.address, "HEAD": head.address, "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    }  # fmt: skip
    words = [f"{name}={value}" for name, value in told.items()]
    payload = PAYLOAD.encode("unicode_escape").decode()
    prepared = f"mkdir -p $HOME; cd; printf '{payload}' > payload; chmod 755 payload; {script}"
    command = ["setpriv", "--reuid", USER, "--regid", USER, "--init-groups", "env", "-i", *words]
    done = subprocess.run(
        [*node.entering(), *command, "timeout", "-k", "1", "20", "bash", "-c", prepared],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False,
    )  # fmt: skip
    return done.stdout.decode("utf-8", "replace")


def guarded(node: Node) -> dict[str, tuple[int, int, bytes]]:
    """Everything that decides who may do what: owner, mode, content."""
    found = {}
    for place in (MESH, "/usr/local/libexec/rocemesh", "/etc/sudoers.d", "/root/.ssh"):
        for path in sorted((node.root / place.lstrip("/")).rglob("*")):
            status = path.lstat()
            found[str(path)] = (status.st_uid, status.st_mode, path.read_bytes() if path.is_file() else b"")
    for name in ("passwd", "shadow", "group", "sudoers"):
        path = node.root / "etc" / name
        found[name] = (path.stat().st_uid, path.stat().st_mode, path.read_bytes())
    return found


def test_there_are_enough_attempts() -> None:
    assert len(ESCAPES) == 58


@pytest.mark.parametrize("where", ["head", "worker"])
def test_no_attempt_reads_what_is_roots(nodes: Fleet, where: str) -> None:
    node = nodes.nodes[0 if where == "head" else 1]
    before = [guarded(each) for each in nodes.nodes]
    # At once: most of them wait for a refusal, and who tries does not stand in line.
    with ThreadPoolExecutor(8) as pool:
        heard = dict(zip(ESCAPES, pool.map(lambda name: as_user(nodes, node, name), ESCAPES), strict=True))
    for name, said in heard.items():
        assert SECRET not in said, f"{name} on the {where}: {said[-2000:]}"
        assert "PRIVATE KEY" not in said, f"{name} on the {where}: {said[-2000:]}"
    assert not any((each.root / "root/taken").exists() for each in nodes.nodes)
    assert [guarded(each) for each in nodes.nodes] == before
    # Nothing that the user left behind runs as somebody else.
    kept = node.inside(["find", "/home", "/tmp", "/var/tmp", "/etc/rocemesh", "-xdev", "-perm", "/6000", "-uid", "0"])
    assert kept.stdout == ""
    # And the mesh still works.
    head, worker = nodes.nodes
    assert head.in_container(["ssh", "-o", "BatchMode=yes", worker.address, "true"]).returncode == 0


def test_the_record_names_who_asked_and_cannot_be_made_to_say_otherwise(nodes: Fleet) -> None:
    head, worker = nodes.nodes
    worker.journal()
    assert head.in_container(["ssh", "-o", "BatchMode=yes", worker.address, "true"]).returncode == 0
    (record,) = worker.journal()
    assert f"accepted from {head.address}; account {LOGIN}" in record and "sudo < " in record and "sshd" in record
    as_user(nodes, worker, "sudo_broker_with_a_launch")
    assert worker.journal() == [], "a person started the broker"


def test_root_in_the_container_writes_nothing_where_the_node_reads(nodes: Fleet) -> None:
    for node in nodes.nodes:
        tried = "cp /bin/dash /root/.ssh/rootsh || touch /root/.ssh/config || mv /root/.ssh/config /root/.ssh/x"
        done = node.in_container(["sh", "-c", tried])
        assert done.returncode != 0 and "Read-only file system" in done.stderr
        assert not (node.root / MESH.lstrip("/") / "container/rootsh").exists()


def test_links_that_appear_while_the_role_runs_lead_it_nowhere(nodes: Fleet) -> None:
    """The user exchanges every name below ~/.ssh as fast as it can, while keys are made and files are written there."""
    racing = f"""python3 - <<'END'
import os, itertools
home = "/home/{USER}/.ssh"
targets = itertools.cycle(["/root/.ssh/authorized_keys", "/etc/sudoers.d/zz", "/root/secret", "/etc/passwd"])
while True:
    try:
        for name in os.listdir(home):
            path = f"{{home}}/{{name}}"
            os.rename(path, path + ".moved") if not os.path.islink(path) else os.unlink(path)
            os.symlink(next(targets), path)
            if not name.endswith(".pub"):
                os.symlink(next(targets), path + ".pub")
    except OSError:
        pass
END"""
    worker = nodes.nodes[1]
    worker.inside(["rm", "-rf", f"/home/{USER}/.ssh"])
    assert worker.inside(["install", "-d", "-o", USER, "-g", USER, "-m", "700", f"/home/{USER}/.ssh"]).returncode == 0
    watched = {
        path: (node.root / path).read_bytes()
        for node in (worker,)
        for path in ("root/.ssh/authorized_keys", "root/secret", "etc/passwd")
    }
    racer = subprocess.Popen(
        [*worker.entering(), "setpriv", "--reuid", USER, "--regid", USER, "--init-groups", "bash", "-c", racing],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        play(nodes, plays(), "raced")  # refused or not: what counts is where nothing was written
    finally:
        racer.kill()
        racer.wait(10)
        worker.inside(["sh", "-c", f"for p in $(pgrep -u {USER}); do kill -9 $p; done"])
    assert {path: (worker.root / path).read_bytes() for path in watched} == watched
    assert not (worker.root / "etc/sudoers.d/zz").exists()
    for path in watched:
        assert (worker.root / path).stat().st_uid == 0
    worker.inside(["rm", "-rf", f"/home/{USER}/.ssh"])
    assert play(nodes, plays(), "after").returncode == 0


def test_the_attempts_are_real(nodes: Fleet) -> None:
    """With the rule for the user and the broker told to work for that user, the same script is root at once."""
    head = nodes.nodes[0]
    rule, settings = head.root / "etc/sudoers.d/rocemesh-mesh-broker", head.root / f"{BROKER.lstrip('/')}.json"
    kept = rule.read_text(), settings.read_text()
    rule.write_text(kept[0].replace(f"{LOGIN} ALL", f"{USER} ALL"))
    settings.write_text(json.dumps({**json.loads(kept[1]), "caller": USER}))
    try:
        said = as_user(nodes, head, "own_mpirun_and_agent")
    finally:
        rule.write_text(kept[0])
        settings.write_text(kept[1])
    assert SECRET in said, said[-2000:]
    assert head.inside(["rm", "/root/taken"]).returncode == 0
