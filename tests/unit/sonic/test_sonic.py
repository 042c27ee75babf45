"""A SONiC switch that is only read."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError
from ansible_collections.rocemesh.multinode.plugins.module_utils._sonic import config, tables
from ansible_collections.rocemesh.multinode.plugins.module_utils._sonic.reading import RUNNING, SAVED, read
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.judge import Need
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.observed import facts

from tests.unit.sonic.answers import ANSWERS, CONFIG, INTERFACES, LLDP, QUEUES
from tests.unit.switch.seen import lossless, named

PORTS = ["Ethernet0", "Ethernet4"]
EXPECTED = Need(3, 26, 9216, "access", 111, "lossless")


def said(**changes: str) -> dict[str, Any]:
    answers = {**ANSWERS, **{command.replace("_", " "): text for command, text in changes.items()}}
    return facts(read("leaf01", answers.__getitem__, 3), PORTS, EXPECTED)


def changed(table: str, key: str, **values: Any) -> dict[str, Any]:
    db = copy.deepcopy(CONFIG)
    db[table][key].update(values)
    answers = {**ANSWERS, RUNNING: json.dumps(db)}
    return facts(read("leaf01", answers.__getitem__, 3), PORTS, EXPECTED)


def test_what_is_right_is_healthy_and_has_every_fact() -> None:
    found = said()
    assert found["problems"] == [] and found["healthy"] and found["saved"] is True
    assert found["version"] == "202311.5-a1b2c3d4e"
    assert found["roce"] == lossless(
        "AZURE_LOSSLESS: ecn_all, 150000 to 1500000 bytes", {**{str(dscp): 0 for dscp in range(64)}, "26": 3, "48": 6}
    )
    assert found["vlans"] == {"111": {"members": PORTS}}
    port = found["ports"]["Ethernet0"]
    assert (port["mode"], port["access_vlan"], port["mtu"], port["oper"]) == ("access", 111, 9216, "up")
    assert port["neighbors"] == [{"system": "gpu01", "port": "9c:63:c0:00:00:01", "description": "ens1f0np0"}]


def test_counters_are_those_of_the_priority_and_what_is_not_counted_is_left_out() -> None:
    ports = said()["ports"]
    assert ports["Ethernet0"]["counters"] == {
        "rx_discards": 18682,
        "tx_discards": 0,
        "rx_pfc_pause": 1403,
        "tx_pfc_pause": 17,
        "tx_roce_packets": 9811004,
        "ecn_marked": 89,
    }
    assert ports["Ethernet4"]["counters"] == {
        "rx_discards": 0,
        "tx_discards": 7,
        "rx_pfc_pause": 0,
        "tx_roce_packets": 5,
    }


def test_a_release_without_the_counters_of_marks_lacks_them_and_is_no_problem() -> None:
    found = said(show_queue_wredcounters='Usage: show queue [OPTIONS]\nError: No such command "wredcounters".')
    assert "ecn_marked" not in found["ports"]["Ethernet0"]["counters"] and found["healthy"]


@pytest.mark.parametrize(
    ("table", "key", "values", "problem"),
    [
        ("PORT_QOS_MAP", "Ethernet4", {"pfc_enable": ""}, ("pfc", "Ethernet4")),
        ("PORT_QOS_MAP", "Ethernet4", {"pfc_enable": "3,4"}, ("pfc", "Ethernet4")),
        ("DSCP_TO_TC_MAP", "AZURE", {"26": "4"}, ("dscp", "Ethernet0")),
        ("WRED_PROFILE", "AZURE_LOSSLESS", {"ecn": "ecn_red"}, ("ecn", "Ethernet0")),
        ("PORT", "Ethernet4", {"mtu": "9100"}, ("mtu", "Ethernet4")),
        ("PORT", "Ethernet4", {"mtu": "jumbo"}, ("unreadable", "QoS of Ethernet4")),
        ("WRED_PROFILE", "AZURE_LOSSLESS", {"ecn": "ecn_blue"}, ("unreadable", "QoS of Ethernet0")),
        (
            "VLAN_MEMBER",
            "Vlan111|Ethernet4",
            {"tagging_mode": "tagged"},
            ("port_mode", "Ethernet4"),
        ),
    ],
)
def test_a_difference_is_a_problem(table: str, key: str, values: dict[str, Any], problem: tuple[str, str]) -> None:
    found = changed(table, key, **values)
    assert problem in named(found) and not found["healthy"]


def test_what_a_restart_would_bring_back_differs() -> None:
    answers = {**ANSWERS, SAVED: json.dumps({**CONFIG, "PORT": {}})}
    assert read("leaf01", answers.__getitem__, 3).saved is False


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("show_interfaces_counters", INTERFACES.replace("  U  ", "  Y  ")),
        ("show_interfaces_counters", INTERFACES.replace("18,682", "many  ")),
        ("show_interfaces_counters", ""),
        ("show_queue_counters", QUEUES.replace("Counter/pkts", "Counter/what")),
        ("show_queue_counters", QUEUES.replace("UC0    ", "UC0 !!!")),
        ("show_lldp_table", LLDP.replace("RemoteDevice", "RemoteThings")),
    ],
)
def test_a_table_that_is_not_known_is_named_and_hides_no_other(command: str, text: str) -> None:
    found = said(**{command: text})
    assert [each["reason"][:6] for each in found["unreadable"]] == ["leaf01"] and not found["healthy"]
    assert found["roce"]["mode"] == "lossless"


def test_nobody_on_lldp_is_nobody() -> None:
    assert tables.neighbors("leaf01", "") == {}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"localhost": {}, "asic0": {}}, "several ASICs"),
        ([], "no table PORT"),
        ({"PORT": "none"}, "no table PORT"),
    ],
)
def test_what_is_no_config_db_is_refused(data: Any, words: str) -> None:
    with pytest.raises(ParseError, match=words):
        config.config("leaf01", data)


def test_of_a_config_db_that_is_not_known_the_names_of_tables_alone_are_shown() -> None:
    with pytest.raises(ParseError, match="tables TACPLUS, VLAN") as caught:
        config.config("leaf01", {"TACPLUS": {"global": {"passkey": "Not-to-be-seen-4712"}}, "VLAN": {}})
    assert "4712" not in str(caught.value.as_result())


def test_without_a_release_nothing_is_said() -> None:
    with pytest.raises(ParseError, match="no release"):
        said(show_version="bash: show: command not found")
