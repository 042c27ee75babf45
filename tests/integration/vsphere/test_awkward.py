"""Simulated hosts as awkward as real ones: settings that a power cut loses, esxcli that comes back late."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ApplyError
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import Connection, Endpoint

from lab import lifecycle

from .conftest import USER, Pki, Vcenter, run_module, started

SITE = {"hosts": [{"name": "esx01", "vms": []}], "boot_seconds": 0.2, "agent_seconds": 1.0}


@pytest.fixture(scope="module")
def shared(binary: pathlib.Path, pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vcenter]:
    with started(binary, pki, tmp_path_factory.mktemp("awkward"), SITE) as vcenter:
        yield vcenter


@pytest.fixture
def vcenter(shared: Vcenter) -> Vcenter:
    shared.ask("POST", "/reset")
    return shared


def set_ats(vcenter: Vcenter) -> None:
    done = run_module(
        "esxi_kernel_setting", {**vcenter.login, "esxi_hostname": "esx01", "settings": {"atsSupport": True}}
    )
    assert done["changed"], done.msg


def cut_power(vcenter: Vcenter) -> None:
    boots = vcenter.host("esx01")["boots"]
    vcenter.ask("POST", "/admin", {"do": "cut_power", "host": "esx01"})
    until_booted(vcenter, boots)


def until_booted(vcenter: Vcenter, boots: int) -> None:
    deadline = time.monotonic() + 60
    while (host := vcenter.host("esx01"))["boots"] == boots or host["connection"] != "connected":
        assert time.monotonic() < deadline, host
        time.sleep(0.02)


def ats(vcenter: Vcenter) -> tuple[str, str]:
    setting = vcenter.host("esx01")["kernel"]["atsSupport"]
    return setting["configured"], setting["runtime"]


def reboot(vcenter: Vcenter, *pending: str) -> Any:
    return run_module("esxi_reboot", {**vcenter.login, "esxi_hostname": "esx01", "pending_settings": list(pending)})


def test_a_power_cut_loses_a_setting_that_no_orderly_reboot_has_written(vcenter: Vcenter) -> None:
    set_ats(vcenter)
    assert ats(vcenter) == ("TRUE", "FALSE")
    cut_power(vcenter)
    assert ats(vcenter) == ("FALSE", "FALSE")


def test_a_setting_that_is_in_force_survives_a_power_cut(vcenter: Vcenter) -> None:
    set_ats(vcenter)
    assert reboot(vcenter, "atsSupport")["rebooted"]
    cut_power(vcenter)
    assert ats(vcenter) == ("TRUE", "TRUE")


def test_the_hosts_own_backup_keeps_a_setting_over_a_power_cut(
    binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path
) -> None:
    with started(binary, pki, tmp_path, {**SITE, "backup_seconds": 0}) as vcenter:
        set_ats(vcenter)
        cut_power(vcenter)
        assert ats(vcenter) == ("TRUE", "TRUE")


def test_a_host_without_power_cannot_lose_it_again(vcenter: Vcenter) -> None:
    vcenter.fault("host_never_returns", host="esx01")
    vcenter.ask("POST", "/admin", {"do": "cut_power", "host": "esx01"})
    with pytest.raises(OSError, match="400"):
        vcenter.ask("POST", "/admin", {"do": "cut_power", "host": "esx01"})
    vcenter.heal()
    until_booted(vcenter, 0)


def test_esxcli_of_a_connected_host_is_silent_at_first(binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path) -> None:
    with started(binary, pki, tmp_path, {**SITE, "agent_seconds": 3600}) as vcenter:
        cut_power(vcenter)
        assert vcenter.host("esx01")["connection"] == "connected"
        asked = {**vcenter.login, "esxi_hostname": "esx01", "settings": {"atsSupport": True}}
        early = run_module("esxi_kernel_setting", asked, check=True)
        assert early.failed and "esx01" in early.msg


def test_a_reboot_ends_when_esxcli_answers(vcenter: Vcenter) -> None:
    asked = {**vcenter.login, "esxi_hostname": "esx01", "settings": {"atsSupport": True}}
    cut_power(vcenter)
    deadline = time.monotonic() + 60
    while run_module("esxi_kernel_setting", asked, check=True).failed:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    set_ats(vcenter)
    assert reboot(vcenter, "atsSupport")["rebooted"]
    done = run_module("esxi_kernel_setting", asked, check=True)
    assert not done.failed and not done["changed"], done.msg


def test_the_twins_machines_are_not_all_alike(binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path) -> None:
    with started(binary, pki, tmp_path, {**lifecycle.topology(), "boot_seconds": 0.2}) as vcenter:

        def look(vm: str, **options: Any) -> Any:
            return run_module("vmx_passthru", {**vcenter.login, "vm": vm, **options}, check=True)

        gap = look("gpu03", gpu_pci_ids={"0": "0000:3d:00.0"})
        assert gap.failed and "calls itself PCI device 1 (key 13001)" in gap.msg
        placeless = look("gpu01", numa_node_affinity=["auto"])
        assert "which node GPU" in placeless.warned and "left alone" in placeless.warned
        assert look("gpu04", numa_node_affinity=["auto"])["resolved"]["numa_node_affinity"] == ["1"]
        vcenter.ask("POST", "/admin", {"do": "cut_power", "host": "esx01"})
        until_booted(vcenter, 0)
        assert look("gpu01").failed is False, "vCenter answers for the VM"
        assert run_module(
            "esxi_kernel_setting", {**vcenter.login, "esxi_hostname": "esx01", "settings": {"atsSupport": True}}, True
        ).failed, "and esxcli does not yet"


MMIO, SIZE = "pciPassthru.use64bitMMIO", "pciPassthru.64bitMMIOSizeGB"
AS_IT_COMES = [
    ({}, False),
    ({MMIO: "TRUE"}, False),
    ({MMIO: "TRUE", SIZE: "64"}, False),  # the BARs alone take 64
    ({MMIO: "FALSE", SIZE: "128"}, False),
    ({MMIO: "TRUE", SIZE: "128"}, True),
]


def test_power_on_itself_reads_the_mmio_keys(binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path) -> None:
    """By another client than the module, which would have asked for them before."""
    machines = [
        {"name": f"vm{number}", "power": "off", "configured": False, "reserve_memory": True, "node": number % 2}
        | {"extra_config": keys, "devices": [{"kind": "gpu"}]}
        for number, (keys, _on) in enumerate(AS_IT_COMES)
    ]
    with started(binary, pki, tmp_path, {"hosts": [{"name": "esx01", "vms": machines}]}) as vcenter:
        endpoint = Endpoint("127.0.0.1", USER, vcenter.password, vcenter.port, ca_path=str(vcenter.ca))
        with Connection(endpoint) as connection:
            for number, (keys, on) in enumerate(AS_IT_COMES):
                task = connection.find_vm(f"vm{number}").PowerOnVM_Task()
                if on:
                    connection.wait(task, "power on", f"vm{number}", 10)
                else:
                    with pytest.raises(ApplyError, match="'DevicePowerOn' power on failed"):
                        connection.wait(task, "power on", f"vm{number}", 10)
                assert vcenter.vm(f"vm{number}")["power"] == ("on" if on else "off"), keys
