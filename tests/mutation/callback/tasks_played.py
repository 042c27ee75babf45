"""An Ansible callback that notes which test plays which task; `tests/mutation/played.py` puts it in the way."""

from __future__ import annotations

import os
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: tasks_played
type: aggregate
short_description: Note which test plays which task
description: [One line per task in the file that ROCEMESH_PLAYED names.]
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "tasks_played"
    CALLBACK_NEEDS_ENABLED = True

    def _note(self, task: Any) -> None:
        place = os.environ.get("ROCEMESH_PLAYED")
        if place:
            test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
            with open(place, "a", encoding="utf-8") as out:
                out.write(f"{test}\t{task.get_path()}\n")

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        self._note(task)

    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        self._note(task)
