"""What a run costs whatever the load: module starts and task results of each host, task by task.

A module start is one program sent to a host (or started on the controller for it). Written as JSON lines to the file
that ROCEMESH_STARTS names: ["start", host, where, module, play, task] and ["result", host, kind, action, play, task].
"""

from __future__ import annotations

import json
import os
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: starts
type: aggregate
short_description: Count module starts and task results
description: Writes each module start and each task result of a run to the file that E(ROCEMESH_STARTS) names.
"""


def write(*words: Any) -> None:
    """One line, one write: workers share the file."""
    with open(os.environ["ROCEMESH_STARTS"], "ab", buffering=0) as stream:
        stream.write(json.dumps(words).encode() + b"\n")


class CallbackModule(CallbackBase):  # type: ignore[misc]
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "starts"
    CALLBACK_NEEDS_ENABLED = False

    def __init__(self) -> None:
        super().__init__()
        self.play = ""
        execute = ActionBase._execute_module
        callback = self

        # Workers are forks of this process: what is counted here is counted in each of them.
        def counted(action: Any, *arguments: Any, **named: Any) -> Any:
            module = named.get("module_name") or (arguments[0] if arguments else None) or action._task.action
            variables = named.get("task_vars") or {}
            where = "controller" if action._connection.transport == "local" else "host"
            host = action._task.delegate_to or variables.get("inventory_hostname", "")
            write("start", host, where, module, callback.play, action._task.get_name())
            return execute(action, *arguments, **named)

        ActionBase._execute_module = counted

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self.play = play.get_name()

    def _result(self, kind: str, result: Any) -> None:
        task = result._task
        write("result", result._host.get_name(), kind, task.action, self.play, task.get_name())

    def v2_runner_on_ok(self, result: Any) -> None:
        self._result("ok", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._result("failed", result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._result("skipped", result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._result("unreachable", result)
