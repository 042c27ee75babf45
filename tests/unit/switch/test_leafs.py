"""Right leafs are healthy in the stage switch and in the consistency check; one mutation is named where it is."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import info
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue.reading import NvueReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import info as onyx
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.path_intent import Intent
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.path_switch import switch_rows

from tests.unit.nvue.harness import WANTED, Direct, Twin, run
from tests.unit.onyx.harness import FakeSession, new_switch
from tests.unit.onyx.harness import Run as OnyxRun
from tests.unit.switch.leafs import LEAFS, MUTATIONS

RAILS = Intent(network=["10.78.0.0/24", "10.78.1.0/24", "10.78.2.0/24", "2001:db8::/32"])
# Findings of the stage that the consistency check has no row for.
STAGE_ONLY = {"ecn", "network", "pfc_watchdog"}


@pytest.mark.parametrize("name", LEAFS)
def test_leaf_right_is_healthy(name: str) -> None:
    found = LEAFS[name].judged()
    assert (found["findings"], found["unreadable"], found["healthy"]) == (
        [each for each in found["findings"] if each["code"] == "pfc_watchdog"],
        [],
        True,
    )
    wrong = [row for row in switch_rows("leaf01", found, 9000, RAILS) if row.level != "ok"]
    assert wrong == []


def test_leaf_without_watchdog_is_a_warning() -> None:
    found = LEAFS["sonic-routed-subnets"].judged()
    assert [each["code"] for each in found["findings"]] == ["pfc_watchdog"] * 2 and len(found["warnings"]) == 2


@pytest.mark.parametrize("case", MUTATIONS, ids=lambda case: f"{case[0]}-{case[3]}-{case[2].strip()[:24]}")
def test_leaf_mutation_is_named(case: tuple[str, str, str, str, str]) -> None:
    name, old, new, code, place = case
    found = LEAFS[name].judged(old, new)
    assert (code, place) in {(each["code"], each["place"]) for each in found["findings"]}
    assert found["healthy"] is (code == "pfc_watchdog")
    verdicts = {row.level for row in switch_rows("leaf01", found, 9000, RAILS)}
    assert code in STAGE_ONLY or "problem" in verdicts


def test_leaf_mutations_are_many() -> None:
    assert len(MUTATIONS) >= 40 and len({case[3] for case in MUTATIONS}) >= 10


@pytest.mark.parametrize("mode", ["lossless", "lossless-single-ipool"])
def test_cumulus_leaf_right_is_healthy(mode: str) -> None:
    twin = Twin(release="5.14.0")
    run(twin, dataclasses.replace(WANTED, mode=mode))
    reader = NvueReader("sw02", Direct(twin.api, twin.clock), "br_default")
    assert info.survey(reader, WANTED.ports, "lossless")["problems"] == []


def test_onyx_leaf_right_is_healthy() -> None:
    switch = new_switch()
    OnyxRun(switch)()
    found = onyx.survey("sw01", FakeSession(switch), mode="lossless")
    assert found["problems"] == [] and found["ports"]["1/1"]["access_vlan"] == 111
