"""The way back on a Cumulus switch: to the configuration before, and past what was changed since."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, RefusedError, converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import restore
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import tree as trees
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue.state import parse_config

from tests.unit.nvue.harness import WANTED, Direct, Run, Twin

OPTIONS: dict[str, Any] = {"allow_disruption": "any"}
RELEASES = ("5.6.0", "5.14.0", "5.18.0")
TRUNK = {"bridge": {"domain": {"br_default": {"vlan": {"20-22": {}, "30": {}}, "untagged": 20}}}}
ROUTED = {"ip": {"address": {"10.9.0.1/31": {}}, "vrf": "default"}, "link": {"mtu": 4000}}


def configured(twin: Twin) -> dict[str, Any]:
    """The applied configuration as the layer reads it: ranges written out, empty branches left out."""
    return parse_config("sw02", copy.deepcopy(twin.applied))


def change(twin: Twin, patch: dict[str, Any]) -> None:
    """What a person types in, saved."""
    twin.switch.applied = trees.merge(twin.switch.applied, patch)
    twin.switch.startup = copy.deepcopy(twin.switch.applied)


def back(twin: Twin, diff: dict[str, Any], check: bool = False, **options: Any) -> tuple[dict[str, Any], Direct]:
    way, wanted = restore.request("sw02", diff, {**OPTIONS, **options})
    session = Direct(twin.api, twin.clock)
    layer = restore.RestoreLayer(
        "sw02", session, wanted, way, read_only=check, clock=twin.clock, sleep=twin.clock.sleep
    )
    try:
        return converge(layer, wanted, check), session
    finally:
        layer.close()


@pytest.mark.parametrize("release", RELEASES)
def test_restore_after_a_run_gives_the_old_configuration_saved(release: str) -> None:
    twin = Twin(release=release)
    before = configured(twin)
    diff = Run(twin)()["diff"]
    assert configured(twin) != before
    planned, session = back(twin, diff, check=True)
    assert planned["changed"] and session.written == []
    found, _session = back(twin, diff)
    assert configured(twin) == before and found["saved"] and found["left_alone"] == []
    again, session = back(twin, diff)
    assert not again["changed"] and session.written == []


@pytest.mark.parametrize("release", RELEASES)
def test_restore_gives_trunk_and_routed_ports_what_they_had(release: str) -> None:
    twin = Twin(release=release)
    layer3 = ROUTED if release != "5.18.0" else {"ipv4": {"address": {"10.9.0.1/31": {}}}, "link": {"mtu": 4000}}
    change(twin, {"interface": {"swp1": TRUNK, "swp2": layer3}})
    before = configured(twin)
    diff = Run(twin, dataclasses.replace(WANTED, convertible=None))()["diff"]
    assert trees.get(configured(twin), "interface", "swp1", "bridge", "domain", "br_default") == {"access": 111}
    found, _session = back(twin, diff)
    assert configured(twin) == before and found["left_alone"] == []


def test_restore_leaves_what_was_changed_since() -> None:
    twin = Twin()
    diff = Run(twin)()["diff"]
    change(twin, {"interface": {"swp2": {"link": {"mtu": 4000}}}})
    found, _session = back(twin, diff)
    (row,) = found["left_alone"]
    assert row["key"] == "interface swp2 link mtu" and row["why"] == "changed since" and row["value"] == 4000
    assert found["ports"]["swp2"]["mtu"] == 4000 and found["ports"]["swp1"]["access_vlan"] != 111


@pytest.mark.parametrize("was", [TRUNK, ROUTED])
def test_restore_gives_no_trunk_or_address_to_a_port_that_another_user_has_put_into_a_vlan(was: dict[str, Any]) -> None:
    twin = Twin()
    change(twin, {"interface": {"swp1": was, "swp2": {**was, "link": {"mtu": 4000}}}})
    before = trees.get(configured(twin), "interface", "swp2")
    diff = Run(twin, dataclasses.replace(WANTED, convertible=None))()["diff"]
    change(twin, {"interface": {"swp1": {"bridge": {"domain": {"br_default": {"access": 200}}}}}})
    there = trees.get(configured(twin), "interface", "swp1")
    found, _session = back(twin, diff)
    now = trees.get(configured(twin), "interface")
    assert {**now["swp1"], "link": 0} == {**there, "link": 0}
    assert now["swp2"] == before
    whys = [row["why"] for row in found["left_alone"] if row["key"].startswith("interface swp1 ")]
    assert len(set(whys)) == 2 and "changed since" in whys


def test_restore_keeps_a_vlan_that_another_port_uses() -> None:
    twin = Twin()
    diff = Run(twin)()["diff"]
    change(twin, {"interface": {"swp9": {"bridge": {"domain": {"br_default": {"access": 111}}}}}})
    found, _session = back(twin, diff)
    assert {row["why"] for row in found["left_alone"]} == {"used by swp9"}
    assert trees.get(configured(twin), "bridge", "domain", "br_default", "vlan", "111") is not None
    assert trees.get(configured(twin), "interface", "swp9", "bridge", "domain", "br_default", "access") == 111


def test_restore_after_two_runs_ends_where_the_first_began() -> None:
    """The journal of a whole site can have a thing that was made, and then a part of it that was changed."""
    twin = Twin()
    for port in WANTED.ports:
        twin.switch.applied["interface"][port].pop("link", None)
    twin.switch.startup = copy.deepcopy(twin.switch.applied)
    before = configured(twin)
    first = Run(twin)()["diff"]
    second = Run(twin, dataclasses.replace(WANTED, mtu=9000))()["diff"]
    assert not {*first["before"]} & {*second["before"]}
    both = {side: {**second[side], **first[side]} for side in ("before", "after")}
    found, _session = back(twin, both)
    assert configured(twin) == before and found["left_alone"] == []


@pytest.mark.parametrize("executed", [True, False])
def test_restore_cut_at_every_request_is_finished_by_the_next(executed: bool) -> None:
    for number in range(1, 200):
        twin = Twin()
        before = configured(twin)
        diff = Run(twin)()["diff"]
        twin.fault(name="cut_after", requests=number, executed=executed)
        try:
            back(twin, diff)
        except LayerError:
            twin.switch.faults.clear()
            twin.clock.sleep(400)  # longer than the switch waits for a confirmation
            back(twin, diff)
            assert configured(twin) == before, number
            continue
        assert number > 8 and configured(twin) == before
        break


def test_restore_keeps_the_guards_of_the_module() -> None:
    twin = Twin()
    diff = Run(twin)()["diff"]
    with pytest.raises(RefusedError, match="allow_disruption"):
        back(twin, diff, allow_disruption="none")


@pytest.mark.parametrize(
    "key",
    [
        "system hostname",
        "interface swp1",
        "interface eth0 ip",
        "qos",
        "bridge domain",
        "interface swp1 link y\n",
    ],
)
def test_restore_refuses_what_no_run_has_written(key: str) -> None:
    with pytest.raises(RefusedError, match="sw02"):
        restore.request("sw02", {"before": {key: 1}, "after": {key: None}}, OPTIONS)
