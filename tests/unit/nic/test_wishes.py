"""What node_info compares in one start is what the modules compare, and the role asks both with the same options."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic import wishes

from tests.unit.nic.twin import Rack
from tests.unit.roles import conditions
from tests.unit.roles.collection import ROOT, load

MODULES = {"ats": "mlxconfig_ats", "interface": "roce_interface", "manifest": "node_manifest", "gpus": "gpu_info"}


def process(proc: pathlib.Path, pid: int, parent: int, *environment: str) -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "environ").write_bytes(b"".join(row.encode() + b"\0" for row in environment))
    (proc / str(pid) / "stat").write_text(f"{pid} (a (odd) name) S {parent} 1 1 0")


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        (("SSH_CONNECTION=192.0.2.9 40000 192.0.2.11 22",), "192.0.2.11"),
        (("SSH_CONNECTION=fe80::1%eth0 40000 2001:db8::11 22",), "2001:db8::11"),
        (("SSH_CONNECTION=fe80::9%eth0 40000 fe80::11%ens192 22",), "fe80::11"),
        (("SSH_CONNECTION=192.0.2.9",), ""),
        (("HOME=/root",), ""),
    ],
)
def test_the_session_is_found_behind_the_program_that_changed_the_user(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, above: tuple[str, ...], expected: str
) -> None:
    monkeypatch.setattr(wishes.os, "getpid", lambda: 30)
    process(tmp_path, 30, 20, "LC_ALL=C")
    process(tmp_path, 20, 10, *above)
    process(tmp_path, 10, 1)
    assert wishes.session_address(str(tmp_path)) == expected


def test_a_process_that_shows_its_environment_to_nobody_is_passed_over(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wishes.os, "getpid", lambda: 30)
    process(tmp_path, 30, 20)
    (tmp_path / "30/environ").unlink()
    process(tmp_path, 20, 1, "SSH_CONNECTION=192.0.2.9 40000 192.0.2.11 22")
    assert wishes.session_address(str(tmp_path)) == "192.0.2.11"


def test_a_process_that_is_gone_ends_the_search(tmp_path: pathlib.Path) -> None:
    assert wishes.session_address(str(tmp_path)) == ""


def options(name: str, **given: Any) -> dict[str, Any]:
    checked = ArgumentSpecValidator(wishes.LAYERS[name][0]).validate(given)
    assert not checked.error_messages
    return dict(checked.validated_parameters)


def test_a_layer_is_looked_at_as_in_check_mode(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rack = Rack(tmp_path)
    monkeypatch.setattr(wishes, "AtsLayer", lambda _tools, *given: rack.layer(*given[:1], verify_pci=given[1]))
    found = wishes.look("ats", options("ats"), "gpu01")
    assert [row["description"] for row in found["operations"]] and found["changed"] and found["reboot_required"]
    assert rack.calls and not rack.sets()
    assert wishes.look("ats", options("ats", state="queried"), "gpu01")["operations"] == []


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("interface", {"mtu": 1499}, "gpu01: mtu is 1499"),
        ("interface", {"network": ["x"]}, "network or connection_address"),
        ("gpus", {"ranks": -1}, "ranks is -1"),
        ("ats", {"host_boot_time": "yesterday", "settled_since": "x"}, "host_boot_time"),
        ("ats", {"device": [], "require_active": True}, "device is empty"),
    ],
)
def test_a_failure_is_a_result_with_the_message_of_the_module(name: str, given: dict[str, Any], words: str) -> None:
    found = wishes.look(name, options(name, **given), "gpu01")
    assert found["failed"] is True and words in found["msg"]


def asked(module: str, *files: str) -> list[dict[str, Any]]:
    tasks = [task for file in files for task in load(ROOT / "roles/guest/tasks" / file)]
    return [task[f"rocemesh.multinode.{module}"] for task in tasks if f"rocemesh.multinode.{module}" in task]


def test_the_role_asks_for_the_same_as_its_tasks_below() -> None:
    known = conditions.variables_of("guest")
    assert known["__guest_wish_ats"] in asked("mlxconfig_ats", "configure.yml")
    (gpus,) = asked("gpu_info", "gpus.yml")
    assert {**gpus, "waits_for": "{{ guest_gpus_wait_for }}"} == {
        **known["__guest_wish_gpus"],
        "settle_timeout": gpus["settle_timeout"],
    }
    (interface,) = asked("roce_interface", "interfaces.yml")
    assert {**interface, "mtu": "{{ guest_mtu }}"} == known["__guest_wish_interface"]
    assert {"roles": ["guest"]} in asked("node_manifest", "configure.yml")
    assert all(f"'{name}'" in known["__guest_layers"] for name in MODULES) and set(MODULES) == set(wishes.LAYERS)
