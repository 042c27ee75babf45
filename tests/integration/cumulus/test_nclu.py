# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module as a user runs it on Cumulus Linux 4.3: SSH, paramiko, one exec channel per command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.cumulus.harness import ADDRESS, Simulator, run_module, run_playbook

READY: dict[str, Any] = {"vlan": 111, "ports": ["swp1-4"], "mtu": 9216}


def assert_as_wanted(simulator: Simulator) -> None:
    state = simulator.state()
    assert state["config"]["roce"] == "lossless" and state["pending"] == []
    assert state["config"]["ports"]["swp4"] == {"mtu": "9216", "bridge access": "111"}


def test_check_then_run_then_run_again(nclu: Simulator) -> None:
    before = nclu.state()["config"]
    plan = run_module(nclu, check=True, **READY)
    assert nclu.state()["config"] == before
    assert not [line for line in nclu.state()["commands"] if line.startswith(("net add", "net del", "net commit"))]
    done = run_playbook(nclu, "--diff", **READY)
    assert plan["operations"] == done["operations"] and done["saved"] and done["version"] == "4.3.0"
    assert_as_wanted(nclu)
    assert not run_module(nclu, **READY)["changed"]


@pytest.mark.parametrize(
    ("changes", "words", "code"),
    [
        ({"password": "wrong"}, "the login was refused", "credentials"),
        ({"known_hosts": "/nonexistent/known_hosts"}, "/nonexistent/known_hosts", "refused"),
        ({"ports": ["swp31"]}, "swp31 is a trunk port", "refused"),
        ({"port": 1}, f"{ADDRESS}:1", "unreachable"),
    ],
    ids=["wrong-password", "no-known-hosts", "trunk", "closed-port"],
)
def test_bad_input_is_refused_with_a_reason(nclu: Simulator, changes: dict[str, Any], words: str, code: str) -> None:
    before = nclu.state()["config"]
    result = run_module(nclu, **{**READY, **changes})
    assert result["error_code"] == code and words in result["msg"] and "What to do:" in result["msg"]
    assert nclu.state()["config"] == before and nclu.state()["pending"] == []


def test_an_unknown_host_key_is_refused_with_its_fingerprint(nclu: Simulator, tmp_path: Path) -> None:
    empty = tmp_path / "known_hosts"
    empty.write_text("")
    result = run_module(nclu, known_hosts=str(empty), **READY)
    assert result["error_code"] == "credentials" and "SHA256:" in result["msg"]
    assert nclu.state()["commands"] == [] and empty.read_text() == ""
    assert run_module(nclu, check=True, known_hosts=str(empty), host_key_checking=False, **READY)["changed"]


@pytest.mark.parametrize("executed", [False, True], ids=["lost-command", "lost-answer"])
@pytest.mark.parametrize("command", [3, 7, 10, 13])
def test_a_session_cut_at_a_command_is_reported_and_the_next_run_converges(
    nclu: Simulator, command: int, executed: bool
) -> None:
    before = nclu.state()["config"]
    nclu.fault(name="cut_after", commands=command, executed=executed)
    broken = run_module(nclu, rollback=True, **READY)
    assert broken["error_code"] == "unreachable" and "the session broke" in broken["msg"]
    assert nclu.state()["config"] == before and nclu.state()["pending"] == []
    assert run_module(nclu, **READY)["changed"]
    assert_as_wanted(nclu)


def test_somebody_elses_staged_changes_stop_the_run(nclu: Simulator) -> None:
    nclu.fault(name="foreign_pending")
    result = run_module(nclu, **READY)
    assert result["error_code"] == "refused" and "alias uplink (ana)" in result["msg"]
    assert nclu.state()["pending"] == [["ana", "net add interface swp20 alias uplink"]]


def test_a_silent_switch_is_given_up_after_the_timeout(nclu: Simulator) -> None:
    nclu.fault(name="silent")
    result = run_module(nclu, timeout=2, **READY)
    assert result["error_code"] == "unreachable" and "silent for 2 s" in result["msg"]
