"""Differences of counters: known or with a reason, never a zero that nobody counted; and what the witness says."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof import snapshots
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.counters import Due, judge, moved_bytes, table
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.witness import Doubts, witnesses
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report import page
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import Inputs, build
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.results.report_samples import faults

NETWORK = ["198.51.100.0/24"]
NODES = ["gpu01", "gpu02"]
DUE = 10e9
_DUE = Due(DUE, 2)
WORDS = int(12e9) // 4  # what port_xmit_data grows by for 12 GB


def port(xmit: int, rcv: int, name: str = "mlx5_0", **ethtool: int) -> dict[str, Any]:
    gid = {"index": 3, "gid": "0000:0000:0000:0000:0000:ffff:c633:640b", "type": "RoCE v2"}
    return {
        "name": name,
        "port": 1,
        "link_layer": "Ethernet",
        "gids": [gid],
        "qos": {"pfc_priorities": [3]},
        "counters": {
            "counters": {"port_xmit_data": xmit, "port_rcv_data": rcv},
            "hw_counters": {"out_of_sequence": 0},
            "ethtool": {"rx_prio3_discards": 0, "rx_prio3_pause": 5, "rx_prio0_discards": 9, **ethtool},
        },
    }


def reading(*ports: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"devices": list(ports), "simulated": False, "unreadable": [], "error": "", **changes}


def pair(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {"before": before, "after": after}


GOOD = pair(reading(port(1000, 2000)), reading(port(1000 + WORDS, 2000 + WORDS)))


def told(found: dict[str, Any], due: Due | None = _DUE) -> tuple[str, str]:
    """State and sentence of the witness, as far as the counters alone decide."""
    doubts = Doubts()
    said = doubts.says(judge(found, due, doubts), witnesses()[0])
    return said.state, said.evidence


def judged(second: dict[str, Any]) -> tuple[dict[str, Any], str, str]:
    found = snapshots.rdma({"gpu01": GOOD, "gpu02": second}, NODES, NETWORK)
    return found, *told(found)


def test_growth_is_counted_in_units_of_four_bytes() -> None:
    found, state, text = judged(GOOD)
    seen = found["places"]["gpu01"]
    assert (seen["sent_bytes"], seen["received_bytes"], seen["discards"], seen["pauses"]) == (12e9, 12e9, 0, 0)
    assert (state, text) == (
        "agrees",
        "at least 12.000 GB at each of 2 places, 24.000 GB together; 20.000 GB were due",
    )


def test_two_ports_of_a_node_count_together() -> None:
    both = pair(
        reading(port(0, 0), port(0, 0, "mlx5_1")),
        reading(port(WORDS // 2, WORDS // 2), port(WORDS // 2, WORDS // 2, "mlx5_1")),
    )
    found, state, _text = judged(both)
    assert (found["places"]["gpu02"]["sent_bytes"], state) == (12e9, "agrees")
    assert found["places"]["gpu02"]["ports"] == ["mlx5_0", "mlx5_1"]


def test_a_port_outside_the_network_of_the_training_does_not_count() -> None:
    other = port(10**12, 10**12, "mlx5_1")
    other["gids"] = [{"index": 3, "gid": "0000:0000:0000:0000:0000:ffff:c000:0201", "type": "RoCE v2"}]
    found, state, _text = judged(pair(reading(port(0, 0)), reading(port(0, 0), other)))
    assert found["places"]["gpu02"]["sent_bytes"] == 0 and state == "disagrees"


def without(reading_of: dict[str, Any], counter: str) -> dict[str, Any]:
    changed = copy.deepcopy(reading_of)
    del changed["devices"][0]["counters"]["counters"][counter]
    return changed


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({}, "not read before the run (no reading)"),
        (pair(GOOD["before"], {}), "not read after the run (no reading)"),
        (pair(GOOD["before"], reading(error="Connection timed out")), "after the run (Connection timed out)"),
        (pair(reading(), reading()), "no RDMA port with a RoCE v2 address in 198.51.100.0/24"),
        (pair(GOOD["before"], reading()), "the ports were mlx5_0 before and none after the run"),
        (pair(without(GOOD["before"], "port_xmit_data"), GOOD["after"]), "port_xmit_data was not read before the run"),
        (pair(GOOD["before"], without(GOOD["after"], "port_rcv_data")), "port_rcv_data was not read after the run"),
        (pair(GOOD["after"], GOOD["before"]), f"port_xmit_data went back from {1000 + WORDS} to 1000: it was cleared"),
        (
            pair(reading(port(2**32 - 1, 5)), reading(port(2**32 - 1, 5 + WORDS))),
            "port_xmit_data is 4294967295, ",
        ),
        (pair(reading(port(0, 0)), reading(port("12", WORDS))), "port_xmit_data was not read after the run"),  # type: ignore[arg-type]
    ],
    ids=["no-reading", "only-before", "failed", "no-port", "port-lost", "no-xmit", "no-rcv", "reset", "full", "text"],
)
def test_what_was_not_read_is_unknown_with_the_reason_and_never_zero(second: dict[str, Any], words: str) -> None:
    found, state, text = judged(second)
    assert found["places"]["gpu02"]["sent_bytes"] is None or found["places"]["gpu02"]["received_bytes"] is None
    assert state == "missing"
    assert "gpu02" in text and words in text
    assert any("not read" in cell for cell in table(found)[1])


def test_nothing_at_all_is_a_reason_and_no_place() -> None:
    for readings, words in (
        ({}, "RDMA counters were not read"),
        (dict.fromkeys(NODES, pair(reading(), reading())), "gpu02: no RDMA port"),
    ):
        found = snapshots.rdma(readings, NODES, NETWORK)
        assert found["places"] == {} and words in found["reason"]
        assert told(found)[0] == "missing"


def test_simulated_counters_count_nothing() -> None:
    for moment in ("before", "after"):
        second = copy.deepcopy(GOOD)
        second[moment]["simulated"] = True
        found, state, text = judged(second)
        assert found["places"] == {} and state == "missing" and text.startswith("SIMULATED")


def test_discards_disagree_pauses_and_congestion_are_named() -> None:
    after = reading(port(WORDS, WORDS, rx_prio3_discards=2, rx_prio3_pause=12, rx_prio0_discards=99))
    after["devices"][0]["counters"]["hw_counters"]["out_of_sequence"] = 7
    _found, state, text = judged(pair(reading(port(0, 0)), after))
    assert state == "disagrees" and "were discarded at gpu02" in text
    assert "PFC pauses: 7 at gpu02" in text and "out_of_sequence 7" in text


def test_discards_that_nobody_read_are_named_and_no_zero() -> None:
    blind = copy.deepcopy(GOOD)
    for moment in blind.values():
        del moment["devices"][0]["counters"]["ethtool"]
    found, state, text = judged(blind)
    assert found["places"]["gpu02"]["discards"] is None
    assert state == "agrees" and "not read at gpu02" in text


def test_one_port_without_counters_of_discards_is_enough_for_not_knowing() -> None:
    two = pair(reading(port(0, 0), port(0, 0, "mlx5_1")), reading(port(WORDS, WORDS), port(WORDS, WORDS, "mlx5_1")))
    for moment in two.values():
        moment["devices"][1]["counters"]["ethtool"] = {}
    found, state, text = judged(two)
    assert found["places"]["gpu02"]["discards"] is None and state == "agrees" and "discards were not" in text


def test_whether_devices_are_real_has_to_be_told() -> None:
    silent = copy.deepcopy(GOOD)
    del silent["before"]["simulated"]
    _found, state, text = judged(silent)
    assert state == "missing" and "devices are real" in text


def test_the_nics_that_nccl_names_go_before_the_network_and_have_to_be_seen() -> None:
    rail = {**port(0, 0, "mlx5_1"), "gids": [{"gid": "0000:0000:0000:0000:0000:ffff:c000:0201", "type": "RoCE v2"}]}
    moved = {**port(WORDS, WORDS, "mlx5_1"), "gids": rail["gids"]}
    readings = {"gpu01": pair(reading(port(0, 0), rail), reading(port(5, 5), moved))}
    named = snapshots.rdma(readings, ["gpu01"], NETWORK, {"gpu01": {"mlx5_1"}})
    assert named["places"]["gpu01"]["sent_bytes"] == 12e9 and named["places"]["gpu01"]["ports"] == ["mlx5_1"]
    unseen = snapshots.rdma(readings, ["gpu01"], NETWORK, {"gpu01": {"mlx5_1", "mlx5_7"}})
    assert "NCCL names mlx5_7, which rdma_info did not see" in unseen["reason"]
    asked = snapshots.rdma(readings, ["gpu01"], NETWORK, {"gpu01": {"mlx5_1"}}, NETWORK)
    assert "NCCL used mlx5_1, with no address" in asked["places"]["gpu01"]["strange"]


def test_rails_in_networks_of_their_own_count_together() -> None:
    rail = [{"gid": "0000:0000:0000:0000:0000:ffff:c000:0201", "type": "RoCE v2"}]
    readings = {
        "gpu01": pair(
            reading(port(0, 0), {**port(0, 0, "mlx5_1"), "gids": rail}),
            reading(port(WORDS, WORDS), {**port(WORDS, WORDS, "mlx5_1"), "gids": rail}),
        )
    }
    both = snapshots.rdma(readings, ["gpu01"], ["198.51.100.0/24", "192.0.2.0/24"])
    assert both["places"]["gpu01"]["sent_bytes"] == 24e9


def test_more_than_the_links_carry_between_two_readings_contradicts() -> None:
    fast = copy.deepcopy(GOOD)
    for moment, at in (("before", 1000.0), ("after", 1000.5)):
        fast[moment].update(at=at)
        fast[moment]["devices"][0]["rate"] = "100 Gb/sec (4X EDR)"
    assert judged(fast)[1:] == ("disagrees", judged(fast)[2])
    assert "more moved at gpu02" in judged(fast)[2]
    fast["after"]["at"] = 1002.0
    assert judged(fast)[1] == "agrees"


@given(st.integers(0, 2**64), st.integers(0, 2**64))
def test_a_growth_is_never_negative_and_never_invented(old: int, new: int) -> None:
    found = snapshots.growth({"c": old}, {"c": new}, "c")
    assert (found.value is None) == bool(found.why)
    assert found.value is None or (found.value >= 0 and old + found.value == new)


# -------------------------------------------------------------------------------------------------------------- switch


def switch_port(rx: int, tx: int, oper: str = "up", **more: int) -> dict[str, Any]:
    counted = {"rx_roce_packets": rx, "tx_roce_packets": tx, "rx_discards": 0, "tx_discards": 0, "rx_pfc_pause": 3}
    return {"oper": oper, "counters": {**counted, "ecn_marked": 0, **more}}


def leaf(*ports: dict[str, Any], error: str = "") -> dict[str, Any]:
    return {"ports": {f"1/{number}": one for number, one in enumerate(ports, 1)}, "error": error}


PACKETS = int(DUE / 4096) + 1
QUIET = leaf(switch_port(10, 10), switch_port(10, 10), switch_port(0, 0, "down"))
BUSY = leaf(switch_port(10 + PACKETS, 10 + PACKETS), switch_port(10 + PACKETS, 10 + PACKETS), switch_port(0, 0, "down"))


def switch_judged(before: dict[str, Any], after: dict[str, Any], nodes: int = 2) -> tuple[str, str]:
    found = snapshots.switches({"leaf01": pair(before, after)}, nodes)
    return told(found, Due(DUE, nodes))


def test_packets_of_all_ports_carry_at_most_what_their_largest_payload_allows() -> None:
    state, text = switch_judged(QUIET, BUSY)
    assert state == "agrees" and "2 ports of leaf01" not in text and "20.000 GB were due" in text
    found = snapshots.switches({"leaf01": pair(QUIET, BUSY)}, 2)
    seen = next(iter(found["places"].values()))
    assert seen["sent_packets"] == 2 * PACKETS and moved_bytes(seen) == 2 * PACKETS * 4096
    assert seen["ports"] == ["leaf01 1/1", "leaf01 1/2"], "a port that is down is no place"


def test_too_few_packets_contradict_however_large_they_may_have_been() -> None:
    state, text = switch_judged(QUIET, leaf(switch_port(500, 500), switch_port(500, 500), switch_port(0, 0, "down")))
    assert state == "disagrees" and "little moved at 2 ports of leaf01" in text and "in packets" in text


def test_no_packet_contradicts() -> None:
    state, text = switch_judged(QUIET, QUIET)
    assert state == "disagrees" and "nothing moved" in text


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (QUIET, leaf(error="no route to host"), "leaf01 was not read after the run (no route to host)"),
        ({}, BUSY, "leaf01 was not read before the run (no reading)"),
        (leaf(), leaf(), "no port of leaf01 that was looked at is up"),
        (
            QUIET,
            leaf({"oper": "up", "counters": {}}, *list(BUSY["ports"].values())[1:]),
            "leaf01 1/1: tx_roce_packets was not read after the run",
        ),
        (QUIET, leaf(switch_port(10**8, 10**8)), "other ports were read before the run than after it"),
        (BUSY, QUIET, "tx_roce_packets went back"),
        (
            QUIET,
            leaf(switch_port(10**8, 10**8), switch_port(10, 10), switch_port(0, 0, "down")),
            "through one port only (leaf01 1/1)",
        ),
    ],
    ids=["failed", "only-after", "no-port", "not-printed", "other-ports", "cleared", "one-port"],
)
def test_what_the_switch_does_not_tell_is_missing(before: dict[str, Any], after: dict[str, Any], words: str) -> None:
    state, text = switch_judged(before, after)
    assert state == "missing" and words in text


def test_ports_of_a_large_site_are_not_all_named() -> None:
    quiet, busy = (leaf(*[switch_port(10 + count, 10 + count)] * 255) for count in (0, PACKETS))
    _state, text = switch_judged(quiet, busy, 256)
    assert "255 ports only" in text and "leaf01 1/4 and 251 more" in text


def test_switches_that_nobody_read_are_missing() -> None:
    assert told(snapshots.switches({}, 2)) == (
        "missing",
        "the switch's counters were not read before and after the training",
    )
    assert "SIMULATED" in told(snapshots.switches({"leaf01": pair(QUIET, BUSY)}, 2, simulated=True))[1]


def test_discards_pauses_and_marks_of_the_switch_are_named_with_their_port() -> None:
    after = copy.deepcopy(BUSY)
    after["ports"]["1/2"]["counters"].update(tx_discards=4, rx_pfc_pause=10, ecn_marked=6)
    state, text = switch_judged(QUIET, after)
    assert state == "disagrees"
    assert "packets were discarded" in text and "PFC pauses: 7" in text
    assert "tx_discards at leaf01 1/2 4" in text and "ecn_marked at leaf01 1/2 6" in text


@pytest.mark.parametrize(("shown", "words"), [("before", "after the run"), ("after", "before the run")])
def test_a_counter_of_discards_that_is_shown_once_is_not_known(shown: str, words: str) -> None:
    """A third counter appears beside two that did not grow: nobody knows what it had counted."""
    before, after = copy.deepcopy(QUIET), copy.deepcopy(BUSY)
    {"before": before, "after": after}[shown]["ports"]["1/2"]["counters"]["tx_hoq_discards"] = 0
    state, text = switch_judged(before, after)
    assert state == "missing" and f"leaf01 1/2: tx_hoq_discards was not read {words}" in text


def test_discards_of_the_switch_that_nobody_read_are_missing() -> None:
    before, after = copy.deepcopy(QUIET), copy.deepcopy(BUSY)
    for reading_of in (before, after):
        for name in ("rx_discards", "tx_discards"):
            del reading_of["ports"]["1/2"]["counters"][name]
    state, text = switch_judged(before, after)
    assert state == "agrees" and "discards were not" in text


@pytest.mark.parametrize("due", [None, Due(0.0, 2), Due(DUE, 1), Due(float("nan"), 2)])
def test_traffic_proves_nothing_if_nothing_is_known_to_be_due(due: Due | None) -> None:
    found = snapshots.rdma(dict.fromkeys(NODES, GOOD), NODES, NETWORK)
    state, text = told(found, due)
    assert state == "missing" and "had to move" in text


@pytest.mark.parametrize(("moved", "state"), [(0.91, "agrees"), (0.89, "disagrees")])
def test_nine_tenths_of_what_was_due_have_to_be_seen(moved: float, state: str) -> None:
    words = round(moved * DUE / 4)
    found = snapshots.rdma(
        {node: pair(reading(port(5, 5)), reading(port(5 + words, 5 + words))) for node in NODES}, NODES
    )
    assert told(found)[0] == state


@pytest.mark.parametrize(
    ("sent", "state"),
    [
        ((1.5, 1.5, 1.5, 1.5), "agrees"),  # a ring
        ((1.0, 2.0, 2.0, 1.0), "agrees"),  # NCCL's double tree over four nodes
        ((1.0, 1.0, 1.0, 1.0), "disagrees"),  # enough at each node, too little together
        ((0.5, 2.0, 2.0, 1.5), "disagrees"),  # enough together, too little at one node
    ],
    ids=["ring", "tree", "too-little-together", "too-little-at-one"],
)
def test_what_is_due_does_not_depend_on_the_algorithm(sent: tuple[float, ...], state: str) -> None:
    nodes = [f"gpu0{number}" for number in range(1, 5)]
    readings = {
        node: pair(reading(port(0, 0)), reading(port(round(share * DUE / 4), round(share * DUE / 4))))
        for node, share in zip(nodes, sent)
    }
    assert told(snapshots.rdma(readings, nodes, NETWORK), Due(DUE, 4))[0] == state


def test_the_report_shows_what_moved_and_what_was_not_read() -> None:
    job = {"hosts": {node: node for node in NODES}, "cluster_network": NETWORK[0]}
    evidence = {"job": job, "rdma": {"gpu01": GOOD, "gpu02": {}}, "switches": {"leaf01": pair(QUIET, BUSY)}}
    summary = build(Inputs("one", evidence=evidence))
    assert faults(summary) == []
    assert summary["counters"]["rdma"]["places"]["gpu01"]["sent_bytes"] == 12e9
    text = page.markdown(summary)
    assert "| gpu01 | 12.000 GB | 12.000 GB | 0 | 0 |  |" in text
    assert "| gpu02 | not read | not read | not read | not read | not read before" in text and "(no reading) |" in text
    html = page.report(summary)
    for words in ("Counters, before and after the training", f"{2 * PACKETS:,} packets", "2 ports of leaf01"):
        assert words in html and words in text
