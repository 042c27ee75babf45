"""Read the results of a job that another launcher ran.

Reads the folder that the scripts of a hand-off fill (`results/JOBID`) - the ranks' output, NCCL's log, RDMA counters
before and after, begin and end - and says what the launcher says of a job that did not end well. What is missing
stays missing, and the verdict of the report says so.
``path``: The folder, on the controller.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...module_utils._handoff.home import read
from ..decision import Context

SPEC: dict[str, Any] = {"path": {"type": "path", "required": True}}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    folder = Path(options["path"])
    try:
        return {"home": read(folder)}
    except OSError as error:
        raise ValueError(
            f"{folder}: cannot be read ({error.strerror}). Give the folder with the job's results."
        ) from error
