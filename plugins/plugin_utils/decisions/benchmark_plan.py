"""List the repeats of a scaling measurement, and which of them are done.

Returns every repeat of every case, precision and batch size, in the order to run - all first repeats before all
second ones. The name of a repeat holds a digest of all of its parameters. What lies in `folder` under that name and
was made with the same parameters is done; what was made with other parameters has another name.
``hosts``: The hosts, the head first.
``parameters``: Everything else that decides the figure.
``cases``: The cases, each `<nodes>n<ranks per node>g`. Empty - 1, 2, 4, ... ranks on the head, then 1, 2, 4, ...
hosts.
``batches``: Images per rank and step, by precision.
``folder``: Folder on the controller with the repeats that are done. Left out, none is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...module_utils._results.figures.benchmarks import saved, scaling_plan
from ..decision import Context
from .mpi_hosts import HOSTS

SPEC: dict[str, Any] = {
    "hosts": HOSTS,
    "parameters": {"type": "dict", "required": True},
    "cases": {"type": "list", "elements": "str", "default": []},
    "batches": {"type": "dict", "default": {"fp32": 128, "bf16": 256}},
    "repeats": {"type": "int", "default": 5},
    "folder": {"type": "path"},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
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
    return {"plan": plan, "done": list(done.values()), "todo": [entry for entry in plan if entry["name"] not in done]}
