"""Lines of the guide's ssh files and of its docker run that nothing else would miss."""

from __future__ import annotations

import os
from typing import Any

import pytest
import yaml

from .harness import Node
from .test_node import MakeNode, effective
from .test_roles import ROOT


@pytest.fixture
def head(make_node: MakeNode) -> Node:
    nodes = [make_node("gpu01", 1), make_node("gpu02", 2)]
    peers = [node.run(state="identity")["identity"] for node in nodes]
    nodes[0].run(peers=peers)
    return nodes[0]


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

    tasks: list[dict[str, Any]] = yaml.safe_load((ROOT / "roles/container/tasks/run.yml").read_text())
    (started,) = [task for task in tasks if task["name"] == "Run | Start the container"]
    given = started["community.docker.docker_container"]
    assert given["ulimits"] == [
        "memlock:{{ container_memlock }}:{{ container_memlock }}",
        "stack:{{ __container_stack }}:{{ __container_stack }}",
    ]
    assert given["shm_size"] == "{{ container_shm_size }}"
    assert given["init"] is True
