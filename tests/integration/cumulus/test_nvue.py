"""The module as a user runs it on Cumulus Linux 5.x: ansible-playbook, ansible-core, HTTPS."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import rest

from tests.integration.cumulus.harness import USER, Simulator, certificate, running
from tests.integration.simulated_switch import (
    ADDRESS,
    PASSWORD,
    REPOSITORY,
    assert_no_password_even_at_vvv,
    command_line,
    environment,
    module_play,
    run_module,
    run_playbook,
)

READY: dict[str, Any] = {"vlan": 111, "ports": ["swp1-4"], "mtu": 9216}
SETTLED = {"applied", "applied_and_saved", "previous", "saved", "confirm_fail"}


def configuration(simulator: Simulator) -> Any:
    state = simulator.state()
    return state["applied"], state["startup"], state["in_force"]


def writes(simulator: Simulator) -> list[str]:
    return [request for request in simulator.state()["requests"] if not request.startswith("GET ")]


def assert_as_wanted(simulator: Simulator) -> None:
    state = simulator.state()
    assert state["in_force"]["qos"]["roce"]["mode"] == "lossless"
    for number in range(1, 5):
        port = state["in_force"]["interface"][f"swp{number}"]
        assert port["link"]["mtu"] == 9216 and port["bridge"]["domain"]["br_default"] == {"access": 111}
    assert not state["unsaved"]
    assert set(state["revisions"].values()) <= SETTLED, state["revisions"]


def test_check_then_run_then_run_again(nvue: Simulator) -> None:
    before = configuration(nvue)
    plan = run_playbook(nvue, "--check", "--diff", **READY)
    assert configuration(nvue) == before and writes(nvue) == []
    done = run_playbook(nvue, "--diff", **READY)
    assert plan["changed"] and done["changed"]
    assert plan["operations"] == done["operations"] and plan["diff"] == done["diff"] and plan["undo"] == done["undo"]
    assert done["saved"] and done["roce"]["mode"] == "lossless" and done["ports"]["swp4"]["mtu"] == 9216
    assert done["ports"]["swp1"]["counters"]["ecn_marked"] == 152430
    # Every added line of the switch's own difference is one of the commands of the plan, and the other way round.
    added = {line[2:] for line in done["device_diff"] if line.startswith("+ ")}
    assert added == {line for operation in done["operations"] for line in operation["command"].split("\n")}
    assert_as_wanted(nvue)
    sent = writes(nvue)
    again = run_playbook(nvue, **READY)
    assert not again["changed"] and again["operations"] == [] and writes(nvue) == sent


BAD_INPUT = [
    ("VLAN 0", {"vlan": 0}, "vlan 0", "refused"),
    ("VLAN 4095", {"vlan": 4095}, "vlan 4095", "refused"),
    ("MTU 99999", {"mtu": 99999}, "mtu 99999", "refused"),
    ("semi-lossless", {"mode": "semi-lossless"}, "no semi-lossless mode", "refused"),
    ("Onyx port names", {"ports": ["1/1-1/4"]}, "1/1-1/4", "refused"),
    ("ports that do not exist", {"ports": ["swp1-90"]}, "no such port", "refused"),
    ("backward range", {"ports": ["swp4-1"]}, "swp4-1", "refused"),
    ("split port", {"ports": ["swp32"]}, "swp32 is split into swp32s0-3", "refused"),
    ("trunk port", {"ports": ["swp31"]}, "swp31 is a trunk port that carries 100,200", "refused"),
    ("routed port", {"ports": ["swp28"]}, "192.0.2.1/31", "refused"),
    ("bond member", {"ports": ["swp29"]}, "swp29 is a member of bond1", "refused"),
    ("port with a subinterface", {"ports": ["swp26"]}, "swp26 carries the interfaces swp26.300", "refused"),
    ("wrong neighbour", {"expected_neighbors": ["esx*"]}, "behind swp1 is gpu01", "refused"),
    ("reach", {"allow_disruption": "requested_ports"}, "swp5-8", "refused"),
    ("no time for links", {"confirm_timeout": 30}, "confirm_timeout 30", "refused"),
    ("time below none", {"confirm_timeout": -1}, "confirm_timeout -1", "refused"),
    ("wrong password", {"password": "wrong"}, "the login was refused", "credentials"),
    ("wrong user", {"username": "nobody"}, "the login was refused", "credentials"),
    ("no CA file", {"ca_path": "/nonexistent/ca.pem"}, "/nonexistent/ca.pem", "refused"),
]


@pytest.mark.parametrize(
    ("changes", "words", "code"), [row[1:] for row in BAD_INPUT], ids=[row[0] for row in BAD_INPUT]
)
def test_bad_input_is_refused_with_a_reason_and_nothing_is_written(
    nvue: Simulator, changes: dict[str, Any], words: str, code: str
) -> None:
    result = run_module(nvue, **{**READY, **changes})
    assert result["failed"] and result["error_code"] == code
    assert words in result["msg"] and ADDRESS in result["msg"] and "What to do:" in result["msg"]
    assert writes(nvue) == []


def test_a_certificate_of_somebody_else_gets_no_password(nvue: Simulator, tmp_path: Path) -> None:
    stranger, _key = certificate(tmp_path, "stranger")
    result = run_module(nvue, ca_path=str(stranger), **READY)
    assert result["error_code"] == "credentials" and "does not verify" in result["msg"]
    assert "was not sent" in result["msg"] and nvue.state()["requests"] == []


def test_a_certificate_for_another_address_is_refused(nvue: Simulator) -> None:
    result = run_module(nvue, hostname="127.0.0.2", **READY)
    assert result["error_code"] in ("credentials", "unreachable") and nvue.state()["requests"] == []
    wrong = run_module(nvue, hostname="localhost", **READY)
    assert wrong["error_code"] == "credentials" and "localhost" in wrong["msg"]


def test_certificate_checking_can_be_switched_off(nvue: Simulator) -> None:
    assert run_module(nvue, check=True, ca_path=None, validate_certs=False, **READY)["changed"]


def test_a_closed_port_and_a_port_without_tls_are_named(nvue: Simulator) -> None:
    with socket.socket() as unused:
        unused.bind((ADDRESS, 0))  # bound and not listening: connections are refused
        port = unused.getsockname()[1]
        result = run_module(nvue, port=port, **READY)
    assert result["error_code"] == "unreachable" and f"{ADDRESS}:{port}" in result["msg"]
    plain = run_module(nvue, port=int(nvue.control.rpartition(":")[2]), **READY)
    assert plain["error_code"] == "unreachable" and "no TLS there" in plain["msg"]


def test_a_silent_switch_is_given_up_after_the_timeout(tmp_path: Path) -> None:
    with running(tmp_path / "switch", "nvue") as simulator:
        simulator.fault(name="silent")
        result = run_module(simulator, timeout=2, **READY)
    assert result["error_code"] == "unreachable" and "no answer within 2 s" in result["msg"]


# A run asks 11 times, opens a revision, changes it, compares it (2), applies it, follows it, reads everything again,
# confirms and looks whether it is saved. GET is repeated on a new connection, so that only the others can fail.
@pytest.mark.parametrize("executed", [False, True], ids=["lost-request", "lost-answer"])
@pytest.mark.parametrize("request_number", [4, 11, 12, 15, 16, 20, 30])
def test_a_connection_cut_at_a_request_is_no_wrong_success_and_the_next_run_converges(
    nvue: Simulator, request_number: int, executed: bool
) -> None:
    before = configuration(nvue)
    nvue.fault(name="cut_after", requests=request_number, executed=executed)
    broken = run_module(nvue, **READY)
    if broken.get("failed"):
        assert broken["error_code"] == "unreachable" and "the connection broke" in broken["msg"]
        assert broken.get("applied", []) == [] and configuration(nvue) == before
    else:
        assert_as_wanted(nvue)
    nvue.heal()
    run_module(nvue, **READY)
    state = nvue.state()
    assert state["in_force"]["qos"]["roce"]["mode"] == "lossless" and not state["unsaved"]
    assert not run_module(nvue, **READY)["changed"]


@pytest.mark.parametrize("state", ["invalid", "verify_error", "apply_fail", "ignore_fail"])
def test_an_apply_that_fails_is_told_in_the_switchs_words_and_leaves_nothing(nvue: Simulator, state: str) -> None:
    before = configuration(nvue)
    nvue.fault(name="end_in", state=state, message="switchd refused the buffers")
    result = run_module(nvue, **READY)
    assert result["error_code"] == "apply_failed" and "switchd refused the buffers" in result["msg"]
    assert result["applied"] == [] and result["undo"] == [] and configuration(nvue) == before
    assert set(nvue.state()["revisions"].values()) <= SETTLED
    assert run_module(nvue, **READY)["changed"]
    assert_as_wanted(nvue)


def test_an_apply_that_fails_halfway_is_taken_back(nvue: Simulator) -> None:
    before = configuration(nvue)
    nvue.fault(name="end_in", state="apply_fail", partial=True)
    result = run_module(nvue, rollback=True, **READY)
    assert result["error_code"] == "apply_failed" and result["rolled_back"] is True
    assert configuration(nvue)[0] == before[0] and configuration(nvue)[2] == before[2]
    run_module(nvue, **READY)
    assert_as_wanted(nvue)


def test_an_apply_that_does_not_come_into_force_is_rejected_by_the_guard(nvue: Simulator) -> None:
    before = configuration(nvue)
    nvue.fault(name="not_in_force", pattern="swp3 link mtu")
    result = run_module(nvue, **READY)
    assert result["error_code"] == "not_in_force" and "swp3: MTU 1500 -> 9216" in result["msg"]
    assert result["rolled_back"] is True and configuration(nvue) == before
    nvue.heal()
    run_module(nvue, **READY)
    assert_as_wanted(nvue)


def test_an_entry_in_the_exception_list_is_not_healthy(nvue: Simulator) -> None:
    nvue.fault(name="exception", text="traffic-pool roce-lossless")
    result = run_module(nvue, **READY)
    assert result["error_code"] == "not_in_force" and "traffic-pool roce-lossless" in result["msg"]
    assert "roce" not in nvue.state()["applied"].get("qos", {})


def test_links_that_stay_down_take_the_change_back(nvue: Simulator) -> None:
    before = configuration(nvue)
    nvue.fault(name="stuck_links")
    result = run_module(nvue, wait_for_links=2, **READY)
    assert result["error_code"] == "not_in_force" and "swp1" in result["msg"] and "within 2 s" in result["msg"]
    assert configuration(nvue) == before


def test_a_slow_apply_is_waited_for_and_a_slower_one_is_reported(nvue: Simulator) -> None:
    nvue.fault(name="slow_apply", seconds=4)
    late = run_module(nvue, apply_timeout=1, **READY)
    assert late["error_code"] == "apply_failed" and "after 1 s" in late["msg"] and late["undo"]
    # The revision goes on, and the switch waits for a confirmation that nobody sends: the next run waits for its end.
    blocked = run_module(nvue, apply_timeout=1, **READY)
    assert blocked["error_code"] == "refused" and "another change" in blocked["msg"]
    nvue.reset()
    nvue.fault(name="slow_apply", seconds=4)
    assert run_module(nvue, **READY)["saved"]
    assert_as_wanted(nvue)


def test_a_change_by_somebody_else_in_between_is_not_overwritten(nvue: Simulator) -> None:
    nvue.fault(name="foreign_apply")
    result = run_module(nvue, **READY)
    assert result["error_code"] == "conflict" and "changed by somebody else" in result["msg"]
    described = json.dumps(nvue.state()["applied"])
    assert "changed by somebody else" in described and "lossless" not in described
    run_module(nvue, **READY)
    assert_as_wanted(nvue)
    assert "changed by somebody else" in json.dumps(nvue.state()["applied"])


def test_a_refusal_because_of_a_concurrent_revision_is_a_conflict(nvue: Simulator) -> None:
    nvue.fault(name="status", status=409, pattern=r"PATCH /nvue_v1/revision/\d", times=1)
    result = run_module(nvue, **READY)
    assert result["error_code"] == "conflict" and "HTTP 409" in result["msg"]
    assert set(nvue.state()["revisions"].values()) <= SETTLED  # ours was deleted
    run_module(nvue, **READY)
    assert_as_wanted(nvue)


def test_somebody_elses_staged_revision_is_reported_and_left_alone(nvue: Simulator) -> None:
    nvue.fault(name="foreign_staged")
    result = run_module(nvue, **READY)
    assert list(result["pending_revisions"]) == ["2"]
    assert "changed by somebody else" in "".join(result["pending_revisions"]["2"])
    assert nvue.state()["revisions"]["2"] == "pending"
    assert "changed by somebody else" not in json.dumps(nvue.state()["applied"])


def test_warnings_of_the_switch_stop_the_run_until_they_are_accepted(nvue: Simulator) -> None:
    before = configuration(nvue)
    nvue.fault(name="warn", message="/etc/network/interfaces was edited by hand and will be overwritten")
    result = run_module(nvue, **READY)
    assert result["error_code"] == "refused" and "will be overwritten" in result["msg"]
    assert configuration(nvue) == before and set(nvue.state()["revisions"].values()) <= SETTLED
    assert run_module(nvue, accept_warnings=True, **READY)["saved"]
    assert_as_wanted(nvue)


def test_a_run_that_is_killed_before_it_confirms_is_taken_back_by_the_switch(tmp_path: Path) -> None:
    """SIGKILL while the revision waits for its confirmation; then the same run again."""
    with running(tmp_path / "switch", "nvue", "--link-seconds", "30") as simulator:
        before = configuration(simulator)
        more = {"confirm_timeout": 5, "wait_for_links": 4, "allow_disruption": "any"}
        options = {**simulator.options, **READY, **more}
        command = command_line(tmp_path / "run", module_play("switch_roce", options))
        process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            _await(simulator, "confirm")
        finally:
            # Not kill(1): procps takes the first digit of a negative number for the number, and -1 is every process.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=30)
        _await(simulator, "confirm_fail")
        assert configuration(simulator) == before
        simulator.reset()


def _await(simulator: Simulator, state: str) -> None:
    deadline = time.monotonic() + 60
    while state not in simulator.state()["revisions"].values():
        assert time.monotonic() < deadline, simulator.state()["revisions"]
        time.sleep(0.1)


def test_what_an_interrupted_run_has_staged_is_removed_by_the_next(nvue: Simulator) -> None:
    """The deletion fails too, as it would if the run were killed."""
    nvue.fault(name="no_delete")
    nvue.fault(name="status", status=409, pattern=r"PATCH /nvue_v1/revision/\d", times=1)
    broken = run_module(nvue, **READY)
    assert broken["left_revision"] == "2" and "nv config delete 2" in broken["msg"]
    assert nvue.state()["revisions"]["2"] == "pending"
    nvue.heal()
    result = run_module(nvue, **READY)
    assert "the staged revision 2" in json.dumps(result["warnings"])
    assert "2" not in nvue.state()["revisions"]
    assert_as_wanted(nvue)


def test_unsaved_changes_of_somebody_else_are_not_saved_unless_told(tmp_path: Path) -> None:
    with running(tmp_path / "switch", "nvue", "--release", "5.4.0") as simulator:
        simulator.fault(name="foreign_unsaved")
        first = run_module(simulator, **READY)
        assert not first["saved"] and first["foreign_changes"] and simulator.state()["unsaved"]
        assert run_module(simulator, save="always", **READY)["saved"]
        assert_as_wanted(simulator)


@pytest.mark.parametrize("release", ["5.0.1", "5.4.0", "5.11.0", "5.14.0", "5.15.0", "5.18.0"])
def test_releases_with_their_own_shapes(tmp_path: Path, release: str) -> None:
    names = "changesets" if release < "5.5" else "numbers"
    with running(tmp_path / "switch", "nvue", "--release", release, "--revision-names", names) as simulator:
        result = run_module(simulator, **READY)
        assert result.get("saved") and release in result["version"], result.get("msg")
        assert_as_wanted(simulator)
        assert not run_module(simulator, **READY)["changed"]


def test_an_allowed_conversion_can_be_undone(nvue: Simulator) -> None:
    before = nvue.state()["applied"]
    options = {**READY, "ports": ["swp27-28", "swp31"]}
    result = run_module(nvue, allow_mode_change=["swp27-28", "swp31"], **options)
    assert all(entry["mode"] == "access" for entry in result["ports"].values())
    assert "nv set interface swp28 ip address 192.0.2.1/31" in "\n".join(result["undo"])
    # The way back that the switch itself offers: the revision that was there before.
    client = rest.Session(rest.Endpoint(ADDRESS, "cumulus", PASSWORD, nvue.port, ca_path=str(nvue.trust)))
    try:
        client.send(
            "PATCH", f"/revision/{result['previous_revision']}", {"state": "apply", "auto-prompt": {"ays": "ays_yes"}}
        )
        deadline = time.monotonic() + 30
        while nvue.state()["applied"] != before:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        client.close()


def test_roce_can_be_switched_off_again(nvue: Simulator) -> None:
    run_module(nvue, **READY)
    result = run_module(nvue, mode="absent", **READY)
    assert result["changed"] and result["roce"]["mode"] == "absent"
    assert not run_module(nvue, mode="absent", **READY)["changed"]


def test_the_environment_gives_address_user_password_and_ca(nvue: Simulator) -> None:
    env = {
        "SWITCH_HOST": ADDRESS,
        "SWITCH_USER": "cumulus",
        "SWITCH_PASSWORD": PASSWORD,
        "SWITCH_CA_PATH": str(nvue.trust),
    }
    result = run_playbook(nvue, "--check", env=env, hostname=None, username=None, password=None, ca_path=None, **READY)
    assert result["changed"]


def test_the_password_appears_nowhere_even_at_vvv(nvue: Simulator, tmp_path: Path) -> None:
    wrong = ({"vlan": 0}, {"ports": ["swp31"], "vlan": 111}, {"username": "nobody"}, {"port": 1})
    assert_no_password_even_at_vvv(nvue, tmp_path, READY, wrong)


@pytest.mark.parametrize("module", ["switch_roce", "switch_roce_info"])
def test_an_error_page_that_repeats_the_request_shows_no_login(nvue: Simulator, module: str) -> None:
    """A proxy in debug mode; the password in base64 is as good as the password."""
    nvue.fault(name="echo")
    options = READY if module == "switch_roce" else {}
    try:
        result = run_module(nvue, module=module, **options)
    finally:
        nvue.heal()
    assert result["failed"] and "HTTP 500" in result["msg"] and "Authorization" in result["msg"]
    token = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    assert token not in json.dumps(result) and token.rstrip("=")[:20] not in json.dumps(result)
