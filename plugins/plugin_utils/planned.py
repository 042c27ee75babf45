"""Modules that change a device: plan first, write the plan into the journal, and only then carry it out.

A run that is killed while a module works leaves its plan in the journal, with the values before, so that `undo` can
take back what the module had done by then. With ``rocemesh_plan`` a change that is not in that plan is refused.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any

from ansible.plugins.action import ActionBase

from . import journal, journal_file

_MESH = f"{journal.COLLECTION}ssh_container_mesh"
# What follows from other changes of a plan: a VM goes down for its window, a switch saves.
_FOLLOWS = ("power", "saved")
# Where the callback journal of this run writes; workers are forks of the process that has set it.
JOURNAL = "ROCEMESH_JOURNAL_OF_RUN"


class PlannedAction(ActionBase):
    """One start of the module where nothing has to change, two where something has and a journal or a plan is there."""

    journals = True

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        result = self._planned(task_vars or {})
        self._remove_tmp_path(self._connection._shell.tmpdir)  # type: ignore[no-untyped-call]
        return result

    def _planned(self, variables: dict[str, Any]) -> dict[str, Any]:
        # What has to be in force is asked of the module after it has changed something. Without a journal
        # and without a plan to keep to, a first start has no use.
        heard = (self.journals and os.environ.get(JOURNAL)) or variables.get("rocemesh_plan")
        if self._task.check_mode or self._task.args.get("require_active") or not heard:
            return self._module(variables)
        self._task.check_mode = True
        try:
            planned = self._module(variables)
        finally:
            self._task.check_mode = False
        if planned.get("failed") or not planned.get("changed"):
            return planned
        entries = list(journal.entries(self._about(variables), planned, plan=True))
        refused = self._beyond(entries, variables)
        if refused:
            return {"failed": True, "changed": False, "msg": refused, "error_code": "refused"}
        place = os.environ.get(JOURNAL)
        if place:
            # What only waits for a restart is no plan of this task; the callback writes it.
            changes = [{**entry, "kind": "planned"} for entry in entries if entry["kind"] == "change"]
            try:
                journal_file.append(pathlib.Path(place), *changes)
            except OSError as error:
                said = f"controller: the journal {place} cannot be written: {error.strerror}. Nothing was changed."
                remedy = "What to do: free space there, or set ROCEMESH_JOURNAL to another folder."
                return {"failed": True, "changed": False, "msg": f"{said} {remedy}", "error_code": "journal"}
        return self._module(variables)

    def _module(self, variables: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = self._execute_module(task_vars=variables)
        return result

    def _about(self, variables: dict[str, Any]) -> journal.Task:
        role = self._task._role.get_name(include_role_fqcn=True) if self._task._role else ""
        return journal.task_of(self._task, role, str(variables.get("inventory_hostname", "")))

    def _beyond(self, entries: list[dict[str, Any]], variables: dict[str, Any]) -> str:
        """Why this plan is not within the one that the run was told to carry out; "" if it is, or none was told."""
        path = str(variables.get("rocemesh_plan") or "")
        if not path:
            return ""
        allowed = journal_file.changes(journal_file.read_plan(pathlib.Path(path)).entries)
        wanted = {place: sides for place, sides in journal_file.changes(entries).items() if place[3] not in _FOLLOWS}
        # A plan cannot know keys that no node had yet: of the mesh, the files count.
        known = {
            place: wanted[place] if place[1] == _MESH else sides for place, sides in allowed.items() if place in wanted
        }
        lines = journal_file.differences(known, wanted)
        host = variables.get("inventory_hostname")
        what_next = "Nothing was changed by this task. Write a new plan with --check."
        return f"{host}: not in the plan {path}: {'; '.join(lines)}. {what_next}" if lines else ""
