"""Action of rocemesh.multinode.ssh_container_mesh: with `rocemesh_plan`, plan before the change."""

from __future__ import annotations

from ..plugin_utils.planned import PlannedAction


class ActionModule(PlannedAction):
    """The module itself runs where the task says.

    Its files are its own, so that `undo` needs no values from before, and a second start on every node of a large mesh
    has no use.
    """

    journals = False
