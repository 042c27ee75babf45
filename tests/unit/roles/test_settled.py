"""A run with nothing to change leaves the tasks out that change: each thing that is not as wanted brings them back."""

from __future__ import annotations

import copy
import time
from typing import Any, Iterator

import pytest
import yaml

from tests.unit.roles import conditions
from tests.unit.roles.collection import ROOT

DIGEST = "sha256:" + "a1" * 32
WELL = {"operations": [], "reboot_required": False, "problems": [], "waiting": []}
GUEST: dict[str, Any] = {
    "__guest_supported": {"problems": []},
    "__guest_node": {"tools": ["mstconfig", "lspci", "setpci"], "layers": dict.fromkeys(("ats", "gpus"), WELL)},
}


def holds(role: str, name: str, variables: dict[str, Any]) -> bool:
    known = {**conditions.variables_of(role), "inventory_hostname": "gpu01", "ansible_check_mode": False, **variables}
    return conditions._Judge(known)(name)


def layers(**changes: Any) -> dict[str, Any]:
    return {"__guest_node": {**GUEST["__guest_node"], "layers": {"ats": WELL, "gpus": {**WELL, **changes}}}}


def test_a_guest_that_is_right_is_left_alone() -> None:
    assert holds("guest", "__guest_settled", GUEST)
    assert holds("guest", "__guest_settled", {**GUEST, "guest_mtu": "9000"})


@pytest.mark.parametrize(
    "change",
    [
        {"guest_ofed_profile": "guide"},
        {"guest_peer_memory": "auto"},
        {"guest_qos_enabled": "true"},
        {"guest_mtu": 100},
        {"__guest_supported": {"problems": ["gpu01: SLES 15"]}},
        {"__guest_node": {**GUEST["__guest_node"], "tools": ["lspci", "setpci"]}},
        {"__guest_node": {**GUEST["__guest_node"], "tools": ["mstconfig"]}},
        layers(operations=[{"description": "set it"}]),
        layers(failed=True),
        layers(problems=["no driver"]),
        layers(waiting=["no driver yet"]),
        {"__guest_node": {**GUEST["__guest_node"], "layers": {"ats": {**WELL, "reboot_required": True}}}},
    ],
)
def test_what_is_not_right_in_a_guest_is_worked_on(change: dict[str, Any]) -> None:
    assert not holds("guest", "__guest_settled", {**GUEST, **change})


class Clock:
    def timestamp(self) -> float:
        return time.time()


AT = time.time()


class Soon:
    """A second after the readings, however long the tests before this one took."""

    def timestamp(self) -> float:
        return AT + 1


# Read by preflight of this run, which let it go on.
LOOKED: dict[str, Any] = {
    "now": Soon,
    "__guest_layers": {"ats": {"state": "enabled"}},
    "hostvars": {"localhost": {"preflight_outcome": {"ready": True}}},
    "guest_reading": {
        **GUEST["__guest_node"],
        "asked": {"controller_time": AT, "layers": {"ats": {"state": "enabled"}}},
    },
}


def test_what_preflight_read_and_found_right_is_not_read_again() -> None:
    assert holds("guest", "__guest_known", LOOKED)
    before = {"guest_pending": {"at": str(LOOKED["guest_reading"]["asked"]["controller_time"] - 60)}}
    assert holds("guest", "__guest_known", {**LOOKED, **before})


def reading(**changes: Any) -> dict[str, Any]:
    return {"guest_reading": {**LOOKED["guest_reading"], **changes}}


@pytest.mark.parametrize(
    "change",
    [
        {"hostvars": {}},
        {"hostvars": {"localhost": {"preflight_outcome": {"ready": False}}}},
        {"hostvars": {"localhost": {"preflight_outcome": {"ready": True}, "window_restarted": True}}},
        {"guest_reading": {"unreachable": True, "msg": "no route"}},
        {"guest_reading": {"failed": True, "msg": "no Python"}},
        {"__guest_layers": {"ats": {"state": "disabled"}}},
        {"guest_pending": {"at": str(AT + 600)}},
        {"guest_mtu": 100},
        reading(asked={**LOOKED["guest_reading"]["asked"], "controller_time": AT - 700}),
        reading(tools=["lspci", "setpci"]),
        reading(layers={"ats": {**WELL, "operations": [{"description": "set it"}]}}),
    ],
)
def test_a_guest_that_preflight_did_not_find_right_is_read(change: dict[str, Any]) -> None:
    assert not holds("guest", "__guest_known", {**LOOKED, **change})
    without = {key: value for key, value in LOOKED.items() if key != "guest_reading"}
    assert not holds("guest", "__guest_known", without)


NODE: dict[str, Any] = {
    "listens": True, "podman": False, "old": False, "rdma": True, "engine": {"rc": 0, "stderr": "25"}, "requests": True,
    "gpu": False, "toolkit": False, "ctk": False, "package": "", "runtime": False, "configured": False, "cdi": False,
    "gpu_nodes": [], "mesh": {"isdir": True, "place": "1:2"}, "mesh_start": True, "ca": "", "runs": "sha256:1",
    "images": [{"Id": "sha256:1", "RepoDigests": [f"registry:5000/multinode@{DIGEST}"]}],
    "state": {"pending": [], "running": [], "live_restore": False}, "inside": {"rc": 0, "stdout": ""},
}  # fmt: skip
CONTAINER: dict[str, Any] = {
    "__container_repository": "registry:5000/multinode",
    "__container_tag": "1",
    "container_registry": "registry:5000",
    "container_build_host": "gpu01",
    "ansible_play_hosts": ["gpu01", "gpu02"],
    "hostvars": {"gpu01": {}},
}


def running(node: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Container as it would be after the role has started it on this node."""
    wanted = {**CONTAINER, "__container_node": node}
    known = {**conditions.variables_of("container"), "inventory_hostname": "gpu01", **wanted}
    label = conditions._Judge(known).said("{{ __container_request_hash }}").strip()
    seen = {
        "Image": "sha256:1", "State": {"Running": True}, "Config": {"Labels": {"io.rocemesh.request": label}},
        "HostConfig": {
            "RestartPolicy": {"Name": "unless-stopped"}, "Binds": ["/etc/rocemesh/mesh/container:/root/.ssh:ro"],
        },
    }  # fmt: skip
    inside = {"mounted": "1:2", "sshd": "read"}
    inside.update({key: changes.pop(key) for key in inside if key in changes})
    return {**node, "seen": {"info": {"exists": True, "container": {**seen, **changes}}, "inside": inside}}


def test_a_container_that_runs_as_asked_for_is_left_alone() -> None:
    assert holds("container", "__container_settled", {**CONTAINER, "__container_node": running(NODE)})


def test_a_check_that_holds_has_its_message_as_well() -> None:
    """Before ansible-core 2.19 a variable is templated with all that it names, whether that is needed or not."""
    known = {**conditions.variables_of("container"), "inventory_hostname": "gpu01", **CONTAINER}
    judge = conditions._Judge({**known, "ansible_check_mode": False, "__container_node": running(NODE)})
    assert all(type(each["message"]) is str for each in judge.said("{{ __container_checks_before }}"))
    assert judge.said("{{ __container_ca_wanted }}").strip() == ""


@pytest.mark.parametrize(
    "change",
    [
        {"__container_node": running(NODE, Image="sha256:2")},
        {"__container_node": running(NODE, State={"Running": False})},
        {"__container_node": running(NODE, Config={"Labels": None})},
        {"__container_node": running(NODE, HostConfig={"RestartPolicy": {"Name": "no"}})},
        {"__container_node": running(NODE, mounted="1:3")},
        {"__container_node": running(NODE, sshd="stale")},
        {"__container_node": running(NODE, sshd="none")},
        {"__container_node": {**running(NODE), "mesh_start": False}},
        {"__container_node": {**running(NODE), "mesh": {"isdir": False, "place": "1:2"}}},
        {"__container_node": {**running(NODE), "images": []}},
        {"__container_node": {**NODE, "seen": {"info": {"exists": False, "container": {}}, "inside": {}}}},
        {"container_env": {"A": "b"}},
        {"container_shm_size": "2g"},
        {"container_gpus": "all"},
        {"container_engine": "podman"},
    ],
)
def test_a_container_that_is_not_as_asked_for_is_made_again(change: dict[str, Any]) -> None:
    assert not holds("container", "__container_settled", {**CONTAINER, "__container_node": running(NODE), **change})


REFERENCE = "registry:5000/multinode:1"
PLAIN = "registry:5000/multinode:latest"
IMAGE: dict[str, Any] = {
    **CONTAINER,
    "__container_node": NODE,
    "__container_answers": {"images": {REFERENCE: DIGEST, PLAIN: DIGEST}},
}


def test_an_image_that_is_there_is_left_alone() -> None:
    assert holds("container", "__container_image_settled", IMAGE)
    worker = {
        **IMAGE,
        "inventory_hostname": "gpu02",
        "hostvars": {"gpu01": {"__container_answers": {"images": {REFERENCE: DIGEST}}}},
        # It has not asked.
        "__container_answers": {"skipped": True, "changed": False},
    }
    assert holds("container", "__container_image_settled", worker)
    assert holds(
        "container",
        "__container_image_settled",
        {**IMAGE, "container_registry_ca_path": "x", "__container_ca_wanted": ""},
    )
    told = {**NODE, "gpu": True, "toolkit": True, "ctk": True, "runtime": True, "configured": True}
    assert holds("container", "__container_image_settled", {**IMAGE, "__container_node": told})


@pytest.mark.parametrize(
    "change",
    [
        {"__container_answers": {"images": {REFERENCE: "", PLAIN: DIGEST}}},
        {"__container_answers": {"images": {REFERENCE: "sha256:other", PLAIN: "sha256:other"}}},
        {"__container_answers": {"images": {REFERENCE: DIGEST, PLAIN: "sha256:other"}}},
        {"__container_answers": {"skipped": True}},
        {"__container_node": {**NODE, "images": []}},
        {"__container_node": {**NODE, "engine": {"rc": 1, "stderr": ""}}},
        {"__container_node": {**NODE, "requests": False}},
        {"__container_node": {**NODE, "podman": True}},
        {"__container_node": {**NODE, "state": {**NODE["state"], "pending": ["runtime nvidia"]}}},
        {"__container_node": {**NODE, "gpu": True}},
        {"__container_node": {**NODE, "gpu": True, "toolkit": True, "ctk": True, "runtime": True}},
        {"__container_node": {**NODE, "gpu": True, "toolkit": True, "ctk": True, "configured": True}},
        {"container_toolkit": "present"},
        {"container_registry_ca_path": "ca.crt", "__container_ca_wanted": "another"},
    ],
)
def test_an_image_that_is_not_there_or_not_to_be_used_is_worked_on(change: dict[str, Any]) -> None:
    assert not holds("container", "__container_image_settled", {**IMAGE, **change})


FOUND: dict[str, Any] = {
    **IMAGE,
    "now": Soon,
    "__container_checked": ["as asked"],
    "__container_asked_for": ["as asked"],
    "__container_node": {**running(NODE), "at": AT},
    "mesh_files": {"changed": False},
    "mesh_head_files": {"skipped": True, "changed": False},
}


def test_a_node_that_stage_image_found_right_is_not_read_again() -> None:
    assert holds("container", "__container_known", FOUND)
    # As YAML reads off without quotes.
    assert holds("container", "__container_known", {**FOUND, "container_nccl_topology": False})
    # The role mesh is not part of every play.
    alone = {key: value for key, value in FOUND.items() if not key.startswith("mesh_")}
    assert holds("container", "__container_known", alone)


@pytest.mark.parametrize(
    "change",
    [
        {"__container_checked": ["something else"]},
        {"__container_node": {**FOUND["__container_node"], "at": AT - 700}},
        {"__container_node": running(NODE)},
        {"mesh_files": {"changed": True}},
        {"mesh_head_files": {"changed": True}},
        {"container_nccl_topology": "auto"},
        # Whatever is started has to know what runs in it now.
        {"__container_node": {**running(NODE, State={"Running": False}), "at": AT}},
        {"__container_node": {**running(NODE, sshd="stale"), "at": AT}},
        {"container_env": {"A": "b"}},
        # Built or pulled since.
        {"__container_answers": {"images": {REFERENCE: DIGEST, PLAIN: "sha256:other"}}},
        {"__container_node": {**running({**NODE, "images": []}), "at": AT}},
    ],
)
def test_a_node_of_which_run_does_not_know_all_is_read(change: dict[str, Any]) -> None:
    assert not holds("container", "__container_known", {**FOUND, **change})
    unread = {key: value for key, value in FOUND.items() if key != "__container_node"}
    assert not holds("container", "__container_known", unread)


@pytest.mark.parametrize("option", ["container_name", "container_user", "container_engine", "container_registry"])
def test_a_reading_is_of_one_request(option: str) -> None:
    assert option in conditions.variables_of("container")["__container_asked_for"]


MESH: dict[str, Any] = {
    "container_outcome": {"verified": True},
    "__mesh_peers": [{}, {}],
    "ansible_play_hosts_all": ["gpu01", "gpu02"],
}


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ({}, True),
        ({"container_name": "other"}, False),
        ({"container_name": "other", "mesh_container_name": "other"}, True),
        ({"container_outcome": {"verified": None}}, False),
        ({"container_outcome": {}}, False),
        ({"__mesh_peers": [{}]}, False),
        ({"ansible_check_mode": True}, False),
    ],
)
def test_the_mesh_reads_what_this_run_does_not_know(change: dict[str, Any], known: bool) -> None:
    assert holds("mesh", "__mesh_known", {**MESH, **change}) is known
    assert not holds("mesh", "__mesh_known", {"ansible_play_hosts_all": ["gpu01"]})


READINGS = yaml.safe_load((ROOT / "playbooks/vars/readings.yml").read_text())


def known_site() -> dict[str, Any]:
    at = time.time()
    vm = {
        "gpu_vm_pending": {"power_state": "poweredOn", "changes": [], "at": at},
        # Older releases of ansible-core keep it as text.
        "guest_pending": {"active": True, "reboot_required": False, "at": str(at)},
        "guest_outcome": {"verified": True},
        "guest_reading": {"system": {}},
    }
    return {"gpu01": vm, "gpu02": copy.deepcopy(vm), "localhost": {}}


def listed(name: str, hosts: dict[str, Any]) -> list[str]:
    known = {**conditions._trusted(READINGS), "now": Clock, "hostvars": hosts}
    known["groups"] = {"gpu_vms": ["gpu01", "gpu02"]}
    return sorted(conditions._Judge(known).said("{{ " + name + " }}"))


def test_vms_that_were_just_found_right_are_not_read_again() -> None:
    assert listed("site_unsettled", known_site()) == []


@pytest.mark.parametrize(
    ("fact", "changes"),
    [
        ("gpu_vm_pending", {"power_state": "poweredOff"}),
        ("gpu_vm_pending", {"changes": [{"key": "x"}]}),
        ("gpu_vm_pending", {"at": time.time() - 700}),
        ("guest_pending", {"active": False}),
        ("guest_pending", {"reboot_required": True}),
        ("guest_pending", {"at": "1000.5"}),
    ],
)
def test_a_vm_of_which_something_is_not_right_or_old_is_read(fact: str, changes: dict[str, Any]) -> None:
    hosts = known_site()
    hosts["gpu02"][fact].update(changes)
    assert listed("site_unsettled", hosts) == ["gpu02"]


@pytest.mark.parametrize("fact", ["gpu_vm_pending", "guest_pending", "guest_outcome"])
def test_a_vm_of_which_nothing_is_known_is_read(fact: str) -> None:
    hosts = known_site()
    del hosts["gpu02"][fact]
    assert listed("site_unsettled", hosts) == ["gpu02"]
    if fact != "guest_outcome":
        assert listed("site_unsettled", {**hosts, "gpu02": {**hosts["gpu02"], fact: {}}}) == ["gpu02"]


@pytest.mark.parametrize("said", ["window_restarted", "window_hosts_wait"])
def test_after_a_restart_and_before_one_all_are_read(said: str) -> None:
    assert listed("site_unsettled", {**known_site(), "localhost": {said: True}}) == ["gpu01", "gpu02"]


def tasks_of(part: Any) -> Iterator[dict[str, Any]]:
    for each in part if isinstance(part, list) else ():
        yield each
        for key in ("tasks", "block", "rescue", "always"):
            yield from tasks_of(each.get(key))


@pytest.mark.parametrize("name", ["reboot", "recover", "power"])
def test_whatever_restarts_a_machine_says_that_readings_are_old(name: str) -> None:
    """Else stages believe, and the report judges, what preflight read of a VM that was off."""
    tasks = list(tasks_of(yaml.safe_load((ROOT / "playbooks" / f"{name}.yml").read_text())))
    assert [task.get("ansible.builtin.import_tasks") for task in tasks].count("tasks/restarted.yml") == 1
    (said,) = yaml.safe_load((ROOT / "playbooks/tasks/restarted.yml").read_text())
    assert (
        said["ansible.builtin.set_fact"] == {"window_restarted": True}
        and said["delegate_to"] == "localhost"
        and said["delegate_facts"]
    )


@pytest.mark.parametrize("restarted", [True, False])
def test_the_report_judges_no_reading_of_vcenter_from_before_a_restart(restarted: bool) -> None:
    (task,) = yaml.safe_load((ROOT / "playbooks/tasks/report_site.yml").read_text())[-1:]
    reading = {"vms": [{"asked": "gpu01", "power": "poweredOff"}]}
    hosts = {"esx01": {"preflight_reading": reading}, "localhost": {"window_restarted": restarted}}
    known = {"hostvars": hosts, "groups": {"esxi_hosts": ["esx01"]}}
    said = conditions._Judge(conditions._trusted(known)).said(task["vars"]["report_evidence"]["vcenter"])
    assert said == ({} if restarted else reading)


def test_only_those_that_have_not_answered_are_asked_to_log_in() -> None:
    hosts = known_site()
    hosts["gpu01"]["guest_reading"] = {"unreachable": True, "msg": "no route"}
    del hosts["gpu02"]["guest_reading"]
    assert listed("site_vms | difference(site_vms_answered)", hosts) == ["gpu01", "gpu02"]
    assert listed("site_vms | difference(site_vms_answered)", known_site()) == []
