"""The window playbooks themselves against the simulated vCenter. There are no guests to log in to, so what the role
`guest` would read of their cards is a variable, and nobody waits for their ssh."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

from .conftest import ROOT, Vcenter

_GUEST = re.compile(r"ansible\.builtin\.include_role:\n\s+name: rocemesh\.multinode\.guest\n\s+tasks_from: pending\n")
_WAIT = re.compile(r"ansible\.builtin\.wait_for_connection:\n\s+timeout: \d+\n(?:\s+delegate_to: \"\{\{ vm \}\}\"\n)?")
_LOGIN = re.compile(
    r"ansible\.builtin\.raw: \":\"\n(?:      (?!name).*\n)+?      register: window_guest\n(?:      .*\n)+"
)
_BOOT = re.compile(
    r"    - name: Compare the next boot of the guests with the present once more\n(?:      .*\n)+|"
    r"(?<=    )window_boot: .*\n"
)
# What the guests' next boot changes is what the inventory says.
_CHANGED = (
    "window_boot: \"{{ [{'vm': (window.vms + ['']) | first,"
    " 'next_boot': {'differences': window_boot_now | default([])}}] }}\"\n"
)
# A guest is dead where the inventory says so.
_ANSWER = (
    "ansible.builtin.set_fact:\n"
    "        window_guest: \"{{ {'unreachable': true} if dead | default(false) else {} }}\"\n"
)
_CARD = 'ansible.builtin.set_fact:\n        guest_pending: "{{ card_pending }}"\n'
QUIET: dict[str, Any] = {"reboot_required": False, "reboot_reasons": []}
WAITING = {"reboot_required": True, "reboot_reasons": ["0000:3b:00.0 ATS_ENABLED: current 0, next 1"]}


class Controller:
    """One machine with the playbooks, in a folder of its own."""

    def __init__(self, vcenter: Vcenter, folder: pathlib.Path, hosts: dict[str, list[str]], card: Any = None) -> None:
        self.folder = folder
        for source in (ROOT / "playbooks").glob("**/*.yml"):
            (folder / source.relative_to(ROOT / "playbooks")).parent.mkdir(parents=True, exist_ok=True)
            text = source.read_text()
            if source.name == "reboot.yml":
                text, found = _GUEST.subn(_CARD, text)
                assert found == 1, "the play that reads the cards has changed"
                text, found = _LOGIN.subn(_ANSWER, text)
                assert found == 1, "the task that asks whether the guest answers has changed"
                text, found = _BOOT.subn(lambda match: "" if match[0].startswith("    - ") else _CHANGED, text)
                assert found == 2, "the task that reads the next boot of the guests has changed"
            text = _WAIT.sub("ansible.builtin.meta: noop\n", text) if source.name == "power.yml" else text
            text = re.sub(r"\n        - name: Wait for the guests of this host\n(?:          .*\n)+", "\n", text)
            (folder / source.relative_to(ROOT / "playbooks")).write_text(text)
        vms = [vm for names in hosts.values() for vm in names]
        login = vcenter.login
        inventory = {
            "all": {
                "vars": {
                    "rocemesh_vcenter_hostname": login["hostname"],
                    "rocemesh_vcenter_port": login["port"],
                    "rocemesh_vcenter_username": login["username"],
                    "rocemesh_vcenter_password": login["password"],
                    "rocemesh_vcenter_ca_path": login["ca_path"],
                    "card_pending": card or QUIET,
                },
                "children": {
                    "esxi_hosts": {"hosts": {host: {} for host in hosts}},
                    "gpu_vms": {"hosts": {vm: {} for vm in vms}},
                },
            }
        }
        self.inventory = folder / "inventory.json"
        self.inventory.write_text(json.dumps(inventory))

    def _command(self, playbook: str, *more: str) -> list[str]:
        program = str(pathlib.Path(sys.executable).with_name("ansible-playbook"))
        return [program, str(self.folder / playbook), "-i", str(self.inventory), *more]

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "ANSIBLE_HOME": str(self.folder / "home"),
            "ANSIBLE_NOCOLOR": "1",
        }

    def play(self, playbook: str, *more: str, patience: float = 300) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(playbook, *more),
            cwd=self.folder,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )

    def start(self, playbook: str, *more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._command(playbook, *more),
            cwd=self.folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
