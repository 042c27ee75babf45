# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of rocemesh.multinode.benchmark_plan: the repeats of a scaling measurement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..module_utils._results.figures.benchmarks import saved, scaling_plan
from ..modules.benchmark_plan import DOCUMENTATION
from ..plugin_utils.decision import Decision


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        try:
            batches = {str(name): int(size) for name, size in options["batches"].items()}
        except (TypeError, ValueError) as error:
            raise ValueError(f"batches is {options['batches']!r}; give images for each precision") from error
        plan = scaling_plan(options["hosts"], options["cases"], batches, options["repeats"], options["parameters"])
        done = {}
        if options["folder"]:
            for entry in plan:
                record = saved(Path(options["folder"]) / f"{entry['name']}.json", entry["parameters"])
                if record:
                    done[entry["name"]] = record
        return {
            "plan": plan,
            "done": list(done.values()),
            "todo": [entry for entry in plan if entry["name"] not in done],
        }
