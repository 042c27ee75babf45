"""What is somebody else's in the directories of the mesh is not overwritten, and ssh offers no key but ours."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ApplyError, RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.state import FILE_HEADER, Account
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.transport import NodeTransport

from .harness import Node
from .test_node import MakeNode


@pytest.fixture
def one(make_node: MakeNode) -> tuple[Node, list[dict[str, Any]]]:
    nodes = [make_node("gpu01", 1), make_node("gpu02", 2)]
    return nodes[0], [node.run(state="identity")["identity"] for node in nodes]


def test_a_file_that_only_quotes_our_header_is_not_ours(one: tuple[Node, list[dict[str, Any]]]) -> None:
    node, peers = one
    script = node.ssh / "mpicont.sh"
    text = f"#!/bin/bash\n# mine, made after a file that began with:\n{FILE_HEADER}\n"
    script.write_text(text)
    with pytest.raises(RefusedError, match="not written by this module"):
        node.run(peers=peers)
    assert script.read_text() == text


def test_a_public_key_without_its_private_half_is_not_replaced(make_node: MakeNode) -> None:
    node = make_node()
    node.ssh.mkdir(mode=0o700)
    key, lone = node.ssh / "id_ed25519_host", node.ssh / "id_ed25519_host.pub"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "me@elsewhere", "-f", key], check=True)
    key.unlink()
    with pytest.raises(RefusedError, match="without its private key"):
        node.identity()
    assert lone.read_text().endswith("me@elsewhere\n") and not key.exists()


def test_ssh_offers_the_key_of_the_mesh_and_none_of_an_agent(one: tuple[Node, list[dict[str, Any]]]) -> None:
    node, peers = one
    node.run(peers=peers)
    for config in (node.ssh / "config_mesh", node.container / "config"):
        assert "IdentitiesOnly yes" in config.read_text(), config


def test_a_key_is_never_made_over_a_file(tmp_path: Path) -> None:
    """Also not over one that appeared after the look at the directory."""
    (tmp_path / "key.pub").write_text("somebody's")
    account = Account("root", os.getuid(), os.getgid(), str(tmp_path))
    with pytest.raises(ApplyError, match="File exists"):
        NodeTransport("gpu01", account).ssh_keygen(
            "key", key_type="ed25519", comment="here", uid=account.uid, gid=account.gid
        )
    assert (tmp_path / "key.pub").read_text() == "somebody's"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key", "key.pub"]
