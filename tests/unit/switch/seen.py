"""What every switch of the tests that is only read says, each in its own words."""

from __future__ import annotations

from typing import Any


def lossless(thresholds: str, dscps: dict[str, int]) -> dict[str, Any]:
    return {
        "mode": "lossless",
        "trust": "dscp",
        "ecn": "ECN",
        "ecn_min_kb": 150.0,
        "ecn_max_kb": 1500.0,
        "ecn_thresholds": thresholds,
        "pfc": "enabled",
        "pfc_priorities": [3],
        "dscp_priorities": dscps,
    }


def named(found: dict[str, Any]) -> list[tuple[str, str]]:
    """(code, place) of every problem."""
    wrong = [(each["code"], each["place"]) for each in found["findings"] if each["code"] != "pfc_watchdog"]
    return wrong + [("unreadable", each["what"]) for each in found["unreadable"]]
