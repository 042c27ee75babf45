# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of rocemesh.multinode.handoff_results: the results of a handed-off job, as a report takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..module_utils._handoff.home import read
from ..modules.handoff_results import DOCUMENTATION
from ..plugin_utils.decision import Decision


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        folder = Path(options["path"])
        try:
            return {"home": read(folder)}
        except OSError as error:
            raise ValueError(
                f"{folder}: cannot be read ({error.strerror}). Give the folder with the job's results."
            ) from error
