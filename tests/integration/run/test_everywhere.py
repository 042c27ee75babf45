"""What a large site costs role run: one module start asks all containers, the inventory those that do not answer."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import site_run
from tests.plays import ROOT, ansible

HOSTS = {f"gpu{number:03}": f"192.0.2.{number}" for number in range(1, 65)}
# As the mesh leads into a container; $STUB_DOWN are the addresses whose container does not answer.
SSH = """#!/bin/sh
case " $STUB_DOWN " in *" $1 "*) exit 255;; esac
STUB_HOST=$(printf 'gpu%03d' "${1##*.}") exec sh -c "$2"
"""
SAYS = ["sh", "-c", "echo \"$STUB_HOST says 'it'\"; test $STUB_HOST != ${1##*/}", "sh"]


def play(
    folder: Path, down: str = "", fails: str = "-", *, must: bool = False
) -> tuple[dict[str, str], dict[str, Any], str]:
    """Host -> what it said; host -> module starts and task results; the output. The command fails at ``fails``."""
    docker = folder / "collections/ansible_collections/community/docker/plugins/modules"
    docker.mkdir(parents=True)
    for stub in (Path(__file__).parent / "stub_docker").glob("*.py"):
        shutil.copy(stub, docker)
    (folder / "bin").mkdir()
    (folder / "bin/ssh").write_text(SSH)
    (folder / "bin/ssh").chmod(0o755)
    hosts = {}
    for host in HOSTS:
        python = folder / f"python-{host}"
        words = f"export STUB_HOST={host} STUB_DIR={folder} STUB_DOWN='{down}'"
        python.write_text(f'#!/bin/sh\n{words}\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        hosts[host] = {"ansible_connection": "local", "ansible_python_interpreter": str(python)}
    given = {
        "ansible_become": False,
        "run_hosts": [{"name": name, "address": address, "slots": 8} for name, address in HOSTS.items()],
        "run_python": sys.executable,
        "__run_query": [*SAYS, f"/tmp/{fails}"],
        "__run_query_must": must,
    }
    names, said = ("__run_answers | map(attribute='item.name')", "__run_answers | map(attribute='stdout', default='')")
    tasks = [
        {
            "ansible.builtin.include_role": {
                "name": "rocemesh.multinode.run",
                "tasks_from": "everywhere",
                "public": True,
            }
        },
        {
            "ansible.builtin.copy": {
                "content": f"{{{{ dict({names} | zip({said})) }}}}",
                "dest": str(folder / "said.json"),
            }
        },
    ]
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
    (folder / "play.yml").write_text(
        yaml.safe_dump([{"hosts": "gpu001", "gather_facts": False, "vars": given, "tasks": tasks}])
    )
    done = ansible(
        folder, "-i", "hosts.yml", "play.yml",
        ANSIBLE_COLLECTIONS_PATH=f"{folder / 'collections'}:{ROOT / 'collections'}",
        ANSIBLE_CALLBACK_PLUGINS=str(ROOT / "tests/callback"),
        ROCEMESH_STARTS=str(folder / "starts"),
    )  # fmt: skip
    written = folder / "said.json"
    answers = json.loads(written.read_text()) if written.exists() else {}
    return answers, site_run.cost(folder / "starts"), done.stdout + done.stderr


def test_one_module_start_asks_all_containers(tmp_path: Path) -> None:
    answers, cost, output = play(tmp_path)
    assert answers == {host: f"{host} says 'it'\n" for host in HOSTS}, output
    # The other two starts write the answers down.
    assert set(cost) == {"gpu001"} and cost["gpu001"][0] <= 3, cost


@pytest.mark.parametrize("must", [False, True])
def test_container_that_the_mesh_does_not_reach_is_asked_by_the_inventory(tmp_path: Path, must: bool) -> None:
    answers, cost, output = play(tmp_path, down="192.0.2.7 192.0.2.64", must=must)
    assert answers == {host: f"{host} says 'it'\n" for host in HOSTS}, output
    assert {host for host in cost if host != "gpu001"} == {"gpu007", "gpu064"}


def test_host_whose_command_fails_is_named_with_its_words(tmp_path: Path) -> None:
    answers, _cost, output = play(tmp_path, fails="gpu009", must=True)
    assert not answers and "failed: [gpu001 -> gpu009" in output, output
