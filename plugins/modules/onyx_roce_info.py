#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: onyx_roce_info
short_description: What an Onyx switch says about RoCE, ports, neighbors and counters
version_added: 0.1.0
description:
  - Reads, in one SSH session, the RoCE mode with what it does on each port, VLANs, ports, port-channels, LLDP
    neighbors, counters (PFC pauses, ECN marks, discards) and whether the configuration is saved.
  - Judges the result, see RV(healthy) and RV(problems), but fails only if the switch cannot be reached, or if neither
    its release nor its ports can be read.
  - Sends no configuration line and enters no configuration mode; traffic and power are not affected.
author: rocemesh.multinode contributors (@rocemesh)
notes:
  - Runs on the controller (C(delegate_to) localhost). The switch itself needs no Python.
  - Tested against a simulated switch. Not verified on hardware are the JSON shapes of C(counters pfc) and of several
    ports in C(congestion-control); a table that cannot be read is named in RV(unreadable) with the text of the switch.
options:
  mode:
    description:
      - The RoCE mode that ought to be; another one becomes one of RV(problems).
      - If it is not set, any mode is right and only contradictions within it are problems.
      - No effect on the switch or on traffic.
    type: str
    choices: [lossless, semi-lossless, lossy, absent]
extends_documentation_fragment:
  - rocemesh.multinode.attributes.reads
  - rocemesh.multinode.onyx
  - rocemesh.multinode.onyx.group
  - rocemesh.multinode.switch_ssh
  - rocemesh.multinode.switch_ssh.look
seealso:
  - module: rocemesh.multinode.onyx_roce
  - module: rocemesh.multinode.cumulus_roce_info
"""

EXAMPLES = r"""
- name: Look at the four server ports
  rocemesh.multinode.onyx_roce_info:
    hostname: 192.0.2.10
    username: admin
    password: "{{ vault_switch_password }}"
    known_hosts: "{{ inventory_dir }}/known_hosts"
    ports: [1/1-1/4]
    mode: lossless
  delegate_to: localhost
  register: leaf

- name: Stop if RoCE is not in force there
  ansible.builtin.assert:
    that: leaf.healthy
    fail_msg: "{{ leaf.problems | join('; ') }}"
"""

RETURN = r"""
version:
  description: Release of the switch.
  returned: success
  type: str
  sample: 3.10.4006
model:
  description: What C(show version) calls the model; many switches say only V(x86onie).
  returned: success
  type: str
serial:
  description: Serial number of the system.
  returned: success
  type: str
role:
  description: Role in the prompt, V(master), V(standby) or V(unknown); empty if the prompt has none.
  returned: success
  type: str
roce:
  description:
    - What C(show roce) says; texts as printed, C(mode) V(absent) if RoCE is off or the release has no RoCE mode.
    - Null if it could not be read.
  returned: success
  type: dict
  sample:
    mode: lossless
    trust: L3
    ecn: 'ecn, absolute'
    ecn_min_kb: 150
    ecn_max_kb: 1500
    pfc: enabled
    pfc_priorities: [3]
    lldp: enabled
    exceptions: []
    traffic_classes:
      - {priority: 3, traffic_class: 3, application: RoCE, ets: WRR 50%}
      - {priority: 6, traffic_class: 6, application: CNP, ets: Strict}
    pools: [{name: roce-reserved, type: lossless, max_usage: 1.8M}]
vlans:
  description: VLANs by number, with their members.
  returned: success
  type: dict
  sample: {"111": {name: rdma, members: [1/1, 1/2]}}
svis:
  description: Numbers of the VLANs that have a layer 3 interface.
  returned: success
  type: list
  elements: int
ports:
  description:
    - The ports. C(mode) is access, trunk, hybrid, routed, lag (member of C(lag)) or unknown; C(mtu) is in bytes.
    - C(counters) has what the release prints of rx_discards, tx_discards, tx_hoq_discards, ecn_marked, rx_pfc_pause,
      tx_pfc_pause (priority 3), rx_roce_packets and tx_roce_packets, all in packets since the counters were cleared.
  returned: success
  type: dict
  sample:
    1/1:
      mode: access
      access_vlan: 111
      allowed_vlans: ""
      lag:
      mtu: 9216
      admin: up
      oper: up
      trust: L3
      pfc_admin: auto
      pfc_oper: enabled
      congestion_control: ECN
      neighbors: [{system: gpu01, port: eth0, description: ""}]
      counters: {rx_discards: 0, tx_discards: 0, ecn_marked: 12, rx_pfc_pause: 3, tx_pfc_pause: 0}
saved:
  description: Whether the running configuration survives a reload of the switch. Null if that could not be read.
  returned: success
  type: bool
unsaved_changes:
  description: Lines that a reload would lose (C(+)) or bring back (C(-)).
  returned: success
  type: list
  elements: str
files:
  description: Names of the configuration files on the switch.
  returned: success
  type: list
  elements: str
unreadable:
  description: What could not be read, and why, with the text of the switch.
  returned: success
  type: list
  elements: dict
  contains:
    what:
      description: Which table.
      type: str
    reason:
      description: Why, and the text.
      type: str
problems:
  description: What contradicts RoCE on the ports that are up, one sentence each; empty if RoCE is off and may be.
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

import contextlib

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils._layer import failing
from ..module_utils._onyx import transport
from ..module_utils._onyx.arguments import LOGIN
from ..module_utils._onyx.info import Survey
from ..module_utils._onyx.plan import MODES, request
from ..module_utils._switch.request import PRIORITY
from ..module_utils._switch.ssh import settings_from


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **LOGIN,
            "ports": {"type": "list", "elements": "str", "default": []},
            "mode": {"type": "str", "choices": list(MODES)},
            "priority": {"type": "int", "default": PRIORITY},
        },
        supports_check_mode=True,
    )
    if transport.IMPORT_ERROR:
        module.fail_json(msg=missing_required_lib("netmiko[par4]"), exception=transport.IMPORT_ERROR)
    params = module.params
    host = params["hostname"]
    with failing(module):
        wanted = request(host, {key: params[key] for key in ("ports", "priority")})
        with contextlib.closing(transport.OnyxSession(settings_from(params))) as session:
            result = Survey(host, session, wanted.ports, params["mode"], wanted.priority)()
        module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
