"""The role esxi_host for all hosts of a play: one session, an outcome of its own for each host."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

from .conftest import ROOT, Vcenter

PLAY = """
- hosts: esxi_hosts
  gather_facts: false
  any_errors_fatal: true
  tasks:
    - ansible.builtin.include_role: {name: rocemesh.multinode.esxi_host, tasks_from: "{{ entry }}"}
      run_once: true
    - ansible.builtin.copy:
        content: "{{ {'pending': esxi_host_pending, 'outcome': esxi_host_outcome | default({})} | to_json }}"
        dest: "{{ playbook_dir }}/{{ inventory_hostname }}.json"
        mode: "0600"
      connection: local
      check_mode: false
      changed_when: false
"""
HOSTS: dict[str, dict[str, Any]] = {
    "first": {"esxi_host_name": "esx01"}, "esx02": {}, "esx03": {"esxi_host_kernel_settings": {"atsSupport": False}},
}  # fmt: skip


def play(vcenter: Vcenter, folder: pathlib.Path, *more: str, entry: str = "together") -> Any:
    """Output, and what was published: inventory name -> facts."""
    names = ("hostname", "port", "username", "password", "ca_path")
    site = {f"rocemesh_vcenter_{name}": vcenter.login[name] for name in names}
    (folder / "hosts.json").write_text(
        json.dumps({"all": {"children": {"esxi_hosts": {"hosts": HOSTS, "vars": site}}}})
    )
    (folder / "play.yml").write_text(PLAY)
    done = subprocess.run(
        [str(pathlib.Path(sys.executable).with_name("ansible-playbook")), "-i", str(folder / "hosts.json"),
         "-e", f"entry={entry}", "-e", f"ansible_python_interpreter={sys.executable}", *more, str(folder / "play.yml")],
        cwd=ROOT, env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_HOME": str(folder / "home")},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert vcenter.password not in done.stdout + done.stderr
    found = {name: folder / f"{name}.json" for name in HOSTS}
    return done, {name: json.loads(path.read_text()) for name, path in found.items() if path.exists()}


def configured(vcenter: Vcenter) -> dict[str, str]:
    return {name: host["kernel"]["atsSupport"]["configured"] for name, host in vcenter.state()["hosts"].items()}


def test_one_session_for_each_set_of_settings_and_facts_for_each_host(vcenter: Vcenter, tmp_path: pathlib.Path) -> None:
    vcenter.ask("DELETE", "/traffic")
    planned, _facts = play(vcenter, tmp_path, "--check", "-vvv")
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert vcenter.calls() == []
    vcenter.ask("DELETE", "/traffic")
    done, facts = play(vcenter, tmp_path, "-vvv")
    assert done.returncode == 0, done.stdout + done.stderr
    # Two hosts of one kind, whose change is planned in a session before it, and one host with nothing to change.
    assert vcenter.ask("GET", "/traffic")["sessions"] == 3
    assert configured(vcenter) == {"esx01": "TRUE", "esx02": "TRUE", "esx03": "FALSE", "esx04": "FALSE"}
    assert {name: one["outcome"]["changed"] for name, one in facts.items()} == {
        "first": True, "esx02": True, "esx03": False,
    }  # fmt: skip
    assert facts["first"]["pending"]["host"] == "esx01" and facts["first"]["pending"]["reboot_required"]
    assert "on esx02" in facts["esx02"]["outcome"]["changes"][0] and len(facts["esx02"]["outcome"]["changes"]) == 1
    assert facts["esx03"]["outcome"]["verified"] and not facts["esx02"]["outcome"]["verified"]

    again, _facts = play(vcenter, tmp_path)
    assert "changed=0" in again.stdout.partition("PLAY RECAP")[2].partition("first")[2], again.stdout


def test_reading_writes_nothing_and_changes_nothing(vcenter: Vcenter, tmp_path: pathlib.Path) -> None:
    done, facts = play(vcenter, tmp_path, entry="pending_together")
    assert done.returncode == 0, done.stdout + done.stderr
    assert vcenter.calls() == [] and facts["esx02"]["pending"]["settings"] == ["atsSupport"]
    assert not facts["esx02"]["pending"]["reboot_required"] and facts["esx02"]["outcome"] == {}


def test_one_host_that_cannot_stops_its_call_and_is_named(vcenter: Vcenter, tmp_path: pathlib.Path) -> None:
    vcenter.fault("kernel_setting_absent", host="esx02", setting="atsSupport")
    done, facts = play(vcenter, tmp_path)
    assert done.returncode != 0 and "esx02" in done.stdout and facts == {}
    assert vcenter.calls() == []


def test_runtime_is_demanded_where_that_was_asked_for(vcenter: Vcenter, tmp_path: pathlib.Path) -> None:
    done, _facts = play(vcenter, tmp_path, "-e", "esxi_host_require_runtime=true")
    assert done.returncode != 0 and "not in force" in done.stdout.lower() and "esx01" in done.stdout
