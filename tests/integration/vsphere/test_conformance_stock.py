"""Our modules against govmomi's simulator as its package ships it, for all that it supports, and a clear end where not.

What it does not support: esxcli, reboots, correct extraConfig (releases before 0.26 append), NUMA nodes of devices.
`ROCEMESH_VCSIM` may name a vcsim binary of another release; the tests then run against that one too.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import Connection, Endpoint, vim

from .conftest import Pki, Result, build, run_module

USER, PASSWORD = "user", "stock-secret"
RELEASES = ["packaged", *(["ROCEMESH_VCSIM"] if os.environ.get("ROCEMESH_VCSIM") else [])]


def served(release: str, pki: Pki, *more: str) -> Iterator[dict[str, Any]]:
    command = [str(build()), "stock"] if release == "packaged" else [os.environ["ROCEMESH_VCSIM"]]
    process = subprocess.Popen(
        [
            *(*command, "-l", "127.0.0.1:0", "-username", USER, "-password", PASSWORD, *more),
            *("-tlscert", str(pki.certificate), "-tlskey", str(pki.key)),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    port = re.search(r":(\d+)/sdk", said)
    assert port, said
    yield {
        "hostname": "127.0.0.1",
        "port": int(port.group(1)),
        "username": USER,
        "password": PASSWORD,
        "ca_path": str(pki.ca),
        "timeout": 10,
    }
    process.terminate()
    process.wait(timeout=10)


@pytest.fixture(scope="module", params=RELEASES)
def login(request: pytest.FixtureRequest, pki: Pki) -> Iterator[dict[str, Any]]:
    """A vCenter."""
    yield from served(request.param, pki)


@pytest.fixture(scope="module", params=RELEASES)
def direct(request: pytest.FixtureRequest, pki: Pki) -> Iterator[dict[str, Any]]:
    """One ESXi host without a vCenter."""
    yield from served(request.param, pki, "-esx")


def connect(login: dict[str, Any]) -> Connection:
    return Connection(Endpoint("127.0.0.1", USER, PASSWORD, login["port"], ca_path=login["ca_path"]))


def call(login: dict[str, Any], name: str, check: bool = False, **parameters: Any) -> Result:
    return run_module(name, {**login, **parameters}, check)


def properties(login: dict[str, Any], kind: Any, *paths: str) -> dict[str, dict[str, Any]]:
    """Name -> properties, as the simulator itself gives them."""
    with connect(login) as connection:
        objects = [found for found, _row in connection.listed((kind, ["name"]))]
        rows = connection.properties(objects, ["name", *paths])
        return {row["name"]: {**row, "moid": o._moId} for o, row in zip(objects, rows, strict=True)}


def test_wrong_password_is_refused(login: dict[str, Any]) -> None:
    failed = call({**login, "password": "wrong"}, "esxi_pci_info", esxi_hostname="DC0_H0")
    assert failed["error_code"] == "credentials" and "InvalidLogin" in failed.msg


def test_hosts_are_found_by_name_and_moid(login: dict[str, Any]) -> None:
    hosts = properties(login, vim.HostSystem)
    assert len(hosts) == 4
    for name, row in hosts.items():
        assert call(login, "esxi_pci_info", esxi_hostname=name)["esxi_host"] == name
        assert call(login, "esxi_pci_info", esxi_hostname=row["moid"])["esxi_host"] == name
    with connect(login) as connection:
        assert [n for _host, n in connection.find_hosts([], "DC0_C0")] == ["DC0_C0_H0", "DC0_C0_H1", "DC0_C0_H2"]
    unknown = call(login, "esxi_pci_info", esxi_hostname="nowhere")
    assert unknown["error_code"] == "refused" and "DC0_C0_H0" in unknown.msg


def test_every_pci_device_of_the_simulator_comes_out_with_its_ids(login: dict[str, Any]) -> None:
    wanted = properties(login, vim.HostSystem, "hardware.pciDevice")["DC0_H0"]["hardware.pciDevice"]
    found = {row["address"]: row for row in call(login, "esxi_pci_info", esxi_hostname="DC0_H0")["devices"]}
    assert len(found) == len(wanted) > 40
    for device in wanted:
        row = found[device.id.lower()]
        assert int(row["vendor_id"], 16) == device.vendorId & 0xFFFF
        assert int(row["device_id"], 16) == device.deviceId & 0xFFFF
        assert (row["vendor_name"], row["device_name"]) == (device.vendorName, device.deviceName)
        assert row["parent_bridge"] == (device.parentBridge or "") and row["numa_node"] is None
    assert any(device.vendorId < 0 for device in wanted), "ids are signed on the wire"


def power_off(login: dict[str, Any], vm: str) -> None:
    with connect(login) as connection:
        machine = connection.find_vm(vm)
        if connection.read(machine, ["runtime.powerState"])["runtime.powerState"] == "poweredOn":
            connection.wait(machine.PowerOffVM_Task(), "off", vm, 10)


def test_keys_are_planned_set_and_read_back(login: dict[str, Any]) -> None:
    power_off(login, "DC0_H0_VM0")
    planned = call(login, "vmx_passthru", check=True, vm="DC0_H0_VM0")
    keys = {"pciPassthru.allowP2P": "TRUE", "pciPassthru.RelaxACSforP2P": "TRUE"}
    assert planned["changed"] and planned["diff"]["after"] == keys
    before = properties(login, vim.VirtualMachine, "config.extraConfig")["DC0_H0_VM0"].get("config.extraConfig", [])
    assert not keys.keys() & {option.key for option in before}
    done = call(login, "vmx_passthru", vm="DC0_H0_VM0")
    assert done["changed"] and done["settings"] == keys
    after = properties(login, vim.VirtualMachine, "config.extraConfig")["DC0_H0_VM0"]["config.extraConfig"]
    assert {option.key: option.value for option in after if option.key in keys} == keys
    assert not call(login, "vmx_passthru", vm="DC0_H0_VM0")["changed"]


def test_fields_of_the_configuration_are_set_and_read_back(login: dict[str, Any]) -> None:
    power_off(login, "DC0_H0_VM1")
    done = call(login, "vmx_passthru", vm="DC0_H0_VM1", reserve_memory=True, firmware="efi")
    assert done["changed"] and not done.failed
    row = properties(login, vim.VirtualMachine, "config.firmware", "config.memoryReservationLockedToMax")["DC0_H0_VM1"]
    assert (row["config.firmware"], row["config.memoryReservationLockedToMax"]) == ("efi", True)
    assert not call(login, "vmx_passthru", vm="DC0_H0_VM1", reserve_memory=True, firmware="efi")["changed"]


def test_running_vm_is_refused_and_cycled_only_if_told(login: dict[str, Any]) -> None:
    refused = call(login, "vmx_passthru", vm="DC0_C0_RP0_VM0")
    assert refused["error_code"] == "refused" and "powered on" in refused.msg
    done = call(login, "vmx_passthru", vm="DC0_C0_RP0_VM0", power_policy="poweroff")
    assert done["changed"] and done["power_state"] == "poweredOn"
    assert [operation["command"].split()[0] for operation in done["operations"]] == [
        "PowerOffVM_Task",
        "ReconfigVM_Task",
        "PowerOnVM_Task",
    ]


def test_what_it_lacks_ends_with_a_message_and_no_change(login: dict[str, Any]) -> None:
    kernel = call(login, "esxi_kernel_setting", esxi_hostname="DC0_H0", settings={"atsSupport": True})
    assert kernel.failed and "DC0_H0" in kernel.msg
    assert "esxcli system settings kernel list" in kernel.msg and "What to do" in kernel.msg


def test_reboot_that_is_not_supported_is_taken_back(login: dict[str, Any]) -> None:
    power_off(login, "DC0_H0_VM0")
    power_off(login, "DC0_H0_VM1")
    failed = call(login, "esxi_reboot", esxi_hostname="DC0_H0", required=True)
    assert failed.failed and "not rebooted" in failed.msg and "maintenance mode again" in failed.msg, failed.msg
    assert (
        properties(login, vim.HostSystem, "runtime.inMaintenanceMode")["DC0_H0"]["runtime.inMaintenanceMode"] is False
    )


def test_one_host_without_a_vcenter(direct: dict[str, Any]) -> None:
    with connect(direct) as connection:
        assert not connection.is_vcenter
        ((_host, name),) = connection.find_hosts(["ha-host"])
        machines = [row["name"] for _vm, row in connection.listed((vim.VirtualMachine, ["name"]))]
    assert len(call(direct, "esxi_pci_info", esxi_hostname=name)["devices"]) > 40
    refused = call(direct, "vmx_passthru", vm=machines[0])
    assert refused["error_code"] == "refused" and "powered on" in refused.msg
    power_off(direct, machines[0])
    assert call(direct, "vmx_passthru", vm=machines[0])["changed"]
    assert not call(direct, "vmx_passthru", vm=machines[0])["changed"]
