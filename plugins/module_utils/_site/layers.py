"""The outcomes that roles published per host, folded into one entry per layer: what the report shows."""

from __future__ import annotations

from typing import Any, Mapping


def fold(outcomes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """One layer: host -> {``changed``, ``verified``, ``found``, ``changes``} to the same four keys.

    A layer is changed if one host was; verified only if every host was read back and found right; without any outcome
    the layer was not checked, and ``verified`` is None.
    """
    verdicts = [outcome.get("verified") for outcome in outcomes.values()]
    return {
        "changed": any(bool(outcome.get("changed")) for outcome in outcomes.values()),
        "verified": None if not verdicts or None in verdicts else all(map(bool, verdicts)),
        "found": {host: outcome.get("found") for host, outcome in outcomes.items()},
        "changes": [
            f"{host}: {change}" for host, outcome in outcomes.items() for change in outcome.get("changes") or ()
        ],
    }
