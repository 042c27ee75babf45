"""The simulated Onyx is as awkward as a device: without an injected fault, by lines that people type.

Names and shapes of the answers: fixtures of the collection mellanox.onyx (mlag_port_channel_show, protocols_show,
lldp_show); "LLDP : disabled" is NVIDIA's own sample of ``show roce``.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, VerifyError

from lab.switch.grammar import CONFIG, Cli, execute
from lab.switch.state import Switch
from tests.unit.onyx.harness import WANTED, Run, new_switch


def typed(switch: Switch, *lines: str) -> None:
    session = Cli(switch, mode=CONFIG)
    for line in lines:
        assert execute(session, line) == "", line
        session.context = ""


def shown(switch: Switch, what: str) -> Any:
    return json.loads(execute(Cli(switch, mode=CONFIG), f"show {what} | json-print"))


def test_members_of_an_mlag_stand_in_a_table_of_their_own() -> None:
    switch = new_switch()
    typed(switch, "interface ethernet 1/8 mlag-channel-group 33 mode active")
    summary = shown(switch, "interfaces mlag-port-channel summary")
    assert list(summary) == ["MLAG Port-Channel Flags", "Port Flags", "MLAG Port-Channel Summary"]
    row = {"Local Ports (D/P/S/I)": "Eth1/8(D)", "Peer Ports (D/P/S/I)": "N/A", "Type": "LACP"}
    assert summary["MLAG Port-Channel Summary"] == {"1 Mpo33(D)": [row]}
    assert "Eth1/8" not in shown(switch, "interfaces switchport")
    assert not any("Eth1/8" in str(value) for value in shown(switch, "interfaces port-channel summary").values())
    assert "   interface ethernet 1/8 mlag-channel-group 33 mode active" in execute(
        Cli(switch, mode=CONFIG), "show running-config"
    ).split("\n")
    assert execute(Cli(switch, mode=CONFIG), "interface ethernet 1/8 mtu 9216 force").startswith("% Eth1/8 is a member")


@pytest.mark.parametrize("wanted", [{}, {"vlan": None}], ids=["vlan-and-mtu", "mtu-alone"])
def test_a_member_of_an_mlag_is_refused(wanted: dict[str, Any]) -> None:
    switch = new_switch()
    typed(switch, "interface ethernet 1/2 mlag-channel-group 33 mode active")
    before = switch.as_json()
    with pytest.raises(LayerError, match="Mpo33"):
        Run(switch, dataclasses.replace(WANTED, **wanted))()
    assert switch.as_json() == before


CONFLICTS = [
    ("trust", "interface ethernet 1/3 qos trust L2", "Eth1/3 trusts L2"),
    ("pfc-of-a-port", "interface ethernet 1/3 dcb priority-flow-control mode off force", "Eth1/3 has PFC off"),
    ("pfc-priority", "dcb priority-flow-control priority 5 enable", "PFC is on for switch-priority 5"),
    ("pfc", "no dcb priority-flow-control enable force", "PFC is off"),
    ("pool", "traffic pool storage map switch-priority 3", "traffic pool storage"),
    (
        "ecn",
        "interface ethernet 1/3 traffic-class 3 congestion-control ecn minimum-absolute 50 maximum-absolute 90",
        "Eth1/3 has another congestion-control",
    ),
]


@pytest.mark.parametrize(("line", "row"), [each[1:] for each in CONFLICTS], ids=[each[0] for each in CONFLICTS])
def test_what_was_typed_by_hand_contradicts_the_template_and_the_run_says_so(line: str, row: str) -> None:
    switch = new_switch()
    typed(switch, line)
    with pytest.raises(VerifyError, match=row):
        Run(switch)()
    assert switch.unsaved


def test_lines_of_the_running_configuration_can_be_typed_again() -> None:
    switch, other = new_switch(), new_switch()
    typed(switch, *(line for _name, line, _row in CONFLICTS), "interface ethernet 1/5 mlag-channel-group 7 mode active")
    text = execute(Cli(switch, mode=CONFIG), "show running-config")
    session = Cli(other, mode=CONFIG)
    for line in (line.strip() for line in text.split("\n") if line and not line.startswith(("##", "no cli", "cli"))):
        execute(session, line)
        session.context = ""
    assert other.running.qos == switch.running.qos
    assert {name: port.qos for name, port in other.running.ports.items()} == {
        name: port.qos for name, port in switch.running.ports.items()
    }
    assert (other.running.ports["1/5"].lag, other.running.ports["1/5"].mlag) == (7, True)


def oper(switch: Switch) -> dict[str, str]:
    table = shown(switch, "dcb priority-flow-control")[1]
    return {name: table[name][0]["PFC oper"] for name in ("Eth1/1", "Eth1/2", "Eth1/7")}


def test_pfc_is_operational_where_link_and_peer_agree_and_not_where_it_was_typed() -> None:
    switch = new_switch()
    assert set(oper(switch).values()) == {"Disabled"}
    typed(switch, "roce")
    assert oper(switch) == {"Eth1/1": "Enabled", "Eth1/2": "Enabled", "Eth1/7": "Disabled"}  # 1/7 has no cable
    typed(switch, "interface ethernet 1/1 shutdown", "interface ethernet 1/2 dcb priority-flow-control mode auto")
    assert oper(switch) == {"Eth1/1": "Disabled", "Eth1/2": "Enabled", "Eth1/7": "Disabled"}
    typed(switch, "no lldp")  # nobody hears the peer any more
    assert oper(switch)["Eth1/2"] == "Disabled"


def test_a_switch_without_lldp_shows_no_neighbours_and_is_configured_all_the_same() -> None:
    switch = Switch("sw01", "3.10.4006", 32, link_delay=0.0, lldp=False)
    Run(switch)()
    assert "LLDP           : disabled" in execute(Cli(switch, mode=CONFIG), "show roce")
    assert shown(switch, "lldp local")[0] == {"LLDP": "disabled"}
    assert not any(switch.neighbor(name) for name in switch.running.ports)
    switch.reset()
    assert not switch.running.lldp


def test_protocols_have_the_names_of_a_real_answer() -> None:
    names = {"pim", "dhcp-relay", "igmp-snooping", "lacp", "ptp", "lldp", "isolation-group", "bfd", "openflow"}
    names |= {"telemetry", "vrrp", "spanning-tree", "mlag", "magp", "nve", "Ethernet", "IP L3", "ets", "sflow", "bgp"}
    names |= {"dhcp-relay(v6)", "dot1x", "priority-flow-control", "ospf"}
    switch = new_switch()
    assert set(shown(switch, "protocols")) == names
    assert shown(switch, "inventory")["CHASSIS"]


def test_another_admin_types_while_our_lines_run() -> None:
    switch = new_switch()
    line = "interface ethernet 1/9 description theirs"
    switch.faults.inject({"name": "foreign_line", "pattern": "^vlan 111$", "line": line})
    session = Cli(switch, mode=CONFIG)
    execute(session, "vlan 111")
    assert switch.running.ports["1/9"].description == "theirs" and session.context == "vlan 111"
    assert switch.faults.as_json() == []
