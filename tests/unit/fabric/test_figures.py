"""docs/fabric.md shows what docs/fabric.json holds, and that is what the check promises."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from tests.benchmarks import fabric_table

FIGURES = json.loads(fabric_table.FIGURES.read_text())
SIZES = (16, 64, 256, 1000)


def test_page_and_figures_agree() -> None:
    text = fabric_table.PAGE.read_text()
    assert {found[1] for found in fabric_table.BLOCK.findall(text)} == {"judgement", "controller"}
    assert fabric_table.made(text) == text, "run: python -m tests.benchmarks.fabric_table"


def test_a_new_measurement_replaces_its_own_row_alone_and_never_one_of_more_cases(tmp_path: Path) -> None:
    """Somebody who measures one size must not lose the others, nor a thousand cases to twenty."""
    before = {"judgement": [row("quick", 16, 1000), row("full", 16, 20)], "controller": []}
    for new in (row("quick", 16, 20), row("full", 16, 1000), row("full", 64, 20)):
        (tmp_path / f"fabric_{new['form']}_{new['hosts']}.json").write_text(json.dumps(new))
    slow = {"form": "quick", "hosts": 256, "by_part": {}}
    (tmp_path / "fabric_controller_quick_256.json").write_text(json.dumps(slow))
    after = fabric_table.published(before, tmp_path)
    assert after["judgement"] == [row("quick", 16, 1000), row("full", 16, 1000), row("full", 64, 20)]
    assert after["controller"] == [slow]


def row(form: str, hosts: int, cases: int) -> dict[str, Any]:
    return {"form": form, "hosts": hosts, "cases": cases}


def test_every_form_and_size_was_measured_and_names_the_right_place() -> None:
    measured = {(each["form"], each["hosts"]): each for each in FIGURES["judgement"]}
    assert set(measured) == set(itertools.product(("quick", "full"), SIZES))
    for each in measured.values():
        assert each["cases"] >= 1000 and each["simulated"]
        assert each["right"] >= 0.99 * each["cases"] and each["accused_without_fault"] == 0
        assert each["rounds_with_confirmation"] <= each["bound"]


def test_controller_took_a_tenth_of_a_plan_of_15_minutes_at_most() -> None:
    assert FIGURES["controller"]
    for each in FIGURES["controller"]:
        assert each["plan_seconds"] <= 15 * 60
        assert each["controller_seconds"] <= 0.1 * each["plan_seconds"]
