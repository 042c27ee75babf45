# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what the RoCE counters of the switches moved during a run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: switch_counters_moved
short_description: What the RoCE counters of the switches moved between two readings
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Differences of the readings before and after a run, over all ports that were looked at and are up, as one place -
    what all nodes sent has to come in there.
  - Switches count RoCE packets, not bytes. Discards, PFC pauses and ECN marks are named with their port.
  - A counter that is missing or went back makes the place unknown, with the reason; it never becomes a zero. Not
    verified on hardware.
positional: _input, nodes
options:
  _input:
    description: >-
      Switch to C(before) and C(after), each with C(ports) (name to C(oper) and C(counters)) as the modules of the
      switches return them, and C(error), the reason why there is none.
    type: dict
    required: true
  nodes:
    description: How many nodes took part.
    type: int
    required: true
  simulated:
    description: Whether the switches are simulated. Their counters count nothing.
    type: bool
    default: false
seealso:
  - module: rocemesh.multinode.run_report
"""

EXAMPLES = r"""
- name: Show what moved
  ansible.builtin.debug:
    msg: "{{ readings | rocemesh.multinode.switch_counters_moved(4) }}"
"""

RETURN = r"""
_value:
  description: >-
    As option C(switch_counters) of M(rocemesh.multinode.run_report) takes it - C(places) (C(sent_packets) and
    C(received_packets) as the nodes see it, C(discards), C(pauses), C(events), C(ports), C(nodes), C(why)) and
    C(reason).
  type: dict
"""

from typing import Any, Callable, Mapping

from ansible.errors import AnsibleFilterError

from ..module_utils._results.snapshots import switches


def switch_counters_moved(readings: Any, nodes: int, simulated: bool = False) -> dict[str, Any]:
    if not isinstance(readings, Mapping):
        raise AnsibleFilterError(f"switch_counters_moved: wants readings per switch, not {type(readings).__name__}")
    return switches(readings, int(nodes), bool(simulated))


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"switch_counters_moved": switch_counters_moved}
