"""Say whose the jobs are that run in the containers, and which of them may be ended.

Judges what `workloads/checks/leftovers.py` listed on each node. A process may be ended only if it carries the mark of
a job of this site and the container of the head says that this job has no supervisor any more. Everything else is
another user's. What is not known has another owner.
``found``: Name of the host to what was found there (`pid`, `user`, `since`, `command`, `job`, `ours`).
``states``: Folder of the job to `over`, `running` or `unknown`, as the head answered.
``end``: Whether jobs of this site that are over may be ended.
"""

from __future__ import annotations

from typing import Any, Mapping

from ..decision import Context


def _why(entry: Mapping[str, Any], state: str) -> str:
    if not entry["job"]:
        return "no mark, so another user's"
    if not entry["ours"]:
        return f"job {entry['job']} of another site"
    return {
        "over": "left by a killed run of this site, and run_end_leftovers is false",
        "running": f"job {entry['job']} of this site is running: another run asks for it",
    }.get(state, f"job {entry['job']} of this site, and this head's container does not know whether it is over")


SPEC: dict[str, Any] = {
    "found": {"type": "dict", "required": True},
    "states": {"type": "dict", "default": {}},
    "end": {"type": "bool", "default": True},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    over: set[str] = set()
    others: list[dict[str, Any]] = []
    for host, entries in options["found"].items():
        if not isinstance(entries, (list, tuple)) or not all(isinstance(entry, Mapping) for entry in entries):
            raise ValueError(f"{host}: list of its jobs is {entries!r}, expected processes. Bring its container back.")
        for entry in entries:
            state = options["states"].get(entry["job"], "unknown") if entry["ours"] else "unknown"
            if options["end"] and state == "over":
                over.add(entry["job"])
                continue
            text = (
                f"{host}: process {entry['pid']} of {entry['user']} since {entry['since']} "
                f"({_why(entry, state)}): {entry['command']}"
            )
            others.append({"host": host, "pid": entry["pid"], "text": text})
    return {"over": sorted(over), "others": others}
