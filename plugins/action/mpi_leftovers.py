# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of rocemesh.multinode.mpi_leftovers: whose jobs run in the containers."""

from __future__ import annotations

from typing import Any, Mapping

from ..modules.mpi_leftovers import DOCUMENTATION
from ..plugin_utils.decision import Decision


def _why(entry: Mapping[str, Any], state: str) -> str:
    if not entry["job"]:
        return "no mark, so somebody else's"
    if not entry["ours"]:
        return f"job {entry['job']} of another site"
    return {
        "over": "left by a killed run of this site, and run_end_leftovers is false",
        "running": f"job {entry['job']} of this site is running: another run asks for it",
    }.get(state, f"job {entry['job']} of this site, and this head's container does not know whether it is over")


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        over: set[str] = set()
        others: list[dict[str, Any]] = []
        for host, entries in options["found"].items():
            if not isinstance(entries, (list, tuple)) or not all(isinstance(entry, Mapping) for entry in entries):
                raise ValueError(f"found: {host}: an unknown list of processes: {entries!r}")
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
