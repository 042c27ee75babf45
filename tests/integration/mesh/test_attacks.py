"""Attacks on the containers' SSH servers: a neighbour in the network, a worker, and the holder of the head's key.

Three nodes of a fleet with the files that the module writes; `gpu001` is the head and its key the only one accepted.
`mesh` is the fixture for attacks of your own: `node.in_container([...])` is a rank's view, `node.inside([...])` the
node's, `fleet.run([...])` that of a machine which is no part of the mesh.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.mesh import many
from tests.integration.mesh.fleet import CONTAINER_LOG, Fleet, Node, fleet, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
MESH = "etc/rocemesh/mesh/container"
# A client that trusts everything and waits for nothing.
SSH = (
    "ssh", "-F", "none", "-p", "2222", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o",
    "UserKnownHostsFile=/dev/null", "-o", "ConnectTimeout=5", "-o", "LogLevel=INFO",
)  # fmt: skip
Attack = Callable[[Fleet], "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def mesh() -> Iterator[Fleet]:
    with fleet(3) as nodes:
        many.join(nodes)
        yield nodes


@pytest.fixture(autouse=True)
def still_works(mesh: Fleet) -> Iterator[None]:
    """After every attack the head reaches every node, and no process of an attack is left in a container."""
    yield
    for node in mesh.nodes:
        done = mesh.nodes[0].in_container(["ssh", node.address, "hostname"])
        assert (done.returncode, done.stdout.strip()) == (0, node.name), done.stderr


def files(node: Node) -> Path:
    return node.root / MESH


@contextmanager
def held(path: Path) -> Iterator[bytes]:
    """The file as it was, put back with its mode."""
    content, mode = path.read_bytes(), path.stat().st_mode & 0o7777
    try:
        yield content
    finally:
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        path.chmod(mode)


def new_key(folder: Path, kind: str = "ed25519") -> Path:
    key = folder / f"{kind}.attacker"
    key.unlink(missing_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", key], check=True)
    return key


def asks(*options: str, user: str = "root", target: int = 1) -> Attack:
    """From a machine of the network that is no node."""
    return lambda mesh: mesh.run([*SSH, *options, f"{user}@{mesh.nodes[target].address}", "id"])


def with_key_of(owner: int, place: int, target: int) -> Attack:
    """The key of ``owner``'s container, used on node ``place`` (-1: outside of the mesh)."""

    def attack(mesh: Fleet) -> subprocess.CompletedProcess[str]:
        copy = mesh.folder / "copied"
        shutil.copy(files(mesh.nodes[owner]) / "id_ed25519_cont", copy)
        copy.chmod(0o600)
        address = mesh.nodes[target].address
        if place < 0:
            return mesh.run([*SSH, "-i", str(copy), f"root@{address}", "id"])
        inside = mesh.nodes[place].root / "root/copied"
        shutil.copy(copy, inside)
        inside.chmod(0o600)
        return mesh.nodes[place].inside([*SSH, "-i", "/root/copied", f"root@{address}", "id"])

    return attack


def stranger(kind: str) -> Attack:
    return lambda mesh: mesh.run([*SSH, "-i", str(new_key(mesh.folder, kind)), f"root@{mesh.nodes[1].address}", "id"])


LOGINS: dict[str, Attack] = {
    "no_method": asks("-o", "PreferredAuthentications=none"),
    "password": asks(
        "-o", "PreferredAuthentications=password", "-o", "BatchMode=no", "-o", "NumberOfPasswordPrompts=1"
    ),
    "keyboard_interactive": asks("-o", "PreferredAuthentications=keyboard-interactive"),
    "hostbased": asks("-o", "PreferredAuthentications=hostbased", "-o", "HostbasedAuthentication=yes"),
    "gssapi": asks("-o", "PreferredAuthentications=gssapi-with-mic", "-o", "GSSAPIAuthentication=yes"),
    "without_key": asks("-o", "PreferredAuthentications=publickey", "-i", "/nonexistent"),
    "strangers_ed25519_key": stranger("ed25519"),
    "strangers_rsa_key": stranger("rsa"),
    "strangers_ecdsa_key": stranger("ecdsa"),
    "administrators_key_of_the_node": lambda mesh: mesh.run(
        [*SSH, "-i", str(mesh.key), f"root@{mesh.nodes[1].address}", "id"]
    ),
    "user_nobody": asks(user="nobody"),
    "user_nvidia": asks(user="nvidia"),
    "user_of_sshd": asks(user="sshd"),
    "user_that_is_not_there": asks(user="mesh"),
    "user_with_an_option_for_a_name": asks("-l", "-oProxyCommand=id"),
    "heads_key_from_outside": with_key_of(0, -1, 1),
    "heads_key_from_a_worker_to_another": with_key_of(0, 1, 2),
    "heads_key_from_a_worker_to_the_head": with_key_of(0, 1, 0),
    "heads_key_from_a_worker_to_itself": with_key_of(0, 1, 1),
    "workers_key_from_the_worker_to_the_head": with_key_of(1, 1, 0),
    "workers_key_from_the_worker_to_another": with_key_of(1, 1, 2),
    "workers_key_from_the_worker_to_itself": with_key_of(1, 1, 1),
    "workers_key_from_the_head": with_key_of(1, 0, 2),
    "workers_key_from_outside": with_key_of(1, -1, 2),
}


@pytest.mark.parametrize("name", LOGINS)
def test_logins_without_the_heads_key_and_place_are_refused(mesh: Fleet, name: str) -> None:
    done = LOGINS[name](mesh)
    assert done.returncode == 255 and "uid=" not in done.stdout, done.stdout
    assert re.search(r"Permission denied \(publickey\)|remote username contains invalid|ermission denied", done.stderr)


def test_the_heads_key_from_the_head_opens_the_container(mesh: Fleet) -> None:
    """The control of the attempts above: nothing but place and key keeps them out."""
    done = with_key_of(0, 0, 1)(mesh)
    assert done.returncode == 0 and "uid=0(root)" in done.stdout, done.stderr


@pytest.mark.parametrize("address", ["127.0.0.1", "192.0.2.77"])
def test_the_server_listens_on_no_other_address_of_the_node(mesh: Fleet, address: str) -> None:
    node = mesh.nodes[1]
    node.inside(["ip", "address", "add", "192.0.2.77/32", "dev", "eth0"])
    try:
        done = node.inside([*SSH, f"root@{address}", "id"])
    finally:
        node.inside(["ip", "address", "del", "192.0.2.77/32", "dev", "eth0"])
    assert done.returncode == 255 and "Connection refused" in done.stderr


# -------------------------------------------------------------------------------------------- with the head's key


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "to_a_port_of_the_node": (("-W", "127.0.0.1:22"), "prohibited|stdio forwarding failed"),
    "to_a_port_of_another_node": (("-W", "10.79.0.4:2222"), "prohibited|stdio forwarding failed"),
    "reverse": (("-o", "ExitOnForwardFailure=yes", "-R", "127.0.0.1:8222:127.0.0.1:22"), "forwarding failed"),
    "reverse_on_all_addresses": (("-o", "ExitOnForwardFailure=yes", "-R", "*:8222:127.0.0.1:22"), "forwarding failed"),
    "reverse_dynamic": (("-o", "ExitOnForwardFailure=yes", "-R", "8223"), "remote port forwarding failed"),
    "reverse_socket": (("-o", "ExitOnForwardFailure=yes", "-R", "/tmp/s:127.0.0.1:22"), "forwarding failed"),
    "tunnel_of_packets": (("-o", "ExitOnForwardFailure=yes", "-w", "9:9"), "unnel"),
    "terminal": (("-tt",), "PTY allocation request failed"),
    "file_transfer": (("-s",), "subsystem request failed"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_forwarding_is_refused(mesh: Fleet, name: str) -> None:
    options, words = REFUSED[name]
    head, worker = mesh.nodes[:2]
    command = [] if "-W" in options else ["sftp"] if "-s" in options else ["true"]
    done = head.in_container(["ssh", "-o", "LogLevel=INFO", *options, worker.address, *command])
    assert re.search(words, done.stderr), (done.returncode, done.stderr)
    assert done.returncode != 0 or name == "terminal"


def test_a_local_forward_carries_nothing(mesh: Fleet) -> None:
    """The client listens by itself; the server refuses the channel."""
    head, worker = mesh.nodes[:2]
    script = (
        f"ssh -o ControlMaster=no -f -L 127.0.0.1:8300:127.0.0.1:22 {worker.address} sleep 3 2>/dev/null; "
        "timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/8300; head -c 3 <&3'"
    )
    assert "SSH" not in head.in_container(["bash", "-c", script]).stdout


def test_the_agent_of_the_client_does_not_reach_a_worker(mesh: Fleet) -> None:
    script = 'eval "$(ssh-agent)" > /dev/null; ssh -A "$0" env; ssh-agent -k > /dev/null'
    done = mesh.nodes[0].in_container(["bash", "-c", script, mesh.nodes[1].address])
    assert done.returncode == 0 and "SSH_AUTH_SOCK" not in done.stdout and "PATH=" in done.stdout


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "BASH_ENV", "ENV", "LC_ALL", "OMPI_MCA_x"])
def test_variables_of_the_client_are_dropped(mesh: Fleet, name: str) -> None:
    script = f'{name}=/evil; export {name}; /usr/bin/ssh -o SendEnv={name} -o SetEnv={name}=/evil "$0" /usr/bin/env'
    done = mesh.nodes[0].in_container(["/bin/bash", "-c", script, mesh.nodes[1].address])
    assert done.returncode == 0 and "/evil" not in done.stdout, done.stdout


@pytest.mark.parametrize("name", ["rc", "environment"])
def test_files_that_sshd_could_read_for_a_user_are_not_read(mesh: Fleet, name: str) -> None:
    node = mesh.nodes[1]
    path = files(node) / name
    path.write_text("touch /run/evil\nEVIL=1\n")
    try:
        done = mesh.nodes[0].in_container(["ssh", node.address, "env; test ! -e /run/evil"])
    finally:
        path.unlink()
    assert done.returncode == 0 and "EVIL" not in done.stdout


# --------------------------------------------------------------------------------------------------- files and places


@pytest.mark.parametrize("how", ["link", "mode", "owner", "directory"])
def test_keys_that_others_could_write_open_nothing(mesh: Fleet, how: str) -> None:
    node = mesh.nodes[1]
    path = files(node) / "authorized_keys"
    elsewhere = node.root / "tmp/keys"
    with held(path) as content:
        if how == "link":
            elsewhere.write_bytes(content)
            elsewhere.chmod(0o666)
            path.unlink()
            path.symlink_to("/tmp/keys")
        elif how == "mode":
            path.chmod(0o622)
        elif how == "owner":
            shutil.chown(path, 12345)
        else:
            files(node).chmod(0o777)
        done = mesh.nodes[0].in_container(["ssh", node.address, "id"])
        files(node).chmod(0o755)
    assert done.returncode == 255 and "Permission denied" in done.stderr, done.stderr


@pytest.mark.parametrize(
    "command",
    ["touch /root/.ssh/x", "rm /root/.ssh/config", "echo x >> /root/.ssh/authorized_keys", "chmod 777 /root/.ssh",
     "mv /root/.ssh/sshd_config /root/.ssh/y", "ln -sf /etc/shadow /root/.ssh/rc", "rm -rf /root/.ssh"],
)  # fmt: skip
def test_a_rank_cannot_write_what_the_container_was_given(mesh: Fleet, command: str) -> None:
    before = sorted(path.read_bytes() for path in files(mesh.nodes[1]).iterdir())
    done = mesh.nodes[0].in_container(["ssh", mesh.nodes[1].address, command])
    assert done.returncode != 0 and "ead-only file system" in done.stderr, done.stderr
    assert sorted(path.read_bytes() for path in files(mesh.nodes[1]).iterdir()) == before


def stop_server(node: Node) -> None:
    pid = (node.root / "run/sshd/mesh.pid").read_text().strip()
    assert node.inside(["kill", pid]).returncode == 0
    deadline = time.monotonic() + 30
    while ":2222 " in node.inside(["ss", "-ltn"]).stdout:
        assert time.monotonic() < deadline, "the server does not end"
        time.sleep(0.02)


def test_a_server_with_another_host_key_gets_no_command(mesh: Fleet) -> None:
    """Whoever takes the port before the container's server does, or instead of it, cannot pose as the node."""
    head, worker = mesh.nodes[:2]
    stop_server(worker)
    key = new_key(worker.root / "run")
    options = ["-p", "2222", "-o", f"HostKey=/run/{key.name}", "-o", "PidFile=/run/squatter.pid", "-E", "/run/squatter"]
    assert worker.inside(["/usr/sbin/sshd", *options]).returncode == 0
    try:
        done = head.in_container(["ssh", worker.address, "id"])
        assert done.returncode == 255 and "ost key verification failed" in done.stderr, done.stderr
        # The container's server does not come up beside it: it ends, and says why.
        worker.inside(["/usr/local/bin/docker", "run"])
        deadline = time.monotonic() + 30
        while "Cannot bind any address" not in worker.log(CONTAINER_LOG):
            assert time.monotonic() < deadline, worker.log(CONTAINER_LOG)
            time.sleep(0.05)
    finally:
        worker.inside(["kill", (worker.root / "run/squatter.pid").read_text().strip()])
        while ":2222 " in worker.inside(["ss", "-ltn"]).stdout:
            time.sleep(0.02)
        worker.start_container()


def test_a_worker_gets_nothing_from_the_heads_client(mesh: Fleet) -> None:
    """What a hostile worker could ask of the client that logs in to it."""
    done = mesh.nodes[0].in_container(["ssh", "-G", mesh.nodes[1].address])
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    wanted = {
        "forwardagent": "no", "forwardx11": "no", "forwardx11trusted": "no", "permitlocalcommand": "no",
        "updatehostkeys": "false", "stricthostkeychecking": "true", "batchmode": "yes", "identitiesonly": "yes",
        "tunnel": "false", "hostbasedauthentication": "no", "globalknownhostsfile": "/dev/null", "user": "root",
        "userknownhostsfile": "/root/.ssh/known_hosts", "port": "2222",
    }  # fmt: skip
    assert {name: found.get(name) for name in wanted} == wanted
    assert not {"proxycommand", "proxyjump", "localcommand", "remotecommand"} & set(found)


def test_no_private_key_is_readable_by_others(mesh: Fleet) -> None:
    for node in mesh.nodes:
        keys = [path for path in files(node).iterdir() if b"PRIVATE KEY" in path.read_bytes()]
        assert len(keys) == 2 and {path.stat().st_mode & 0o777 for path in keys} == {0o600}


def test_every_login_is_in_the_containers_log(mesh: Fleet) -> None:
    """With the address, the fingerprint of the key, and the reason of a refusal."""
    head, worker = mesh.nodes[:2]
    before = len(worker.log())
    assert head.in_container(["ssh", worker.address, "true"]).returncode == 0
    with_key_of(0, -1, 1)(mesh)
    told = worker.log()[before:]
    public = files(head) / "id_ed25519_cont.pub"
    print_ = subprocess.run(["ssh-keygen", "-lf", public], check=True, capture_output=True, text=True).stdout.split()[1]
    assert re.search(
        rf"Accepted publickey for root from {re.escape(head.address)} port \d+ ssh2: ED25519 {re.escape(print_)}", told
    )
    assert re.search(r"Authentication tried for root with correct key but not from a permitted host", told)


def test_many_open_connections_keep_the_head_out_for_no_longer_than_they_wait(mesh: Fleet) -> None:
    """A neighbour that holds connections without a login: the server drops them after LoginGraceTime (20 s)."""
    node = mesh.nodes[1]
    script = (
        "import socket,sys,time\n"
        f"held=[socket.create_connection(('{node.address}',2222)) for _ in range(60)]\n"
        "print('held',flush=True); sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [*mesh.entering(), "python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout and holder.stdout.readline() == "held\n"
        assert mesh.nodes[0].in_container(["ssh", node.address, "true"]).returncode == 0
    finally:
        holder.kill()
        holder.wait(10)
        for stream in (holder.stdin, holder.stdout):
            if stream:
                stream.close()
