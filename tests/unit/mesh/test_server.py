"""The transport `container`: what the container's own SSH server is given, and what is left of the guide's way."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh import render
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.state import Wanted, parse_wanted

from tests.unit.mesh.harness import DEFAULTS, Node

SHAPE: dict[str, Any] = {"transport": "container"}
STAR: dict[str, Any] = {**SHAPE, "head": "gpu01"}


def join(nodes: tuple[Node, ...], **shape: Any) -> list[dict[str, Any]]:
    peers = [node.identity(**SHAPE) for node in nodes]
    for node in nodes:
        node.run(peers=peers, **{**SHAPE, **shape})
    return peers


def settings(text: str) -> dict[str, str]:
    """First value of each setting, as sshd takes it."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        word, _blank, value = line.partition(" ")
        if word and not word.startswith("#"):
            found.setdefault(word.lower(), value)
    return found


def test_the_directory_holds_server_and_client_and_no_home_is_touched(node: Node) -> None:
    node.run(peers=[node.identity(**SHAPE)], **SHAPE)
    modes = {path.name: path.stat().st_mode & 0o777 for path in node.container.iterdir()}
    assert modes == {
        "authorized_keys": 0o600, "config": 0o600, "id_ed25519_cont": 0o600, "id_ed25519_cont.pub": 0o644,
        "known_hosts": 0o600, "ssh_host_ed25519_key": 0o600, "ssh_host_ed25519_key.pub": 0o644,
        "sshd_config": 0o600, "start_sshd.sh": 0o755,
    }  # fmt: skip
    assert not list(node.home.iterdir())
    assert node.run(peers=[node.identity(**SHAPE)], **SHAPE)["changed"] is False


def test_the_server_listens_on_the_mesh_alone_and_takes_keys_alone(nodes: tuple[Node, Node]) -> None:
    join(nodes)
    text = (nodes[1].container / "sshd_config").read_text()
    assert [line for line in text.splitlines() if line.startswith(("Port", "Listen"))] == [
        "Port 2222",
        "ListenAddress 10.0.0.2",
    ]
    wanted = {
        "authenticationmethods": "publickey", "passwordauthentication": "no", "kbdinteractiveauthentication": "no",
        "permitrootlogin": "prohibit-password", "allowusers": "root", "strictmodes": "yes", "usepam": "no",
        "disableforwarding": "yes", "permittty": "no", "permittunnel": "no", "allowagentforwarding": "no",
        "permituserenvironment": "no", "permituserrc": "no", "loglevel": "VERBOSE",
        "hostkey": "/root/.ssh/ssh_host_ed25519_key", "authorizedkeysfile": "/root/.ssh/authorized_keys",
    }  # fmt: skip
    found = settings(text)
    assert {name: found.get(name) for name in wanted} == wanted
    assert not {"acceptenv", "permitopen", "subsystem", "include", "match", "trustedusercakeys"} & set(found)


def test_keys_are_bound_to_their_node_and_host_keys_are_the_containers(nodes: tuple[Node, Node]) -> None:
    peers = join(nodes)
    lines = (nodes[1].container / "authorized_keys").read_text().splitlines()[1:]
    assert lines == [
        f'restrict,from="10.0.0.{number}" {peer["container_public_keys"][0]} {peer["name"]}:container'
        for number, peer in enumerate(peers, start=1)
    ]
    known = (nodes[0].container / "known_hosts").read_text()
    public = (nodes[1].container / "ssh_host_ed25519_key.pub").read_text().split()
    assert f"[gpu02]:2222,[10.0.0.2]:2222 {public[0]} {public[1]}\n" in known
    assert peers[1]["ssh_host_keys"] == [" ".join(public[:2])] and peers[1]["host_public_keys"] == []


def test_the_client_agrees_on_keys_quickly(nodes: tuple[Node, Node]) -> None:
    """`sntrup761` costs the head 50 ms of processor for every node; everything else that this ssh has stays."""
    join(nodes)

    def offered(config: Path | str) -> list[str]:
        done = subprocess.run(["ssh", "-G", "-F", config, "10.0.0.2"], check=True, capture_output=True, text=True)
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("kexalgorithms ")]
        return line.split(" ")[1].split(",")

    assert offered(nodes[0].container / "config") == [each for each in offered("none") if "sntrup" not in each]


def test_with_topology_head_a_worker_accepts_the_head_alone(nodes: tuple[Node, Node]) -> None:
    join(nodes, head="gpu01")
    for node in nodes:
        text = (node.container / "authorized_keys").read_text()
        assert "gpu01:container" in text and "gpu02:container" not in text


def test_one_call_makes_a_worker_that_knows_the_head_alone(nodes: tuple[Node, Node]) -> None:
    head, worker = nodes
    told = worker.run(peers=[head.identity(**SHAPE)], addresses=["10.0.0.2"], **STAR)["identity"]
    assert told["container_public_keys"] and told["port"] == 2222
    assert "ListenAddress 10.0.0.2\n" in (worker.container / "sshd_config").read_text()
    assert worker.run(peers=[head.identity(**SHAPE)], addresses=["10.0.0.2"], **STAR)["changed"] is False


def test_the_host_key_stays_when_the_client_key_is_renewed(nodes: tuple[Node, Node]) -> None:
    before = join(nodes)
    for step in ("prepare", "commit"):
        peers = [node.identity(rotation=step, **SHAPE) for node in nodes]
        for node in nodes:
            node.run(peers=peers, **SHAPE)
    assert [peer["ssh_host_keys"] for peer in peers] == [peer["ssh_host_keys"] for peer in before]
    assert all(one["container_public_keys"] != two["container_public_keys"] for one, two in zip(peers, before))
    assert not [path for path in nodes[0].container.iterdir() if ".next" in path.name]


def test_changing_the_transport_takes_the_other_ones_files_away(nodes: tuple[Node, Node]) -> None:
    node = nodes[0]
    authorized = node.ssh / "authorized_keys"
    node.ssh.mkdir(mode=0o700)
    authorized.write_text("ssh-ed25519 AAAA administrator\n")
    node.run(peers=[node.identity()])
    join((node,))
    assert authorized.read_text() == "ssh-ed25519 AAAA administrator\n"
    assert [path.name for path in node.ssh.iterdir()] == ["authorized_keys"]
    node.run(peers=[node.identity()])
    assert ":container" in authorized.read_text()
    assert {"sshd_config", "authorized_keys", "start_sshd.sh", "ssh_host_ed25519_key"}.isdisjoint(
        path.name for path in node.container.iterdir()
    )


def test_absent_leaves_nothing(node: Node) -> None:
    node.run(peers=[node.identity(**SHAPE)], **SHAPE)
    node.run(state="absent", **SHAPE)
    assert not (node.root / "etc/rocemesh").exists() and not list(node.home.iterdir())


def test_logins_of_users_need_the_guides_way(node: Node) -> None:
    with pytest.raises(RefusedError, match="own SSH server"):
        node.run(state="identity", transport="container", host_login=True)


@pytest.mark.parametrize(
    ("addresses", "lines"),
    [
        (("192.0.2.1",), ["ListenAddress 192.0.2.1"]),
        (("fd00::1",), ["ListenAddress fd00::1"]),
        (("192.0.2.1", "fd00::1"), ["ListenAddress 192.0.2.1", "ListenAddress fd00::1"]),
    ],
)
def test_the_server_listens_on_each_family_that_the_mesh_has(addresses: tuple[str, ...], lines: list[str]) -> None:
    text = render.server_config(Wanted(state="present", name="gpu01", user="nvidia"), addresses)
    assert [line for line in text.splitlines() if line.startswith("ListenAddress")] == lines


# ------------------------------------------------------------------------------------------------ the first program


@pytest.fixture
def started(node: Node, tmp_path: Path) -> Callable[[dict[str, str]], str]:
    """start_sshd.sh with the container's places below a directory of the test; returns the configuration it wrote."""
    node.run(peers=[node.identity(**SHAPE)], **SHAPE)
    run = tmp_path / "run"
    fake = tmp_path / "sshd"
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)
    text = (node.container / "start_sshd.sh").read_text()
    for place, other in (("/root/.ssh", node.container), ("/run/sshd", run), ("/usr/sbin/sshd", fake)):
        text = text.replace(place, str(other))
    script = tmp_path / "start.sh"
    script.write_text(text)

    def start(environment: dict[str, str]) -> str:
        subprocess.run(["/bin/sh", script], env={"PATH": os.environ["PATH"], **environment}, check=True)
        return (run / "mesh_config").read_text()

    return start


def test_sessions_get_the_environment_of_the_container(started: Callable[[dict[str, str]], str]) -> None:
    first = started({"NCCL_DEBUG": "INFO", "TWO": "a b#c", "HOME": "/elsewhere"}).splitlines()[0]
    assert first.startswith('SetEnv "') and ' "NCCL_DEBUG=INFO"' in first and ' "TWO=a b#c"' in first
    assert f'"PATH={os.environ["PATH"]}"' in first and "HOME=" not in first


@pytest.mark.parametrize(
    "value", ['a"b', "a\\b", "a\nPermitRootLogin yes", 'a"\nPort 22', "\x01", "a\r\nPermitTTY yes", "x\nEVIL=1"]
)
def test_no_value_reaches_the_configuration_as_anything_else(
    started: Callable[[dict[str, str]], str], node: Node, value: str
) -> None:
    """A hostile value of the container's environment is no setting of the server."""
    text = started({"HOSTILE": value, "GOOD": "1"})
    assert "HOSTILE" not in text and "EVIL=" not in text and '"GOOD=1"' in text
    assert text.split("\n", 1)[1] == (node.container / "sshd_config").read_text()


@pytest.mark.skipif(os.getuid() != 0, reason="sshd reads its host key as root")
def test_sshd_itself_reads_what_was_written(started: Callable[[dict[str, str]], str], tmp_path: Path) -> None:
    text = started({"TWO": "a b"})
    config = tmp_path / "checked"
    config.write_text(text.replace("/root/.ssh", str(tmp_path / "gpu01-root/etc/rocemesh/mesh/container")))
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    done = subprocess.run(["/usr/sbin/sshd", "-T", "-f", config], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert {"disableforwarding yes", "permittty no", "authenticationmethods publickey"} <= set(lines)
    assert any(line.startswith("setenv ") and "TWO=a b" in line for line in lines)
    assert "listenaddress 10.0.0.1:2222" in lines and not [each for each in lines if "0.0.0.0" in each]


@pytest.mark.parametrize(
    "given",
    [
        {"name": "root", "uid": 1000, "gid": 1000, "home": "/root"},
        {"name": "mpi", "uid": 0, "gid": 1000, "home": "/home/mpi"},
        {"name": "mpi", "uid": 1000, "gid": -1, "home": "/home/mpi"},
        {"name": "mpi", "uid": 1000, "gid": 1000, "home": "home"},
        {"name": "mpi", "uid": 1000, "gid": 1000, "home": "/home/mpi\nPermitRootLogin yes"},
        {"name": "mpi -oProxyCommand=id", "uid": 1000, "gid": 1000, "home": "/home/mpi"},
        {"name": "mpi", "uid": 1000, "gid": 1000},
        {"name": "mpi", "uid": 1000, "gid": 1000, "home": "/home/mpi", "shell": "/bin/sh"},
    ],
)
def test_an_account_that_no_image_can_have_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(RefusedError, match="container_user"):
        asked = {**DEFAULTS, **SHAPE, "state": "identity", "host_login": False, "container_user": given}
        parse_wanted(asked, host="gpu01", user="nvidia", planning=True)
