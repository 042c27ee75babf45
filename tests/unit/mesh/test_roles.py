"""Roles container and mesh: what they promise, and what the nodes would be given."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
ROLES = ("container", "mesh")


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


@pytest.mark.parametrize("role", ROLES)
def test_documented_options_and_defaults_are_the_same(role: str) -> None:
    defaults = load(ROOT / f"roles/{role}/defaults/main.yml")
    for entry in load(ROOT / f"roles/{role}/meta/argument_specs.yml")["argument_specs"].values():
        said = {name: option["default"] for name, option in entry["options"].items()}
        # Where the site's own variable is the default, its fallback is documented (tests/unit/roles).
        own = {name: value for name, value in defaults.items() if "rocemesh_allow" not in str(value)}
        assert {name: value for name, value in said.items() if name in own} == own
        assert set(said) == set(defaults)


@pytest.mark.parametrize("role", ROLES)
def test_every_entry_point_has_a_specification(role: str) -> None:
    for entry in load(ROOT / f"roles/{role}/meta/argument_specs.yml")["argument_specs"]:
        assert (ROOT / f"roles/{role}/tasks/{entry}.yml").exists()


def test_the_password_is_secret_in_the_specification() -> None:
    options = load(ROOT / "roles/container/meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    assert options["container_registry_password"]["no_log"] is True


def test_the_container_has_every_flag_of_the_guide() -> None:
    """docker run --gpus=all --net=host --uts=host --ipc=host --ulimit ... --shm-size=1g --device --volume, command."""
    defaults = load(ROOT / "roles/container/defaults/main.yml")
    # That the task starts just this: tests/unit/roles/test_container_podman.py.
    task = load(ROOT / "roles/container/vars/main.yml")["__container_request"]
    assert (task["network_mode"], task["uts"], task["ipc_mode"]) == ("host", "host", "host")
    assert "else ['sleep', 'infinity']" in task["command"]
    assert defaults["container_memlock"] == -1
    assert defaults["container_shm_size"] == "1g" and defaults["container_name"] == "mpicont"
    assert "__container_ssh ~ ':ro'" in task["volumes"] and "/dev/infiniband" in task["devices"]
    # Without the empty driver the engine's answer differs from the request and the container is made anew at each run.
    constants = load(ROOT / "roles/container/vars/main.yml")
    assert constants["__container_stack"] == 67108864
    assert constants["__container_ssh"] == "{{ __container_account.home }}/.ssh" and defaults["container_user"] == {}
    requests = constants["__container_gpu_requests"]
    assert requests["hook"] == requests["nodes"] == [{"driver": "", "count": -1, "capabilities": [["gpu"]]}]
    assert requests["cdi"] == [{"driver": "cdi", "count": 0, "device_ids": ["nvidia.com/gpu=all"]}]


DOCKERFILES = sorted((ROOT / "workloads/multinode").glob("Dockerfile*"))


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_dockerfiles_build_with_the_engines_own_builder(path: Path) -> None:
    text = path.read_text()
    assert text.count("FROM ${BASE_IMAGE}") == 1
    for buildkit_only in ("RUN --mount", "--chmod=", "<<", "# syntax="):
        assert buildkit_only not in text


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_shell_of_dockerfiles_is_well_formed(path: Path) -> None:
    joined = path.read_text().replace("\\\n", " ")
    commands = [line[4:] for line in joined.splitlines() if line.startswith("RUN ")]
    assert commands
    for command in commands:
        assert subprocess.run(["bash", "-n", "-c", command], check=False).returncode == 0, command


def test_the_guides_dockerfile_installs_nothing_unchecked() -> None:
    text = (ROOT / "workloads/multinode/Dockerfile.guide").read_text()
    assert "DEBIAN_FRONTEND=noninteractive\n" in text and "http://" not in text
    assert text.count("RUN git clone") == text.count("checkout --detach") == 3
    assert text.index("sha256sum --check") < text.index('mlnxofedinstall" --user-space-only')
    assert "--without-fw-update" in text
