"""The switch stage of a site whose eight rails are routed: an Onyx and a Cumulus leaf, four servers at each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.path_intent import Intent
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.path_switch import switch_rows

from tests.integration.cumulus.harness import running as running_cumulus
from tests.integration.simulated_switch import ADDRESS, LOCAL, PASSWORD, REPOSITORY, playbook
from tests.integration.switch.harness import running as running_onyx

RAILS = range(8)
HOSTS = 4
LEAFS = {"leaf01": "1/{}", "leaf02": "swp{}"}


def _ports(leaf: str) -> dict[str, str]:
    """A /31 for each server and rail; the leaf's side is the even one."""
    own = [rail for rail in RAILS if rail % 2 == list(LEAFS).index(leaf)]
    pairs = [(rail, host) for rail in own for host in range(HOSTS)]
    return {LEAFS[leaf].format(at + 1): f"10.78.{rail}.{2 * host}/31" for at, (rail, host) in enumerate(pairs)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("routed")
    with running_onyx(folder / "onyx", "--cabled", "16") as onyx, running_cumulus(folder / "nvue", "nvue") as nvue:
        leafs = {"leaf01": onyx, "leaf02": nvue}
        hosts = {
            name: {
                **{key: value for key, value in leaf.role.items() if key != "switch_vlan"},
                "ansible_host": ADDRESS,
                "switch_port_mode": "routed",
                "switch_ports": list(_ports(name)),
                "switch_addresses": _ports(name),
            }
            for name, leaf in leafs.items()
        }
        (folder / "inventory.json").write_text(json.dumps({"switches": {"hosts": hosts}}))
        yield {"folder": folder, "leafs": leafs}


def _stage(folder: Path, *flags: str) -> tuple[int, dict[str, Any], str]:
    """Exit status, ``switch_outcome`` and ``switch_observed`` of each leaf, and what was printed."""
    show = {"name": "facts", "ansible.builtin.debug": {"msg": "{{ [switch_outcome, switch_observed] }}"}}
    read = {"ansible.builtin.include_role": {"name": "rocemesh.multinode.switch", "tasks_from": "observe"}}
    plays = [
        {"ansible.builtin.import_playbook": str(REPOSITORY / "playbooks" / "switch.yml")},
        {"hosts": "switches", "gather_facts": False, "vars": LOCAL, "tasks": [read, show]},
    ]
    done = playbook(folder, plays, "-i", str(folder / "inventory.json"), *flags)
    assert PASSWORD not in done.stdout + done.stderr
    played = [task for play in json.loads(done.stdout)["plays"] for task in play["tasks"]]
    facts = next((task["hosts"] for task in played if task["task"]["name"] == "facts"), {})
    return done.returncode, {name: result["msg"] for name, result in facts.items()}, done.stdout


def test_routed_rails_pass_stage_switch_twice(site: dict[str, Any]) -> None:
    for number in range(2):
        status, facts, text = _stage(site["folder"])
        assert status == 0 and set(facts) == set(LEAFS), text
        for name, (outcome, _observed) in facts.items():
            assert outcome["verified"] and outcome["changed"] is (number == 0), (name, outcome)
    intent = Intent(network=[f"10.78.{rail}.0/24" for rail in RAILS])
    for name, (_outcome, observed) in facts.items():
        assert observed["healthy"], observed["problems"]
        addresses = {port: each["addresses"][0] for port, each in observed["ports"].items()}
        assert addresses == _ports(name)
        wrong = [row for row in switch_rows(name, observed, 9000, intent) if row.level == "problem"]
        assert wrong == []


def test_routed_rail_single_mistakes_are_refused_before_anything_is_sent(site: dict[str, Any]) -> None:
    before = {name: leaf.state() for name, leaf in site["leafs"].items()}
    changed = _ports("leaf01")
    mistakes = {
        "no address for 1/1": {key: value for key, value in changed.items() if key != "1/1"},
        "overlaps": {**changed, "1/2": changed["1/1"]},
        "prefix length": {**changed, "1/3": "10.78.0.4"},
        "no routed ports": {**changed, "1/20": "10.78.9.0/31"},
    }
    for words, addresses in mistakes.items():
        given = json.dumps({"switch_addresses": addresses})
        status, _facts, text = _stage(site["folder"], "--limit", "localhost,leaf01", "-e", given)
        assert status != 0 and words in text, text
    assert {name: leaf.state() for name, leaf in site["leafs"].items()} == before
