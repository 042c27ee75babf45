"""A switch system from outside: a driver role of another collection, whose switch is a file, through every entry point.

One play with a pseudo-host per case; nothing of this collection knows the driver.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.simulated_switch import REPOSITORY, environment

CONVERGE = """
- name: Read the switch
  ansible.builtin.slurp: {src: "{{ switch_host }}"}
  register: found
- name: Write what differs
  ansible.builtin.copy:
    dest: "{{ switch_host }}"
    content: "{{ state | combine(wanted) | to_json }}"
    mode: "0600"
  register: written
  changed_when: written is changed and not __switch_dry
  when: differing | length > 0
  vars: &state
    state: "{{ found.content | b64decode | from_json }}"
    wanted: {mode: "{{ switch_roce_mode }}", mtu: "{{ switch_mtu }}", priority: "{{ switch_roce_priority }}"}
    differing: "{{ [] if state.mode == switch_roce_mode and state.mtu == switch_mtu | int else ['RoCE and MTU'] }}"
- name: Publish
  vars:
    <<: *state
    operation: {description: RoCE and MTU, command: write, disrupts: every link}
  ansible.builtin.set_fact:
    switch_converged:
      changed: "{{ written is changed }}"
      operations: "{{ [operation] if differing | length > 0 else [] }}"
      saved: true
      version: "1.0"
      roce: {mode: "{{ state.mode }}"}
      vlan:
      ports: {eth0: {mtu: "{{ state.mtu }}"}}
"""
READ = """
- name: Read the switch
  ansible.builtin.slurp: {src: "{{ switch_host }}"}
  register: found
- name: Publish
  vars:
    state: "{{ found.content | b64decode | from_json }}"
  ansible.builtin.set_fact:
    switch_read:
      roce: {mode: "{{ state.mode }}", pfc: enabled, pfc_priorities: [3], trust: L3, ecn: ECN}
      ports: {eth0: {mtu: "{{ state.mtu }}", admin: up, oper: up, pfc_oper: enabled, counters: {rx_discards: 0}}}
      healthy: "{{ state.mode == switch_roce_mode }}"
      problems: "{{ [] if state.mode == switch_roce_mode else ['RoCE mode is ' ~ state.mode] }}"
"""
CASES: dict[str, dict[str, Any]] = {
    "converged": {},
    "unreadable": {"switch_host": "/nonexistent/switch"},
    "misspelt": {"switch_driver": "outside.fabric"},
    "foreign_mode": {"switch_driver": "onyx", "switch_roce_mode": "dci-1"},
}


def include(entry: str, **more: Any) -> dict[str, Any]:
    return {"ansible.builtin.include_role": {"name": "rocemesh.multinode.switch", "tasks_from": entry}, **more}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the collection of the driver."""
    folder = tmp_path_factory.mktemp("driver")
    role = folder / "ansible_collections" / "outside" / "fabric" / "roles" / "file_switch" / "tasks"
    role.mkdir(parents=True)
    (role / "converge.yml").write_text(CONVERGE)
    (role / "read.yml").write_text(READ)
    return folder


def play_it(place: Path, name: str, play: dict[str, Any], hosts: dict[str, dict[str, Any]]) -> Any:
    common = {
        "switch_driver": "outside.fabric.file_switch",
        "switch_password": "none",
        "switch_vlan": 111,
        "switch_ports": ["eth0"],
        "switch_mtu": 9216,
        "switch_known_hosts": "",
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
    }
    listed = {host: {**common, **changes} for host, changes in hosts.items()}
    (place / f"{name}.hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": listed}}))
    (place / f"{name}.yml").write_text(yaml.safe_dump([play]))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(place / f"{name}.hosts.yml")]
    return subprocess.run(
        [*command, str(place / f"{name}.yml")],
        cwd=REPOSITORY,
        env={
            **environment(ANSIBLE_STDOUT_CALLBACK="default"),
            "ANSIBLE_COLLECTIONS_PATH": f"{REPOSITORY / 'collections'}{os.pathsep}{place}",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def facts(place: Path) -> dict[str, Any]:
    """Host -> what it published or why it failed."""
    switch = place / "switch.json"
    switch.write_text(json.dumps({"mode": "absent", "mtu": 1500}))
    before = place / "before.json"
    keep = {"ansible.builtin.copy": {"src": str(switch), "dest": str(before), "mode": "0600"}, "when": "first"}
    steps = [
        include("counters", vars={"switch_moment": "start"}),
        {
            "block": [
                include("observe"),
                {"ansible.builtin.set_fact": {"seen": "{{ switch_observed }}"}},
                include("plan"),
                {"ansible.builtin.set_fact": {"planned": "{{ switch_plan }}"}},
                keep,
                include("main"),
                {"ansible.builtin.set_fact": {"first_outcome": "{{ switch_outcome }}"}},
                include("main"),
            ],
            "rescue": [{"ansible.builtin.set_fact": {"why": "{{ ansible_failed_result.msg | default('') }}"}}],
        },
        {
            "ansible.builtin.copy": {
                "dest": f"{place}/{{{{ inventory_hostname }}}}.facts",
                "content": "{{ dict(names | zip(names | map('extract', vars))) | to_json }}",
                "mode": "0600",
            },
            "vars": {
                "names": "{{ ['seen', 'planned', 'first_outcome', 'switch_outcome', 'switch_readings', 'why']"
                " | select('in', vars) | list }}"
            },
        },
    ]
    hosts = {
        name: {"switch_host": str(switch), "first": name == "converged", **changes} for name, changes in CASES.items()
    }
    done = play_it(place, "entries", {"hosts": "all", "gather_facts": False, "tasks": steps}, hosts)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {name: json.loads((place / f"{name}.facts").read_text()) for name in CASES}
    found["switch"] = json.loads(switch.read_text())
    found["before"] = json.loads(before.read_text())
    return found


def test_a_driver_from_outside_converges_and_the_second_run_changes_nothing(facts: dict[str, Any]) -> None:
    host = facts["converged"]
    assert facts["switch"] == {"mode": "lossless", "mtu": 9216, "priority": 3}
    assert host["first_outcome"]["changed"] and host["first_outcome"]["verified"]
    assert host["first_outcome"]["changes"] == ["RoCE and MTU"]
    assert host["first_outcome"]["found"]["ports"] == {"eth0": {"mtu": 9216}}
    assert not host["switch_outcome"]["changed"] and host["switch_outcome"]["verified"]


def test_plan_and_observe_of_a_driver_from_outside_only_look(facts: dict[str, Any]) -> None:
    host = facts["converged"]
    assert facts["before"] == {"mode": "absent", "mtu": 1500}
    assert [each["disrupts"] for each in host["planned"]] == ["every link"]
    assert not host["seen"]["healthy"] and host["seen"]["problems"] == ["RoCE mode is absent"]
    assert host["seen"]["roce"]["pfc_priorities"] == [3] and host["seen"]["vlan"] == {"id": 111}


def test_counters_of_a_driver_from_outside_are_published_or_the_reason(facts: dict[str, Any]) -> None:
    read = facts["converged"]["switch_readings"]["start"]
    assert read["error"] == "" and read["ports"]["eth0"]["counters"] == {"rx_discards": 0}
    not_read = facts["unreadable"]["switch_readings"]["start"]
    assert not_read["ports"] == {} and "/nonexistent/switch" in not_read["error"]


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("misspelt", "is neither a driver of the role switch"),
        ("foreign_mode", "a switch with onyx knows lossless, semi-lossless, lossy, absent"),
    ],
)
def test_a_wrong_driver_or_a_mode_of_another_system_is_refused_in_words(
    facts: dict[str, Any], host: str, words: str
) -> None:
    assert words in facts[host]["why"] and "What to do:" in facts[host]["why"]
    assert words in facts[host]["switch_readings"]["start"]["error"]


def test_what_interrupts_links_waits_for_the_change_window(place: Path) -> None:
    """The play of playbooks/switch.yml; what is as wanted passes a window that is shut."""
    play = yaml.safe_load((REPOSITORY / "playbooks" / "switch.yml").read_text())[1]
    window = {
        "shut": ("2001-01-01T00:00:00Z", "2001-01-01T01:00:00Z"),
        "open": ("2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z"),
    }
    hosts = {}
    for name, mode, (begin, end) in (
        ("shut", "absent", window["shut"]),
        ("opened", "absent", window["open"]),
        ("ready", "lossless", window["shut"]),
    ):
        switch = place / f"{name}.json"
        switch.write_text(json.dumps({"mode": mode, "mtu": 9216}))
        hosts[name] = {"switch_host": str(switch), "rocemesh_change_window": [{"from": begin, "to": end}]}
    done = play_it(place, "window", {**play, "hosts": "all", "any_errors_fatal": False}, hosts)
    modes = {name: json.loads((place / f"{name}.json").read_text())["mode"] for name in hosts}
    assert modes == {"shut": "absent", "opened": "lossless", "ready": "lossless"}, done.stdout
    assert "still to do: RoCE and MTU" in " ".join(done.stdout.split()) and done.returncode == 2
