"""The module with netmiko over SSH. As a user runs it, through ansible-playbook, where that is what is asked for: check
mode and diff, the environment, and who gets to see the password."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import netmiko
import pytest

from tests.integration.simulated_switch import (
    ADDRESS,
    PASSWORD,
    assert_no_password_even_at_vvv,
    run_module,
    run_playbook,
)
from tests.integration.switch.harness import Simulator, running

READY: dict[str, Any] = {"vlan": 111, "vlan_name": "rdma", "ports": ["1/1-1/4"], "mtu": 9216}


def without_faults(state: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in state.items() if key != "faults"}


def test_check_then_run_then_run_again(simulator: Simulator) -> None:
    before = simulator.state()
    plan = run_playbook(simulator, "--check", "--diff", **READY)
    assert simulator.state() == before
    done = run_playbook(simulator, "--diff", **READY)
    assert plan["changed"] and done["changed"]
    assert plan["operations"] == done["operations"] and plan["diff"] == done["diff"] and plan["undo"] == done["undo"]
    assert done["saved"] and done["roce"]["mode"] == "lossless" and done["ports"]["1/4"]["mtu"] == 9216
    configured = simulator.state()
    assert configured["running"]["roce"] == "lossless" and not configured["unsaved"]
    again = run_module(simulator, **READY)
    assert not again["changed"] and again["operations"] == []
    assert simulator.state() == configured


BAD_INPUT = [
    ("VLAN 0", {"vlan": 0}, "vlan 0", "refused"),
    ("VLAN 4095", {"vlan": 4095}, "vlan 4095", "refused"),
    ("VLAN -5", {"vlan": -5}, "vlan -5", "refused"),
    ("MTU 99999", {"mtu": 99999}, "mtu 99999", "refused"),
    ("MTU 68", {"mtu": 68}, "mtu 68", "refused"),
    ("ports that do not exist", {"ports": ["1/1-1/90"]}, "no such port", "refused"),
    ("backward range", {"ports": ["1/4-1/1"]}, "1/4-1/1", "refused"),
    ("split port", {"ports": ["1/32"]}, "1/32 is split into 1/32/1-1/32/4", "refused"),
    ("trunk port", {"ports": ["1/31"]}, "1/31 is a trunk port that carries VLANs 100,200", "refused"),
    ("hybrid port", {"ports": ["1/27"]}, "1/27 is a hybrid port", "refused"),
    ("routed port", {"ports": ["1/28"]}, "192.0.2.1/31", "refused"),
    ("port-channel member", {"ports": ["1/29"]}, "1/29 is a member of Po1", "refused"),
    ("injected line", {"vlan_name": "x\nno roce"}, "vlan_name", "refused"),
    ("wrong password", {"password": "wrong"}, "the login was refused", "credentials"),
    ("wrong user", {"username": "nobody"}, "the login was refused", "credentials"),
    ("no known hosts file", {"known_hosts": "/nonexistent/known_hosts"}, "/nonexistent/known_hosts", "refused"),
]


@pytest.mark.parametrize(
    ("changes", "words", "code"), [row[1:] for row in BAD_INPUT], ids=[row[0] for row in BAD_INPUT]
)
def test_bad_input_is_refused_with_a_reason_and_nothing_is_changed(
    simulator: Simulator, changes: dict[str, Any], words: str, code: str
) -> None:
    before = simulator.state()
    result = run_module(simulator, **{**READY, **changes})
    assert result["failed"] and result["error_code"] == code
    assert words in result["msg"] and ADDRESS in result["msg"] and "What to do:" in result["msg"]
    assert simulator.state() == before


def test_an_unknown_host_key_is_refused_with_its_fingerprint(simulator: Simulator, tmp_path: Path) -> None:
    empty = tmp_path / "known_hosts"
    empty.write_text("")
    result = run_module(simulator, known_hosts=str(empty), **READY)
    assert result["error_code"] == "credentials" and "SHA256:" in result["msg"]
    assert simulator.state()["running"]["roce"] is None
    assert empty.read_text() == ""


def test_a_changed_host_key_is_refused(simulator: Simulator, tmp_path: Path) -> None:
    with running(tmp_path / "other") as other:
        swapped = tmp_path / "known_hosts"
        swapped.write_text(other.known_hosts.read_text().replace(str(other.port), str(simulator.port)))
    result = run_module(simulator, known_hosts=str(swapped), **READY)
    assert result["error_code"] == "credentials" and "differs" in result["msg"]


def test_host_key_checking_can_be_switched_off_and_writes_no_file(simulator: Simulator, tmp_path: Path) -> None:
    empty = tmp_path / "known_hosts"
    empty.write_text("")
    result = run_module(simulator, check=True, known_hosts=str(empty), host_key_checking=False, **READY)
    assert result["changed"] and empty.read_text() == ""


def test_a_closed_port_is_named(simulator: Simulator) -> None:
    with socket.socket() as unused:
        unused.bind((ADDRESS, 0))  # bound and not listening: connections are refused
        port = unused.getsockname()[1]
        result = run_module(simulator, port=port, known_hosts=None, host_key_checking=False, **READY)
    assert result["error_code"] == "unreachable" and f"{ADDRESS}:{port}" in result["msg"]


@pytest.mark.parametrize(
    ("fault", "words", "code"),
    [
        ({"name": "silent", "phase": "banner"}, "no SSH server answered there within 3 s", "unreachable"),
        ({"name": "silent", "phase": "prompt"}, "silent for 3 s", "unreachable"),
        ({"name": "silent", "phase": "command"}, "silent for 3 s", "unreachable"),
        ({"name": "wizard"}, "configuration wizard", "refused"),
        ({"name": "enable_password"}, "another password", "credentials"),
        ({"name": "bad_json"}, "expected JSON", "unknown_format"),
        ({"name": "refuse_line", "pattern": "^enable"}, "enable mode was not granted", "credentials"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_a_switch_that_does_not_answer_as_expected_is_left_alone(
    simulator: Simulator, fault: dict[str, Any], words: str, code: str
) -> None:
    simulator.fault(**fault)
    before = simulator.state()
    result = run_module(simulator, timeout=3, **READY)
    assert result["error_code"] == code and words in result["msg"]
    assert simulator.state() == before


def test_an_unexpected_question_is_not_answered(simulator: Simulator) -> None:
    simulator.fault(name="confirm", pattern="^roce")
    result = run_module(simulator, **READY)
    assert result["error_code"] == "apply_failed" and "Type 'YES' to confirm" in result["msg"]
    assert simulator.state()["running"]["roce"] is None


@pytest.mark.parametrize("executed", [False, True])
@pytest.mark.parametrize("lines", [1, 2, 4, 5])
def test_a_session_cut_at_any_line_is_reported_and_the_next_run_converges(
    simulator: Simulator, lines: int, executed: bool
) -> None:
    simulator.fault(name="cut_after", lines=1 + lines, executed=executed)
    broken = run_module(simulator, **READY)
    assert broken["error_code"] == "unreachable" and "the session broke" in broken["msg"]
    # The lines are: the lease, vlan, roce, access VLAN, MTU, and after the verification configuration write.
    assert len(broken["applied"]) == lines - 1 and broken["failed_operation"]
    assert len(broken["undo"]) == min(lines, 4)
    repaired = run_module(simulator, **READY)
    assert repaired["saved"] and repaired["ports"]["1/1"]["mtu"] == 9216
    assert not run_module(simulator, **READY)["changed"]


def test_a_cut_while_reading_changes_nothing(simulator: Simulator) -> None:
    before = simulator.state()
    simulator.fault(name="cut_after", lines=5, scope="all")
    result = run_module(simulator, **READY)
    assert result["error_code"] == "unreachable"
    assert without_faults(simulator.state()) == without_faults(before)


def test_a_cut_while_verifying_says_what_is_there_unverified(simulator: Simulator) -> None:
    # Nine lines to log in and read, "configure terminal", three of the lease, four configuration lines: the 20th is a
    # verification.
    simulator.fault(name="cut_after", lines=20, scope="all")
    broken = run_module(simulator, **READY)
    assert broken["error_code"] == "unreachable" and len(broken["applied"]) == len(broken["undo"]) == 4
    assert simulator.state()["unsaved"]
    assert run_module(simulator, **READY)["saved"]


def test_slow_answers_are_waited_for(simulator: Simulator) -> None:
    simulator.fault(name="slow", command_delay=0.2, login_delay=2)
    assert run_module(simulator, **READY)["saved"]


def test_a_standby_node_is_configured_with_a_warning(simulator: Simulator) -> None:
    simulator.fault(name="standby")
    result = run_module(simulator, **READY)
    assert result["changed"] and any("standby" in text for text in result["warnings"])


def test_an_allowed_conversion_can_be_undone(simulator: Simulator) -> None:
    before = simulator.state()["running"]
    options = {**READY, "ports": ["1/27", "1/28", "1/31"]}
    result = run_module(simulator, allow_mode_change=["1/27-1/28", "1/31"], **options)
    assert all(entry["mode"] == "access" for entry in result["ports"].values())
    # The way back goes through the same door.
    session = netmiko.ConnectHandler(
        device_type="mellanox_mlnxos", host=ADDRESS, port=simulator.port, username="admin", password=PASSWORD
    )
    try:
        session.enable()
        session.send_config_set([line for undo in result["undo"] for line in undo.split("\n")])
    finally:
        session.disconnect()
    assert simulator.state()["running"] == before


def test_the_shutdown_method_leaves_the_ports_up(simulator: Simulator) -> None:
    result = run_module(simulator, mtu_method="shutdown", **READY)
    assert all(entry["admin"] == "up" and entry["mtu"] == 9216 for entry in result["ports"].values())


def test_the_environment_gives_address_user_and_password(simulator: Simulator) -> None:
    env = {"SWITCH_HOST": ADDRESS, "SWITCH_USER": "admin", "SWITCH_PASSWORD": PASSWORD}
    result = run_playbook(simulator, "--check", env=env, hostname=None, username=None, password=None, **READY)
    assert result["changed"]


def test_the_password_appears_nowhere_even_at_vvv(simulator: Simulator, tmp_path: Path) -> None:
    wrong = ({"vlan": 0}, {"ports": ["1/31"], "vlan": 111}, {"username": "nobody"}, {"port": 1})
    assert_no_password_even_at_vvv(simulator, tmp_path, READY, wrong)


@pytest.mark.parametrize("version", ["3.6.5000", "3.8.2004", "3.9.2400"])
def test_releases_of_both_json_eras(tmp_path: Path, version: str) -> None:
    with running(tmp_path / "switch", "--version", version) as simulator:
        mode = "absent" if version.startswith("3.6") else "lossless"
        if mode == "absent":
            refused = run_module(simulator, **READY)
            assert refused["error_code"] == "refused" and version in refused["msg"]
        assert run_module(simulator, mode=mode, **READY)["saved"]
        assert not run_module(simulator, mode=mode, **READY)["changed"]


def test_sha1_only_images_work_with_paramiko_4(tmp_path: Path) -> None:
    with running(tmp_path / "switch", "--ssh-algorithms", "sha1") as simulator:
        assert run_module(simulator, **READY)["saved"]


def test_a_switch_without_a_common_algorithm_is_explained(tmp_path: Path) -> None:
    with running(tmp_path / "switch", "--ssh-algorithms", "obsolete") as simulator:
        result = run_module(simulator, **READY)
    assert result["error_code"] == "unreachable"
    assert "no SSH algorithm in common" in result["msg"] and "netmiko[par4]" in result["msg"]


def test_a_slow_switch_with_two_seconds_of_login(tmp_path: Path) -> None:
    with running(tmp_path / "switch", "--login-delay", "2", "--command-delay", "0.05") as simulator:
        assert run_module(simulator, **READY)["saved"]
