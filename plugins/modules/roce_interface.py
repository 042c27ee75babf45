#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: roce_interface
short_description: The interfaces of the RoCE network in a GPU VM, and their MTU
version_added: 0.1.0
description:
  - Finds the interfaces of the RDMA devices in the RoCE network, refuses any other one and one that the VM is managed
    over, and sets their MTU now and for every boot.
  - Nothing but the MTU changes. No network configuration is written. Who sets the interface up is asked from those
    who do it. The MTU goes into a drop-in for the file that systemd-networkd says it took (netplan's too), or into
    the profile that NetworkManager says it took; where that file or profile is for other interfaces too, or where
    none of them sets it up, into a systemd unit that is bound to the device.
  - What is stored is tried on a copy first, with C(netplan generate), C(systemd-analyze) or C(nmcli --offline). What
    cannot be done safely is refused with the reason.
  - An interface is never taken down, systemd is not reloaded, and C(netplan apply) is not run.
author: rocemesh.multinode contributors (@rocemesh)
requirements:
  - Python 3.8 or newer, iproute2 and systemd on the node
extends_documentation_fragment:
  - rocemesh.multinode.attributes.changes
  - rocemesh.multinode.attributes.fails
  - rocemesh.multinode.attributes.restores
options:
  interface:
    description:
      - Names of the interfaces, or V(auto) alone for those of ConnectX functions with an address in O(network). A
        bond of such functions and a VLAN on one count too.
    type: list
    elements: str
    default: [auto]
  network:
    description:
      - RoCE network or networks (CIDR), one per rail. Without it, V(auto) takes the only interface of a ConnectX
        function that has an address and that the VM is not managed over; if there are several, it refuses.
    type: list
    elements: str
    default: []
  mtu:
    description: MTU in bytes, V(0) or 1500 to 9900. V(0) sets none and only tells which interfaces these are.
    type: int
    default: 0
  management:
    description: What to do with an interface that carries a default route or the address O(connection_address).
    type: str
    choices: [refuse, allow]
    default: refuse
  connection_address:
    description: Address of the VM that the connection of Ansible came in on. If it is empty, the module looks for
      E(SSH_CONNECTION) in the environments of the processes above it.
    type: str
    default: ""
  restore:
    description:
      - Values that an earlier run of this module stored or set get those from before that run. O(interface),
        O(network) and O(mtu) are ignored.
      - A value goes back only while it is the one that the earlier run gave. Any other value stays and is in
        C(left_alone).
    type: dict
  driver:
    description:
      - Drivers of the interfaces that may be taken, as C(ethtool -i) names them. With others than V(mlx5_core) a device
        that is no ConnectX is taken as well, for example one of rdma_rxe on any card. iWARP is refused in any case.
    type: list
    elements: str
    default: [mlx5_core]
  tool_timeout:
    description: Seconds to wait for one call of a tool.
    type: int
    default: 20
notes:
  - Tried with netplan 0.106, systemd-networkd 252, NetworkManager 1.42 and ifupdown 0.8.41. Not verified on hardware.
  - If the environment variable E(ROCEMESH_SYSFS_ROOT) names a directory, RDMA devices are read there in place of
    C(/sys). The collection's simulated nodes use it.
seealso:
  - module: rocemesh.multinode.rdma_info
"""

EXAMPLES = r"""
- name: MTU 9000 on the rails, whatever their interfaces are called
  rocemesh.multinode.roce_interface:
    network: [198.51.100.0/24]
    mtu: 9000
  become: true

- name: Only tell which interfaces these are
  rocemesh.multinode.roce_interface:
    network: [198.51.100.0/24]
  become: true
  register: roce
"""

RETURN = r"""
interfaces:
  description:
    - The interfaces, with C(name), C(kind), C(ports) (the interfaces with a device below a bond or VLAN), C(devices)
      (RDMA), C(addresses), C(mtu) and C(set_up_by), which is empty without O(mtu).
  returned: success
  type: list
  elements: dict
  sample:
    - name: ens224
      kind: ethernet
      ports: [ens224]
      devices: [mlx5_0]
      addresses: [198.51.100.11/24]
      mtu: 9000
      set_up_by: systemd-networkd by /run/systemd/network/10-netplan-ens224.network
simulated:
  description: Whether the RDMA devices are those of a simulated tree.
  returned: success
  type: bool
"""

import platform

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._layer import exit_with, failing
from ..module_utils._nic import wishes
from ..module_utils._nic.interface_layer import InterfaceLayer
from ..module_utils._nic.interface_restore import RestoreLayer, request


def main() -> None:
    module = AnsibleModule(argument_spec=wishes.INTERFACE, supports_check_mode=True)
    options, host = module.params, platform.node()
    layer: InterfaceLayer
    with failing(module):
        if options["restore"] is not None:
            layer = RestoreLayer(wishes.interface_reader(options, host), request(host, options["restore"]))
        else:
            layer, _wanted = wishes.interface(options, host)
    exit_with(module, layer, layer.wanted)


if __name__ == "__main__":
    main()
