from __future__ import annotations

import subprocess
from typing import Any

import pytest

from lab import ats, status


def vsphere(**vm: Any) -> dict[str, Any]:
    machine = {"power": "on", "extra_config": {"a": "1"}, "in_force": {"a": "1"}, **vm}
    kernel = {"atsSupport": {"configured": "FALSE", "runtime": "FALSE", "default": "FALSE"}}
    return {"hosts": {"esx01": {"kernel": kernel, "maintenance": False}}, "vms": {"gpu01": machine}}


def test_nothing_is_pending_when_everything_is_in_force() -> None:
    assert status.pending({"unsaved": False}, vsphere(), {"gpu01": {"cards": ats.factory_cards()}}) == []


def test_the_interfaces_of_containers_are_no_part_of_the_fingerprint() -> None:
    shown = """1: lo: <LOOPBACK,UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT
5: eth0@if6: <BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state UP mode DEFAULT
7: veth3f1@if2: <BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue master docker0 state UP mode DEFAULT
8: eth1: <BROADCAST,MULTICAST,UP> mtu 9000 qdisc noqueue state UP mode DEFAULT"""
    (line,) = [each for each in status._NODE_FACTS.splitlines() if each.startswith("ip ")]
    script = f"ip() {{ echo '{shown}'; }}\n{line}"
    told = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    assert told.split("\n") == ["eth0", "mtu 1500", "eth1", "mtu 9000", ""]


def test_nothing_is_claimed_about_what_does_not_answer() -> None:
    assert status.pending(None, None, None) == []


def test_unsaved_switch_is_pending() -> None:
    (line,) = status.pending({"unsaved": True}, None, None)
    assert "sw01" in line
    assert "not saved" in line


def test_kernel_setting_waits_for_its_host() -> None:
    state = vsphere()
    state["hosts"]["esx01"]["kernel"]["atsSupport"]["configured"] = "TRUE"
    assert status.pending(None, state, None) == [
        "esx01: atsSupport Configured TRUE, Runtime FALSE; waits for a reboot of the host"
    ]


def test_maintenance_mode_is_pending() -> None:
    state = vsphere()
    state["hosts"]["esx01"]["maintenance"] = True
    assert status.pending(None, state, None) == ["esx01: in maintenance mode"]


@pytest.mark.parametrize(
    ("extra", "in_force", "words"),
    [
        ({"a": "1", "B": "x"}, {"a": "1"}, "B = 'x', not in force"),
        ({"a": "2"}, {"a": "1"}, "a = '2', in force is '1'"),
        ({}, {"a": "1"}, "a removed, '1' still in force"),
    ],
)
def test_vm_key_waits_for_power_off_and_on(extra: dict[str, str], in_force: dict[str, str], words: str) -> None:
    (line,) = status.pending(None, vsphere(extra_config=extra, in_force=in_force), None)
    assert words in line
    assert "off and on" in line


def test_key_in_another_case_is_the_same_key() -> None:
    assert status.pending(None, vsphere(extra_config={"A": "1"}), None) == []


def test_vm_that_is_off_is_named_and_its_keys_wait_for_nothing() -> None:
    state = vsphere(power="off", extra_config={"b": "1"}, in_force=None)
    assert status.pending(None, state, None) == ["gpu01: powered off"]


def test_nic_value_waits_for_the_host_of_its_vm() -> None:
    cards = ats.factory_cards()
    cards[0]["params"]["ATS_ENABLED"]["next"] = 1
    (line,) = status.pending(None, None, {"gpu03": {"cards": cards}})
    assert "gpu03" in line
    assert "reboot of esx02" in line


@pytest.mark.parametrize(
    ("carrier", "words"),
    [
        (None, "carry nothing"),
        ({"on": False, "problem": ""}, "carry nothing"),
        ({"on": True, "problem": ""}, "decide over the nodes' traffic"),
        ({"on": True, "problem": "gpu01 cannot be coupled"}, "gpu01 cannot be coupled"),
    ],
)
def test_status_says_whether_the_switch_carries_the_nodes_traffic(carrier: Any, words: str) -> None:
    running = {"roce": None, "vlans": {}, "ports": {}}
    facts = {"switch": {"running": running, "faults": []}, "vsphere": None, "pending": [], "nodes": {}}
    assert words in status.table({**facts, "physics": {"carrier": carrier, "faults": []}})
