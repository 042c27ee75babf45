"""Action of rocemesh.multinode.site_plan: what a run would do, in one table."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence

from ansible.utils.display import Display

from ..module_utils._site import plan_table
from ..modules.site_plan import DOCUMENTATION
from ..plugin_utils.decision import Decision

_WAITING = ("hosts", "vms", "nics")


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        rows: list[plan_table.Row] = []
        unknown: list[str] = []
        for layer, source in options["layers"].items():
            summary = source[2] if isinstance(source, (list, tuple)) and len(source) == 3 else ""
            for host, said in _facts(f"layers: {layer}", source, variables):
                if said is None:
                    unknown.append(f"{host} ({layer})")
                else:
                    rows += plan_table.rows_of(layer, host, said, summary)
        rows += self._windows(rows, options, variables, unknown)
        rows = plan_table.together(rows)
        lines = plan_table.table(rows, options["batch"], whole=not unknown)
        if unknown:
            lines.append(f"Not known, because it was not played or did not get that far: {', '.join(unknown)}.")
        if options["show"]:
            # Callbacks fold and quote long lines; a table that is folded is none.
            Display().display("\n".join(["", *lines, "", ""]))
        return {"rows": [row.as_result() for row in rows], "unknown": unknown, "table": lines}

    @staticmethod
    def _windows(
        rows: Sequence[plan_table.Row], options: dict[str, Any], variables: dict[str, Any], unknown: list[str]
    ) -> list[plan_table.Row]:
        if not options["waiting"]:
            return []
        if set(options["waiting"]) != set(_WAITING):
            raise ValueError(f"waiting has {', '.join(sorted(options['waiting']))}; give {', '.join(_WAITING)}")
        found: dict[str, dict[str, Any]] = {}
        for name in _WAITING:
            facts = dict(_facts(f"waiting: {name}", options["waiting"][name], variables))
            missing = [host for host, said in facts.items() if said is None]
            if missing:
                unknown += [f"{host} (window)" for host in missing]
                return []
            found[name] = facts
        minutes = (options["minutes_host_reboot"], options["minutes_power_cycle"])
        return plan_table.windows(rows, found["hosts"], found["vms"], found["nics"], minutes)


def _facts(what: str, source: Any, variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each host of the group with its fact, None if it has none."""
    if not isinstance(source, (list, tuple)) or len(source) not in (2, 3):
        raise ValueError(f"{what} is {source!r}; give the inventory group and the name of the fact")
    for host in variables["groups"].get(source[0], ()):
        yield host, variables["hostvars"][host].get(source[1])
