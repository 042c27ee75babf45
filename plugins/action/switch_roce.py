"""Action of rocemesh.multinode.switch_roce: plan, journal, then change; the module runs where the task says."""

from __future__ import annotations

from ..plugin_utils.planned import PlannedAction

ActionModule = PlannedAction
