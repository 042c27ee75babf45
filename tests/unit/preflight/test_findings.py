"""Preflight: a right site is quiet; each fault alone is named with place, value and remedy; ten at once are ten."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.rocemesh.multinode.plugins.action import preflight
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.finding import Finding
from ansible_collections.rocemesh.multinode.plugins.module_utils._preflight import (
    controller,
    devices,
    layers,
    nodes,
    values,
    variables,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._preflight.findings import grouped, line, summary
from ansible_collections.rocemesh.multinode.plugins.module_utils._site import systems

from tests.older_core import trust_as_template
from tests.unit.preflight.faults import CAUTIONS, DRIVER, NONE, PROBLEMS, Fault, Put, gpus, site
from tests.unit.roles.collection import PLAYBOOKS, ROOT, load

KNOWN = {"switch_vlan", "switch_ports", "switch_password", "guest_mtu", "rocemesh_slots", "rocemesh_address"}
PREFIXES = {"switch_", "guest_", "rocemesh_"}


def found(told: dict[str, Any]) -> list[Finding]:
    seen = {**told["controller"], "programs": frozenset(told["controller"]["programs"])}
    wanted = {name: told[name] for name in ("slots", "toolkit_repository", "parts", "unlisted", "look")}
    wanted["gpu"] = told["wishes"]
    asleep = devices.asleep(told["vcenter"])
    return [
        *controller.judge(told["groups"], **seen),
        *variables.groups(told["groups"]),
        *variables.unread(told["variables"], KNOWN, PREFIXES),
        *(variables.unset(*need) for need in told["needs"]),
        *(each for *words, seen_there in told["files"] for each in variables.file(*words, **seen_there)),
        *devices.switch("sw01", told["switch"]),
        *devices.vcenter(told["vcenter"], ["gpu01", "gpu02"], windows=told["windows"], dry=told["dry"]),
        *nodes.judge("gpu01", told["gpu01"], {**wanted, "asleep": asleep.get("gpu01", "")}),
        *nodes.judge("gpu02", told["gpu02"], {**wanted, "asleep": asleep.get("gpu02", "")}),
    ]


def test_a_right_site_is_quiet() -> None:
    told = summary(found(site()), ["controller"])
    assert (told["ready"], told["problems"], told["cautions"], told["table"]) == (True, [], [], [])


def test_the_table_of_faults_is_as_long_as_promised() -> None:
    assert len(PROBLEMS) >= 46 and len(CAUTIONS) >= 16
    assert len({fault.name for fault in [*PROBLEMS, *CAUTIONS]}) == len(PROBLEMS) + len(CAUTIONS)


class Hostvars(dict[str, dict[str, Any]]):
    raw_get = dict.__getitem__


CUDA = {"container_build_dockerfile": "multinode/Dockerfile.ngc"}
MMIO = {"gpu_vm_wanted": {"mmio_size_gb": 256}}
MUTE = {"driver": {**NONE, "installed": DRIVER}, "gpus": None, "usable": False}  # on the disk, and not loaded


def of_gpus(variables_of_host: dict[str, Any], **changes: Any) -> list[tuple[str, str]]:
    """Level and thing of what is found of a VM with these GPUs."""
    reading = {**site()["gpu01"], "gpu": {**gpus(), **changes}}
    options = {"switches": {}, "nodes": {"gpu01": reading}, "vcenter": [], "windows": False, "dry": False}
    told = preflight._devices(options, Hostvars(gpu01=variables_of_host), {"gpu_vms": ["gpu01"]}, set())
    return sorted((finding.level, finding.thing) for finding in told)


@pytest.mark.parametrize(
    ("variables_of_host", "level"),
    [
        ({}, "problem"),
        ({"gpu_vm_wanted": {"allow_p2p": True}}, "problem"),
        ({"gpu_vm_wanted": None}, "problem"),
        (MMIO, "warning"),
        ({"gpu_vm_wanted": {"use_64bit_mmio": True}}, "warning"),
    ],
)
def test_a_driver_that_waits_for_mmio_space_stops_no_run(variables_of_host: dict[str, Any], level: str) -> None:
    assert (level, "NVIDIA driver") in of_gpus({**CUDA, **variables_of_host}, **MUTE)


def test_no_mmio_space_brings_a_driver_onto_the_disk() -> None:
    assert of_gpus({**CUDA, **MMIO}, **{**MUTE, "driver": {**NONE, "installed": ""}}) == [("problem", "NVIDIA driver")]


@pytest.mark.parametrize(
    ("fabric", "level"),
    [
        ({"installed": False, "version": "", "state": "", "enabled": ""}, "problem"),
        ({"installed": True, "version": "550.54.14", "state": "failed", "enabled": "enabled"}, "problem"),
        ({"installed": True, "version": DRIVER, "state": "failed", "enabled": "enabled"}, ""),
    ],
    ids=["missing", "of_another_version", "waits_for_the_driver"],
)
def test_what_fabric_manager_lacks_on_the_disk_is_a_problem_before_the_window(fabric: Any, level: str) -> None:
    told = of_gpus({**CUDA, **MMIO}, **MUTE, fabric_manager=fabric)
    assert told == [*([(level, "Fabric Manager")] if level else []), ("warning", "NVIDIA driver")]


@pytest.mark.parametrize(
    ("variables_of_host", "thing"), [({}, "image"), ({**CUDA, "rocemesh_slots": 9}, "rocemesh_slots")], ids=str
)
def test_ranks_and_image_are_judged_although_the_driver_waits(variables_of_host: Any, thing: str) -> None:
    told = of_gpus({**variables_of_host, **MMIO}, **MUTE)
    assert told == [("problem", thing), ("warning", "NVIDIA driver")]


@pytest.mark.parametrize("fault", PROBLEMS, ids=lambda fault: fault.name)
def test_a_fault_alone_stops_the_run_and_is_named_with_a_remedy(fault: Fault) -> None:
    told = site()
    fault.change(told)
    result = summary(found(told), [])
    assert not result["ready"]
    named = [finding for finding in result["problems"] if finding["place"] == fault.place]
    assert any(fault.words in " ".join(finding.values()) for finding in named), result["problems"]
    assert all(finding["remedy"] and finding["text"] for finding in result["problems"])


@pytest.mark.parametrize("fault", CAUTIONS, ids=lambda fault: fault.name)
def test_what_is_no_fault_is_named_and_stops_nothing(fault: Fault) -> None:
    told = site()
    fault.change(told)
    result = summary(found(told), [])
    assert result["ready"]
    assert any(fault.words in " ".join(each.values()) for each in result["cautions"] if each["place"] == fault.place)


@pytest.mark.parametrize("seed", range(40))
def test_ten_faults_at_once_are_all_named_in_one_run(seed: int) -> None:
    chosen: list[Fault] = []
    for fault in random.Random(seed).sample(PROBLEMS, len(PROBLEMS)):
        # Without a group nothing of it is asked.
        if fault.change.path[0] != "groups" and not any(fault.change.meets(other.change) for other in chosen):
            chosen.append(fault)
    chosen = chosen[:10]
    assert len(chosen) == 10
    told = site()
    for fault in chosen:
        fault.change(told)
    text = "\n".join(summary(found(told), [])["table"])
    assert not [fault.name for fault in chosen if fault.words not in text], text


def test_the_same_fault_of_many_nodes_is_one_line() -> None:
    told = site()
    for name in ("gpu01", "gpu02"):
        told[name]["gpu"]["gpus"] = told[name]["gpu"]["gpus"][:7]
    (line,) = summary(found(told), [])["table"]
    assert line.startswith("! gpu01, gpu02: NVIDIA driver: ")
    assert len(summary(found(told), [])["problems"]) == 2


def test_fault_of_very_many_nodes_names_some_of_them_in_the_table() -> None:
    given = [Finding(f"gpu{number:03d}", "ssh", "no answer", "look") for number in range(256)]
    (line,) = summary(given, [])["table"]
    assert "gpu019 and 236 more: ssh: " in line and len(summary(given, [])["problems"]) == 256


def test_a_missing_library_is_named_once_and_not_by_every_device() -> None:
    told = site()
    told["controller"]["libraries"]["pyVmomi"] = None
    told["vcenter"] = {"failed": True, "msg": "Failed to import the required Python library (pyvmomi) on ctl's Python"}
    assert [finding.thing for finding in found(told)] == ["pyvmomi"]


def test_libraries_and_collections_are_those_of_the_requirements_files() -> None:
    wanted = re.findall(r"(?m)^([A-Za-z0-9_\[\]-]+)>=([\d.]+),<([\d.]+)", (ROOT / "requirements.txt").read_text())
    libraries = controller.needs("libraries").values()
    assert {(each["project"], each["least"], each["below"]) for each in libraries} == set(wanted)
    ranges = load(ROOT / "galaxy.yml")["dependencies"]
    own = controller.needs("collections").items()
    assert {name: f">={each['least']},<{each['below']}" for name, each in own} == ranges
    assert load(ROOT / "meta" / "runtime.yml")["requires_ansible"] == f">={controller.LEAST_ANSIBLE}.0"


def test_site_variables_are_those_that_roles_and_playbooks_read() -> None:
    files = [*PLAYBOOKS, *(ROOT / "playbooks").glob("vars/*.yml"), *(ROOT / "roles").glob("**/*.yml")]
    read = {name for path in files for name in re.findall(r"\brocemesh_[a-z_]+", path.read_text())}
    assert read == set(values.table("site"))


def test_lines_keep_place_thing_and_remedy() -> None:
    (finding,) = grouped([Finding("sw01", "switch_vlan", "it is not set.", "set it.")])
    assert line(finding) == "! sw01: switch_vlan: it is not set. What to do: set it."


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Put(("vcenter", "vms", 0, "power"), "poweredOff"), "the VM is off"),
        (Put(("vcenter", "hosts", 0, "connection"), "notResponding"), "its host esx01 is not at work"),
        (Put(("vcenter", "hosts", 0, "maintenance"), True), "its host esx01 is not at work"),
        (Put(("vcenter", "vms", 0, "tools"), "guestToolsNotRunning"), "its guest has not come up"),
    ],
)
def test_a_vm_that_an_interrupted_run_left_off_does_not_stop_the_run_that_brings_it_up(change: Put, words: str) -> None:
    told = site()
    told["gpu01"] = {"unreachable": True, "msg": "no route"}
    assert not summary(found(told), [])["ready"]
    change(told)
    result = summary(found(told), [])
    assert result["ready"], result["problems"]
    assert any(words in row["text"] for row in result["cautions"] if row["place"] == "gpu01")


CHANGED_KEY = (
    "@@@@@@@@@@@@@@@@@@@@\r\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n@@@@@@@@@@@@@@@@@@@@\r\n"
    "Offending ED25519 key in /root/.ssh/known_hosts:4"
)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("Timeout (12s) waiting for privilege escalation prompt: ", "load"),
        (CHANGED_KEY, "ssh-keygen -R"),
        ("Connection refused", "ansible -m ping"),
    ],
)
def test_what_ssh_says_decides_what_to_do(message: str, words: str) -> None:
    told = site()
    told["gpu01"] = {"unreachable": True, "msg": message}
    (row,) = [row for row in summary(found(told), [])["problems"] if (row["place"], row["thing"]) == ("gpu01", "ssh")]
    assert words in row["remedy"] and "@@@" not in row["text"]


@pytest.mark.parametrize(("windows", "dry"), [(False, False), (True, True)], ids=["no-restart-allowed", "check-mode"])
def test_a_privilege_that_this_run_does_not_need_stops_nothing(windows: bool, dry: bool) -> None:
    told = site()
    told.update(windows=windows, dry=dry)
    row = {"privilege": "Host.Config.Maintenance", "on": ["esx01"], "needed_for": "reboot"}
    told["vcenter"]["missing_privileges"].append(row)
    result = summary(found(told), [])
    assert result["ready"]
    assert any("Host.Config.Maintenance" in each["thing"] for each in result["cautions"])


def test_the_table_of_systems_is_the_one_that_the_roles_obey() -> None:
    """Whatever that table says of a system and a part, preflight says, and nothing else."""
    names = [(system.names[0], system.version) for system in systems.SYSTEMS] + [
        (name, "1") for name in systems.REFUSED
    ]
    for name, version in [*names, ("Ubuntu", "18.04"), ("Plan 9", "4")]:
        for part in systems.PARTS:
            for unlisted in (False, True):
                told = site()
                told["gpu01"]["system"] = {"distribution": name, "distribution_version": version}
                told["gpu01"]["engine"] = {"version": "", "error": ""}
                told.update(parts=[part], unlisted=unlisted)
                said = [row["text"] for row in summary(found(told), [])["problems"] if row["place"] == "gpu01"]
                assert said == systems.problems(told["gpu01"]["system"], [part], unlisted=unlisted)


def test_an_engine_that_is_there_needs_no_apt() -> None:
    told = site()
    told["gpu01"]["system"] = {"distribution": "Rocky", "distribution_version": "9.5"}
    told["parts"] = ["engine"]
    assert summary(found(told), [])["ready"]


@pytest.mark.parametrize(
    ("variables_of_host", "key", "expected"),
    [
        ({}, "parts", ["ats", "mstflint", "container", "mesh", "engine"]),
        ({"guest_ofed_profile": "none", "container_install_engine": "false"}, "parts", ["ats", "container", "mesh"]),
        ({"guest_ofed_profile": "current"}, "parts", ["ats", "current", "container", "mesh", "engine"]),
        ({"rocemesh_allow_unlisted_system": "true"}, "unlisted", True),
        ({"guest_allow_unlisted_system": "no", "rocemesh_allow_unlisted_system": "yes"}, "unlisted", False),
        ({"guest_check_gpus": "false"}, "look", False),
    ],
)
def test_what_is_done_on_a_host_follows_from_its_variables(
    variables_of_host: dict[str, Any], key: str, expected: object
) -> None:
    assert preflight._wishes(Hostvars(gpu01=variables_of_host), "gpu01")[key] == expected


@pytest.mark.parametrize(
    ("variables_of_host", "image"),
    [
        ({}, "cpu"),
        ({"container_build": "false"}, ""),
        ({"container_build_dockerfile": "multinode/Dockerfile.ngc"}, ""),
        ({"container_build_context": "/mine"}, ""),
        ({"container_build_args": {"BASE": "mine"}}, ""),
        ({"container_build_args": {"BASE": "mine"}, "rocemesh_simulated": "true"}, "cpu"),
    ],
)
def test_the_image_is_judged_as_the_stage_guest_judges_it(variables_of_host: dict[str, Any], image: str) -> None:
    assert preflight._wishes(Hostvars(gpu01=variables_of_host), "gpu01")["gpu"]["image"] == image
    told = load(ROOT / "playbooks/vars/guest.yml")["guest_image"]
    rendered = Templar(DataLoader(), variables_of_host).template(trust_as_template(told))
    assert str(rendered).strip() == image


def test_gpus_that_nobody_looks_at_stop_nothing() -> None:
    told = site()
    told.update(look=False, slots=1)
    told["gpu01"]["gpu"]["gpus"] = told["gpu01"]["gpu"]["gpus"][:7]
    result = summary(found(told), [])
    assert result["ready"] and {row["thing"] for row in result["cautions"]} == {"NVIDIA driver", "rocemesh_slots"}


# ---------------------------------------------------------------- several vCenters
def of_vcenters(*readings: dict[str, Any], hostvars: dict[str, dict[str, Any]], nodes: dict[str, Any]) -> list[Finding]:
    groups = {group: [host for host in hostvars if host.startswith(start)] for group, start in GROUPS.items()}
    options = {"switches": {}, "nodes": nodes, "vcenter": list(readings), "windows": False, "dry": False}
    found = list(preflight._devices(options, Hostvars(hostvars), groups, set()))
    for reading, names, _vms in preflight._vcenters(readings, Hostvars(hostvars), groups):
        found += layers.placement(reading, names)
    return found


GROUPS = {"esxi_hosts": "esx", "gpu_vms": "gpu"}
ON_B = {"rocemesh_vcenter_hostname": "b.example.com"}
COPY = {
    "esx01": {}, "gpu01": {},
    "esx02": {**ON_B, "esxi_host_name": "esx01"}, "gpu02": {**ON_B, "gpu_vm_name": "gpu01"},
}  # fmt: skip


def on_vcenter(uuid: str, first: str, power: str = "poweredOn", **host: Any) -> dict[str, Any]:
    return {
        "vcenter": uuid, "vcenter_uuid": uuid, "batch": {"first": first}, "missing_privileges": [],
        "hosts": [{"asked": "esx01", "problem": "", "name": "esx01", "connection": "connected", **host}],
        "vms": [{"asked": "gpu01", "problem": "", "power": power, "esxi_host": "esx01"}],
    }  # fmt: skip


def test_vm_that_is_off_is_that_of_its_own_vcenter() -> None:
    silent = {"unreachable": True, "msg": "no route"}
    told = of_vcenters(
        on_vcenter("a", "esx01"), on_vcenter("b", "esx02", "poweredOff"),
        hostvars=COPY, nodes={"gpu01": silent, "gpu02": silent},
    )  # fmt: skip
    assert [(finding.level, finding.place) for finding in told] == [("problem", "gpu01"), ("warning", "gpu02")]


def test_vm_of_the_other_vcenter_is_a_stranger_here() -> None:
    hostvars = {**COPY, "gpu02": {**ON_B, "gpu_vm_name": "gpu02"}}
    there = {**on_vcenter("b", "esx02", running_vms=["gpu01", "gpu02"]), "vms": []}
    told = of_vcenters(on_vcenter("a", "esx01"), there, hostvars=hostvars, nodes={})
    strangers = [finding for finding in told if finding.thing == "other VMs"]
    assert ["(gpu01)" in finding.text for finding in strangers] == [True]


def test_vm_that_is_named_by_its_id_is_no_stranger() -> None:
    reading = on_vcenter("a", "esx01", running_vms=["trainer 7"])
    reading["vms"][0].update(asked="vm-12", name="trainer 7")
    assert list(devices.vcenter(reading, ["vm-12"], windows=False, dry=False)) == []


def test_vm_and_host_read_on_different_vcenters_are_named() -> None:
    hostvars = {"esx01": {}, "gpu01": ON_B}
    apart = {**on_vcenter("b", "gpu01"), "hosts": []}
    told = of_vcenters({**on_vcenter("a", "esx01"), "vms": []}, apart, hostvars=hostvars, nodes={})
    wrong = [finding for finding in told if finding.level == "problem"]
    assert [finding.place for finding in wrong] == ["gpu01"] and "rocemesh_vcenter_hostname" in wrong[0].remedy


def test_two_logins_to_one_vcenter_are_one_vcenter() -> None:
    hostvars = {"esx01": {}, "gpu01": {"rocemesh_vcenter_username": "of-vms"}}
    apart = {**on_vcenter("a", "gpu01"), "hosts": []}
    told = of_vcenters({**on_vcenter("a", "esx01"), "vms": []}, apart, hostvars=hostvars, nodes={})
    assert [finding for finding in told if finding.level == "problem"] == []


@pytest.mark.parametrize(
    ("reading", "thing", "remedy"),
    [
        (
            {"rc": 1, "module_stderr": "sudo: sorry, you must have a tty to run sudo\n", "msg": "MODULE FAILURE"},
            "sudo",
            "requiretty",
        ),
        ({"msg": "Task failed: Missing sudo password"}, "sudo", "ansible_become_password"),
        ({"rc": 1, "module_stderr": "sudo: a password is required"}, "sudo", "ansible_become_password"),
        ({"rc": 1, "module_stderr": "nvidia is not in the sudoers file."}, "sudo", "ansible_user"),
        (
            {"rc": 127, "module_stderr": "/bin/sh: 1: /usr/bin/python3: not found"},
            "Python",
            "ansible_python_interpreter",
        ),
        (
            {"rc": 127, "module_stderr": "/bin/sh: line 1: /usr/bin/python3: No such file or directory"},
            "Python",
            "ansible_python_interpreter",
        ),
        (
            {"rc": 1, "module_stderr": "SyntaxError: future feature annotations is not defined"},
            "Python",
            "ansible-core",
        ),
        ({"rc": 1, "module_stderr": "something else"}, "node", "look"),
    ],
)
def test_node_that_no_module_runs_on_is_told_what_to_do(reading: dict[str, Any], thing: str, remedy: str) -> None:
    (told,) = nodes.judge("gpu01", {"failed": True, **reading}, {})
    assert (told.level, told.place, told.thing) == ("problem", "gpu01", thing) and remedy in told.remedy


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("switch_os", "warning"),
        ("mesh_id", "warning"),
        ("container_hostname", "warning"),
        ("switch_hots", "problem"),
        ("mesh_icdr", "problem"),
        ("container_nmae", "problem"),
    ],
)
def test_a_name_that_shares_its_prefix_alone_is_no_slip(name: str, level: str) -> None:
    known = {"switch_host", "mesh_cidr", "container_name"}
    (told,) = variables.unread({"sw01": [name]}, known, {"switch_", "mesh_", "container_"})
    assert told.level == level
