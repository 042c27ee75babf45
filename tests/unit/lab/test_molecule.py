"""No molecule scenario passes with a role that does nothing: its tests have to refuse what converge starts from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lab import config
from tests.integration.molecule.scenario import WITHOUT
from tests.plays import ansible

MOLECULE = config.REPO / "molecule"
ROLES = sorted(path.name for path in (config.REPO / "roles").iterdir() if path.is_dir() and path.name not in WITHOUT)
# It only reads, so no state can be unwanted: its prepare plays the playbook with the role's tasks taken out.
READS_ONLY = {"consistency"}


@pytest.mark.parametrize("role", ROLES)
def test_the_tests_of_each_role_are_tried_before_the_role(role: str) -> None:
    plays = yaml.safe_load((MOLECULE / role / "prepare.yml").read_text())
    if role in READS_ONLY:
        assert "roles/consistency/tasks/*.yml" in str(plays) and "judged.rc != 1" in str(plays)
        return
    assert plays[-1].get("ansible.builtin.import_playbook") == "../unwanted.yml", "the last play of prepare"
    # Both look at the same machine.
    options = (
        (yaml.safe_load((MOLECULE / role / "molecule.yml").read_text()) or {}).get("verifier", {}).get("options", {})
    )
    judged = plays[-1].get("vars", {}).get("unwanted_hosts", "local://")
    assert judged in options.get("hosts", "local://").split(",")


@pytest.mark.parametrize(
    ("tests", "judged"),
    [
        ("def test_it():\n    assert False, 'the role has not been here'\n", 1),
        ("def test_it():\n    assert True\n", 0),
        ("", 5),
    ],
    ids=["refused", "passes-without-the-role", "no-test"],
)
def test_prepare_ends_only_if_a_test_refuses_the_state(tmp_path: Path, tests: str, judged: int) -> None:
    scenario = tmp_path / "molecule" / "one"
    (scenario / "tests").mkdir(parents=True)
    (scenario / "tests" / "test_one.py").write_text(tests)
    done = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("ansible-playbook")), "-v"),
            *("-e", f"ansible_python_interpreter={sys.executable}"),
            str(MOLECULE / "unwanted.yml"),
        ],
        env={
            **os.environ,
            "MOLECULE_PROJECT_DIRECTORY": str(tmp_path),
            "MOLECULE_SCENARIO_DIRECTORY": str(scenario),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert f'"rc": {judged},' in done.stdout, done.stdout + done.stderr
    assert (done.returncode == 0) is (judged == 1), done.stdout + done.stderr


# What `docker` says: of the container, and of a login from it.
STANDS = "case $* in *inspect*) echo true;; esac"
STOPPED = "case $* in *inspect*) echo false;; *) exit 1;; esac"
CLOSED = "case $* in *inspect*) echo true;; *192.0.2.3*) echo refused >&2; exit 255;; esac"
GONE = "exit 1"


@pytest.mark.parametrize(
    ("docker", "said"),
    [
        (STANDS, "The site stands."),
        (STOPPED, "no running container on [gpu01, gpu02, gpu03], no login from the head to []"),
        (CLOSED, "no running container on [], no login from the head to [gpu03]. refused"),
        (GONE, "no running container on [gpu01, gpu02, gpu03]"),
    ],
    ids=["stands", "stopped", "closed", "gone"],
)
def test_site_is_made_only_where_it_does_not_stand(tmp_path: Path, docker: str, said: str) -> None:
    """Which part does not stand is named; made are power, image and mesh, in this order."""
    for name, script in {"docker": docker, "playbook": f'echo "$@" > {tmp_path}/made'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    hosts = {f"gpu{number:02d}": {"rocemesh_address": f"192.0.2.{number}"} for number in (1, 2, 3)}
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "ansible_become": False}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"gpu_vms": {"hosts": hosts, "vars": local}}))
    done = ansible(
        tmp_path,
        *("-i", "hosts.yml", "-e", f"program={tmp_path}/playbook", str(MOLECULE / "standing.yml")),
        PATH=f"{tmp_path}:{os.environ['PATH']}",
        MOLECULE_PROJECT_DIRECTORY="/project",
        MOLECULE_SCENARIO_DIRECTORY=str(tmp_path),
        MOLECULE_EPHEMERAL_DIRECTORY=str(tmp_path),
    )
    assert done.returncode == 0 and said in " ".join(done.stdout.split()), done.stdout + done.stderr
    assert (tmp_path / "prepared").exists()
    made = (tmp_path / "made").read_text() if (tmp_path / "made").exists() else ""
    playbooks = " ".join(f"/project/playbooks/{name}.yml" for name in ("power", "image", "mesh"))
    assert made == ("" if docker == STANDS else f"-i /project/inventories/lab {playbooks}\n")
