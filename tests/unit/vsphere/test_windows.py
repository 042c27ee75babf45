"""All hosts of a site: leases are taken all or none, and a maintenance mode that is somebody's stays told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere import windows
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.lease import LeaseWanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.ownership import Mark
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.run_identity import Run
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.windows import Windows

from tests.unit.vsphere.fakes import BOOT, FakeSite

OURS = Run("anna", "ctl")


class Site(FakeSite):
    """Two datacenters with a host each; ``held``: datacenter -> the run that has its lease; ``log``: what was done."""

    vcenter = True

    def __init__(self, **held: str) -> None:
        super().__init__()
        self.held: dict[str, str] = held
        self.log: list[str] = []
        self.doubts: dict[str, str] = {}
        self.rows["host-1"] = {"parent": SimpleNamespace(_moId="east"), "runtime.bootTime": BOOT}
        self.rows["host-2"] = {"parent": SimpleNamespace(_moId="west")}

    @property
    def is_vcenter(self) -> bool:
        return self.vcenter

    def find_hosts(self, wanted: Any, cluster: str = "") -> list[tuple[Any, str]]:
        return [(self.reference("host", f"host-{number}"), f"esx0{number}") for number in (1, 2)]


class Lease:
    def __init__(self, site: Site, wanted: LeaseWanted, moid: str, name: str) -> None:
        assert (wanted.run, name, wanted.seconds) == (OURS, f"dc {moid}", 600)
        self._site, self._moid, self._take_over = site, moid, wanted.take_over

    def refuse_beside_others(self) -> None:
        name = self._site.held.get(self._moid, "")
        if name not in ("", OURS.name, self._take_over):
            raise RefusedError(f"{self._moid} is {name}'s", host="dc")

    def take(self, user: str) -> bool:
        assert user == "LAB\\anna"
        self._site.log.append(f"take {self._moid}")
        name = self._site.held.get(self._moid, "")
        if name == "late":
            raise RefusedError("somebody was faster", host="dc")
        self._site.held[self._moid] = OURS.name
        return name != OURS.name

    def release(self) -> bool:
        self._site.log.append(f"release {self._moid}")
        return self._site.held.pop(self._moid, "") == OURS.name


class Records:
    unreadable = ""

    def __init__(self, site: Site, moid: str, name: str) -> None:
        self._site, self._name = site, name

    def user(self) -> str:
        return "LAB\\anna"

    def parsed(self, text: str) -> Mark | None:
        return Mark(OURS, BOOT, 7) if text else None

    def doubt(self, mark: Mark | None) -> str:
        return self._site.doubts.get(self._name, "")

    def story(self) -> str:
        return "entered by LAB\\bert"


class Fields:
    def __init__(self, site: Site) -> None:
        pass

    def definitions(self) -> dict[str, int]:
        return {windows.MARK_FIELD: 5}

    @staticmethod
    def value(values: Any, key: int | None) -> str:
        return str(values or "") if key == 5 else ""


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "SiteLease", Lease)
    monkeypatch.setattr(windows, "HostRecords", Records)
    monkeypatch.setattr(windows, "CustomFields", Fields)
    monkeypatch.setattr(windows, "release_quietly", lambda lease: str(lease.release() and ""))
    monkeypatch.setattr(windows, "datacenter_of", lambda _site, parent: (parent._moId, f"dc {parent._moId}"))


def settle(site: Site, state: str, check: bool = False, take_over: str = "") -> bool:
    return Windows(site, LeaseWanted(OURS, 600, take_over), ["one", "two"]).settle(state, check)


def test_the_leases_of_all_datacenters_are_taken_once() -> None:
    site = Site()
    assert settle(site, "held") and site.held == {"east": "anna", "west": "anna"}
    assert not settle(site, "held"), "it has them already"
    assert settle(Site(east="anna"), "held"), "one of two was taken now"


def test_all_or_none() -> None:
    site = Site(west="late")
    with pytest.raises(RefusedError, match="west is late's"):
        settle(site, "held")
    assert site.log == [], "nothing is taken where one is seen to be somebody else's"
    with pytest.raises(RefusedError, match="somebody was faster"):
        settle(site, "held", take_over="late")
    assert site.log == ["take east", "take west", "release east"] and "east" not in site.held


@pytest.mark.parametrize("state", ["free", "held"])
def test_another_runs_lease_is_refused_unless_it_is_named(state: str) -> None:
    for take_over in ("", "carl"):
        with pytest.raises(RefusedError, match="east is bert's"):
            settle(Site(east="bert"), state, take_over=take_over)
    assert settle(Site(east="bert"), state, take_over="bert") is (state == "held")


def test_free_and_check_mode_only_look() -> None:
    for state, check in (("free", False), ("free", True), ("held", True), ("released", True)):
        site = Site(east="anna")
        assert not settle(site, state, check) and site.log == []


def test_released_gives_all_back_and_says_whether_there_was_one() -> None:
    site = Site(west="anna")
    assert settle(site, "released") and site.log == ["release east", "release west"]
    assert not settle(site, "released")


def test_without_a_vcenter_or_where_it_is_ignored_nothing_is_asked() -> None:
    assert not settle(Site(east="bert"), "ignored")
    alone = Site(east="bert")
    alone.vcenter = False
    assert not settle(alone, "held") and alone.log == [] and alone.reads == 0


def hosts(site: Site) -> tuple[list[dict[str, Any]], list[str]]:
    found = Windows(site, LeaseWanted(OURS), ["one", "two"])
    return found.hosts(), found.warnings


def test_what_is_told_of_a_host() -> None:
    site = Site()
    site.rows["host-1"].update({"runtime.connectionState": "connected", "customValue": "a mark"})
    (first, second), warnings = hosts(site)
    assert first == {
        "given": "one", "esxi_host": "esx01", "esxi_host_moid": "host-1", "vcenter_uuid": site.instance,
        "connection_state": "connected",
        "boot_time": BOOT.isoformat(), "in_maintenance": False, "marked": True, "recoverable": False, "story": "",
    }  # fmt: skip
    assert (second["given"], second["marked"], second["boot_time"]) == ("two", False, None)
    assert second["connection_state"] == "unknown" and warnings == []


@pytest.mark.parametrize("doubt", ["", "a later event"])
def test_only_a_proved_maintenance_mode_can_be_recovered_and_every_other_is_warned_of(doubt: str) -> None:
    site = Site()
    site.rows["host-1"]["runtime.inMaintenanceMode"] = True
    site.doubts["esx01"] = doubt
    (first, _second), warnings = hosts(site)
    assert (first["in_maintenance"], first["recoverable"]) == (True, not doubt)
    assert first["story"] == "entered by LAB\\bert"
    assert bool(warnings) is bool(doubt) and all("a later event" in text for text in warnings)


def test_a_standalone_host_proves_nothing() -> None:
    site = Site()
    site.vcenter = False
    site.rows["host-1"].update({"runtime.inMaintenanceMode": True, "customValue": "a mark"})
    (first, second), warnings = hosts(site)
    assert not first["marked"] and not first["recoverable"] and "standalone host" in first["story"]
    assert second["story"] == "" and len(warnings) == 1 and "nothing is recorded" in warnings[0]
