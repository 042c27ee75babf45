# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what the RDMA counters of the nodes moved during a run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: rdma_counters_moved
short_description: What the RDMA counters of the nodes moved between two readings
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Differences of the readings before and after a run, per node, over the ports with a RoCE v2 address in the network
    of the training.
  - A counter that is missing, went back or stands at its largest value makes the place unknown, with the reason; it
    never becomes a zero. Counters of simulated devices count nothing. Not verified on hardware.
positional: _input, nodes, network
options:
  _input:
    description: >-
      Node to C(before) and C(after), each what M(rocemesh.multinode.rdma_info) returned, or C(error), the reason why
      not.
    type: dict
    required: true
  nodes:
    description: The nodes of the run.
    type: list
    elements: str
    required: true
  network:
    description: The RoCE network in CIDR notation. Empty - every port with a RoCE v2 address.
    type: str
    default: ""
seealso:
  - module: rocemesh.multinode.run_report
"""

EXAMPLES = r"""
- name: Show what moved
  ansible.builtin.debug:
    msg: "{{ readings | rocemesh.multinode.rdma_counters_moved(['gpu01', 'gpu02'], '192.0.2.0/24') }}"
"""

RETURN = r"""
_value:
  description: >-
    As option C(rdma_counters) of M(rocemesh.multinode.run_report) takes it - C(places) (node to C(sent_bytes),
    C(received_bytes), C(discards), C(pauses), C(events), C(ports), C(why)) and C(reason).
  type: dict
"""

from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._results.snapshots import rdma


def rdma_counters_moved(readings: Any, nodes: Sequence[str], network: str = "") -> dict[str, Any]:
    if not isinstance(readings, Mapping):
        raise AnsibleFilterError(f"rdma_counters_moved: wants readings per node, not {type(readings).__name__}")
    try:
        return rdma(readings, [str(node) for node in nodes], str(network or ""))
    except ValueError as error:
        raise AnsibleFilterError(f"rdma_counters_moved: network {network!r}: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"rdma_counters_moved": rdma_counters_moved}
