"""One look at the whole site before anything is changed there: names, other people's VMs, privileges."""

from __future__ import annotations

import pytest

from .conftest import Run, Vcenter


def test_a_right_site_has_every_host_vm_and_privilege(run: Run) -> None:
    found = run("vcenter_site_info", hosts=["esx01", "esx02"], vms=["gpu01", "gpu03"])
    assert not found.failed and not found["changed"]
    assert [(row["asked"], row["problem"], row["connection"]) for row in found["hosts"]] == [
        ("esx01", "", "connected"),
        ("esx02", "", "connected"),
    ]
    assert [row["problem"] for row in found["vms"]] == ["", ""]
    assert [(row["power"], row["tools"], row["esxi_host"]) for row in found["vms"]] == [
        ("poweredOn", "guestToolsRunning", "esx01"),
        ("poweredOn", "guestToolsRunning", "esx02"),
    ]
    assert found["missing_privileges"] == []
    assert abs(found["clock_skew"]) < 5


def test_names_that_vcenter_does_not_know_are_rows_and_no_failure(run: Run) -> None:
    found = run("vcenter_site_info", hosts=["esx01", "esx09"], vms=["gpu01", "gpu99", "twin"])
    assert not found.failed
    assert [bool(row["problem"]) for row in found["hosts"]] == [False, True]
    assert "it knows esx01" in found["hosts"][1]["problem"]
    assert [bool(row["problem"]) for row in found["vms"]] == [False, True, True]
    assert "2 have this name" in found["vms"][2]["problem"]


def test_other_peoples_vms_and_maintenance_are_told(run: Run, vcenter: Vcenter) -> None:
    vcenter.ask("POST", "/admin", {"do": "enter", "host": "esx02", "user": "LAB\\anna"})
    rows = run("vcenter_site_info", hosts=["esx01", "esx02", "esx03"])["hosts"]
    assert rows[0]["running_vms"] == ["gpu01", "gpu02"]
    assert [row["maintenance"] for row in rows] == [False, True, False]
    assert rows[2]["running_vms"] == ["vcsa"]


@pytest.mark.parametrize(
    ("method", "privilege", "where"),
    [
        ("RebootHost_Task", "Host.Config.Maintenance", ["esx01"]),
        ("ReconfigVM_Task", "VirtualMachine.Config.AdvancedConfig", ["gpu01"]),
        ("PowerOnVM_Task", "VirtualMachine.Interact.PowerOn", ["gpu01"]),
        ("AddCustomFieldDef", "Global.ManageCustomFields", ["Datacenters"]),
    ],
)
def test_a_privilege_that_is_missing_is_named_before_it_is_needed(
    run: Run, vcenter: Vcenter, method: str, privilege: str, where: list[str]
) -> None:
    vcenter.fault("no_permission", method=method)
    rows = run("vcenter_site_info", hosts=["esx01"], vms=["gpu01"])["missing_privileges"]
    assert [(row["privilege"], row["on"]) for row in rows] == [(privilege, where)]


def test_the_lease_and_the_mark_need_the_same_privilege_on_two_kinds_of_objects(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("no_permission", method="SetField")
    rows = run("vcenter_site_info", hosts=["esx01", "esx02"])["missing_privileges"]
    assert [row["on"] for row in rows] == [["esx01", "esx02"], ["lab-dc"]]


def test_nothing_is_changed_and_the_calls_do_not_grow_with_the_hosts(run: Run, vcenter: Vcenter) -> None:
    counts = []
    for hosts in (["esx01"], ["esx01", "esx02", "esx03", "esx04"]):
        before = vcenter.ask("GET", "/traffic")
        run("vcenter_site_info", hosts=hosts)
        after = vcenter.ask("GET", "/traffic")
        counts.append(after["requests"] - before["requests"])
    assert vcenter.calls() == []
    # Two more: other VMs run there, and their names are asked for, too.
    assert counts[1] - counts[0] <= 2, counts


def test_a_closed_port_fails_with_the_address(run: Run) -> None:
    failed = run("vcenter_site_info", port=9, hosts=["esx01"])
    assert failed.failed and "127.0.0.1" in failed.msg


@pytest.mark.parametrize(("policy", "shown"), [("low", "Low Power"), ("dynamic", "Balanced"), ("custom", "Custom")])
def test_the_power_policy_of_each_host_is_told(run: Run, vcenter: Vcenter, policy: str, shown: str) -> None:
    vcenter.fault("power_policy", host="esx02", policy=policy)
    rows = run("vcenter_site_info", hosts=["esx01", "esx02"])["hosts"]
    assert [row["power_policy"] for row in rows] == ["High Performance", shown]
