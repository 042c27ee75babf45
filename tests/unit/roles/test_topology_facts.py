"""A container that is started without what ESXi says of its devices loses NCCL's topology file."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.rocemesh.multinode.plugins.filter.nccl_topology import nccl_topology

from tests.older_core import trust_as_template
from tests.unit.roles.collection import PLAYBOOKS, load
from tests.unit.roles.conditions import variables_of
from tests.unit.site.test_nccl_topology import GUEST, ONE

_WAYS = ("ansible.builtin.include_role", "ansible.builtin.import_role")
_PCI, _GROUPED, _TOLD = "tasks/pci.yml", "tasks/topology.yml", "vars/topology.yml"
# It only reads: what it could not read is a row of its own.
_GOES_ON = {"drift.yml"}


def flat(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for task in tasks for one in (flat(task["block"]) if "block" in task else [task])]


def starts(play: dict[str, Any]) -> list[dict[str, Any]]:
    asked = {"name": "rocemesh.multinode.container", "tasks_from": "run"}
    found = [task for task in flat(play.get("tasks", [])) for way in _WAYS if way in task]
    return [task for task in found if asked.items() <= {**task.get(_WAYS[0], {}), **task.get(_WAYS[1], {})}.items()]


STARTING = [path for path in PLAYBOOKS if any(starts(play) for play in load(path))]


def test_playbooks_that_start_containers_are_known() -> None:
    assert {"mesh.yml", "remove_host.yml", "drift.yml"} <= {path.name for path in STARTING}


@pytest.mark.parametrize("path", STARTING, ids=lambda path: path.name)
def test_every_start_of_a_container_knows_the_devices(path: Any) -> None:
    done: list[str] = []
    for play in load(path):
        steps = [task.get("ansible.builtin.import_tasks") for task in flat(play.get("tasks", []))]
        if path.name in _GOES_ON or play.get("any_errors_fatal", False):
            done += [step for step in steps if step in (_PCI, _GROUPED)]
        if starts(play):
            assert done == [_PCI, _GROUPED] and _TOLD in play["vars_files"], play["name"]


@pytest.mark.parametrize(("vcenter", "facts"), [({}, [1, 2]), ({"rocemesh_vcenter_hostname": "B"}, [2])])
def test_vm_is_given_the_devices_of_its_own_vcenter(vcenter: dict[str, str], facts: list[int]) -> None:
    (group,) = load(PLAYBOOKS[0].parent / _GROUPED)
    texts = {**load(PLAYBOOKS[0].parent / _TOLD), **group["vars"], **group["ansible.builtin.set_fact"]}
    given = {name: trust_as_template(text) for name, text in texts.items()}
    hosts: dict[str, dict[str, Any]] = {
        f"esx{number}": {"pci_facts": {"devices": [], "number": number}, "rocemesh_vcenter_hostname": name}
        for number, name in ((1, "A"), (2, "B"))
    }
    hosts["esx3"] = {"inventory_hostname": "esx3", "pci_facts": {"skipped": True}}
    known = {**given, **vcenter, "groups": {"esxi_hosts": list(hosts)}, "hostvars": hosts}
    found = Templar(DataLoader(), known).template(given["container_nccl_topology_facts"])
    assert [one["number"] for one in found] == facts
    assert Templar(DataLoader(), known).template(given["topology_silent"]) == ["esx3"]


@pytest.mark.parametrize("name", ["ats.yml", _GROUPED])
def test_variables_of_all_esxi_hosts_are_read_once(name: str) -> None:
    """By each VM it was 6 s of a stage with 64 ESXi hosts and 256 VMs."""
    tasks = [task for each in load(PLAYBOOKS[0].parent / name) for task in flat(each.get("tasks", [each]))]
    reading = [task for task in tasks if "esxi_hosts" in str(task) and "hostvars" in str(task)]
    assert reading and all(task.get("run_once") for task in reading)


@pytest.mark.parametrize(
    ("first", "other", "read"),
    [({}, {}, False), ({"container_nccl_topology": False}, {}, False), ({}, {"container_nccl_topology": "auto"}, True)],
)
def test_devices_are_read_if_a_vm_needs_them(first: dict[str, Any], other: dict[str, Any], read: bool) -> None:
    """Of one that is not the first, too; off without quotes is false."""
    find, task = load(PLAYBOOKS[0].parent / _PCI)
    told = {name: trust_as_template(text) for name, text in load(PLAYBOOKS[0].parent / _TOLD).items()}
    known = {**told, "groups": {"gpu_vms": ["gpu01", "gpu02"]}, "hostvars": {"gpu01": first, "gpu02": other}}
    asked = trust_as_template(find["ansible.builtin.set_fact"]["pci_wanted"])
    assert Templar(DataLoader(), known).template(asked) is read
    assert (find["run_once"], task["when"]) == (True, "pci_wanted")


def test_without_the_devices_another_container_is_asked_for() -> None:
    def volumes(facts: Any) -> Any:
        told = nccl_topology(facts, GUEST, "gpu01", strict=False)
        given = {**variables_of("container"), "container_nccl_topology": "auto", "__container_topology": told}
        return Templar(DataLoader(), given).template(trust_as_template("{{ __container_topology_volumes }}"))

    assert volumes([{"devices": ONE}]) != [] and volumes([]) == []
