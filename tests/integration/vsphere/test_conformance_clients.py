"""Modules of vmware.vmware and community.vmware, which know nothing of us, against the lab's vCenter.

What they read agrees with what our modules read; what they write our modules see, and the other way round.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from .conftest import ROOT, Run, Vcenter

P2P, ACS = "pciPassthru.allowP2P", "pciPassthru.RelaxACSforP2P"


class Clients:
    """Runs tasks of other collections through ansible-playbook and returns what each registered."""

    def __init__(self, vcenter: Vcenter, folder: pathlib.Path) -> None:
        self.vcenter = vcenter
        self.folder = folder

    def __call__(self, *tasks: dict[str, Any]) -> list[Any]:
        login = self.vcenter.login
        given = {key: login[key] for key in ("hostname", "username", "password", "port")} | {"validate_certs": False}
        play = {
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "module_defaults": {"group/vmware": given, "group/vmware.vmware.vmware": given},
            "tasks": [
                *({**task, "register": f"result{number}"} for number, task in enumerate(tasks)),
                {
                    "ansible.builtin.copy": {
                        "content": "{{ ["
                        + ", ".join(f"result{number}" for number in range(len(tasks)))
                        + "] | to_json }}",
                        "dest": str(self.folder / "results.json"),
                        "mode": "0600",
                    }
                },
            ],
        }
        for task in play["tasks"][:-1]:  # type: ignore[index]
            (module,) = [key for key in task if "." in key]
            task[module] = {**given, **task[module]}
        del play["module_defaults"]
        (self.folder / "play.yml").write_text(json.dumps([play]))
        done = subprocess.run(
            [
                str(pathlib.Path(sys.executable).with_name("ansible-playbook")),
                *(
                    "-i",
                    "localhost,",
                    "-e",
                    f"ansible_python_interpreter={sys.executable}",
                    str(self.folder / "play.yml"),
                ),
            ],
            cwd=ROOT,
            env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_HOME": str(self.folder / "home")},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        return list(json.loads((self.folder / "results.json").read_text()))


@pytest.fixture
def clients(vcenter: Vcenter, tmp_path: pathlib.Path) -> Clients:
    return Clients(vcenter, tmp_path)


def host_facts(name: str) -> dict[str, Any]:
    wanted = ["name", "hardware.pciDevice", "hardware.numaInfo", "config.pciPassthruInfo", "runtime.inMaintenanceMode"]
    return {"community.vmware.vmware_host_facts": {"esxi_hostname": name, "schema": "vsphere", "properties": wanted}}


def guest_info(name: str) -> dict[str, Any]:
    wanted = [
        "name",
        "config.extraConfig",
        "runtime.powerState",
        "config.firmware",
        "config.memoryReservationLockedToMax",
    ]
    return {
        "community.vmware.vmware_guest_info": {
            "datacenter": "lab-dc",
            "name": name,
            "schema": "vsphere",
            "properties": wanted,
        }
    }


def keys_of(guest: dict[str, Any]) -> dict[str, Any]:
    return {option["key"]: option["value"] for option in guest["instance"]["config"]["extraConfig"]}


def test_facts_of_a_host_agree(run: Run, clients: Clients) -> None:
    ours = run("esxi_pci_info", esxi_hostname="esx01")
    theirs = clients(host_facts("esx01"))[0]["ansible_facts"]
    devices = {device["id"]: device for device in theirs["hardware"]["pciDevice"]}
    passthru = {info["id"]: info for info in theirs["config"]["pciPassthruInfo"]}
    nodes = {
        address.lower(): node["typeId"]
        for node in theirs["hardware"]["numaInfo"]["numaNode"]
        for address in node["pciId"]
    }
    assert {row["address"] for row in ours["devices"]} == set(devices)
    for row in ours["devices"]:
        device, info = devices[row["address"]], passthru[row["address"]]
        assert int(row["vendor_id"], 16) == device["vendorId"] & 0xFFFF
        assert int(row["device_id"], 16) == device["deviceId"] & 0xFFFF
        assert (row["device_name"], row["parent_bridge"]) == (device["deviceName"], device.get("parentBridge") or "")
        assert row["numa_node"] == nodes.get(row["address"])
        shown = row["passthru"]
        assert (shown["capable"], shown["enabled"], shown["active"]) == (
            info["passthruCapable"],
            info["passthruEnabled"],
            info["passthruActive"],
        )
    assert {node["id"]: node["memory_mb"] for node in ours["numa_nodes"]} == {
        node["typeId"]: node["memoryRangeLength"] // 2**20 for node in theirs["hardware"]["numaInfo"]["numaNode"]
    }


def test_facts_of_a_vm_agree_before_and_after_our_change(run: Run, clients: Clients) -> None:
    (before,) = clients(guest_info("gpu01"))
    ours = run("vmx_passthru", check=True, vm="gpu01", use_64bit_mmio=True, mmio_size_gb=128)
    assert ours["power_state"] == before["instance"]["runtime"]["powerState"] == "poweredOn"
    mmio = {key: value for key, value in ours["settings"].items() if "64bit" in key}
    assert mmio == {key: value for key, value in keys_of(before).items() if "64bit" in key} and len(mmio) == 2
    assert before["instance"]["config"]["firmware"] == "efi"

    done = run("vmx_passthru", vm="gpu01", numa_node_affinity="auto", power_policy="shutdown")
    (after,) = clients(guest_info("gpu01"))
    assert {key: keys_of(after).get(key) for key in done["settings"]} == done["settings"]
    untouched = {key: value for key, value in keys_of(before).items() if key not in done["settings"]}
    assert {key: value for key, value in keys_of(after).items() if key not in done["settings"]} == untouched


def test_inventory_and_maintenance_agree(run: Run, clients: Clients) -> None:
    about, entered = clients(
        {"community.vmware.vmware_about_info": {}},
        {"vmware.vmware.esxi_maintenance_mode": {"esxi_host_name": "esx04", "enable_maintenance_mode": True}},
    )
    assert "SIMULATED" in about["about_info"]["product_full_name"]
    assert entered["changed"]
    refused = run("esxi_reboot", esxi_hostname="esx04", required=True)
    assert refused["error_code"] == "refused" and "in maintenance mode" in refused.msg
    allowed = run("esxi_reboot", esxi_hostname="esx04", required=True, in_maintenance="adopt")
    assert allowed["rebooted"] and not allowed["in_maintenance"]
    facts, again = clients(
        host_facts("esx04"),
        {"vmware.vmware.esxi_maintenance_mode": {"esxi_host_name": "esx04", "enable_maintenance_mode": False}},
    )
    assert facts["ansible_facts"]["runtime"]["inMaintenanceMode"] is False and not again["changed"]


def test_power_agrees(run: Run, clients: Clients, vcenter: Vcenter) -> None:
    (off,) = clients(
        {
            "vmware.vmware.vm_powerstate": {
                "name": "gpu03",
                "datacenter": "lab-dc",
                "state": "powered-off",
                "force": True,
            }
        }
    )
    assert off["changed"] and vcenter.vm("gpu03")["power"] == "off"
    done = run("vmx_passthru", vm="gpu03", final_power="on")
    assert [operation["command"].split()[0] for operation in done["operations"]] == [
        "ReconfigVM_Task",
        "PowerOnVM_Task",
    ]
    (guest,) = clients(guest_info("gpu03"))
    assert guest["instance"]["runtime"]["powerState"] == "poweredOn"


def test_keys_that_another_module_wrote_as_text_are_right_for_ours(run: Run, clients: Clients) -> None:
    (written,) = clients(
        {
            "vmware.vmware.vm_advanced_settings": {
                "name": "split",
                "state": "present",
                "settings": {P2P: "TRUE", ACS: "true"},
            }
        }
    )
    assert written["changed"]
    assert not run("vmx_passthru", vm="split")["changed"]


def test_boolean_that_the_other_module_writes_as_a_number_is_as_good_as_ours(run: Run, clients: Clients) -> None:
    """The other module sends a YAML boolean as the number 1 and finds it changed for ever; ours finds it true."""
    wrong = {"vmware.vmware.vm_advanced_settings": {"name": "split", "state": "present", "settings": {P2P: True}}}
    first, second = clients(wrong, wrong)
    assert first["changed"] and second["changed"]
    (guest,) = clients(guest_info("split"))
    assert keys_of(guest)[P2P] == "1"
    done = run("vmx_passthru", vm="split")
    assert not done.failed, done.msg
    assert P2P not in done["diff"]["after"]
    assert not run("vmx_passthru", vm="split")["changed"]
    (guest,) = clients(guest_info("split"))
    assert keys_of(guest)[P2P] == "1"


def test_passthrough_state_agrees(run: Run, clients: Clients) -> None:
    ours = run("esxi_pci_info", esxi_hostname="esx01", vendor_id="0x15b3")["devices"]
    on = [row["address"] for row in ours if row["passthru"]["enabled"]]
    off = [row["address"] for row in ours if not row["passthru"]["enabled"]]
    assert on and off
    module = "community.vmware.vmware_host_passthrough"
    enabled, disabled = clients(
        {
            module: {"esxi_hostname": "esx01", "devices": [{"device": a} for a in on], "state": "present"},
            "check_mode": True,
        },
        {
            module: {"esxi_hostname": "esx01", "devices": [{"device": a} for a in off], "state": "absent"},
            "check_mode": True,
        },
    )
    assert not enabled["changed"] and not disabled["changed"]
