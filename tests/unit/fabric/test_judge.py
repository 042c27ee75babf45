"""A fixed sample of simulated fabrics (all: tests/benchmarks/test_fabric.py), and each kind of place."""

from __future__ import annotations

import random

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import judge, schedule
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.model import Fabric, Port

from tests.unit.fabric import simulated
from tests.unit.fabric.simulated import Fault


def fabric(hosts: int, rails: int = 8, leaves: int = 0) -> Fabric:
    ports = {
        host * rails + rail: Port(
            device=f"mlx5_{rail}", switch=f"leaf{rail}{'ab'[host % leaves]}", switch_port=f"1/{host}"
        )
        for host in range(hosts)
        for rail in range(rails)
        if leaves
    }
    return Fabric(tuple(f"host{number}" for number in range(hosts)), rails, ports)


def accused(
    site: Fabric, faults: list[Fault], form: str = "quick", seed: int = 1
) -> set[tuple[str, tuple[int, ...], str]]:
    return {place.key for place in simulated.check(site, faults, form, seed)[0].accused}


@pytest.mark.parametrize(
    ("hosts", "form", "cases"),
    [(16, "quick", 40), (16, "full", 40), (64, "quick", 20), (64, "full", 5), (256, "quick", 4)],
)
def test_up_to_three_faults_are_named_and_nobody_else(hosts: int, form: str, cases: int) -> None:
    site = fabric(hosts)
    kinds = ("host", "nic") if form == "quick" else ("host", "nic", "pair")
    for case in range(cases):
        dice = random.Random(case)
        faults = simulated.some_faults(site, dice, dice.randint(1, 3), kinds)
        assert accused(site, faults, form, case) == {fault.key for fault in faults}, case
        assert accused(site, [], form, case + 1000) == set(), case


@pytest.mark.parametrize("kind", ["nic", "host"])
def test_the_figures_go_through_perftests_own_table(kind: str) -> None:
    site = fabric(8, 2)
    fault = Fault(kind, (3,), 0.5)
    findings, _rounds = simulated.check(site, [fault], "full", 5, printed=True)
    assert {place.key for place in findings.accused} == {fault.key}
    assert findings.accused[0].ratio == pytest.approx(0.5, abs=0.03)


def test_a_value_and_a_failure_come_back_from_the_printed_table() -> None:
    assert simulated.as_printed(195.12) == pytest.approx(195.12)
    assert simulated.as_printed(0.0) == 0.0


def test_dead_and_slow_are_told_apart() -> None:
    site = fabric(16)
    findings, _rounds = simulated.check(site, [Fault("nic", (11,), 0.0), Fault("nic", (50,), 0.4)], "quick", 3)
    assert {place.members: place.dead for place in findings.accused} == {(11,): True, (50,): False}


def test_rail_that_is_slow_everywhere_is_one_place() -> None:
    site = fabric(16, 4)
    faults = [Fault("nic", (site.nic(host, 2),), 0.5) for host in range(16)]
    assert accused(site, faults) == {("rail", (2,), "")}


def test_rail_that_is_dead_is_one_place() -> None:
    site = fabric(16, 4)
    faults = [Fault("nic", (site.nic(host, 1),), 0.0) for host in range(16)]
    assert accused(site, faults) == {("rail", (1,), "")}


def test_leaf_switch_is_named_where_lldp_tells() -> None:
    site = fabric(16, 4, leaves=2)
    behind = site.switches["leaf2b"]
    faults = [Fault("nic", (nic,), 0.5) for nic in behind]
    assert accused(site, faults, "full") == {("switch", tuple(behind), "leaf2b")}


def test_two_hosts_cannot_tell_which_end_it_is() -> None:
    site = fabric(2, 4)
    rounds = schedule.rounds(site, "full") * 3
    seen = simulated.Fabricated(site, [Fault("nic", (1,), 0.4)], 1).measure(rounds)
    assert [(place.kind, place.members) for place in judge.judge(site, seen).accused] == [("pair", (1, 5))]


def test_one_of_four_hosts_does_not_make_the_rail_slow() -> None:
    site = fabric(4, 2)
    seen = simulated.Fabricated(site, [Fault("nic", (4,), 0.3)], 1).measure(schedule.rounds(site, "full"))
    assert [(place.kind, place.members) for place in judge.judge(site, seen).accused] == [("nic", (4,))]


def test_what_was_seen_once_is_measured_again_and_not_accused() -> None:
    site = fabric(16, 2)
    seen = simulated.Fabricated(site, [], 1).measure(schedule.rounds(site, "full"))
    one = seen[3]
    values = list(one.values)
    values[2] *= 0.5
    seen[3] = judge.Sample(one.sweep, values)
    findings = judge.judge(site, seen)
    assert findings.accused == ()
    assert [place.kind for place in findings.open] == ["pair"]
    tests = judge.wanted(site, findings)
    assert sum(set(test) == set(findings.open[0].members) for test in tests) == judge.REPEATS
    assert (
        judge.judge(site, seen + simulated.Fabricated(site, [], 2).measure(schedule.pack(tests, site, 20))).accused
        == ()
    )


def test_what_was_not_measured_accuses_nobody() -> None:
    site = fabric(16, 2)
    seen = simulated.Fabricated(site, [], 1).measure(schedule.rounds(site, "full"))
    seen = [judge.Sample(each.sweep, [float("nan") for _value in each.values]) for each in seen]
    findings = judge.judge(site, seen)
    assert (findings.accused, findings.open) == ((), ())


def test_more_noise_needs_a_larger_drop() -> None:
    site = fabric(16, 2)
    seen = simulated.Fabricated(site, [Fault("nic", (4,), 0.8)], 1).measure(schedule.rounds(site, "full"))
    noisy = [
        judge.Sample(each.sweep, [value * (1 + 0.08 * ((index % 3) - 1)) for index, value in enumerate(each.values)])
        for each in seen
    ]
    assert judge.judge(site, seen).accused
    assert not judge.judge(site, noisy).accused
