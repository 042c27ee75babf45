"""Plan the next part of a fabric check, or judge it, from what is known so far. Starts nothing.

``site``: `hosts` (`name`, `address`), `readings` (host to what rdma_info returned), `switches` (switch to what it said,
with `ports`), and `options`, the variables of the role.
``outputs``: Standard output of each part that ran, in order.

Returns `part`, what comes next: `reach` (probes), `measure` (rounds of perftest), `confirm` (repeats, at most twice) or
`done`. With a part to run: `plan` (argument of workloads/fabric/agent.py), `limit` (seconds that it may take),
`sentence` (what it costs, in words) and `gpu_table`. When done: `report` (`ok`, `complete`, `faults`, `measured`,
`gpus`, `gpu_table`, `notes`, `table`) and `heat_map` (SVG text).
"""

from __future__ import annotations

from typing import Any

from ...module_utils._fabric.check import next_part
from ..decision import Context

SPEC: dict[str, Any] = {
    "site": {"type": "dict", "required": True},
    "outputs": {"type": "list", "elements": "str", "default": []},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    try:
        return next_part(options["site"], options["outputs"])
    except (AttributeError, TypeError) as error:
        raise ValueError(f"fabric_check: {error}") from error
