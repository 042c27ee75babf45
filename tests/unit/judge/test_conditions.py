"""Conditions of rules: releases and figures as numbers, patterns, and values of two signs; bounds of releases."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.catalogue import catalogue
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.packs.model import parse

from tests.unit.judge.test_packs import CAUSE, SOUND, problems

CRASH = "[gpu01:03100] [ 3] /usr/lib/libnccl.so.2(ncclCommAbort+0x118)[0x7f3a]\n"
NOTE = "https://github.com/NVIDIA/nccl/releases/tag/"


@pytest.mark.parametrize(
    ("text", "values", "others", "expected"),
    [
        ("release_nccl<2.26.5", ["2.26.2"], [], True),
        ("release_nccl<2.26.5", ["2.26.5"], [], False),
        ("release_nccl<2.9.9", ["2.10.3"], [], False),
        ("release_nccl<2.26.5", ["2.27.3", "2.21.5"], [], True),
        ("release_ofed<5.5", ["5.4-1.0.3.0"], [], True),
        ("release_nccl<2.26.5", ["unknown"], [], False),
        ("job_ranks>80", ["1024"], [], True),
        ("job_ranks>80", ["80"], [], False),
        ("gpu_model~GB[23]00", ["gb200"], [], True),
        ("gpu_model~GB[23]00", ["H100"], [], False),
        ("cpu_maker!=cpu_maker", ["AMD", "Intel"], ["AMD", "Intel"], True),
        ("cpu_maker!=cpu_maker", ["AMD"], ["AMD"], False),
        ("a==b", ["550.54.15"], ["550.54.15"], True),
        ("a==b", ["550.54.15", "550.54.14"], ["550.54.15"], False),
        ("a==b", [], ["550.54.15"], False),
    ],
)
def test_condition_compares_values(text: str, values: list[str], others: list[str], expected: bool) -> None:
    condition = parse(text)
    assert condition and condition.holds(values, others) is expected


@pytest.mark.parametrize("word", ["slow", "hang|watchdog", "!in_vm"])
def test_name_of_a_sign_is_no_condition(word: str) -> None:
    assert parse(word) is None


def ask(**pieces: str) -> dict[str, Any]:
    return diagnose(None, {name.replace("__", "/"): text for name, text in pieces.items()})


@pytest.mark.parametrize(
    ("release", "fix"),
    [("2.16.2", "NCCL 2.26.2 or later (2.16.2 was read); "), ("2.27.3", "")],
)
def test_release_below_its_bound_names_the_release(release: str, fix: str) -> None:
    found = ask(job__log=f"gpu01:1:1 [0] NCCL INFO NCCL version {release}+cuda12.4\nit hangs\n{CRASH}")["findings"]
    assert (found[0]["cause"] == "nccl_mended") is bool(fix)
    assert found[0]["fix"]["what"].startswith(fix)
    assert any(NOTE in source for source in found[0]["rests_on"]) is bool(fix)


def test_release_that_was_not_read_meets_no_bound() -> None:
    assert "nccl_mended" not in [finding["cause"] for finding in ask(log=CRASH)["findings"]]


def test_release_of_the_host_that_fails_counts() -> None:
    """gpu02 has the fault and the newer release: the older one of gpu01 is no word about it."""
    version = "$ python3 -c 'import torch'\nNCCL version {}+cuda12.4\n"
    pieces = {"hosts__gpu01__a.txt": version.format("2.14.3"), "hosts__gpu02__a.txt": version.format("2.27.3") + CRASH}
    assert "nccl_mended" not in [finding["cause"] for finding in ask(**pieces)["findings"]]


def test_each_bound_of_a_release_has_an_address() -> None:
    bounded = [rule for rule in catalogue().rules if re.search(r"release_\w+<", rule.when)]
    assert len(bounded) > 60
    assert [rule.id for rule in bounded if "https://" not in rule.source] == []


@pytest.mark.parametrize(
    ("when", "source", "words"),
    [
        ("widget_gap release_widget<2.0", "widgetctl(8)", "source is without an address"),
        ("widget_gap widget_sleeps<2.0", "https://widget.invalid/notes", "widget_sleeps reads no value"),
        ("widget_gap release_gadget<2.0", "https://widget.invalid/notes", "sign release_gadget is not known"),
        ("widget_gap release_widget<2.0", "https://widget.invalid/notes", ""),
    ],
)
def test_lint_names_the_fault_of_a_bound(tmp_path: pathlib.Path, when: str, source: str, words: str) -> None:
    rules = {"widget_gap": {"when": when, "source": source}}
    version = {
        "product": "Widget", "match": [r"widget version (?P<value>\d+\.\d+)"], "samples": ["widget version 1.4"],
        "must_not_match": ["widget version one"],
    }  # fmt: skip
    found = problems(tmp_path, {**SOUND, CAUSE: {**SOUND[CAUSE], "rules": rules}, "facts/release_widget.yml": version})
    assert any(words in text for text in found) if words else found == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"refuted_by": ["widget_sleeps"], "irrefutable": "it is so"}, "refuted_by or irrefutable is missing"),
        ({"refuted_by": ["widget_wakes"]}, "refuted_by: sign widget_wakes is not known"),
        ({"refuted_by": ["widget_sleeps==widget_sleeps"]}, "widget_sleeps reads no value"),
        ({}, "refuted_by or irrefutable is missing"),
        ({"irrefutable": "the line itself states it"}, ""),
    ],
)
def test_lint_wants_what_speaks_against_a_cause(tmp_path: pathlib.Path, data: dict[str, Any], words: str) -> None:
    cause = {key: value for key, value in SOUND[CAUSE].items() if key != "refuted_by"}
    found = problems(tmp_path, {**SOUND, CAUSE: {**cause, **data}})
    assert any(words in text for text in found) if words else found == []
