"""Fold what roles published per host into one entry per layer, for the role report.

``layers``: Layer name to a list of two texts, the inventory group and the name of the fact.

Returns `layers`, layer name to `changed`, `verified`, `found` (per host) and `changes` (one text per change).
"""

from __future__ import annotations

from typing import Any, Mapping

from ..decision import Context

SPEC: dict[str, Any] = {"layers": {"type": "dict", "required": True}}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    groups, hosts = context.variables["groups"], context.variables["hostvars"]
    folded = {}
    for layer, source in options["layers"].items():
        said = {host: hosts[host].get(source[1]) or {} for host in groups.get(source[0], ())}
        # The report names the nodes that it has not seen.
        folded[layer] = fold({host: said[host] for host in said if said[host] or source[0] != "gpu_vms"})
    return {"layers": folded}


def fold(outcomes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """One layer: host -> {``changed``, ``verified``, ``found``, ``changes``} to the same four keys.

    A layer is changed if one host was; verified only if every host was read back and found right; without any outcome
    the layer was not checked, and ``verified`` is None.
    """
    verdicts = [outcome.get("verified") for outcome in outcomes.values()]
    return {
        "changed": any(bool(outcome.get("changed")) for outcome in outcomes.values()),
        "verified": None if not verdicts or None in verdicts else all(map(bool, verdicts)),
        "found": {host: outcome.get("found") for host, outcome in outcomes.items() if outcome},
        "changes": [
            f"{host}: {change}" for host, outcome in outcomes.items() for change in outcome.get("changes") or ()
        ],
    }
