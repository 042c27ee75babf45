"""What playbook drift decides by expressions, and that no layer can end the reading of another."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from tests.older_core import trust_as_template
from tests.unit.roles.collection import ROOT, load

PLAYS = load(ROOT / "playbooks/drift.yml")
ANSWER: dict[str, Any] = {"changed": False, "rc": 0, "stdout": ""}
SILENT = {"changed": False, "unreachable": True, "msg": "no route to host"}
VM_IS_OFF = {"changed": False, "skipped": True}


def rendered(name: str, **variables: Any) -> Any:
    told = {key: trust_as_template(text) for key, text in load(ROOT / "playbooks/vars/drift.yml").items()}
    return Templar(DataLoader(), {**told, **variables}).template(told[name])


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"drift_guest": ANSWER}, True),
        ({"drift_guest": SILENT}, False),
        ({"drift_guest": VM_IS_OFF}, False),
        ({}, True),
    ],
)
def test_guest_answers_if_its_login_was_not_refused(variables: dict[str, Any], expected: bool) -> None:
    assert rendered("drift_answers", **variables) is expected


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ({"drift_guest": ANSWER}, True),
        ({"drift_guest": SILENT}, False),
        ({"drift_guest": VM_IS_OFF}, False),
        ({}, True),
    ],
)
def test_mesh_is_known_if_every_guest_answers(second: dict[str, Any], expected: bool) -> None:
    hostvars = {"gpu01": {"drift_guest": ANSWER}, "gpu02": second}
    assert rendered("drift_mesh_known", hostvars=hostvars, ansible_play_hosts_all=list(hostvars)) is expected


@pytest.mark.parametrize(
    ("topology", "read", "known"), [("off", False, True), ("auto", False, False), ("required", True, True)]
)
def test_container_is_known_if_its_topology_is(topology: str, read: bool, known: bool) -> None:
    asked = {"topology_silent": [] if read else ["esx01"], "container_nccl_topology": topology}
    assert rendered("drift_container_known", **asked) is known


@pytest.mark.parametrize(("nodes", "known"), [(["gpu01", "gpu02"], False), (["gpu01"], True)])
def test_mesh_is_known_to_a_limit_that_has_all_nodes(nodes: list[str], known: bool) -> None:
    """Role mesh refuses any other, which would count as a difference."""
    asked = {"hostvars": {}, "ansible_play_hosts_all": ["gpu01"], "ansible_limit": "all:!leaf01"}
    assert rendered("drift_mesh_known", groups={"gpu_vms": nodes}, **asked) is known


@pytest.mark.parametrize("play", PLAYS[1:], ids=lambda play: play["name"])
def test_what_fails_in_a_layer_ends_no_other(play: dict[str, Any]) -> None:
    assert "any_errors_fatal" not in play
    for task in play["tasks"]:
        if "ignore_unreachable" not in task:
            assert [step["ansible.builtin.meta"] for step in task["rescue"]] == ["clear_host_errors"], task["name"]
