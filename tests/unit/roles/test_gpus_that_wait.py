"""The first run on a new VM: where the window is still to set the MMIO space, a driver that cannot load yet stops
nothing before the window, and everything after it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.keys import MMIO_SIZE_GB, USE_64BIT_MMIO

from tests.older_core import trust_as_template
from tests.unit.roles.collection import ROOT, load


def rendered(text: str, variables: dict[str, Any]) -> Any:
    return Templar(DataLoader(), variables).template(trust_as_template(text))


def waits_for(**variables: Any) -> Any:
    return rendered(load(ROOT / "playbooks/vars/guest.yml")["guest_gpus_wait_for"], variables)


def pending(power: str, *keys: str) -> dict[str, Any]:
    return {"gpu_vm_pending": {"power_state": power, "changes": [{"key": key} for key in keys]}}


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (pending("poweredOn", "pciPassthru.allowP2P", USE_64BIT_MMIO, MMIO_SIZE_GB), [USE_64BIT_MMIO, MMIO_SIZE_GB]),
        (pending("poweredOn", "pciPassthru.allowP2P"), []),
        # Stage power has set them before it powered the VM on.
        (pending("poweredOff", MMIO_SIZE_GB), []),
        ({}, []),
        ({"gpu_vm_pending": {}}, []),
    ],
    ids=["mmio", "other_keys", "was_off", "power_was_not_played", "not_readable"],
)
def test_only_keys_that_the_window_is_still_to_set_excuse_a_driver(known: dict[str, Any], expected: list[str]) -> None:
    assert waits_for(**known) == expected


def test_what_waited_is_judged_at_the_end_of_the_window() -> None:
    plays = load(ROOT / "playbooks" / "reboot.yml")
    (task,) = plays[-1]["tasks"]
    names = [play["name"] for play in plays]
    assert names.index("One host at a time") < names.index("Other runs may open windows again") < len(plays) - 1
    assert plays[-1]["any_errors_fatal"] is True and task["when"] == "not ansible_check_mode"
    called = {"name": "rocemesh.multinode.guest", "tasks_from": "after_window"}
    assert task["ansible.builtin.include_role"] == called and not {"ignore_errors", "failed_when"} & set(task)

    (plan,) = [
        each
        for play in plays
        for each in play.get("tasks", [])
        if "window_gpus" in each.get("ansible.builtin.set_fact", {})
    ]
    facts = {"gpu01": {"guest_gpus": {"waiting": ["gpu01: no driver is loaded."]}}, "gpu02": {}}
    facts["gpu03"] = {"guest_gpus": {"waiting": []}}
    known = {"hostvars": {**facts, "localhost": {"window_vms": sorted(facts)}}}
    known["mine"] = rendered(plan["vars"]["mine"], known)
    judged = rendered(plan["ansible.builtin.set_fact"]["window_gpus"], known)
    assert judged == ["gpu01"]
    assert rendered(plays[-1]["hosts"], {"hostvars": {"localhost": {"window_gpus": judged}}}) == ["gpu01"]
    assert rendered(plays[-1]["hosts"], {"hostvars": {}}) == "all:!all"


def test_nothing_is_excused_after_the_window() -> None:
    check, peer = load(ROOT / "roles" / "guest" / "tasks" / "after_window.yml")
    assert check["ansible.builtin.include_tasks"] == "gpus.yml" and "when" not in check
    assert check["vars"] == {"__guest_gpus_keys": [], "__guest_gpus_settle": "{{ guest_gpus_timeout }}"}
    assert peer["ansible.builtin.include_tasks"] == "peer_memory.yml"
