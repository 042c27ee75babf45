from __future__ import annotations

from .conftest import Run, Vcenter


def test_devices_are_joined_with_node_passthrough_and_owner(run: Run) -> None:
    found = run("esxi_pci_info", esxi_hostname="esx01", vendor_id="0x15b3", device_id="0x101d")
    assert not found["changed"]
    rows = {row["address"]: row for row in found["devices"]}
    assert {row["vendor_id"] for row in rows.values()} == {"0x15b3"}
    assert (rows["0000:3b:00.0"]["vm"], rows["0000:3b:00.0"]["numa_node"]) == ("gpu01", 0)
    assert (rows["0000:af:00.0"]["vm"], rows["0000:af:00.0"]["numa_node"]) == ("gpu02", 1)
    assert rows["0000:3b:00.1"]["vm"] is None and not rows["0000:3b:00.1"]["passthru"]["enabled"]
    assert rows["0000:3b:00.0"]["passthru"]["active"] and rows["0000:3b:00.0"]["sriov"]["capable"]
    assert rows["0000:3b:00.0"]["parent_bridge"] == "0000:3a:00.0"


def test_free_pairs_of_a_node_can_be_found(run: Run) -> None:
    found = run("esxi_pci_info", esxi_hostname="esx01")
    locality = found["numa_locality"]
    assert locality["0"]["gpus"] == ["0000:1d:00.0", "0000:3d:00.0"]
    assert locality["1"]["gpus"] == ["0000:8a:00.0", "0000:b1:00.0"]
    owned = {row["address"] for row in found["devices"] if row["vm"]}
    assert "0000:1d:00.0" not in owned and "0000:3d:00.0" in owned


def test_signed_ids_negative_on_the_wire_come_out_as_hex(run: Run) -> None:
    found = run("esxi_pci_info", esxi_hostname="esx01", address=["00:1f.4", "0000:00:17.0"])
    assert [row["vendor_id"] for row in found["devices"]] == ["0x8086", "0x8086"]
    assert [row["device_id"] for row in found["devices"]] == ["0xa182", "0xa1a3"]


def test_device_in_no_node_has_none(run: Run) -> None:
    (smbus,) = run("esxi_pci_info", esxi_hostname="esx01", address=["0000:00:1f.4"])["devices"]
    assert smbus["numa_node"] is None


def test_vm_with_devices_on_two_nodes_is_marked(run: Run) -> None:
    vms = {vm["name"]: vm for vm in run("esxi_pci_info", esxi_hostname="esx04")["vms"]}
    assert vms["split"]["same_numa_node"] is False and vms["split"]["numa_nodes"] == [0, 1]
    assert vms["bare"]["same_numa_node"] is True


def test_esxcli_columns_are_added_on_request(run: Run) -> None:
    (row,) = run("esxi_pci_info", esxi_hostname="esx01", address=["0000:3b:00.0"], gather_esxcli=True)["devices"]
    assert row["esxcli"]["ModuleName"] == "pciPassthru"
    (smbus,) = run("esxi_pci_info", esxi_hostname="esx01", address=["0000:00:1f.4"], gather_esxcli=True)["devices"]
    assert smbus["esxcli"]["ModuleName"] is None
    (plain,) = run("esxi_pci_info", esxi_hostname="esx01", address=["0000:3b:00.0"])["devices"]
    assert plain["esxcli"] is None


def test_wrong_filter_is_refused(run: Run) -> None:
    assert "not a PCI address" in run("esxi_pci_info", esxi_hostname="esx01", address=["3b"]).msg
    assert "'mellanox'" in run("esxi_pci_info", esxi_hostname="esx01", vendor_id="mellanox").msg


def test_reading_writes_nothing(run: Run, vcenter: Vcenter) -> None:
    run("esxi_pci_info", esxi_hostname="esx01", gather_esxcli=True)
    assert vcenter.calls() == []


def test_hosts_of_a_cluster_in_one_session_each_as_if_it_was_asked_alone(run: Run, vcenter: Vcenter) -> None:
    alone = {name: run("esxi_pci_info", esxi_hostname=name, gather_esxcli=True) for name in ("esx01", "esx04")}
    vcenter.ask("DELETE", "/traffic")
    found = run("esxi_pci_info", cluster="lab", gather_esxcli=True)["hosts"]
    assert vcenter.ask("GET", "/traffic")["sessions"] == 1
    assert [one["esxi_host"] for one in found] == ["esx01", "esx02", "esx03", "esx04"]
    for one in found:
        if one["esxi_host"] in alone:
            assert one == {key: alone[one["esxi_host"]][key] for key in one} and one["devices"]
    named = run("esxi_pci_info", esxi_hostnames=["esx04", "ESX01"], kind="gpu")["hosts"]
    assert [one["esxi_host"] for one in named] == ["esx04", "esx01"]
    assert {device["kind"] for one in named for device in one["devices"]} == {"gpu"}


def test_every_host_that_cannot_be_read_is_named(run: Run, vcenter: Vcenter) -> None:
    for name in ("esx02", "esx04"):
        vcenter.fault("host_never_returns", host=name)
        policy = {"vm_policy": "shutdown", "vm_allowlist": ["gpu03"]} if name == "esx02" else {}
        run("esxi_reboot", esxi_hostname=name, required=True, reboot_timeout=1, **policy)
    failed = run("esxi_pci_info", cluster="lab", gather_esxcli=True)
    assert failed.failed and failed["failed_hosts"] == ["esx02", "esx04"] and "2 hosts cannot" in failed.msg
