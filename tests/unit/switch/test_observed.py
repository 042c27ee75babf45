"""What is said of a switch that is only read: chosen ports, facts over several ports, what contradicts RoCE."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError, RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.path_intent import Intent
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.path_switch import switch_rows
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.judge import Need
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.observed import (
    NOTHING,
    Marking,
    Observed,
    PortSeen,
    Sections,
    chosen,
    facts,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.sections import tree
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.survey import expected

from tests.unit.switch.seen import named

NAMES = ["Ethernet1/1", "Ethernet1/2", "Ethernet1/3/1", "Ethernet2/1"]
RIGHT = PortSeen(
    mtu=9216,
    admin=True,
    up=True,
    mode="access",
    access_vlan=111,
    trust="dscp",
    lossless=frozenset({3}),
    watchdog=True,
    dscp={26: 3, 48: 6},
    marking={3: Marking("150 to 1500 kbytes", 150.0, 1500.0)},
)


LOSSLESS = Need(mode="lossless")


def said(wanted: Need = LOSSLESS, **ports: PortSeen) -> dict[str, Any]:
    return facts(Observed("1", ports, True), list(ports), wanted)


@pytest.mark.parametrize(
    ("specs", "names"),
    [
        ([], NAMES),
        (["Ethernet2/1", "Ethernet1/1"], ["Ethernet1/1", "Ethernet2/1"]),
        (["Ethernet1/1-4"], ["Ethernet1/1", "Ethernet1/2"]),
        (["Ethernet1/3/1-8, Ethernet2/1"], ["Ethernet1/3/1", "Ethernet2/1"]),
    ],
)
def test_ports_are_chosen_in_the_order_of_the_switch(specs: list[str], names: list[str]) -> None:
    assert chosen("leaf01", specs, NAMES) == names


@pytest.mark.parametrize("spec", ["Ethernet1/9", "Ethernet3/1-4", "1/1", ""])
def test_a_port_that_is_not_there_is_refused(spec: str) -> None:
    with pytest.raises(RefusedError, match="no such port"):
        chosen("leaf01", ["Ethernet1/1", spec], NAMES)


def test_ports_that_differ_are_not_told_as_one() -> None:
    other = dataclasses.replace(RIGHT, trust="cos", lossless=frozenset({3, 4}), dscp={26: 4, 48: 6}, marking={})
    roce = said(a=RIGHT, b=other)["roce"]
    assert (roce["trust"], roce["pfc_priorities"], roce["dscp_priorities"]) == ("cos, dscp", [3], {"48": 6})
    assert (roce["ecn"], roce["ecn_min_kb"]) == ("disabled", None)


def test_a_port_without_a_link_does_not_speak_for_the_others() -> None:
    idle = PortSeen(up=False, lossless=frozenset())
    found = said(a=RIGHT, b=idle)
    assert found["roce"]["mode"] == "lossless" and found["problems"] == []


def test_a_port_that_trusts_nothing_speaks_for_itself() -> None:
    found = said(a=RIGHT, b=dataclasses.replace(RIGHT, trust=None))
    assert found["roce"]["trust"] == "dscp, not configured"
    assert found["ports"]["b"]["trust"] == "not configured"
    rows = {row.place: row.level for row in switch_rows("leaf01", found, 0, Intent())}
    verdicts = [rows[f"leaf01 {place}trust"] for place in ("", "a ", "b ")]
    assert verdicts == ["problem", "ok", "problem"]


@pytest.mark.parametrize(("dscp", "verdict"), [({26: 3}, "ok"), ({26: 1}, "problem"), ({}, "unknown")])
def test_a_map_that_is_empty_is_not_known_and_not_left_out(dscp: dict[int, int], verdict: str) -> None:
    found = said(a=dataclasses.replace(RIGHT, dscp=dscp))
    rows = {row.place: row.level for row in switch_rows("leaf01", found, 0, Intent())}
    assert rows["leaf01 DSCP 26"] == verdict


def test_what_was_not_read_is_not_off() -> None:
    roce = said(a=dataclasses.replace(RIGHT, lossless=None))["roce"]
    assert (roce["mode"], roce["pfc"], roce["pfc_priorities"]) == (None, None, None)
    other = said(a=RIGHT, b=PortSeen(up=True))
    assert (other["roce"]["trust"], other["roce"]["ecn"], other["ports"]["b"]["trust"]) == ("dscp", None, None)
    assert named(other) == [("mode", "")]
    assert facts(Observed("1", {}, None), [], Need())["roce"]["ecn"] is None


@pytest.mark.parametrize(
    ("mode", "change", "codes"),
    [
        ("lossless", {}, []),
        (None, {}, []),
        ("lossy", {}, ["mode"]),
        ("absent", {}, ["mode"]),
        ("lossy", {"lossless": frozenset()}, []),
        ("absent", {"lossless": frozenset(), "marking": {}}, []),
        (None, {"lossless": frozenset(), "marking": {}, "trust": None}, []),
        ("lossless", {"pfc_oper": False}, ["pfc_oper"]),
        ("lossless", {"trust": "cos"}, ["trust"]),
        ("lossless", {"up": None}, []),
    ],
)
def test_problems_follow_from_what_ought_to_be(mode: str | None, change: dict[str, Any], codes: list[str]) -> None:
    found = said(Need(mode=mode), a=dataclasses.replace(RIGHT, **change))
    assert [code for code, _place in named(found)] == codes and found["healthy"] is (not codes)


def test_what_was_not_readable_is_a_problem() -> None:
    seen = Observed("1", {"a": RIGHT}, None, (("neighbors", "why"),))
    found = facts(seen, ["a"], Need())
    assert found["problems"] == ["could not be read: neighbors"] and not found["healthy"]
    assert found["unreadable"] == [{"what": "neighbors", "reason": "why"}]


@pytest.mark.parametrize(("mode", "priority", "thing"), [("dci-1", 3, "mode"), (None, 8, "priority")])
def test_a_request_that_makes_no_sense_is_refused(mode: str | None, priority: int, thing: str) -> None:
    with pytest.raises(RefusedError, match=f"leaf01: {thing}.*What to do"):
        expected("leaf01", {"mode": mode, "priority": priority})


def test_blocks_of_a_configuration_end_where_the_indentation_does() -> None:
    root = tree("a\n  b\n   ! between\n      c 1\n  d\ne\n")
    assert [line.text for line in root.below] == ["a", "e"]
    assert [line.text for line in root.below[0].below] == ["b", "d"]
    assert root.below[0].below[0].rest("c") == ["1"] and root.has("e")


def test_sections_tell_what_is_not_readable_and_go_on() -> None:
    def broken() -> dict[str, int]:
        raise ParseError("no table", host="leaf01", raw="x")

    section = Sections()
    assert section("one", broken, NOTHING) == {} and section("two", lambda: {"a": 1}, NOTHING) == {"a": 1}
    assert [what for what, _why in section.unreadable] == ["one"]
