#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: switch_roce_info
short_description: What a SONiC, Arista EOS or Cisco NX-OS switch says about RoCE, ports, neighbors and counters
version_added: 0.1.0
description:
  - Reads, in one SSH login, what the switch prints (of EOS and NX-OS its JSON and its running configuration, of SONiC
    its CONFIG_DB and the tables of its own commands).
  - Judges the result, see RV(switch), but fails only if the switch cannot be reached, or if neither
    its release nor its ports can be read.
  - Sends commands that only read; traffic and power are not affected.
author: rocemesh.multinode contributors (@rocemesh)
notes:
  - With V(sonic), the account has to be in the groups that may run C(show); C(show runningconfiguration all) uses
    C(sudo) by itself. A switch of several ASICs is refused.
  - With V(eos), the account needs privilege 15 without C(enable), with C(aaa authorization exec default local), for the
    running configuration, of which only the QoS of ports is kept. The default map from DSCP to traffic class is not
    printed. The one of EOS's manual counts (24 to 31 are traffic class 3), with the lines that change it, and a routed
    port trusts DSCP. Whether PFC is in operation is not known, only whether it is configured.
  - V(nxos) is made for Nexus 9000. The account needs the role C(network-operator). Of the running configuration only
    the QoS of ports is kept.
  - RoCE packets that come in are counted by priority on none of these systems, so C(rx_roce_packets) is not there.
    With V(eos) C(tx_roce_packets) is not there either, and with V(nxos) C(ecn_marked). Frames of PFC are those of all
    priorities with V(eos) and V(nxos).
  - 'Not verified on hardware: made from public outputs (V(sonic): sonic-net/sonic-utilities; V(eos):
    aristanetworks/anta, aristanetworks/avd, amd/node-scraper; V(nxos): cisco.nxos, NX-API reference, published
    configurations).'
options:
  system:
    description: What the switch runs. No effect on traffic.
    type: str
    required: true
    choices: [sonic, eos, nxos]
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
  rocemesh.multinode.switch_roce_info:
    system: eos
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
      C(ports), C(saved) (null if not known), C(unreadable) (C(what), C(reason)), C(problems) (one sentence each),
      C(warnings) (what RoCE works without, such as the PFC watchdog) and C(healthy).
    - C(findings) has C(code), C(place) (a port, empty for the whole switch), C(thing), C(found), C(expected) and
      C(remedy) of each problem and warning. Codes are V(mode), V(mtu), V(port_mode), V(vlan), V(address), V(network),
      V(trust), V(dscp), V(cnp), V(ecn), V(pfc), V(pfc_oper) and V(pfc_watchdog).
    - RoCE packets are those with DSCP 8 * O(priority) + 2 (26 with priority 3). Congestion notifications (DSCP 48) must
      be in another priority, without PFC. C(roce_priority) and C(cnp_priority) of a port are what its map makes of
      them.
  returned: success
  type: dict
  sample:
    version: 4.32.2F
    roce: {mode: lossless, trust: dscp, ecn: ECN, pfc: enabled, pfc_priorities: [3], dscp_priorities: {"26": 3}}
    ports:
      Ethernet1/1:
        mode: access
        access_vlan: 111
        roce_priority: 3
        cnp_priority: 6
        pfc_watchdog: enabled
        counters: {rx_discards: 0, tx_discards: 0, rx_pfc_pause: 12, tx_pfc_pause: 0, ecn_marked: 3}
    healthy: true
error_code:
  description: Kind of the failure, one of V(refused), V(credentials), V(unreachable) and V(unknown_format).
  returned: failure
  type: str
"""

from ..module_utils._eos import reading as eos
from ..module_utils._nxos import reading as nxos
from ..module_utils._sonic import reading as sonic
from ..module_utils._switch.survey import run


def main() -> None:
    run({"sonic": sonic.read, "eos": eos.read, "nxos": nxos.read})


if __name__ == "__main__":
    main()
