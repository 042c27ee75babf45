# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: run_leftovers
short_description: Whose are the jobs that run in the containers, and which of them may be ended
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Judges what C(workloads/checks/leftovers.py) listed on each node. A process may be ended only if it carries the mark
    of a job of this site and the container of the head says that this job has no supervisor any more.
  - Everything else is somebody's. What is not known is somebody else's.
options:
  _input:
    description: Name of the host to what was found there (C(pid), C(user), C(since), C(command), C(job), C(ours)).
    type: dict
    required: true
  states:
    description: Folder of the job to V(over), V(running) or V(unknown), as the head answered.
    type: dict
    required: true
  end:
    description: Whether jobs of this site that are over may be ended.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Which jobs may be ended
  ansible.builtin.debug:
    msg: "{{ found | rocemesh.multinode.run_leftovers(states) }}"
"""

RETURN = r"""
_value:
  description:
    - C(over), the folders of the jobs that may be ended, and C(others), one entry (C(host), C(pid),
      C(text)) per process that must not.
  type: dict
"""

from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError


def _why(entry: Mapping[str, Any], state: str) -> str:
    if not entry["job"]:
        return "no mark, so somebody else's"
    if not entry["ours"]:
        return f"job {entry['job']} of another site"
    return {
        "over": "left by a killed run of this site, and run_end_leftovers is false",
        "running": f"job {entry['job']} of this site is running: another run asks for it",
    }.get(state, f"job {entry['job']} of this site, and this head's container does not know whether it is over")


def run_leftovers(
    found: Mapping[str, Sequence[Mapping[str, Any]]], states: Mapping[str, str], end: bool = True
) -> dict[str, list[Any]]:
    over: set[str] = set()
    others: list[dict[str, Any]] = []
    try:
        for host, entries in found.items():
            for entry in entries:
                state = states.get(entry["job"], "unknown") if entry["ours"] else "unknown"
                if end and state == "over":
                    over.add(entry["job"])
                    continue
                text = (
                    f"{host}: process {entry['pid']} of {entry['user']} since {entry['since']} "
                    f"({_why(entry, state)}): {entry['command']}"
                )
                others.append({"host": host, "pid": entry["pid"], "text": text})
    except (AttributeError, KeyError, TypeError) as error:
        raise AnsibleFilterError(f"run_leftovers: an unknown list of processes ({error!r}): {found!r}") from error
    return {"over": sorted(over), "others": others}


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"run_leftovers": run_leftovers}
