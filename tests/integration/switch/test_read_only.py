"""Drivers that only read, over SSH: every entry point of the role, the consistency check. One play, a host per case."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.rocemesh.multinode.plugins.module_utils._site import consistency
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.path_intent import Intent

from tests.integration.simulated_switch import REPOSITORY, environment
from tests.integration.switch.reading import PASSWORD, Switch
from tests.unit.eos import answers as eos
from tests.unit.nxos import answers as nxos
from tests.unit.sonic import answers as sonic
from tests.unit.switch.leafs import LEAFS, VLAN
from tests.unit.switch.leafs import PORTS as RAIL_PORTS

SYSTEMS = {
    "sonic": (sonic.ANSWERS, ["Ethernet0", "Ethernet4"], 9216),
    "eos": (eos.ANSWERS, ["Ethernet1/1", "Ethernet2/1"], 9214),
    "nxos": (nxos.ANSWERS, ["Ethernet1/1-2"], 9216),
}
PUBLISHED = ["switch_observed", "switch_plan", "switch_outcome", "switch_readings", "why"]


def include(entry: str) -> dict[str, Any]:
    return {"ansible.builtin.include_role": {"name": "rocemesh.multinode.switch", "tasks_from": entry}}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Host -> what it published or why it failed; ``heard``: host -> commands; ``output``."""
    folder = tmp_path_factory.mktemp("reading")
    hosts, switches = {}, {}
    for system, (answers, ports, mtu) in SYSTEMS.items():
        switch = Switch(answers, folder)
        common = {
            "switch_driver": system,
            "switch_host": "127.0.0.1",
            "switch_port": switch.port,
            "switch_password": PASSWORD,
            "switch_known_hosts": str(switch.known_hosts),
            "switch_vlan": 111,
            "switch_ports": ports,
            "switch_mtu": mtu,
        }
        hosts[system] = common
        switches[system] = switch
    hosts["differs"] = {**hosts["sonic"], "switch_mtu": 9217}
    unsaved = Switch({**eos.ANSWERS, "show running-config diffs": "--- flash:/startup-config\n"}, folder)
    hosts["unsaved"] = {
        **hosts["eos"],
        "switch_port": unsaved.port,
        "switch_known_hosts": str(unsaved.known_hosts),
    }
    rails = {}
    for name in ("eos-routed-31", "nxos-routed-subnets", "sonic-trunk"):
        leaf = LEAFS[name]
        rails[name] = Switch(leaf.answers, folder)
        hosts[name] = {
            **hosts[leaf.system],
            "switch_port": rails[name].port,
            "switch_known_hosts": str(rails[name].known_hosts),
            "switch_ports": RAIL_PORTS[leaf.system],
            "switch_port_mode": leaf.mode,
            "switch_vlan": None if leaf.mode == "routed" else VLAN,
        }
        del hosts[name]["switch_mtu"]
    hosts["no-vlan"] = {**hosts["sonic"], "switch_vlan": None}
    hosts["stranger"] = {**hosts["sonic"], "switch_known_hosts": str(switches["eos"].known_hosts)}
    hosts["password"] = {**hosts["sonic"], "switch_password": "wrong-4713"}
    hosts["mode"] = {**hosts["sonic"], "switch_roce_mode": "dci-1"}
    login = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    steps = [
        include("counters"),
        {
            "block": [include("observe"), include("plan"), include("main")],
            "rescue": [{"ansible.builtin.set_fact": {"why": "{{ ansible_failed_result.msg | default('') }}"}}],
        },
        {
            "ansible.builtin.copy": {
                "dest": f"{folder}/{{{{ inventory_hostname }}}}.facts",
                "content": "{{ dict(names | zip(names | map('extract', vars))) | to_json }}",
                "mode": "0600",
            },
            "vars": {"names": f"{{{{ {PUBLISHED} | select('in', vars) | list }}}}"},
        },
    ]
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": login}}))
    (folder / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": steps}]))
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible-playbook")),
            "-v",
            "-i",
            f"{folder}/hosts.yml",
            f"{folder}/play.yml",
        ],
        cwd=REPOSITORY,
        env=environment(ANSIBLE_STDOUT_CALLBACK="default"),
        capture_output=True,
        text=True,
        timeout=900,  # of a machine that runs three of these and a lab
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = {name: json.loads((folder / f"{name}.facts").read_text()) for name in hosts}
    found["heard"] = {name: set(switch.heard) for name, switch in switches.items()}
    found["output"] = done.stdout + done.stderr
    yield found
    for switch in (*switches.values(), *rails.values(), unsaved):
        switch.close()


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_switch_that_is_as_wanted_is_verified_and_nothing_is_sent(facts: dict[str, Any], system: str) -> None:
    host = facts[system]
    assert "why" not in host and host["switch_plan"] == []
    assert host["switch_observed"]["vlans"] and host["switch_observed"]["unreadable"] == []
    assert host["switch_observed"]["healthy"] and host["switch_observed"]["roce"]["pfc_priorities"] == [3]
    outcome = host["switch_outcome"]
    assert outcome["verified"] and not outcome["changed"] and outcome["found"]["saved"]
    assert outcome["found"]["vlan"]["id"] == 111 and outcome["found"]["vlan"]["members"]
    assert host["switch_readings"]["start"]["error"] == ""
    assert facts["heard"][system] == set(SYSTEMS[system][0]), "every command that it may type, and no other"


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_consistency_check_takes_its_facts(facts: dict[str, Any], system: str) -> None:
    """Every row about the switch is known and right; what stays unknown is where no host is named."""
    rows = consistency.rows({system: facts[system]["switch_observed"]}, {}, Intent(26, 106, 3, 0, "192.0.2.0/24"))
    about = [row for row in rows if row.thing == "switch" and row.code != "MTU"]
    assert {row.level for row in about} == {"ok"}, [row for row in about if row.level != "ok"]
    assert {row.code for row in about} >= {"DSCP", "priority", "traffic class", "GID"}


def test_what_differs_is_planned_and_told_and_nothing_is_sent(facts: dict[str, Any]) -> None:
    host = facts["differs"]
    assert [each["description"] for each in host["switch_plan"]] == [
        "by hand: Ethernet0: MTU is 9216, expected >= 9217",
        "by hand: Ethernet4: MTU is 9216, expected >= 9217",
    ]
    assert {each["command"] for each in host["switch_plan"]} == {"# by hand: this driver sends nothing"}
    assert "sends nothing" in host["why"] and "configure the switch" in host["why"]


@pytest.mark.parametrize("name", ["eos-routed-31", "nxos-routed-subnets", "sonic-trunk"])
def test_trunk_and_routed_leafs_are_verified(facts: dict[str, Any], name: str) -> None:
    host = facts[name]
    assert "why" not in host and host["switch_plan"] == []
    assert host["switch_outcome"]["verified"] and host["switch_observed"]["wanted"]["mtu"] == 9000
    intent = Intent(26, 106, 3, 0, "10.78.0.0/24, 10.78.1.0/24, 10.78.2.0/24, 2001:db8::/32")
    rows = consistency.rows({name: host["switch_observed"]}, {}, intent)
    about = {row.place: row.level for row in rows if row.thing == "switch" and row.code == "GID"}
    assert len(about) == 2 and set(about.values()) == {"ok"}


def test_what_is_not_saved_is_left_to_a_person(facts: dict[str, Any]) -> None:
    why = facts["unsaved"]["why"]
    assert "is not saved" in why and "this driver sends" in why and "switch_save" not in why


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("stranger", "the host key is not known"),
        ("password", "the login was refused"),
        ("mode", "choose one of lossless, lossy, absent"),
        ("no-vlan", "switch_vlan is not set"),
    ],
)
def test_who_cannot_be_trusted_or_asked_is_told(facts: dict[str, Any], host: str, words: str) -> None:
    assert words in facts[host]["why"] and words in facts[host]["switch_readings"]["start"]["error"]


def test_no_password_is_shown(facts: dict[str, Any]) -> None:
    assert PASSWORD not in facts["output"] and "wrong-4713" not in facts["output"]
