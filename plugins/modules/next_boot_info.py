#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: next_boot_info
short_description: Compare the next boot of a node with its present network
version_added: 0.1.0
description:
  - Computes from its files what the next boot of a node makes of its interfaces and mounts, and compares that with
    what is there now. Addresses, routes, MTU, names, members of bonds, drivers and mounts are compared.
  - Reads the files of netplan (its own generator runs on a copy), systemd-networkd, udev, NetworkManager (keyfiles and
    ifcfg files), ifupdown, enabled units in C(/etc/systemd/system), C(/etc/rc.local), C(/etc/modprobe.d) and
    C(/etc/fstab).
  - Names files of older releases of this collection, and the role that removes them.
  - Changes nothing.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.reads
  - rocemesh.multinode.attributes.node
author: rocemesh.multinode contributors (@rocemesh)
options:
  timeout:
    description: Seconds that one program may take.
    type: int
    default: 20
notes:
  - Addresses from DHCP and router advertisements, routes of routing daemons, and single addresses beside others of an
    interface (VRRP) are not differences.
  - Not followed are scripts that units call, what cloud-init writes at the next boot, and dispatcher scripts.
seealso:
  - module: rocemesh.multinode.node_preflight_info
  - module: rocemesh.multinode.node_manifest
"""

EXAMPLES = r"""
- name: Compare the next boot with the present
  rocemesh.multinode.next_boot_info:
  become: true
  register: next_boot

- name: Refuse a restart that changes the network
  ansible.builtin.assert:
    that: next_boot.differences | length == 0
    fail_msg: "{{ next_boot.differences | map(attribute='text') | join('; ') }}"
"""

RETURN = r"""
differences:
  description:
    - One entry per difference. C(code) is V(address), V(route), V(mtu), V(name), V(master), V(state), V(interface),
      V(driver), V(mount) or V(file_invalid) (a file that its reader refuses), C(place) the interface, mount point or
      file, C(now) and C(then) the two values, C(file) what makes the second one, C(text) all of it in one line.
  returned: success
  type: list
  elements: dict
  sample:
    - code: address
      place: ens224
      now: 198.51.100.11/24
      then: ""
      file: /run/systemd/network/10-netplan-ens224.network
      text: >-
        ens224: address is 198.51.100.11/24, after the next boot none (/run/systemd/network/10-netplan-ens224.network)
unknown:
  description: What was not compared, and why.
  returned: success
  type: list
  elements: str
leftovers:
  description: Paths of older releases of this collection, with C(path), C(role) and C(what).
  returned: success
  type: list
  elements: dict
simulated:
  description: Whether a simulated tree was read and not the kernel's.
  returned: success
  type: bool
"""

import platform

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._nic.boot_reading import read_next_boot
from ..module_utils._nic.interface_reading import InterfaceReader


def main() -> None:
    module = AnsibleModule(argument_spec={"timeout": {"type": "int", "default": 20}}, supports_check_mode=True)
    reader = InterfaceReader(platform.node(), timeout=float(max(1, module.params["timeout"])))
    module.exit_json(changed=False, simulated=reader.sysfs.simulated, **read_next_boot(reader))


if __name__ == "__main__":
    main()
