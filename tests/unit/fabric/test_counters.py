"""Counters before and after the rounds: damaged bits and lost packets have a place, whatever the speed says."""

from __future__ import annotations

import os
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import counters
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.judge import Place
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.model import Fabric
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.finding import Finding

from tests.unit.fabric.test_check import NODE, site, whole

FABRIC = Fabric(tuple(f"gpu{number}" for number in range(4)), 2)


def answer(nic: int, **names: tuple[int, int]) -> dict[str, Any]:
    return {"counters": {str(nic): {name: list(pair) for name, pair in names.items()}}}


def test_hosts_read_the_counters_that_the_controller_judges() -> None:
    assert {*counters.NAMES["damage"], *counters.NAMES["loss"]} < set(NODE.COUNTERS)


def test_parts_add_up_and_one_that_went_back_is_not_known() -> None:
    found = counters.moved(
        [answer(3, out_of_sequence=(5, 25)), answer(3, out_of_sequence=(25, 26), symbol_error=(9, 1))]
    )
    assert found == {3: {"out_of_sequence": 21}}


@pytest.mark.parametrize("name", counters.NAMES["damage"])
def test_one_damaged_packet_is_a_fault_of_this_nic(name: str) -> None:
    (fault,) = counters.joined(FABRIC, [], {5: {name: 1}})
    assert (fault.thing, fault.place.members) == ("damage", (5,)) and f"{name} +1" in fault.text


def test_nic_that_loses_far_more_than_its_rail_is_told_and_not_accused() -> None:
    grown = {5: {"out_of_sequence": 400}, 1: {"out_of_sequence": 3}, 7: {"packet_seq_err": 999}}
    (note,) = counters.losses(FABRIC, grown)
    assert note.startswith(FABRIC.name(5)) and "out_of_sequence +400" in note and "either end" in note
    assert counters.joined(FABRIC, [], grown) == []


def test_one_of_two_hosts_that_loses_is_told() -> None:
    two = Fabric(("gpu0", "gpu1"), 1)
    (note,) = counters.losses(two, {1: {"out_of_seq_request": 40}, 0: {"rcvd_seq_err": 40}})
    assert note.startswith(two.name(1)) and "out_of_seq_request +40" in note


def test_a_bad_sender_accuses_none_of_those_that_it_sent_to() -> None:
    slow = Finding(Place("nic", (5,)), "slow", "4 of 4 bad", "swap")
    grown = {nic: {"out_of_sequence": 200} for nic in (1, 3)}
    assert [fault.place.members for fault in counters.joined(FABRIC, [slow], grown)] == [(5,)]


def test_loss_that_the_whole_rail_has_is_not_told() -> None:
    assert counters.losses(FABRIC, {nic: {"out_of_sequence": 400 + nic} for nic in (1, 3, 5, 7)}) == []


def test_counters_stand_beside_what_was_measured_and_are_not_told_twice() -> None:
    slow = Finding(Place("nic", (5,)), "slow", "4 of 4 bad", "swap")
    (told,) = counters.joined(FABRIC, [slow], {5: {"symbol_error": 7}})
    assert told.text == "4 of 4 bad; counters: symbol_error +7"


def test_host_reads_its_port_and_its_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error": "4",
        "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence": "17",
        "/sys/class/net/ens0/statistics/rx_crc_errors": "2",
        "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed": "N/A",
    }
    monkeypatch.setattr(NODE, "_file", lambda path: files.get(path, ""))
    monkeypatch.setattr(os, "listdir", lambda _path: ["1"])
    found = NODE.counters({"device": "mlx5_0", "netdev": "ens0"})
    assert found == {"symbol_error": 4, "out_of_sequence": 17, "rx_crc_errors": 2}
    monkeypatch.setattr(os, "listdir", lambda _path: ["1", "2"])
    assert NODE.counters({"device": "mlx5_0", "netdev": "ens0"}) == {"rx_crc_errors": 2}


def test_host_sends_only_what_differs() -> None:
    assert NODE.grown({0: {"a": 1, "b": 2}, 1: {"a": 1}}, {0: {"a": 1, "b": 5}, 1: {"a": 1, "c": 3}}) == {
        "0": {"b": [2, 5]}
    }


def test_report_names_the_damaged_link_although_the_speed_is_right() -> None:
    what = site()
    extra = {2: {"5": {"symbol_error": [100, 112]}}}
    part, _parts = whole(what, counted=extra)
    (fault,) = part["report"]["faults"]
    assert (fault["thing"], fault["place"]) == ("damage", "gpu02 rail 1 (mlx5_1) at leaf1 1/3")
    assert part["report"]["counters"] == {"gpu02 rail 1 (mlx5_1) at leaf1 1/3": {"symbol_error": 12}}
    assert not part["report"]["ok"]
