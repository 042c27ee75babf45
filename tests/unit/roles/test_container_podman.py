"""Podman beside Docker: one path, and where Podman's answers differ from Docker's the role knows it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from tests.older_core import trust_as_template
from tests.unit.decisions import decide
from tests.unit.roles.collection import ROOT

ROLE = ROOT / "roles/container"
CONSTANTS: dict[str, Any] = yaml.safe_load((ROLE / "vars/main.yml").read_text(encoding="utf-8"))
TASKS: list[dict[str, Any]] = yaml.safe_load((ROLE / "tasks/start.yml").read_text(encoding="utf-8"))
(STARTED,) = [
    task["community.docker.docker_container"] for task in TASKS if task["name"] == "Run | Start the container"
]
# What is no property of the container, or is compared by Podman as well.
OUTSIDE = {"docker_host", "name", "image", "pull", "state", "labels", "command_handling", "networks_cli_compatible"}
SOCKET = "socket /run/podman/podman.sock\nlistens\nengine 0 %s\n"


def trusted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: trusted(one) for key, one in value.items()}
    if isinstance(value, list):
        return [trusted(one) for one in value]
    return trust_as_template(value) if isinstance(value, str) else value


def labels(engine: str = "podman", **changes: Any) -> dict[str, str]:
    values: dict[str, Any] = {
        **trusted(yaml.safe_load((ROLE / "defaults/main.yml").read_text(encoding="utf-8"))),
        **trusted(CONSTANTS),
        "__container_node": decide("container_engine", probe=""),
        "container_engine": engine,
        **changes,
    }
    found: dict[str, str] = Templar(loader=DataLoader(), variables=values).template(trusted(STARTED["labels"]))
    return found


def test_everything_that_is_asked_for_stands_in_the_label_that_is_compared() -> None:
    assert CONSTANTS["__container_engines"]["podman"]["comparisons"] == {
        "*": "ignore",
        "image": "strict",
        "labels": "allow_more_present",
    }
    given = {name for name in STARTED if name not in OUTSIDE | {"comparisons", "shm_size"}}
    assert given == set(CONSTANTS["__container_request"])
    # An image's own account stays where none is asked for.
    or_omit = {"user", "tmpfs"}
    assert all(STARTED[name] == f"{{{{ __container_request.{name} }}}}" for name in given - or_omit)
    assert all(STARTED[name] == f"{{{{ __container_request.{name} or omit }}}}" for name in or_omit)
    # Podman takes no size of the node's own /dev/shm.
    assert STARTED["ipc_mode"] and CONSTANTS["__container_request"]["ipc_mode"] == "host"
    assert "omit" in STARTED["shm_size"]


@pytest.mark.parametrize(
    "change",
    [
        {"container_env": {"A": "b"}},
        {"container_volumes": ["/data:/data"]},
        {"container_capabilities": ["IPC_LOCK"]},
        {"container_memlock": 65536},
        {"__container_topology_env": {"NCCL_TOPO_FILE": "/x"}},
        {"container_gpus": "all"},
        {"container_infiniband": "required"},
        {"__container_node": decide("container_engine", probe="mesh_start")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_request_is_another_label(change: dict[str, Any]) -> None:
    assert labels() == labels()
    assert labels(**change)["io.rocemesh.request"] != labels()["io.rocemesh.request"]


def test_docker_is_compared_by_what_it_says_as_well_as_by_the_label() -> None:
    assert labels("docker", container_shm_size="2g") != labels("docker") == labels("docker")
    assert labels("podman", container_shm_size="2g") == labels("podman"), "it takes no size of the node's own /dev/shm"
    assert CONSTANTS["__container_engines"]["docker"]["comparisons"] == {
        "env": "strict",
        "volumes": "strict",
        "capabilities": "strict",
        "cap_drop": "strict",
    }


@pytest.mark.parametrize(
    ("version", "old", "cdi"),
    [
        ("3.4.4", True, False),
        ("4.3.1", False, False),
        ("5.3.9", False, False),
        ("5.4.0", False, True),
        ("10.0", False, True),
    ],
)
def test_what_a_version_of_podman_can(version: str, old: bool, cdi: bool) -> None:
    found = decide("container_engine", probe=SOCKET % version + "cdi-all\n")
    assert (found["podman"], found["listens"], found["old"], found["cdi"]) == (True, True, old, cdi)
    assert decide("container_engine", probe=SOCKET % version)["cdi"] is False


def test_an_answer_that_is_none_is_no_version() -> None:
    found = decide("container_engine", probe=(SOCKET % "1.0 x").replace("engine 0", "engine 125"))
    assert (found["podman"], found["old"], found["engine"]["rc"]) == (True, False, 125)
    docker = decide("container_engine", probe="socket /run/docker.sock\nlistens\nengine 0 20.10.24")
    assert (docker["podman"], docker["listens"], docker["old"]) == (False, True, False)
    nothing = decide("container_engine", probe="socket /run/docker.sock\nengine 127 not found")
    assert (nothing["listens"], nothing["engine"]["rc"]) == (False, 127)


@pytest.mark.parametrize(("way", "gpus"), [("cdi", True), ("none", False)])
def test_whether_it_was_given_gpus_says_the_label(way: str, gpus: bool) -> None:
    container = {"HostConfig": {"Devices": []}, "Config": {"Labels": {"io.rocemesh.gpus": way}}}
    found = decide("container_engine", probe="seen " + json.dumps(container))
    assert found["seen"]["limits"]["gpus"] is gpus


def test_gpus_come_by_cdi_alone() -> None:
    assert labels(container_gpus="all")["io.rocemesh.gpus"] == "cdi"
    assert labels(container_gpus="none")["io.rocemesh.gpus"] == "none"
