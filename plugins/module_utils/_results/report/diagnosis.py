# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the doctor says of a run that is not proven, from what the run has read anyway. Its only I/O: reading the logs.

The doctor adds to a report and takes nothing from it: if it fails, that stands in its section, and all else stays.
"""

from __future__ import annotations

import re
from typing import Any, Mapping

from ..._doctor import doctor, run_facts
from ..._doctor.bundle import Selection
from ..._doctor.model import HEALTHY
from ..._proof.verdict import PROVEN
from ..._proof.witnesses.doctor import sentence

LOGS = re.compile(r"\.(?:log|err|out)$")  # beside them lie results and counters, which are read for what they are
LOG_BYTES = 1 << 30  # of the logs; a minute of reading
_SOUND = "Nothing that this run read names a fault. What keeps it from PROVEN stands under Witnesses."
_FINDINGS, _QUESTIONS, _LINES = 5, 5, 5


def wanted(summary: Mapping[str, Any]) -> bool:
    return bool(summary["verdict"]["state"] != PROVEN)


def diagnose(summary: Mapping[str, Any], evidence: Mapping[str, Any], logs: str | None) -> dict[str, Any]:
    """Part ``doctor`` of the summary; ``logs``: a folder, or one log. Raises nothing."""
    try:
        layers = summary["layers"]
        texts = run_facts.pieces(evidence, (layers.get("esxi") or {}).get("found"))
        texts |= run_facts.speed(summary.get("speed") or {}, (evidence.get("job") or {}).get("hosts") or {})
        unreal = run_facts.simulated(evidence, layers)
        found = doctor.diagnose(logs, texts, selection=Selection(LOGS, "job/", LOG_BYTES))
        findings = [
            {**finding, "simulated": any(entry["file"].startswith(unreal) for entry in finding["evidence"])}
            for finding in found["findings"][:_FINDINGS]
        ]
    except Exception as error:
        return _nothing(f"{type(error).__name__}: {error}"[:500])
    return {
        "failed": "",
        "verdict": found["verdict"],
        "message": _SOUND if found["verdict"] == HEALTHY else found["message"],
        "settled": found["settled"],
        "findings": findings,
        "next": found["next"][:_QUESTIONS],
        "asked": found["asked"],
        "unknown": found["unknown"][:_LINES],
        "notes": found["notes"],
        "read": found["read"],
    }


def brief(doctor: Mapping[str, Any]) -> str:
    """The first finding in one sentence, for the end of a message; without one, what to look at next. Empty where the
    doctor has nothing to add."""
    if doctor["findings"]:
        first = doctor["findings"][0]
        todo = f"What to do: {first['fix']['what']}" if doctor["settled"] else f"Look at: {first['next']['run']}"
        return f"The doctor: {sentence(first)}. {todo}."
    return "" if doctor["verdict"] in (None, HEALTHY) else f"The doctor: {doctor['message']}"


def _nothing(why: str) -> dict[str, Any]:
    lists: dict[str, list[Any]] = {key: [] for key in ("findings", "next", "asked", "unknown", "notes", "read")}
    return {"failed": why, "verdict": None, "message": f"The doctor failed: {why}", "settled": "", **lists}
