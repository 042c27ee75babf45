"""Action of rocemesh.multinode.decide: the decisions that only this collection's roles and playbooks need."""

from __future__ import annotations

from typing import Any

from ..modules.decide import DOCUMENTATION
from ..plugin_utils.decision import Context, Decision, decide


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        return decide(options["function"], options["options"], Context(variables, self._task.check_mode))
