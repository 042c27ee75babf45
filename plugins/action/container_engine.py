# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of rocemesh.multinode.container_engine: NVIDIA's runtime in the engine's configuration."""

from __future__ import annotations

from typing import Any

from ..module_utils._mesh.engine import engine_state, merge_runtime
from ..modules.container_engine import DOCUMENTATION
from ..plugin_utils.decision import Decision


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if options["offer"] is not None:
            found["merged"] = merge_runtime(options["config"], options["offer"])
        if options["probe"] is not None:
            found["state"] = engine_state(options["probe"], "configured" in options["probe"].splitlines())
        return found
