"""What is waited for, for how long, and what counts as its end: guests, lost answers, maintenance mode, a boot."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    ApplyError,
    CredentialError,
    LayerError,
    UnreachableError,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.guests import Guests, Stop
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.host_boot import HostBoot
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.host_vms import HostReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.maintenance import Maintenance
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.ownership import MaintenanceEvent, Mark
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan_reboot import Timeouts
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.records import HostRecords
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.run_identity import Run
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import vmodl

from tests.unit.vsphere.fakes import BOOT, FakeSite, host_row, vm_row

GONE = UnreachableError("no answer", host="vcenter")


# ---------------------------------------------------------------- a lost answer
def test_a_lost_answer_is_followed_second_by_second_until_the_object_shows_it() -> None:
    site = FakeSite()
    answers = [False, False, True]
    assert site.followed(lambda: answers.pop(0))
    assert (answers, site.time.now) == ([], 2.0)


def test_a_lost_answer_is_followed_for_a_minute_and_no_longer() -> None:
    site = FakeSite()
    assert not site.followed(lambda: False)
    assert site.time.now == 60.0
    assert not site.followed(lambda: False, 0.0) and site.time.now == 60.0


def test_a_lost_answer_of_which_nobody_tells_more_is_no_success() -> None:
    def silent() -> bool:
        raise GONE

    assert not FakeSite().followed(silent)


# ---------------------------------------------------------------- guests
def test_a_vcenter_that_restarts_at_the_end_of_the_wait_is_asked_again_for_a_minute() -> None:
    """The guest is long off: that nobody could tell in that moment is no reason to call it late."""

    class Restarting(FakeSite):
        def properties(self, objects: Any, paths: Any, doing: str = "reading") -> list[dict[str, Any]]:
            if 5.0 <= self.time.now < 50.0:
                raise GONE
            return super().properties(objects, paths, doing)

        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            task = super().call(moid, method, arguments)
            self.rows[moid]["runtime.powerState"] = "poweredOn"  # it takes its time
            return task

    site = Restarting(vm=vm_row(power="poweredOn"))
    guests = Guests(site, Timeouts(shutdown=10.0))
    real = site.time.sleep

    def sleep(seconds: float) -> None:
        real(seconds)
        if site.time.now > 6.0:
            site.rows["vm-1"]["runtime.powerState"] = "poweredOff"

    site.sleep = sleep  # type: ignore[method-assign]
    guests.stop(Stop("vm-1", "gpu01", orderly=True, hard_off=False), is_last=True)
    assert guests.down == {"vm-1": "gpu01"} and 50.0 <= site.time.now < 55.0


def test_a_refused_shutdown_is_an_error_and_the_guest_counts_as_not_asked() -> None:
    site = FakeSite(vm=vm_row(power="poweredOn"))
    site.faults["ShutdownGuest"] = [vmodl.fault.NotSupported()]
    guests = Guests(site, Timeouts(shutdown=10.0))
    with pytest.raises(LayerError, match="gpu01"):
        guests.stop(Stop("vm-1", "gpu01", orderly=True, hard_off=False), is_last=True)
    assert (guests.asked, guests.down) == ({}, {})


def test_a_shutdown_that_is_refused_since_another_client_was_faster_is_none() -> None:
    site = FakeSite(vm=vm_row(power="poweredOff"))
    site.faults["ShutdownGuest"] = [vmodl.fault.NotSupported()]
    guests = Guests(site, Timeouts(shutdown=10.0))
    guests.stop(Stop("vm-1", "gpu01", orderly=True, hard_off=False), is_last=True)
    assert guests.down == {"vm-1": "gpu01"}


# ---------------------------------------------------------------- the boot
class Booting(FakeSite):
    """The answer to the request is lost; the host goes down at ``down`` and is back, newly booted, at ``back``."""

    def __init__(self, down: float, back: float) -> None:
        super().__init__()
        self.down, self.back = down, back

    def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
        self.calls.append(method)
        raise GONE

    def properties(self, objects: Any, paths: Any, doing: str = "reading") -> list[dict[str, Any]]:
        row, now = self.rows["host-1"], self.time.now
        row["runtime.connectionState"] = "notResponding" if self.down <= now < self.back else "connected"
        if now >= self.back:
            row["runtime.bootTime"] = self.server_time() + datetime.timedelta(seconds=self.down)
        return super().properties(objects, paths, doing)


def boot(site: FakeSite, limit: float = 900.0) -> HostBoot:
    return HostBoot(site, lambda: site.reference("host", "host-1"), "esx01", limit)


def test_a_host_that_goes_down_within_three_minutes_was_told_to_although_the_answer_was_lost() -> None:
    site = Booting(down=100.0, back=300.0)
    assert 300.0 <= boot(site).carry_out(BOOT) < 306.0
    assert site.calls == ["RebootHost_Task"]


def test_a_host_that_stays_up_for_three_minutes_was_never_told_to() -> None:
    site = Booting(down=1e9, back=1e9)
    asked = boot(site)
    with pytest.raises(UnreachableError, match="did not arrive"):
        asked.carry_out(BOOT)
    assert asked.never_began and 180.0 <= site.time.now < 186.0


class Severed(FakeSite):
    """vCenter loses the host while it passes the request on: the task ends with that, whatever becomes of the host."""

    arrives = True

    def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
        booted = self.rows["host-1"]["runtime.bootTime"]
        task = super().call(moid, method, arguments)
        if method == "RebootHost_Task":
            if not self.arrives:
                self.rows["host-1"]["runtime.bootTime"] = booted
            error = SimpleNamespace(fault=vmodl.fault.HostCommunication(), localizedMessage="lost")
            self.task_states[task._moId] = {"info.state": "error", "info.error": error}
        return task


def test_a_task_that_lost_the_host_on_its_way_may_have_rebooted_it() -> None:
    boot(Severed()).carry_out(BOOT)
    site = Severed()
    site.arrives = False
    asked = boot(site)
    with pytest.raises(UnreachableError, match="did not arrive"):
        asked.carry_out(BOOT)
    assert asked.never_began and 180.0 <= site.time.now < 186.0


def test_a_login_that_vcenter_refuses_while_the_task_is_asked_says_nothing_about_the_reboot() -> None:
    """A vCenter that restarts refuses logins for a while, and the host reboots all the same."""

    class Refusing(FakeSite):
        def properties(self, objects: Any, paths: Any, doing: str = "reading") -> list[dict[str, Any]]:
            if "info.state" in paths:
                raise CredentialError("login as monitor: InvalidLogin", host="vcenter", fault="InvalidLogin")
            return super().properties(objects, paths, doing)

    asked = boot(Refusing())
    with pytest.raises(CredentialError):
        asked.carry_out(BOOT)
    assert not asked.never_began


@pytest.mark.parametrize("refused", [True, False])
def test_a_fault_of_a_host_that_just_booted_is_no_answer_yet(refused: bool) -> None:
    class Waking(FakeSite):
        asked = 0

        def run_esxcli(self, host: Any, host_name: str, command: str, values: Any = None) -> Any:
            self.asked += 1
            if refused or self.asked < 4:
                raise ApplyError("the object was not found", host="esx01")
            return super().run_esxcli(host, host_name, command, values)

    site = Waking()
    if not refused:
        boot(site).carry_out(BOOT)
        assert site.asked == 4
        return
    with pytest.raises(LayerError, match=r"answers no command .*not found"):
        boot(site).carry_out(BOOT)
    assert site.time.now >= 900.0


def test_disconnected_is_final_after_a_minute() -> None:
    class Disconnected(FakeSite):
        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            task = super().call(moid, method, arguments)
            self.rows["host-1"]["runtime.connectionState"] = "disconnected"
            return task

    site = Disconnected()
    with pytest.raises(UnreachableError, match="heal by itself"):
        boot(site).carry_out(BOOT)
    assert 60.0 < site.time.now < 66.0


# ---------------------------------------------------------------- maintenance mode
class Records:
    """``says``: why it is not ours any more; ``broken``: the mark cannot be taken away."""

    def __init__(self, says: str = "", broken: bool = False) -> None:
        self.says, self.broken = says, broken
        self.marks: list[Mark | None] = []
        self.entry: MaintenanceEvent | None = MaintenanceEvent(7, "entered", BOOT, "LAB\\a")

    def entry_since(self, asked: datetime.datetime, mine_only: bool) -> MaintenanceEvent | None:
        return self.entry

    def write(self, mark: Mark) -> None:
        self.marks.append(mark)

    def clear(self) -> None:
        if self.broken:
            raise ApplyError("no permission", host="vcenter")
        self.marks.append(None)

    def mark(self) -> Mark | None:
        return self.marks[-1] if self.marks else None

    def doubt(self, mark: Mark | None) -> str:
        assert mark is self.marks[-1]
        return self.says

    def story(self) -> str:
        return "entered by LAB\\b"


def window(records: Records | None, site: FakeSite | None = None) -> tuple[Maintenance, FakeSite]:
    site = site or FakeSite()
    kept = cast(HostRecords, records)
    return Maintenance(
        site, lambda: site.reference("host", "host-1"), "esx01", 600.0, records=kept, run=Run("a", "ctl")
    ), site


def test_what_this_run_entered_is_its_own_until_it_left() -> None:
    records = Records()
    mode, site = window(records)
    mode.enter("")
    assert mode.is_ours and mode.is_on() and not mode.unproved
    mode.check()
    mode.leave()
    assert not mode.is_ours and not mode.lost and not mode.is_on()
    assert isinstance(records.marks[0], Mark) and records.marks[1:] == [None]
    assert site.calls == ["EnterMaintenanceMode_Task", "ExitMaintenanceMode_Task"]


def test_what_was_entered_is_this_runs_whatever_becomes_of_the_mark() -> None:
    class Silent(Records):
        def entry_since(self, asked: datetime.datetime, mine_only: bool) -> MaintenanceEvent | None:
            raise GONE

    mode, _site = window(Silent())
    with pytest.raises(UnreachableError):
        mode.enter("")
    assert mode.is_ours and mode.is_on()
    mode.leave()
    assert not mode.is_on()


def test_what_is_somebody_elses_by_now_is_left_as_it_is() -> None:
    records = Records()
    mode, site = window(records)
    mode.enter("")
    records.says = "a later event"
    with pytest.raises(ApplyError, match=r"run's any more: entered by LAB.b \(a later event\)"):
        mode.leave()
    assert mode.taken_by and not mode.is_ours and site.calls == ["EnterMaintenanceMode_Task"]


def test_what_somebody_else_ended_is_told_as_that() -> None:
    records = Records()
    mode, site = window(records)
    mode.enter("")
    records.says = "a later event"
    site.rows["host-1"]["runtime.inMaintenanceMode"] = False
    with pytest.raises(ApplyError, match="another user ended"):
        mode.check()


@pytest.mark.parametrize("case", ["no-records", "no-mark", "no-event", "left"])
def test_without_proof_nothing_is_doubted(case: str) -> None:
    records = Records(says="would be doubted")
    if case == "no-event":
        records.entry = None
    mode, _site = window(None if case == "no-records" else records)
    if case in ("no-event", "no-records"):
        mode.enter("")
        assert mode.unproved is (case == "no-event")
    if case == "no-mark":
        mode.entered = True
    if case == "left":
        records.says = ""
        mode.enter("")
        mode.leave()
        records.says = "would be doubted"
    mode.check()


def test_a_mark_that_cannot_be_taken_away_is_told() -> None:
    records = Records(broken=True)
    mode, _site = window(records)
    mode.enter("")
    assert "taken away (" in mode.clear() and "no permission" in mode.clear()
    assert window(None)[0].clear() == "" and window(Records())[0].clear() == ""


@pytest.mark.parametrize(
    ("run", "event", "stays"), [("a", 7, False), ("a", 9, False), ("b", 7, False), ("b", 9, True), ("b", 0, True)]
)
def test_a_run_that_failed_takes_away_its_own_mark_and_no_other(run: str, event: int, stays: bool) -> None:
    records = Records()
    mode, _site = window(records)
    mode.enter("")
    records.write(Mark(Run(run, "ctl"), BOOT, event))
    assert mode.clear_own() == "" and (records.mark() is not None) is stays


def test_a_host_that_came_back_without_it_has_lost_it() -> None:
    records = Records()
    mode, site = window(records)
    mode.enter("")
    site.rows["host-1"]["runtime.inMaintenanceMode"] = False
    mode.leave()
    assert mode.lost and mode.left and site.calls == ["EnterMaintenanceMode_Task"]
    assert records.marks[-1] is None


def test_a_broken_link_while_leaving_is_followed_and_asked_once_more_only_if_it_never_arrived() -> None:
    class Broken(FakeSite):
        arrives = True

        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            if method == "ExitMaintenanceMode_Task" and self.calls.count(method) == 0:
                if self.arrives:
                    super().call(moid, method, arguments)
                else:
                    self.calls.append(method)
                raise GONE
            return super().call(moid, method, arguments)

    for arrives, calls in ((True, 1), (False, 2)):
        mode, site = window(Records(), Broken())
        site.arrives = arrives  # type: ignore[attr-defined]
        mode.enter("")
        mode.leave()
        assert site.calls.count("ExitMaintenanceMode_Task") == calls and not mode.is_on()


# ---------------------------------------------------------------- where VMs can go
def cluster(**changed: Any) -> FakeSite:
    site = FakeSite()
    hosts = [SimpleNamespace(_moId=f"host-{number}") for number in (1, 2, 3)]
    drs = SimpleNamespace(drsConfig=SimpleNamespace(enabled=True, defaultVmBehavior="fullyAutomated"))
    site.rows["host-1"]["parent"] = SimpleNamespace(_moId="cluster-1")
    site.rows["cluster-1"] = {"host": hosts, "configurationEx": drs}
    site.rows["host-2"] = host_row(name="esx02", vm=[1, 2], **changed)
    site.rows["host-3"] = host_row(name="esx03", vm=[1])
    return site


def refuges(site: FakeSite) -> tuple[bool, list[str]]:
    automatic, found = HostReader(site).refuges(site.reference("host", "host-1"))
    return automatic, [name for _moid, name in found]


def test_vms_can_go_to_the_other_hosts_the_emptiest_first() -> None:
    assert refuges(cluster()) == (True, ["esx03", "esx02"])


@pytest.mark.parametrize(
    "changed",
    [
        {"runtime.connectionState": "disconnected"},
        {"runtime.inMaintenanceMode": True},
        {"runtime.standbyMode": "in"},
    ],
)
def test_a_host_that_is_not_open_is_no_place_to_go(changed: dict[str, Any]) -> None:
    assert refuges(cluster(**changed)) == (True, ["esx03"])


@pytest.mark.parametrize(("enabled", "behaviour"), [(False, "fullyAutomated"), (True, "partiallyAutomated")])
def test_drs_moves_by_itself_only_if_it_is_on_and_fully_automated(enabled: bool, behaviour: str) -> None:
    site = cluster()
    drs = SimpleNamespace(enabled=enabled, defaultVmBehavior=behaviour)
    site.rows["cluster-1"]["configurationEx"] = SimpleNamespace(drsConfig=drs)
    assert refuges(site)[0] is False
    site.rows["host-1"]["parent"] = None
    assert refuges(site) == (False, [])


@pytest.mark.parametrize(("is_vcenter", "expected"), [(True, True), (False, False)])
def test_the_vm_at_the_address_that_we_talk_to_is_the_vcenter_only_if_that_is_one(
    is_vcenter: bool, expected: bool
) -> None:
    """Connected to a host itself, its address says nothing about a VM of another name."""

    class Site(FakeSite):
        @property
        def is_vcenter(self) -> bool:
            return is_vcenter

    row = vm_row(power="poweredOn", **{"guest.ipAddress": "192.0.2.1"})
    (vm,) = HostReader(Site(vm=row)).vms([SimpleNamespace(_moId="vm-1")])
    assert vm.is_vcenter is expected


def test_a_fault_is_no_lost_answer() -> None:
    refused = UnreachableError("refused", host="esx01", fault="HostNotConnected")
    site = FakeSite()
    site.faults["EnterMaintenanceMode_Task"] = [refused]
    mode, _site = window(Records(), site)
    with pytest.raises(LayerError, match="refused"):
        mode.enter("")
    assert not mode.entered and site.time.now == 0.0
