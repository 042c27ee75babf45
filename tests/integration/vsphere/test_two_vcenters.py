"""Two vCenters with the same names and ids, as a vCenter and its restored copy: what was read on one is done there or
nowhere, whichever way the logins are given."""

from __future__ import annotations

import json
import pathlib
import random
from collections.abc import Iterator
from typing import Any

import pytest

from .conftest import WINDOWS, Pki, Vcenter, run_module, started
from .site_playbooks import WAITING, Controller
from .windows import admin

ALLOW = ("-e", "rocemesh_allow_reboot=true")
MIXES = 50
GUESTS = {"vm_policy": "shutdown", "vm_allowlist": ["gpu01", "gpu02", "gpu03"]}


@pytest.fixture(scope="module")
def other(binary: pathlib.Path, pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vcenter]:
    with started(binary, pki, tmp_path_factory.mktemp("other"), WINDOWS) as vcenter:
        yield vcenter


@pytest.fixture
def both(quick: Vcenter, other: Vcenter) -> tuple[Vcenter, Vcenter]:
    for vcenter in (quick, other):
        vcenter.ask("POST", "/reset")
    return quick, other


def test_they_have_the_same_ids_and_uuids_of_their_own(both: tuple[Vcenter, Vcenter]) -> None:
    first, second = (run_module("vmx_passthru", {**each.login, "vm": "gpu01"}, check=True) for each in both)
    assert (first["vm_moid"], first["esxi_host_moid"]) == (second["vm_moid"], second["esxi_host_moid"])
    assert first["vcenter_uuid"] and first["vcenter_uuid"] != second["vcenter_uuid"]


def test_modules_refuse_ids_of_another_vcenter(both: tuple[Vcenter, Vcenter]) -> None:
    """What was read on one is asked of one drawn by chance."""
    dice = random.Random(17)
    read = {
        vcenter: {vm: run_module("vmx_passthru", {**vcenter.login, "vm": vm}, check=True) for vm in ("gpu01", "gpu03")}
        for vcenter in both
    }
    refused = 0
    for _mix in range(MIXES):
        source, target = dice.choice(both), dice.choice(both)
        seen = read[source][dice.choice(("gpu01", "gpu03"))]
        module, options = dice.choice(
            (
                ("esxi_reboot", {"esxi_hostname": seen["esxi_host_moid"], "required": True, **GUESTS}),
                ("esxi_kernel_setting", {"esxi_hostname": seen["esxi_host_moid"], "settings": {"atsSupport": True}}),
                ("vmx_passthru", {"vm": seen["vm_moid"], "power_policy": "shutdown", "final_power": "on"}),
                ("vmx_passthru", {"vm": seen["vm_moid"], "power_only": True, "final_power": "on"}),
                ("esxi_window", {"esxi_hostnames": [seen["esxi_host_moid"]], "lease": "held"}),
            )
        )
        given: dict[str, Any] = {**target.login, **options, "vcenter_uuid": seen["vcenter_uuid"]}
        # Where it is the right one nothing has to happen for this test.
        result = run_module(module, given, check=source is target)
        assert result.failed == (source is not target), result
        if result.failed:
            refused += 1
            assert result["error_code"] == "refused" and seen["vcenter_uuid"] in result.msg
    assert refused > MIXES // 4
    assert [vcenter.calls() for vcenter in both] == [[], []]


OPTIONS = ("hostname", "port", "username", "password", "ca_path")
ENVIRONMENT = {"hostname": "VMWARE_HOST", "username": "VMWARE_USER"}


def login(vcenter: Vcenter | None) -> dict[str, Any]:
    return {} if vcenter is None else {f"rocemesh_vcenter_{name}": vcenter.login[name] for name in OPTIONS}


class Logins:
    """An inventory whose logins stand for the whole site (`all`), for a group, or in the environment."""

    def __init__(self, both: tuple[Vcenter, Vcenter], folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.both = both
        self.controller = Controller(both[0], folder, {"esx01": ["gpu01", "gpu02"]}, WAITING)
        self.patch = monkeypatch

    def give(self, environment: int | None, **groups: int | None) -> Controller:
        inventory = json.loads(self.controller.inventory.read_text())
        for name, number in groups.items():
            group = inventory["all"] if name == "all" else inventory["all"]["children"][name]
            rest = {key: value for key, value in group.get("vars", {}).items() if "_vcenter_" not in key}
            group["vars"] = rest | login(None if number is None else self.both[number])
        self.controller.inventory.write_text(json.dumps(inventory))
        if environment is not None:
            for name, value in self.both[environment].login.items():
                self.patch.setenv(ENVIRONMENT.get(name, f"VMWARE_{name.upper()}"), str(value))
        return self.controller


@pytest.fixture
def logins(both: tuple[Vcenter, Vcenter], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Logins:
    return Logins(both, tmp_path / "one", monkeypatch)


# 0 and 1 are the vCenters. The login of the VMs leads elsewhere than that of their hosts.
@pytest.mark.parametrize(
    ("environment", "groups"),
    [
        (None, {"all": 0, "esxi_hosts": 1}),
        (None, {"all": 0, "gpu_vms": 1}),
        (0, {"all": None, "esxi_hosts": 1}),
        (1, {"all": None, "gpu_vms": 0}),
    ],
    ids=str,
)
def test_no_window_where_hosts_and_vms_are_read_on_different_vcenters(
    logins: Logins, environment: int | None, groups: dict[str, int | None]
) -> None:
    done = logins.give(environment, **groups).play("reboot.yml", *ALLOW)
    uuids = [
        run_module("esxi_window", {**each.login, "esxi_hostnames": ["esx01"]})["vcenter_uuid"] for each in logins.both
    ]
    assert done.returncode != 0 and all(uuid in done.stdout for uuid in uuids), done.stdout
    assert [vcenter.calls() for vcenter in logins.both] == [[], []], done.stdout


# The nearest login counts: that of the host or its group, that of the site, the environment.
@pytest.mark.parametrize(
    ("environment", "groups", "used"),
    [
        (0, {"all": None}, 0),
        (0, {"all": 1}, 1),
        (1, {"all": 1, "esxi_hosts": 0, "gpu_vms": 0}, 0),
        (None, {"all": 1}, 1),
    ],
    ids=str,
)
def test_windows_are_opened_on_the_vcenter_that_was_read(
    logins: Logins, environment: int | None, groups: dict[str, int | None], used: int
) -> None:
    done = logins.give(environment, **groups).play("reboot.yml", *ALLOW)
    assert done.returncode == 0, done.stdout + done.stderr
    assert logins.both[used].host("esx01")["boots"] == 1, done.stdout
    assert logins.both[1 - used].calls() == []


@pytest.mark.parametrize("used", [0, 1])
def test_recover_leaves_maintenance_mode_where_the_host_is_logged_in_to(logins: Logins, used: int) -> None:
    for vcenter in logins.both:
        for vm in ("gpu01", "gpu02"):
            admin(vcenter, "off", vm=vm)
        admin(vcenter, "enter", host="esx01")
    controller = logins.give(1 - used, all=1 - used, esxi_hosts=used)
    done = controller.play("recover.yml", "-e", "rocemesh_adopt_maintenance=esx01")
    assert done.returncode == 0, done.stdout + done.stderr
    assert logins.both[used].calls()
    assert logins.both[1 - used].calls() == []
    assert [vcenter.host("esx01")["maintenance"] for vcenter in logins.both] == [used == 1, used == 0]


def test_one_site_on_two_vcenters_with_the_same_ids(both: tuple[Vcenter, Vcenter], tmp_path: pathlib.Path) -> None:
    """Both windows in one run, each on its own vCenter, one after the other."""
    controller = Controller(both[0], tmp_path / "one", {"esx01": ["gpu01", "gpu02"], "b-esx01": ["b-gpu01"]}, WAITING)
    inventory = json.loads(controller.inventory.read_text())
    groups = inventory["all"]["children"]
    groups["esxi_hosts"]["hosts"]["b-esx01"] = {**login(both[1]), "esxi_host_name": "esx01"}
    groups["gpu_vms"]["hosts"]["b-gpu01"] = {**login(both[1]), "gpu_vm_name": "gpu01"}
    controller.inventory.write_text(json.dumps(inventory))
    # A second VM of that host is in no inventory.
    refused = controller.play("reboot.yml", *ALLOW)
    assert refused.returncode != 0 and "b-esx01" in refused.stdout and "gpu02" in refused.stdout, refused.stdout
    groups["gpu_vms"]["hosts"]["b-gpu02"] = {**login(both[1]), "gpu_vm_name": "gpu02"}
    controller.inventory.write_text(json.dumps(inventory))
    done = controller.play("reboot.yml", *ALLOW)
    assert done.returncode == 0, done.stdout + done.stderr
    assert both[1].host("esx01")["boots"] == 1
    again = controller.play("recover.yml")
    assert again.returncode == 0 and "changed=0" in again.stdout, again.stdout
