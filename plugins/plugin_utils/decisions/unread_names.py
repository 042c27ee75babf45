"""Refuse names of variables that no role reads and that look like one that a role reads.

Preflight lists the same among all other problems; this is for a stage that runs without it.
"""

from __future__ import annotations

from typing import Any

from ...module_utils._judge.finding import PROBLEM
from ...module_utils._preflight.findings import grouped, line
from .. import inventory_names
from ..decision import Context

SPEC: dict[str, Any] = {}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    hostvars = inventory_names.Hostvars(context.variables["hostvars"])
    found = inventory_names.unread(hostvars, context.variables["groups"])
    problems = grouped(each for each in found if each.level == PROBLEM)
    if problems:
        raise ValueError("\n".join(map(line, problems)))
    return {}
