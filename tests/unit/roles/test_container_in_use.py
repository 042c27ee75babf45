"""A container in which something runs is neither made again nor restarted unless told: that would end it."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from tests.older_core import trust_as_template
from tests.unit.roles.collection import ROOT

ROLE = ROOT / "roles/container"
TASKS: list[dict[str, Any]] = yaml.safe_load((ROLE / "tasks/start.yml").read_text())
LOOK: dict[str, Any] = yaml.safe_load((ROLE / "tasks/engine.yml").read_text())[0]
NAMES = [task["name"] for task in TASKS]
CONTAINER = "community.docker.docker_container"


def task(name: str) -> dict[str, Any]:
    (found,) = [one for one in TASKS if one["name"] == name]
    return found


def holds(expression: str, **variables: Any) -> bool:
    users = yaml.safe_load((ROLE / "vars/main.yml").read_text())["__container_users"]
    templar = Templar(loader=DataLoader(), variables={"__container_users": trust_as_template(users), **variables})
    return bool(templar.template(trust_as_template("{{ " + expression + " }}")))


def inside(*programs: str) -> list[str]:
    """What the role's question finds beside these programs, in a process namespace of its own."""
    script = LOOK["environment"]["PROCESSES"]
    # Until it is the program, a child is a copy of this shell.
    begin = "".join(f"{each} & until ! cmp -s /proc/$!/cmdline /proc/$$/cmdline; do :; done; " for each in programs)
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c",
         f"{begin} sh -c '{script}'; true"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # Process 1 is this test's own shell here; in a container it would be somebody's program.
    assert done.stdout.startswith("1 bash -c ")
    return [line.split(" ", 1)[1].strip() for line in done.stdout.splitlines() if not line.startswith("1 ")]


def test_its_own_sleep_is_nobody() -> None:
    assert inside("sleep infinity") == []


@pytest.mark.parametrize("entry", ["", "/opt/nvidia/nvidia_entrypoint.sh "])
def test_its_own_init_is_nobody_whatever_the_images_entry_point(entry: str) -> None:
    """NGC images have an entry point, which stands in the command line of the engine's init."""
    init = f"(exec -a '/sbin/docker-init -- {entry}sleep' sleep infinity)"
    assert inside(init, "sleep infinity") == []


def named(name: str, seconds: int) -> str:
    return f"(exec -a '{name}' sleep {seconds})"


def test_its_own_ssh_server_is_nobody_and_a_login_is_somebody() -> None:
    listener = "sshd: /usr/sbin/sshd -D -e -f /run/sshd/mesh_config [listener] 0 of 100-200 startups"
    older = "/usr/sbin/sshd -D -e -f /run/sshd/mesh_config"
    assert inside(named(listener, 70), named(older, 71), "sleep infinity") == []
    assert inside(named(listener, 72), named("sshd: root@notty", 73)) == ["sshd: root@notty 73"]


def test_whatever_else_runs_is_somebody() -> None:
    assert sorted(inside("sleep infinity", "sleep 77", "sleep 78")) == ["sleep 77", "sleep 78"]


def test_the_question_stands_before_the_change_and_is_the_same_container() -> None:
    places = [NAMES.index(f"Run | {name}") for name in (
        "Check that the container can be started",
        "Check whether the container must be recreated",
        "Refuse to end what runs in the container", "Start the container",
    )]  # fmt: skip
    assert places == sorted(places)
    asked = task("Run | Check whether the container must be recreated")
    assert asked["check_mode"] is True
    assert asked[CONTAINER] == task("Run | Start the container")[CONTAINER]


@pytest.mark.parametrize(
    ("users", "would", "refused"),
    [
        ("", {}, False),
        ("7 python3 train.py", {"changed": False}, False),
        ("7 python3 train.py", {"changed": True}, True),
    ],
)
def test_only_a_change_under_a_user_is_refused(users: str, would: dict[str, Any], refused: bool) -> None:
    variables = {"__container_inside": {"stdout": users}, "__container_would": would or {"skipped": True}}
    (condition,) = task("Run | Refuse to end what runs in the container")["ansible.builtin.assert"]["that"]
    assert holds(condition, **variables) is not refused
    asked = task("Run | Check whether the container must be recreated")["when"][-1]
    assert holds(asked, **variables) is bool(users)


def test_a_restart_is_refused_as_well() -> None:
    block: list[dict[str, Any]] = yaml.safe_load((ROLE / "tasks/remount.yml").read_text())
    names = [one["name"] for one in block]
    refuse, restart = (names.index(f"Run | {name}") for name in (
        "Refuse to restart it under what runs in it", "Restart a container that holds a directory that is gone",
    ))  # fmt: skip
    assert refuse < restart
    (condition,) = block[refuse]["ansible.builtin.assert"]["that"]
    assert not holds(condition, __container_inside={"stdout": "7 mpirun"})
    assert holds(condition, __container_inside={"stdout": ""})


def test_absent_takes_the_ca_away_and_leaves_the_sites_client_key() -> None:
    """Docker and Podman read client.cert and client.key of a registry in the directory of its CA."""
    block: list[dict[str, Any]] = yaml.safe_load((ROLE / "tasks/install_ca.yml").read_text())[0]["block"]
    made = [one["ansible.builtin.copy"]["dest"] for one in block if "ansible.builtin.copy" in one]
    absent: list[dict[str, Any]] = yaml.safe_load((ROLE / "tasks/absent.yml").read_text())
    assert [one["ansible.builtin.file"]["path"] for one in absent if "ansible.builtin.file" in one] == made


def test_absent_removes_by_its_digest_an_image_without_a_tag() -> None:
    """``docker image rm`` refuses ``repository:<none>``; without --digests such a row has no digest."""
    absent: list[dict[str, Any]] = yaml.safe_load((ROLE / "tasks/absent.yml").read_text())
    asked, removed = (one["ansible.builtin.command"]["argv"] for one in absent if "the images of" in one["name"])
    (row,) = [word.partition("=")[2] for word in asked if word.startswith("--format=")]
    assert "--digests" in asked and 'eq .Tag "<none>"}}@{{.Digest}}' in row
    given = {"__container_absent_images": {"stdout_lines": ["r/i:1", "r/i@sha256:ab", "r/i:1"]}}
    variables = {**given, "__container_docker_socket": "/run/d.sock"}
    found = Templar(loader=DataLoader(), variables=variables).template(trust_as_template(removed))
    assert found == ["docker", "--host=unix:///run/d.sock", "image", "rm", "r/i:1", "r/i@sha256:ab"]
