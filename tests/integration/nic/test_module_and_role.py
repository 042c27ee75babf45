"""The real module and the real role on this machine, with the simulated tools first on PATH. What the role refuses
before it changes anything stands in test_refused.py.

No container, no network. Needs root, as the module does; the state of the hardware is a temporary directory.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.integration import in_process
from tests.unit.nic.twin import TOOLS, Rack, card

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
PLAYBOOK = pathlib.Path(sys.executable).parent / "ansible-playbook"
PYENV = pathlib.Path.home() / ".pyenv" / "versions"
OLD_PYTHONS = [*sorted(PYENV.glob("3.8.*/bin/python3.8")), pathlib.Path("/usr/bin/python3.8")]
INTERPRETERS = [sys.executable, *[str(path) for path in OLD_PYTHONS if path.exists()][:1]]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mlxconfig needs root, and so does the module")


class Node:
    """This machine as the one node of an inventory."""

    def __init__(self, directory: pathlib.Path, rack: Rack, python: str) -> None:
        self.directory = directory
        self.rack = rack
        self.python = python

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            **self.rack.environment(os.environ["PATH"]),
            "ANSIBLE_LOCAL_TEMP": str(self.directory / "tmp"),
        }

    def play(self, tasks: list[dict[str, Any]], *options: str) -> tuple[int, dict[str, Any], str]:
        """Exit code, registered results by variable name, full output."""
        answers = self.directory / "answers.json"
        answers.unlink(missing_ok=True)
        names = [task["register"] for task in tasks if "register" in task]
        published = ["guest_pending", "guest_outcome", "consistency_report"]
        save = {
            "ansible.builtin.copy": {
                "dest": str(answers),
                "content": "{{ dict(names | zip(names | map('extract', vars))) | to_json }}",
                "mode": "0600",
            },
            "vars": {"names": f"{{{{ {names + published} | select('in', vars) | list }}}}"},
            "check_mode": False,
            "changed_when": False,  # the test's own file
        }
        play = {
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "tasks": [{"block": tasks, "always": [save]}],
        }
        book = self.directory / "play.yml"
        book.write_text(yaml.safe_dump([play]), encoding="utf-8")
        done = subprocess.run(
            [str(PLAYBOOK), "-i", "localhost,", "-e", f"ansible_python_interpreter={self.python}", *options, str(book)],
            cwd=REPOSITORY,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        found = json.loads(answers.read_text(encoding="utf-8")) if answers.exists() else {}
        return done.returncode, found, done.stdout + done.stderr

    def module(self, *options: str, name: str = "mlxconfig_ats", **arguments: Any) -> dict[str, Any]:
        if self.python == sys.executable:
            return in_process.run(name, arguments, self.environment(), check="--check" in options)
        task = {f"rocemesh.multinode.{name}": arguments, "register": "answer", "ignore_errors": True}
        code, found, output = self.play([task], *options)
        assert code == 0, output
        answer: dict[str, Any] = found["answer"]
        return answer

    def role(self, entries: str, *options: str) -> tuple[int, dict[str, Any], str]:
        """``entries``: entry points of the role guest, one after the other in one play."""
        tasks = [
            {"ansible.builtin.include_role": {"name": "rocemesh.multinode.guest", "tasks_from": entry}}
            for entry in entries.split()
        ]
        return self.play(tasks, *options)


@pytest.fixture(name="node", params=INTERPRETERS, ids=lambda path: pathlib.Path(path).name)
def fixture_node(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Node:
    hardware = tmp_path / "hw"
    hardware.mkdir()
    return Node(tmp_path, Rack(hardware), request.param)


@pytest.fixture(name="plain")
def fixture_plain(tmp_path: pathlib.Path) -> Node:
    hardware = tmp_path / "hw"
    hardware.mkdir()
    return Node(tmp_path, Rack(hardware), sys.executable)


def test_the_module_walks_from_disabled_to_active_and_believes_only_what_is_in_force(node: Node) -> None:
    node.rack.host_configured = node.rack.vm_keys = True
    predicted = node.module("--check", "--diff", state="enabled")
    assert (predicted["changed"], predicted["reboot_scope"]) == (True, "esxi_host")
    assert node.module(state="queried")["devices"][0]["diagnosis"] == "disabled"

    stored = node.module(state="enabled")
    assert (stored["changed"], stored["reboot_required"], stored["active"]) == (True, True, False)
    assert stored["operations"] == predicted["operations"]

    node.rack.guest_reboot()
    again = node.module(state="enabled", require_active=True)
    assert (again["changed"], again["failed"], again["diagnosis"], again["layer"]) == (
        False,
        True,
        "pending",
        "esxi_host",
    )

    node.rack.host_reboot()
    last = node.module(state="enabled", require_active=True)
    assert (last["changed"], last["failed"], last["active"], last["reboot_required"]) == (False, False, True, False)


@pytest.mark.parametrize(
    ("cards", "words"),
    [
        ([card(params={})], ["ATS_ENABLED", "22.31.1014", "MT_0000000359", "nothing was changed"]),
        ([card(kind="vf", device_id="101e", params={})], ["virtual function", "physical function", "ESXi host"]),
        ([], ["no Mellanox network function"]),
    ],
)
def test_a_card_that_cannot_do_it_is_named_with_host_device_cause_and_remedy(
    tmp_path: pathlib.Path, cards: list[dict[str, Any]], words: list[str]
) -> None:
    answer = Node(tmp_path, Rack(tmp_path, cards), sys.executable).module(state="enabled")
    assert answer["failed"] is True
    assert answer["error_code"] == "refused"
    for word in [os.uname().nodename, "What to do", *words]:
        assert word in answer["msg"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"require_active": True, "verify_pci": False}, "require_active needs verify_pci"),
        ({"settled_since": "2026-01-01T00:00:00Z"}, "host_boot_time"),
        ({"host_boot_time": "yesterday"}, "ISO 8601"),
        ({"query_timeout": 0}, "query_timeout"),
    ],
)
def test_options_that_cannot_mean_anything_are_refused(plain: Node, arguments: dict[str, Any], words: str) -> None:
    answer = plain.module(state="queried", **arguments)
    assert answer["failed"] is True
    assert words in answer["msg"]


def test_a_tool_that_hangs_is_stopped(plain: Node) -> None:
    plain.rack.faults["hang"] = True
    plain.rack.write()
    answer = plain.module(state="queried", query_timeout=2)
    assert answer["error_code"] == "unreachable"
    assert "2 s" in answer["msg"]


def test_the_role_stores_reports_and_verifies(plain: Node) -> None:
    plain.rack.host_configured = plain.rack.vm_keys = True

    code, found, output = plain.role("main", "--check")
    assert code == 0, output
    assert found["guest_outcome"]["verified"] is False
    assert plain.rack.directory.joinpath("nic.json").read_text().count('"next": 1') == 0

    code, found, output = plain.role("main")
    assert code == 0, output
    assert (found["guest_pending"]["reboot_required"], found["guest_outcome"]["changed"]) == (True, True)
    assert found["guest_outcome"]["changes"]

    code, found, output = plain.role("main verify")
    assert code != 0
    assert "changed=0 " in output
    assert (found["guest_pending"]["reboot_scope"], found["guest_outcome"]["changed"]) == ("esxi_host", False)
    assert "Layer to act: esxi_host" in output

    plain.rack.host_reboot()
    code, found, output = plain.role("verify pending")
    assert code == 0, output
    assert found["guest_outcome"]["verified"] is True
    assert found["guest_pending"]["reboot_required"] is False


def test_rdma_info_reads_the_simulated_node_and_says_that_it_is_one(node: Node) -> None:
    node.rack.simulate_sysfs("10.78.0.11", mtu=9000)
    answer = node.module(name="rdma_info")
    assert (answer["changed"], answer["failed"], answer["simulated"]) == (False, False, True)
    (device,) = answer["devices"]
    assert (device["name"], device["roce_gid_index"], device["active_mtu"]) == ("mlx5_0", 3, 4096)
    assert device["qos"]["trust"] == "pcp"
    assert all(entry["what"] and entry["why"] and entry["remedy"] for entry in answer["unreadable"])
    refused = node.module(name="rdma_info", device=["mlx5_9"])
    assert refused["error_code"] == "refused"
    assert "there are: mlx5_0" in refused["msg"]


def test_the_consistency_role_prints_one_table_and_fails_with_each_contradiction(plain: Node) -> None:
    plain.rack.simulate_sysfs("10.78.0.11", mtu=9000)
    subprocess.run(
        [str(TOOLS / "mlnx_qos"), "-i", "eth0", "--trust", "dscp", "--pfc", "0,0,0,1,0,0,0,0"],
        env={**os.environ, "LAB_HW_DIR": str(plain.rack.directory), "LAB_RUN_DIR": str(plain.rack.directory / "run")},
        check=True,
        capture_output=True,
    )
    switch = {
        "roce": {"trust": "L3", "ecn": "ecn, absolute", "pfc": "enabled", "pfc_priorities": [3]},
        "ports": {"1/1": {"mtu": 9216, "access_vlan": 111}},
    }
    container = {"name": "mpicont", "env": {"NCCL_IB_TC": "106"}, "network_mode": "host", "infiniband": True}
    tasks: list[dict[str, Any]] = [
        {"rocemesh.multinode.rdma_info": {"gather_counters": False}, "register": "nic"},
        {
            "ansible.builtin.include_role": {"name": "rocemesh.multinode.consistency"},
            "vars": {
                "consistency_network": "10.78.0.0/24",
                "consistency_switches": {"sw01": switch},
                "consistency_nodes": {"gpu01": {"nic": "{{ nic }}", "container": container}},
            },
        },
    ]
    code, found, output = plain.play(tasks)
    assert code == 0, output
    report = found["consistency_report"]
    assert (report["consistent"], report["mismatches"]) == (True, [])
    assert "SIMULATED" in output

    container["env"]["NCCL_IB_TC"] = "0"  # type: ignore[index]
    switch["ports"]["1/1"]["mtu"] = 1500  # type: ignore[index]
    code, _found, output = plain.play(tasks)
    assert code != 0
    words = " ".join(output.split())
    for part in ("sw01 1/1: 1500, expected >= 9000", "gpu01 mpicont NCCL_IB_TC", "export NCCL_IB_TC=106"):
        assert part in words
