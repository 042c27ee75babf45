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
  - Judges the result, see RV(healthy) and RV(problems), but fails only if the switch cannot be reached, or if neither
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
  - rocemesh.multinode.switch_reading
  - rocemesh.multinode.switch_reading.attributes
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
version:
  description: Release of the switch.
  returned: success
  type: str
  sample: 4.32.2F
roce:
  description:
    - What is configured at the ports that were looked at, those with a link if there are any. C(mode) follows from it.
    - C(dscp_priorities) has what they map alike. C(ecn_min_kb) and C(ecn_max_kb) are in thousands of bytes;
      C(ecn_thresholds) is what was configured, in its own unit.
  returned: success
  type: dict
  sample: {mode: lossless, trust: dscp, ecn: ECN, pfc: enabled, pfc_priorities: [3], dscp_priorities: {"26": 3}}
vlans:
  description: VLANs with the access ports that carry them.
  returned: success
  type: dict
  sample: {"111": {members: [Ethernet1/1]}}
ports:
  description: The ports, as of a driver of the role C(switch). Counters that are not there are left out.
  returned: success
  type: dict
  sample:
    Ethernet1/1:
      mode: access
      access_vlan: 111
      mtu: 9216
      oper: up
      trust: dscp
      pfc_priorities: [3]
      counters: {rx_discards: 0, tx_discards: 0, rx_pfc_pause: 12, tx_pfc_pause: 0, ecn_marked: 3}
saved:
  description: Whether the running configuration survives a restart. Null if that was not readable.
  returned: success
  type: bool
unreadable:
  description: What could not be read, each with C(what) and C(reason).
  returned: success
  type: list
  elements: dict
problems:
  description: What contradicts RoCE on ports that are up, and what is not as wanted, one sentence each.
  returned: success
  type: list
  elements: str
healthy:
  description: Whether there is no problem.
  returned: success
  type: bool
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
