"""vCenter and hosts of 8.0U3, 9.0 and 9.1: all that they say of host devices is read and reported."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._preflight import devices

from .conftest import Pki, Result, Vcenter, run_module, started

GPU, NIC = "0000:3d:00.0", "0000:3b:00.0"
GROUP = "Nvidia:2@grid_h100xm-80c%1@ConnectX7"
BACKINGS = {
    "fixed": {"kind": "nic"},
    "dynamic": {"kind": "gpu", "backing": "dynamic"},
    "vgpu": {"kind": "gpu", "backing": "vgpu", "profile": "grid_h100xm-80c", "group": 1, "group_name": GROUP},
    "dvx": {"kind": "nic", "backing": "dvx", "profile": "sample-class", "group": 1, "group_name": GROUP},
    "automatic": {"kind": "nic", "backing": "sriov"},
    "unknown": {"kind": "gpu", "backing": "plugin"},
}
RELEASES = {"8.0U3": "8.0.3", "9.0": "9.0.0", "9.1": "9.1.0"}


def topology(release: str) -> dict[str, Any]:
    vm = {"name": "gpu01", "node": 0, "power": "off", "devices": list(BACKINGS.values())}
    host = {"name": "esx01", "vms": [vm], "modes": {GPU: "vGpuSameSize"}}
    return {"datacenter": "lab-dc", "cluster": "lab", "release": release, "hosts": [host]}


@pytest.fixture(scope="module", params=RELEASES)
def site(
    request: pytest.FixtureRequest, binary: pathlib.Path, pki: Pki, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Vcenter]]:
    with started(binary, pki, tmp_path_factory.mktemp("release"), topology(request.param)) as vcenter:
        yield request.param, vcenter


def ask(vcenter: Vcenter, module: str, **options: Any) -> Result:
    found = run_module(module, {**vcenter.login, **options}, check=True)
    assert not found.failed, found.msg
    return found


def test_vmx_passthru_reads_every_backing_of_a_release(site: tuple[str, Vcenter]) -> None:
    _release, vcenter = site
    found = ask(vcenter, "vmx_passthru", vm="gpu01", numa_node_affinity=["auto"], mmio_size_gb="auto")
    assert [device["assignment"] for device in found["devices"]] == list(BACKINGS)
    assert [device["profile"] for device in found["devices"]][2:4] == ["grid_h100xm-80c", "sample-class"]
    assert [device["group_name"] for device in found["devices"]] == ["", "", GROUP, GROUP, "", ""]
    assert found["devices"][5]["profile"] == "PluginBackingInfo"
    assert found["left_alone"] and GROUP in found.warned
    together = ask(vcenter, "vmx_passthru", vms=[{"vm": "gpu01"}])["vms"]
    assert together[0]["devices"] == found["devices"]


def test_pci_info_shows_the_mode_of_each_device(site: tuple[str, Vcenter]) -> None:
    release, vcenter = site
    found = ask(vcenter, "esxi_pci_info", esxi_hostname="esx01")
    passthru = {device["address"]: device["passthru"] for device in found["devices"]}
    known = release == "9.1"
    assert passthru[GPU]["mode"] == ("vGpuSameSize" if known else None)
    assert passthru[NIC]["mode"] == ("directPath" if known else None)
    assert ("enhancedDirectPath" in passthru[NIC]["configurable_modes"]) is known
    assert ("vGpuMixedSize" in passthru[GPU]["configurable_modes"]) is known
    assert next(device for device in found["devices"] if device["address"] == NIC)["sriov"]["capable"]
    assert [device["assignment"] for device in found["vms"][0]["devices"]] == list(BACKINGS)


def test_preflight_reports_devices_chosen_at_power_on(site: tuple[str, Vcenter]) -> None:
    release, vcenter = site
    reading = ask(vcenter, "vcenter_site_info", hosts=["esx01"], vms=["gpu01"])
    assert f"Server {RELEASES[release]} build" in reading["product"]
    found = [
        dataclasses.asdict(finding)
        for finding in devices.vcenter(reading, ["gpu01"], windows=False, dry=True)
        if finding.thing in ("devices of the VM", "device of the VM")
    ]
    assert [(each["level"], each["place"]) for each in found] == [("note", "gpu01"), ("warning", "gpu01")]
    for words in ("vGPU grid_h100xm-80c", "device class sample-class", f"device group 1 {GROUP}", "SR-IOV"):
        assert words in found[0]["text"]
    assert "PluginBackingInfo" in found[1]["text"]
