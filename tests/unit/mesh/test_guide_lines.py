"""Lines of the guide's ssh files and of its docker run that nothing else would miss."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.state import Account
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.transport import NodeTransport

from .harness import Node
from .test_node import MakeNode, effective
from .test_roles import ROOT


@pytest.fixture
def head(make_node: MakeNode) -> Node:
    nodes = [make_node("gpu01", 1), make_node("gpu02", 2)]
    peers = [node.run(state="identity")["identity"] for node in nodes]
    nodes[0].run(peers=peers)
    return nodes[0]


def test_the_user_of_the_guides_way_may_call_docker(node: Node) -> None:
    peers = [node.identity()]
    node.transport.in_docker = False
    made = [each["description"] for each in node.run(check=True, peers=peers)["operations"]]
    assert "add nvidia to the group docker" in made and not node.transport.in_docker
    done = node.run(peers=peers)
    assert "gpasswd --delete nvidia docker" in done["undo"] and node.run(peers=peers)["changed"] is False
    # The container's own server needs no access to Docker.
    node.transport.in_docker = False
    node.run(peers=[node.identity(transport="container")], transport="container")
    assert not node.transport.in_docker


def test_who_is_in_the_group_docker_is_read_from_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def group(name: str) -> SimpleNamespace:
        if name != "docker":
            raise KeyError(name)
        return SimpleNamespace(gr_gid=990, gr_mem=["nvidia"])

    def may(name: str, uid: int, gid: int) -> bool:
        return NodeTransport("gpu01", Account(name, uid, gid, str(tmp_path))).may_call_docker()

    monkeypatch.setattr("grp.getgrnam", group)
    assert may("nvidia", 1000, 1000) and may("other", 1001, 990) and may("root", 0, 0) and not may("ops", 1002, 1002)
    monkeypatch.setattr("grp.getgrnam", lambda _name: group(""))
    assert may("root", 0, 0) and not may("nvidia", 1000, 1000)
    program = tmp_path / "usermod"
    program.write_text('#!/bin/sh\necho "$@" > "$0.said"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    NodeTransport("gpu01", Account("root", 0, 0, "/")).usermod("/", name="nvidia")
    assert (tmp_path / "usermod.said").read_text() == "--append --groups docker nvidia\n"


def test_the_client_is_quiet_and_notices_a_dead_host(head: Node) -> None:
    """Warnings of ssh would stand in mpirun's output, and a host that died would never be noticed."""
    inside = effective(head.container / "config", "10.0.0.2")
    assert inside["loglevel"] == "ERROR"
    assert inside["serveraliveinterval"] == "30"


def test_the_config_that_the_container_uses_belongs_to_root(head: Node) -> None:
    """ssh in the container is root's and refuses a configuration of anybody else. The tests' root is who runs them."""
    assert (head.container / "config").stat().st_uid == os.getuid()
    assert (head.container / "config").stat().st_mode & 0o022 == 0


def test_the_limits_of_the_container_are_the_guides() -> None:
    defaults = yaml.safe_load((ROOT / "roles/container/defaults/main.yml").read_text())
    assert (defaults["container_memlock"], defaults["container_shm_size"]) == (-1, "1g")
    constants = yaml.safe_load((ROOT / "roles/container/vars/main.yml").read_text())
    assert constants["__container_stack"] == 67108864
    assert defaults["container_memlock_required"] is True

    tasks: list[dict[str, Any]] = yaml.safe_load((ROOT / "roles/container/tasks/start.yml").read_text())
    (started,) = [task for task in tasks if task["name"] == "Run | Start the container"]
    given = started["community.docker.docker_container"]
    wanted = constants["__container_request"]
    assert wanted["ulimits"] == [
        "memlock:{{ container_memlock }}:{{ container_memlock }}",
        "stack:{{ __container_stack }}:{{ __container_stack }}",
    ]
    assert given["shm_size"].startswith("{{ container_shm_size if container_engine == 'docker'")
    assert wanted["init"] is True
    assert all(given[name] == f"{{{{ __container_request.{name} }}}}" for name in ("ulimits", "init"))
