"""Refuse tags that no task has and that look like one: the run would end well and have done nothing."""

from __future__ import annotations

import difflib
from typing import Any

from ..decision import Context
from ..stages import STAGES

SPEC: dict[str, Any] = {}
# Those of the playbooks of this collection.
OTHERS = ("advice", "bandwidth", "comparison", "consistency", "fabric", "handoff", "input", "nccl_tests", "perftest")
TAGS = {*STAGES, *OTHERS, "scaling", "scoring", "training", "verify", "always", "never", "all", "tagged", "untagged"}
_OTHER_NAMES = {"reboot": "window", "container": "mesh", "containers": "mesh", "vm": "window", "gpu_vm": "window"}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    for tag in (*context.variables["ansible_run_tags"], *context.variables["ansible_skip_tags"]):
        near = difflib.get_close_matches(tag, sorted(TAGS), n=1, cutoff=0.8)
        meant = _OTHER_NAMES.get(tag) or "".join(near)
        if tag not in TAGS and meant and not tag.startswith(meant):  # "switches" may be a tag of the site's own plays
            raise ValueError(f"tag {tag}: no task has it; is it {meant}? Tags of the stages: {', '.join(STAGES)}.")
    return {}
