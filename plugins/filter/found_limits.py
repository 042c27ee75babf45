# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what the nodes' RDMA devices say about the limits of the cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
name: found_limits
short_description: Link, MTU and PCIe of the cluster from what rdma_info found on the nodes
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - The least of all nodes counts. What one node does not tell is unknown for all.
  - What simulated devices say is no limit of anything, so nothing is taken from them. Not verified on hardware.
positional: _input, nodes, network
options:
  _input:
    description: Node to what M(rocemesh.multinode.rdma_info) returned there.
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
- name: Show what is known
  ansible.builtin.debug:
    msg: "{{ (readings | rocemesh.multinode.found_limits(['gpu01', 'gpu02'], '192.0.2.0/24')).sources }}"
"""

RETURN = r"""
_value:
  description: >-
    C(limits) (as option C(limits) of M(rocemesh.multinode.run_report) takes them), C(sources) (a text for each),
    C(unknown) (what is not known, and why) and C(notes).
  type: dict
"""

from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._results.found_limits import find


def found_limits(readings: Any, nodes: Sequence[str], network: str = "") -> dict[str, Any]:
    if not isinstance(readings, Mapping):
        raise AnsibleFilterError(f"found_limits: wants a reading per node, not {type(readings).__name__}")
    try:
        return find(readings, [str(node) for node in nodes], str(network or ""))
    except ValueError as error:
        raise AnsibleFilterError(f"found_limits: network {network!r}: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"found_limits": found_limits}
