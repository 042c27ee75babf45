# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mesh between two SSH servers of this machine: real sshd, real ssh, real keys; only the engine is a stub.

Each "node" is a home directory and an sshd on its own loopback port with its own host keys. The ssh client of the
"container" runs in a mount namespace in which ``ssh_container`` lies at ``/root/.ssh``, as it does in the real one.
Needs root: sshd and the mount namespace do. Files lie below ``/run`` because sshd's StrictModes distrusts ``/tmp``.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh import render

from tests.unit.mesh.harness import Node

SSHD = "/usr/sbin/sshd"
LAUNCH_LINES = Path(__file__).parents[2] / "unit/mesh/fixtures/launch_lines.txt"

pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or not os.path.exists(SSHD) or not shutil.which("unshare"),
    reason="needs root, openssh-server and unshare",
)

DOCKER = r"""#!/bin/bash
case "$1" in
  inspect) cat "$(dirname "$0")/running" ;;
  exec) shift 2; exec "$@" ;;
  *) exit 125 ;;
esac
"""
DAEMON = '#!/bin/bash\nprintf "[%s]\\n" "$@"\n'


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """One node: home directory, host keys, sshd. Its user is root, because only root can run sshd for any user."""

    def __init__(self, name: str, root: Path) -> None:
        self.base = root / name
        self.home = self.base / "home"
        self.etc = self.base / "etc"
        self.bin = self.base / "bin"
        for directory in (self.home, self.etc, self.bin):
            directory.mkdir(parents=True)
        for program, text in (("docker", DOCKER), ("orted", DAEMON)):
            (self.bin / program).write_text(text)
            (self.bin / program).chmod(0o755)
        self.container_runs(True)
        self.port = free_port()
        self.new_host_key()
        self.node = Node(name, 1, self.home, self.etc)
        self.node.account = self.node.transport.account = self.node.container_account = type(self.node.account)(
            "root", 0, 0, str(self.home)
        )
        self.process: subprocess.Popen[bytes] | None = None
        self.log = self.base / "sshd.log"

    def container_runs(self, running: bool) -> None:
        (self.bin / "running").write_text("true\n" if running else "false\n")

    def new_host_key(self) -> None:
        key = self.etc / "ssh_host_ed25519_key"
        for path in (key, key.with_suffix(".pub")):
            path.unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)

    def start(self) -> None:
        config = self.etc / "sshd_config"
        config.write_text(
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {self.etc}/ssh_host_ed25519_key\n"
            f"PidFile none\nAuthorizedKeysFile {self.home}/.ssh/authorized_keys\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nUsePAM no\nPermitRootLogin prohibit-password\nStrictModes yes\n"
            "Subsystem sftp internal-sftp\n"
            f"SetEnv PATH={self.bin}:/usr/bin:/bin\n"
        )
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.process = subprocess.Popen([SSHD, "-D", "-f", str(config), "-E", str(self.log)])
        deadline = time.monotonic() + 15
        while True:
            if self.process.poll() is not None:
                pytest.fail(f"sshd ended at once: {self.log.read_text()}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if time.monotonic() > deadline:
                pytest.fail("sshd does not listen")
            time.sleep(0.02)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(10)
            self.process = None

    def identity(self) -> dict[str, Any]:
        return self.node.identity(addresses=["127.0.0.1"], ssh_port=self.port)

    def _as_root_with(self, ssh_directory: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a client with ``ssh_directory`` at /root/.ssh, seen by nobody else."""
        inside = (
            "mount --make-rprivate / && mount -t tmpfs none /root && mkdir -m 700 /root/.ssh && "
            f"mount --bind {shlex.quote(str(ssh_directory))} /root/.ssh && exec {shlex.join(command)}"
        )
        return subprocess.run(
            ["unshare", "--mount", "/bin/sh", "-c", inside],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def from_container(self, to: Server, *command: str, options: tuple[str, ...] = ()) -> Any:
        """ssh as mpirun calls it: by address; the port comes from the configuration file."""
        # Both nodes share one address here, so the name selects the entry; HostName leads to the address.
        return self._as_root_with(self.home / ".ssh/ssh_container", ["ssh", *options, to.node.name, *command])

    def from_host(self, to: Server, *command: str) -> Any:
        return self._as_root_with(self.home / ".ssh", ["ssh", "-o", "BatchMode=yes", to.node.name, *command])


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    with tempfile.TemporaryDirectory(prefix="rocemesh-", dir="/run") as directory:
        Path(directory).chmod(0o755)
        pair = Server("gpu01", Path(directory)), Server("gpu02", Path(directory))
        try:
            for server in pair:
                server.start()
            yield pair
        finally:
            for server in pair:
                server.stop()


@pytest.fixture
def mesh(servers: tuple[Server, Server]) -> tuple[Server, Server]:
    connect(servers)
    return servers


def connect(servers: tuple[Server, Server], **params: Any) -> list[dict[str, Any]]:
    peers = [server.identity() for server in servers]
    for server in servers:
        server.node.run(peers=peers, **params)
    return peers


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
    inside = one.home / ".ssh/ssh_container"
    target = two.base / "copied"
    copy = one._as_root_with(inside, ["scp", "-q", "/etc/hostname", f"{two.node.name}:{target}"])
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
    connect(servers, allow_from=["192.0.2.0/24"])
    done = servers[0].from_container(servers[1], "hostname")
    assert done.returncode == 255 and "Permission denied" in done.stderr
    assert servers[0].from_host(servers[1], "true").returncode == 255


def test_topology_head_closes_the_way_from_a_worker(servers: tuple[Server, Server]) -> None:
    connect(servers, topology="head", head="gpu01", host_login=False)
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
        servers[0].node.run(peers=peers, connect_timeout=1)
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
    assert took < 10


def test_the_module_itself_plans_a_node_without_touching_it(tmp_path: Path) -> None:
    """Through ansible: documentation, argument_spec and main() fit together; check mode writes nothing."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "ssh_host_ed25519_key"], check=True)
    before = sorted(os.listdir("/root/.ssh")) if os.path.isdir("/root/.ssh") else None
    done = subprocess.run(
        [
            *(Path(sys.executable).parent / "ansible", "localhost", "-c", "local", "--check"),
            *("-e", f"ansible_python_interpreter={sys.executable}", "-m", "rocemesh.multinode.ssh_container_mesh"),
            *("-a", f"state=identity user=root addresses=127.0.0.1 name=here ssh_host_key_dir={tmp_path}"),
        ],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "planned: true" in done.stdout and "changed: true" in done.stdout
    assert (sorted(os.listdir("/root/.ssh")) if os.path.isdir("/root/.ssh") else None) == before
