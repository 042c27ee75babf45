from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.reboot import windows

QUIET_HOST = {"host": "esx01", "host_moid": "host-1", "reboot_required": False, "reboot_reasons": []}
WAITING_HOST = {
    "host": "esx01",
    "host_moid": "host-1",
    "reboot_required": True,
    "reboot_reasons": ["atsSupport: configured TRUE, runtime FALSE"],
}
QUIET_NIC: dict[str, Any] = {"reboot_required": False, "reboot_reasons": []}
WAITING_NIC = {"reboot_required": True, "reboot_reasons": ["0000:3b:00.0 ATS_ENABLED: current 0, next 1"]}
CHANGE = {
    "key": "pciPassthru.allowP2P",
    "before": None,
    "after": "TRUE",
    "text": "set pciPassthru.allowP2P to TRUE",
}
KEYED = {"esxi_host": "esx01", "esxi_host_moid": "host-1", "changes": []}
UNKEYED = {"esxi_host": "esx01", "esxi_host_moid": "host-1", "changes": [CHANGE]}


@pytest.mark.parametrize(
    ("host", "vm", "nic", "reboot", "rekey", "down", "reasons"),
    [
        pytest.param(QUIET_HOST, KEYED, QUIET_NIC, False, [], [], 0, id="nothing_pending_opens_no_window"),
        pytest.param(WAITING_HOST, KEYED, QUIET_NIC, True, [], ["gpu01"], 1, id="kernel_setting_alone_reboots"),
        pytest.param(QUIET_HOST, KEYED, WAITING_NIC, True, [], ["gpu01"], 1, id="nic_next_boot_alone_reboots"),
        pytest.param(
            QUIET_HOST, UNKEYED, QUIET_NIC, False, ["gpu01"], ["gpu01"], 1, id="keys_alone_power_cycle_without_reboot"
        ),
        pytest.param(
            WAITING_HOST, UNKEYED, WAITING_NIC, True, ["gpu01"], ["gpu01"], 3, id="all_three_share_one_window"
        ),
    ],
)
def test_one_window_per_host(
    *,
    host: dict[str, Any],
    vm: dict[str, Any],
    nic: dict[str, Any],
    reboot: bool,
    rekey: list[str],
    down: list[str],
    reasons: int,
) -> None:
    (window,) = windows({"esx01": host}, {"gpu01": vm}, {"gpu01": nic})
    assert (window.reboot, window.rekey, window.vms, len(window.reasons)) == (reboot, rekey, down, reasons)
    assert window.needed == bool(reasons)


def test_only_the_waiting_host_is_touched() -> None:
    hosts = {"esx01": WAITING_HOST, "esx02": {**QUIET_HOST, "host": "esx02", "host_moid": "host-2"}}
    vms = {"gpu01": KEYED, "gpu03": {**KEYED, "esxi_host": "esx02", "esxi_host_moid": "host-2"}}
    assert [window.needed for window in windows(hosts, vms, {})] == [True, False]


def test_vm_on_a_foreign_host_is_an_error_that_names_both() -> None:
    with pytest.raises(ValueError, match=r"gpu01: runs on ESXi host 'esx09'.*esx01"):
        windows({"esx01": QUIET_HOST}, {"gpu01": {**KEYED, "esxi_host": "esx09", "esxi_host_moid": "host-9"}}, {})


def test_a_host_that_is_renamed_in_the_inventory_is_found_by_its_vcenter_name() -> None:
    (window,) = windows({"rack1-host": WAITING_HOST}, {"gpu01": KEYED}, {})
    assert (window.host, window.vms) == ("rack1-host", ["gpu01"])


def test_reasons_alone_reboot_no_host() -> None:
    """What is told beside `reboot_required: false` is a remark, not an order."""
    remark = {**QUIET_HOST, "reboot_reasons": ["atsSupport differs from the default"]}
    card = {"reboot_required": False, "reboot_reasons": ["0000:3b:00.0: a newer firmware exists"]}
    (window,) = windows({"esx01": remark}, {"gpu01": KEYED}, {"gpu01": card})
    assert not window.needed and window.reasons == [] and window.vms == []


@pytest.mark.parametrize(
    ("host", "nic", "nics"),
    [(WAITING_HOST, QUIET_NIC, False), (QUIET_HOST, WAITING_NIC, True), (WAITING_HOST, WAITING_NIC, True)],
)
def test_window_says_whether_only_a_boot_can_end_the_wait(host: Any, nic: Any, nics: bool) -> None:
    (window,) = windows({"esx01": host}, {"gpu01": KEYED}, {"gpu01": nic})
    assert window.reboot and window.nics is nics


def test_hosts_are_told_apart_by_their_id_however_they_are_written() -> None:
    hosts = {"rack1": {**WAITING_HOST, "host": "ESX01.example.org"}}
    (window,) = windows(hosts, {"gpu01": {**KEYED, "esxi_host": "esx01.example.org"}}, {})
    assert window.vms == ["gpu01"]


def test_two_inventory_names_of_one_host_are_refused() -> None:
    with pytest.raises(ValueError, match=r"esx01 \(host-1\).*leave one"):
        windows({"a": QUIET_HOST, "b": QUIET_HOST}, {}, {})


def test_changes_of_a_vm_travel_as_data_whatever_the_sentence_says() -> None:
    reworded = {**CHANGE, "text": "another sentence"}
    (window,) = windows({"esx01": QUIET_HOST}, {"gpu01": {**KEYED, "changes": [reworded]}, "gpu02": KEYED}, {})
    assert window.as_result()["changes"] == {"gpu01": [reworded]}
    assert window.reasons == ["gpu01: another sentence (VM must be off)"]


PLACE = {"esxi_host": "esx01", "esxi_host_moid": "host-1", "vcenter_uuid": "a"}


def test_a_vm_of_another_vcenter_is_refused_although_its_host_has_the_same_id() -> None:
    with pytest.raises(ValueError, match=r"gpu01.*'esx01' of vCenter b.*esx01 of vCenter a.*rocemesh_vcenter_hostname"):
        windows({"esx01": {**QUIET_HOST, "vcenter_uuid": "a"}}, {"gpu01": {**KEYED, "vcenter_uuid": "b"}}, {})


@pytest.mark.parametrize(
    ("key", "place"),
    [("vcenter_uuid", {**PLACE, "vcenter_uuid": "b"}), ("host_moid", {**PLACE, "esxi_host_moid": "9"})],
)
def test_a_host_that_was_read_elsewhere_than_its_window_opens_is_refused(key: str, place: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"esx01.*{key}"):
        windows({"esx01": {**WAITING_HOST, "vcenter_uuid": "a"}}, {}, {}, {"esx01": place})


def test_hosts_of_two_vcenters_with_the_same_ids_have_their_own_vms() -> None:
    hosts = {name: {**WAITING_HOST, "vcenter_uuid": name} for name in ("a", "b")}
    vms = {f"vm-{name}": {**KEYED, "vcenter_uuid": name} for name in ("a", "b")}
    assert [window.vms for window in windows(hosts, vms, {})] == [["vm-a"], ["vm-b"]]


@pytest.mark.parametrize("left_out", [{"esx01": "notResponding"}, {"gpu01": "its guest does not answer"}])
def test_a_host_that_is_left_out_gets_no_window_and_the_others_do(left_out: dict[str, str]) -> None:
    second = {"host": "esx02", "host_moid": "host-2", "vcenter_uuid": "a"}
    hosts = {"esx01": {**WAITING_HOST, "vcenter_uuid": "a"}, "esx02": {**WAITING_HOST, **second}}
    first, other = windows(hosts, {"gpu01": {**UNKEYED, "vcenter_uuid": "a"}}, {}, left_out=left_out)
    assert (first.needed, other.needed, other.left_out) == (False, True, "")
    assert next(iter(left_out.values())) in first.left_out and first.reasons


def test_a_host_that_was_not_asked_still_has_its_vms() -> None:
    (window,) = windows(
        {"esx01": {}}, {"gpu01": {**UNKEYED, "vcenter_uuid": "a"}}, {}, {"esx01": PLACE}, {"esx01": "x"}
    )
    assert (window.rekey, window.needed) == (["gpu01"], False)
