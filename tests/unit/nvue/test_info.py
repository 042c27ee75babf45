"""What switch_roce_info says of a Cumulus switch, against the SIMULATED switches without a network."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import info
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue.reading import NvueReader

from tests.unit.nvue.harness import WANTED, Direct, Twin, run

PORTS = WANTED.ports
TRUNK = "swp27"


def look(twin: Twin, *names: str, mode: str | None = None) -> tuple[dict[str, Any], Direct]:
    session = Direct(twin.api, twin.clock)
    return info.survey(NvueReader("sw02", session, "br_default"), names, mode), session


def test_nvue_reads_only_and_agrees_with_the_module_that_configures() -> None:
    twin = Twin()
    done = run(twin)
    found, session = look(twin, *PORTS, mode="lossless")
    assert session.written == []
    assert found["healthy"] and found["problems"] == [] == found["unreadable"] and found["saved"]
    assert found["version"] == done["version"] and found["roce"] == done["roce"]
    for name in PORTS:
        theirs = done["ports"][name]
        assert {key: found["ports"][name][key] for key in theirs if key != "neighbors"} == {
            key: value for key, value in theirs.items() if key != "neighbors"
        }
        assert [each["system"] for each in found["ports"][name]["neighbors"]] == theirs["neighbors"]
    # A trunk without a list of VLANs carries this one as well.
    assert found["vlans"]["111"]["members"] == done["vlan"]["members"] == [*PORTS, TRUNK]


def test_nvue_all_ports_with_what_they_carry() -> None:
    found, _session = look(Twin())
    assert found["ports"]["swp31"]["mode"] == "trunk" and "100,200" in found["ports"]["swp31"]["carries"]
    assert found["ports"]["swp29"]["bond"] == "bond1" and found["ports"]["swp28"]["mode"] == "routed"
    assert "swp32" not in found["ports"] and "swp32s0" in found["ports"]


@pytest.mark.parametrize(
    ("mode", "problem"), [("lossless", "RoCE mode is absent, not lossless"), (None, None), ("absent", None)]
)
def test_nvue_roce_off_is_a_problem_only_if_it_ought_to_be_on(mode: str | None, problem: str | None) -> None:
    found, _session = look(Twin(), mode=mode)
    assert found["problems"] == ([problem] if problem else []) and found["healthy"] is (problem is None)


def test_nvue_a_mode_that_ought_to_be_off() -> None:
    twin = Twin()
    run(twin)
    assert look(twin, mode="absent")[0]["problems"] == ["RoCE mode is lossless, not absent"]


def test_nvue_a_mode_that_is_configured_and_not_in_force() -> None:
    twin = Twin()
    run(twin)
    twin.fault(name="exception", text="pool x")
    found, _session = look(twin, *PORTS)
    assert not found["healthy"] and any(problem.startswith("exception list: ") for problem in found["problems"])


def test_nvue_what_is_unsaved_and_what_is_staged() -> None:
    twin = Twin(release="5.4.0")  # newer ones save by themselves
    run(twin, save="never")
    twin.switch.somebody_stages()
    found, _session = look(twin)
    assert not found["saved"] and any("qos roce" in line for line in found["unsaved_changes"])
    assert [key.partition(" ")[0] for key in found["staged_changes"]] == ["revision"]


@pytest.mark.parametrize("name", ["swp90", "swp32"])
def test_nvue_a_port_that_is_not_there(name: str) -> None:
    with pytest.raises(RefusedError) as caught:
        look(Twin(), "swp1", name)
    text = str(caught.value)
    assert "sw02" in text and name in text and "choose from" in text
    assert ("swp32 is split into swp32s0-3" in text) is (name == "swp32")
