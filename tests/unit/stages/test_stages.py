"""What the callback stages shows: one line for each stage; after a failure the hosts that were lost."""

from __future__ import annotations

import json
import re

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.rocemesh.multinode.plugins.plugin_utils import stages

from tests.older_core import trust_as_template
from tests.unit.roles.collection import ROOT, load

MARK = "rocemesh.multinode.stage : Stage | Record the start of {}"


def played(progress: stages.Progress) -> list[str]:
    """Stages switch (5 s, two changes) and esxi (from second 7 on)."""
    lines = progress.task("Gathering Facts", 0.0) + progress.task(MARK.format("switch"), 2.0)
    lines += progress.task("rocemesh.multinode.switch : Configure the switch", 2.1)
    progress.changed()
    progress.changed()
    lines += progress.task(MARK.format("esxi"), 7.0)
    return lines + progress.task("rocemesh.multinode.esxi_host : Set the kernel setting", 7.1)


def test_each_stage_has_one_line_with_time_changes_and_what_is_left() -> None:
    progress = stages.Progress({"switch": 4.0, "esxi": 3.0, "run": 30.0})
    lines = played(progress)
    assert len(lines) == 1 and re.match(r" +5\.0 s  switch +.*; 2 changed; about 33 s left$", lines[0])
    lines = progress.end(10.0, [], "site.log")
    assert re.match(r" +3\.0 s  esxi", lines[0]) and re.match(r" +10\.0 s .*site\.log$", lines[1]) and len(lines) == 2
    assert stages.read_times(progress.times()) == {"switch": 5.0, "esxi": 3.0, "run": 30.0}


def test_a_task_that_takes_minutes_is_told_with_its_host_when_it_begins() -> None:
    progress = stages.Progress({})
    played(progress)
    (line,) = progress.begun("esx01", "rocemesh.multinode.gpu_vm : VM | Stop it")
    assert line.split() == ["esxi", "esx01:", "Stop", "it", "..."]


def test_a_stage_that_was_left_out_is_not_shown_as_done_and_keeps_its_time() -> None:
    progress = stages.Progress({"esxi": 3.0})
    progress.task(MARK.format("esxi"), 2.0)
    progress.task("rocemesh.multinode.stage : Stage | Find why hosts have left the run", 2.1)
    progress.task("rocemesh.multinode.stage : Validating arguments against arg spec 'main' - Mark the start", 2.2)
    # Ansible checks those of a play's roles whatever --tags says.
    progress.task("rocemesh.multinode.guest : Validating arguments against arg spec 'main' - NIC tools", 2.3)
    (line,) = progress.task(MARK.format("image"), 3.0)
    assert "not played" in line and "kernel" not in line
    progress.task("rocemesh.multinode.container : Build | Build the image", 4.0)
    (line,) = progress.task(MARK.format("mesh"), 9.0)
    assert "not played" not in line
    assert stages.read_times(progress.times()) == {"esxi": 3.0, "image": 6.0}


def test_a_failure_before_any_stage_has_its_own_time() -> None:
    progress = stages.Progress({})
    progress.task("Gathering Facts", 5000.0)
    progress.failed("gpu01", "Gathering Facts", {"msg": "no"})
    assert progress.end(5001.5, ["gpu01"], "site.log")[0].split()[:2] == ["1.5", "s"]


@pytest.mark.parametrize("text", ["[]", "{", '{"switch": "five"}'])
def test_times_of_something_else_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        stages.read_times(text)


def test_a_failure_names_stage_task_host_and_message_and_not_what_was_rescued() -> None:
    progress = stages.Progress({})
    played(progress)
    progress.failed("gpu01", "Log in", {"msg": "no login"})
    progress.failed(
        "gpu02", "Configure", {"msg": "gpu02: MTU is 1500.\nSet it.", "error_code": "refused", "stderr": "x"}
    )
    text = "\n".join(progress.end(9.0, ["gpu02"], "site.log"))
    assert "esxi" in text and "[Configure]" in text and "gpu02: MTU is 1500." in text and "Set it." in text
    assert "no login" not in text and "gpu02: gpu02" not in text and "site.log" in text


def test_items_of_a_loop_that_failed_are_shown_each() -> None:
    progress = stages.Progress({})
    items = [{"msg": "first"}, {"failed": True, "msg": "second", "stderr": "a\nb\nc\nd"}]
    progress.failed("gpu01", "Loop", {"msg": "One or more items failed", "results": items})
    text = "\n".join(progress.end(1.0, ["gpu01"], "log"))
    assert "gpu01: second" in text and "first" not in text and "\n    d" in text and "\n    a" not in text


@pytest.mark.parametrize("item", ["gpu02", {"name": "gpu02", "address": "198.51.100.2"}])
def test_items_of_a_loop_that_were_lost_are_shown_with_their_names(item: object) -> None:
    progress = stages.Progress({})
    lost = {"unreachable": True, "msg": "refused", "ansible_loop_var": "vm", "vm": item}
    progress.failed("esx01", "Restart", {"msg": "All items completed", "results": [{"changed": True}, lost]})
    assert "    esx01: gpu02: refused" in progress.end(1.0, ["esx01"], "log")


def test_a_task_that_runs_once_is_not_blamed_on_the_host_that_was_asked() -> None:
    progress = stages.Progress({})
    progress.failed("esx01", "Read all", {"run_once": True, "msg": "esx02: silent"})
    assert "    esx02: silent" in progress.end(1.0, ["esx01"], "log")


def test_a_failure_of_many_hosts_is_cut_and_says_so() -> None:
    progress = stages.Progress({})
    hosts = [f"gpu{number:02}" for number in range(64)]
    for host in hosts:
        progress.failed(host, "Configure", {"msg": "no answer"})
    lines = progress.end(1.0, hosts, "log")
    assert len(lines) < 25 and re.search(r"\b46 more", "\n".join(lines))


def test_a_long_failure_keeps_what_to_do_at_its_end() -> None:
    progress = stages.Progress({})
    waiting = [f"esx{number:02}: host reboot" for number in range(64)]
    progress.failed("esx00", "Stop here", {"msg": "\n".join(["head", *waiting, "remedy"])})
    lines = progress.end(1.0, ["esx00"], "log")
    assert "head" in lines[2] and "remedy" in lines[-2] and len(lines) < 25


def test_every_stage_of_the_site_is_explained() -> None:
    site = (ROOT / "playbooks" / "site.yml").read_text()
    names = [
        name
        for playbook in re.findall(r"import_playbook: (\S+)", site)
        for name in re.findall(r"stage_name: (\w+)", (ROOT / "playbooks" / playbook).read_text())
    ]
    assert names == list(stages.STAGES)


def test_messages_are_lines() -> None:
    assert stages.text_of(["a\nb ", "", None, 3]) == ["a", "b", "3"] and stages.text_of("x") == ["x"]
    assert json.loads(stages.Progress({}).times()) == {}


def test_hosts_that_have_left_are_few_names_and_all_of_the_silent_ones() -> None:
    """A play with any_errors_fatal drops its whole group when one host does not answer."""
    (task,) = [task for task in load(ROOT / "roles/stage/tasks/left.yml") if "ansible.builtin.set_fact" in task]
    answers: list[dict[str, object]] = [{"item": f"gpu{number:03d}"} for number in range(256)]
    answers[77].update(unreachable=True, msg="timed out")
    given = {name: trust_as_template(text) for name, text in task["vars"].items()}
    known = {**given, "__stage_answers": {"results": answers}, "stage_name": "mesh"}
    said = task["ansible.builtin.set_fact"]["stage_left"]
    text = Templar(DataLoader(), known).template(trust_as_template(said))
    assert "gpu007 and 248 more left" in text and "from: gpu077 (timed out)" in text
