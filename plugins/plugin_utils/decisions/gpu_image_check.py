"""Check that PyTorch in an image supports the GPUs of its hosts.

A torch that was built for CPUs trains as well, and its figures look like a slow cluster; so does one that is too new
for the driver. Both are named, with what to do. A host that did not answer is named too.
``answers``: Host to lines of which the first counts: what its torch printed of itself, JSON with `torch` (version),
`cuda` (version it was built for, empty for none), `nccl`, `available`, `gpus` (number), `why` and `error`.
``gpus``: Host to the list of its GPUs.
``hosts``: Names of the hosts of the run.
"""

from __future__ import annotations

import json
from typing import Any, Mapping, Sequence

from ...module_utils._nic.gpu_state import image_problems
from ...module_utils._results.readers.reading import names
from ..decision import Context


def _stack(lines: Sequence[str]) -> Mapping[str, Any]:
    stack = json.loads(lines[0]) if lines else {}
    return stack if isinstance(stack, Mapping) else {}


SPEC: dict[str, Any] = {
    "answers": {"type": "dict", "required": True},
    "gpus": {"type": "dict", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    stacks = {str(host): _stack(lines) for host, lines in options["answers"].items()}
    silent = {"error": "it gave no answer"}
    gpus = options["gpus"]
    versions = {str(stack.get("nccl") or "") for stack in stacks.values()}
    said: dict[str, list[str]] = {}  # all hosts of one image have one problem
    for host in options["hosts"]:
        for text in image_problems(host, len(gpus.get(host) or ()), stacks.get(host) or silent):
            said.setdefault(text.removeprefix(f"{host}: "), []).append(host)
    return {
        "problems": [f"{names(hosts)}: {text}" for text, hosts in said.items()],
        "nccl": versions.pop() if len(versions) == 1 else "",
    }
