"""The role in check mode, and as the gate of a run: what it takes is printed, or why there is no check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.integration.fabric.playing import entry, play
from tests.unit.fabric.test_check import site


def real(what: dict[str, Any]) -> dict[str, Any]:
    for reading in what["readings"].values():
        reading["simulated"] = False
    return what


def test_check_mode_prints_the_plan_and_starts_nothing(tmp_path: Path) -> None:
    entries = [entry("main", site(16, 8)), entry("gate", real(site(4, 1)))]
    result = play(tmp_path, "--check", entries=entries)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Check mode: nothing is started. Form quick: 12 round(s)" in result.stdout
    assert "768 measurement(s)" in result.stdout
    assert "at most 1 min 0 s" in result.stdout
    assert "is not checked: check mode starts" in result.stdout
    assert not (tmp_path / "reports").exists()


def test_gate_goes_on_and_says_why_it_did_not_look(tmp_path: Path) -> None:
    """Simulated devices, switched off, no port: each is told, published for the report, and nothing is started."""
    entries = [
        entry("gate", site(4, 1)),
        entry("gate", site(4, 1), fabric_gate="never"),
        entry("gate", real(site(4, 1)), fabric_networks=["203.0.113.0/24"]),
    ]
    result = play(tmp_path, entries=entries)
    assert result.returncode == 0, result.stdout + result.stderr
    told = [line for line in result.stdout.splitlines() if "outcome: {" in line]
    reasons = ("the RDMA devices are SIMULATED", "fabric_gate is never", "no host has an active RoCE")
    assert len(told) == len(reasons)
    assert all("skipped" in line and reason in line for line, reason in zip(told, reasons))
    assert result.stdout.count("is not checked: ") == len(reasons)
    assert not (tmp_path / "reports").exists()


def test_gate_stops_where_a_check_was_required(tmp_path: Path) -> None:
    result = play(tmp_path, entries=[entry("gate", site(4, 1), fabric_gate="required")])
    assert result.returncode != 0
    assert "fabric_gate is required" in result.stdout
    assert "is not checked: the RDMA devices are SIMULATED" in result.stdout
