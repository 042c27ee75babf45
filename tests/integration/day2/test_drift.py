"""Drift of each layer and kind in one run: in drift.json, in the metrics of its host and in the exit status.

ROCEMESH_DRIFT_RUNS=50 before a command compares a right site so often: no run may see a difference.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.day2.drift_site import DriftSite, right_site
from tests.integration.vsphere.conftest import Pki, change_while_on, run_module

RUNS = int(os.environ.get("ROCEMESH_DRIFT_RUNS", "2"))
VMS = {
    "esx01": ["gpu01", "gpu02"],
    "esx02": ["gpu03", "gpu04"],
    "esx03": ["gpu05", "gpu06"],
    "esx04": ["gpu07"],
}
DIFFERS, WAITS = "differs", "waits for a restart"
# Host, layer, state and words of each thing that differs: each is changed by itself in `hurt`.
KINDS = [
    ("leaf01", "switch", DIFFERS, "RoCE mode off"),
    ("leaf01", "switch", DIFFERS, "name VLAN 111"),
    ("leaf01", "switch", DIFFERS, "port 1/2 mtu"),
    ("leaf01", "switch", DIFFERS, "port 1/3 access_vlan"),
    ("leaf01", "switch", DIFFERS, "port 1/4: trunk -> access"),
    ("leaf02", "switch", DIFFERS, "port 1/4 mtu"),
    ("leaf02", "switch", DIFFERS, "port 1/4: PFC is operationally Disabled"),
    ("leaf02", "switch", DIFFERS, "PFC is off for switch-priority 3"),
    ("leaf02", "switch", DIFFERS, "Eth1/3 has PFC off"),
    ("leaf02", "switch", DIFFERS, "port 1/1 trusts L2"),
    ("leaf02", "switch", DIFFERS, "port 1/2: traffic class 3 has congestion control none"),
    ("leaf02", "switch", DIFFERS, "a reload would lose or bring back + interface ethernet 1/1"),
    ("leaf03", "switch", DIFFERS, "of another account"),
    ("leaf04", "switch", DIFFERS, "save the running configuration"),
    ("esx01", "esxi_host", DIFFERS, "atsSupport"),
    ("esx02", "esxi_host", WAITS, "atsSupport"),
    ("esx03", "esxi_host", DIFFERS, "in maintenance mode"),
    ("esx04", "esxi_host", DIFFERS, "notResponding"),
    ("gpu01", "gpu_vm", DIFFERS, "pciPassthru.allowP2P"),
    ("gpu01", "gpu_vm", DIFFERS, "pciPassthru.RelaxACSforP2P"),
    ("gpu01", "gpu_vm", DIFFERS, "pciPassthru.use64bitMMIO"),
    ("gpu01", "gpu_vm", DIFFERS, "pciPassthru.64bitMMIOSizeGB"),
    ("gpu01", "gpu_vm", DIFFERS, "numa.nodeAffinity"),
    ("gpu02", "gpu_vm", DIFFERS, "memoryReservationLockedToMax"),
    ("gpu03", "gpu_vm", DIFFERS, "GPU and NIC sit on different NUMA nodes"),
    ("gpu04", "gpu_vm", DIFFERS, "poweredOff"),
    ("gpu07", "gpu_vm", DIFFERS, "poweredOff"),
    ("gpu01", "guest", DIFFERS, "ATS_ENABLED False -> True"),
    ("gpu02", "guest", WAITS, "ATS_ENABLED"),
    ("gpu03", "guest", DIFFERS, "MTU 1500 -> 9000 now"),
    ("gpu03", "guest", DIFFERS, "MTU 9000 whenever it appears"),
    ("gpu05", "guest", DIFFERS, "nvidia-smi does not answer"),
    ("gpu06", "guest", DIFFERS, "no Mellanox network function"),
]
METRICS = {DIFFERS: "differences", WAITS: "restarts_pending", "not readable": "unreadable"}


@pytest.fixture
def site(binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path) -> Iterator[DriftSite]:
    with right_site(binary, pki, tmp_path, 4, VMS) as found:
        yield found


def set_ats(site: DriftSite, host: str, value: bool) -> None:
    settings = {"esxi_hostname": host, "settings": {"atsSupport": value}}
    assert not run_module("esxi_kernel_setting", {**site.vcenter.login, **settings}).failed


def wait(site: DriftSite, host: str, **wanted: Any) -> None:
    deadline = time.monotonic() + 60
    while not wanted.items() <= site.vcenter.host(host).items():
        assert time.monotonic() < deadline, (host, site.vcenter.host(host))
        time.sleep(0.05)


def hurt_switches(site: DriftSite) -> None:
    port = "interface ethernet 1/{0}".format
    site.on_the_switch(
        "leaf01",
        "no roce",
        "vlan 111 name other",
        f"{port(2)} mtu 4000 force",
        f"{port(3)} switchport access vlan 1",
        f"{port(4)} switchport mode trunk",
    )
    site.on_the_switch(
        "leaf02",
        "no dcb priority-flow-control enable force",
        "no dcb priority-flow-control priority 3 enable",
        f"{port(1)} qos trust L2",
        f"no {port(2)} traffic-class 3 congestion-control",
        f"{port(3)} dcb priority-flow-control mode off force",
        f"{port(4)} mtu 4000 force",
    )
    site.on_the_switch("leaf03", f"{port(9)} description of another account")
    site.on_the_switch("leaf04", f"{port(1)} mtu 4000 force", "configuration write", f"{port(1)} mtu 9216 force")


def hurt_vcenter(site: DriftSite) -> None:
    set_ats(site, "esx01", False)
    set_ats(site, "esx02", False)
    boots = site.vcenter.host("esx02")["boots"]
    site.vcenter.ask("POST", "/admin", {"do": "reboot", "host": "esx02"})
    wait(site, "esx02", boots=boots + 1, connection="connected")
    set_ats(site, "esx02", True)
    keys = {"pciPassthru.allowP2P": "FALSE", "pciPassthru.RelaxACSforP2P": "FALSE", "numa.nodeAffinity": "7"}
    keys |= {"pciPassthru.use64bitMMIO": "FALSE", "pciPassthru.64bitMMIOSizeGB": "64"}
    change = {"vm": "gpu02", "wanted": {"reserve_memory": False}}
    for vm in ("gpu01", "gpu02", "gpu04", "gpu07"):
        site.vcenter.ask("POST", "/admin", {"do": "off", "vm": vm})
    change_while_on(site.vcenter, "gpu01", keys)
    assert not run_module("vmx_passthru", {**site.vcenter.login, **change}).failed
    for vm in ("gpu01", "gpu02"):
        site.vcenter.ask("POST", "/admin", {"do": "on", "vm": vm})
    site.vcenter.fault("numa_mismatch", vm="gpu03")
    site.vcenter.ask("POST", "/admin", {"do": "enter", "host": "esx03"})
    site.vcenter.fault("host_never_returns", host="esx04")
    run_module("esxi_reboot", {**site.vcenter.login, "esxi_hostname": "esx04", "required": True, "reboot_timeout": 1})


def hurt_guests(site: DriftSite) -> None:
    site.card("gpu01", next=0)
    site.card("gpu02", current=0)
    site.guests["gpu05"].root.joinpath("bin/nvidia-smi").write_text("#!/bin/sh\necho No devices were found\nexit 6\n")
    hardware = site.guests["gpu06"].root / "hw/nic.json"
    hardware.write_text(json.dumps({"cards": [], "faults": {}}))
    site.write_inventory(gpu03={"guest_mtu": 9000})


def words(row: dict[str, Any]) -> str:
    return " ".join([*row["what"], *row["before"]])


def counted(found: dict[str, Any]) -> dict[tuple[str, str, str], int]:
    """The metrics that the rows ask for; all others are 0."""
    count: collections.Counter[tuple[str, str, str]] = collections.Counter()
    count.update((row["host"], row["layer"], METRICS[row["state"]]) for row in found["drift"])
    return dict(count)


def test_drift_of_each_layer_and_kind_is_seen_in_one_run(site: DriftSite) -> None:
    hurt_switches(site)
    hurt_vcenter(site)
    hurt_guests(site)
    found = site.drift(2)
    assert len(KINDS) >= 20 and found["verdict"] == DIFFERS
    for host, layer, state, text in KINDS:
        rows = [row for row in found["drift"] if (row["host"], row["layer"], row["state"]) == (host, layer, state)]
        assert any(text in words(row) for row in rows), (host, layer, state, text, found["drift"])
    beside = [row for row in found["drift"] if not any(text in words(row) for *_place, text in KINDS)]
    assert beside == []
    assert {place: count for place, count in found["metrics"].items() if count} == counted(found)


def test_right_site_has_no_drift_in_any_run(site: DriftSite) -> None:
    hosts = {*site.leaves, *site.vms, *site.guests}
    for _run in range(RUNS):
        found = site.drift(0)
        assert found["drift"] == [] and found["verdict"] == "right"
        assert {host for host, _layer, _name in found["metrics"]} == hosts and not any(found["metrics"].values())


def test_silent_devices_are_listed_and_the_others_are_read(site: DriftSite) -> None:
    """Of the vCenter each of its hosts and VMs is not readable, and guests are read all the same."""
    site.leaves["leaf01"].fault(name="silent", phase="banner")
    site.on_the_switch("leaf02", "vlan 111 name other")
    site.card("gpu02", next=0)
    wrong = {host: {"rocemesh_vcenter_password": "wrong"} for host in (*site.vms, *site.guests)}
    wrong["gpu07"] |= {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    site.write_inventory(**wrong)
    found = site.drift(3)
    assert found["verdict"] == "not readable"
    rows = {(row["host"], row["layer"]): row["state"] for row in found["drift"]}
    silent = {("leaf01", "switch"), ("gpu07", "guest")}
    silent |= {(host, "esxi_host") for host in site.vms} | {(vm, "gpu_vm") for vm in site.guests}
    assert rows == {
        **dict.fromkeys(silent, "not readable"), ("leaf02", "switch"): DIFFERS, ("gpu02", "guest"): DIFFERS
    }  # fmt: skip
    assert all(found["metrics"][(*place, "unreadable")] for place in silent)
