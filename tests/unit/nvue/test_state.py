"""What a Cumulus switch says, in the shapes of the releases."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import state as parsing

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
    ],
)
def test_what_is_not_understood_is_refused_and_shown(parse: Any) -> None:
    with pytest.raises(ParseError) as caught:
        parse()
    assert "raw text" in str(caught.value) and HOST in str(caught.value)


def test_a_configuration_that_is_not_understood_shows_no_secret() -> None:
    user = {"aaa": {"user": {"cumulus": {"hashed-password": "$6$salt$hash"}}}}
    with pytest.raises(ParseError, match="swp9-1") as caught:
        parsing.parse_config(HOST, {"interface": {"swp9-1": {}}, "system": user})
    assert "hash" not in str(caught.value.as_result())


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


def test_map_of_a_mode_that_is_not_published_is_not_guessed() -> None:
    mapping = {"default-global": {"dscp": {"26": {"switch-priority": 3}}}}
    for mode, least in (("lossy", 64), ("lossless-single-ipool", 64), ("lossy-multi-tc", 0), ("dci-1", 0)):
        qos = {"roce": {"mode": mode}}
        assert len(parsing.parse_roce(HOST, {"qos": qos}, None, None).dscp) == least
        assert parsing.parse_roce(HOST, {"qos": {**qos, "mapping": mapping}}, None, None).dscp[26] == 3


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
        ({"ip": {"vrf": "BLUE"}}, "routed", "ip vrf BLUE"),
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
