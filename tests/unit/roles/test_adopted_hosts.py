"""Whose maintenance mode a person means: a host of another vCenter with the same id is not meant."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.unit.roles.collection import ROOT, load

FIRST = "Whose maintenance mode is it, and is another run at work"


def row(moid: str, name: str) -> dict[str, Any]:
    return {"esxi_host": name, "esxi_host_moid": moid, "vcenter_uuid": f"of-{name}", "marked": False,
            "recoverable": False, "in_maintenance": True, "connection_state": "connected"}  # fmt: skip


def adopt(folder: pathlib.Path, rows: dict[str, Any], words: str) -> subprocess.CompletedProcess[str]:
    (first,) = [play for play in load(ROOT / "playbooks/recover.yml") if play["name"] == FIRST]
    first["vars_files"] = [str(ROOT / "playbooks/vars/window.yml")]
    first["tasks"] = first["tasks"][1:]  # the reading
    told = {"ansible.builtin.debug": {"msg": "adopted <{{ hostvars.localhost.window_adopt | join(' ') }}>"}}
    (folder / "play.yml").write_text(yaml.safe_dump([first, {"hosts": "localhost", "tasks": [told]}]))
    hosts = {"vars": {"window_rows": rows}, "hosts": dict.fromkeys(rows)}
    (folder / "hosts.yml").write_text(yaml.safe_dump({"esxi_hosts": hosts}))
    return subprocess.run(
        [str(pathlib.Path(sys.executable).with_name("ansible-playbook")), "-i", str(folder / "hosts.yml"),
         str(folder / "play.yml"), "-e", f"rocemesh_adopt_maintenance={words}"],
        cwd=ROOT, env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_GATHERING": "explicit"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("moid", ["host-21", "ha-host"])
def test_an_id_that_two_hosts_have_ends_no_maintenance_mode(tmp_path: pathlib.Path, moid: str) -> None:
    rows = {"esx01": row(moid, "a.example"), "esx07": row(moid, "b.example")}
    done = adopt(tmp_path, rows, moid)
    assert done.returncode == 2 and "esx01, esx07: rocemesh_adopt_maintenance is" in done.stdout, done.stdout
    assert "adopted <" not in done.stdout


def test_a_host_is_meant_by_each_of_its_names(tmp_path: pathlib.Path) -> None:
    rows = {name: row(f"host-2{name[-1]}", f"{name}.example") for name in ("esx01", "esx02", "esx03", "esx04")}
    done = adopt(tmp_path, rows, "esx01,host-22,esx03.example")
    assert "adopted <esx01 esx03 esx02>" in done.stdout, done.stdout
