"""The rules: what a state means, what it waits for, what is changed. No I/O."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import Reboot, RefusedError, VerifyError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic import plan as planning
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.plan import AtsWanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.state import NicDevice, NicState, PciAts

HOST = "gpu01"
ON, OFF, ABSENT = PciAts(True, True, 0), PciAts(True, False, 0), PciAts(False)
BASE = NicDevice("0000:3b:00.0", "101d", "0000:3b:00", is_vf=False, supported=True, psid="MT_1", firmware="22.31.1014")


def device(current: bool | None, stored: bool | None, bus: PciAts | None, **changes: object) -> NicDevice:
    return dataclasses.replace(BASE, default=False, current=current, next=stored, pci_ats=bus, **changes)  # type: ignore[arg-type]


def state(*devices: NicDevice) -> NicState:
    return NicState("mlxconfig", "4.16.1-9", devices)


MATRIX = [
    # current, next, bus, diagnosis, layer, active, waits for the host
    (False, False, ABSENT, "disabled", "nic", False, False),
    (False, True, ABSENT, "pending", "esxi_host", False, True),
    (False, True, OFF, "pending", "esxi_host", False, True),
    (True, True, ON, "active", "none", True, False),
    (True, True, OFF, "host_not_enabled", "esxi_host_or_vm", False, False),
    (True, True, ABSENT, "capability_hidden", "esxi_host_or_vm", False, False),
    (True, True, None, "nic_ready", "none", False, False),
    (True, False, ON, "disable_pending", "nic", True, True),
    (True, False, OFF, "disable_pending", "nic", False, True),
    (False, False, ON, "inconsistent", "nic", False, False),
    (False, True, ON, "inconsistent", "nic", False, True),
    # Firmware without a Current column: the bus is the only witness.
    (None, True, ON, "active", "none", True, False),
    (None, True, OFF, "current_unknown", "esxi_host", False, True),
    (None, True, ABSENT, "current_unknown", "esxi_host", False, True),
    (None, True, None, "current_unknown", "esxi_host", False, False),
    (None, False, ON, "disable_pending", "nic", True, True),
    (None, False, ABSENT, "disabled", "nic", False, False),
    (None, False, None, "disabled", "nic", False, False),
]


@pytest.mark.parametrize("row", MATRIX, ids=str)
def test_each_pair_of_witnesses_has_one_diagnosis(row: tuple[Any, ...]) -> None:
    current, stored, bus, name, layer, active, waits = row
    found = device(current, stored, bus)
    diagnosis = planning.diagnose(found)
    assert (diagnosis.name, diagnosis.layer) == (name, layer)
    assert planning.is_active(found) is active
    assert planning.needs_host_reboot(found) is waits
    assert planning.pending(state(found)).scope is (Reboot.ESXI_HOST if waits else Reboot.NONE)


def test_every_combination_of_witnesses_is_known_and_activity_needs_the_bus() -> None:
    for current, stored, pci in itertools.product((True, False, None), (True, False), (ON, OFF, ABSENT, None)):
        found = device(current, stored, pci)
        assert planning.diagnose(found).name in planning.DIAGNOSES
        if planning.is_active(found):
            assert pci is ON
            assert current is not False
        if planning.diagnose(found).name == "active":
            assert planning.is_active(found)


@pytest.mark.parametrize(
    ("changes", "name", "layer"),
    [
        ({"supported": False, "problem": "unsupported"}, "unsupported", "nic_firmware"),
        ({"supported": False, "problem": "tool_too_old"}, "tool_too_old", "guest"),
        ({"supported": False, "is_vf": True, "problem": "virtual_function"}, "virtual_function", "esxi_host"),
    ],
)
def test_a_device_that_cannot_be_set_is_refused_before_anything_is_sent(
    changes: dict[str, object], name: str, layer: str
) -> None:
    bad = device(None, None, ABSENT, pci="0000:5e:00.0", **changes)
    good = device(False, False, ABSENT)
    assert (planning.diagnose(bad).name, planning.diagnose(bad).layer) == (name, layer)
    with pytest.raises(RefusedError) as caught:
        planning.plan(state(good, bad), AtsWanted(enabled=True), HOST)
    for part in (HOST, "0000:5e:00.0", "MT_1", "22.31.1014", "nothing was changed", "What to do"):
        assert part in str(caught.value)
    assert caught.value.details["diagnosis"] == name
    left = planning.plan(state(good, bad), AtsWanted(enabled=True, missing_is_failure=False), HOST)
    assert [op.payload["functions"] for op in left] == [["0000:3b:00.0"]]
    assert name in planning.warnings(state(good, bad), AtsWanted(enabled=True, missing_is_failure=False))[0]
    assert planning.plan(state(good, bad), AtsWanted(enabled=None), HOST) == []
    assert not planning.needs_host_reboot(bad)
    assert not planning.is_active(bad)


def test_a_card_without_the_parameter_is_already_disabled_but_a_vf_may_not_be() -> None:
    no_ats = device(None, None, ABSENT, supported=False, problem="unsupported")
    assert planning.plan(state(no_ats), AtsWanted(enabled=False), HOST) == []
    vf = device(None, None, ON, supported=False, is_vf=True)
    with pytest.raises(RefusedError):
        planning.plan(state(vf), AtsWanted(enabled=False), HOST)


def test_one_set_for_the_two_functions_of_a_card() -> None:
    pair = [device(False, False, ABSENT), device(False, False, ABSENT, pci="0000:3b:00.1")]
    other = device(False, False, ABSENT, pci="0000:5e:00.0", card="0000:5e:00")
    operations = planning.plan(state(*pair, other), AtsWanted(enabled=True), HOST)
    assert [op.command for op in operations] == [
        "mlxconfig -d 0000:3b:00.0 -y set ATS_ENABLED=1",
        "mlxconfig -d 0000:5e:00.0 -y set ATS_ENABLED=1",
    ]
    assert operations[0].payload["functions"] == ["0000:3b:00.0", "0000:3b:00.1"]
    assert len(operations[0].changes) == 2
    assert operations[0].inverse == "mlxconfig -d 0000:3b:00.0 -y set ATS_ENABLED=0"
    assert all(op.reboot is Reboot.ESXI_HOST for op in operations)


def test_the_function_that_differs_is_the_one_that_is_set() -> None:
    pair = [device(False, True, ABSENT), device(False, False, ABSENT, pci="0000:3b:00.1")]
    (operation,) = planning.plan(state(*pair), AtsWanted(enabled=True), HOST)
    assert operation.command == "mlxconfig -d 0000:3b:00.1 -y set ATS_ENABLED=1"
    assert list(operation.changes) == ["0000:3b:00.1 ATS_ENABLED next boot"]


def test_going_back_to_what_is_loaded_waits_for_nothing() -> None:
    (operation,) = planning.plan(state(device(True, False, ON)), AtsWanted(enabled=True), HOST)
    assert operation.reboot is Reboot.NONE


@pytest.mark.parametrize("wanted", [True, False])
def test_nothing_is_planned_when_next_boot_is_as_wanted(wanted: bool) -> None:
    for current, pci in itertools.product((True, False, None), (ON, OFF, ABSENT, None)):
        assert planning.plan(state(device(current, wanted, pci)), AtsWanted(enabled=wanted), HOST) == []


def test_a_second_reboot_after_a_useless_one_is_not_asked_for() -> None:
    waiting = state(device(False, True, ABSENT))
    for enabled in (True, None):
        with pytest.raises(VerifyError) as caught:
            planning.plan(waiting, AtsWanted(enabled=enabled, host_boot_time=2000.0, settled_since=1000.0), HOST)
        assert "power the server" in str(caught.value)
        assert caught.value.details["reboot_kind"] == "power_cycle"


@pytest.mark.parametrize(
    ("boot", "since", "found"),
    [
        (1000.0, 2000.0, device(False, True, ABSENT)),  # not rebooted since
        (1000.0, 1000.0, device(False, True, ABSENT)),
        (None, 1000.0, device(False, True, ABSENT)),
        (2000.0, None, device(False, True, ABSENT)),
        (2000.0, 1000.0, device(True, True, ON)),  # loaded
        (2000.0, 1000.0, device(True, False, ON)),  # about to be changed by this run
    ],
)
def test_the_loop_guard_lets_a_reboot_pass_that_can_still_help(
    boot: float | None, since: float | None, found: NicDevice
) -> None:
    planning.plan(state(found), AtsWanted(enabled=True, host_boot_time=boot, settled_since=since), HOST)


@pytest.mark.parametrize(
    ("found", "layer"),
    [(device(c, n, p), layer) for c, n, p, _name, layer, active, _waits in MATRIX if not active],
)
def test_an_inactive_device_fails_with_the_layer_to_blame(found: NicDevice, layer: str) -> None:
    with pytest.raises(VerifyError) as caught:
        planning.refuse_inactive(state(found), AtsWanted(enabled=None, require_active=True), HOST)
    assert caught.value.details["layer"] == layer
    for part in (HOST, "0000:3b:00.0", f"Layer to act: {layer}", "Current", "Next Boot", "PCI"):
        assert part in str(caught.value)


def test_one_inactive_device_among_active_ones_is_enough_to_fail() -> None:
    with pytest.raises(VerifyError) as caught:
        planning.refuse_inactive(
            state(device(True, True, ON), device(True, True, OFF, pci="0000:5e:00.0")), AtsWanted(None), HOST
        )
    assert "0000:5e:00.0" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1767225600", 1767225600.0),
        ("2026-01-01T00:00:00Z", 1767225600.0),
        ("2026-01-01T01:00:00+01:00", 1767225600.0),
        ("", None),
        (None, None),
    ],
)
def test_times(text: str | None, seconds: float | None) -> None:
    assert planning.parse_time(text, HOST, "host_boot_time") == seconds


@pytest.mark.parametrize("text", ["2026-01-01T00:00:00", "yesterday", "1 h"])
def test_a_time_without_a_zone_is_refused(text: str) -> None:
    with pytest.raises(RefusedError, match="host_boot_time"):
        planning.parse_time(text, HOST, "host_boot_time")
