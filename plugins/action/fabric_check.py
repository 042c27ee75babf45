"""Action of rocemesh.multinode.fabric_check: the plan of a fabric check, and the judgement of what came back."""

from __future__ import annotations

from typing import Any

from ..module_utils._fabric.check import next_part
from ..modules.fabric_check import DOCUMENTATION
from ..plugin_utils.decision import Decision


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        try:
            return next_part(options["site"], options["outputs"])
        except (AttributeError, TypeError) as error:
            raise ValueError(f"fabric_check: {error}") from error
