"""The role alone, as its README shows it: no group, no facts from another role."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.simulated_switch import assert_converges_and_stays, assert_verify_names_what_is_missing, run_role
from tests.integration.switch.harness import Simulator


def test_the_role_converges_and_stays(simulator: Simulator) -> None:
    assert_converges_and_stays([run_role(simulator), run_role(simulator)])


def test_check_mode_of_the_role_changes_nothing(simulator: Simulator) -> None:
    before = simulator.state()
    status, results = run_role(simulator, "--check")
    assert status == 0 and not results["outcome"]["switch_outcome"]["verified"]
    assert simulator.state() == before


def test_verify_alone_names_what_is_missing(simulator: Simulator) -> None:
    before = simulator.state()
    status, results = run_role(simulator, entry="verify")
    assert_verify_names_what_is_missing(status, results)
    assert simulator.state() == before


def test_somebody_elses_unsaved_changes_stop_the_role_after_configuring(simulator: Simulator) -> None:
    simulator.fault(name="foreign_change")
    status, results = run_role(simulator)
    message = next(result["msg"] for result in results.values() if result.get("failed"))
    assert status != 0 and "switch_save=always" in message
    assert simulator.state()["running"]["roce"] == "lossless" and simulator.state()["unsaved"]
    status, results = run_role(simulator, switch_save="always")
    assert status == 0 and not simulator.state()["unsaved"]
    assert any(name.endswith("Configure RoCE, VLAN, ports and MTU on Onyx") for name in results)


def test_wrong_variables_are_refused_before_the_switch_hears_of_them(simulator: Simulator) -> None:
    for changes in ({"switch_ports": []}, {"switch_roce_mode": "fast"}, {"switch_known_hosts": "/nonexistent"}):
        status, results = run_role(simulator, **changes)
        assert status != 0 and any(result.get("failed") for result in results.values())
        assert not any(name.endswith("Configure RoCE, VLAN, ports and MTU on Onyx") for name in results)


def read_counters(simulator: Simulator, **changes: Any) -> tuple[int, dict[str, Any]]:
    """Exit status, and what entry point counters published before and after."""
    status, results = run_role(simulator, entry="counters", moments=("before", "after"), **changes)
    return status, results["readings"]["switch_readings"]


def test_counters_are_read_before_and_after_and_nothing_changes(simulator: Simulator) -> None:
    run_role(simulator)
    before = simulator.state()
    status, readings = read_counters(simulator)
    assert status == 0 and sorted(readings) == ["after", "before"]
    for reading in readings.values():
        assert reading["error"] == "" and reading["roce"]["mode"] == "lossless"
        assert sorted(reading["ports"]) == ["1/1", "1/2", "1/3", "1/4"]
        assert {"rx_roce_packets", "tx_roce_packets", "rx_discards", "rx_pfc_pause"} <= set(
            reading["ports"]["1/1"]["counters"]
        )
    assert simulator.state() == before


def test_a_switch_that_lets_nobody_in_is_a_reading_with_a_reason(simulator: Simulator) -> None:
    status, readings = read_counters(simulator, switch_password="wrong")
    assert status == 0
    assert all(reading["ports"] == {} and reading["error"] for reading in readings.values())


@pytest.mark.parametrize(
    "given",
    [
        {"accept_warnings": "true", "host_key_checking": "false", "rollback": "true", "svi": "false"},
        {"accept_warnings": "no", "host_key_checking": "yes", "rollback": "0", "svi": "false"},
    ],
    ids=["one-way", "the-other-way"],
)
def test_booleans_of_the_command_line_are_strings_and_mean_the_same(
    simulator: Simulator, given: dict[str, str]
) -> None:
    flags = [word for name, value in given.items() for word in ("-e", f"switch_{name}={value}")]
    status, results = run_role(simulator, *flags)
    assert status == 0 and results["outcome"]["switch_outcome"]["verified"], results
