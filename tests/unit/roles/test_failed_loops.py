"""Where a rescue tells what failed, a loop tells which of its hosts, and why, and a command has its own words."""

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


def told(folder: pathlib.Path, task: dict[str, Any], rescue: list[dict[str, Any]]) -> str:
    task = {"name": "Ask", "vars": {"host": "{{ vm | default(item.name | default('')) }}", **LOCAL}, **task}
    play = {"hosts": "esx01", "gather_facts": False, "tasks": [{"block": [task], "rescue": rescue}]}
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    done = ansible(folder, "-i", "esx01,", "play.yml", ANSIBLE_STDOUT_CALLBACK="ansible.posix.json")
    return str(json.loads(done.stdout)["plays"][0]["tasks"][-1]["hosts"]["esx01"]["msg"])


@pytest.mark.parametrize(
    ("rescue", "item", "task"),
    [(stop_of_window(), "vm", REFUSED), (note(), "item", REFUSED), (note(), "item", SILENT)],
    ids=["window", "run", "run-without-message"],
)
def test_rescue_of_a_loop_names_its_failed_hosts(
    tmp_path: pathlib.Path, rescue: list[dict[str, Any]], item: str, task: dict[str, Any]
) -> None:
    hosts = ["gpu01", "gpu02"] if item == "vm" else [{"name": "gpu01"}, {"name": "gpu02"}]
    said = told(tmp_path, {**task, "loop": hosts, "loop_control": {"loop_var": item}}, rescue)
    assert "gpu02: " in said and "no GPU" in said and "gpu01" not in said, said


def test_note_of_very_many_hosts_names_some_of_them(tmp_path: pathlib.Path) -> None:
    hosts = [{"name": f"gpu{number:03d}"} for number in range(100)]
    down = {"ansible.builtin.assert": {"that": ["host == 'gpu000'"], "fail_msg": "no engine"}}
    said = told(tmp_path, {**down, "loop": hosts}, note())
    assert "gpu001: no engine" in said and "gpu009" not in said and "91 more" in said, said


SHELL = "ansible.builtin.shell"
JOBS = {SHELL: "echo job 4711", "register": "asked", "until": "asked.stdout == ''", "retries": 1, "delay": 0}
TROUBLE = {SHELL: "echo slurmctld is away >&2; false"}


@pytest.mark.parametrize(
    ("task", "rescue", "word"),
    [
        (TROUBLE, stop_of_window(), "slurmctld"),
        ({**TROUBLE, "loop": ["drain"]}, stop_of_window(), "slurmctld"),
        (JOBS, stop_of_window(), "4711"),
        ({**TROUBLE, "register": "asked", "failed_when": "asked.rc != 0"}, note(), "slurmctld"),
    ],
    ids=["command", "commands", "jobs", "run"],
)
def test_rescue_of_a_command_has_its_words(
    tmp_path: pathlib.Path, task: dict[str, Any], rescue: list[dict[str, Any]], word: str
) -> None:
    assert word in told(tmp_path, task, rescue)


def test_rescue_of_a_window_says_what_is_off_and_was_rebooted(tmp_path: pathlib.Path) -> None:
    refused = {"ansible.builtin.fail": {"msg": "vc: login: no. Nothing was changed."}}
    started = {"results": [{"vm": "gpu01", "msg": "no"}, {"vm": "gpu02", "power_state": "poweredOn"}]}
    known = {"window_reboot": {"rebooted": True}, "window_started": started}
    said = told(
        tmp_path,
        {**refused, "vars": LOCAL},
        [{**stop_of_window()[0], "vars": {**known, **stop_of_window()[0]["vars"]}}],
    )
    assert "vc: login: no." in said and "rebooted" in said and "gpu01" in said and "power.yml" in said, said
    assert "Nothing" not in said and "gpu02" not in said, said


@pytest.mark.parametrize(
    ("words", "remedy"), [("write /var: no space left on device", "system df"), ("syntax", "args")]
)
def test_build_that_fails_says_what_to_do(tmp_path: pathlib.Path, words: str, remedy: str) -> None:
    (block,) = load(ROOT / "roles/container/tasks/build_image.yml")
    names = ("container_build_dockerfile", "container_registry", "__container_repository", "__container_tag")
    (report,) = block["rescue"]
    report["vars"] |= {**dict.fromkeys(names, "x"), "container_engine": "docker"}
    assert remedy in told(tmp_path, {"ansible.builtin.fail": {"msg": words}}, [report])
