"""Compare a plan with what the same command would do now: the site has not moved on since the plan was written.

``path``: The plan, a file that the callback journal wrote in check mode.

Plays this very command once more, with C(--check), and compares what it plans. Fails with the differences. Returns
`whose` (who wrote the plan) and `count` (how many settings it changes).
"""

from __future__ import annotations

import pathlib
import sys
import tempfile
from typing import Any

from ansible import constants

from .. import child_play, journal, journal_file
from ..decision import Context

SPEC: dict[str, Any] = {"path": {"type": "str", "required": True}}
_CALLBACK = f"{journal.COLLECTION}journal"
_SHOWN = 20


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    path = pathlib.Path(options["path"])
    plan = journal_file.read_plan(path)
    now = plan_now([*sys.argv, "--check"])
    approved = journal_file.changes(plan.entries)
    if now is not None:
        for key in ("playbook", "limit", "tags", "skip_tags"):
            if plan.begin.get(key) != now.begin.get(key):
                raise ValueError(
                    f"{path}: {key} is {plan.begin.get(key)!r}, expected {now.begin.get(key)!r}. Nothing was changed. "
                    "Give the arguments that the plan was written with."
                )
    lines = journal_file.differences(approved, journal_file.changes(now.entries if now else ()))
    if lines:
        more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        raise ValueError(
            f"{path}: the site has moved on since this plan ({plan.begin['time']}): "
            + "; ".join([*lines[:_SHOWN], *more])
            + ". Nothing was changed. Write a new plan with --check."
        )
    return {"whose": plan.whose, "count": len(approved)}


def plan_now(command: list[str]) -> journal_file.Journal | None:
    """What the command plans now; None: nothing. ``command``: as sys.argv, with C(--check)."""
    with tempfile.TemporaryDirectory() as folder:
        enabled = [*(name for name in constants.config.get_config_value("CALLBACKS_ENABLED") or ()), _CALLBACK]
        done = child_play.play(
            command, ROCEMESH_JOURNAL=folder, ANSIBLE_CALLBACKS_ENABLED=",".join(dict.fromkeys(enabled))
        )
        if done.returncode:
            said = "\n".join(child_play.failures(done.stdout))
            raise ValueError(
                f"the plan cannot be compared with the site: the same command with --check ended with exit status "
                f"{done.returncode}. Nothing was changed. {said or done.stderr or done.stdout[-2000:]}"
            )
        plans = list(pathlib.Path(folder).glob("*.jsonl"))
        return journal_file.read_plan(plans[0]) if plans else None
