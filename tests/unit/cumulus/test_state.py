# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Cumulus switch says, in the shapes of the releases."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._cumulus import nclu_reading as nclu
from ansible_collections.rocemesh.multinode.plugins.module_utils._cumulus import state as parsing
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError, RefusedError

HOST = "sw02"


@pytest.mark.parametrize(
    ("system", "release"),
    [
        ({"build": "Cumulus Linux 5.4.0", "hostname": "switch01", "uptime": 763}, "Cumulus Linux 5.4.0"),
        ({"product-release": "5.11.0"}, "5.11.0"),
        ({"version": {"product-release": "5.14.0"}}, "5.14.0"),
    ],
)
def test_facts_5_release_is_found_where_each_release_keeps_it(system: Any, release: str) -> None:
    assert parsing.parse_release(HOST, system) == release


@pytest.mark.parametrize(
    "parse",
    [
        lambda: parsing.parse_release(HOST, {"hostname": "x"}),
        lambda: parsing.parse_config(HOST, ["no tree"]),
        lambda: parsing.parse_config(HOST, {"interface": {"swp9-1": {}}}),
        lambda: parsing.parse_ports(HOST, {}, {"swp1": {"type": "swp", "link": {"state": {"up": {}}}}}),
        lambda: parsing.parse_ports(HOST, {}, {"swp1": {"type": "swp", "link": {"mtu": 9216}}}),
        lambda: parsing.parse_roce(HOST, {"qos": {"roce": "lossless"}}, None, None),
        lambda: nclu.parse_interfaces(HOST, "ERROR: no"),
        lambda: nclu.parse_release(HOST, "DISTRIB_ID=Ubuntu"),
        lambda: nclu.parse_pending(HOST, "--- /etc/network/interfaces\n+++ x\n+auto swp1"),
        lambda: nclu.parse_config(HOST, "net set interface swp1"),
    ],
)
def test_what_is_not_understood_is_refused_and_shown(parse: Any) -> None:
    with pytest.raises(ParseError) as caught:
        parse()
    assert "raw text" in str(caught.value) and HOST in str(caught.value)


def test_facts_5_2_status_of_roce_as_the_manual_prints_it() -> None:
    """Columns of `nv show qos roce` (5.10) as the tree below them."""
    operational = {
        "enable": "on",
        "mode": "lossless",
        "congestion-control": {
            "congestion-mode": "ECN",
            "enabled-tc": "0,3",
            "max-threshold": "1.43 MB",
            "min-threshold": "146.48 KB",
            "probability": 100,
        },
        "lldp-app-tlv": {"priority": 3, "protocol-id": 4791, "selector": "UDP"},
        "pfc": {"pfc-priority": 3, "rx-enabled": "enabled", "tx-enabled": "enabled"},
        "trust": {"trust-mode": "pcp,dscp"},
    }
    roce = parsing.parse_roce(HOST, {"qos": {"roce": {"mode": "lossless"}}}, {"enable": "on"}, operational)
    assert (roce.mode, roce.running, roce.switch) == ("lossless", "lossless", ("enable", "on"))
    assert (roce.trust, roce.congestion, roce.ecn_classes) == ("pcp,dscp", "ECN", {0, 3})
    assert (roce.ecn_min_kb, roce.ecn_max_kb, roce.pfc_priorities, roce.exceptions) == (150, 1499, {3}, ())


@pytest.mark.parametrize(
    ("configured", "mode"),
    [
        (None, None),
        ({}, "lossless"),
        ({"mode": "lossy"}, "lossy"),
        ({"enable": "on", "mode": "lossless"}, "lossless"),
        ({"enable": "off", "mode": "lossless"}, None),
        ({"state": "enabled"}, "lossless"),
        ({"state": "disabled", "mode": "lossy"}, None),
        ({"mode": "lossless-single-ipool"}, "lossless-single-ipool"),
    ],
)
def test_facts_5_1_configured_mode(configured: Any, mode: str | None) -> None:
    config = {} if configured is None else {"qos": {"roce": configured}}
    assert parsing.parse_roce(HOST, config, None, None).mode == mode


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({}, ()),
        ("No Data", ()),
        ([], ()),
        ({"1": {"reason": "pool"}}, ('1: {"reason": "pool"}',)),
        (["a"], ("a",)),
        ("pool", ("pool",)),
    ],
)
def test_every_row_of_an_exception_list_counts(rows: Any, expected: tuple[str, ...]) -> None:
    assert parsing.parse_roce(HOST, {}, None, {"exception-list": rows}).exceptions == expected


@pytest.mark.parametrize(
    ("link", "settings", "expected"),
    [
        ({"mtu": 9216, "state": {"up": {}}}, {}, (True, True)),
        ({"mtu": 9216, "state": {"down": {}}}, {}, (True, False)),
        ({"mtu": 9216, "state": {"down": {}}}, {"link": {"state": {"down": {}}}}, (False, False)),
        ({"mtu": 9216, "oper-status": "up", "admin-status": "up", "state": {"down": {}}}, {}, (True, True)),
        ({"mtu": 9216, "oper-status": "down", "admin-status": "down"}, {}, (False, False)),
    ],
)
def test_link_and_admin_state_before_and_after_5_11(link: Any, settings: Any, expected: tuple[bool, bool]) -> None:
    port = parsing.parse_ports(HOST, {"interface": {"swp1": settings}}, {"swp1": {"link": link}})["swp1"]
    assert (port.admin, port.up) == expected


@pytest.mark.parametrize(
    ("settings", "mode", "carries"),
    [
        ({"bridge": {"domain": {"br_default": {"access": 10}}}}, "access", "VLAN 10 of br_default"),
        ({"bridge": {"domain": {"br_default": {}}}}, "trunk", "every VLAN"),
        ({"bridge": {"domain": {"br_default": {"vlan": {"10-20": {}}, "untagged": 1}}}}, "trunk", "10-20"),
        ({"bridge": {"domain": {"br_default": {"access": 10}, "br2": {}}}}, "trunk", "br2"),
        ({"ip": {"address": {"192.0.2.1/31": {}}}}, "routed", "192.0.2.1/31"),
        ({"ip": {"vrf": "BLUE"}}, "routed", "VRF BLUE"),
        ({"router": {"ospf": {"area": 0}}}, "routed", "router"),
        ({"type": "swp", "link": {"mtu": 1500}}, "none", ""),
    ],
)
def test_what_a_port_carries(settings: Any, mode: str, carries: str) -> None:
    facts = {"link": {"mtu": 9216, "state": {"up": {}}}}
    port = parsing.parse_ports(HOST, {"interface": {"swp1": settings}}, {"swp1": facts})["swp1"]
    assert port.mode == mode and carries in port.carries


def test_members_of_bonds_are_found_in_selectors() -> None:
    config = parsing.parse_config(HOST, {"interface": {"bond1": {"bond": {"member": {"swp2,3": {}}}, "type": "bond"}}})
    facts = {name: {"link": {"mtu": 9216, "state": {"up": {}}}} for name in ("swp1", "swp2", "swp3")}
    found = parsing.parse_ports(HOST, config, facts)
    assert [found[name].bond for name in ("swp1", "swp2", "swp3")] == [None, "bond1", "bond1"]


def test_empty_branches_are_no_difference() -> None:
    assert parsing.parse_config(HOST, {"acl": {}, "qos": {}, "bridge": {"domain": {}}}) == parsing.parse_config(
        HOST, {}
    )


@pytest.mark.parametrize(
    ("text", "kilobytes"), [("146.48 KB", 150), ("153.00 KB", 157), (150000, 150), ("0 Bytes", 0), ("many", None)]
)
def test_sizes(text: Any, kilobytes: int | None) -> None:
    assert parsing.size_kb(text) == kilobytes


def test_facts_5_2_counters_of_a_port() -> None:
    answer = {
        "rx-stats": {"rx-pfc-stats": {"pause-packets": 7}, "rx-roce-stats": {"no-buffer-discard": "55"}},
        "tx-stats": {
            "tx-ecn-stats": {"ecn-marked-packets": 693777677344},
            "tx-roce-stats": {"unicast-no-buffer-discard": 663060754115, "roce-bytes": "92824.38 GB"},
        },
    }
    assert parsing.parse_counters(answer) == {
        "rx_pfc_pause": 7,
        "ecn_marked": 693777677344,
        "rx_discards": 55,
        "tx_discards": 663060754115,
    }
    assert parsing.parse_counters(None) == {}


# --- NCLU

PENDING = """--- /etc/network/interfaces     2021-05-04 20:46:36.925028228 +0000
+++ /run/nclu/ifupdown2/interfaces.tmp  2021-05-05 00:42:00.327566444 +0000
@@ -7,20 +7,21 @@
 auto swp1
 iface swp1
+    bridge-access 10
net add/del commands since the last "net commit"
================================================
User     Timestamp                   Command
-------  --------------------------  ---------------------------------------
cumulus  2021-05-05 00:27:03.636686  net add interface swp1 bridge access 10
"""


def test_replay_of_a_published_net_pending() -> None:
    assert nclu.parse_pending(HOST, PENDING) == [("cumulus", "net add interface swp1 bridge access 10")]
    assert nclu.parse_pending(HOST, "") == []


def test_replay_of_a_published_net_show_interface_of_4_3() -> None:
    """The parts of a 4.3.0 answer that are read: an access port, and a bridge that is no port."""
    text = """{"bridge": {"iface_obj": {"mtu": 9216, "lldp": null}, "linkstate": "UP", "mode": "Bridge/L2"},
    "swp1": {"iface_obj": {"lldp": [{"adj_port": "swp3", "adj_hostname": "JumpSwitch"}], "native_vlan": 10,
    "vlan": [{"vlan": 10, "flags": ["PVID", "Egress Untagged"]}], "mtu": 9216,
    "counters": {"RX_DRP": 0, "TX_DRP": 13}}, "linkstate": "UP", "summary": "Master: bridge(UP)",
    "mode": "Access/L2", "speed": "1G"}, "swp2": {"iface_obj": {"mtu": 1500, "lldp": null}, "linkstate": "ADMDN"}}"""
    found = parsing.parse_ports(HOST, {}, nclu.parse_interfaces(HOST, text))
    assert list(found) == ["swp1", "swp2"]
    assert found["swp1"].up and found["swp1"].neighbors == ("JumpSwitch",) and found["swp1"].counters["tx_drops"] == 13
    assert not found["swp2"].admin and found["swp2"].mtu == 1500


def test_nclu_configuration_reads_like_nvues() -> None:
    text = """net del all
net add roce lossy
net add bridge bridge ports swp1-2,swp31
net add bridge bridge vids 10,20
net add interface swp1-2 bridge access 10
net add interface swp31 bridge vids 20
net add interface swp2 mtu 1500
net add bond bond1 bond slaves swp3-4
net add vlan 10 vlan-id 10
net add interface swp5 ip address 192.0.2.1/31
"""
    config = nclu.settle(nclu.parse_config(HOST, text), "bridge")
    interfaces = config["interface"]
    assert interfaces["swp2"] == {"bridge": {"domain": {"bridge": {"access": 10}}}, "link": {"mtu": 1500}}
    assert interfaces["swp31"] == {"bridge": {"domain": {"bridge": {"vlan": {"20": {}}}}}}
    assert set(interfaces["bond1"]["bond"]["member"]) == {"swp3", "swp4"} and interfaces["vlan10"]["vlan"] == 10
    assert config["qos"]["roce"]["mode"] == "lossy" and set(config["bridge"]["domain"]["bridge"]["vlan"]) == {
        "10",
        "20",
    }


@pytest.mark.parametrize(("release", "fine"), [("4.3.0", True), ("4.4.2", True), ("4.2.0", False), ("5.4.0", False)])
def test_facts_5_1_nclu_is_for_4_3_and_4_4(release: str, fine: bool) -> None:
    text = f'DISTRIB_ID="Cumulus Linux"\nDISTRIB_RELEASE={release}\n'
    if fine:
        assert nclu.parse_release(HOST, text) == release
    else:
        with pytest.raises(RefusedError, match=release):
            nclu.parse_release(HOST, text)
