"""playbooks/preflight.yml as a person starts it: ten faults at once are named in one run, and nothing is changed."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLOSED = 9  # discard: nobody listens there


def play(folder: pathlib.Path, inventory: object, variables: dict[str, object], *more: str) -> tuple[int, str]:
    (folder / "group_vars").mkdir()
    (folder / "hosts.yml").write_text(yaml.safe_dump(inventory))
    (folder / "group_vars" / "all.yml").write_text(yaml.safe_dump(variables))
    command = [pathlib.Path(sys.executable).with_name("ansible-playbook"), "playbooks/preflight.yml"]
    done = subprocess.run(
        [*map(str, command), "-i", str(folder / "hosts.yml"), "-e", f"preflight_dest={folder}/out/found.json", *more],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": str(folder / "home"), "ANSIBLE_SSH_RETRIES": "0",
             "TZ": "Asia/Tokyo"},
    )  # fmt: skip
    return done.returncode, " ".join((done.stdout + done.stderr).split()).replace("''", "'")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, int, str]:
    folder = tmp_path_factory.mktemp("site")
    away = {"ansible_host": "127.0.0.1", "ansible_port": CLOSED, "ansible_ssh_common_args": "-F none"}
    inventory = {
        "switches": {"hosts": {"sw01": {"ansible_host": "127.0.0.1"}, "sw02": {"switch_password": None}}},
        "esxi_hosts": {"hosts": {"esx01": None}},
        "gpu_vms": {
            "hosts": {
                "gpu01": away,
                "gpu02": {**away, "container_registry_password": "{{ vault_registry }}"},
                "gpu03": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable},
            }
        },
    }
    variables = {
        "switch_password": "secret-of-the-switch", "switch_ports": ["1/1"], "switch_vlan": 5, "switch_mut": 9216,
        "rocemesh_vcenter_hostname": "127.0.0.1", "rocemesh_vcenter_port": CLOSED, "rocemesh_vcenter_username": "me",
        "rocemesh_vcenter_password": "secret-of-vcenter", "switch_known_hosts": "/nonexistent/known_hosts",
        "container_registry": "registry:5000", "guest_unheard_of": 1,
    }  # fmt: skip
    code, output = play(folder, inventory, variables)
    return folder, code, output


def test_all_of_many_faults_stand_in_one_list_with_what_to_do(broken: tuple[pathlib.Path, int, str]) -> None:
    folder, code, output = broken
    assert code == 2, output
    for words in (
        "switch_mut: no role reads a variable of this name. What to do: write switch_mtu",
        "sw02: switch_password: it is not set",
        "rocemesh_address: it is not set",
        "container_registry_password: it has no value here: 'vault_registry' is undefined",
        "switch_known_hosts: there is no file /nonexistent/known_hosts",
        "! gpu01, gpu02: ssh: ",
        "Connection refused",
        "! vCenter: login: ",
        "! sw01: switch: ",
        "? sw01, sw02, esx01, gpu01 and 2 more: guest_unheard_of",
        "Nothing was changed.",
    ):
        assert words in output, (words, output)
    told = json.loads((folder / "out" / "found.json").read_text())
    assert told["ready"] is False
    assert all(row["remedy"] for row in told["problems"])


def test_no_secret_is_shown_or_written(broken: tuple[pathlib.Path, int, str]) -> None:
    folder, _code, output = broken
    assert "secret-of" not in output + (folder / "out" / "found.json").read_text()


def test_an_inventory_without_the_three_groups_is_told_so_and_what_it_has(tmp_path: pathlib.Path) -> None:
    code, output = play(tmp_path, {"leafs": {"hosts": {"leaf01": None}}}, {})
    assert code == 2
    for group in ("switches", "esxi_hosts", "gpu_vms"):
        assert f"inventory: group {group}: it has" in output and "inventory has leafs" in output, output


def test_a_controller_in_another_time_zone_has_the_same_clock(broken: tuple[pathlib.Path, int, str]) -> None:
    folder, _code, output = broken
    told = json.loads((folder / "out" / "found.json").read_text())
    assert "gpu03" in told["looked_at"]
    assert not [row for row in told["problems"] + told["cautions"] if row["thing"] == "clock"], output


AFTER = """
- import_playbook: {root}/playbooks/preflight.yml
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.copy: {{content: "", dest: "{folder}/changed-{{{{ inventory_hostname }}}}", mode: "600"}}
      delegate_to: localhost
"""


@pytest.fixture(scope="module")
def mistaken(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """One value is wrong of a site whose only VM is this machine; a play that changes something follows the gate."""
    folder = tmp_path_factory.mktemp("gate")
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    inventory = {
        "switches": {"hosts": {"sw01": {"switch_vlan": 4095, "switch_password": "x", "switch_ports": ["1/1"]}}},
        "esxi_hosts": {"hosts": {"esx01": None}},
        "gpu_vms": {"hosts": {"gpu01": local}},
        "all": {"vars": {"run_batch_size": "big"}},
    }
    (folder / "hosts.yml").write_text(yaml.safe_dump(inventory))
    (folder / "play.yml").write_text(AFTER.format(root=ROOT, folder=folder))
    return folder


def begin(folder: pathlib.Path, place: pathlib.Path, *more: str) -> tuple[int, str]:
    """Start it below ``place``, by a program that changed its directory and left PWD as it was."""
    done = subprocess.run(
        [str(pathlib.Path(sys.executable).with_name("ansible-playbook")), str(folder / "play.yml"),
         "-i", str(folder / "hosts.yml"), "-e", "preflight_timeout=1", *more],
        cwd=place, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": str(folder / "home"), "PWD": str(folder / "caller"),
             "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections")},
    )  # fmt: skip
    return done.returncode, " ".join((done.stdout + done.stderr).split()).replace("''", "'")


@pytest.mark.parametrize("limit", ["", "gpu01", "sw01", "esx01", "gpu_vms:switches", "all:!gpu01", "gpu01:localhost"])
def test_gate_stops_run_with_every_limit(mistaken: pathlib.Path, tmp_path: pathlib.Path, limit: str) -> None:
    code, output = begin(mistaken, tmp_path, *(["--limit", limit] if limit else []))
    assert code == 2, output
    assert "run_batch_size: it is 'big', expected" in output
    assert "sw01: switch_vlan: it is 4095, expected 1 to 4094." in output
    assert not list(mistaken.glob("changed-*")), output
    assert "Traceback" not in output


def test_run_goes_on_where_gate_only_lists(mistaken: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """What the stop above rests on: the play after the gate does change something."""
    code, output = begin(mistaken, tmp_path, "--limit", "gpu01", "-e", "preflight_fail=false")
    assert code == 0 and "run_batch_size: it is 'big'" in output, output
    assert [path.name for path in mistaken.glob("changed-*")] == ["changed-gpu01"]
    (mistaken / "changed-gpu01").unlink()


def test_check_mode_writes_list_below_working_directory(mistaken: pathlib.Path, tmp_path: pathlib.Path) -> None:
    code, output = begin(mistaken, tmp_path, "--check")
    assert code == 2, output
    told = json.loads((tmp_path / "reports" / "preflight.json").read_text())
    assert {"run_batch_size", "switch_vlan"} <= {row["thing"] for row in told["problems"]}
    assert not (mistaken / "caller").exists()


def test_list_is_shown_where_file_cannot_be_written(mistaken: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "reports").write_text("a file in the place of the folder")
    code, output = begin(mistaken, tmp_path)
    assert code == 2
    assert "run_batch_size: it is 'big'" in output
    assert "? controller: preflight_dest: " in output and "cannot be written" in output
