#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: eos_roce_info
short_description: What an Arista EOS switch says about RoCE, ports, neighbors and counters
version_added: 0.1.0
description:
  - Reads, in one SSH login, its JSON and its running configuration.
  - Judges the result, see RV(switch), but fails only if the switch cannot be reached, or if neither
    its release nor its ports can be read.
  - Sends commands that only read; traffic and power are not affected.
author:
  - rocemesh.multinode contributors (@rocemesh)
notes:
  - The account needs privilege 15 without C(enable), with C(aaa authorization exec default local), for the running
    configuration, of which only the QoS of ports is kept.
  - The map from DSCP to traffic class that holds without configuration is not printed, so that it counts as unknown.
  - Frames of PFC are those of all priorities. RoCE packets are not counted by priority, so C(rx_roce_packets) and
    C(tx_roce_packets) are not there. Whether PFC is in operation is not known either, only whether it is configured.
  - 'Not verified on hardware: made from public outputs (aristanetworks/anta, aristanetworks/avd, amd/node-scraper).'
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
  rocemesh.multinode.eos_roce_info:
    hostname: leaf01.example.com
    username: reader
    password: "{{ vault_switch_password }}"
    known_hosts: "{{ inventory_dir }}/known_hosts"
    ports: [Ethernet1/1-4]
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
    version: 4.32.2F
    roce: {mode: lossless, trust: dscp, ecn: ECN, pfc: enabled, pfc_priorities: [3], dscp_priorities: {"26": 3}}
    ports:
      Ethernet1/1:
        mode: access
        access_vlan: 111
        counters: {rx_discards: 0, tx_discards: 0, rx_pfc_pause: 12, tx_pfc_pause: 0, ecn_marked: 3}
    healthy: true
error_code:
  description: Kind of the failure, one of V(refused), V(credentials), V(unreachable) and V(unknown_format).
  returned: failure
  type: str
"""

from ..module_utils._eos.reading import read
from ..module_utils._switch.survey import run


def main() -> None:
    run(read)


if __name__ == "__main__":
    main()
