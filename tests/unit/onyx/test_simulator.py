"""The simulator keeps the promises of a switch: modes, errors, physics, and what a reload takes away."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.switch import faults
from lab.switch.control import answer
from lab.switch.faults import KNOWN
from lab.switch.grammar import CONFIG, ENABLE, USER, Cli, execute
from lab.switch.state import Switch
from tests.unit.onyx.harness import new_switch


def cli(switch: Switch | None = None, mode: str = CONFIG) -> Cli:
    return Cli(switch or new_switch(), mode=mode)


@pytest.mark.parametrize(
    ("mode", "context", "prompt"),
    [
        (USER, "", "sw01 [standalone: master] > "),
        (ENABLE, "", "sw01 [standalone: master] # "),
        (CONFIG, "", "sw01 [standalone: master] (config) # "),
        (CONFIG, "interface ethernet 1/1-1/4", "sw01 [standalone: master] (config interface ethernet 1/1-1/4) # "),
        (CONFIG, "vlan 111", "sw01 [standalone: master] (config vlan 111) # "),
    ],
)
def test_prompts_show_the_mode(mode: str, context: str, prompt: str) -> None:
    assert Cli(new_switch(), mode=mode, context=context).prompt() == prompt


def test_modes_are_entered_and_left_one_by_one() -> None:
    session = cli(mode=USER)
    seen = []
    for line in ["enable", "conf t", "vlan 111", "exit", "exit", "exit"]:
        execute(session, line)
        seen.append((session.mode, session.context, session.closed))
    assert seen == [
        (ENABLE, "", False),
        (CONFIG, "", False),
        (CONFIG, "vlan 111", False),
        (CONFIG, "", False),
        (ENABLE, "", False),
        (ENABLE, "", True),
    ]


@pytest.mark.parametrize(
    ("mode", "line", "error"),
    [
        (USER, "configure terminal", '% Unrecognized command "configure".\nType "?" for help.'),
        (USER, "show running-config", '% Unrecognized command "show".\nType "?" for help.'),
        (ENABLE, "roce", '% Unrecognized command "roce".\nType "?" for help.'),
        (ENABLE, "configuration write", '% Unrecognized command "configuration".\nType "?" for help.'),
        (CONFIG, "xyzzy", '% Unrecognized command "xyzzy".\nType "?" for help.'),
        (CONFIG, "roce fast", '% Unrecognized command "fast".\nType "?" for help.'),
        (CONFIG, "terminal length 0", "% Please enter an integer between 5 and 999."),
        (CONFIG, "vlan 0", "% VLAN 0 is out of range 1-4094 (synthetic wording)"),
        (CONFIG, "vlan 4095", "% VLAN 4095 is out of range 1-4094 (synthetic wording)"),
        (
            CONFIG,
            "interface ethernet 1/1 switchport access vlan 111",
            "% VLAN 111 does not exist (synthetic wording)",
        ),
        (
            CONFIG,
            "interface ethernet 1/1 mtu 99999 force",
            "% MTU 99999 is out of range 1500-9216 (synthetic wording)",
        ),
        (
            CONFIG,
            "interface ethernet 1/30-1/40 shutdown",
            "% Interface does not exist: ethernet 1/32 (synthetic wording)",
        ),
        (CONFIG, "interface ethernet 1/4-1/1 shutdown", "% Invalid interface range: 1/4-1/1 (synthetic wording)"),
        (
            CONFIG,
            "interface ethernet 1/1-1/4 mtu 9216",
            "% Eth1/1 is enabled: shut it down first or use force (synthetic wording)",
        ),
        (
            CONFIG,
            "interface ethernet 1/29 mtu 9000 force",
            "% Eth1/29 is a member of port-channel 1: set the MTU there (synthetic wording)",
        ),
        (CONFIG, "interface ethernet 1/28 switchport mode access", "% Eth1/28 is a routed port (synthetic wording)"),
        (
            CONFIG,
            "interface ethernet 1/31 switchport access vlan 100",
            "% Eth1/31 is in trunk mode (synthetic wording)",
        ),
    ],
)
def test_a_wrong_line_is_refused_and_changes_nothing(mode: str, line: str, error: str) -> None:
    switch = new_switch()
    before = switch.as_json()
    assert execute(cli(switch, mode), line) == error
    assert switch.as_json() == before


def test_one_line_form_and_sub_mode_mean_the_same() -> None:
    one, other = new_switch(), new_switch()
    execute(cli(one), "interface ethernet 1/1-1/2 mtu 9216 force")
    execute(cli(one), "no interface ethernet 1/3 shutdown")
    session = cli(other)
    for line in ["interface ethernet 1/1-1/2", "mtu 9216 force", "exit", "interface ethernet 1/3", "no shutdown"]:
        assert execute(session, line) == ""
    assert one.running == other.running


def test_a_change_of_the_roce_mode_toggles_every_link_that_is_up() -> None:
    switch = new_switch()
    execute(cli(switch), "roce")
    up = {name for name, count in switch.flaps.items() if count == 1}
    assert up == switch.cabled and {"1/1", "1/31", "1/32/4"} <= up
    assert switch.running.roce == "lossless"


def test_a_bounced_link_is_down_for_a_while() -> None:
    switch = new_switch(link_delay=3600)
    execute(cli(switch), "interface ethernet 1/1 mtu 9216 force")
    assert not switch.link_up("1/1") and switch.link_up("1/2")


def test_an_access_port_made_of_a_trunk_has_lost_its_vlans() -> None:
    switch = new_switch()
    session = cli(switch)
    execute(session, "interface ethernet 1/31 switchport mode access")
    execute(session, "interface ethernet 1/31 switchport mode trunk")
    assert switch.running.ports["1/31"].allowed_vlans == []


def test_a_reload_brings_back_what_was_saved() -> None:
    switch = new_switch()
    session = cli(switch)
    execute(session, "vlan 111")
    execute(session, "configuration write")
    execute(session, "vlan 112")
    assert "Unsaved changes : yes" in execute(session, "show configuration files")
    switch.reload()
    assert 111 in switch.running.vlans and 112 not in switch.running.vlans
    assert "Unsaved changes : no" in execute(session, "show configuration files")


@pytest.mark.parametrize(
    ("version", "listed"), [("3.6.5000", False), ("3.6.6000", True), ("3.8.2004", True), ("3.10.4006", True)]
)
def test_the_json_shape_follows_the_release(version: str, listed: bool) -> None:
    entry = json.loads(execute(cli(new_switch(version)), "show vlan | json-print"))["1"]
    assert isinstance(entry, list) is listed


def test_filters_work_on_text() -> None:
    assert execute(cli(), "show running-config | include hostname") == ""
    assert execute(cli(), "show version | include release").startswith("Product release:")
    assert execute(cli(), "show version | frobnicate").startswith("% ")


@pytest.mark.parametrize("line", ["show version", "show running-config", "show configuration"])
def test_whoever_reads_it_sees_that_it_is_simulated(line: str) -> None:
    assert "SIMULATED" in execute(cli(), line)


def test_reading_the_state_does_not_change_it() -> None:
    switch = new_switch(link_delay=0.01)
    execute(cli(switch), "roce")
    first = json.dumps(switch.as_json(), sort_keys=True)
    execute(cli(switch), "show interfaces ethernet | json-print")
    assert json.dumps(switch.as_json(), sort_keys=True) == first


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/state", b"", 200),
        ("POST", "/reset", b"", 200),
        ("POST", "/fault", b'{"name": "standby"}', 200),
        ("DELETE", "/fault", b"", 200),
        ("POST", "/fault", b'{"name": "unheard of"}', 400),
        ("POST", "/fault", b'{"name": "cut_after"}', 400),
        ("POST", "/fault", b'{"name": "link_down", "port": "9/9"}', 400),
        ("POST", "/fault", b'{"name": "refuse_line", "pattern": "("}', 400),
        ("POST", "/fault", b"[]", 400),
        ("POST", "/fault", b"{", 400),
        ("GET", "/nothing", b"", 404),
        ("DELETE", "/state", b"", 405),
    ],
)
def test_the_control_port_answers_and_refuses(method: str, path: str, body: bytes, status: int) -> None:
    assert answer(new_switch(), method, path, body)[0] == status


def test_a_reset_takes_everything_back_and_clears_faults() -> None:
    switch = new_switch()
    factory = switch.as_json()
    execute(cli(switch), "roce")
    execute(cli(switch), "configuration write")
    answer(switch, "POST", "/fault", b'{"name": "standby"}')
    assert switch.as_json() != factory
    answer(switch, "POST", "/reset", b"")
    assert switch.as_json() == factory


def test_every_fault_that_the_table_names_exists() -> None:
    documented = {line.split("``")[1] for line in (faults.__doc__ or "").splitlines() if line.startswith("``")}
    assert documented == set(KNOWN)


def test_immediate_faults_act_at_once() -> None:
    switch = new_switch()
    fault: dict[str, Any] = {"name": "foreign_change", "port": "1/9"}
    answer(switch, "POST", "/fault", json.dumps(fault).encode())
    assert switch.unsaved and switch.running.ports["1/9"].description
    answer(switch, "POST", "/fault", b'{"name": "reload"}')
    assert not switch.unsaved and switch.faults.as_json() == []
