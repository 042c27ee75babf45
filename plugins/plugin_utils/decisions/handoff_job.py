"""Validate a job for Slurm, torchrun or Kubernetes, and return it as data.

Refuses what a scheduler would refuse only later, or not at all - an image without digest, a device that a node does
not have, a namespace that cannot exist, hosts with different numbers of ranks, variables that belong to the launcher,
names that look like secrets.
``job``: The job as role P(run#role) puts it together - `name`, `launchers`, `image`, `hosts`, `command`, `env`,
`nccl`, `facts` and further keys.
``looked``: What `ansible.builtin.slurp` found in a loop over the hosts, NCCL's topology file of each. A host without
one is left out.
"""

from __future__ import annotations

import base64
from typing import Any, Mapping, Sequence

from ...module_utils._handoff.job import files_of, job_of
from ..decision import Context


def topologies(looked: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    found = {}
    for each in looked:
        if each.get("content"):
            host = each["item"]
            name = str(host.get("hostname") or host["name"]).split(".", maxsplit=1)[0]
            found[name] = base64.b64decode(each["content"]).decode("utf-8")
    return found


SPEC: dict[str, Any] = {
    "job": {"type": "dict", "required": True},
    "looked": {"type": "list", "elements": "dict", "default": []},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    found = topologies(options["looked"])
    job = job_of(options["job"])
    return {"job": job, "files": files_of(job, found), "topologies": found}
