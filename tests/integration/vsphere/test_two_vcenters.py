# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two vCenters with the same names and ids, as a vCenter and its restored copy: what was read on one is done there or
nowhere, whichever way the logins are given."""

from __future__ import annotations

import json
import pathlib
import random
from collections.abc import Iterator
from typing import Any

import pytest

from .conftest import WINDOWS, Pki, Vcenter, run_module, started
from .site_playbooks import WAITING, Controller

ALLOW = ("-e", "rocemesh_allow_reboot=true")
MIXES = 50
GUESTS = {"vm_policy": "shutdown", "vm_allowlist": ["gpu01", "gpu02", "gpu03"]}


@pytest.fixture(scope="module")
def other(binary: pathlib.Path, pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vcenter]:
    with started(binary, pki, tmp_path_factory.mktemp("other"), WINDOWS) as vcenter:
        yield vcenter


@pytest.fixture
def both(quick: Vcenter, other: Vcenter) -> tuple[Vcenter, Vcenter]:
    for vcenter in (quick, other):
        vcenter.ask("POST", "/reset")
    return quick, other


def test_they_have_the_same_ids_and_uuids_of_their_own(both: tuple[Vcenter, Vcenter]) -> None:
    first, second = (run_module("vmx_passthru", {**each.login, "vm": "gpu01"}, check=True) for each in both)
    assert (first["vm_moid"], first["esxi_host_moid"]) == (second["vm_moid"], second["esxi_host_moid"])
    assert first["vcenter_uuid"] and first["vcenter_uuid"] != second["vcenter_uuid"]


def test_modules_refuse_ids_of_another_vcenter(both: tuple[Vcenter, Vcenter]) -> None:
    """What was read on one is asked of one drawn by chance."""
    dice = random.Random(17)
    read = {
        vcenter: {vm: run_module("vmx_passthru", {**vcenter.login, "vm": vm}, check=True) for vm in ("gpu01", "gpu03")}
        for vcenter in both
    }
    refused = 0
    for _mix in range(MIXES):
        source, target = dice.choice(both), dice.choice(both)
        seen = read[source][dice.choice(("gpu01", "gpu03"))]
        module, options = dice.choice(
            (
                ("esxi_reboot", {"esxi_hostname": seen["esxi_host_moid"], "required": True, **GUESTS}),
                ("esxi_kernel_setting", {"esxi_hostname": seen["esxi_host_moid"], "settings": {"atsSupport": True}}),
                ("vmx_passthru", {"vm": seen["vm_moid"], "power_policy": "shutdown", "final_power": "on"}),
                ("vmx_passthru", {"vm": seen["vm_moid"], "power_only": True, "final_power": "on"}),
                ("esxi_window", {"esxi_hostnames": [seen["esxi_host_moid"]], "lease": "held"}),
            )
        )
        given: dict[str, Any] = {**target.login, **options, "vcenter_uuid": seen["vcenter_uuid"]}
        # Where it is the right one nothing has to happen for this test.
        result = run_module(module, given, check=source is target)
        assert result.failed == (source is not target), result
        if result.failed:
            refused += 1
            assert result["error_code"] == "refused" and seen["vcenter_uuid"] in result.msg
    assert refused > MIXES // 4
    assert [vcenter.calls() for vcenter in both] == [[], []]


def login(prefix: str, vcenter: Vcenter) -> dict[str, Any]:
    names = ("hostname", "port", "username", "password", "ca_path")
    return {f"{prefix}_vcenter_{name}": vcenter.login[name] for name in names}


# Site, ESXi hosts, VMs: 0 and 1 are the vCenters, None: as the site.
@pytest.mark.parametrize("mix", [(0, 1, 1), (0, 1, None), (0, None, 1), (1, 0, None)])
def test_windows_refuse_what_was_read_elsewhere(
    both: tuple[Vcenter, Vcenter], tmp_path: pathlib.Path, mix: tuple[int, int | None, int | None]
) -> None:
    site, hosts, vms = mix
    controller = Controller(both[site], tmp_path / "one", {"esx01": ["gpu01", "gpu02"]}, WAITING)
    inventory = json.loads(controller.inventory.read_text())
    variables = inventory["all"]["vars"]
    variables |= login("esxi_host", both[hosts]) if hosts is not None else {}
    variables |= login("gpu_vm", both[vms]) if vms is not None else {}
    controller.inventory.write_text(json.dumps(inventory))
    done = controller.play("reboot.yml", *ALLOW)
    assert done.returncode != 0 and "vcenter" in done.stdout.lower(), done.stdout
    assert [vcenter.calls() for vcenter in both] == [[], []], done.stdout


def test_windows_work_where_everything_is_on_one_vcenter(both: tuple[Vcenter, Vcenter], tmp_path: pathlib.Path) -> None:
    done = Controller(both[1], tmp_path / "one", {"esx02": ["gpu03"]}, WAITING).play("reboot.yml", *ALLOW)
    assert done.returncode == 0, done.stdout + done.stderr
    assert both[1].host("esx02")["boots"] == 1 and both[0].calls() == []
