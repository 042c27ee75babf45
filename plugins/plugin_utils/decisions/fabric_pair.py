"""Whether the fabric is right between one host and another one: plays playbook fabric with these two, beside this run.

``host``: The one that is proved. ``hosts``: GPU VMs of the site, the head first. The other one is the head, or, for the
head, the next.

Returns `worse`, one sentence for each fault that concerns the host, and `note`. What is judged by itself before (GPUs)
and versions, which differ in the middle of an upgrade, are left out.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
import tempfile
from typing import Any, Mapping, Sequence

from ansible import context as cli

from .. import child_play
from ..decision import Context

SPEC: dict[str, Any] = {
    "host": {"type": "str", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
}
_NOT_CHECKED = re.compile(r"The fabric is not checked: [^\"\n]+")
_MIXED = ("firmware",)


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    host, hosts = options["host"], options["hosts"]
    if len(hosts) < 2:
        return {"worse": [], "note": "The fabric is not checked: there is one host."}
    pair = [hosts[0], hosts[1] if host == hosts[0] else host]
    with tempfile.TemporaryDirectory() as folder:
        given = {"cluster_names": pair, "fabric_pair": True, "fabric_dir": folder, "fabric_fail": False}
        done = child_play.play(
            [*command(sys.argv, cli.CLIARGS["args"]), "-e", json.dumps(given)],
            ANSIBLE_CALLBACKS_ENABLED="",
            ANSIBLE_STDOUT_CALLBACK="default",
            ANSIBLE_NOCOLOR="1",
        )
        documents = [json.loads(path.read_text()) for path in pathlib.Path(folder).glob("*/fabric.json")]
    return judged(host, pair, done.returncode, done.stdout, documents)


def command(words: Sequence[str], playbooks: Sequence[str]) -> list[str]:
    """This command with playbook fabric in the place of its own, which is named by a path or by the collection, and
    without its --limit (the last one counts): the other end of the pair may be outside of it."""
    first = str(playbooks[0])
    fabric = str(pathlib.Path(first).with_name("fabric.yml")) if first.endswith((".yml", ".yaml")) else ""
    fabric = fabric or f"{first.rpartition('.')[0]}.fabric"
    kept = [fabric if word == first else word for word in words if word == first or word not in playbooks]
    return [*kept, "--limit", "all"]


def judged(
    host: str, pair: Sequence[str], status: int, said: str, documents: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    other = next(name for name in pair if name != host)
    if not documents:
        why = _NOT_CHECKED.search(said)
        if status == 0 and why:
            return {"worse": [], "note": why[0]}
        failed = [line[:600] for line in child_play.failures(said)]
        return {"worse": [f"{host}: the fabric with {other} cannot be checked: {' '.join(failed) or said[-600:]}"]}
    faults = [
        each
        for each in documents[0]["faults"]
        if host in each["hosts"] and each["kind"] not in ("gpu", "gpus") and each["thing"] not in _MIXED
    ]
    worse = [f"{each['place']}: {each['thing']}: {each['found']}" for each in faults]
    worse += [f"{name}: no answer" for name in documents[0]["missing"]]
    return {"worse": worse, "note": f"The fabric with {other} is right."}
