#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: onyx_roce
short_description: RoCE, VLANs, ports and MTU of an Onyx switch
version_added: 0.1.0
description:
  - Puts a switch with NVIDIA (Mellanox) Onyx into a RoCE mode, creates an isolated VLAN, makes ports access ports or
    trunks of it or routed ports with addresses, sets their MTU, and saves.
  - Everything happens in one SSH session. The state is read first, only what differs is sent, then the state is read
    again. The module fails if the wanted state is not there, and it saves only what it has verified.
  - The RoCE command is sent only if the mode has to change, because it may toggle every link of the switch.
  - Ports that are in use in another way and members of a port-channel are refused, with the reason, before anything is
    sent.
  - Does not remove VLANs, and does not take ports out of the VLAN that are in it and not in O(ports); it reports them.
author: rocemesh.multinode contributors (@rocemesh)
notes:
  - The switch has no transactions. If it refuses a command, or the session breaks, the module stops, leaves the
    configuration unsaved and returns what was applied and the commands that take it back.
  - Runs on the controller (C(delegate_to) localhost). The switch itself needs no Python.
  - Tested against a simulated switch. Not verified on hardware are the running-config line of the C(roce) command, the
    wording of refusals, the lines of O(port_mode=trunk) and O(port_mode=routed), the answers to range commands of which
    one port refuses, and how long a link stays down
    after C(mtu) with C(force).
  - O(mode=lossless) needs release 3.8.2000 or newer.
options:
  port:
    description: TCP port of the switch's SSH server. No effect on traffic.
    type: int
    default: 22
  mode:
    description:
      - V(lossless) is flow control (PFC) on O(priority) and congestion marking (ECN), V(semi-lossless) obeys pause
        frames without sending them, V(lossy) is congestion marking alone.
      - V(absent) turns RoCE off.
      - A change may toggle every link of the switch for a moment.
    type: str
    choices: [lossless, semi-lossless, lossy, absent]
    default: lossless
  vlan_name:
    description:
      - Name of the VLAN, one word of up to 40 letters, digits, dots, colons, dashes and underscores.
      - The name is left alone if this is not set. No effect on traffic.
    type: str
  mtu_method:
    description:
      - How to set the MTU of a port that is up. Both ways interrupt its link.
      - V(force) is one command. If the switch refuses it, the module falls back to V(shutdown) for that port and warns.
      - V(shutdown) takes the port down, sets the MTU, and brings it up again. Ports that were down stay down.
    type: str
    choices: [force, shutdown]
    default: force
  snapshot:
    description:
      - Name of a configuration file that is written on the switch before the first change, as a copy of the running
        configuration. Up to 64 letters, digits, dots, dashes and underscores.
      - Nothing is written if nothing has to change. A file that exists is not overwritten, the module refuses instead.
      - Writing it does not disturb traffic; going back to it (C(configuration switch-to)) restarts the switch.
    type: str
  rollback:
    description:
      - Whether to take back everything that this run changed if the switch refuses a command, the session breaks, a
        link does not come back or the state does not come into force. The module fails all the same.
      - What is really there is read first, in a new session if need be, and only that is taken back, newest first.
        Taking back a change disturbs the same traffic as the change did.
      - V(false) leaves what was applied, unsaved, and returns the commands in C(undo).
      - If everything is in force and only saving fails, nothing is taken back.
    type: bool
    default: true
extends_documentation_fragment:
  - rocemesh.multinode.switch
  - rocemesh.multinode.switch.changes
  - rocemesh.multinode.switch.ssh
  - rocemesh.multinode.attributes.changes
  - rocemesh.multinode.attributes.restores
  - rocemesh.multinode.attributes.no_restart
"""

EXAMPLES = r"""
- name: Lossless RoCE for four servers
  rocemesh.multinode.onyx_roce:
    hostname: 192.0.2.10
    username: admin
    password: "{{ vault_switch_password }}"
    known_hosts: "{{ inventory_dir }}/known_hosts"
    mode: lossless
    vlan: 111
    vlan_name: rdma
    ports: [1/1-1/4]
    mtu: 9216
  delegate_to: localhost

- name: See which commands would be sent, and whose links they interrupt
  rocemesh.multinode.onyx_roce:
    hostname: 192.0.2.10
    username: admin
    password: "{{ vault_switch_password }}"
    vlan: 111
    ports: [1/1-1/4]
    mtu: 9216
  check_mode: true
  delegate_to: localhost
  register: plan

- name: Give a former uplink to the RDMA network
  rocemesh.multinode.onyx_roce:
    hostname: 192.0.2.10
    username: admin
    password: "{{ vault_switch_password }}"
    vlan: 111
    ports: [1/1-1/4, 1/31]
    mtu: 9216
    allow_mode_change: [1/31]
  delegate_to: localhost
"""

RETURN = r"""
serial:
  description: Serial number of the switch, empty if the switch reports none.
  returned: success
  type: str
  sample: MT1234X56789
version:
  description: Release of the switch.
  returned: success
  type: str
  sample: 3.10.4006
roce:
  description: What C(show roce) says; texts as printed, C(mode) V(absent) if RoCE is off.
  returned: success
  type: dict
  sample: {mode: lossless, trust: L3, ecn: "ecn, absolute", ecn_min_kb: 150, ecn_max_kb: 1500, pfc: enabled,
    pfc_priorities: [3], lldp: enabled, exceptions: []}
vlan:
  description:
    - The VLAN with its members; C(unexpected_members) are those that were not asked for.
    - Null if no VLAN was asked for or it does not exist yet (check mode).
  returned: success
  type: dict
  sample: {id: 111, name: rdma, members: [1/1, 1/2], unexpected_members: []}
ports:
  description:
    - The requested ports. C(allowed_vlans) is that of trunks, C(addresses) that of routed ports.
    - C(counters) has what the release prints of discards, packets marked by ECN, PFC pauses of
      priority 3 and RoCE packets, all in packets since the counters were cleared.
  returned: success
  type: dict
  sample:
    1/1:
      mode: access
      access_vlan: 111
      mtu: 9216
      admin: up
      oper: up
      pfc_oper: enabled
      counters: {rx_discards: 0, tx_discards: 0, tx_hoq_discards: 0, ecn_marked: 0, rx_pfc_pause: 0, tx_pfc_pause: 0,
        rx_roce_packets: 0, tx_roce_packets: 0}
saved:
  description: Whether the running configuration survives a reload of the switch.
  returned: success
  type: bool
unsaved_before:
  description: Whether changes were unsaved when the module started.
  returned: success
  type: bool
foreign_changes:
  description:
    - The unsaved lines of that moment that do not belong to this request, with C(+) if a reload would lose them and
      C(-) if it would bring them back.
  returned: success
  type: list
  elements: str
  sample: ['+ interface ethernet 1/9 description uplink']
problems:
  description:
    - What contradicts the RoCE mode although it is configured. Empty after a change, which fails on them. In check
      mode they stand beside the operations.
  returned: success
  type: list
  elements: str
  sample: [PFC is disabled]
ports_brought_up:
  description: The commands that brought ports up again which were shut down when the session broke.
  returned: failure, if the session broke
  type: list
  elements: str
rolled_back:
  description: Whether everything that this run had changed was taken back, and read again.
  returned: failure, with O(rollback=true), if something was sent
  type: bool
rollback_commands:
  description: The commands that were sent to take it back.
  returned: failure, with O(rollback=true), if something was sent
  type: list
  elements: str
rollback_left:
  description: What could not be taken back, in words.
  returned: failure, with O(rollback=true), if something was sent
  type: list
  elements: str
"""

import contextlib
import functools

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils._layer import exit_with, failing
from ..module_utils._onyx import restore, transport
from ..module_utils._onyx.layer import SwitchLayer
from ..module_utils._onyx.plan import MODES, request
from ..module_utils._switch.arguments import COMMON, LOGIN, SSH
from ..module_utils._switch.ssh import settings_from


def argument_spec() -> dict[str, dict[str, object]]:
    return {
        **LOGIN,
        **SSH,
        "port": {"type": "int", "default": 22},
        **COMMON,
        "mode": {"type": "str", "default": "lossless", "choices": list(MODES)},
        "vlan_name": {"type": "str"},
        "mtu_method": {"type": "str", "default": "force", "choices": ["force", "shutdown"]},
        "snapshot": {"type": "str"},
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec=argument_spec(),
        mutually_exclusive=[("restore", name) for name in ("vlan", "vlan_name", "mtu")],
        supports_check_mode=True,
    )
    if transport.IMPORT_ERROR:
        module.fail_json(msg=missing_required_lib("netmiko[par4]"), exception=transport.IMPORT_ERROR)
    params = module.params
    host = params["hostname"]
    options = {name: params[name] for name in ("save", "wait_for_links", "rollback")}
    with failing(module):
        connect = functools.partial(transport.OnyxSession, settings_from(params))
        if params["restore"] is None:
            wanted = request(host, params)
            layer = SwitchLayer(host, connect, wanted, **options)
        else:
            back, wanted = restore.request(host, params["restore"], params)
            layer = restore.RestoreLayer(host, connect, wanted, back, **options)
    with contextlib.closing(layer):
        exit_with(module, layer, wanted)


if __name__ == "__main__":
    main()
