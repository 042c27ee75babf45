"""Filter: NCCL's variables for RoCE, computed from the nodes' RDMA devices."""

from __future__ import annotations

DOCUMENTATION = r"""
name: nccl_variables
short_description: Compute NCCL's variables for RoCE from the RDMA devices of the nodes, each with its reason
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Chooses C(NCCL_IB_HCA) (exact names), C(NCCL_SOCKET_IFNAME), the GID (C(NCCL_IB_GID_INDEX), or
    C(NCCL_IB_ADDR_RANGE) since NCCL 2.21), C(NCCL_CROSS_NIC) for several rails, and the traffic class of the lossless
    DSCP (C(NCCL_IB_TC), C(NCCL_IB_FIFO_TC)).
  - What differs between the nodes is returned per node, with C(launcher), words to put before the program that give
    each rank the values of its own node - C(mpirun -x) can only give the same value to all.
  - Refuses where the facts leave no choice, and shows them - or, with O(required=false), computes nothing and says why
    in C(notes). Not verified on hardware.
positional: _input, network
options:
  _input:
    description: >-
      Node to facts - C(devices), a list of C(name), C(port), C(netdev), C(link_layer), C(active_mtu) (bytes) and
      C(gids) (list of C(index), C(gid), C(type) as sysfs spells it, C(netdev)), and optionally C(interfaces), a list of
      C(name) and C(addresses).
    type: dict
    required: true
  network:
    description: >-
      The RoCE networks in CIDR notation, one per rail, as a list or as a text with commas. With several, each node
      needs a port in each of them.
    type: raw
    required: true
  dscp:
    description: DSCP (0 to 63) of the switch's lossless class. Left out, no traffic class is set.
    type: int
  ecn:
    description: Whether to mark the packets as ECN-capable, which the switch's congestion marks need.
    type: bool
    default: true
  control_network:
    description: Network of NCCL's TCP connections in CIDR notation. Empty - the first RoCE network.
    type: str
    default: ''
  nccl_version:
    description: Version of NCCL in the image, for example V(2.21.5). Empty - not known, treated as an old one.
    type: str
    default: ''
  devices:
    description: Names of the RDMA devices to use. Empty - all that have an address in a RoCE network.
    type: list
    elements: str
    default: []
  hostnames:
    description: Node to what it calls itself, where that is not its name in the inventory.
    type: dict
    default: {}
  required:
    description: Whether facts that leave no choice are an error. Otherwise no variable is computed.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Show the variables and why
  ansible.builtin.debug:
    msg: "{{ (rdma_facts | rocemesh.multinode.nccl_variables('198.51.100.0/24', dscp=26)).reasons }}"
"""

RETURN = r"""
_value:
  description: >-
    C(shared) (variables for all ranks), C(per_node) (node to variables that differ), C(reasons) (list of C(name),
    C(value), C(node), C(reason)), C(notes), C(launcher) (words to put before the program, empty if no node differs),
    C(rails) (per rail C(rail), C(network) and C(ports) - C(node), C(device), C(port), C(netdev), C(pci), C(address),
    C(gid_index), C(active_mtu), and C(counters), those that tell whether it carried the job) and C(left_out) (C(node),
    C(name), C(port), C(netdev), C(why) of every port that is not used).
  type: dict
"""

from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._layer import LayerError
from ..module_utils._site.nccl_variables import Variables, choose, launcher


def nccl_variables(
    facts: Any,
    network: Any,
    *,
    dscp: int | None = None,
    ecn: bool = True,
    control_network: str = "",
    nccl_version: str = "",
    devices: Sequence[str] = (),
    hostnames: Mapping[str, str] | None = None,
    required: bool = True,
) -> dict[str, Any]:
    if not isinstance(facts, Mapping):
        raise AnsibleFilterError(f"nccl_variables: wants facts per node, not {type(facts).__name__}")
    try:
        found = choose(
            facts,
            network if isinstance(network, (list, tuple)) else str(network),
            dscp=None if dscp is None else int(dscp),
            ecn=bool(ecn),
            control_network=str(control_network),
            nccl_version=str(nccl_version),
            devices=[str(name) for name in devices],
        )
        words = launcher(found, hostnames or {})
    except LayerError as error:
        if required:
            raise AnsibleFilterError(f"nccl_variables: {error}") from error
        return {**Variables({}, {}, (), (f"No variable is computed: {error}",)).as_result(), "launcher": []}
    except (KeyError, TypeError, ValueError) as error:
        what = f"the facts lack {error}" if isinstance(error, KeyError) else str(error)
        raise AnsibleFilterError(f"nccl_variables: {what}") from error
    return {**found.as_result(), "launcher": words}


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"nccl_variables": nccl_variables}
