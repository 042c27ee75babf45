"""Two runs of different controllers on one switch: one changes it, the other waits or is refused."""

from __future__ import annotations

import dataclasses
import os

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import lease
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted

from lab.switch.state import Switch
from tests.unit.nvue.harness import WANTED as CUMULUS
from tests.unit.nvue.harness import Run as RunCumulus
from tests.unit.nvue.harness import Twin
from tests.unit.onyx.harness import WANTED, FakeSession, Run, new_switch

NOW = 1_800_000_000


def foreign(switch: Switch, until: int, process: int = 4711, controller: str = "0badcafe") -> str:
    name = f"rocemesh-lease-{until}-{controller}-{process}"
    switch.snapshot(name)
    return name


def held(switch: Switch, now: float = NOW) -> lease.SwitchLease:
    slept: list[float] = []
    one = lease.SwitchLease("sw01", slept.append, lambda: now)
    one.take(FakeSession(switch))
    return one


def test_lease_of_a_run_is_gone_afterwards() -> None:
    switch = new_switch()
    run = Run(switch)
    run()
    assert [line.split()[1] for line in run.sessions[0].leases] == ["write", "delete"] and switch.snapshots == {}


def test_lease_is_not_taken_where_nothing_changes() -> None:
    switch = new_switch()
    Run(switch)()
    again = Run(switch)
    again()
    assert again.sessions[0].leases == []


def test_lease_of_another_controller_refuses_before_anything_changes() -> None:
    switch = new_switch()
    name = foreign(switch, 9_999_999_999)
    before = switch.running.as_json()
    with pytest.raises(RefusedError, match=f"{name}.*another run changes this switch"):
        Run(switch)()
    assert switch.running.as_json() == before and list(switch.snapshots) == [name]


def test_lease_that_expired_is_taken_away() -> None:
    switch = new_switch()
    foreign(switch, NOW - 1)
    one = held(switch)
    assert list(switch.snapshots) == [one.name]


def test_lease_of_an_ended_process_of_this_controller_is_none() -> None:
    switch = new_switch()
    process = os.fork()
    if process == 0:
        os._exit(0)
    os.waitpid(process, 0)
    foreign(switch, NOW + 100, process, lease.controller())
    one = held(switch)
    assert list(switch.snapshots) == [one.name]


def test_lease_waits_for_the_other_to_end() -> None:
    switch = new_switch()
    name = foreign(switch, NOW + 100)
    one = lease.SwitchLease("sw01", lambda _seconds: switch.snapshots.pop(name, None) and None, lambda: NOW)
    one.take(FakeSession(switch))
    assert list(switch.snapshots) == [one.name]


def test_onyx_settings_changed_since_they_were_read_are_refused() -> None:
    switch = new_switch()
    switch.faults.inject(
        {"name": "foreign_line", "pattern": "rocemesh-lease", "line": "interface ethernet 1/2 mtu 4096 force"}
    )
    run = Run(switch)
    with pytest.raises(LayerError, match="another run"):
        run()
    assert run.sent == [] and switch.snapshots == {}


@pytest.mark.parametrize("refused_by", ["the lease", "the same change"])
def test_onyx_takes_nothing_of_another_run_back(refused_by: str) -> None:
    """The other run has done what this one was about to do; nothing of this one was sent."""
    switch = new_switch()
    line = {"name": "foreign_line", "pattern": "rocemesh-lease", "line": "interface ethernet 1/2 mtu 9216 force"}
    switch.faults.inject(line)
    if refused_by == "the lease":
        foreign(switch, 9_999_999_999)
    run = Run(switch, Wanted(mode=None, ports=("1/2",), mtu=9216), rollback=True)
    with pytest.raises(RefusedError, match="another run") as caught:
        run()
    assert run.sent == [] and switch.running.ports["1/2"].mtu == 9216
    assert caught.value.details.get("applied") == caught.value.details.get("undo") == []
    assert "taken back" not in str(caught.value)


@pytest.mark.parametrize("meanwhile", ["still verifies", "took it back"])
def test_onyx_does_not_save_what_another_run_has_not_verified_yet(meanwhile: str) -> None:
    """Its settings are all there, and if a link stays down, that run takes them back or says that a reload does."""
    switch = new_switch()
    Run(switch, save="never")()
    if meanwhile == "still verifies":
        foreign(switch, 9_999_999_999)
    else:
        line = {"name": "foreign_line", "pattern": "rocemesh-lease", "line": "interface ethernet 1/2 mtu 1500 force"}
        switch.faults.inject(line)
    run = Run(switch)
    with pytest.raises(RefusedError, match="another run"):
        run()
    assert run.sent == [] and switch.unsaved


def test_cumulus_settings_changed_since_they_were_read_are_refused() -> None:
    twin = Twin()
    first = RunCumulus(twin, CUMULUS)
    request = first.session._request
    done: list[bool] = []

    def meanwhile(method: str, path: str, body: object, query: object) -> object:
        if method == "POST" and not done:
            done.append(True)
            RunCumulus(twin, dataclasses.replace(CUMULUS, vlan=222))()
        return request(method, path, body, query)  # type: ignore[arg-type]

    first.session._request = meanwhile  # type: ignore[method-assign]
    with pytest.raises(LayerError, match="another run"):
        first()
    assert twin.applied["interface"]["swp1"]["bridge"]["domain"]["br_default"]["access"] == 222


@pytest.mark.parametrize("vlan", [111, None])
def test_other_ports_of_two_controllers_disturb_nobody(vlan: int | None) -> None:
    switch = new_switch()
    Run(switch, dataclasses.replace(WANTED, vlan=vlan, vlan_name=None, ports=("1/5",)))()
    assert Run(switch)()["changed"]
