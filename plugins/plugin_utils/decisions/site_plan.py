"""Say what a run would do, in one table: device, change, whom it interrupts, what restarts, minutes.

``layers``: Layer name to a list of two or three texts: the inventory group, the name of the fact, and words that stand
for all changes of an outcome. The fact is a list of operations (`description`, `disrupts`, `reboot`), or an outcome
with texts under `changes`.
``waiting``: `hosts`, `vms` and `nics`, each a list of two texts, the inventory group and the name of the fact with what
waits there, as the roles publish it. Empty: no window.
``batch``: How many hosts have their window at the same time.
``minutes_host_reboot``: What one host takes, from the first VM that goes down to the last that is up. An assumption,
not measured on hardware.
``minutes_power_cycle``: The same where the VMs of a host are powered off and on and the host keeps running.
``show``: Whether the table is shown on the terminal as it is, apart from what the callback shows of the result.

Returns `rows`, one for each line with `devices`, `change`, `interrupts`, `restart` and `minutes` (null is less than
one), `unknown`, devices that published nothing, with their layer, and `table`, the same as lines for a person.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence

from ansible.utils.display import Display

from ...module_utils._site import plan_table
from ..decision import Context

_WAITING = ("hosts", "vms", "nics")
SPEC: dict[str, Any] = {
    "layers": {"type": "dict", "required": True},
    "waiting": {"type": "dict", "default": {}},
    "batch": {"type": "int", "default": 1},
    "minutes_host_reboot": {"type": "int", "default": 15},
    "minutes_power_cycle": {"type": "int", "default": 5},
    "show": {"type": "bool", "default": False},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    variables = context.variables
    rows: list[plan_table.Row] = []
    unknown: list[str] = []
    for layer, source in options["layers"].items():
        for host, said in _facts(source, variables):
            if said is None:
                unknown.append(f"{host} ({layer})")
            else:
                rows += plan_table.rows_of(layer, host, said, *source[2:])
    closed = {each["host"]: each["left_out"] for each in variables.get("window_plan") or ()}  # of playbook reboot
    rows += _windows(rows, {**options, "left_out": closed}, variables, unknown)
    rows = plan_table.together(rows)
    lines = plan_table.table(rows, options["batch"], whole=not unknown)
    lines += [f"{host}: no window: {why}." for host, why in closed.items() if why]
    if unknown:
        lines.append(f"Not known, because it was not played or did not get that far: {', '.join(unknown)}.")
    if options["show"]:
        # Callbacks fold and quote long lines; a table that is folded is none.
        Display().display("\n".join(["", *lines, "", ""]))
    return {"rows": [row.as_result() for row in rows], "unknown": unknown, "table": lines}


def _windows(
    rows: Sequence[plan_table.Row], options: Mapping[str, Any], variables: Mapping[str, Any], unknown: list[str]
) -> list[plan_table.Row]:
    if not options["waiting"]:
        return []
    found: dict[str, dict[str, Any]] = {}
    for name in _WAITING:
        facts = dict(_facts(options["waiting"][name], variables))
        missing = [host for host, said in facts.items() if said is None]
        if missing:
            unknown += [f"{host} (window)" for host in missing]
            return []
        found[name] = facts
    minutes = (options["minutes_host_reboot"], options["minutes_power_cycle"])
    return plan_table.windows(rows, found["hosts"], found["vms"], found["nics"], minutes, left_out=options["left_out"])


def _facts(source: Sequence[str], variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each host of the group with its fact, None if it has none."""
    for host in variables["groups"].get(source[0], ()):
        yield host, variables["hostvars"][host].get(source[1])
