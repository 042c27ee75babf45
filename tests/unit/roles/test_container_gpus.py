"""A container gets its GPUs in a way that a reload of systemd on the node does not undo, wherever the node has one."""

from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.failure import diagnose

from tests.older_core import trust_as_template
from tests.unit.decisions import decide
from tests.unit.roles.collection import ROOT

ROLE = ROOT / "roles/container"
ENGINE_29 = 'runtimes {"nvidia":{"path":"nvidia-container-runtime"},"runc":{}}\ncdi ["/etc/cdi","/var/run/cdi"]'
ENGINE_24 = 'runtimes {"nvidia":{"path":"nvidia-container-runtime"},"runc":{}}'
NODES = "node /dev/nvidia0\nnode /dev/nvidiactl\nnode /dev/nvidia-uvm"
HOOK = [{"driver": "", "count": -1, "capabilities": [["gpu"]]}]
NAMED = [f"{path}:{path}:rwm" for path in ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm")]


def load(name: str) -> Any:
    return yaml.safe_load((ROLE / name).read_text(encoding="utf-8"))


def trusted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: trusted(one) for key, one in value.items()}
    if isinstance(value, list):
        return [trusted(one) for one in value]
    return trust_as_template(value) if isinstance(value, str) else value


def given(probe: str, **options: Any) -> tuple[str, list[str], list[Any]]:
    """(way, devices, device requests) of the container on a node with that answer to the role's question."""
    values: dict[str, Any] = {
        **trusted(load("defaults/main.yml")),
        **trusted(load("vars/main.yml")),
        "container_infiniband": "none",
        "__container_node": decide("container_engine", probe=probe),
        **options,
    }
    templar = Templar(loader=DataLoader(), variables=values)
    wanted = values["__container_request"]
    devices, requests = (templar.template(wanted[key]) for key in ("devices", "device_requests"))
    return templar.template(trusted("{{ __container_gpu_way }}")).strip(), devices, requests


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        (
            f"gpu\ntoolkit\n{ENGINE_29}\ncdi-all\n{NODES}",
            ("cdi", [], [{"driver": "cdi", "count": 0, "device_ids": ["nvidia.com/gpu=all"]}]),
        ),
        # Device nodes that appear later, or are not there when the engine starts the container after a boot: not taken
        # unasked.
        (f"gpu\ntoolkit\n{ENGINE_29}\n{NODES}", ("hook", [], HOOK)),
        (f"gpu\ntoolkit\n{ENGINE_24}\ncdi-all\n{NODES}", ("hook", [], HOOK)),
        (f"gpu\ntoolkit\n{ENGINE_29.replace('[', 'null [')}\ncdi-all\n{NODES}", ("hook", [], HOOK)),
        (f"gpu\ntoolkit\n{ENGINE_24}", ("hook", [], HOOK)),
        (f"toolkit\n{ENGINE_29}\ncdi-all", ("none", [], [])),
    ],
    ids=["CDI", "engine without a CDI file", "engine before CDI", "CDI switched off", "only the hook", "no GPU"],
)
def test_gpus_are_given_so_that_a_reload_of_systemd_leaves_them(probe: str, expected: tuple[str, Any, Any]) -> None:
    assert given(probe) == expected


def test_somebody_may_say_which_way() -> None:
    assert given(f"gpu\ntoolkit\n{ENGINE_29}\ncdi-all\n{NODES}", container_gpu_access="hook") == ("hook", [], HOOK)
    assert given(f"gpu\ntoolkit\n{ENGINE_24}\n{NODES}", container_gpu_access="nodes") == ("nodes", NAMED, HOOK)


def test_the_node_is_asked_for_all_of_it(tmp_path: pathlib.Path) -> None:
    """The role's own question, on a node with stand-ins of an engine and a toolkit that know CDI."""
    for name, text in {
        "nvidia-smi": "exit 0",
        "nvidia-ctk": "echo nvidia.com/gpu=0; echo nvidia.com/gpu=all",
        "docker": 'case "$*" in *CDISpecDirs*) echo \'["/etc/cdi"]\';; *Runtimes*) echo \'{"runc":{}}\';; esac',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    script = (
        load("tasks/engine.yml")[0]["rocemesh.multinode.decide"]["script"]
        .replace("{% raw %}", "")
        .replace("{% endraw %}", "")
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SOCKET": "/x", "ENGINE": "docker"}
    environment |= dict.fromkeys(
        ("CONFIG", "PYTHON", "PACKAGE", "MESH", "NAME", "REGISTRY", "IMAGE", "PROCESSES", "INSIDE"), ""
    )
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert given(done.stdout)[0] == "cdi"


def test_gpus_that_a_reload_took_away_are_not_blamed_on_the_start_of_the_container() -> None:
    text = "[1,1]<stdout>:Failed to initialize NVML: Unknown Error\n"
    told = diagnose(1, text, "").as_result()
    assert "systemd was reloaded" in str(told) and "--gpus all" not in str(told)
