# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What somebody who holds the head's key, or sits on a worker, can try. All of it is refused, and the mesh still works.

Real sshd and ssh, the broker as the role installs it; only the engine behind it is a stub that notes every call.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError

from tests.integration.mesh.servers import MISSING, Server, two
from tests.unit.mesh.broker import ATTACKS, GRAMMAR, LAUNCH_LINES, SOURCE, load

pytestmark = pytest.mark.skipif(MISSING, reason="needs root, openssh-server and unshare")

broker = load()
NOTING = """#!/bin/bash
printf '%s\\n' "$*" >> "$(dirname "$0")/engine.log"
if [ "$1" = inspect ]; then echo true; exit; fi
[ "${*: -1}" = true ] || printf 'started: %s\\n' "$3"
"""


class Guarded:
    """Head and worker; the worker's forced command is the broker. `started`: what reached the engine."""

    def __init__(self, head: Server, worker: Server) -> None:
        self.head, self.worker = head, worker
        self.broker = self._install(worker)
        self._install(head)
        # A busy machine is no silent node.
        self.params: dict[str, Any] = {"topology": "head", "head": "gpu01", "host_login": False, "connect_timeout": 120}
        self.join()

    @staticmethod
    def _install(server: Server) -> Path:
        directory = server.base / "libexec"
        directory.mkdir(mode=0o755)
        shutil.copy(SOURCE, directory / "mesh-broker")
        shutil.copy(GRAMMAR, directory)
        (directory / "docker").write_text(NOTING)
        (directory / "docker").chmod(0o755)
        log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        log.bind(str(directory / "log"))
        log.setblocking(False)
        server.journal = log
        chosen = {
            "caller": "root", "container": "mpicont", "docker": [str(directory / "docker")], "prefixes": ["/usr"],
            "networks": ["127.0.0.0/8"], "log": str(directory / "log"),
        }  # fmt: skip
        (directory / "mesh-broker.json").write_text(json.dumps(chosen))
        (directory / "mesh-broker.json").chmod(0o644)
        return directory

    def join(self, **params: Any) -> None:
        servers = (self.head, self.worker)
        peers = [server.identity() for server in servers]
        for server in servers:
            command = [str(server.base / "libexec/mesh-broker")]
            server.node.run(peers=peers, forced_command=command, **{**self.params, **params})

    @property
    def started(self) -> list[str]:
        log = self.broker / "engine.log"
        return [line for line in log.read_text().splitlines() if line.startswith("exec")] if log.exists() else []

    def journal(self) -> str:
        said = []
        while True:
            try:
                said.append(self.worker.journal.recv(65536).decode())
            except BlockingIOError:
                return "\n".join(said)

    def what_keeps_mpirun(self) -> str:
        """Empty where it works."""
        done = self.head.from_container(self.worker, LAUNCH_LINES[0])
        said = self.journal()
        works = done.returncode == 0 and done.stdout == "started: orted\n" and "accepted from 127.0.0.1" in said
        return "" if works else f"{done} {said}"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    with two() as pair:
        yield Guarded(*pair)


@pytest.fixture(autouse=True)
def undamaged(guarded: Guarded) -> Iterator[None]:
    """No attack starts anything, and after each the mesh is whole."""
    before = len(guarded.started)
    yield
    assert len(guarded.started) == before, guarded.started[before:]
    assert guarded.what_keeps_mpirun() == ""


def test_every_request_but_a_launch_is_refused_and_logged(guarded: Guarded) -> None:
    # One request is longer than ssh can be told on a command line; test_broker.py has it. Each is a session of its own
    # with the forced command; that of every other test here, and of what proves the mesh whole, has its own login, too.
    with guarded.head.one_connection(guarded.worker) as options:
        for name, request in ATTACKS.items():
            if name != "megabytes":
                done = guarded.head.from_container(guarded.worker, request, options=options)
                assert (done.returncode, done.stdout) == (broker.REFUSED, ""), f"{name}: {done.stderr}"
                assert "refused: " in done.stderr and "refused from 127.0.0.1" in guarded.journal(), name


def as_head(guarded: Guarded, *options: str, command: tuple[str, ...] = ("true",)) -> subprocess.CompletedProcess[str]:
    done: subprocess.CompletedProcess[str] = guarded.head.from_container(
        guarded.worker, *command, options=("-o", "LogLevel=INFO", *options)
    )
    return done


@pytest.mark.parametrize(
    "options",
    [("-W", "127.0.0.1:22"), ("-N", "-o", "ExitOnForwardFailure=yes", "-R", "127.0.0.1:0:127.0.0.1:22")],
    ids=["tunnel_through_the_node", "port_opened_on_the_node"],
)
def test_forwarding_is_refused(guarded: Guarded, options: tuple[str, ...]) -> None:
    done = as_head(guarded, *options, command=())
    assert done.returncode != 0 and ("prohibited" in done.stderr or "forwarding failed" in done.stderr), done.stderr


def test_terminal_is_refused(guarded: Guarded) -> None:
    assert "PTY allocation request failed" in as_head(guarded, "-tt", command=("tty",)).stderr


def test_session_without_command_is_refused(guarded: Guarded) -> None:
    done = as_head(guarded, "-T", command=())
    assert done.returncode == broker.NO_COMMAND and "opens no session" in done.stderr


def test_sftp_subsystem_is_refused(guarded: Guarded) -> None:
    assert as_head(guarded, "-s", command=("sftp",)).returncode in (broker.REFUSED, broker.NO_COMMAND)


def test_agent_of_the_client_does_not_reach_the_node(guarded: Guarded) -> None:
    config = (guarded.worker.home / ".ssh/authorized_keys").read_text()
    assert all(line.startswith("restrict,") for line in config.splitlines() if "ssh-ed25519" in line)
    assert as_head(guarded, "-A", command=("ssh-add -l",)).returncode == broker.REFUSED


@pytest.mark.parametrize("variable", ["LD_PRELOAD=/tmp/x.so", "PYTHONPATH=/tmp", "PATH=/tmp", "DOCKER_HOST=tcp://x:1"])
def test_variables_sent_by_the_client_are_dropped(guarded: Guarded, variable: str) -> None:
    assert as_head(guarded, "-o", f"SetEnv={variable}", command=("id",)).returncode == broker.REFUSED


def test_worker_cannot_log_in_to_the_head_or_to_itself(guarded: Guarded) -> None:
    for target in (guarded.head, guarded.worker):
        assert guarded.worker.from_container(target, LAUNCH_LINES[0]).returncode == 255
        assert guarded.worker.from_host(target, "true").returncode == 255


def test_user_of_the_head_gets_no_login_on_the_worker(guarded: Guarded) -> None:
    assert guarded.head.from_host(guarded.worker, "true").returncode == 255


def test_key_from_another_address_is_refused(guarded: Guarded) -> None:
    guarded.join(allow_from=["192.0.2.0/24"])
    assert as_head(guarded).returncode == 255
    guarded.join()


def with_other_key(guarded: Guarded, private: bytes, directory: Path) -> subprocess.CompletedProcess[str]:
    """The head's whole SSH directory, but for the key."""
    other = directory / "ssh"
    shutil.copytree(guarded.head.node.container, other)
    (other / "id_ed25519_cont").write_bytes(private)
    (other / "id_ed25519_cont.pub").unlink()
    done: subprocess.CompletedProcess[str] = guarded.head.with_ssh_directory(other, ["ssh", "gpu02", "true"])
    return done


def test_key_of_a_stranger_is_refused(guarded: Guarded, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    done = with_other_key(guarded, (tmp_path / "key").read_bytes(), tmp_path)
    assert done.returncode == 255 and "Permission denied" in done.stderr


def test_replaced_host_key_is_refused(guarded: Guarded) -> None:
    worker = guarded.worker
    key = worker.etc / "ssh_host_ed25519_key"
    before = key.read_bytes(), key.with_suffix(".pub").read_bytes()
    worker.stop()
    worker.new_host_key()
    worker.start()
    try:
        done = as_head(guarded)
        assert done.returncode == 255 and "verification failed" in done.stderr
    finally:
        worker.stop()
        key.write_bytes(before[0])
        key.with_suffix(".pub").write_bytes(before[1])
        worker.start()


def test_rotation_never_closes_the_mesh_and_ends_the_old_key(guarded: Guarded, tmp_path: Path) -> None:
    servers = (guarded.head, guarded.worker)
    old = (guarded.head.node.container / "id_ed25519_cont").read_bytes()
    for rotation in ("prepare", "commit"):
        peers = []
        for server in servers:
            peers.append(server.identity_with(rotation))
            assert as_head(guarded).returncode == 0, f"closed after {rotation} on {server.node.name}"
        for server in servers:
            command = [str(server.base / "libexec/mesh-broker")]
            server.node.run(peers=peers, forced_command=command, **guarded.params)
            assert as_head(guarded).returncode == 0, f"closed while {rotation} reaches {server.node.name}"
    done = with_other_key(guarded, old, tmp_path)
    assert done.returncode == 255 and "Permission denied" in done.stderr
    # The probes above were started on purpose.
    log = guarded.broker / "engine.log"
    log.write_text("".join(line for line in log.read_text().splitlines(True) if not line.endswith("mpicont true\n")))


def test_symlinked_authorized_keys_is_refused(guarded: Guarded, tmp_path: Path) -> None:
    authorized = guarded.worker.home / ".ssh/authorized_keys"
    victim = tmp_path / "victim"
    victim.write_text("untouched\n")
    kept = authorized.with_name("kept")
    authorized.rename(kept)
    authorized.symlink_to(victim)
    try:
        with pytest.raises(RefusedError, match="symbolic link"):
            guarded.join()
        assert victim.read_text() == "untouched\n"
    finally:
        authorized.unlink()
        kept.rename(authorized)


@pytest.mark.parametrize("path", ["home/.ssh/authorized_keys", "home/.ssh", "home"])
def test_files_that_anybody_can_write_close_the_door(guarded: Guarded, path: str) -> None:
    target = guarded.worker.base / path
    before = target.stat().st_mode & 0o7777
    target.chmod(before | 0o002)
    try:
        assert as_head(guarded).returncode == 255
    finally:
        target.chmod(before)


@pytest.mark.parametrize("path", ["mesh-broker.json", "."])
def test_broker_settings_that_anybody_can_write_start_nothing(guarded: Guarded, path: str) -> None:
    target = guarded.broker / path
    before = target.stat().st_mode & 0o7777
    target.chmod(before | 0o002)
    try:
        assert as_head(guarded).returncode == broker.MISCONFIGURED
    finally:
        target.chmod(before)


def test_refused_requests_leave_no_process_behind(guarded: Guarded) -> None:
    for _attempt in range(20):
        assert as_head(guarded, command=("id",)).returncode == broker.REFUSED
        guarded.journal()  # its queue holds ten records, and the broker waits a moment where there is no room
    left = subprocess.run(["pgrep", "-f", str(guarded.broker)], capture_output=True, text=True, check=False).stdout
    assert left == ""


def test_no_private_key_is_readable_by_others(guarded: Guarded) -> None:
    keys = [path for path in guarded.worker.base.rglob("id_*") if path.suffix != ".pub"]
    assert keys and all(os.stat(path).st_mode & 0o077 == 0 for path in keys)


def test_authorized_keys_of_the_worker_hold_the_heads_key_alone(guarded: Guarded) -> None:
    lines = (guarded.worker.home / ".ssh/authorized_keys").read_text().splitlines()
    keys = [line for line in lines if "ssh-ed25519" in line]
    assert len(keys) == 1 and keys[0].endswith("gpu01:container") and 'from="127.0.0.1"' in keys[0]


def test_ssh_configuration_leaves_no_choice_to_a_man_in_the_middle(guarded: Guarded) -> None:
    text = (guarded.head.node.container / "config").read_text()
    assert "StrictHostKeyChecking yes" in text and "GlobalKnownHostsFile /dev/null" in text
    assert not any(word in text for word in ("ssh-rsa", "Ciphers", "MACs", "KexAlgorithms", "HostKeyAlgorithms"))
