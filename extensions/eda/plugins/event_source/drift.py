"""Event source: what the playbook drift found, when it differs from what it found before.

Reads the file that `playbooks/drift.yml --check` writes (docs/day-2.md); a timer runs the playbook. Silent while
nothing changes. An event: ``{"drift": {"verdict": ..., "before": ..., "simulated": ..., "new": [rows], "gone":
[rows]}}``; rows as in drift.json. A file that cannot be read is an event with the verdict ``not readable``.

Arguments: ``path``: drift.json; ``seconds``: between two looks at it, 30 by default.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
from typing import Any, Mapping

RIGHT, NOT_READABLE = "right", "not readable"


def read(path: pathlib.Path) -> dict[str, Any]:
    """The newest answer; what cannot be read is an answer, too."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {"verdict": str(found["verdict"]), "simulated": bool(found["simulated"]), "drift": list(found["drift"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        return {"verdict": NOT_READABLE, "simulated": False, "drift": [], "error": f"{path}: {error}"}


def event(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any] | None:
    """What changed between two answers; None if nothing did."""
    new = [row for row in now["drift"] if row not in before["drift"]]
    gone = [row for row in before["drift"] if row not in now["drift"]]
    if now["verdict"] == before["verdict"] and not new and not gone:
        return None
    found = {
        "verdict": now["verdict"],
        "before": before["verdict"],
        "simulated": now["simulated"],
        "new": new,
        "gone": gone,
    }
    return {"drift": {**found, **({"error": now["error"]} if "error" in now else {})}}


async def main(queue: asyncio.Queue[Any], args: dict[str, Any]) -> None:
    path, seconds = pathlib.Path(args["path"]), float(args.get("seconds", 30))
    before: dict[str, Any] = {"verdict": RIGHT, "simulated": False, "drift": []}
    while True:
        now = read(path)
        changed = event(before, now)
        if changed is not None:
            await queue.put(changed)
            before = now
        await asyncio.sleep(seconds)
