"""Filter: whether switch, NIC and container agree on MTU, DSCP, traffic class, priority and GID."""

from __future__ import annotations

DOCUMENTATION = r"""
name: path_consistency
short_description: Compare MTU, DSCP, traffic class, priority, GID and link over switch, NIC and container
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Takes what the three layers say and returns one table. Reads nothing and changes nothing.
  - A value that a layer does not tell is V(unknown), which is neither right nor wrong.
positional: _input, switches
options:
  _input:
    description:
      - Host name to a dictionary with C(nic), the result of M(rocemesh.multinode.rdma_info), and C(container).
      - C(container) has C(name), C(env) (a dictionary), C(network_mode), C(infiniband) (whether C(/dev/infiniband) is
        passed in), C(mtus) (interface to the MTU that the container sees there) or C(mtu) of the first RoCE interface,
        and C(nccl_version), as far as known.
    type: dict
    required: true
  switches:
    description: Switch name to the result of M(rocemesh.multinode.onyx_roce). Only C(roce), C(ports), C(vlan) are used.
    type: dict
    required: true
  dscp:
    description: DSCP of RoCE packets, 0 to 63.
    type: int
    default: 26
  traffic_class:
    description: The whole byte, DSCP times 4 plus the ECN bits. Its DSCP must be O(dscp).
    type: int
    default: 106
  priority:
    description: The lossless priority, 0 to 7.
    type: int
    default: 3
  mtu:
    description: MTU that every RoCE interface should have. 0 asks only that all of a rail have the same.
    type: int
    default: 0
  network:
    description: >-
      The RoCE networks in CIDR notation, one per rail, as a list or as a text with commas. Empty takes every Ethernet
      port of the hosts.
    type: raw
    default: ""
"""

EXAMPLES = r"""
- name: Compare the whole path
  ansible.builtin.debug:
    msg: "{{ (nodes | rocemesh.multinode.path_consistency(switches, network='192.0.2.0/24')).table }}"
"""

RETURN = r"""
_value:
  description:
    - C(consistent) (no mismatch), C(complete) (nothing unknown), C(mismatches) and C(unknown) (one sentence each, with
      what to do), C(left_out) (a text per RoCE port that is in none of the networks), C(rows) (C(item), C(layer),
      C(where), C(expected), C(found), C(verdict), C(remedy)), and C(table), the rows as lines of text.
  type: dict
"""

from typing import Any, Callable, Mapping

from ansible.errors import AnsibleFilterError

from ..module_utils._layer import LayerError
from ..module_utils._site.consistency import report
from ..module_utils._site.path_intent import Intent


def path_consistency(
    nodes: Mapping[str, Mapping[str, Any]],
    switches: Mapping[str, Mapping[str, Any]],
    *,
    dscp: int = 26,
    traffic_class: int = 106,
    priority: int = 3,
    mtu: int = 0,
    network: Any = "",
) -> dict[str, Any]:
    networks = [str(one) for one in network] if isinstance(network, (list, tuple)) else str(network)
    try:
        intent = Intent(int(dscp), int(traffic_class), int(priority), int(mtu), networks)
        return report(switches, nodes, intent)
    except (LayerError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise AnsibleFilterError(f"path_consistency: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"path_consistency": path_consistency}
