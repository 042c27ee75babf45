#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cumulus_roce_info
short_description: What a Cumulus switch says about RoCE, ports, neighbors and counters
version_added: 0.1.0
description:
  - Reads, in one session, the RoCE mode with what is in force, VLANs, ports, LLDP neighbors, counters (PFC pauses, ECN
    marks, discards), what is not saved, and what somebody has staged and not applied.
  - Judges the result, see RV(healthy) and RV(problems), but fails only if the switch cannot be reached or understood.
  - Sends nothing but reading requests, and stages nothing; traffic and power are not affected.
  - The counterpart of M(rocemesh.multinode.onyx_roce_info) for Cumulus Linux, with the same names in the result.
author: rocemesh.multinode contributors (@rocemesh)
notes:
  - Runs on the controller (C(delegate_to) localhost). The switch itself needs no Python.
  - Tested against simulated switches. Not verified on hardware are the places of the counters per port, which moved
    between releases; a counter that a release does not print is left out.
options:
  mode:
    description:
      - The RoCE mode that ought to be; another one becomes one of RV(problems).
      - A variant such as V(lossless-single-ipool) is right where V(lossless) ought to be. V(semi-lossless) is refused.
      - If it is not set, any mode is right and only contradictions within it are problems.
      - No effect on the switch or on traffic.
    type: str
    choices: [lossless, semi-lossless, lossy, lossless-single-ipool, lossy-multi-tc, dci-1, dci-custom, absent]
  bridge_domain:
    description: The bridge whose VLANs are looked at. No effect on traffic.
    type: str
    default: br_default
extends_documentation_fragment:
  - rocemesh.multinode.attributes.reads
  - rocemesh.multinode.cumulus
  - rocemesh.multinode.cumulus.group
  - rocemesh.multinode.switch_ssh.look
seealso:
  - module: rocemesh.multinode.cumulus_roce
  - module: rocemesh.multinode.onyx_roce_info
"""

EXAMPLES = r"""
- name: Look at the four server ports
  rocemesh.multinode.cumulus_roce_info:
    hostname: leaf01.example.com
    username: automation
    password: "{{ vault_switch_password }}"
    ca_path: "{{ inventory_dir }}/switch-ca.pem"
    ports: [swp1-4]
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
  sample: 5.11.0
roce:
  description:
    - The configured mode (V(absent) if RoCE is off) and what the switch says is in force. Thresholds are in thousands
      of bytes.
  returned: success
  type: dict
  sample: {mode: lossless, trust: "pcp,dscp", ecn: ECN, ecn_min_kb: 150, ecn_max_kb: 1499, pfc: enabled,
    pfc_priorities: [3], lldp: application TLV, exceptions: []}
vlans:
  description: VLANs of the bridge by number, with the ports and bonds that carry them.
  returned: success
  type: dict
  sample: {"111": {members: [swp1, swp2]}}
svis:
  description: Numbers of the VLANs that have a layer 3 interface.
  returned: success
  type: list
  elements: int
ports:
  description:
    - The ports. C(mode) is access, trunk, routed, bond (member of C(bond)), used (for something else) or none; C(mtu)
      is in bytes; C(carries) is what the port carries, for a person.
    - C(counters) has what the release prints of rx_drops, tx_drops, rx_discards, tx_discards, ecn_marked, rx_pfc_pause,
      tx_pfc_pause (priority 3), rx_roce_packets and tx_roce_packets, all in packets since the counters were cleared.
  returned: success
  type: dict
  sample:
    swp1:
      mode: access
      access_vlan: 111
      carries: VLAN 111 of br_default
      bond:
      mtu: 9216
      admin: up
      oper: up
      pfc_oper: enabled
      pfc_watchdog: disabled
      neighbors: [{system: gpu01}]
      counters: {rx_drops: 0, tx_drops: 0, rx_discards: 0, tx_discards: 0, ecn_marked: 12, rx_pfc_pause: 3}
other_qos:
  description: QoS settings besides RoCE, as commands; they may contradict its template.
  returned: success
  type: list
  elements: str
saved:
  description: Whether the applied configuration survives a reboot of the switch.
  returned: success
  type: bool
unsaved_changes:
  description: Lines that a reboot would lose (C(+)) or bring back (C(-)).
  returned: success
  type: list
  elements: str
staged_changes:
  description: What somebody has staged and not applied, by revision.
  returned: success
  type: dict
  sample: {"revision 9": ["+ nv set interface swp9 description uplink"]}
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

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._layer import failing
from ..module_utils._nvue import arguments, info, rest
from ..module_utils._nvue.plan import CHOICES, DEFAULT_DOMAIN, request
from ..module_utils._nvue.reading import NvueReader
from ..module_utils._switch.request import PRIORITY


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **arguments.LOGIN,
            "ports": {"type": "list", "elements": "str", "default": []},
            "mode": {"type": "str", "choices": list(CHOICES)},
            "priority": {"type": "int", "default": PRIORITY},
            "bridge_domain": {"type": "str", "default": DEFAULT_DOMAIN},
        },
        supports_check_mode=True,
    )
    params, host = module.params, module.params["hostname"]
    with failing(module):
        # Refuses what is no port before the login.
        wanted = request(host, {key: params[key] for key in ("ports", "bridge_domain", "mode", "priority")})
        with contextlib.closing(rest.Session(arguments.endpoint(module))) as session:
            reader = NvueReader(host, session, wanted.domain)
            result = info.survey(host, reader, wanted.ports, params["mode"], wanted.priority)
        module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
