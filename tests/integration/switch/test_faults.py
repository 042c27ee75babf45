"""Sessions that break, answers that come late, prompts and screens that are not what one expects; over real SSH.

The runs at every boundary go through the layer; what a person reads is tested through the module.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import UnreachableError, converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx.layer import SwitchLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx.transport import OnyxSession
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.ssh import Settings

from tests.integration.simulated_switch import ADDRESS, PASSWORD, run_module
from tests.integration.switch.harness import Simulator

READY: dict[str, Any] = {"vlan": 111, "vlan_name": "rdma", "ports": ["1/1-1/4"], "mtu": 9216}
INFO: dict[str, Any] = {"module": "switch_roce_info", "system": "onyx"}
# VLAN, RoCE mode, 9 access VLANs, 9 MTUs: no range joins two of these ports.
TWENTY = Wanted(vlan=111, vlan_name="rdma", ports=tuple(f"1/{number}" for number in range(1, 19, 2)), mtu=9216)
LEASE = 1  # line before them all
SAVE = LEASE + 21


def run(simulator: Simulator, wanted: Wanted = TWENTY, timeout: float = 20, **options: Any) -> dict[str, Any]:
    settings = Settings(
        ADDRESS, "admin", PASSWORD, port=simulator.port, known_hosts=str(simulator.known_hosts), timeout=timeout
    )
    layer = SwitchLayer(ADDRESS, lambda: OnyxSession(settings), wanted, **options)
    try:
        return converge(layer, wanted)
    finally:
        layer.close()


@pytest.fixture(scope="module")
def expected(shared_simulator: Simulator) -> Any:
    """What an undisturbed run makes of the same switch."""
    shared_simulator.reset()
    assert len(run(shared_simulator)["operations"]) == 20
    state = shared_simulator.state()
    assert state["running"] == state["saved"]
    return state["running"]


@pytest.mark.parametrize("executed", [False, True], ids=["line lost", "line executed"])
@pytest.mark.parametrize("boundary", range(1, SAVE + 1))
def test_ssh_cut_at_every_command_boundary(simulator: Simulator, expected: Any, boundary: int, executed: bool) -> None:
    factory = simulator.state()["saved"]
    simulator.fault(name="cut_after", lines=boundary, executed=executed)
    with pytest.raises(UnreachableError, match="the session broke") as caught:
        run(simulator)
    assert len(caught.value.details["applied"]) == max(0, boundary - 1 - LEASE)
    cut = simulator.state()
    assert cut["saved"] == (expected if boundary == SAVE and executed else factory)
    again = run(simulator)
    state = simulator.state()
    assert again["saved"] and state["running"] == state["saved"] == expected


@pytest.mark.parametrize("boundary", [LEASE + 2, LEASE + 11, LEASE + 20])
def test_ssh_cut_and_rolled_back_in_a_second_session(simulator: Simulator, boundary: int) -> None:
    before = simulator.state()["running"]
    simulator.fault(name="cut_after", lines=boundary, executed=True)
    simulator.forget()
    with pytest.raises(UnreachableError, match="taken back and") as caught:
        run(simulator, rollback=True)
    assert caught.value.details["rolled_back"] and simulator.log()["sessions"] == 2
    state = simulator.state()
    assert state["running"] == before == state["saved"]


def test_a_switch_that_is_slower_than_netmiko_waits_by_itself_is_waited_for(simulator: Simulator) -> None:
    """Ten seconds are what netmiko waits for an answer where nobody tells it more."""
    simulator.fault(name="slow", command_delay=12, pattern="^roce")
    begun = time.monotonic()
    result = run_module(simulator, timeout=60, **READY)
    assert result["saved"] and time.monotonic() - begun > 12


def test_a_line_that_is_carried_out_late_breaks_no_claim(simulator: Simulator) -> None:
    """The first run has given up and another one has finished by the time the switch carries the line out."""
    factory = simulator.state()["saved"]
    wanted = Wanted(vlan=111, vlan_name="rdma", ports=("1/1", "1/2", "1/3", "1/4"), mtu=9216)
    simulator.fault(name="slow", command_delay=15, pattern="^roce")
    with pytest.raises(UnreachableError, match=r"silent for 3 s.*raise timeout") as caught:
        run(simulator, wanted, timeout=3)
    details = caught.value.details
    assert details["failed_operation"] == "roce lossless" and details["applied"] == ["vlan 111 name rdma"]
    assert details["undo"] == ["no roce", "no vlan 111"]
    assert simulator.state()["saved"] == factory
    simulator.heal()
    assert run(simulator, wanted)["saved"]
    state = simulator.state()
    # The RoCE mode is the only line that concerns an uplink: once by the second run, once more by the late line.
    assert state["flaps"]["1/31"] == 1
    give_up = time.monotonic() + 90
    while simulator.state()["flaps"]["1/31"] == 1 and time.monotonic() < give_up:
        time.sleep(0.5)
    after = simulator.state()
    assert after["flaps"]["1/31"] == 2, "the late line was never carried out"
    assert not after["unsaved"] and after["running"] == state["running"] == after["saved"]
    assert run(simulator, wanted)["operations"] == []


@pytest.mark.parametrize("partial", [False, True], ids=["all or nothing", "member by member"])
def test_an_error_in_the_middle_of_a_range_names_the_port_and_the_way_back(simulator: Simulator, partial: bool) -> None:
    factory = simulator.state()["saved"]
    simulator.fault(name="refuse_port", port="1/3", pattern="mtu")
    if partial:
        simulator.fault(name="range_partial")
    failed = run_module(simulator, **READY)
    assert failed["error_code"] == "apply_failed" and "port '1/3'" in failed["msg"] and "1/1, 1/2" in failed["msg"]
    assert "refuses it" in failed["device_message"] and simulator.state()["saved"] == factory
    mtus = {name: simulator.state()["running"]["ports"][name]["mtu"] for name in ("1/1", "1/2", "1/3", "1/4")}
    assert mtus == {"1/1": 9216, "1/2": 9216, "1/3": 1500, "1/4": 1500}
    simulator.heal()
    assert run_module(simulator, **READY)["saved"]


def test_an_error_in_the_middle_of_a_range_is_taken_back_when_told(simulator: Simulator) -> None:
    before = simulator.state()["running"]
    simulator.fault(name="refuse_port", port="1/3", pattern="mtu")
    failed = run_module(simulator, rollback=True, snapshot="before-rdma", **READY)
    assert failed["rolled_back"] and failed["undo"] == [] and "taken back" in failed["msg"]
    state = simulator.state()
    assert state["running"] == before == state["saved"] == state["snapshots"]["before-rdma"]


def test_a_question_in_the_middle_is_not_answered_and_the_rest_is_taken_back_when_told(simulator: Simulator) -> None:
    before = simulator.state()["running"]
    simulator.fault(name="confirm", pattern="mtu 9216")
    failed = run_module(simulator, rollback=True, **READY)
    assert failed["error_code"] == "apply_failed" and "Type 'YES'" in failed["msg"] and failed["rolled_back"]
    assert simulator.state()["running"] == before


# --- screens and prompts


AWKWARD: list[tuple[str, list[dict[str, Any]]]] = [
    ("standby MLAG peer", [{"name": "prompt", "tag": "mlag-domain: standby"}]),
    ("unknown role", [{"name": "prompt", "tag": "standalone: unknown"}]),
    ("no brackets", [{"name": "prompt", "tag": ""}]),
    ("no host name", [{"name": "prompt", "host": "", "tag": "standalone: master"}]),
    ("dotted host name", [{"name": "prompt", "host": "mellanox.lan"}]),
    ("name of 60 characters", [{"name": "prompt", "host": "s" * 60}]),
    ("MOTD of hashes", [{"name": "motd", "text": "####\n# Property of the site #\n#\n####"}]),
    ("MOTD that looks like a prompt", [{"name": "motd", "text": "maintenance # \nwindow > "}]),
    ("7 bytes at a time", [{"name": "chunks", "size": 7}]),
    ("text before JSON", [{"name": "remark", "text": "Warning: clock is not set", "pattern": "json-print"}]),
    (
        "all at once",
        [
            {"name": "prompt", "tag": "mlag-domain: standby"},
            {"name": "motd", "text": "# hello #\n#"},
            {"name": "chunks", "size": 5},
        ],
    ),
]


@pytest.mark.parametrize("faults", [row[1] for row in AWKWARD], ids=[row[0] for row in AWKWARD])
def test_an_odd_terminal_changes_nothing_about_the_outcome(simulator: Simulator, faults: list[dict[str, Any]]) -> None:
    for fault in faults:
        simulator.fault(**fault)
    wanted = Wanted(vlan=111, vlan_name="rdma", ports=("1/1", "1/2", "1/3", "1/4"), mtu=9216)
    first = run(simulator, wanted)
    assert first["saved"] and len(first["operations"]) == 4
    assert run(simulator, wanted)["operations"] == []
    assert simulator.state()["running"]["ports"]["1/4"]["mtu"] == 9216


def test_one_session_and_a_handful_of_lines(simulator: Simulator) -> None:
    simulator.forget()
    run(simulator, Wanted(vlan=111, ports=tuple(f"1/{number}" for number in range(1, 25)), mtu=9216))
    log = simulator.log()
    assert log["sessions"] == 1 and len(log["lines"]) < 45
    shows = [line for line in log["lines"] if line.startswith("show")]
    configured = [line for line in log["lines"] if line.startswith(("interface", "roce", "vlan"))]
    assert len(configured) == 4 and not [line for line in shows if line.count("1/") == 1 and "ethernet" in line]


def test_check_mode_never_enters_configuration_mode(simulator: Simulator) -> None:
    simulator.forget()
    assert run_module(simulator, check=True, snapshot="before", **READY)["changed"]
    reading = ("show ", "enable", "no cli session paging enable", "exit")
    assert [line for line in simulator.log()["lines"] if not line.startswith(reading)] == []


# --- guards, as a person meets them


def test_a_port_with_another_neighbor_is_refused_untouched(simulator: Simulator) -> None:
    simulator.fault(name="neighbor", port="1/3", system="spine-7")
    before = simulator.state()
    options = {**READY, "expected_neighbors": ["SIMULATED host*"]}
    refused = run_module(simulator, **options)
    assert refused["error_code"] == "refused" and "behind 1/3 is spine-7" in refused["msg"]
    assert simulator.state() == before
    assert run_module(simulator, allow_unexpected_neighbors=["1/3"], **options)["saved"]


def test_a_change_that_reaches_other_ports_is_refused_untouched(simulator: Simulator) -> None:
    before = simulator.state()
    refused = run_module(simulator, check=True, allow_disruption="requested_ports", **READY)
    assert refused["error_code"] == "refused" and "1/31" in refused["msg"]
    assert simulator.state() == before


# --- the read-only module


def test_the_info_module_reads_everything_and_changes_nothing(simulator: Simulator) -> None:
    run_module(simulator, **READY)
    simulator.fault(name="counters", port="1/2", rx_pause=5, ecn_marked=7, rx_discards=1)
    before = simulator.state()
    simulator.forget()
    answer = run_module(simulator, **INFO, mode="lossless")
    assert simulator.state() == before and not answer["changed"]
    result = answer["switch"]
    log = simulator.log()
    assert log["sessions"] == 1 and all(
        line.startswith(("show ", "enable", "no cli session paging", "exit")) for line in log["lines"]
    )
    assert result["healthy"] and result["problems"] == [] and result["unreadable"] == []
    assert result["version"] == "3.10.4006" and result["saved"] and result["role"] == "master"
    assert result["roce"]["traffic_classes"][0]["application"] == "RoCE"
    assert result["vlans"]["111"] == {"name": "rdma", "members": ["1/1", "1/2", "1/3", "1/4"]}
    port = result["ports"]["1/2"]
    assert (port["mode"], port["access_vlan"], port["mtu"], port["trust"]) == ("access", 111, 9216, "L3")
    assert (port["pfc_oper"], port["congestion_control"]) == ("enabled", "ECN")
    assert port["neighbors"][0]["system"] == "SIMULATED host on 1/2"
    assert {key: port["counters"][key] for key in ("rx_pfc_pause", "ecn_marked", "rx_discards")} == {
        "rx_pfc_pause": 5,
        "ecn_marked": 7,
        "rx_discards": 1,
    }
    assert result["ports"]["1/29"]["lag"] == "Po1" and result["ports"]["1/28"]["mode"] == "routed"


def test_the_info_module_says_what_is_wrong_and_does_not_fail(simulator: Simulator) -> None:
    run_module(simulator, **READY)
    simulator.fault(name="exception", text="Eth1/3 buffer differs")
    simulator.fault(name="bad_json", pattern="lldp")
    simulator.fault(name="foreign_change", port="1/9")
    answer = run_module(simulator, **INFO, ports=["1/1-1/4"], mode="lossy")
    result = answer["switch"]
    assert not result["healthy"] and not answer["failed"]
    text = "; ".join(result["problems"])
    assert "RoCE mode is lossless," in text and "Eth1/3 buffer differs" in text and "neighbors" in text
    assert [entry["what"] for entry in result["unreadable"]] == ["neighbors"]
    assert not result["saved"] and "1/9 description" in result["unsaved_changes"][0]
    assert list(result["ports"]) == ["1/1", "1/2", "1/3", "1/4"]


def test_the_info_module_refuses_a_port_that_does_not_exist(simulator: Simulator) -> None:
    result = run_module(simulator, **INFO, ports=["1/1", "1/99"])
    assert result["failed"] and result["error_code"] == "refused" and "1/99" in result["msg"]
