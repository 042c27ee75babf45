"""Entries of the journal from results, and the answer of a drift run."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from ansible_collections.rocemesh.multinode.plugins.callback.journal import CallbackModule
from ansible_collections.rocemesh.multinode.plugins.plugin_utils import journal

SCHEMA = json.loads((pathlib.Path(__file__).parents[3] / "docs" / "schemas" / "journal.schema.json").read_text())
BEGIN = {"run": "20261123T101500Z-4f2a", "time": "2026-11-23T10:15:00+00:00", "simulated": False}
TASK = journal.Task("Configure it", "rocemesh.multinode.mlxconfig_ats", "guest", "gpu01")
CHANGE: dict[str, Any] = {
    "changed": True,
    "device": "0000:3b:00.0",
    "diff": {"before": {"ATS_ENABLED": "False"}, "after": {"ATS_ENABLED": "True"}},
    "operations": [
        {"description": "enable ATS", "command": "set ATS_ENABLED=1", "disrupts": "", "reboot": "esxi_host"}
    ],
    "undo": ["set ATS_ENABLED=0"],
    "reboot_required": True,
    "reboot_reasons": ["ATS_ENABLED: current 0, next 1"],
    "invocation": {"module_args": {"password": "Not-to-be-seen"}},
    "stdout": "Not-to-be-seen",
}
WAITS = {"changed": False, "reboot_required": True, "reboot_reasons": ["atsSupport"], "esxi_host": "esx01"}
UNREADABLE = {"failed": True, "msg": "no answer", "error_code": "unreachable"}
WRONG = {"failed": True, "msg": "is not there", "error_code": "not_in_force"}


def said(
    result: dict[str, Any], failed: bool = False, plan: bool = False, drift: bool = False, task: journal.Task = TASK
) -> list[dict[str, Any]]:
    found = list(journal.entries(task, result, failed, plan or drift, drift))
    for entry in found:
        jsonschema.validate({**entry, "time": BEGIN["time"]}, SCHEMA)
        assert "Not-to-be-seen" not in json.dumps(entry)
    return found


def test_a_change_has_both_sides_the_operations_and_the_way_back() -> None:
    (entry,) = said(CHANGE)
    assert (entry["kind"], entry["device"], entry["undo"]) == ("change", "0000:3b:00.0", ["set ATS_ENABLED=0"])
    assert (entry["before"], entry["after"]) == (CHANGE["diff"]["before"], CHANGE["diff"]["after"])
    assert entry["operations"][0]["reboot"] == "esxi_host" and entry["reasons"] == CHANGE["reboot_reasons"]


@pytest.mark.parametrize(
    "result", [{"changed": False}, {"changed": True, "skipped": True}, {"changed": False, "operations": [{}]}]
)
def test_no_entry_where_nothing_was_changed(result: dict[str, Any]) -> None:
    assert said(result) == []


def test_a_plan_takes_operations_of_a_reading_too() -> None:
    reading = {**CHANGE, "changed": False}
    assert [entry["kind"] for entry in said(reading)] == ["waiting"]
    assert [entry["kind"] for entry in said(reading, plan=True)] == ["change"]


def test_each_item_of_a_loop_counts() -> None:
    items = {"changed": True, "results": [CHANGE, {"changed": False}, {**CHANGE, "device": "0000:5e:00.0"}]}
    assert [entry["device"] for entry in said(items)] == ["0000:3b:00.0", "0000:5e:00.0"]


def test_items_of_a_loop_that_did_not_fail_are_no_failures() -> None:
    items = {"failed": True, "results": [{"changed": False}, UNREADABLE]}
    assert [entry["code"] for entry in said(items, failed=True)] == ["", "unreachable"][1:]


def test_loop_that_loses_its_host_keeps_what_it_had_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    callback = CallbackModule()
    monkeypatch.setattr(callback, "_record", lambda *_lines: None)
    monkeypatch.setattr("ansible_collections.rocemesh.multinode.plugins.callback.journal._about", lambda *_of: TASK)
    lost = {"unreachable": True, "msg": "port 22: refused"}
    found = {"unreachable": True, "msg": "All items completed", "results": [CHANGE, lost]}
    task = SimpleNamespace(check_mode=False, tags=[])
    callback.v2_runner_on_unreachable(SimpleNamespace(_task=task, _host=None, _result=found))
    assert [(each["kind"], each.get("message", "")) for each in callback._said] == [
        ("change", ""),
        ("failed", "port 22: refused"),
    ]


def test_modules_that_answer_for_several_hosts() -> None:
    hosts = [{**WAITS, "changes": []}, {"esxi_host": "esx02", "reboot_required": False, "changes": []}]
    assert [entry["device"] for entry in said({"changed": False, "hosts": hosts})] == ["esx01"]
    changed = {
        **CHANGE,
        "device": None,
        "hosts": [{"esxi_host": "esx01", "changes": ["a"]}, {"esxi_host": "esx02", "changes": ["b"]}],
    }
    assert [entry["device"] for entry in said(changed)] == ["esx01, esx02"]
    changed["hosts"] = [{"esxi_host": "esx03", "changes": ["c"]}, *hosts]
    assert [(entry["kind"], entry["device"]) for entry in said(changed)] == [("change", "esx03"), ("waiting", "esx01")]


def vms(*rows: dict[str, Any]) -> dict[str, Any]:
    """As role gpu_vm reads all VMs of a vCenter: names in vCenter, and those of the inventory in the loop."""
    batch = {"nodes": [f"node{number}" for number in range(len(rows))]}
    listed = [{"asked": f"vm{number}", "failed": False, **row} for number, row in enumerate(rows)]
    return {"changed": False, "results": [{"changed": False, "batch": batch, "vcenter_uuid": "a", "vms": listed}]}


def test_vms_that_were_read_together_are_planned_each_for_itself() -> None:
    key = {"diff": {"before": {"k": "FALSE"}, "after": {"k": "TRUE"}}, "operations": CHANGE["operations"], "vm": "vm1"}
    read = vms({"operations": []}, {**key, "changed": True}, {"vm": "vm2", "reboot_required": True})
    for drift in (False, True):
        changed, waiting = said(read, plan=True, drift=drift)
        assert (changed["host"], changed["device"], changed["before"]) == ("node1", "vm1", {"k": "FALSE"})
        assert changed["identity"] == {"vcenter_uuid": "a"}
        assert (waiting["host"], waiting["kind"]) == ("node2", "waiting")


def test_vm_that_could_not_be_read_is_drift_and_no_failure_of_a_plan() -> None:
    read = vms({"operations": []}, UNREADABLE)
    (entry,) = said(read, drift=True)
    assert (entry["host"], entry["kind"], entry["readable"]) == ("node1", "failed", False)
    assert said(read, plan=True) == []


def test_esxi_hosts_have_their_own_drift_and_one_change() -> None:
    rows = [{"esxi_host": f"esx{number}", "changes": ["c"] * (number < 2), "reboot_required": number == 2,
             "reboot_reasons": ["r"]} for number in range(4)]  # fmt: skip
    result = {
        **CHANGE, "device": None, "hosts": rows, "batch": {"hosts": ["a", "b", "c", "d"]},
        "operations": [{**CHANGE["operations"][0], "command": f"esx{number}: esxcli"} for number in (0, 1)],
        "diff": {"before": {"esx0 k": 1, "esx1 k": 2}, "after": {"esx0 k": 3, "esx1 k": 3}},
    }  # fmt: skip
    found = said(result, drift=True)
    assert [(entry["host"], entry["device"], entry["kind"]) for entry in found] == [
        ("a", "esx0", "change"), ("b", "esx1", "change"), ("c", "esx2", "waiting")
    ]  # fmt: skip
    assert [entry["before"] for entry in found[:2]] == [{"esx0 k": 1}, {"esx1 k": 2}]
    assert [entry["operations"][0]["command"] for entry in found[:2]] == ["esx0: esxcli", "esx1: esxcli"]
    assert [entry["device"] for entry in said(result)] == ["esx0, esx1", "esx2"]
    alone = {**result, "hosts": rows[:1], "batch": {"hosts": ["a"]}}
    assert [entry["before"] for entry in said(alone, drift=True)] == [{"esx0 k": 1, "esx1 k": 2}]


def test_vcenter_that_is_silent_is_so_for_each_of_its_hosts() -> None:
    silent = {"failed": True, "results": [{**UNREADABLE, "batch": {"nodes": ["node1", "node2"]}}]}
    assert [entry["host"] for entry in said(silent, failed=True, drift=True)] == ["node1", "node2"]
    assert [entry["host"] for entry in said(silent, failed=True)] == ["gpu01"]
    assert journal.asked(TASK, silent) == {"node1", "node2"} and journal.asked(TASK, CHANGE) == {"gpu01"}


def test_what_is_not_in_force_is_drift_beside_what_differs() -> None:
    wrong = {**CHANGE, "problems": ["PFC is off", "no ECN"]}
    change, failed = said(wrong, drift=True)
    assert change["kind"] == "change" and failed["readable"] and failed["message"] == "PFC is off; no ECN"
    assert [entry["kind"] for entry in said(wrong, plan=True)] == ["change"]


def test_a_change_says_which_device_it_was_of_whatever_its_name() -> None:
    vm = {"vcenter_uuid": "a", "vm": "gpu01", "vm_moid": "vm-1", "vm_uuid": "v", "esxi_host_moid": "host-1"}
    (entry,) = said({**CHANGE, **vm})
    assert entry["identity"] == {key: value for key, value in vm.items() if key != "vm"}
    ids = {"esxi_host_moid": "host-1", "esxi_host_uuid": "h"}
    hosts = [{"esxi_host": "esx01", "changes": ["c"], **ids}, {"esxi_host": "esx02", "changes": [], **ids}]
    (entry,) = said({**CHANGE, "vcenter_uuid": "a", "hosts": hosts})
    assert entry["identity"] == {"vcenter_uuid": "a", "esxi_hosts": {"esx01": {"moid": "host-1", "uuid": "h"}}}


def test_other_modules_have_no_way_back() -> None:
    (entry,) = said({"changed": True, "diff": [{"before": "a\n", "after": "b\n"}], "dest": "/etc/x"})
    assert entry["undo"] is None and entry["before"] == {} and entry["operations"] == []


def test_environment_of_a_container_is_not_kept() -> None:
    """With --diff, docker_container says it as data."""
    task = dataclasses.replace(TASK, action="community.docker.docker_container", layer="container")
    diff = {"before": {"env": []}, "after": {"env": ["HF_TOKEN=Not-to-be-seen"]}}
    (entry,) = said({"changed": True, "diff": diff}, task=task)
    assert (entry["before"], entry["after"]) == ({}, {})


@pytest.mark.parametrize(
    ("action", "result", "readable"),
    [
        ("rocemesh.multinode.onyx_roce", UNREADABLE, False),
        ("rocemesh.multinode.onyx_roce", {**UNREADABLE, "error_code": "credentials"}, False),
        ("rocemesh.multinode.onyx_roce", {**UNREADABLE, "error_code": "unknown_format"}, False),
        ("rocemesh.multinode.onyx_roce", WRONG, True),
        ("ansible.builtin.assert", {"failed": True, "msg": "ATS is not active"}, True),
        ("ansible.builtin.command", {"failed": True, "msg": "rc 1"}, False),
    ],
)
def test_a_failure_says_whether_the_device_was_read(action: str, result: dict[str, Any], readable: bool) -> None:
    (entry,) = said(result, failed=True, task=journal.Task("x", action, "switch", "sw01"))
    assert entry["readable"] is readable


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([], journal.RIGHT),
        ([(CHANGE, False)], journal.DIFFERS),
        ([(WAITS, False)], journal.DIFFERS),
        ([(WRONG, True)], journal.DIFFERS),
        ([(CHANGE, False), (UNREADABLE, True), (WAITS, False)], journal.NOT_READABLE),
    ],
)
def test_status_and_metrics_of_a_drift_run(results: list[tuple[dict[str, Any], bool]], status: int) -> None:
    entries = [entry for result, failed in results for entry in said(result, failed)]
    assert journal.status(entries) == status
    found = journal.drift(entries, {"guest": ["gpu01", "gpu02"]}, BEGIN)
    assert found["verdict"] == journal.VERDICTS[status] and len(found["drift"]) == len(results)
    text = journal.metrics(found, 1.0)
    assert 'rocemesh_drift_differences{host="gpu02",layer="guest"} 0' in text
    assert f'verdict="{found["verdict"]}",simulated="false"' in text


def test_labels_are_escaped() -> None:
    found = journal.drift([], {"guest": ['a"b\\c\nd']}, BEGIN)
    assert 'host="a\\"b\\\\c\\nd"' in journal.metrics(found, 1.0)


def test_the_page_escapes_what_devices_say() -> None:
    begin = {
        **BEGIN,
        "kind": "begin",
        "check_mode": True,
        "account": "<b>",
        "controller": "c",
        "playbook": "p",
        "version": "1",
    }
    lines = [
        begin,
        *({**entry, "time": "t"} for entry in said({**CHANGE, "device": "<script>"})),
        *({**entry, "time": "t"} for entry in said(UNREADABLE, failed=True)),
    ]
    page = journal.page(lines)
    assert "<script>" not in page and "&lt;script&gt;" in page and "<b>" not in page and "ended: killed" in page


def test_host_that_waits_is_listed_beside_one_that_changes() -> None:
    """One call changes esx03 and reads that esx01 waits, for the same reason."""
    hosts = [{"esxi_host": "esx03", "changes": ["c"]}, {**WAITS, "changes": []}]
    change, waiting = said({**CHANGE, "device": None, "reboot_reasons": WAITS["reboot_reasons"], "hosts": hosts})
    assert not journal.says_nothing_new(waiting, change, True)
    assert journal.says_nothing_new({**waiting, "device": "esx03"}, change, True)


def test_entry_is_compared_with_those_of_its_host_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with all others takes minutes where a thousand hosts have ten of them."""
    compared = []
    callback = CallbackModule()
    monkeypatch.setattr(callback, "_record", lambda *_lines: None)
    monkeypatch.setattr(journal, "says_nothing_new", lambda entry, before, _plan: compared.append((entry, before)))
    said = [{"kind": "waiting", "host": host} for host in ("gpu01", "gpu02", "gpu01")]
    callback._write(said)
    assert compared == [(said[2], said[0])] and callback._said == said
