"""Fixtures: SSH host keys made once, nodes made as needed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.mesh.harness import Node


@pytest.fixture(scope="session")
def host_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("etc-ssh")
    for kind in ("ed25519", "ecdsa"):
        target = directory / f"ssh_host_{kind}_key"
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(target)], check=True)
    return directory


@pytest.fixture
def make_node(tmp_path: Path, host_keys: Path) -> Callable[..., Node]:
    def make(name: str = "gpu01", number: int = 1) -> Node:
        home = tmp_path / name
        home.mkdir(mode=0o755)
        return Node(name, number, home, host_keys)

    return make


@pytest.fixture
def node(make_node: Callable[..., Node]) -> Node:
    return make_node()


@pytest.fixture
def nodes(make_node: Callable[..., Node]) -> tuple[Node, Node]:
    return make_node("gpu01", 1), make_node("gpu02", 2)
