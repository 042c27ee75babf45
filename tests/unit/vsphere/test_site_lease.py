"""One run at a time opens windows in a datacenter: who has it, who may take it, and when it is told again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ApplyError, RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.lease import (
    LeaseWanted,
    SiteLease,
    datacenter_of,
    release_quietly,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.records import CustomFields
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.run_identity import Run
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import vim

from tests.unit.vsphere.fakes import Attributes, FakeSite

FIELD = "rocemesh.lease.datacenter-1"


def lease(site: Attributes, name: str = "anna", seconds: int = 600, take_over: str = "") -> SiteLease:
    made = SiteLease(site, LeaseWanted(Run(name, "ctl"), seconds, take_over), "datacenter-1", "dc")
    made._fields = cast(CustomFields, site)
    return made


def test_it_is_told_again_after_a_quarter_of_its_time_and_only_while_it_is_held() -> None:
    site = Attributes()
    held = lease(site, seconds=600)
    assert not held.is_due
    held.take("u")
    assert not held.is_due
    site.time.now += 149.0
    assert not held.is_due
    site.time.now += 1.0
    assert held.is_due
    held.renew("u")
    assert not held.is_due
    site.time.now += 1000.0
    held.release()
    assert not held.is_due
    shortest = lease(site, seconds=1)  # never less than a minute
    shortest.take("u")
    site.time.now += 14.0
    assert not shortest.is_due


def test_a_lease_that_somebody_else_defines_in_the_same_moment_is_that_ones() -> None:
    """Only one can define a name: who is slower finds the other one's lease."""
    site = Attributes()
    faster = lease(site, "bert")

    class Slower(Attributes):
        def define(self, name: str, kind: Any) -> int | None:
            assert faster.take("b")
            assert name in site.names
            return None

    slow = Slower()
    slow.names, slow.rows = site.names, site.rows
    with pytest.raises(RefusedError, match="run bert on"):
        lease(slow).take("a")
    assert list(site.names) == [FIELD]


@pytest.mark.parametrize("signs", [True, False], ids=["signed-in-time", "died-before"])
def test_a_lease_without_a_name_is_waited_for_ten_seconds_and_then_nobodys(signs: bool) -> None:
    site = Attributes()
    other = lease(site, "bert")
    site.names[FIELD] = 7
    site.rows["datacenter-1"]["customValue"] = []

    def sleep(seconds: float) -> None:
        site.time.now += seconds
        if signs and site.time.now > 5.0:
            other._key = 7
            assert other._sign("b")

    site.sleep = sleep  # type: ignore[method-assign]
    if signs:
        with pytest.raises(RefusedError, match="run bert"):
            lease(site).take("a")
        assert 5.0 < site.time.now < 5.5, "it is looked at several times a second"
    else:
        assert lease(site).take("a")
        assert 10.0 <= site.time.now < 10.5
        assert site.names[FIELD] != 7


def test_a_live_lease_is_taken_over_only_by_its_name() -> None:
    site = Attributes()
    lease(site, "bert").take("b")
    for wrong in ("", "carl"):
        with pytest.raises(RefusedError, match="take_over=bert"):
            lease(site, take_over=wrong).take("a")
        with pytest.raises(RefusedError, match="take_over=bert"):
            lease(site, take_over=wrong).refuse_beside_others()
    for fine in (lease(site, "bert"), lease(site, take_over="bert")):
        fine.refuse_beside_others()
    assert lease(site, take_over="bert").take("a")


def test_a_value_that_is_no_lease_stops_everything() -> None:
    site = Attributes()
    site.names[FIELD] = 7
    site.rows["datacenter-1"]["customValue"] = [SimpleNamespace(key=7, value="keep out")]
    with pytest.raises(RefusedError, match="'keep out', which"):
        lease(site).take("a")
    assert not lease(site).release() and site.names == {FIELD: 7}


def test_nothing_stays_that_could_not_be_signed() -> None:
    class Mute(Attributes):
        def write(self, kind: str, moid: str, key: int, value: str) -> bool:
            raise ApplyError("no permission", host="vcenter")

    site = Mute()
    with pytest.raises(ApplyError, match="no permission"):
        lease(site).take("a")
    assert site.names == {}


def test_what_keeps_it_from_ending_is_told() -> None:
    class Stuck(Attributes):
        def undefine(self, key: int) -> bool:
            raise ApplyError("busy", host="vcenter")

    site = Stuck()
    held = lease(site)
    held.take("a")
    assert "be given back" in release_quietly(held) and "busy" in release_quietly(held)
    other = lease(Attributes())
    other.take("a")
    assert release_quietly(other) == ""


def test_the_datacenter_is_looked_for_upwards_and_its_absence_is_refused() -> None:
    site = FakeSite()
    datacenter = vim.Datacenter("datacenter-3")
    rows = {"host-1": {"parent": SimpleNamespace(_moId="folder-1"), "name": "esx01"},
            "folder-1": {"parent": datacenter, "name": "host"}, "datacenter-3": {"name": "lab-dc"}}  # fmt: skip
    site.rows.update(rows)
    assert datacenter_of(site, site.reference("host", "host-1")) == ("datacenter-3", "lab-dc")
    site.rows["folder-1"] = {"parent": None, "name": "host"}
    with pytest.raises(RefusedError, match="no datacenter above"):
        datacenter_of(site, site.reference("host", "host-1"))
