"""What somebody else changes while a run works is found, named, and not saved for him, at whatever moment."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import plan as onyx
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch import saving

from lab.switch.grammar import CONFIG, Cli, execute
from tests.unit.nvue import harness as nvue
from tests.unit.onyx import harness as onyx_harness

FOREIGN = "+ interface ethernet 1/9 description mine"
SAVE = "configuration write"


def onyx_run(at: int, **options: Any) -> tuple[dict[str, Any], Any, list[str]]:
    """Somebody else changes the switch just before the ``at``-th line of this run."""
    switch = onyx_harness.new_switch()
    run = onyx_harness.Run(switch, **options)
    lines: list[str] = []

    class Busy(onyx_harness.FakeSession):
        def _cut(self, line: str) -> None:
            lines.append(line)
            if len(lines) == at:
                execute(Cli(switch, mode=CONFIG), "interface ethernet 1/9 description mine")

    run.layer._connect = lambda: Busy(switch, every_line=True)
    return run(), switch, lines


LENGTH = len(onyx_run(0)[2])
BEFORE_THE_LAST_READING = onyx_run(0)[2].index(SAVE)


@pytest.mark.parametrize("at", range(1, BEFORE_THE_LAST_READING, 2))
def test_onyx_does_not_save_what_somebody_else_changes_meanwhile(at: int) -> None:
    result, switch, lines = onyx_run(at)
    assert not result["saved"] and SAVE not in lines
    assert result["foreign_changes"] == [FOREIGN]
    assert any(FOREIGN in warning for warning in result["warnings"])
    assert switch.saved.ports["1/9"].description == ""


def test_onyx_saves_it_when_told_to_and_names_it_all_the_same() -> None:
    result, _switch, lines = onyx_run(BEFORE_THE_LAST_READING - 1, save="always")
    assert result["saved"] and SAVE in lines
    assert any("this run worked" in warning and FOREIGN in warning for warning in result["warnings"])


@pytest.mark.parametrize("release", ["5.4.0", "5.8.0"])
@pytest.mark.parametrize(
    "moment", [("apply", "/system"), ("confirm_yes", "/revision/2")], ids=["unconfirmed", "confirmed"]
)
def test_nvue_does_not_save_what_somebody_else_applies_meanwhile(release: str, moment: tuple[str, str]) -> None:
    """While the change waits for its confirmation, and between the confirmation and the save."""
    twin = nvue.Twin(release=release)
    run = nvue.Run(twin)
    done: list[str] = []
    ask = run.session._request

    def request(method: str, path: str, body: Any, query: Any) -> Any:
        answer = ask(method, path, body, query)
        if method == "GET" and moment[0] in done and path == moment[1] and "foreign" not in done:
            done.append("foreign")
            twin.switch.somebody_applies(save=False)
        done.append((body or {}).get("state", ""))
        return answer

    run.session._request = request  # type: ignore[method-assign]
    result = run()
    assert "foreign" in done
    assert not result["saved"] and any("changed by somebody else" in line for line in result["foreign_changes"])
    assert any("this run worked" in warning for warning in result["warnings"])
    assert "changed by somebody else" not in str(twin.switch.startup)


@pytest.mark.parametrize(
    ("line", "template", "foreign"),
    [
        ("+ dcb priority-flow-control enable force", True, False),
        ("- traffic pool old type lossless", True, False),
        ("+ interface ethernet 1/9 traffic-class 3 dcb ets strict", True, False),
        ("+ lldp", True, False),
        ("+ dcb priority-flow-control enable force", False, True),
        ("+ interface ethernet 1/9 description mine", True, True),
        ("+ interface ethernet 1/9 shutdown", True, True),
        ("+ username eve capability admin", True, True),
        ("- interface ethernet 1/3 ip address 10.0.0.1/31 primary", True, False),
        ("+ interface ethernet 1/3 ip address 10.0.0.1/31 primary", True, True),
        ("- interface ethernet 1/4 ip address 10.0.0.1/31 primary", True, True),
    ],
)
def test_only_what_the_roce_template_rewrites_and_what_was_given_up_is_ours(
    line: str, template: bool, foreign: bool
) -> None:
    wanted = onyx.request("sw01", {"vlan": 111, "ports": ["1/3-1/4"], "mtu": 9216, "allow_mode_change": ["1/3"]})
    assert bool(onyx.foreign_lines([line], wanted, template=template)) is foreign


@pytest.mark.parametrize(
    ("policy", "foreign", "allowed"),
    [
        ("when_clean", (), True),
        ("when_clean", ("+ x",), False),
        ("always", ("+ x",), True),
        ("never", (), False),
    ],
)
def test_saving_follows_the_policy(policy: str, foreign: tuple[str, ...], allowed: bool) -> None:
    assert saving.may_save(policy, foreign) is allowed
