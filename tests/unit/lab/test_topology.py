"""What `up` starts its simulated devices with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from lab import config, lifecycle, processes


def test_the_twins_switch_has_lldp_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    def start(_run: Path, name: str, command: list[str], **_more: Any) -> None:
        started.append(command)

    monkeypatch.setattr(processes, "pid_of", lambda _run, _name: None)
    monkeypatch.setattr(processes, "start", start)
    assert lifecycle._switch(config.Paths(tmp_path)) == "started"
    assert "--no-lldp" in started[0]


def test_the_readme_names_tests_that_exist() -> None:
    text = (config.REPO / "lab" / "README.md").read_text()
    table = text.split("## Simulated failure behaviour", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 12
    for row in rows:
        named = re.findall(r"`([a-z0-9_/]+\.py)::(test_\w+)`", row)
        assert named and len(named) == row.count("`") // 2, row
        for path, name in named:
            assert f"def {name}(" in (config.REPO / "tests" / path).read_text(), f"{row}: {path} has no {name}"
