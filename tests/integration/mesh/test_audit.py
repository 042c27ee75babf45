"""ssh-audit finds no weak algorithm that the mesh configured; what OpenSSH itself offers is not ours to judge.

Judged by difference: a weak algorithm is ours if the same server, or the same client, did not offer it before the mesh
was made. The program (PyPI, MIT) runs in a throwaway virtual environment, on servers of a fleet.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.integration.mesh import many
from tests.integration.mesh.fleet import Fleet, Node, fleet, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
PORT = 2299  # of ssh-audit's own server


@pytest.fixture(scope="module")
def ssh_audit() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rocemesh-audit-") as directory:
        venv.create(directory, with_pip=True)
        program = Path(directory) / "bin/ssh-audit"
        asked = subprocess.run(
            [program.with_name("python"), "-m", "pip", "install", "--quiet", "ssh-audit>=3.3,<4"],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        if asked.returncode != 0 or not program.exists():
            pytest.skip(f"pip cannot get ssh-audit: {asked.stderr.strip()[-300:]}")
        yield program


@pytest.fixture(scope="module")
def before() -> dict[str, set[str]]:
    """What client and server of the distribution offer; filled by the fixture `mesh`."""
    return {}


@pytest.fixture(scope="module")
def mesh(ssh_audit: Path, before: dict[str, set[str]]) -> Iterator[Fleet]:
    with fleet(2) as nodes:
        before["server"] = weak_of_server(ssh_audit, nodes, nodes.nodes[1], 22)
        before["client"] = weak_of_client(ssh_audit, nodes.nodes[0], ["ssh", "-F", "none"])
        many.join(nodes)
        yield nodes


def weak(report: str) -> set[str]:
    """`what/algorithm` of everything that the report warns of."""
    found: dict[str, Any] = json.loads(report)
    offered = [(kind, each) for kind in ("kex", "key", "enc", "mac") for each in found[kind]]
    assert all([each for one, each in offered if one == kind] for kind in ("kex", "key", "enc", "mac")), report[:500]
    return {f"{kind}/{each['algorithm']}" for kind, each in offered if {"warn", "fail"} & set(each["notes"])}


def weak_of_server(ssh_audit: Path, nodes: Fleet, node: Node, port: int) -> set[str]:
    asked = [str(ssh_audit), "--json", "--skip-rate-test", "--port", str(port), node.address]
    return weak(nodes.run(asked).stdout)


def weak_of_client(ssh_audit: Path, node: Node, client: Sequence[str]) -> set[str]:
    """What ``client``, run in the node's container or on the node, offers to a server of ssh-audit on that node."""
    command = [str(ssh_audit), "--client-audit", "--json", "--port", str(PORT), "--timeout", "60"]
    server = subprocess.Popen(
        ["nsenter", "--target", str(node.pid), "--net", *command], stdout=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 60
        while f":{PORT} " not in node.inside(["ss", "-ltn"]).stdout:
            assert server.poll() is None and time.monotonic() < deadline, "ssh-audit does not listen"
            time.sleep(0.05)
        words = [*client, "-p", str(PORT), "-o", "BatchMode=yes", node.address, "true"]
        in_container = (node.root / "etc/rocemesh/mesh/container").exists()
        (node.in_container if in_container else node.inside)(words)
        return weak(server.communicate(timeout=60)[0])
    finally:
        server.kill()
        server.wait(10)
        if server.stdout:
            server.stdout.close()


def test_the_servers_offer_nothing_weaker_than_before(
    mesh: Fleet, ssh_audit: Path, before: dict[str, set[str]]
) -> None:
    assert weak_of_server(ssh_audit, mesh, mesh.nodes[1], 2222) - before["server"] == set()


def test_the_containers_client_offers_nothing_weaker_than_ssh_does_by_itself(
    mesh: Fleet, ssh_audit: Path, before: dict[str, set[str]]
) -> None:
    assert weak_of_client(ssh_audit, mesh.nodes[0], ["ssh"]) - before["client"] == set()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Ciphers +3des-cbc", "enc/3des-cbc"),
        ("MACs +hmac-md5", "mac/hmac-md5"),
        ("KexAlgorithms +diffie-hellman-group1-sha1", "kex/diffie-hellman-group1-sha1"),
        ("HostKeyAlgorithms +ssh-rsa", "key/ssh-rsa"),
    ],
)
def test_a_weak_line_in_the_configuration_would_be_found(
    mesh: Fleet, ssh_audit: Path, before: dict[str, set[str]], line: str, found: str
) -> None:
    """The same check, with the fault that it is there for."""
    config = mesh.nodes[0].root / "etc/rocemesh/mesh/container/config"
    kept = config.read_text()
    config.write_text(f"Host *\n    {line}\n" + kept)  # the first value of an option is the one in use
    try:
        assert found in weak_of_client(ssh_audit, mesh.nodes[0], ["ssh"]) - before["client"]
    finally:
        config.write_text(kept)


def test_a_weak_line_in_the_servers_configuration_would_be_found(
    mesh: Fleet, ssh_audit: Path, before: dict[str, set[str]]
) -> None:
    """A second server of that node, on a port of its own, so that the node's stays as it is."""
    node = mesh.nodes[1]
    command = ["/usr/sbin/sshd", "-p", str(PORT), "-o", "Ciphers=+3des-cbc", "-o", "PidFile=/run/second.pid"]
    assert node.inside(command).returncode == 0
    try:
        report = mesh.run([str(ssh_audit), "--json", "--skip-rate-test", "--port", str(PORT), node.address]).stdout
        assert weak(report) - before["server"] == {"enc/3des-cbc"}
    finally:
        pid = (node.root / "run/second.pid").read_text().strip()
        assert node.inside(["kill", pid]).returncode == 0


def key_types(mesh: Fleet) -> set[str]:
    """Types of all keys that the mesh wrote: who may log in, whom to expect, and the pairs themselves."""
    types = set()
    for node in mesh.nodes:
        for path in (*(node.root / "root/.ssh").rglob("*"), *(node.root / "etc/rocemesh").rglob("*")):
            if path.name in ("authorized_keys", "known_hosts", "known_hosts_mesh") or path.suffix == ".pub":
                words = [word for word in path.read_text().split() if word.startswith(("ssh-", "ecdsa-", "sk-"))]
                assert words, f"{path.name} of {node.name} holds no key"
                types |= set(words)
    return types


def judged(ssh_audit: Path, algorithm: str) -> str:
    asked = [ssh_audit, "--no-colors", "--level", "warn", "--lookup", algorithm]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout


def test_every_key_is_of_a_kind_that_ssh_audit_takes_for_good(mesh: Fleet, ssh_audit: Path) -> None:
    types = key_types(mesh)
    assert types == {"ssh-ed25519"}
    for each in types:
        assert "[warn]" not in judged(ssh_audit, each) and "[fail]" not in judged(ssh_audit, each)
    assert "[fail]" in judged(ssh_audit, "ssh-dss"), "this check could not fail"
