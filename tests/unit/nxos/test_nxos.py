"""An NX-OS switch that is only read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nxos.reading import read
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.judge import Need
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.observed import facts

from tests.unit.nxos.answers import ANSWERS, PORTS, RUNNING, interface, table
from tests.unit.switch.seen import lossless, named

CONFIG = "show running-config"
ECN = "random-detect minimum-threshold 150 kbytes maximum-threshold 1500 kbytes drop-probability 7 weight 0 ecn"


def said(command: str = "", text: str = "") -> dict[str, Any]:
    answers = {**ANSWERS, **({command: text} if command else {})}
    return facts(read("leaf01", answers.__getitem__, 3), PORTS, Need(3, 26, 9216, "access", 111, "lossless"))


def test_what_is_right_is_healthy_and_has_every_fact() -> None:
    found = said()
    assert found["problems"] == [] and found["healthy"] and found["saved"] is True
    assert found["version"] == "10.3(5)"
    assert found["roce"] == lossless(
        "150 to 1500 kbytes", {**{str(dscp): 0 for dscp in range(64)}, "24": 3, "26": 3, "48": 7}
    )
    first = found["ports"]["Ethernet1/1"]
    assert first["counters"] == {
        "rx_discards": 0,
        "tx_discards": 5,
        "rx_pfc_pause": 12,
        "tx_pfc_pause": 3,
        "tx_roce_packets": 4811,
    }
    assert first["neighbors"] == [{"system": "gpu01", "port": "ens1f0np0", "description": "Linux"}]
    assert first["pfc_oper"] == "enabled"
    assert "tx_roce_packets" not in found["ports"]["Ethernet1/2"]["counters"]


def test_a_neighbor_that_forwards_is_known_by_its_capabilities() -> None:
    ports = read("leaf01", ANSWERS.__getitem__, 3).ports
    assert [ports[name].neighbors[0].forwards for name in PORTS] == [False, True]


def test_a_single_row_is_a_table_of_one_row() -> None:
    answers = {**ANSWERS, "show interface | json": json.dumps(table("interface", interface("Ethernet1/1")))}
    assert list(read("leaf01", answers.__getitem__, 3).ports) == ["Ethernet1/1"]


def test_a_port_with_an_address_and_without_a_mode_is_routed() -> None:
    row = {
        "interface": "Ethernet1/1",
        "state": "up",
        "eth_mtu": "9216",
        "eth_ip_addr": "192.0.2.0",
        "eth_ip_mask": "31",
    }
    answers = {**ANSWERS, "show interface | json": json.dumps(table("interface", row))}
    assert read("leaf01", answers.__getitem__, 3).ports["Ethernet1/1"].mode == "routed"


def test_a_kind_of_packets_that_a_queue_does_not_count_is_null() -> None:
    command = "show queuing interface | json"
    text = ANSWERS[command].replace('"eq-mc-stat-value": "1"', '"eq-mc-stat-value": null')
    assert said(command, text)["ports"]["Ethernet1/1"]["counters"]["tx_roce_packets"] == 4810


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "priority-flow-control mode on\n",
            "priority-flow-control mode off\n",
            ("pfc", "Ethernet1/1"),
        ),
        ("    pause pfc-cos 3\n", "", ("pfc", "Ethernet1/2")),
        ("pause pfc-cos 3", "pause pfc-cos 4", ("pfc", "Ethernet1/1")),
        ("input MARKING no-stats", "input OTHER", ("unreadable", "QoS of Ethernet1/1")),
        ("  service-policy type qos input MARKING no-stats\n", "", ("trust", "Ethernet1/1")),
        ("match dscp 24,26", "match cos 3", ("dscp", "Ethernet1/1")),
        ("match dscp 24,26", "match dscp fast", ("unreadable", "QoS of Ethernet1/1")),
        ("weight 0 ecn", "weight 0", ("ecn", "Ethernet1/1")),
        (ECN, "random-detect cells 4", ("unreadable", "QoS of Ethernet1/1")),
        ("pause pfc-cos 3", "pause no-drop", ("unreadable", "QoS of Ethernet1/1")),
        (
            "system qos\n  service-policy type network-qos FABRIC",
            "system qos\n  service-policy type network-qos default-nq-policy",
            ("pfc", "Ethernet1/1"),
        ),
    ],
)
def test_a_difference_is_a_problem(old: str, new: str, problem: tuple[str, str]) -> None:
    assert old in RUNNING
    assert problem in named(said(CONFIG, RUNNING.replace(old, new)))


def test_classes_of_the_system_are_known_by_their_names() -> None:
    text = RUNNING.replace("network-qos NQ3\n    mtu", "network-qos c-8q-nq3\n    mtu").replace(
        "queuing Q3\n    b", "queuing c-out-8q-q3\n    b"
    )
    assert text != RUNNING and said(CONFIG, text)["healthy"]


def test_pfc_that_does_not_work_is_a_problem_although_it_is_configured() -> None:
    command = "show interface priority-flow-control | json"
    found = said(command, ANSWERS[command].replace("On (8)", "Off"))
    assert ("pfc_oper", "Ethernet1/1") in named(found)


def test_a_banner_is_no_error_and_an_error_shows_its_own_line_alone() -> None:
    secret = "username admin password 5 Not-to-be-seen-4712\n"
    assert said(CONFIG, f"{secret}banner motd #\n% keep out\n#\n{RUNNING}")["healthy"]
    with pytest.raises(ParseError, match="Invalid command") as caught:
        said(CONFIG, f"     ^\n% Invalid command at '^' marker.\n{secret}")
    assert "4712" not in str(caught.value.as_result())


def test_unsaved_lines_are_not_saved() -> None:
    assert said("show running-config diff", "*** Startup-config\n--- Running-config\n")["saved"] is False


@pytest.mark.parametrize(
    "command",
    [
        "show interface priority-flow-control | json",
        "show queuing interface | json",
        "show lldp neighbors detail | json",
    ],
)
@pytest.mark.parametrize(
    "text", ["nothing like it", "% Invalid command at '^' marker.", '{"TABLE_module": 7, "TABLE_nbor_detail": 7}']
)
def test_a_table_that_is_not_known_is_named_and_hides_no_other(command: str, text: str) -> None:
    found = said(command, text)
    assert len(found["unreadable"]) == 1 and "leaf01" in found["unreadable"][0]["reason"] and not found["healthy"]
    assert found["roce"]["mode"] == "lossless"


def test_an_oper_that_is_not_known_is_no_answer() -> None:
    command = "show interface priority-flow-control | json"
    found = said(command, ANSWERS[command].replace("On (8)", "Maybe"))
    assert ("unreadable", "PFC") in named(found) and found["ports"]["Ethernet1/1"]["pfc_oper"] is None


@pytest.mark.parametrize(("command", "text"), [("show version | json", "{}"), ("show interface | json", "{}")])
def test_without_release_or_ports_nothing_is_said(command: str, text: str) -> None:
    with pytest.raises(ParseError):
        said(command, text)
