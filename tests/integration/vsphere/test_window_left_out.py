"""Three windows go on while a fourth host is dead, or a person leaves it out; it is named either way."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator

import pytest

from .conftest import WINDOWS, Pki, Vcenter, started
from .site_playbooks import WAITING, Controller
from .test_reboot import wait_until
from .windows import admin

HOSTS = {f"esx0{number}": [f"gpu0{number}"] for number in range(1, 5)}
SITE = {**WINDOWS, "hosts": [{"name": host, "vms": vms} for host, vms in HOSTS.items()]}
ALLOW = ("-e", "rocemesh_allow_reboot=true")


@pytest.fixture(scope="module")
def four(binary: pathlib.Path, pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vcenter]:
    with started(binary, pki, tmp_path_factory.mktemp("four"), SITE) as vcenter:
        yield vcenter


@pytest.fixture
def controller(four: Vcenter, tmp_path: pathlib.Path) -> Controller:
    four.ask("POST", "/reset")
    return Controller(four, tmp_path / "one", HOSTS, WAITING)


def boots(vcenter: Vcenter) -> list[int]:
    return [vcenter.host(host)["boots"] for host in HOSTS]


def test_a_host_that_does_not_answer_vcenter(four: Vcenter, controller: Controller) -> None:
    four.fault("host_never_returns", host="esx02")
    admin(four, "cut_power", host="esx02")
    wait_until(lambda: four.host("esx02")["connection"] == "notResponding", 60)
    before = boots(four)
    done = controller.play("reboot.yml", *ALLOW)
    # The others are finished; what was left out is the failure at the end.
    assert done.returncode != 0 and "esx02: notResponding" in done.stdout, done.stdout
    assert [now - then for now, then in zip(boots(four), before)] == [1, 0, 1, 1]
    assert not [call for call in four.calls() if "esx02" in call or "gpu02" in call]
    assert "rocemesh.lease" not in json.dumps(four.ask("GET", "/fields"))


def test_a_guest_that_does_not_answer(four: Vcenter, controller: Controller) -> None:
    inventory = json.loads(controller.inventory.read_text())
    inventory["all"]["children"]["gpu_vms"]["hosts"]["gpu03"] = {"dead": True}
    controller.inventory.write_text(json.dumps(inventory))
    done = controller.play("reboot.yml", *ALLOW)
    assert done.returncode != 0 and "esx03: gpu03" in done.stdout, done.stdout
    assert boots(four) == [1, 1, 0, 1]


CHANGE = {"text": "ens224: address is 198.51.100.13/24, after the next boot none (/etc/netplan/90-rocemesh-mtu.yaml)"}


def test_guest_that_a_restart_changes_keeps_its_host_up(four: Vcenter, controller: Controller) -> None:
    """Known when the windows are planned, and found once more in the window itself."""
    inventory = json.loads(controller.inventory.read_text())
    children = inventory["all"]["children"]
    children["gpu_vms"]["hosts"]["gpu02"] = {"guest_next_boot": {"differences": [CHANGE]}}
    children["esxi_hosts"]["hosts"]["esx03"] = {"window_boot_now": [CHANGE]}
    controller.inventory.write_text(json.dumps(inventory))
    done = controller.play("reboot.yml", *ALLOW)
    assert done.returncode != 0 and "90-rocemesh-mtu.yaml" in done.stdout, done.stdout
    assert "esx02" in done.stdout and "esx03" in done.stdout and "rocemesh_accept_boot" in done.stdout
    assert boots(four) == [1, 0, 0, 1]
    assert "rocemesh.lease" not in json.dumps(four.ask("GET", "/fields"))


def test_what_a_person_leaves_out_is_no_failure(four: Vcenter, controller: Controller) -> None:
    done = controller.play("reboot.yml", *ALLOW, "-e", "rocemesh_skip_hosts=gpu03,esx04")
    assert done.returncode == 0 and "named in rocemesh_skip_hosts" in done.stdout, done.stdout
    assert boots(four) == [1, 1, 0, 0]


def test_limit_needs_neither_localhost_nor_what_is_outside_of_it(four: Vcenter, controller: Controller) -> None:
    done = controller.play("reboot.yml", *ALLOW, "--limit", "esx01,gpu01")
    assert done.returncode == 0, done.stdout + done.stderr
    assert boots(four) == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("playbook", "more", "named"),
    [
        ("reboot.yml", (*ALLOW, "--limit", "gpu01"), "gpu01: a restart waits"),
        ("recover.yml", ("-e", "rocemesh_adopt_maintenance=esx01,esx77"), "esx77: "),
    ],
)
def test_what_would_do_nothing_does_not_end_well(
    controller: Controller, playbook: str, more: tuple[str, ...], named: str
) -> None:
    done = controller.play(playbook, *more)
    assert done.returncode != 0 and named in done.stdout, done.stdout


def test_vm_outside_of_the_limit_is_in_the_way_and_the_limit_is_named(four: Vcenter, controller: Controller) -> None:
    assert controller.play("esxi.yml", "--limit", "esx01").returncode == 0
    done = controller.play("reboot.yml", *ALLOW, "--limit", "esx01")
    assert done.returncode != 0 and "in the run (--limit)" in done.stdout, done.stdout
    assert boots(four) == [0, 0, 0, 0]


def test_check_mode_shows_who_is_left_out_and_restarts_nothing(four: Vcenter, controller: Controller) -> None:
    done = controller.play("reboot.yml", "--check", "-e", "rocemesh_skip_hosts=esx01")
    assert done.returncode == 0 and "named in rocemesh_skip_hosts" in done.stdout, done.stdout
    assert boots(four) == [0, 0, 0, 0] and four.calls() == []


@pytest.mark.parametrize(("vm", "rebooted"), [("gpu02", [1, 0, 0, 0]), ("gpu04", [1, 1, 1, 0])])
def test_guest_that_is_lost_in_its_window_ends_the_windows(
    four: Vcenter, controller: Controller, vm: str, rebooted: list[int]
) -> None:
    """An unreachable host is not rescued by Ansible, and does not end a play of several batches."""
    inventory = json.loads(controller.inventory.read_text())
    inventory["all"]["children"]["gpu_vms"]["hosts"][vm] = {
        "upgrade_pending": {"texts": ["tiny: 1.0 -> 2.0"], "restart": "guest"},
        "ansible_host": "127.0.0.1",
        "ansible_port": 9,
    }
    controller.inventory.write_text(json.dumps(inventory))
    done = controller.play("reboot.yml", *ALLOW)
    assert done.returncode != 0 and f"{vm.replace('gpu', 'esx')}: its window" in done.stdout, done.stdout
    assert boots(four) == rebooted
    assert "rocemesh.lease" not in json.dumps(four.ask("GET", "/fields"))
