"""The stdout callback stages, as ansible-playbook uses it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = pathlib.Path(sys.executable).parent
LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}


def play(folder: pathlib.Path, tasks: list[dict[str, Any]], *, runner: bool = False) -> tuple[int, str, str]:
    """Exit status, what is on the screen, what is in the log. ``runner``: by ansible-runner, as AWX does it."""
    stage = {"ansible.builtin.include_role": {"name": "rocemesh.multinode.stage"}, "vars": {"stage_name": "switch"}}
    plays = [{"hosts": "all", "gather_facts": False, "vars": LOCAL, "tasks": [stage, *tasks]}]
    (folder / "site.json").write_text(json.dumps(plays))
    words = ["ansible-playbook", "-i", "one,two,", "site.json"]
    if runner:
        (folder / "inventory").mkdir()
        (folder / "inventory" / "hosts").write_text("one\ntwo\n")
        words = ["ansible-runner", "run", str(folder), "--playbook", str(folder / "site.json")]
    return run(folder, words)


def run(folder: pathlib.Path, words: list[str], **more: str) -> tuple[int, str, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    environment |= {
        "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / "collections"),
        "ANSIBLE_STDOUT_CALLBACK": "rocemesh.multinode.stages",
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
        "ROCEMESH_LOG": str(folder / "site.log"),
        "ROCEMESH_STAGE_TIMES": str(folder / "stages.json"),
        **more,
    }
    done = subprocess.run(
        [str(PROGRAMS / words[0]), *words[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    log = folder / "site.log"
    return done.returncode, done.stdout + done.stderr, log.read_text() if log.is_file() else ""


@pytest.mark.parametrize("runner", [False, True], ids=["ansible-playbook", "ansible-runner"])
def test_a_run_that_goes_through(runner: bool, tmp_path: pathlib.Path) -> None:
    tasks: list[dict[str, Any]] = [{"name": "Change it", "ansible.builtin.command": "echo done"}]
    status, screen, log = play(tmp_path, tasks, runner=runner)
    assert status == 0 and "2 changed" in screen and "TASK" not in screen and len(screen.splitlines()) <= 4, screen
    assert "TASK [Change it]" in log and "changed: [two]" in log and "PLAY RECAP" in log
    assert set(json.loads((tmp_path / "stages.json").read_text())) == {"switch"}


@pytest.mark.parametrize("runner", [False, True], ids=["ansible-playbook", "ansible-runner"])
def test_a_run_that_fails_on_one_host(runner: bool, tmp_path: pathlib.Path) -> None:
    tasks: list[dict[str, Any]] = [
        {"name": "Ignored", "ansible.builtin.command": "false", "ignore_errors": True},
        {
            "block": [{"name": "Rescued", "ansible.builtin.command": "false"}],
            "rescue": [{"ansible.builtin.meta": "noop"}],
        },
        {
            "name": "Judge it",
            "ansible.builtin.assert": {
                "that": ["inventory_hostname == 'one'"],
                "fail_msg": "two: wrong. Mend it.",
                "quiet": True,
            },
        },
        {"name": "Go on", "ansible.builtin.command": "echo done"},
    ]
    status, screen, log = play(tmp_path, tasks, runner=runner)
    assert (
        status == 2 and "FAILED" in screen and "TASK [Judge it]" in screen and "    two: wrong. Mend it." in screen
    ), screen
    assert "Ignored" not in screen and "Rescued" not in screen and "{" not in screen and len(screen.splitlines()) < 25
    assert "TASK [Ignored]" in log and "...ignoring" in log
    assert not (tmp_path / "stages.json").exists()


def test_a_restart_that_is_skipped_is_not_left_as_begun(tmp_path: pathlib.Path) -> None:
    never = {"name": "Restart it", "ansible.builtin.reboot": {}, "when": "inventory_hostname == 'three'"}
    nothing = {"name": "Wait for it", "ansible.builtin.wait_for_connection": {}, "loop": []}
    _status, screen, _log = play(tmp_path, [never, nothing])
    assert screen.count(": not needed") == 4, screen


def test_a_log_that_cannot_be_written_does_not_stop_the_run(tmp_path: pathlib.Path) -> None:
    (tmp_path / "site.log").mkdir()
    status, screen, _log = play(tmp_path, [{"name": "Change it", "ansible.builtin.command": "echo done"}])
    assert status == 0 and "ROCEMESH_LOG" in screen and "2 changed" in screen


def test_a_full_disk_takes_no_message_away(tmp_path: pathlib.Path) -> None:
    tasks = [{"name": "Judge it", "ansible.builtin.fail": {"msg": "wrong"}}]
    (tmp_path / "site.json").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    words = ["ansible-playbook", "-i", "one,", "site.json"]
    status, screen, _log = run(tmp_path, words, ROCEMESH_LOG="/dev/full")
    assert status == 2 and "one: wrong" in screen and "callback" not in screen, screen
    assert screen.count("ROCEMESH_LOG") == 1, screen


def test_a_host_that_stops_answering_ends_the_run(tmp_path: pathlib.Path) -> None:
    """ansible-core drops the group of a silent host and plays on with the other groups."""
    mark = {"ansible.builtin.include_role": {"name": "rocemesh.multinode.stage"}, "run_once": True}
    plays: list[dict[str, Any]] = [
        {
            "hosts": "nodes",
            "any_errors_fatal": True,
            "tasks": [{"ansible.builtin.ping": None}, {"ansible.builtin.set_fact": {"went": "on"}}],
        },
        *(
            {"hosts": "localhost,all", "any_errors_fatal": True, "tasks": [mark | {"vars": {"stage_name": stage}}]}
            for stage in ("mesh", "run")
        ),
        {"hosts": "switches", "tasks": [{"ansible.builtin.debug": {"msg": "played without the nodes"}}]},
    ]
    (tmp_path / "site.json").write_text(json.dumps([entry | {"gather_facts": False} for entry in plays]))
    silent = LOCAL | {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    nodes = {"gpu01": LOCAL, "gpu02": silent}
    inventory = {"nodes": {"hosts": nodes}, "switches": {"hosts": {"leaf1": LOCAL}}}
    (tmp_path / "inventory.json").write_text(json.dumps(inventory))
    status, screen, log = run(tmp_path, ["ansible-playbook", "-i", "inventory.json", "site.json"])
    assert status != 0 and "before stage mesh" in screen and "before stage run" not in log, screen
    assert "from: gpu02 (" in screen, screen
    assert "played without the nodes" not in log
