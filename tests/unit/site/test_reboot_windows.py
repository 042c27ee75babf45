# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.reboot import windows

QUIET_HOST = {"host": "esx01", "reboot_required": False, "reboot_reasons": []}
WAITING_HOST = {
    "host": "esx01",
    "reboot_required": True,
    "reboot_reasons": ["atsSupport: configured TRUE, runtime FALSE"],
}
QUIET_NIC: dict[str, Any] = {"reboot_required": False, "reboot_reasons": []}
WAITING_NIC = {"reboot_required": True, "reboot_reasons": ["0000:3b:00.0 ATS_ENABLED: current 0, next 1"]}
KEYED = {"esxi_host": "esx01", "changes": []}
UNKEYED = {"esxi_host": "esx01", "changes": ["set pciPassthru.allowP2P"]}


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
    hosts = {"esx01": WAITING_HOST, "esx02": {**QUIET_HOST, "host": "esx02"}}
    vms = {"gpu01": KEYED, "gpu03": {**KEYED, "esxi_host": "esx02"}}
    assert [window.needed for window in windows(hosts, vms, {})] == [True, False]


def test_vm_on_a_foreign_host_is_an_error_that_names_both() -> None:
    with pytest.raises(ValueError, match=r"gpu01: runs on ESXi host 'esx09'.*there: esx01"):
        windows({"esx01": QUIET_HOST}, {"gpu01": {**KEYED, "esxi_host": "esx09"}}, {})


def test_a_host_that_is_renamed_in_the_inventory_is_found_by_its_vcenter_name() -> None:
    (window,) = windows({"rack1-host": WAITING_HOST}, {"gpu01": KEYED}, {})
    assert (window.host, window.vms) == ("rack1-host", ["gpu01"])
