"""Readings lie around the training, on both sides, and the ports that count are RoCE's."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.evidence import (
    CLOCK_S,
    READING_SLACK_S,
    Job,
    training_ports,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.witness import Doubts

BEGIN, END = 1_800_000_000.0, 1_800_000_600.0
JOB = Job(started=BEGIN, ended=END)


def doubts_of(before: float, after: float) -> list[str]:
    doubts = Doubts()
    JOB.around("gpu01", {"before_at": before, "after_at": after}, doubts)
    return doubts.wrong


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (BEGIN - READING_SLACK_S, END + READING_SLACK_S, ""),
        (BEGIN + CLOCK_S, END - CLOCK_S, ""),
        (BEGIN - READING_SLACK_S - 1, END + 1, "minutes before or after"),
        (BEGIN - 1, END + READING_SLACK_S + 1, "minutes before or after"),
        (BEGIN + CLOCK_S + 1, END + 1, "do not lie around"),
        (BEGIN - 1, END - CLOCK_S - 1, "do not lie around"),
    ],
)
def test_each_reading_has_its_own_limit(before: float, after: float, words: str) -> None:
    found = doubts_of(before, after)
    assert (words in found[0]) if words else (found == [])


def port(**changes: Any) -> dict[str, Any]:
    gid = {"index": 3, "gid": "0000:0000:0000:0000:0000:ffff:c633:640b", "type": "RoCE v2"}
    return {"name": "mlx5_0", "port": 1, "link_layer": "Ethernet", "gids": [gid], **changes}


@pytest.mark.parametrize(
    ("other", "hcas", "names"),
    [
        (port(name="mlx5_1"), None, ["mlx5_0", "mlx5_1"]),
        (port(name="mlx5_1", link_layer="InfiniBand"), None, ["mlx5_0"]),
        (port(name="mlx5_1", link_layer="InfiniBand"), ["mlx5_0", "mlx5_1"], ["mlx5_0"]),
        (port(name="mlx5_1", gids=[]), None, ["mlx5_0"]),
        (port(name="mlx5_1", gids=[]), ["mlx5_1"], ["mlx5_1"]),
        ("no port", None, ["mlx5_0"]),
    ],
)
def test_only_roce_ports_that_were_chosen_count(other: Any, hcas: list[str] | None, names: list[str]) -> None:
    found = training_ports({"devices": [port(), other]}, ["198.51.100.0/24"], hcas)
    assert [each["name"] for each in found] == names
