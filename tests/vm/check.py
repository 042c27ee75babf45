"""The fabric check between two guests: its plan and judgement as the role plays them, its agents in the guests.

Of the role it lacks mpirun and the container: perftest of the guests is what measures.
"""

from __future__ import annotations

import base64
import concurrent.futures
import json
import zlib
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.check import next_part

from lab import config, nodes

from .guests import SECONDS, module, on_both

AGENT = (config.REPO / "workloads/fabric/agent.py").read_bytes()
OPTIONS = {"form": "full", "seconds": 2, "size": 16384, "tos": 106, "arguments": ["-R", "-T", "106"]}
# What the check allows a round for the start of its programs is too little on emulated processors.
# LITTLE: where nothing can be measured anyway.
PATIENCE, LITTLE = 5, 2
Two = tuple[config.Node, config.Node]


def readings(two: Two) -> dict[str, Any]:
    return dict(zip((node.name for node in two), on_both(two, lambda node: module("rdma_info", node))))


def fabric_check(
    two: Two, said: dict[str, Any] | None = None, *, control: tuple[str, str] | None = None, patience: int = PATIENCE
) -> dict[str, Any]:
    """What the role publishes. ``said``: by `readings`; ``control``: addresses over which the agents meet."""
    addresses = control or tuple(node.cluster_ip for node in two)
    site = {
        "hosts": [{"name": node.name, "address": address} for node, address in zip(two, addresses)],
        "readings": readings(two) if said is None else said,
        "switches": {},
        "options": {**OPTIONS, "networks": [config.SUBNET]},
    }
    outputs: list[str] = []
    while (part := next_part(site, outputs))["part"] != "done":
        outputs.append(_run(two, part["plan"], patience))
    return {**part, "outputs": outputs}


def _run(two: Two, plan: str, patience: int) -> str:
    """Both agents at once; the first one prints what both found."""
    content = json.loads(zlib.decompress(base64.b64decode(plan)))
    if content["slot"]:
        content.update(slot=content["slot"] * patience, limit=content["limit"] * patience)
    plan = base64.b64encode(zlib.compress(json.dumps(content).encode())).decode()
    agent = base64.b64encode(AGENT).decode()
    script = "echo {} | base64 -d > /run/agent.py && ROCEMESH_FABRIC_HOST={} timeout {} python3 /run/agent.py {}"

    def one(number: int) -> str:
        words = script.format(agent, number, SECONDS, plan)
        done = nodes.inside(two[number], "bash", "-c", words, check=False, timeout=SECONDS + 60)
        return done.stdout if done.returncode == 0 else f"status {done.returncode}: {done.stderr}"

    with concurrent.futures.ThreadPoolExecutor() as pool:
        return next(iter([*pool.map(one, range(2))]))
