"""Fold what roles published per host into one entry per layer, for the role report.

``layers``: Layer name to a list of two texts, the inventory group and the name of the fact.

Returns `layers`, layer name to `changed`, `verified`, `found` (per host) and `changes` (one text per change).
"""

from __future__ import annotations

from typing import Any

from ...module_utils._site.layers import fold
from ..decision import Context

SPEC: dict[str, Any] = {"layers": {"type": "dict", "required": True}}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    groups, hosts = context.variables["groups"], context.variables["hostvars"]
    folded = {}
    for layer, source in options["layers"].items():
        if not isinstance(source, (list, tuple)) or len(source) != 2:
            raise ValueError(f"layers: {layer} is {source!r}; give the inventory group and the name of the fact")
        group, fact = source
        folded[layer] = fold({host: hosts[host][fact] for host in groups.get(group, ()) if hosts[host].get(fact)})
    return {"layers": folded}
