"""No reader finds a problem that the verdict or the report would keep quiet about."""

from __future__ import annotations

import pytest

from tests.unit.proof import problem_codes

CODES = [(reader, code) for reader, names in problem_codes.codes().items() for code in names]


@pytest.mark.parametrize(("reader", "code"), CODES, ids=[f"{reader}-{code}" for reader, code in CODES])
def test_a_problem_changes_the_verdict_or_stands_in_the_report(reader: str, code: str) -> None:
    state, heard, shown = problem_codes.effect(reader, code)
    assert shown
    if reader in (*problem_codes.NCCL, *problem_codes.TRAINING):
        assert state != "PROVEN" and heard


def test_codes_are_found_in_the_source() -> None:
    found = problem_codes.codes()
    assert {"aborted", "mixed_versions", "ib_transport_retry_exceeded", "unreadable_channel"} <= set(found["nccl_log"])
    assert {"missing_ranks", "weights_differ", "loss_not_finite"} <= set(found["tf_cnn"])
    assert {"incomplete", "rank_on_two_hosts", "collnet"} <= set(found["path_verdict"])


def test_each_witness_says_what_it_needs() -> None:
    assert [name for name, text in problem_codes.NEEDS.items() if text] == [
        each.name for each in problem_codes.witnesses()
    ]


def test_the_published_table_is_what_the_source_says() -> None:
    """If this fails: python -m tests.unit.proof.problem_codes."""
    assert problem_codes.PAGE.read_text(encoding="utf-8") == problem_codes.page()
