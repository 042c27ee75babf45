"""Where a rescue tells what failed, a loop tells which of its hosts, and why."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import pytest
import yaml

from tests.plays import ansible
from tests.unit.roles.collection import ROOT, load

LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
REFUSED: dict[str, Any] = {"ansible.builtin.assert": {"that": ["host != 'gpu02'"], "fail_msg": "gpu02: no GPU"}}
SILENT: dict[str, Any] = {
    "ansible.builtin.command": {"argv": ["sh", "-c", "echo no GPU >&2; test $0 != gpu02", "{{ host }}"]},
    "register": "asked",
    "failed_when": "asked.rc != 0",
}


def stop_of_window() -> list[dict[str, Any]]:
    (play,) = [each for each in load(ROOT / "playbooks/reboot.yml") if each["name"] == "One host at a time"]
    (window,) = [task for task in play["tasks"] if task["name"].startswith("Run the maintenance window")]
    return [window["rescue"][-1]]


def note() -> list[dict[str, Any]]:
    shown = {"ansible.builtin.debug": {"msg": "{{ run_failure }}"}}
    return [{"ansible.builtin.include_tasks": str(ROOT / "playbooks/tasks/note_failure.yml")}, shown]


@pytest.mark.parametrize(
    ("rescue", "item", "task"),
    [(stop_of_window(), "vm", REFUSED), (note(), "item", REFUSED), (note(), "item", SILENT)],
    ids=["window", "run", "run-without-message"],
)
def test_rescue_of_a_loop_names_its_failed_hosts(
    tmp_path: pathlib.Path, rescue: list[dict[str, Any]], item: str, task: dict[str, Any]
) -> None:
    hosts = ["gpu01", "gpu02"] if item == "vm" else [{"name": "gpu01"}, {"name": "gpu02"}]
    loop = {"name": "Ask", **task, "loop": hosts, "loop_control": {"loop_var": item}}
    loop["vars"] = {"host": "{{ vm | default(item.name | default('')) }}", **LOCAL}
    play = {"hosts": "esx01", "gather_facts": False, "tasks": [{"block": [loop], "rescue": rescue}]}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    done = ansible(tmp_path, "-i", "esx01,", "play.yml", ANSIBLE_STDOUT_CALLBACK="ansible.posix.json")
    said = json.loads(done.stdout)["plays"][0]["tasks"][-1]["hosts"]["esx01"]["msg"]
    assert "gpu02: " in said and "no GPU" in said and "gpu01" not in said, said
