"""Each row of the support matrix has a source with a date, and only what both vendors refuse is refused."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._preflight import nodes
from ansible_collections.rocemesh.multinode.plugins.module_utils._site import support

from tests.unit.preflight.faults import site

from .gpu_support import FILE, NEEDED, NOT_NEEDED, STEPS, page, rows


def test_rows_are_40_or_more_each_with_address_and_date() -> None:
    found_rows = rows()
    assert len({(row.board, row.release, row.attachment) for row in found_rows}) == len(found_rows) >= 40
    for row in found_rows:
        for said in filter(None, (row.nvidia, row.broadcom)):
            assert said.address.startswith("https://") and re.fullmatch(r"\d{4}-\d\d-\d\d", said.date)
            assert said.address in row.line() and said.date in row.line()


def test_row_both_vendors_contrary_is_not_refused() -> None:
    row = support.row("H100", "9.0", support.FIXED)
    assert row.nvidia and row.broadcom
    assert (row.nvidia.verdict, row.broadcom.verdict) == (support.NO, support.YES)
    assert not row.is_refused
    both = dataclasses.replace(row, broadcom=dataclasses.replace(row.broadcom, verdict=support.NO))
    assert both.is_refused
    assert not dataclasses.replace(both, broadcom=None).is_refused


def test_row_unknown_combination_is_refused() -> None:
    with pytest.raises(ValueError, match="7\\.0"):
        support.row("H100", "7.0", support.FIXED)


def test_steps_have_a_verdict_per_release() -> None:
    for step in STEPS:
        assert len(step.verdicts) == len(support.RELEASES)
        assert set(step.verdicts) <= {NEEDED, NOT_NEEDED, support.UNKNOWN}


def test_page_is_that_of_the_table() -> None:
    assert FILE.read_text() == page()


@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA B300", "B300"),
        ("NVIDIA L40S", ""),
    ],
)
def test_board_of_driver_name_is_found(name: str, board: str) -> None:
    assert support.board_of(name) == board


def found(reading: dict[str, Any], **wanted: Any) -> list[Any]:
    return [each for each in nodes.judge("gpu01", reading, wanted) if each.thing == "vendors' support"]


def test_preflight_vm_with_nvswitches_prints_both_addresses() -> None:
    (finding,) = found(site()["gpu01"], esx=True)
    row = support.row("H100", "8.0U3", support.FIXED)
    assert row.nvidia and row.broadcom
    assert row.nvidia.address in finding.text and row.broadcom.address in finding.text
    assert finding.level == "warning"
    assert found(site()["gpu01"]) == []


def test_preflight_vm_without_nvswitches_prints_nothing() -> None:
    reading = site()["gpu01"]
    reading["gpu"]["pci"] = [device for device in reading["gpu"]["pci"] if device["kind"] == "gpu"]
    assert found(reading, esx=True) == []


def test_preflight_core_refuses_node_python_names_cores() -> None:
    text = "ansible-core requires a minimum of Python version 3.9. Current version: 3.8.10 (default)"
    (finding,) = nodes.judge("gpu01", {"failed": True, "msg": text}, {})
    assert (finding.level, finding.thing) == ("problem", "Python")
    assert "2.19" in finding.remedy and "3.8.10" in finding.text
