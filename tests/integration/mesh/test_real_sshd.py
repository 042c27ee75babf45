"""The mesh between two SSH servers of this machine; see servers.py for how real they are."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh import render

from tests.integration.mesh.servers import MISSING, Server, connect

LAUNCH_LINES = Path(__file__).parents[2] / "unit/mesh/fixtures/launch_lines.txt"

pytestmark = pytest.mark.skipif(MISSING, reason="needs root, openssh-server and unshare")


def test_a_container_runs_commands_in_the_other_container(mesh: tuple[Server, Server]) -> None:
    for one, two in (mesh, mesh[::-1], (mesh[0], mesh[0])):
        done = one.from_container(two, "echo", "here; echo $SSH_CONNECTION")
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[0] == "here" and done.stdout.split()[-1] == str(two.port)


@pytest.mark.parametrize("status", [0, 7, 213])
def test_the_exit_status_crosses_the_mesh(mesh: tuple[Server, Server], status: int) -> None:
    assert mesh[0].from_container(mesh[1], f"exit {status}").returncode == status


def test_a_recorded_launch_line_arrives_as_orted_needs_it(mesh: tuple[Server, Server]) -> None:
    line = LAUNCH_LINES.read_text().splitlines()[0]
    done = mesh[0].from_container(mesh[1], line)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:3] == ["[-mca]", "[ess]", "[env]"]
    assert "[vm,[3:127].0.0.2,[3:127].0.0.3@0(3)]" in done.stdout


def test_hosts_log_in_to_each_other_by_name(mesh: tuple[Server, Server]) -> None:
    done = mesh[0].from_host(mesh[1], "echo in")
    assert (done.returncode, done.stdout) == (0, "in\n"), done.stderr


def test_a_session_without_command_is_refused(mesh: tuple[Server, Server]) -> None:
    done = mesh[0].from_container(mesh[1], options=("-T",))
    assert done.returncode == render.NO_COMMAND and "no command was given" in done.stderr


def test_a_stopped_container_is_named(mesh: tuple[Server, Server]) -> None:
    mesh[1].container_runs(False)
    done = mesh[0].from_container(mesh[1], "hostname")
    assert done.returncode == render.NO_CONTAINER and "mpicont is not running" in done.stderr


def test_the_container_key_opens_no_tunnel_no_terminal_and_no_file_transfer(mesh: tuple[Server, Server]) -> None:
    one, two = mesh
    tunnel = one.from_container(two, options=("-o", "LogLevel=INFO", "-W", f"127.0.0.1:{two.port}"))
    assert tunnel.returncode != 0 and "prohibited" in tunnel.stderr + tunnel.stdout
    assert "PTY allocation request failed" in one.from_container(two, "tty", options=("-tt",)).stderr
    inside = one.node.container
    target = two.base / "copied"
    copy = one.with_ssh_directory(inside, ["scp", "-q", "/etc/hostname", f"{two.node.name}:{target}"])
    assert copy.returncode != 0 and not target.exists()


def test_another_host_key_is_refused(mesh: tuple[Server, Server]) -> None:
    mesh[1].stop()
    mesh[1].new_host_key()
    mesh[1].start()
    done = mesh[0].from_container(mesh[1], "hostname")
    assert done.returncode == 255 and "ost key verification failed" in done.stderr
    connect(mesh)  # the way out: collect the identities again
    assert mesh[0].from_container(mesh[1], "true").returncode == 0


def test_keys_are_refused_from_any_other_address(servers: tuple[Server, Server]) -> None:
    peers = connect(servers)
    servers[1].node.run(peers=[{**peers[0], "addresses": ["192.0.2.1"]}, peers[1]])
    done = servers[0].from_container(servers[1], "hostname")
    assert done.returncode == 255 and "Permission denied" in done.stderr
    assert servers[0].from_host(servers[1], "true").returncode == 255


def test_topology_head_closes_the_way_from_a_worker(servers: tuple[Server, Server]) -> None:
    connect(servers, head="gpu01", host_login=False)
    head, worker = servers
    assert head.from_container(worker, "true").returncode == 0
    assert worker.from_container(head, "true").returncode == 255
    assert head.from_host(worker, "true").returncode == 255


def test_the_administrators_key_works_before_during_and_after(servers: tuple[Server, Server], tmp_path: Path) -> None:
    server = servers[1]
    key = tmp_path / "admin"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    (server.home / ".ssh").mkdir(mode=0o700)
    authorized = server.home / ".ssh/authorized_keys"
    authorized.write_bytes(key.with_suffix(".pub").read_bytes().rstrip(b"\n"))
    before = authorized.read_bytes()

    def administrator_gets_in() -> bool:
        command = ["ssh", "-F", "none", "-i", str(key), "-p", str(server.port), "-o", "BatchMode=yes"]
        command += ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "root@127.0.0.1", "echo in"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout == "in\n"

    assert administrator_gets_in()
    connect(servers)
    assert administrator_gets_in() and servers[0].from_container(server, "true").returncode == 0
    server.node.run(state="absent")
    assert administrator_gets_in() and authorized.read_bytes() == before
    assert servers[0].from_container(server, "true").returncode == 255


def test_a_silent_node_is_given_up_in_time(servers: tuple[Server, Server]) -> None:
    with socket.socket() as silent:  # accepts no connection: its queue is full at once
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        fillers = []
        peers = [server.identity() for server in servers]
        peers[1]["port"] = silent.getsockname()[1]
        servers[0].node.run(peers=peers)
        for _number in range(3):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(silent.getsockname())
            fillers.append(filler)
        begun = time.monotonic()
        done = servers[0].from_container(servers[1], "true")
        took = time.monotonic() - begun
        for filler in fillers:
            filler.close()
    assert done.returncode == 255 and "timed out" in done.stderr
    assert took < 30


def test_the_module_itself_plans_a_node_without_touching_it() -> None:
    """Through ansible: documentation, argument_spec and main() fit together; check mode writes nothing."""
    before = sorted(os.listdir("/root/.ssh")) if os.path.isdir("/root/.ssh") else None
    done = subprocess.run(
        [
            *(Path(sys.executable).parent / "ansible", "localhost", "-c", "local", "--check"),
            *("-e", f"ansible_python_interpreter={sys.executable}", "-m", "rocemesh.multinode.ssh_container_mesh"),
            *("-a", "state=identity user=root addresses=127.0.0.1 name=here"),
        ],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "container_public_keys: []" in done.stdout and "changed: true" in done.stdout
    assert (sorted(os.listdir("/root/.ssh")) if os.path.isdir("/root/.ssh") else None) == before
