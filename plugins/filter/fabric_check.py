# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the fabric check: the plan, and the judgement of what came back."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fabric_check
short_description: Plan the next part of a fabric check, or judge it
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Takes what is known so far and returns the next part to run, or the answer. Reads nothing and starts nothing.
  - The parts are V(reach) (probes), V(measure) (rounds of perftest), V(confirm) (repeats, at most twice) and V(done).
positional: _input
options:
  _input:
    description:
      - C(hosts) (C(name), C(address)), C(readings) (host to what M(rocemesh.multinode.rdma_info) returned), C(switches)
        (switch to what it said, with C(ports)), and C(options), the variables of the role.
    type: dict
    required: true
  outputs:
    description: Standard output of each part that ran, in order.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Say what a check would do
  ansible.builtin.debug:
    msg: "{{ (site | rocemesh.multinode.fabric_check).sentence }}"
"""

RETURN = r"""
_value:
  description:
    - C(part), C(plan) (argument of C(workloads/fabric/agent.py)), C(limit) in seconds and C(sentence), what it costs.
    - For V(done) C(report) (C(ok), C(complete), C(faults), C(measured), C(notes), C(table)) and C(heat_map), SVG text.
  type: dict
"""

from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._fabric.check import next_part
from ..module_utils._layer import LayerError


def fabric_check(site: Mapping[str, Any], outputs: Sequence[str] = ()) -> dict[str, Any]:
    try:
        return next_part(site, [str(output) for output in outputs])
    except (LayerError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise AnsibleFilterError(f"fabric_check: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"fabric_check": fabric_check}
