"""mellanox.onyx 1.0.0, the collection for these switches that others wrote: fetched for tests, never distributed.

It left the `ansible` distribution with release 8, so it is taken out of the last one that has it (7.7.0), into
`.build/`. Its action plugin for `onyx_config` is left out: it imports `ansible.plugins.action.network`, which
ansible-core 2.10 removed, and ends the whole playbook with that; the module itself works without it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / ".build" / "mellanox.onyx-1.0.0"
DISTRIBUTION = "ansible==7.7.0"
SHA256 = "4f8d346db1b6cec0f30b77935b3dce5633d76881186da839b58b34b48a089b92"
_PREFIX = "ansible_collections/mellanox/"
_BROKEN = _PREFIX + "onyx/plugins/action/onyx_config.py"


class NotAvailable(Exception):
    """Why the collection could not be fetched."""


def fetch() -> Path:
    """A folder for `ANSIBLE_COLLECTIONS_PATH`. Raises `NotAvailable`, with the reason."""
    if PLACE.exists():
        return PLACE
    PLACE.parent.mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="older-", dir=PLACE.parent))
    try:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        done = subprocess.run(
            [*command, "--dest", str(scratch), DISTRIBUTION], capture_output=True, text=True, timeout=300, check=False
        )
        wheels = list(scratch.glob("*.whl"))
        if done.returncode != 0 or not wheels:
            raise NotAvailable(f"{DISTRIBUTION} could not be downloaded: {done.stderr.strip()[-300:]}")
        if hashlib.sha256(wheels[0].read_bytes()).hexdigest() != SHA256:
            raise NotAvailable(f"{wheels[0].name} is not the file that this test knows (SHA-256 differs)")
        with zipfile.ZipFile(wheels[0]) as archive:
            names = [name for name in archive.namelist() if name.startswith(_PREFIX) and name != _BROKEN]
            archive.extractall(scratch / "x", names)
        try:
            os.replace(scratch / "x", PLACE)
        except OSError:
            if not PLACE.exists():  # otherwise another process was faster
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return PLACE


def variables(port: int, password: str) -> dict[str, Any]:
    """How it logs in: over the persistent connection of `ansible.netcommon`, in enable mode."""
    return {
        "ansible_connection": "ansible.netcommon.network_cli",
        "ansible_network_os": "mellanox.onyx.onyx",
        "ansible_network_cli_ssh_type": "paramiko",
        "ansible_user": "admin",
        "ansible_password": password,
        "ansible_port": port,
        "ansible_become": True,
        "ansible_become_method": "ansible.netcommon.enable",
        "ansible_host_key_checking": False,
        "ansible_command_timeout": 60,
    }


def play(port: int, password: str, played: list[dict[str, Any]]) -> dict[str, Any]:
    """A play of ``played``. Its connection ends after the last one, so that the next play logs in anew."""
    return {
        "hosts": "all",
        "gather_facts": False,
        "vars": variables(port, password),
        "tasks": [*played, {"ansible.builtin.meta": "reset_connection"}],
    }


def environment(place: Path, home: Path) -> dict[str, str]:
    """Its own folders, so that no persistent connection of another run is met."""
    # The socket's path has to stay short.
    control = tempfile.mkdtemp(prefix="pc")
    return {
        "ANSIBLE_COLLECTIONS_PATH": f"{place}:{ROOT / 'collections'}",
        "ANSIBLE_LOCAL_TEMP": str(home / "local"),
        "ANSIBLE_PERSISTENT_CONTROL_PATH_DIR": control,
    }


def tasks(vlan: int, name: str, ports: Iterable[str], mtu: int) -> list[dict[str, Any]]:
    """The end state of `onyx_roce`, in this collection's idempotent modules; `aggregate` is their fastest form."""
    interfaces = [{"name": f"Eth{port}"} for port in ports]
    return [
        {"name": "vlan", "mellanox.onyx.onyx_vlan": {"vlan_id": vlan, "name": name}},
        {
            "name": "access",
            "mellanox.onyx.onyx_l2_interface": {"aggregate": interfaces, "mode": "access", "access_vlan": vlan},
        },
        {"name": "mtu", "mellanox.onyx.onyx_interface": {"aggregate": interfaces, "mtu": mtu}},
        {"name": "roce and save", "mellanox.onyx.onyx_config": {"lines": ["roce lossless"], "save": True}},
    ]


def ranged_tasks(vlan: int, name: str, ports: str, mtu: int) -> list[dict[str, Any]]:
    """The same end state as lines with a range of ports, this collection's fastest form. `match: none`: the module
    looks for nothing of it in the configuration, so it sends every line each time."""
    lines = [
        f"vlan {vlan} name {name}",
        f"interface ethernet {ports} switchport access vlan {vlan}",
        f"interface ethernet {ports} mtu {mtu} force",
        "roce lossless",
    ]
    return [{"name": "lines", "mellanox.onyx.onyx_config": {"lines": lines, "match": "none", "save": True}}]


def results(stdout: str, host: str) -> dict[str, dict[str, Any]]:
    """Task name -> result, from the output of the callback `ansible.posix.json`."""
    found = {}
    for task in json.loads(stdout)["plays"][0]["tasks"]:
        found[task["task"]["name"]] = {**task["hosts"].get(host, {}), "duration": task["task"]["duration"]}
    return found
