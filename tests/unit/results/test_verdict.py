# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict: proven only if every witness agrees, never on simulated devices, and every lie of a log is found out."""

from __future__ import annotations

import itertools
import pathlib
import re
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results import tf_cnn
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.limits import Comparison, Limit, unknown
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.summary import (
    LAYERS,
    TITLES,
    Inputs,
    build,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.verdict import (
    AGREES,
    DISAGREES,
    IMPOSSIBLE,
    INVALID,
    INVALIDATING,
    MISSING,
    NOT_PROVEN,
    PROVEN,
    Witness,
    judge,
    witnesses,
)
from hypothesis import given
from hypothesis import strategies as st

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
TF_CNN = pathlib.Path(tf_cnn.__file__)
LAYER = {"changed": False, "verified": True, "found": {}, "changes": []}
PLACES = {"gpu01 mlx5_0": {"sent_bytes": 20e9, "received_bytes": 20e9, "discards": 0}}
GOOD: dict[str, Any] = {
    "result": {
        "total": 400.0,
        "per_rank": [{"rank": rank, "host": f"gpu0{rank + 1}", "images_per_second": 100.0} for rank in range(4)],
        "agreement": {"ok": True, "relative_difference": 0.0},
        "problems": [],
    },
    "layers": dict.fromkeys(LAYERS, LAYER),
    "layer_titles": TITLES,
    "path": {"verdict": "gdrdma", "pairs": [{"verdict": "gdrdma"}] * 12, "reason": "via NET/IB/0/GDRDMA"},
    "rdma_counters": {"places": PLACES, "expected_bytes": 15e9},
    "switch_counters": {"places": {"sw01 1/1": PLACES["gpu01 mlx5_0"]}, "expected_bytes": 15e9},
    "comparisons": [Comparison("training rate", 400.0, Limit("wire", 900.0, "images/s", "x"), physical=True)],
    "expected_ranks": 4,
}


def heard(**changes: Any) -> list[Witness]:
    return witnesses(**{**GOOD, **changes})


def said(name: str, **changes: Any) -> Witness:
    return next(witness for witness in heard(**changes) if witness.name == name)


def only_hyphenated_not(line: str) -> bool:
    """True if PROVEN never stands alone."""
    return not re.search(r"(?<!NOT )PROVEN", line)


def test_a_run_with_every_witness_is_proven() -> None:
    verdict = judge(heard(), simulated=False)
    assert (verdict.state, verdict.reasons) == (PROVEN, ())
    assert verdict.line.startswith("PROVEN: 7 independent witnesses agree")


def test_the_same_run_on_simulated_devices_is_never_proven() -> None:
    verdict = judge(heard(), simulated=True)
    assert verdict.state == NOT_PROVEN
    assert verdict.line.startswith("SIMULATED - NOT PROVEN: every witness agrees; simulated devices prove nothing")
    assert only_hyphenated_not(verdict.line)


@given(st.lists(st.sampled_from([AGREES, DISAGREES, MISSING, IMPOSSIBLE]), max_size=7), st.booleans())
def test_proven_takes_hardware_and_the_word_of_every_witness(states: list[str], simulated: bool) -> None:
    verdict = judge([Witness(str(index), "Somebody", state, "x") for index, state in enumerate(states)], simulated)
    assert (verdict.state == PROVEN) == (bool(states) and set(states) == {AGREES} and not simulated)
    assert (verdict.state == INVALID) == (IMPOSSIBLE in states)
    assert verdict.line.startswith("SIMULATED - ") == simulated
    assert simulated == (verdict.state != PROVEN and "simulated" in verdict.line)
    if verdict.state != PROVEN:
        assert only_hyphenated_not(verdict.line)
        assert verdict.reasons or not states


def test_each_witness_alone_can_hold_up_the_proof_by_its_absence() -> None:
    absent: dict[str, dict[str, Any]] = {
        "path": {"path": None},
        "rdma_counters": {"rdma_counters": None},
        "switch_counters": {"switch_counters": None},
        "limits": {"comparisons": []},
        "layers": {"layers": {**GOOD["layers"], "nic": {**LAYER, "verified": None}}},
        "ranks": {"result": None},
    }
    for name, change in absent.items():
        assert said(name, **change).state == MISSING, name
        verdict = judge(heard(**change), simulated=False)
        assert verdict.state == NOT_PROVEN, name
        assert said(name, **change).title[1:] in verdict.line, name


@pytest.mark.parametrize("code", INVALIDATING)
def test_a_log_that_is_no_result_of_one_job_makes_the_run_invalid(code: str) -> None:
    result = {**GOOD["result"], "problems": [{"code": code, "message": "because"}]}
    verdict = judge(heard(result=result), simulated=False)
    assert verdict.state == INVALID
    assert "because" in verdict.line


def test_every_invalidating_code_is_one_that_the_reader_of_logs_can_give() -> None:
    assert [code for code in INVALIDATING if f'"{code}"' not in TF_CNN.read_text()] == []


def test_the_guides_own_sample_is_an_invalid_run() -> None:
    result = tf_cnn.parse((FIXTURES / "guide_sample.txt").read_text()).as_result()
    verdict = judge(heard(result=result), simulated=False)
    assert verdict.state == INVALID
    assert "add up to 6655.80" in verdict.line


def test_a_missing_rank_is_an_invalid_run_and_not_a_slower_one() -> None:
    result = {**GOOD["result"], "per_rank": GOOD["result"]["per_rank"][:3]}
    verdict = judge(heard(result=result), simulated=False)
    assert verdict.state == INVALID
    assert "4 ranks were started, 3 have a result" in verdict.line


@pytest.mark.parametrize(
    ("path", "state", "words"),
    [
        ({"verdict": "gdrdma", "reason": "r"}, AGREES, "GPUDirect RDMA"),
        ({"verdict": "rdma_via_host", "reason": "no /GDRDMA"}, DISAGREES, "through host memory: no /GDRDMA"),
        ({"verdict": "sockets", "reason": "NET/Socket"}, DISAGREES, "TCP sockets: NET/Socket"),
        ({"verdict": "not_one_job", "reason": "no channel"}, IMPOSSIBLE, "no channel"),
        ({"verdict": "unknown", "reason": "no NCCL lines"}, MISSING, "no NCCL lines"),
        ({"verdict": "teleport", "reason": "r"}, MISSING, "'teleport', which is not known here"),
        ({}, MISSING, "no NCCL log was read"),
        ({"verdict": "gdrdma", "pairs": [{"verdict": "gdrdma"}, {"verdict": "sockets"}]}, DISAGREES, "sockets"),
    ],
)
def test_the_path_witness(path: dict[str, Any], state: str, words: str) -> None:
    witness = said("path", path=path)
    assert witness.state == state
    assert words in witness.evidence


def test_a_run_without_nccl_says_what_it_used_instead() -> None:
    ranks = [{**rank, "machine": {"backend": "gloo"}} for rank in GOOD["result"]["per_rank"]]
    witness = said("path", path=None, result={**GOOD["result"], "per_rank": ranks})
    assert (witness.state, "gloo, not NCCL" in witness.evidence) == (MISSING, True)


def place(**seen: Any) -> dict[str, Any]:
    return {"places": {"p": {"sent_bytes": 20e9, "received_bytes": 20e9, **seen}}, "expected_bytes": 15e9}


@pytest.mark.parametrize("name", ["rdma_counters", "switch_counters"])
@pytest.mark.parametrize(
    ("counters", "state", "words"),
    [
        (place(), AGREES, "20.000 GB or more at each of 1 places, 15.000 GB were due"),
        (place(sent_bytes=0), DISAGREES, "nothing moved at p"),
        (place(received_bytes=1e6), DISAGREES, "too little moved at p"),
        (place(discards=3), DISAGREES, "packets were discarded at p"),
        (place(sent_bytes=None), MISSING, "no zero"),
        ({**place(), "expected_bytes": None}, MISSING, "what the run had to move is not known"),
        ({"reason": "sysfs is not there"}, MISSING, "sysfs is not there"),
    ],
)
def test_counters_prove_something_only_against_what_was_due(
    name: str, counters: dict[str, Any], state: str, words: str
) -> None:
    witness = said(name, **{name: counters})
    assert witness.state == state
    assert words in witness.evidence


def test_a_rate_above_a_physical_limit_is_invalid_above_a_measured_one_suspicious() -> None:
    limit = Limit("wire", 300.0, "images/s", "x")
    physical = Comparison("training rate", 400.0, limit, physical=True)
    assert said("limits", comparisons=[physical]).state == IMPOSSIBLE
    compute = Comparison("training rate", 400.0, limit, physical=False)
    assert said("limits", comparisons=[*GOOD["comparisons"], compute]).state == DISAGREES


def test_a_rate_within_the_margin_of_the_clock_is_not_impossible() -> None:
    close = Comparison("training rate", 101.0, Limit("wire", 100.0, "images/s", "x"), physical=True)
    assert said("limits", comparisons=[close]).state == AGREES


def test_comparing_with_a_measured_limit_alone_is_no_physical_witness() -> None:
    wire = Comparison("training rate", 4.0, unknown("wire", "images/s", "nobody gave the link"), physical=True)
    alone = Comparison("training rate", 4.0, Limit("one GPU", 5.0, "images/s", "x"), physical=False)
    witness = said("limits", comparisons=[wire, alone])
    assert witness.state == MISSING
    assert "nobody gave the link" in witness.evidence


def test_devices_that_call_themselves_simulated_do_so_for_the_whole_run() -> None:
    """Also where whoever called the module forgot to say it."""
    layers = {name: {**LAYER, "found": {"gpu01": ["GPU 0: SIMULATED A100"]}} for name in LAYERS}
    summary = build(Inputs(run_id="x", simulated=False, layers=layers))
    assert summary["simulated"] is True
    assert summary["verdict"]["line"].startswith("SIMULATED - ")


def test_witnesses_are_the_same_seven_in_the_same_order_whatever_is_given() -> None:
    names = ["log", "ranks", "layers", "path", "rdma_counters", "switch_counters", "limits"]
    nothing = {"result": None, "layers": {}, "path": None, "rdma_counters": None, "switch_counters": None}
    for keys in itertools.chain([()], [tuple(nothing)], ((key,) for key in nothing)):
        assert [witness.name for witness in heard(**{key: nothing[key] for key in keys})] == names
