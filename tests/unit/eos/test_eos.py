"""An EOS switch that is only read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._eos.config import DEFAULT_MAP
from ansible_collections.rocemesh.multinode.plugins.module_utils._eos.reading import read
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import CredentialError, ParseError
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.judge import Need
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.observed import facts

from tests.unit.eos.answers import ANSWERS, RUNNING
from tests.unit.switch.seen import lossless, named

PORTS = ["Ethernet1/1", "Ethernet2/1"]
CONFIG = "show running-config"
ECN = "random-detect ecn minimum-threshold 150 kbytes maximum-threshold 1500 kbytes max-mark-probability 20 weight 0"


def said(command: str = "", text: str = "") -> dict[str, Any]:
    answers = {**ANSWERS, **({command: text} if command else {})}
    return facts(read("leaf01", answers.__getitem__, 3), PORTS, Need(3, 26, 9214, "access", 111, "lossless"))


def test_what_is_right_is_healthy_and_has_every_fact() -> None:
    found = said()
    assert found["problems"] == [] and found["healthy"] and found["saved"] is True
    assert found["version"] == "4.32.2F"
    assert found["roce"] == lossless("150 to 1500 kbytes", {str(dscp): number for dscp, number in DEFAULT_MAP.items()})
    first = found["ports"]["Ethernet1/1"]
    assert first["counters"] == {
        "rx_discards": 0,
        "tx_discards": 4,
        "rx_pfc_pause": 12,
        "tx_pfc_pause": 3,
        "ecn_marked": 77,
    }
    assert first["neighbors"] == [{"system": "gpu01", "port": "ens1f0np0", "description": ""}]
    assert "ecn_marked" not in found["ports"]["Ethernet2/1"]["counters"]
    assert first["pfc_oper"] is None, "not in the JSON that is known"


def test_only_front_ports_are_looked_at_and_one_that_is_routed_or_off_says_so() -> None:
    seen = read("leaf01", ANSWERS.__getitem__, 3)
    assert list(seen.ports) == [*PORTS, "Ethernet3/1"]
    third = seen.ports["Ethernet3/1"]
    assert (third.mode, third.access_vlan, third.admin, third.up) == ("routed", None, False, False)
    assert third.trust == "dscp" and third.lossless == frozenset()


def test_ports_are_routed_without_a_word_where_the_switch_says_so() -> None:
    text = "switchport default mode routed\n" + RUNNING.replace("mtu 9214\n", "mtu 9214\n   switchport\n")
    ports = said(CONFIG, text)["ports"]
    assert [ports[name]["mode"] for name in PORTS] == ["access", "routed"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("   priority-flow-control priority 3 no-drop\n   !", "   !", ("pfc", "Ethernet1/1")),
        (
            "qos trust dscp\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n   p",
            "p",
            ("trust", "Ethernet2/1"),
        ),
        (
            "   qos trust dscp\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n   !",
            "   !",
            ("trust", "Ethernet1/1"),
        ),
        (
            "qos map dscp 24 26 to traffic-class 3",
            "qos map dscp 24 26 to traffic-class 4",
            ("dscp", "Ethernet1/1"),
        ),
        (f"tx-queue 3\n      {ECN}\n!", "tx-queue 3\n!", ("ecn", "Ethernet2/1")),
        (
            "switchport access vlan 111\n   service",
            "switchport mode trunk\n   service",
            ("port_mode", "Ethernet1/1"),
        ),
        ("switchport access vlan 111\n   service", "service", ("vlan", "Ethernet1/1")),
        ("service-profile ROCE", "service-profile ROCE\n   no priority-flow-control", ("pfc", "Ethernet1/1")),
        ("service-profile ROCE", "service-profile ROCE\n   no qos trust", ("trust", "Ethernet1/1")),
        (
            "   service-profile ROCE",
            "   service-policy type qos input SORT\n   service-profile ROCE",
            ("unreadable", "QoS of Ethernet1/1"),
        ),
        ("service-profile ROCE", "service-profile OTHER", ("unreadable", "QoS of Ethernet1/1")),
        (
            "priority-flow-control pause watchdog",
            "priority-flow-control sideways",
            ("unreadable", "QoS of Ethernet2/1"),
        ),
        (
            "kbytes maximum-threshold 1500 kbytes",
            "cells maximum-threshold 1500 cells",
            ("unreadable", "QoS of Ethernet1/1"),
        ),
        ("qos map dscp 48 to traffic-class 6", "qos map dscp 48 to wherever", ("unreadable", "map of DSCPs")),
    ],
)
def test_a_difference_is_a_problem(old: str, new: str, problem: tuple[str, str]) -> None:
    assert old in RUNNING
    assert problem in named(said(CONFIG, RUNNING.replace(old, new)))


def test_trust_of_a_port_goes_before_that_of_its_profile() -> None:
    text = RUNNING.replace("ROCE\n   qos trust dscp", "ROCE\n   no qos trust")
    assert named(said(CONFIG, text)) == [("trust", "Ethernet1/1")]
    assert said(CONFIG, text.replace("service-profile ROCE", "service-profile ROCE\n   qos trust dscp"))["healthy"]


def test_default_map_is_in_effect_unless_a_line_says_otherwise() -> None:
    text = "".join(line for line in RUNNING.splitlines(keepends=True) if not line.startswith("qos map dscp"))
    assert said(CONFIG, text)["healthy"]
    for drops in ("", " drop-precedence 2"):
        every = text + f"qos map dscp 0-63 to traffic-class 4{drops}\n"
        assert named(said(CONFIG, every)) == [("dscp", port) for port in PORTS]


def test_a_port_whose_settings_could_not_be_read_is_not_accused() -> None:
    found = said(CONFIG, RUNNING.replace("service-profile ROCE", "service-profile OTHER"))
    assert named(found) == [("mode", ""), ("port_mode", "Ethernet1/1"), ("unreadable", "QoS of Ethernet1/1")]
    assert found["roce"]["ecn"] is None and found["ports"]["Ethernet1/1"]["trust"] is None


def test_thresholds_in_another_unit_are_shown_and_not_converted() -> None:
    text = RUNNING.replace("150 kbytes", "2000 segments").replace("1500 kbytes", "10000 segments")
    roce = said(CONFIG, text)["roce"]
    assert roce["ecn"] == "ECN" and roce["ecn_min_kb"] is None and roce["ecn_thresholds"] == "2000 to 10000 segments"


def test_a_traffic_class_leaves_by_the_queue_that_is_mapped() -> None:
    text = "qos map traffic-class 3 to uc-tx-queue 5\n" + RUNNING.replace("tx-queue 3", "tx-queue 5")
    assert said(CONFIG, text)["roce"]["ecn"] == "ECN"


def test_unsaved_lines_are_not_saved() -> None:
    assert (
        said("show running-config diffs", "--- flash:/startup-config\n+++ system:/running-config\n")["saved"] is False
    )


@pytest.mark.parametrize(
    "command",
    [
        command
        for command in ANSWERS
        if "json" in command and "version" not in command and "interfaces |" not in command
    ],
)
@pytest.mark.parametrize("text", ["{}", "nothing like it", "% Invalid input (at token 1: 'qos')"])
def test_a_table_that_is_not_known_is_named_and_hides_no_other(command: str, text: str) -> None:
    found = said(command, text)
    assert len(found["unreadable"]) == 1 and "leaf01" in found["unreadable"][0]["reason"] and not found["healthy"]
    assert found["roce"]["mode"] == "lossless"


def test_a_banner_is_no_error_and_an_error_shows_its_own_line_alone() -> None:
    secret = "username admin secret sha512 Not-to-be-seen-4712\n"
    assert said(CONFIG, f"{secret}banner motd\n% keep out\nEOF\n{RUNNING}")["healthy"]
    with pytest.raises(ParseError, match="Ambiguous command") as caught:
        said(CONFIG, f"% Ambiguous command\n{secret}")
    assert "4712" not in str(caught.value.as_result())


def test_a_login_that_may_not_read_the_configuration_is_told_what_it_needs() -> None:
    with pytest.raises(CredentialError, match="privilege 15"):
        said(CONFIG, "% Invalid input (privileged mode required)")


@pytest.mark.parametrize("command", ["show version | json", "show interfaces | json"])
def test_without_release_or_ports_nothing_is_said(command: str) -> None:
    with pytest.raises(ParseError):
        said(command, json.dumps({"errors": ["no"]}))
