"""Action of rocemesh.multinode.mlxconfig_ats: plan, journal, then change."""

from __future__ import annotations

from ..plugin_utils.planned import PlannedAction


class ActionModule(PlannedAction):
    """The module itself runs where the task says."""
