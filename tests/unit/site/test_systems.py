"""One table says which systems are supported; the document is made from it, and the roles ask it first."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.systems import (
    PARTS,
    REFUSED,
    SYSTEMS,
    problems,
)
from ansible_collections.rocemesh.multinode.plugins.plugin_utils.decision import Context, decide

from .supported_systems import FILE, page

ROOT = FILE.parents[1]
EVERYTHING = ["ats", "mstflint", "current", "engine", "container", "mesh"]


def facts(name: str, version: str) -> dict[str, Any]:
    return {"distribution": name, "distribution_version": version}


def test_the_document_is_the_table() -> None:
    assert FILE.read_text() == page()


def test_a_version_is_in_the_table_once() -> None:
    for system in SYSTEMS:
        for name in system.names:
            assert sum(other.is_it(name, system.version) for other in SYSTEMS) == 1
            assert name not in REFUSED
        assert set(system.refused) <= set(PARTS)


@pytest.mark.parametrize(
    ("name", "version", "parts"),
    [
        ("Ubuntu", "20.04", [*EVERYTHING, "guide"]),
        ("Ubuntu", "22.04", EVERYTHING),
        ("Ubuntu", "24.04", EVERYTHING),
        ("Debian", "12.8", EVERYTHING),
        ("Rocky", "9.4", ["ats", "container", "mesh"]),
        ("RedHat", "8.10", ["ats", "container", "mesh"]),
        ("Ubuntu", "26.04", ["ats", "mstflint", "engine"]),
    ],
)
def test_supported_systems_are_taken(name: str, version: str, parts: list[str]) -> None:
    assert problems(facts(name, version), parts) == []


@pytest.mark.parametrize(
    ("name", "version", "part", "words"),
    [
        ("Rocky", "9.4", "mstflint", "installed with apt"),
        ("RedHat", "10.0", "engine", "podman-docker and skopeo"),
        ("Rocky", "9.4", "guide", "installed with apt"),
        ("Ubuntu", "26.04", "current", "doca-ofed-generic"),
        ("Ubuntu", "18.04", "ats", "these are supported: 20.04, 22.04, 24.04, 26.04"),
        ("Ubuntu", "20.10", "ats", "these are supported"),
        ("Debian", "11.9", "mesh", "these are supported: 12, 13"),
        ("SLES", "15.5", "container", "wicked"),
        ("Gentoo", "2.17", "ats", "no test and no site knows it"),
        ("", "", "ats", "an unknown system"),
    ],
)
def test_refused_systems_are_named_with_the_reason(name: str, version: str, part: str, words: str) -> None:
    (text,) = problems(facts(name, version), [part])
    assert words in text and (name or "unknown") in text


def test_an_unlisted_system_is_tried_where_that_was_asked_for_but_nothing_is_installed_there() -> None:
    assert problems(facts("Gentoo", "2.17"), ["ats", "container", "mesh"], unlisted=True) == []
    (text,) = problems(facts("Gentoo", "2.17"), ["engine"], unlisted=True)
    assert "install it yourself" in text


def test_a_part_that_is_not_in_the_table_is_an_error() -> None:
    with pytest.raises(ValueError, match="no such part: podman"):
        problems(facts("Debian", "12"), ["podman"])


@pytest.mark.parametrize(("role", "file"), [("guest", "look"), ("container", "preflight"), ("mesh", "request")])
def test_each_role_asks_the_table_before_it_changes_anything(role: str, file: str) -> None:
    text = (ROOT / f"roles/{role}/tasks/{file}.yml").read_text()
    assert "function: system_support" in text


_ODD = {"gpu01": facts("Gentoo", "2.17"), "gpu02": facts("Gentoo", "2.18")}
_ALLOW = "rocemesh_allow_unlisted_system"


@pytest.mark.parametrize(
    ("said", "unlisted", "refused"),
    [
        ({"gpu01": {_ALLOW: True}}, True, ["gpu02"]),
        ({"gpu02": {_ALLOW: "true"}}, False, ["gpu01"]),
        ({"gpu01": {_ALLOW: True}, "gpu02": {_ALLOW: "no"}}, True, ["gpu02"]),
        ({"gpu01": {_ALLOW: True}, "gpu02": {_ALLOW: True}}, True, []),
        # From the play or the role: for all.
        ({}, True, []),
        ({}, False, ["gpu01", "gpu02"]),
    ],
)
def test_what_one_host_allows_counts_for_no_other(
    said: dict[str, dict[str, Any]], unlisted: bool, refused: list[str]
) -> None:
    variables = {"hostvars": {name: said.get(name, {}) for name in _ODD}, "inventory_hostname": "gpu01"}
    options = {"systems": _ODD, "parts": ["container"], "unlisted": unlisted, "named": [_ALLOW]}
    found = decide("system_support", options, Context(variables))
    assert [problem.split(":")[0] for problem in found["problems"]] == refused
