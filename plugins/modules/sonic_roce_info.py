#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sonic_roce_info
short_description: What a SONiC switch says about RoCE, ports, neighbors and counters
version_added: 0.1.0
description:
  - Reads, in one SSH login, its CONFIG_DB and the tables that its own commands print.
  - Judges the result, see RV(switch), but fails only if the switch cannot be reached, or if neither
    its release nor its ports can be read.
  - Sends commands that only read; traffic and power are not affected.
author:
  - rocemesh.multinode contributors (@rocemesh)
notes:
  - The account has to be in the groups that may run C(show); C(show runningconfiguration all) uses C(sudo) by itself.
  - A switch of several ASICs is refused.
  - RoCE packets that come in are not counted by priority, so C(rx_roce_packets) is not there.
  - 'Not verified on hardware: made from public outputs (sonic-net/sonic-utilities).'
extends_documentation_fragment:
  - rocemesh.multinode.attributes.reads
  - rocemesh.multinode.switch_reading
  - rocemesh.multinode.switch_ssh
  - rocemesh.multinode.switch_ssh.look
seealso:
  - module: rocemesh.multinode.onyx_roce_info
"""

EXAMPLES = r"""
- name: Look at the server ports
  rocemesh.multinode.sonic_roce_info:
    hostname: leaf01.example.com
    username: reader
    password: "{{ vault_switch_password }}"
    known_hosts: "{{ inventory_dir }}/known_hosts"
    ports: [Ethernet0, Ethernet4]
    mode: lossless
  delegate_to: localhost
  register: leaf
"""

RETURN = r"""
switch:
  description:
    - What a driver of the role C(switch) publishes, see the role's README, with C(version), C(roce), C(vlans),
      C(ports), C(saved) (null if not known), C(unreadable) (C(what), C(reason)), C(problems) (one sentence each) and
      C(healthy).
  returned: success
  type: dict
  sample:
    version: 202311.5
    roce: {mode: lossless, trust: dscp, ecn: ECN, pfc: enabled, pfc_priorities: [3], dscp_priorities: {"26": 3}}
    ports:
      Ethernet0:
        mode: access
        access_vlan: 111
        counters: {rx_discards: 0, tx_discards: 0, rx_pfc_pause: 12, tx_roce_packets: 4811, ecn_marked: 3}
    healthy: true
error_code:
  description: Kind of the failure, one of V(refused), V(credentials), V(unreachable) and V(unknown_format).
  returned: failure
  type: str
"""

from ..module_utils._sonic.reading import read
from ..module_utils._switch.survey import run


def main() -> None:
    run(read)


if __name__ == "__main__":
    main()
