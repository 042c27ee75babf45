"""Filter: what the nodes' RDMA devices say."""

from __future__ import annotations

DOCUMENTATION = r"""
name: rdma_facts
short_description: Facts for NCCL's variables, from what nodes and switches say
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - A node that was not read, or that has no RDMA device, leaves the choice of the variables to NCCL on all nodes, and
    is named. It is never an error.
  - The DSCP is V(26) (for another O(priority) p it is 8 p + 2) only if every switch was read, has RoCE on, trusts DSCP
    and has flow control on O(priority), and no NIC puts that DSCP elsewhere. Otherwise the reason says why not.
positional: _input, nodes
options:
  _input:
    description: Node to what M(rocemesh.multinode.rdma_info) returned there, or to C(error), the reason why not.
    type: dict
    required: true
  nodes:
    description: The nodes of the run.
    type: list
    elements: str
    required: true
  switches:
    description: Switch to what was found there, with C(roce) (C(mode), C(trust), C(pfc_priorities)).
    type: dict
    default: {}
  priority:
    description: Priority of RoCE on this site, 0 to 7.
    type: int
    default: 3
seealso:
  - plugin: rocemesh.multinode.nccl_variables
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show which nodes did not tell
  ansible.builtin.debug:
    msg: "{{ (readings | rocemesh.multinode.rdma_facts(['gpu01', 'gpu02'])).missing }}"
"""

RETURN = r"""
_value:
  description: >-
    C(facts) (as P(rocemesh.multinode.nccl_variables#filter) takes them; empty unless every node answered), C(missing)
    (a text per node that did not), C(simulated), and C(dscp) (C(dscp), null if it is not known, and C(reason)).
  type: dict
"""

from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._site.rdma_facts import lossless_dscp, usable


def rdma_facts(readings: Any, nodes: Sequence[str], switches: Any = None, priority: int | str = 3) -> dict[str, Any]:
    for what, given in (("a reading per node", readings), ("what was found per switch", switches or {})):
        if not isinstance(given, Mapping):
            raise AnsibleFilterError(f"rdma_facts: wants {what}, not {type(given).__name__}")
    found = usable(readings, [str(node) for node in nodes])
    return {**found, "dscp": lossless_dscp(switches or {}, readings, int(priority))}


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"rdma_facts": rdma_facts}
