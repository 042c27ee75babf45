# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The switch role with `rocemesh_switch_driver: cumulus`, through ansible-playbook."""

from __future__ import annotations

import json
from typing import Any

from tests.integration.cumulus.harness import ADDRESS, PASSWORD, USER, Simulator, playbook


def run_role(simulator: Simulator, *flags: str, entry: str = "main", **changes: Any) -> tuple[int, dict[str, Any]]:
    """Exit status, and the results by task name."""
    variables = {
        "rocemesh_switch_driver": "cumulus",
        "switch_allow_disruption": "any",
        "switch_cumulus_port": simulator.port,
        "switch_username": USER,
        "switch_password": PASSWORD,
        "switch_ca_path": str(simulator.trust),
        "switch_vlan": 111,
        "switch_ports": ["swp1-4"],
        **changes,
    }
    include = {"name": "rocemesh.multinode.switch", "tasks_from": entry}
    play = {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {"ansible.builtin.include_role": include, "vars": variables},
            {"name": "outcome", "ansible.builtin.debug": {"var": "switch_outcome"}},
            {"name": "observed", "ansible.builtin.debug": {"var": "switch_observed"}},
            {"name": "readings", "ansible.builtin.debug": {"var": "switch_readings"}},
        ],
    }
    done = playbook(simulator.directory, [play], *flags)
    assert PASSWORD not in done.stdout + done.stderr
    tasks = json.loads(done.stdout)["plays"][0]["tasks"]
    return done.returncode, {task["task"]["name"]: task["hosts"].get(ADDRESS, {}) for task in tasks}


def test_the_role_converges_and_stays_with_nvue(nvue: Simulator) -> None:
    status, results = run_role(nvue)
    outcome = results["outcome"]["switch_outcome"]
    assert status == 0 and outcome["changed"] and outcome["verified"] and outcome["found"]["saved"]
    assert len(outcome["changes"]) == 4
    status, results = run_role(nvue)
    outcome = results["outcome"]["switch_outcome"]
    assert status == 0 and not outcome["changed"] and outcome["verified"] and outcome["changes"] == []


def test_verify_alone_names_what_is_missing_and_only_reads(nvue: Simulator) -> None:
    status, results = run_role(nvue, entry="verify")
    message = next(result["msg"] for result in results.values() if result.get("failed"))
    assert status != 0 and "create VLAN 111" in message and "MTU 1500 -> 9216" in message
    assert all(request.startswith("GET ") for request in nvue.state()["requests"])


def test_observe_reads_what_is_wrong_without_failing(nvue: Simulator) -> None:
    status, results = run_role(nvue, entry="observe")
    observed = results["observed"]["switch_observed"]
    assert status == 0 and not observed["healthy"] and observed["problems"] == ["RoCE mode is absent, not lossless"]
    assert list(observed["ports"]) == ["swp1", "swp2", "swp3", "swp4"] and observed["ports"]["swp1"]["counters"]
    assert all(request.startswith("GET ") for request in nvue.state()["requests"])


def test_counters_are_read_and_a_switch_that_does_not_answer_is_named(nvue: Simulator) -> None:
    status, results = run_role(nvue, entry="counters", switch_moment="before")
    reading = results["readings"]["switch_readings"]["before"]
    assert status == 0 and reading["error"] == "" and reading["ports"]["swp1"]["counters"]
    assert all(request.startswith("GET ") for request in nvue.state()["requests"])
    status, results = run_role(nvue, entry="counters", switch_moment="after", switch_password="wrong")
    reading = results["readings"]["switch_readings"]["after"]
    assert status == 0 and reading["ports"] == {} and "the login was refused" in reading["error"]
