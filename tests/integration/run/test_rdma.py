"""Entry point rdma of role run, on nodes with, without and with unreachable RDMA devices: it reads and never fails."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof import snapshots

from tests.plays import ansible
from tests.unit.nic.twin import Rack

NODES = ("gpu01", "gpu02", "gpu03")
NETWORK = "192.0.2.0/24"


@pytest.fixture(name="told", scope="module")
def fixture_told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """gpu01 has a (simulated) port, gpu02 an empty tree, gpu03 no Python."""
    folder = tmp_path_factory.mktemp("rdma")
    (folder / "twin").mkdir()
    (folder / "nothing/class").mkdir(parents=True)
    rack = Rack(folder / "twin")
    (folder / "twin/guest.json").write_text('{"ofed": "5.2-2.2.4.0"}', encoding="utf-8")
    rack.simulate_sysfs("192.0.2.11", mtu=9000)
    for host, tree in (("gpu01", rack.directory / "sys"), ("gpu02", folder / "nothing")):
        interpreter = folder / f"python-{host}"
        interpreter.write_text(f'#!/bin/sh\nexport ROCEMESH_SYSFS_ROOT={tree}\nexec {sys.executable} "$@"\n')
        interpreter.chmod(0o755)
    hosts = {
        host: {"ansible_connection": "local", "ansible_python_interpreter": str(folder / f"python-{host}")}
        for host in NODES
    }
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": {"ansible_become": False}}}))
    tasks = [
        {
            "ansible.builtin.include_role": {"name": "rocemesh.multinode.run", "tasks_from": "rdma"},
            "vars": {"run_rdma_moment": moment},
        }
        for moment in ("start", "before", "after")
    ]
    say = {
        "ansible.builtin.copy": {"content": "{{ said | to_json }}", "dest": str(folder / "told.json")},
        "vars": {
            "ansible_python_interpreter": sys.executable,
            "all_readings": "{{ dict(nodes | zip(nodes | map('extract', hostvars)"
            " | map(attribute='run_rdma_readings'))) }}",
            "nodes": list(NODES),
            "said": {
                "readings": "{{ all_readings }}",
                "facts": "{{ dict(nodes | zip(all_readings.values() | map(attribute='start')))"
                " | rocemesh.multinode.rdma_facts(nodes) }}",
            },
        },
        "run_once": True,
    }
    plays = [
        {"hosts": "all", "gather_facts": False, "tasks": tasks},
        {"hosts": "gpu01", "gather_facts": False, "tasks": [say]},
    ]
    (folder / "play.yml").write_text(yaml.safe_dump(plays))
    done = ansible(folder, "-i", "hosts.yml", "play.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "changed=0" in next(line for line in done.stdout.splitlines() if line.startswith("gpu02"))
    found: dict[str, Any] = json.loads((folder / "told.json").read_text())
    return found


def test_a_port_is_read_with_its_counters_at_every_moment(told: dict[str, Any]) -> None:
    readings = told["readings"]["gpu01"]
    assert sorted(readings) == ["after", "before", "start"]
    for reading in readings.values():
        (device,) = reading["devices"]
        assert (device["roce_gid_ipv4"], reading["error"], reading["simulated"]) == ("192.0.2.11", "", True)
        assert device["counters"]["counters"]["port_xmit_data"] == 0


def test_a_node_without_device_is_no_failure_and_says_so(told: dict[str, Any]) -> None:
    reading = told["readings"]["gpu02"]["start"]
    assert reading["devices"] == [] and reading["error"] == ""
    assert any(entry["what"] == "RDMA devices" for entry in reading["unreadable"])


def test_a_node_that_cannot_be_asked_is_no_failure_either(told: dict[str, Any]) -> None:
    reading = told["readings"]["gpu03"]["start"]
    assert reading["devices"] == [] and reading["error"]


def test_gpus_are_read_once_and_by_those_who_can(told: dict[str, Any]) -> None:
    """For the table of role fabric: what the module found, and why there is nothing of a node that cannot be asked."""
    readings = told["readings"]
    assert [sorted(moment for moment, found in each.items() if "gpus" in found) for each in readings.values()] == [
        ["start"]
    ] * 3
    # The twin of gpu01 has a driver that is loaded and no nvidia-smi; that of gpu02 has nothing.
    found = [readings[host]["start"]["gpus"] for host in NODES]
    assert "470.57.02 is loaded and nvidia-smi does not answer" in found[0]["problems"][0]
    assert (found[1]["error"], found[1]["problems"], found[1]["state"]) == ("", [], [])
    assert found[2]["error"] and "state" not in found[2]


def test_together_they_leave_the_choice_to_nccl_and_prove_nothing(told: dict[str, Any]) -> None:
    assert told["facts"]["facts"] == {} and told["facts"]["simulated"] is True
    assert [text.split(":")[0] for text in told["facts"]["missing"]] == ["gpu02", "gpu03"]
    moved = snapshots.rdma(told["readings"], NODES, [NETWORK])
    assert moved["places"] == {} and "SIMULATED" in moved["reason"]


def test_each_reading_says_when_it_was(told: dict[str, Any]) -> None:
    for readings in told["readings"].values():
        times = [float(readings[moment]["at"]) for moment in ("start", "before", "after")]
        assert 1_700_000_000 < times[0] <= times[1] <= times[2]
