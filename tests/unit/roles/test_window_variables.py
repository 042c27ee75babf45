"""What a site may say about its windows reaches the module that carries them out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.rocemesh.multinode.plugins.module_utils._preflight.values import words

from tests.older_core import trust_as_template
from tests.unit.roles.collection import ROOT, load, tasks

REBOOT = "rocemesh.multinode.esxi_reboot"
# The page's table: `rocemesh_NAME` | default | meaning
NAMED = re.findall(r"^\| (`rocemesh_[^|]*`) \|", (ROOT / "docs/maintenance.md").read_text(), re.MULTILINE)
VARIABLES = [name for cell in NAMED for name in re.findall(r"`(rocemesh_\w+)`", cell)]
# In the option of the same name; the others are decided by modules and playbooks of their own.
OPTIONS = {
    "reboot.yml": ["vm_policy", "hard_off", "vsan_mode", "shutdown_timeout", "maintenance_timeout", "reboot_timeout",
                   "power_on_timeout", "lease_seconds"],
    "recover.yml": ["maintenance_timeout", "reboot_timeout", "lease_seconds", "take_over"],
}  # fmt: skip


def call(playbook: str) -> dict[str, Any]:
    (found,) = [task[REBOOT] for task in tasks(ROOT / "playbooks" / playbook) if REBOOT in task]
    return dict(found)


def window_variables() -> dict[str, str]:
    return dict(yaml.safe_load((ROOT / "playbooks/vars/window.yml").read_text()))


def trusted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: trusted(each) for key, each in value.items()}
    return [trusted(each) for each in value] if isinstance(value, list) else trust_as_template(str(value))


def templar(**given: Any) -> Callable[[str], Any]:
    """The value of one of the variables that the playbooks share, or of those that are given."""
    found = Templar(loader=DataLoader(), variables={**trusted(window_variables()), **given})
    return lambda name: found.template(trust_as_template(f"{{{{ {name} }}}}"))


@pytest.mark.parametrize(
    ("playbook", "option"), [(playbook, option) for playbook, options in OPTIONS.items() for option in options]
)
def test_site_variable_reaches_the_window(playbook: str, option: str) -> None:
    told = str(call(playbook)[option])
    for name, template in window_variables().items():  # what the playbooks share
        told = told.replace(name, str(template))
    assert f"rocemesh_{option}" in told
    assert f"rocemesh_{option}" in VARIABLES, "docs/maintenance.md says nothing of it"


@pytest.mark.parametrize("variable", VARIABLES)
def test_documented_variable_is_read_by_the_window_playbooks(variable: str) -> None:
    read = [ROOT / "playbooks" / name for name in ("reboot.yml", "recover.yml", "vars/window.yml")]
    assert any(variable in path.read_text() for path in read)


def test_window_is_bound_to_the_boot_that_it_was_planned_for() -> None:
    told = call("reboot.yml")
    assert told["only_if_booted_at"] == "{{ window_rows[inventory_hostname].boot_time }}", (
        "two controllers reboot a host twice without it"
    )
    assert told["esxi_hostname"] == "{{ esxi_host_pending.host_moid }}", "a name may be another host's"
    assert "vm_moid" in told["vm_allowlist"]


def test_recovery_ends_only_what_the_records_prove_or_a_person_names() -> None:
    assert (
        call("recover.yml")["in_maintenance"]
        == "{{ 'adopt' if inventory_hostname in hostvars['localhost'].window_adopt else 'recover' }}"
    )
    assert "in_maintenance" not in call("reboot.yml"), "a window refuses a host that is in maintenance mode"


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({}, 1800),
        ({"window": {"upgrade": []}}, 1800),
        (
            {"window": {"upgrade": ["gpu01", "gpu02", "gpu03"]}, "rocemesh_lease_seconds": "600"},
            600 + (60 + 5 + 60) * 60,
        ),
    ],
)
def test_the_lease_outlasts_the_jobs_that_an_upgrade_waits_for(variables: dict[str, Any], seconds: int) -> None:
    """Meanwhile another run would open windows, and the guests are restarted after that without another look."""
    hostvars = {
        "gpu01": {"rocemesh_upgrade": {"packages": {"a": "1"}}},
        "gpu02": {"rocemesh_upgrade": {"scheduler": {"kind": "slurm", "minutes": 5}}},
        "gpu03": {"rocemesh_upgrade": {"scheduler": {"kind": "slurm"}}},
    }
    templar = Templar(loader=DataLoader(), variables={"hostvars": hostvars, **variables})
    assert int(templar.template(trust_as_template(window_variables()["window_lease_seconds"]))) == seconds


def test_failed_window_names_the_nodes_that_may_be_drained() -> None:
    """Their jobs wait, and nothing else on the screen says why."""
    (stop,) = [task for task in tasks(ROOT / "playbooks/reboot.yml") if "window_drained" in task.get("vars", {})]
    hostvars = {
        "gpu01": {"rocemesh_upgrade": {"packages": {"a": "1"}}},
        "gpu02": {"rocemesh_upgrade": {"packages": {"a": "1"}, "scheduler": {"kind": "slurm"}}},
        "gpu03": {"rocemesh_upgrade": {"scheduler": {"kind": "none"}}},
    }
    drained = trust_as_template(stop["vars"]["window_drained"])
    asked = templar(hostvars=hostvars, window={"upgrade": list(hostvars)}, window_drained=drained)
    assert asked("window_drained") == ["gpu02"]


def test_drain_of_a_replacement_that_is_given_up_can_be_ended_by_its_message() -> None:
    (stop,) = [
        task for task in tasks(ROOT / "playbooks/replace.yml") if task["name"] == "Stop until the card is replaced"
    ]
    hostvars = {"gpu01": {"rocemesh_upgrade": {"scheduler": {"kind": "kubernetes"}}}}
    names = {"upgraded": "gpu01", "inventory_hostname": "gpu01", "part": "nic"}
    message = trust_as_template(stop["ansible.builtin.fail"]["msg"])
    told = templar(hostvars=hostvars, **names, told=message)("told")
    assert "kubectl patch node gpu01" in told and '"unschedulable":null}}' in told


@pytest.mark.parametrize("given", ["esx01,esx02", "esx01 esx02", "esx01, esx02", ["esx01", "esx02"]])
@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("window_skipped", "rocemesh_skip_hosts"),
        ("window_accepted_boots", "rocemesh_accept_boot"),
        ("window_adopted", "rocemesh_adopt_maintenance"),
    ],
)
def test_names_are_taken_apart_as_preflight_takes_them(name: str, variable: str, given: Any) -> None:
    """A name that is left out counts: else its host is restarted."""
    assert templar(hostvars={"localhost": {}}, **{variable: given})(name) == words(given) == ["esx01", "esx02"]


def test_proof_leaves_out_host_and_vms_of_a_name_that_is_left_out() -> None:
    """One of two VMs is named: its host has no window, and the other VM waits as well."""
    plan = [
        {"host": "esx01", "left_out": "gpu01: named in rocemesh_skip_hosts", "vms": ["gpu01", "gpu02"]},
        {"host": "esx02", "left_out": "", "vms": ["gpu03"]},
    ]
    (play,) = [
        play for play in load(ROOT / "playbooks/ats.yml") if play["hosts"] not in ("esxi_hosts", "localhost,all")
    ]
    given = {"hostvars": {"localhost": {"window_plan": plan}}, "site_unsettled": ["gpu01", "gpu02", "gpu03"]}
    asked = templar(**given, rocemesh_skip_hosts="gpu01", hosts=trust_as_template(play["hosts"]))
    assert asked("window_left") == ["gpu01", "esx01", "gpu01", "gpu02"]
    assert asked("hosts") == ["gpu03"]


@pytest.mark.parametrize(
    ("playbook", "name"),
    [
        ("reboot.yml", "What waits - ESXi hosts"),
        ("drift.yml", "Kernel settings of the ESXi hosts"),
        ("remove_host.yml", "Removal - mesh of the other nodes"),
    ],
)
def test_host_that_is_named_by_an_ipv6_address_is_left_out(playbook: str, name: str) -> None:
    """Behind ! Ansible takes it apart at its colons, and leaves nothing out. The others keep their order: the first may
    be the head."""
    (play,) = [play for play in load(ROOT / "playbooks" / playbook) if play.get("name") == name]
    hosts = ["fd00::e", "h3", "h2", "h1", "h4"]
    local = {"window_not_asked": hosts[:1], "drift_not_asked": hosts[:1]}
    known = {"groups": {"esxi_hosts": hosts, "gpu_vms": hosts}, "hostvars": {"localhost": local}, "host": hosts[0]}
    assert Templar(loader=DataLoader(), variables=known).template(trust_as_template(play["hosts"])) == hosts[1:]
