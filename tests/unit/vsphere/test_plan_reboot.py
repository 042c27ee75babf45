from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import Operation, RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.host_boot import is_newer_boot
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan_reboot import (
    RebootWanted,
    may_leave,
    needs_reboot,
    plan_reboot,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.state import HostState, HostVm, KernelSetting
from hypothesis import given
from hypothesis import strategies as st

BOOT = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
WAITING = KernelSetting("atsSupport", "Bool", "TRUE", "FALSE", "FALSE")
IN_FORCE = dataclasses.replace(WAITING, runtime="TRUE")


def guest(name: str, power: str = "poweredOn", **rest: Any) -> HostVm:
    return HostVm(name, "vm-" + name, power, **{"tools_running": power == "poweredOn", **rest})


def host(*vms: HostVm, **rest: Any) -> HostState:
    values: dict[str, Any] = {
        "connection": "connected",
        "power": "poweredOn",
        "in_maintenance": False,
        "boot_time": BOOT,
        "pending": (WAITING,),
        **rest,
    }
    return HostState("esx01", "host-1", vms=vms, **values)


SHUTDOWN = RebootWanted(pending_settings=("atsSupport",), vm_policy="shutdown", vm_allowlist=("a", "b"))


def steps(state: HostState, wanted: RebootWanted) -> list[str]:
    return [" ".join(filter(None, (op.payload["action"], op.payload.get("vm")))) for op in plan_reboot(state, wanted)]


ALL = ["shutdown a", "shutdown b", "enter", "reboot", "exit", "poweron a", "poweron b"]


@pytest.mark.parametrize(
    ("state", "wanted", "expected"),
    [
        (host(guest("b"), guest("a")), SHUTDOWN, ALL),
        (host(guest("a"), guest("b"), pending=(IN_FORCE,)), SHUTDOWN, []),
        (host(guest("a"), guest("b"), pending=(IN_FORCE,)), dataclasses.replace(SHUTDOWN, required=True), ALL),
        (host(guest("a"), guest("b"), rebooted=True), SHUTDOWN, []),
        (host(guest("a"), guest("x", "poweredOff")), SHUTDOWN, ["shutdown a", "enter", "reboot", "exit", "poweron a"]),
        (host(guest("a")), dataclasses.replace(SHUTDOWN, restore_vms=False), ["shutdown a", "enter", "reboot", "exit"]),
        (host(guest("v", is_agent=True)), SHUTDOWN, ["enter", "reboot", "exit"]),
        (
            host(guest("a", "poweredOff")),
            dataclasses.replace(SHUTDOWN, power_on=("a",)),
            ["enter", "reboot", "exit", "poweron a"],
        ),
        (host(in_maintenance=True), dataclasses.replace(SHUTDOWN, in_maintenance="allow"), ["reboot"]),
        (host(in_maintenance=True), dataclasses.replace(SHUTDOWN, in_maintenance="adopt"), ["reboot", "exit"]),
        (host(in_maintenance=True, pending=()), dataclasses.replace(SHUTDOWN, in_maintenance="adopt"), ["exit"]),
        (host(in_maintenance=True, pending=()), SHUTDOWN, []),
        (
            host(guest("a", "poweredOff"), in_maintenance=True, pending=()),
            dataclasses.replace(SHUTDOWN, in_maintenance="allow", power_on=("a",)),
            [],
        ),
        (
            host(
                guest("a", "poweredOff"), in_maintenance=True, rebooted=True, entered_maintenance=True, shut_down=("a",)
            ),
            SHUTDOWN,
            ["exit", "poweron a"],
        ),
    ],
)
def test_steps_from_every_point(state: HostState, wanted: RebootWanted, expected: list[str]) -> None:
    assert steps(state, wanted) == expected


@pytest.mark.parametrize(
    ("state", "wanted", "reason"),
    [
        (host(guest("a")), dataclasses.replace(SHUTDOWN, vm_policy="refuse"), "a is powered on"),
        (host(guest("x")), SHUTDOWN, "x is powered on and not in vm_allowlist"),
        (host(guest("a", is_vcenter=True)), SHUTDOWN, "a is this vCenter itself"),
        (host(guest("a", is_controller=True)), SHUTDOWN, "a is the machine that runs this play"),
        (host(guest("a", tools_running=False)), SHUTDOWN, "VMware Tools do not run"),
        (host(guest("a", question="moved?")), SHUTDOWN, "moved?"),
        (host(guest("a"), guest("a", "poweredOff")), SHUTDOWN, "several VMs"),
        (host(in_maintenance=True), SHUTDOWN, "already is in maintenance"),
        (host(connection="notResponding"), SHUTDOWN, "notResponding"),
        (host(power="standBy"), SHUTDOWN, "standBy"),
        (host(reboot_supported=False), SHUTDOWN, "cannot be rebooted"),
        (host(), dataclasses.replace(SHUTDOWN, power_on=("ghost",)), "ghost"),
    ],
)
def test_refusals_name_host_and_reason(state: HostState, wanted: RebootWanted, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason) as caught:
        plan_reboot(state, wanted)
    assert str(caught.value).startswith("esx01") and "nothing was changed" in str(caught.value)


EVACUATE = dataclasses.replace(SHUTDOWN, vm_policy="evacuate", vm_allowlist=("pinned",))
PINNED, FREE = guest("pinned", has_passthrough=True), guest("free")


def test_vms_that_can_move_move_and_those_with_devices_of_the_host_stop() -> None:
    expected = ["move free", "shutdown pinned", "enter", "reboot", "exit", "poweron pinned"]
    assert steps(host(PINNED, FREE, refuges=(("host-2", "esx02"),)), EVACUATE) == expected
    assert steps(host(PINNED, FREE, drs=True), EVACUATE) == expected[1:], "DRS moves by itself"
    with pytest.raises(RefusedError, match="no other host of its cluster is connected and open for free"):
        plan_reboot(host(PINNED, FREE), EVACUATE)
    with pytest.raises(RefusedError, match=r"not in vm_allowlist.*on this host"):
        plan_reboot(host(PINNED), dataclasses.replace(EVACUATE, vm_allowlist=()))


def test_of_two_vms_of_one_name_the_managed_object_id_says_which() -> None:
    twins = host(guest("a"), dataclasses.replace(guest("a", "poweredOff"), moid="vm-2"))
    by_id = dataclasses.replace(SHUTDOWN, vm_allowlist=("vm-a",))
    assert steps(twins, by_id)[0] == "shutdown a"
    with pytest.raises(RefusedError, match="several VMs"):
        plan_reboot(twins, dataclasses.replace(SHUTDOWN, vm_allowlist=("a", "vm-2")))


@pytest.mark.parametrize(
    ("entered", "in_maintenance", "doubt", "leaves"),
    [
        (True, "refuse", "a doubt", True),
        (False, "adopt", "a doubt", True),
        (False, "recover", "", True),
        (False, "recover", "a doubt", False),
        (False, "allow", "", False),
        (False, "refuse", "", False),
    ],
)
def test_maintenance_mode_is_ended_only_by_whom_it_belongs_to(
    entered: bool, in_maintenance: str, doubt: str, leaves: bool
) -> None:
    state = host(in_maintenance=True, entered_maintenance=entered, doubt=doubt, pending=())
    wanted = dataclasses.replace(SHUTDOWN, in_maintenance=in_maintenance)
    assert may_leave(state, wanted) is leaves
    assert steps(state, wanted) == (["exit"] if leaves else [])


def test_every_vm_in_the_way_is_named_at_once() -> None:
    with pytest.raises(RefusedError) as caught:
        plan_reboot(host(guest("x"), guest("y"), guest("a")), SHUTDOWN)
    assert "x is" in str(caught.value) and "y is" in str(caught.value)


def test_hard_off_permits_a_guest_without_tools() -> None:
    first = plan_reboot(host(guest("a", tools_running=False)), dataclasses.replace(SHUTDOWN, hard_off=True))[0]
    assert first.command == "PowerOffVM_Task a" and not first.payload["orderly"]


ASKED = BOOT + datetime.timedelta(seconds=60)


@pytest.mark.parametrize(
    ("before", "seconds", "was_down", "proof"),
    [
        (BOOT, 120, False, True),
        (BOOT, 3, True, True),
        (BOOT, 3, False, False),
        (BOOT, 0, True, False),
        (BOOT, 0.5, True, False),
        (BOOT, -5, True, False),
        (None, 0, True, True),
        (None, 0, False, False),
    ],
)
def test_only_a_clearly_newer_boot_time_is_a_reboot(
    before: datetime.datetime | None, seconds: float, was_down: bool, proof: bool
) -> None:
    assert is_newer_boot(before, BOOT + datetime.timedelta(seconds=seconds), was_down, ASKED) is proof
    assert is_newer_boot(before, None, was_down, ASKED) is False


@pytest.mark.parametrize(("asked_after", "proof"), [(2, True), (3, True), (4, False), (0, False), (-9, False)])
def test_quick_boot_that_nobody_saw_counts_if_it_is_later_than_the_request(asked_after: int, proof: bool) -> None:
    asked = BOOT + datetime.timedelta(seconds=asked_after)
    assert is_newer_boot(BOOT, BOOT + datetime.timedelta(seconds=3), False, asked) is proof


def play(state: HostState, operation: Operation) -> HostState:
    """What the step does to a host, and to the memory of the run."""
    action, name = operation.payload["action"], operation.payload.get("vm")

    def power(to: str) -> tuple[HostVm, ...]:
        return tuple(dataclasses.replace(v, power=to) if v.name == name else v for v in state.vms)

    if action == "shutdown":
        return dataclasses.replace(state, vms=power("poweredOff"), shut_down=(*state.shut_down, str(name)))
    if action == "poweron":
        assert not state.in_maintenance, "no VM starts in maintenance mode"
        return dataclasses.replace(state, vms=power("poweredOn"), powered_on=(*state.powered_on, str(name)))
    if action == "enter":
        assert not state.running, "maintenance mode never ends with VMs on"
        return dataclasses.replace(state, in_maintenance=True, entered_maintenance=True)
    if action == "exit":
        return dataclasses.replace(state, in_maintenance=False, left_maintenance=True)
    assert state.in_maintenance, "a host is rebooted in maintenance mode only"
    settled = tuple(dataclasses.replace(s, runtime=s.configured) for s in state.pending)
    return dataclasses.replace(state, rebooted=True, pending=settled)


VMS = st.sets(st.sampled_from("abc"), max_size=3)


@given(
    on=VMS,
    off=VMS,
    pending=st.booleans(),
    required=st.booleans(),
    restore=st.booleans(),
    maintenance=st.booleans(),
    handling=st.sampled_from(["allow", "adopt"]),
    stop_at=st.integers(0, 12),
)
def test_from_any_host_the_steps_end_and_a_killed_run_can_be_adopted(
    *,
    on: set[str],
    off: set[str],
    pending: bool,
    required: bool,
    restore: bool,
    maintenance: bool,
    handling: str,
    stop_at: int,
) -> None:
    running = set() if maintenance else on
    vms = [guest(n, "poweredOn" if n in running else "poweredOff") for n in sorted(on | off)]
    state = host(*vms, in_maintenance=maintenance, pending=(WAITING,) if pending else ())
    wanted = RebootWanted(
        required=required,
        pending_settings=("atsSupport",),
        vm_policy="shutdown",
        vm_allowlist=("a", "b", "c"),
        restore_vms=restore,
        in_maintenance=handling,
    )
    operations = plan_reboot(state, wanted)
    assert [o.payload["action"] for o in operations].count("reboot") == int(needs_reboot(state, wanted))
    done = state
    for operation in operations:
        done = play(done, operation)
    assert plan_reboot(done, wanted) == []
    if restore:
        assert {vm.name for vm in done.running} == running

    # killed after some steps: the memory of the run is gone, the host is not
    broken = state
    for operation in operations[:stop_at]:
        broken = play(broken, operation)
    fresh = dataclasses.replace(
        broken, rebooted=False, entered_maintenance=False, left_maintenance=False, shut_down=(), powered_on=()
    )
    adopted = dataclasses.replace(wanted, required=False, in_maintenance="adopt", power_on=tuple(sorted(running)))
    for operation in plan_reboot(fresh, adopted):
        fresh = play(fresh, operation)
    assert not fresh.in_maintenance
    assert {vm.name for vm in fresh.running} >= running
    assert not any(setting.is_pending for setting in fresh.pending)
