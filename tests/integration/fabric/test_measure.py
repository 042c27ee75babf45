"""Rounds of the stand-in for perftest between real agents, over links with real faults. SIMULATED: TCP, no RDMA."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import judge, schedule, wire

from tests.integration.fabric import namespaces

WRITE_BW = [["ib_write_bw", "-F", "--report_gbits", "-D", str(namespaces.SECONDS), "-s", "65536"]]
# Of what comes and what goes each third packet: acknowledgements alone are soon made up for.
LOST = "iptables -A INPUT -i {0} -p tcp {1}; iptables -A OUTPUT -o {0} -p tcp {1}"
EACH_THIRD = "-m statistic --mode nth --every 3 --packet 0 -j DROP"


def throttle(site: namespaces.Namespaces, host: int, rail: int, megabits: int) -> None:
    """Both ways of a link, whose line rate is 40."""
    slow = f"root tbf rate {megabits}mbit burst 10kb latency 50ms"
    site.host(host, f"tc qdisc add dev r{rail} {slow}")
    site.switches(f"tc qdisc add dev h{host}r{rail} {slow}")


def slow_and_refusing(site: namespaces.Namespaces) -> None:
    throttle(site, 2, 0, 12)
    site.environment[3] = {"STAND_IN_FAULTS": "gid:mlx5_1"}


def slow_host(site: namespaces.Namespaces) -> None:
    for rail in (0, 1):
        throttle(site, 1, rail, 12)


def quarter_rate_and_lossy(site: namespaces.Namespaces) -> None:
    throttle(site, 3, 0, 10)
    site.host(0, LOST.format("r1", EACH_THIRD))


CASES = {
    "slow port, no GID": (slow_and_refusing, {("nic", (4,)), ("nic", (7,))}),
    "slow host": (slow_host, {("host", (1,))}),
    "link at a quarter of its rate, lossy port": (quarter_rate_and_lossy, {("nic", (6,)), ("nic", (1,))}),
}


def rounds_in_time(site: namespaces.Namespaces, broken: set[int]) -> wire.Measured:
    """A slot is long enough if every link that nothing is wrong with gave its figure: a busy machine takes its time."""
    rounds = schedule.rounds(site.fabric, "full")
    slot = namespaces.SLOT
    while True:
        lines = site.agents(site.plan(rounds, "measure", WRITE_BW, slot))
        measured = wire.measured(rounds, 1, wire.answers(site.fabric, lines))
        tests = [
            (pair, value) for each in measured.seen[0] for pair, value in zip(each.sweep, each.values, strict=True)
        ]
        if all(value > 0 for pair, value in tests if not broken.intersection(pair)):
            return measured
        slot *= 3
        assert slot < 120, measured.failures


@pytest.mark.parametrize("name", CASES)
def test_place_is_named(tmp_path: Path, name: str) -> None:
    break_it, expected = CASES[name]
    with namespaces.fabric(4, 2, tmp_path / "tools") as site:
        break_it(site)
        broken = {
            nic
            for kind, members in expected
            for nic in (site.fabric.nics_of(members[0]) if kind == "host" else members)
        }
        measured = rounds_in_time(site, broken)
        findings = judge.judge(site.fabric, measured.seen[0], 0.3, 2)
    assert measured.simulated
    assert {(place.kind, place.members) for place in findings.accused} == expected
    if "GID" in name:
        assert {place.members for place in findings.accused if place.dead} == {(7,)}
        assert any("Failed to modify QP" in failure.why for failure in measured.failures)
