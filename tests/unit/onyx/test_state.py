"""Parsers: both JSON eras mean the same, and what is not understood is an error that shows the text."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import state
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.onyx import printed
from tests.unit.onyx.printed import NEW, OLD

HOST = "sw01"
ERAS = pytest.mark.parametrize("era", [OLD, NEW])


@ERAS
def test_vlans_mean_the_same_in_both_json_eras(era: str) -> None:
    assert state.parse_vlans(HOST, printed.vlan(era)) == {
        1: state.Vlan("default", ("1/2", "1/3", "1/4", "1/6", "Po5")),
        111: state.Vlan("rdma", ()),
    }


@ERAS
def test_switchports_mean_the_same_in_both_json_eras(era: str) -> None:
    assert state.parse_switchport(HOST, printed.switchport(era)) == {
        "1/1": state.Switchport("access", 111, ""),
        "1/2": state.Switchport("trunk", None, "2,4,7-10"),
        "1/3": state.Switchport("hybrid", 1, "10"),
        "1/10/2": state.Switchport("access", 1, ""),
    }


@ERAS
def test_links_mean_the_same_in_both_json_eras(era: str) -> None:
    counters = {"rx_discards": 1, "tx_discards": 7, "tx_hoq_discards": 3}
    assert state.parse_links(HOST, printed.ethernet(era)) == {
        "1/1": state.Port("1/1", "unknown", 9216, True, "Up", counters=counters),
        "1/10/2": state.Port("1/10/2", "unknown", 1500, False, "Down"),
    }


@ERAS
def test_flow_control_means_the_same_in_both_json_eras(era: str) -> None:
    found = state.parse_pfc(HOST, printed.pfc(era))
    assert found == {"1/1": ("Auto", "Enabled"), "1/2": ("On", "Disabled")}


@ERAS
def test_every_member_of_a_port_channel_is_known(era: str) -> None:
    expected = {"1/7": "Po22", "1/3": "Po5", "1/10/2": "Po5"}
    assert state.parse_port_channels(HOST, printed.port_channels(era)) == expected


def test_a_port_header_with_a_port_channel_names_its_membership() -> None:
    text = json.dumps(
        [{"Eth1/1 (Po100)": [{"MTU": "1500 bytes", "Admin state": "Enabled", "Operational state": "Up"}]}]
    )
    assert state.parse_links(HOST, text)["1/1"].lag == "Po100"


@pytest.mark.parametrize(
    ("text", "release"),
    [
        (printed.VERSION, (3, 10, 4006)),
        ('{"Product release": "3.8.2004"}', (3, 8, 2004)),
        ('[{"Product release": "3.6.5000"}]', (3, 6, 5000)),
        ('Some warning first\n{\n "Product release": "3.9.2400-dev"\n}', (3, 9, 2400)),
    ],
)
def test_a_release_is_numbers_so_that_3_10_is_newer_than_3_8(text: str, release: tuple[int, int, int]) -> None:
    version = state.parse_version(HOST, text)
    assert version.release == release
    assert (version.release > (3, 8, 2000)) == (release != (3, 6, 5000))


@pytest.mark.parametrize(
    ("text", "lldp"), [(printed.ROCE_REAL, "enabled"), (printed.ROCE_MANUAL, "disabled")], ids=["real", "manual"]
)
def test_roce_is_read_from_both_known_wordings(text: str, lldp: str) -> None:
    assert state.parse_roce(HOST, text) == state.Roce(
        mode="lossless",
        trust="L3",
        ecn="ecn, absolute",
        ecn_min_kb=150,
        ecn_max_kb=1500,
        pfc="enabled",
        priorities={3: "enabled"},
        lldp=lldp,
        exceptions=(),
        classes=((3, 3, "RoCE", "WRR 50%"), (6, 6, "CNP", "Strict")),
        pools=(("lossy-default", "lossy", "47.1K"), ("roce-reserved", "lossless", "1.8M")),
    )


def test_roce_off_has_no_mode() -> None:
    assert state.parse_roce(HOST, printed.ROCE_OFF).mode is None


def test_rows_of_the_exception_list_are_kept() -> None:
    rows = state.parse_roce(HOST, printed.ROCE_EXCEPTION).exceptions
    assert rows == ("interface   reason", "Eth1/3      buffer differs")


def test_traffic_classes_belong_to_the_port_before_them() -> None:
    assert state.parse_congestion(HOST, printed.CONGESTION) == {
        "1/1": ({0: "none", 3: "ECN"}, 0),
        "1/2": ({3: "none"}, 0),
    }


def test_a_port_without_a_traffic_class_beside_others_is_left_to_another_question() -> None:
    text = '[{"Interface ethernet": "Eth1/1"}, {"Interface ethernet": "Eth1/2"}, {"header": "TC-3", "Mode": "ECN"}]'
    assert state.parse_congestion(HOST, text) == {"1/1": ({}, None), "1/2": ({3: "ECN"}, None)}


def test_trust_is_read_per_port() -> None:
    assert state.parse_trust(HOST, printed.QOS) == {"1/1": "L3", "1/2": "both"}


@pytest.mark.parametrize(("answer", "unsaved"), [("yes", True), ("no", False)])
def test_unsaved_changes_are_read(answer: str, unsaved: bool) -> None:
    assert state.parse_unsaved(HOST, printed.FILES.format(answer)) is unsaved


def test_layer_3_interfaces_are_read_and_a_percent_inside_a_line_is_no_error() -> None:
    lines = state.parse_config(HOST, "show running-config", printed.RUNNING)
    assert state.parse_svis(lines) == frozenset({101})


def test_a_range_in_a_configuration_is_read_port_by_port() -> None:
    lines = state.parse_config(HOST, "show running-config", printed.RUNNING)
    assert {line for line in lines if "channel-group" in line} == {
        "interface ethernet 1/7 channel-group 1 mode active",
        "interface ethernet 1/8 channel-group 1 mode active",
    }
    assert "no spanning-tree" in lines
    assert not [line for line in lines if line.startswith("#")]


def test_a_vlan_beside_others_is_a_line_of_its_own() -> None:
    """A switch writes neighbouring VLANs as one range, which the next one makes longer."""
    before, after = (
        state.parse_config(HOST, "show running-config", printed.RUNNING.replace("vlan 101\nno", f"vlan {spec}\nno"))
        for spec in ("101-116", "101-117")
    )
    assert state.difference(after, before) == ("+ vlan 117",)


def test_a_difference_names_what_is_new_and_what_is_gone() -> None:
    assert state.difference(("a", "b"), ("b", "c")) == ("+ a", "- c")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("username bob password 7 $6$salt$hash", "username bob password (not shown)"),
        ("snmp-server community s3cret ro", "snmp-server community (not shown)"),
        ("tacacs-server host 192.0.2.1 key s3cret", "tacacs-server host 192.0.2.1 key (not shown)"),
        ("snmp-server user admin v3 auth md5 s3cret priv des s3cret", "snmp-server user admin v3 auth (not shown)"),
        (
            "nv set system aaa user b hashed-password '$6$s3cret'",
            "nv set system aaa user b hashed-password (not shown)",
        ),
        ("interface ethernet 1/1 mtu 9216 force", "interface ethernet 1/1 mtu 9216 force"),
        ("dcb priority-flow-control enable force", "dcb priority-flow-control enable force"),
    ],
)
def test_what_another_user_has_not_saved_is_told_without_its_secrets(line: str, shown: str) -> None:
    assert state.difference((line,), ()) == (f"+ {shown}",)


@pytest.mark.parametrize(
    ("title", "end"), [("## Something else", ""), ('## Running database "initial"', "% Internal error")]
)
def test_a_configuration_that_cannot_be_read_is_not_in_the_message(title: str, end: str) -> None:
    text = f"{title}\nusername bob password 7 $6$salt$hash\n{end}\n"
    with pytest.raises(ParseError) as refused:
        state.parse_config(HOST, "show running-config", text)
    assert (end or title) in str(refused.value) and "hash" not in str(refused.value.as_result())


JSON_PARSERS = [
    state.parse_version,
    state.parse_vlans,
    state.parse_switchport,
    state.parse_links,
    state.parse_port_channels,
    state.parse_pfc,
    state.parse_congestion,
    state.parse_trust,
]


def running(host: str, text: str) -> object:
    return state.parse_config(host, "show running-config", text)


TEXT_PARSERS = [state.parse_roce, state.parse_unsaved, running]
Parser = Callable[[str, str], object]


@pytest.mark.parametrize("parse", JSON_PARSERS + TEXT_PARSERS, ids=lambda parse: parse.__name__)
@pytest.mark.parametrize(
    "text",
    ['% Unrecognized command "show".\nType "?" for help.', "", "Something nobody knows", '{"Eth1/1": '],
    ids=["refused", "empty", "unknown", "cut"],
)
def test_an_unknown_answer_is_an_error_that_shows_it(parse: Parser, text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(HOST, text)
    assert caught.value.host == HOST
    shown = caught.value.details["raw"]
    assert shown == (text.partition("\n")[0] if text.startswith("%") else text)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (state.parse_version, '{"Product release": "unknown"}'),
        (state.parse_version, '{"Product name": "Onyx"}'),
        (state.parse_vlans, '{"message": "none"}'),
        (state.parse_vlans, '{"5": "text"}'),
        (state.parse_switchport, '{"Eth1/1": [{"Access vlan": "1"}]}'),
        (state.parse_switchport, '{"Eth1/1": [{"Mode": "access", "Access vlan": "one"}]}'),
        (state.parse_switchport, '{"Eth1/1": [{"Mode": "trunk", "Access vlan": "N/A", "Allowed vlans": "a lot"}]}'),
        (state.parse_links, '[{"Eth1/1": [{"Admin state": "Enabled", "Operational state": "Up"}]}]'),
        (state.parse_links, '[{"Eth1/1": [{"MTU": "big", "Admin state": "Enabled", "Operational state": "Up"}]}]'),
        (state.parse_links, '[{"Eth1/1": [{"MTU": "1500 bytes", "Admin state": "?", "Operational state": "Up"}]}]'),
        (state.parse_pfc, '[{"PFC": "enabled"}]'),
        (state.parse_congestion, '[{"Interface ethernet": "1/1"}]'),
        (state.parse_trust, "[]"),
        (state.parse_roce, "RoCE mode : lossless\nPFC : enabled"),
        (state.parse_unsaved, "Unsaved changes : perhaps"),
    ],
)
def test_a_missing_or_odd_value_is_an_error_and_no_guess(parse: Parser, text: str) -> None:
    with pytest.raises(ParseError):
        parse(HOST, text)


def test_a_saved_configuration_is_not_taken_for_the_running_one() -> None:
    with pytest.raises(ParseError, match="Active saved database"):
        state.parse_config(HOST, "show configuration", printed.RUNNING)


@given(st.text(max_size=200))
def test_no_text_makes_a_parser_fail_in_another_way(text: str) -> None:
    for parse in JSON_PARSERS + TEXT_PARSERS:
        with contextlib.suppress(ParseError):
            parse(HOST, text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["Eth1/1", "header", "Mode", "MTU", "1", "Table 2", "1 Po1(U)", "Interface ethernet"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=12,
    )
)
def test_no_json_makes_a_parser_fail_in_another_way(data: object) -> None:
    for parse in JSON_PARSERS:
        with contextlib.suppress(ParseError):
            parse(HOST, json.dumps(data))
