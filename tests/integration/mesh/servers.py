"""Two nodes of the guide's way on this machine: real sshd, real ssh, real keys; only the engine is a stub.

Each node is a home directory and an sshd on its own loopback port with its own host keys. The ssh client of the
"container" runs in a mount namespace in which the mesh's ``container`` lies at ``/root/.ssh``, read-only, as it does in
the real one.
Needs root: sshd and the mount namespace do. Files lie below ``/run`` because sshd's StrictModes distrusts ``/tmp``.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.mesh.harness import Node

SSHD = "/usr/sbin/sshd"
MISSING = os.getuid() != 0 or not os.path.exists(SSHD) or not shutil.which("unshare")

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
        self.node.account = self.node.transport.account = type(self.node.account)("root", 0, 0, str(self.home))
        self.node.root = self.base
        self.node.system = type(self.node.system)(name, type(self.node.account)("root", 0, 0, str(self.base)))
        self.node.system.accounts = {}
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

    def identity_with(self, rotation: str) -> dict[str, Any]:
        return self.node.identity(addresses=["127.0.0.1"], ssh_port=self.port, rotation=rotation)

    @staticmethod
    def _inside(ssh_directory: Path, command: list[str]) -> list[str]:
        """Runs a client with ``ssh_directory`` at /root/.ssh, seen by nobody else."""
        inside = (
            "mount --make-rprivate / && mount -t tmpfs none /root && mkdir -m 700 /root/.ssh && "
            f"mount --bind {shlex.quote(str(ssh_directory))} /root/.ssh && "
            f"mount -o remount,ro,bind /root/.ssh && exec {shlex.join(command)}"
        )
        return ["unshare", "--mount", "/bin/sh", "-c", inside]

    def with_ssh_directory(self, ssh_directory: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._inside(ssh_directory, command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,  # whatever hangs; a busy machine is not meant
            check=False,
        )

    @contextlib.contextmanager
    def one_connection(self, to: Server) -> Iterator[tuple[str, ...]]:
        """Options for requests from the container that are sessions of one connection: the login is made once."""
        path = self.base / "connection"
        command = ["ssh", "-M", "-N", "-S", str(path), to.node.name]
        with subprocess.Popen(self._inside(self.node.container, command), stdin=subprocess.DEVNULL) as master:
            try:
                deadline = time.monotonic() + 120
                while not path.exists():
                    assert master.poll() is None and time.monotonic() < deadline, "no connection"
                    time.sleep(0.02)
                yield ("-S", str(path))
                assert master.poll() is None, "the connection ended"
            finally:
                master.terminate()

    def from_container(self, to: Server, *command: str, options: tuple[str, ...] = ()) -> Any:
        """ssh as mpirun calls it: by address; the port comes from the configuration file."""
        # Both nodes share one address here, so the name selects the entry; HostName leads to the address.
        return self.with_ssh_directory(self.node.container, ["ssh", *options, to.node.name, *command])

    def from_host(self, to: Server, *command: str) -> Any:
        return self.with_ssh_directory(self.home / ".ssh", ["ssh", "-o", "BatchMode=yes", to.node.name, *command])


@contextlib.contextmanager
def two() -> Iterator[tuple[Server, Server]]:
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


def connect(servers: tuple[Server, Server], **params: Any) -> list[dict[str, Any]]:
    peers = [server.identity() for server in servers]
    for server in servers:
        server.node.run(peers=peers, **params)
    return peers
