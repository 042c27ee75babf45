# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The NCLU layer against the simulated 4.3 switch, without SSH."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._cumulus.plan import Wanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, UnreachableError

from lab.nclu.model import Switch
from tests.unit.cumulus.harness import WANTED, run_nclu

COMMANDS = 17


def wanted(**changes: Any) -> Wanted:
    return dataclasses.replace(WANTED, domain="bridge", **changes)


def is_as_wanted(switch: Switch) -> bool:
    ports = [switch.config["ports"][name] for name in WANTED.ports]
    return (
        switch.config["roce"] == "lossless"
        and all(port == {"mtu": "9216", "bridge access": "111"} for port in ports)
        and not switch.pending
    )


def test_check_mode_only_looks() -> None:
    switch = Switch()
    plan = run_nclu(switch, check_mode=True)
    assert plan["changed"] and not [
        line for line in switch.commands if line.split()[1] not in ("show", "pending", "/etc/lsb-release")
    ]
    assert plan["operations"] == run_nclu(switch)["operations"]


def test_facts_5_1_roce_is_committed_alone_and_a_second_run_changes_nothing() -> None:
    switch = Switch()
    result = run_nclu(switch)
    assert result["saved"] and is_as_wanted(switch) and len(switch.commands) == COMMANDS
    changes = [line for line in switch.commands if line.split()[1] in ("add", "commit")]
    assert changes[-2:] == ["net add roce lossless", "net commit"] and changes.count("net commit") == 2
    switch.commands.clear()
    assert not run_nclu(switch)["changed"] and len(switch.commands) == 4


@pytest.mark.parametrize("executed", [False, True], ids=["lost-command", "lost-answer"])
@pytest.mark.parametrize("number", range(1, COMMANDS + 1))
@pytest.mark.parametrize("rollback", [False, True], ids=["leave", "roll-back"])
def test_a_session_cut_at_every_command_ends_without_a_wrong_claim(number: int, executed: bool, rollback: bool) -> None:
    switch = Switch()
    before = copy.deepcopy(switch.config)
    switch.inject({"name": "cut_after", "commands": number, "executed": executed})
    with pytest.raises(UnreachableError, match="the session broke") as caught:
        run_nclu(switch, rollback=rollback)
    assert not switch.pending
    if rollback or not caught.value.details.get("applied"):
        assert switch.config == before
    run_nclu(switch)
    assert is_as_wanted(switch) and not run_nclu(switch)["changed"]


FAULTS = [
    ("refused", {"name": "refuse", "pattern": "mtu"}, "apply_failed", "refused by a test"),
    ("refused-roce", {"name": "refuse", "pattern": "add roce"}, "apply_failed", "net add roce lossless"),
    ("refused-commit", {"name": "refuse", "pattern": "net commit"}, "apply_failed", "net commit"),
    ("paper-only", {"name": "ignore", "pattern": "mtu"}, "not_in_force", "MTU 1500 -> 9216"),
    ("links", {"name": "stuck_links"}, "not_in_force", "swp1, swp2, swp3, swp4"),
    ("rights", {"name": "netshow"}, "credentials", "netedit"),
]


@pytest.mark.parametrize(("fault", "code", "words"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_a_fault_is_told_and_taken_back(fault: dict[str, Any], code: str, words: str) -> None:
    switch = Switch()
    before = copy.deepcopy(switch.config)
    switch.inject(fault)
    with pytest.raises(LayerError) as caught:
        run_nclu(switch, rollback=True)
    assert caught.value.code == code and words in str(caught.value) and "What to do:" in str(caught.value)
    assert switch.config == before and not switch.pending


def test_somebody_elses_staged_changes_are_never_committed() -> None:
    switch = Switch()
    switch.inject({"name": "foreign_pending"})
    with pytest.raises(LayerError, match=r"somebody else has staged changes.*alias uplink \(ana\)"):
        run_nclu(switch)
    assert switch.pending and "commit" not in " ".join(switch.commands)
    assert run_nclu(switch, check_mode=True)["changed"]
    other = Switch()
    other.inject({"name": "foreign_meanwhile"})
    with pytest.raises(LayerError, match="meanwhile"):
        run_nclu(other)
    assert "net commit" not in other.commands and "net abort" not in other.commands


@pytest.mark.parametrize(
    ("ports", "words"),
    [
        (("swp31",), "trunk port that carries 100,200"),
        (("swp27",), "every VLAN"),
        (("swp28",), "192.0.2.1/31"),
        (("swp29",), "member of bond1"),
        (("swp32",), "swp32 is split into swp32s0-3"),
    ],
)
def test_ports_with_something_to_lose_are_refused(ports: tuple[str, ...], words: str) -> None:
    switch = Switch()
    with pytest.raises(LayerError, match=words):
        run_nclu(switch, wanted(ports=ports))
    assert switch.pending == []


def test_the_commands_of_undo_lead_back() -> None:
    switch = Switch()
    before = copy.deepcopy(switch.config)
    result = run_nclu(switch, wanted(ports=("swp1", "swp27", "swp28", "swp31"), convertible=None, svi=True))
    for line in "\n".join(result["undo"]).split("\n"):
        if "roce" in line:
            assert switch.execute(["net", "commit"])[0] == 0
        assert switch.execute(line.split())[0] == 0
        if "roce" in line:
            assert switch.execute(["net", "commit"])[0] == 0
    assert switch.execute(["net", "commit"])[0] == 0
    after = copy.deepcopy(switch.config)
    for config in (before, after):
        config["bridge_ports"].sort()
        config["ports"] = {name: port for name, port in config["ports"].items() if port}
    assert after == before


def test_what_cannot_be_read_is_said() -> None:
    result = run_nclu(Switch())
    assert any("no command that shows" in text for text in result["warnings"]) and result["roce"]["pfc"] is None
