"""What a real terminal does to a session: an expired password, and answers longer than any page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.simulated_switch import run_module
from tests.integration.switch.harness import Simulator, running

INFO: dict[str, Any] = {"module": "switch_roce_info", "system": "onyx"}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    """128 ports: several answers have more than the 1000 lines that the terminal of the session has."""
    with running(tmp_path_factory.mktemp("large") / "switch", "--ports", "128") as simulator:
        yield simulator


def test_answers_of_more_than_a_thousand_lines_arrive_whole(large: Simulator) -> None:
    result = run_module(large, **INFO, timeout=30)
    assert not result.get("failed"), result.get("msg")
    assert len(result["switch"]["ports"]) == 131


def test_a_switch_that_pages_all_the_same_is_not_read_in_part(large: Simulator) -> None:
    large.request("POST", "/fault", {"name": "ignore_line", "pattern": "paging"})
    try:
        result = run_module(large, **INFO, timeout=3)
    finally:
        large.request("DELETE", "/fault")
    assert result["failed"] and "Traceback" not in result["msg"]


def test_an_expired_password_is_said_to_be_one(large: Simulator) -> None:
    large.request("POST", "/fault", {"name": "password_expired"})
    try:
        result = run_module(large, **INFO, timeout=3)
    finally:
        large.request("DELETE", "/fault")
    assert result["failed"] and "a new password" in result["msg"]
