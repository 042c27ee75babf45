"""The switch role with `rocemesh_switch_driver: cumulus`, through ansible-playbook."""

from __future__ import annotations

from tests.integration.cumulus.harness import Simulator
from tests.integration.simulated_switch import (
    assert_converges_and_stays,
    assert_verify_names_what_is_missing,
    run_module,
    run_role,
)


def test_the_role_converges_and_stays_with_nvue(nvue: Simulator) -> None:
    assert_converges_and_stays([run_role(nvue), run_role(nvue)])


def test_verify_alone_names_what_is_missing_and_only_reads(nvue: Simulator) -> None:
    status, results = run_role(nvue, entry="verify")
    assert_verify_names_what_is_missing(status, results)
    assert all(request.startswith("GET ") for request in nvue.state()["requests"])


def test_observe_reads_what_is_wrong_without_failing(nvue: Simulator) -> None:
    status, results = run_role(nvue, entry="observe")
    observed = results["observed"]["switch_observed"]
    assert status == 0 and not observed["healthy"] and observed["problems"] == ["RoCE mode is absent, not lossless"]
    assert list(observed["ports"]) == ["swp1", "swp2", "swp3", "swp4"] and observed["ports"]["swp1"]["counters"]
    assert all(request.startswith("GET ") for request in nvue.state()["requests"])


def test_counters_are_read_and_a_switch_that_does_not_answer_is_named(nvue: Simulator) -> None:
    status, results = run_role(nvue, entry="counters", switch_moment="before")
    reading = results["readings"]["switch_readings"]["before"]
    assert status == 0 and reading["error"] == "" and reading["ports"]["swp1"]["counters"]
    assert all(request.startswith("GET ") for request in nvue.state()["requests"])
    status, results = run_role(nvue, entry="counters", switch_moment="after", switch_password="wrong")
    reading = results["readings"]["switch_readings"]["after"]
    assert status == 0 and reading["ports"] == {} and "the login was refused" in reading["error"]


def test_restore_of_a_run_gives_the_earlier_configuration(nvue: Simulator) -> None:
    before = nvue.state()["applied"]
    diff = run_module(nvue, vlan=111, ports=["swp1-4"], mtu=9216)["diff"]
    assert nvue.state()["applied"] != before
    status, results = run_role(nvue, entry="restore", switch_restore=diff)
    (restored,) = [result for result in results.values() if "left_alone" in result]
    assert status == 0 and restored["changed"] and restored["saved"] and restored["left_alone"] == []
    after = nvue.state()["applied"]
    assert {key: value for key, value in after.items() if value} == before
