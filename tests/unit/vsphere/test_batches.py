"""Which hosts of a play one call serves, and what is published for each of them."""

from __future__ import annotations

import pathlib
import time
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.rocemesh.multinode.plugins.plugin_utils.decisions.esxi_batches import (
    COMMON,
    LOGIN,
    WISHES,
    esxi_batches,
    esxi_published,
    vcenters,
    vms_published,
    wish,
)

from tests.older_core import trust_as_template
from tests.unit.roles.conditions import variables_of

ROOT = pathlib.Path(__file__).resolve().parents[3]
SITE: dict[str, Any] = {
    "rocemesh_vcenter_hostname": "vc", "rocemesh_vcenter_password": "secret", "esxi_host_kernel_settings": {"a": 1},
}  # fmt: skip


def test_hosts_that_share_account_and_settings_are_one_batch_in_the_order_of_the_play() -> None:
    found = esxi_batches(["b", "a"], {"a": SITE, "b": {**SITE, "esxi_host_name": "b.example.org"}})
    assert found == [{"hosts": ["b", "a"], "names": ["b.example.org", "a"]}]
    assert "secret" not in str(found)


@pytest.mark.parametrize("name", COMMON)
def test_whatever_a_call_has_once_parts_hosts_that_differ_in_it(name: str) -> None:
    found = esxi_batches(["a", "b", "c"], {"a": SITE, "b": {**SITE, name: "other"}, "c": SITE})
    assert [batch["hosts"] for batch in found] == [["a", "c"], ["b"]]


@pytest.mark.parametrize("name", LOGIN)
def test_a_vcenter_has_all_hosts_and_vms_of_a_login_whatever_their_settings(name: str) -> None:
    away = {**SITE, name: "other"}
    hostvars = {
        "a": SITE, "b": {**SITE, "esxi_host_kernel_settings": {}, "esxi_host_name": "b.example.org"}, "c": away,
        "gpu01": {**SITE, "gpu_vm_name": "one"}, "gpu02": away, "gpu03": {},
    }  # fmt: skip
    if name == "rocemesh_vcenter_hostname":
        hostvars["gpu03"] = {**SITE}
    found = vcenters(["a", "b", "c"], ["gpu01", "gpu02", "gpu03"], hostvars)
    assert [(one["first"], one["hosts"], one["names"]) for one in found[:2]] == [
        ("a", ["a", "b"], ["a", "b.example.org"]), ("c", ["c"], ["c"]),
    ]  # fmt: skip
    assert "one" in found[0]["vms"] and found[1]["vms"] == ["gpu02"]
    assert "secret" not in str(found)


def row(name: str, *changes: str, waits: bool = False) -> dict[str, Any]:
    return {
        "esxi_host": name, "esxi_host_moid": "host-" + name, "settings": [{"name": "atsSupport"}],
        "changes": list(changes), "reboot_required": waits, "reboot_reasons": ["waits"] if waits else [],
    }  # fmt: skip


def published(check: bool, *rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    hosts = ["inventory-" + one["esxi_host"] for one in rows]
    return {
        one["host"]: one
        for one in esxi_published([{"batch": {"hosts": hosts}, "hosts": rows, "vcenter_uuid": "one"}], check)
    }


def test_each_host_gets_its_own_row() -> None:
    found = published(False, row("a"), row("b", "set it", waits=True))
    assert found["inventory-a"]["outcome"]["verified"] and not found["inventory-a"]["outcome"]["changed"]
    second = found["inventory-b"]
    assert time.time() - second["pending"].pop("at") < 600
    assert second["pending"] == {
        "host": "b", "host_moid": "host-b", "vcenter_uuid": "one", "settings": ["atsSupport"], "reboot_required": True,
        "reboot_reasons": ["waits"], "found": [{"name": "atsSupport"}], "changes": ["set it"],
    }  # fmt: skip
    assert second["outcome"]["changes"] == ["set it"] and second["outcome"]["changed"]


@pytest.mark.parametrize(
    ("check", "changes", "waits", "verified"),
    [
        (False, [], False, True),
        (False, ["set"], False, True),  # set back to the value in force, and read back
        (False, ["set"], True, False),
        (False, [], True, False),
        (True, [], False, True),
        (True, ["set"], False, False),  # nothing was written
    ],
)
def test_verified_is_what_was_read_configured_and_in_force(
    check: bool, changes: list[str], waits: bool, verified: bool
) -> None:
    found = published(check, row("a", *changes, waits=waits))
    assert found["inventory-a"]["outcome"]["verified"] is verified


def test_wish_of_a_vm_has_the_defaults_of_the_role() -> None:
    defaults = yaml.safe_load((ROOT / "roles" / "gpu_vm" / "defaults" / "main.yml").read_text())
    assert {name: defaults[f"gpu_vm_{name}"] for name in WISHES} == WISHES and defaults["gpu_vm_wanted"] == {}
    assert wish("gpu01", {}) == {"vm": "gpu01", "wanted": WISHES}
    own = {"gpu_vm_name": "one", "gpu_vm_numa_node_affinity": [1], "gpu_vm_wanted": {"gpu_pci_ids": None}}
    assert wish("gpu01", own) == {"vm": "one", "wanted": {"numa_node_affinity": [1], "gpu_pci_ids": None}}


def test_vm_that_cannot_be_read_has_nothing_pending() -> None:
    """Also where an earlier stage has published what it read."""
    read = {
        "failed": False, "vm": "one", "vm_moid": "vm-1", "esxi_host": "esx01", "esxi_host_moid": "host-1",
        "power_state": "poweredOn", "changes": [], "resolved": {"a": 1}, "settings": {"k": "v"},
    }  # fmt: skip
    lost = {"failed": True, "msg": "gone", "vm_connection_state": "disconnected", "error_code": "refused"}
    (waiting,) = vms_published([{"batch": {"nodes": ["a"]}, "vms": [{**read, "changes": [{}]}], "vcenter_uuid": "a"}])
    assert waiting["outcome"]["verified"] is False
    results = [{"batch": {"nodes": ["gpu01", "gpu02"]}, "vms": [read, lost], "vcenter_uuid": "a"}]
    first, second = vms_published(results)
    assert time.time() - first["pending"].pop("at") < 600
    assert first == {
        "host": "gpu01", "unread": {},
        "outcome": {"changed": False, "verified": True, "found": {"k": "v"}, "changes": []},
        "pending": {
            "vm": "one", "vm_moid": "vm-1", "esxi_host": "esx01", "esxi_host_moid": "host-1", "vcenter_uuid": "a",
            "power_state": "poweredOn", "changes": [], "wanted": {"a": 1}, "found": {"k": "v"},
        },
    }  # fmt: skip
    assert second == {
        "host": "gpu02", "pending": {}, "unread": {"msg": "gone", "vm_connection_state": "disconnected"}, "outcome": {},
    }  # fmt: skip


def test_entry_points_for_one_vm_and_for_all_publish_the_same_keys() -> None:
    tasks = yaml.safe_load((ROOT / "roles" / "gpu_vm" / "tasks" / "pending.yml").read_text())
    (facts,) = (task["ansible.builtin.set_fact"] for task in tasks if "ansible.builtin.set_fact" in task)
    read = dict.fromkeys(
        ("vm", "vm_moid", "esxi_host", "esxi_host_moid", "power_state", "changes", "resolved", "settings")
    )
    (one,) = vms_published([{"batch": {"nodes": ["a"]}, "vms": [{"failed": False, **read}], "vcenter_uuid": "a"}])
    assert set(one["pending"]) == set(facts["gpu_vm_pending"])


def templated(path: str, module: str, option: str, **variables: Any) -> Any:
    tasks = yaml.safe_load((ROOT / path).read_text())
    (task,) = [one for one in tasks if module in one]
    own = {
        name: trust_as_template(text) if isinstance(text, str) else text for name, text in task.get("vars", {}).items()
    }
    return Templar(loader=DataLoader(), variables={**own, **variables}).template(
        trust_as_template(task[module][option])
    )


@pytest.mark.parametrize(
    ("inventory", "play", "settings"),
    [
        ({"a": {"only": 1}}, {}, {"a": {"only": 1}, "b": {"atsSupport": True}}),
        ({"b": {"only": 1}}, {}, {"a": {"atsSupport": True}, "b": {"only": 1}}),
        ({}, {"of_the_play": 1}, {"a": {"of_the_play": 1}, "b": {"of_the_play": 1}}),
    ],
)
def test_settings_that_the_inventory_gives_one_host_are_no_other_hosts(
    inventory: dict[str, Any], play: dict[str, Any], settings: dict[str, Any]
) -> None:
    """The task is played once, for the first host ``a``, whose variables are all that it sees of the role's own."""
    role = variables_of("esxi_host")
    assert role["__esxi_host_default"] == role["esxi_host_kernel_settings"]
    hostvars = {name: {"esxi_host_kernel_settings": inventory[name]} if name in inventory else {} for name in "ab"}
    seen = {**role, **({"esxi_host_kernel_settings": play} if play else {}), **hostvars["a"]}
    found = {
        name: templated(
            "roles/esxi_host/tasks/call.yml", "rocemesh.multinode.esxi_kernel_setting", "settings",
            **seen, hostvars=hostvars, inventory_hostname="a", batch={"hosts": [name], "names": [name]},
        )
        for name in "ab"
    }  # fmt: skip
    assert found == settings


@pytest.mark.parametrize("own", [{}, {"esxi_host_name": "esx01.example.org"}])
def test_pci_devices_are_asked_of_the_host_as_vcenter_calls_it(own: dict[str, str]) -> None:
    asked = templated(
        "playbooks/tasks/pci.yml", "rocemesh.multinode.esxi_pci_info", "esxi_hostname", inventory_hostname="a", **own
    )
    assert asked == own.get("esxi_host_name", "a")
