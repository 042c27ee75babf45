"""The schedule: every pair once, no NIC twice at once, and what it costs is known before."""

from __future__ import annotations

import importlib.util
import itertools
import json
from pathlib import Path
from types import ModuleType

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import schedule, wire
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.model import Fabric, Port, from_rows
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.readings import fabric_from
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from hypothesis import given, settings
from hypothesis import strategies as st


def fabric(hosts: int, rails: int, absent: frozenset[int] = frozenset()) -> Fabric:
    return Fabric(tuple(f"host{number}" for number in range(hosts)), rails, absent=absent)


def agent() -> ModuleType:
    path = Path(__file__).parents[3] / "workloads/fabric/agent.py"
    spec = importlib.util.spec_from_file_location("fabric_agent", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@settings(deadline=None)
@given(st.integers(2, 24), st.integers(1, 8))
def test_full_form_has_every_pair_of_every_rail_once_and_no_nic_twice_at_once(hosts: int, rails: int) -> None:
    site = fabric(hosts, rails)
    rounds = schedule.rounds(site, "full")
    assert len(rounds) == (hosts - 1 if hosts % 2 == 0 else hosts)
    met = []
    for each in rounds:
        pairs = schedule.pairs(each)
        nics = [nic for pair in pairs for nic in pair]
        assert len(nics) == len(set(nics))
        met += [tuple(sorted(pair)) for pair in pairs]
    wanted = [
        (site.nic(one, rail), site.nic(other, rail))
        for one, other in itertools.combinations(range(hosts), 2)
        for rail in range(rails)
    ]
    assert sorted(met) == sorted(wanted)


@pytest.mark.parametrize("form", ["quick", "full", "bisection"])
@pytest.mark.parametrize("cross", [False, True])
def test_no_nic_is_used_twice_at_once_in_any_form(form: str, cross: bool) -> None:
    for hosts in (2, 3, 7, 16):
        for each in schedule.rounds(fabric(hosts, 4, frozenset({2})), form, cross_rail=cross):
            nics = [nic for pair in schedule.pairs(each) for nic in pair]
            assert len(nics) == len(set(nics))
            assert 2 not in nics


def test_hosts_of_one_round_differ_from_rail_to_rail() -> None:
    site = fabric(16, 8)
    (first, *_rest) = schedule.rounds(site, "full")
    partners = {
        site.host_of(sum(pair) - nic) for pair in schedule.pairs(first) for nic in pair if site.host_of(nic) == 5
    }
    assert len(partners) > 4


def test_cross_rail_joins_every_two_rails() -> None:
    site = fabric(6, 4)
    joined = {
        (site.rail_of(one), site.rail_of(other))
        for each in schedule.rounds(site, "quick", cross_rail=True)
        for one, other in schedule.pairs(each)
    }
    ways = {tuple(sorted(pair)) for pair in joined}
    assert set(itertools.combinations(range(4), 2)) <= ways


def test_bisection_crosses_the_halves_with_everybody_at_once() -> None:
    site = fabric(8, 2)
    for each in schedule.rounds(site, "bisection"):
        assert len(schedule.pairs(each)) == 8
        assert all((site.host_of(one) < 4) != (site.host_of(other) < 4) for one, other in schedule.pairs(each))


@pytest.mark.parametrize("hosts", [16, 64, 256, 1000])
def test_quick_form_and_confirmation_stay_within_2_k_log2_n(hosts: int) -> None:
    most = schedule.quick_rounds(hosts) + schedule.follow_up_limit(hosts)
    assert most <= 2 * 3 * -(-(hosts - 1).bit_length() // 1)


def test_every_pair_of_256_hosts_takes_at_most_15_minutes() -> None:
    site = fabric(256, 8)
    rounds = schedule.rounds(site, "full")
    cost = schedule.cost(site, rounds, seconds=1.0, programs=1, follow_up=schedule.follow_up_limit(256))
    assert cost.rounds == 255
    assert cost.tests == 255 * 128 * 8
    assert cost.seconds <= 15 * 60
    with pytest.raises(RefusedError, match=r"takes 1[0-5] min .*fabric_limit|fabric_limit.*takes 1[0-5] min"):
        schedule.refuse_too_long(cost, 60, "full")


def test_rails_one_after_another_when_asked() -> None:
    rounds = schedule.rounds(fabric(4, 8), "full", rails_at_once=2)
    assert len(rounds) == 3 * 4
    assert all(len(each) == 2 for each in rounds)


def test_packed_tests_never_share_a_nic_nor_pass_the_limit() -> None:
    site = fabric(8, 1)
    tests = [(0, other) for other in range(1, 8)] + [(3, 4)]
    rounds = schedule.pack(tests, site, 4)
    assert [schedule.pairs(each) for each in rounds] == [[(0, 1), (3, 4)], [(0, 2)], [(0, 3)], [(0, 4)]]


@settings(deadline=None)
@given(st.integers(2, 21), st.integers(1, 5))
def test_hosts_compute_the_same_pairs_as_the_controller(hosts: int, rails: int) -> None:
    site = fabric(hosts, rails, frozenset({1}))
    rounds = [*schedule.rounds(site, "quick", cross_rail=True), schedule.Round((((0, 5), (3, 2)),))]
    text = wire.encode(site, rounds, phase="reach", desk=("192.0.2.1", 1), port=2, word="w", limit=1)
    node = agent()
    plan = node.decode(text)
    assert json.dumps(plan)
    for each, sweeps in zip(rounds, plan["rounds"], strict=True):
        found = [pair for sweep in sweeps for pair in node.pairs(sweep, hosts, rails, plan["absent"])]
        assert found == schedule.pairs(each)


def test_plan_of_a_thousand_hosts_fits_a_command_line() -> None:
    site = from_rows(
        {
            f"gpu{number:04d}": [
                Port(f"mlx5_{rail}", f"10.{rail}.{number // 250}.{number % 250 + 1}", 3, 9000) for rail in range(8)
            ]
            for number in range(1000)
        }
    )
    text = wire.encode(
        site, schedule.rounds(site, "full"), phase="reach", desk=("10.0.0.1", 1), port=2, word="w", limit=1
    )
    assert len(text) < 131_072


def test_one_host_or_a_host_twice_is_refused() -> None:
    with pytest.raises(RefusedError, match="have no pair"):
        from_rows({"gpu01": [Port("mlx5_0", "192.0.2.1")]})
    with pytest.raises(RefusedError, match=r"gpu01.*is listed twice"):
        fabric_from([{"name": "gpu01"}] * 2, {})
