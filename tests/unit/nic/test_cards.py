"""A card is its functions together, and a tool is judged by what it says: no I/O."""

from __future__ import annotations

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import Reboot
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic import plan as planning
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.plan import AtsWanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.state import Failure, classify, first_that_knows

from tests.unit.nic.test_plan import ABSENT, HOST, ON, device, state

LOCKED = "write counter to semaphore: Permission denied\n"


@pytest.mark.parametrize(
    ("loaded", "reboot"),
    [((True, True), Reboot.NONE), ((True, False), Reboot.ESXI_HOST), ((False, True), Reboot.ESXI_HOST)],
)
def test_one_function_that_is_not_loaded_makes_the_card_wait(loaded: tuple[bool, bool], reboot: Reboot) -> None:
    pair = [device(now, False, ON, pci=f"0000:3b:00.{number}") for number, now in enumerate(loaded)]
    (operation,) = planning.plan(state(*pair), AtsWanted(enabled=True), HOST)
    assert operation.reboot is reboot


def test_a_virtual_function_is_never_set_whatever_it_says_of_itself() -> None:
    vf = device(False, False, ABSENT, pci="0000:3b:00.2", card="vf", is_vf=True)
    assert [[each.pci for each in card] for card in planning.by_card([device(False, False, ABSENT), vf])] == [
        ["0000:3b:00.0"]
    ]


@pytest.mark.parametrize(("supported", "stored"), [(True, None), (False, True)])
def test_no_reboot_is_waited_for_where_nothing_can_be_set_or_nobody_says_what_is_stored(
    supported: bool, stored: bool | None
) -> None:
    assert not planning.needs_host_reboot(device(False, stored, ABSENT, supported=supported))


def test_a_value_that_is_not_told_is_called_unknown() -> None:
    (reason,) = planning.pending(state(device(None, True, ABSENT))).reasons
    assert "boot, unknown now" in reason


@pytest.mark.parametrize(
    ("stderr", "failure"),
    [
        (LOCKED, Failure.LOCKDOWN),
        ("open /dev/mem: Permission denied\n", Failure.UNKNOWN),
        ("semaphore\n", Failure.UNKNOWN),
    ],
)
def test_only_a_refused_semaphore_is_a_lockdown(stderr: str, failure: Failure) -> None:
    assert classify("", stderr) is failure


@pytest.mark.parametrize(
    ("versions", "index"),
    [
        ([(4, 12), (4, 13)], 1),
        ([(4, 13), (4, 22)], 0),
        ([(4, 12), (0, 0), (4, 22)], 1),
        ([(0, 0), (4, 22)], 0),
        ([(4, 6), (4, 12)], 0),
    ],
)
def test_the_first_tool_that_may_know_ats_is_taken(versions: list[tuple[int, int]], index: int) -> None:
    assert first_that_knows(versions) == index
