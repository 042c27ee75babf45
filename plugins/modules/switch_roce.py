#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: switch_roce
short_description: Configure RoCE, VLANs, ports and MTU of a switch
version_added: 0.1.0
description:
  - Puts a switch into a RoCE mode, creates an isolated VLAN in its bridge, makes ports access ports or trunks of it or
    routed ports with addresses, sets their MTU, and saves.
  - Cumulus Linux 5.x is configured through NVUE's REST API, in one HTTPS session. All changes are one revision. It is
    compared with what was planned, and applied so that the switch takes it back by itself unless it is confirmed; the
    confirmation is sent when the state was read again and is the wanted one.
  - The RoCE mode is set only if it has to change, because that rewrites the buffers of every port.
  - Ports that are in use in another way, members of bonds and ports with subinterfaces are refused, with the reason,
    before anything is sent.
  - Does not remove VLANs, and does not take ports out of the VLAN that are in it and not in O(ports); it reports them.
author: rocemesh.multinode contributors (@rocemesh)
notes:
  - Has the options and the result of M(rocemesh.multinode.onyx_roce), except where the switch has no such thing. A VLAN
    has no name here, a change of the MTU has one method, and a snapshot is not needed where every revision stays on the
    switch. C(version), C(saved), C(unsaved_before), C(foreign_changes) and C(problems) are described there.
  - Runs on the controller (C(delegate_to) localhost).
  - Tested against simulated switches. Not verified on hardware are the answers of NVUE to a confirmed apply
    (C(state-controls), C(confirm_yes), C(confirm_no)), the deletion of a staged revision, the shape of the exception
    list, and how the API treats settings that were made for a range of ports.
options:
  system:
    description:
      - What the switch runs. V(cumulus) is NVIDIA Cumulus Linux. No effect on traffic.
      - NVIDIA Onyx has the module M(rocemesh.multinode.onyx_roce). Other systems are only read, by
        M(rocemesh.multinode.switch_roce_info).
    type: str
    required: true
    choices: [cumulus]
  port:
    description:
      - TCP port of NVUE's REST API, which is on since 5.6; before that nginx has to be set up for it. No effect on
        traffic.
    type: int
    default: 8765
  mode:
    description:
      - V(lossless) is flow control (PFC) on O(priority) and congestion marking (ECN), V(lossy) is congestion marking
        alone. A switch that is in a variant of these, such as V(lossless-single-ipool), is left there.
      - V(lossless-single-ipool) exists since 5.12, V(lossy-multi-tc) since 5.14, V(dci-1) and V(dci-custom) since 5.18.
        An older release is refused, and so is V(semi-lossless), which exists on Onyx only.
      - V(absent) turns RoCE off.
      - A change rewrites buffers, scheduling and trust of every port of the switch. Traffic of any of them may stop for
        a moment.
    type: str
    choices: [lossless, semi-lossless, lossy, lossless-single-ipool, lossy-multi-tc, dci-1, dci-custom, absent]
    default: lossless
  bridge_domain:
    description:
      - The VLAN-aware bridge of the VLAN. It is created if it does not exist.
      - Creating it disturbs no traffic. A port that moves from another bridge loses what it carries there, see
        O(allow_mode_change).
    type: str
    default: br_default
  pfc_watchdog:
    description:
      - Turns the PFC watchdog of O(ports) on, which releases since 5.6 have. It needs a lossless O(mode).
      - It interrupts no link. While a receiver pauses a port for too long, the watchdog drops the lossless queue there.
      - V(false) leaves it as it is, and O(restore) ignores it.
    type: bool
    default: false
  apply_timeout:
    description:
      - Seconds that the switch may take to apply the change, and somebody else's change to end before this one starts.
      - Nothing is interrupted when they are over; the module fails and says in which state the revision is. The limit
        itself has no effect on traffic.
    type: int
    default: 300
  confirm_timeout:
    description:
      - Seconds after which the switch takes the change back by itself if this module has not confirmed it, for example
        because the change has cut off the controller. Must be longer than O(wait_for_links).
      - A change that does not come into force is not confirmed, but rejected, so that the switch takes it back at once.
        That disturbs the same traffic as the change did.
      - V(0) applies without that guard; see O(rollback).
    type: int
    default: 300
  accept_warnings:
    description:
      - Whether to go on if the switch asks "are you sure" before it applies the change, for example because files were
        edited by hand that it would overwrite, or because services would restart.
      - V(false) answers no. The module fails with the switch's warnings, and nothing has changed.
      - V(true) may restart services of the switch, with whatever traffic depends on them; the warnings name them.
    type: bool
    default: false
  rollback:
    description:
      - Whether to take the change back if it fails or does not come into force and no confirmation guards it. NVUE
        applies the previous revision again if the switch says which one that was, else the old values. The
        module fails all the same.
      - Taking back a change disturbs the same traffic as the change did.
      - V(false) leaves what was applied, unsaved, and returns the commands in C(undo).
    type: bool
    default: true
extends_documentation_fragment:
  - rocemesh.multinode.switch
  - rocemesh.multinode.switch.changes
  - rocemesh.multinode.switch.https
  - rocemesh.multinode.attributes.changes
  - rocemesh.multinode.attributes.restores
  - rocemesh.multinode.attributes.no_restart
"""

EXAMPLES = r"""
- name: Lossless RoCE for four servers
  rocemesh.multinode.switch_roce:
    system: cumulus
    hostname: leaf01.example.com
    username: automation
    password: "{{ vault_switch_password }}"
    ca_path: "{{ inventory_dir }}/switch-ca.pem"
    mode: lossless
    vlan: 111
    ports: [swp1-4]
    mtu: 9216
  delegate_to: localhost
"""

RETURN = r"""
roce:
  description:
    - The configured mode (V(absent) if RoCE is off) and what the switch says is in force. Thresholds are in thousands
      of bytes.
  returned: success
  type: dict
  sample: {mode: lossless, trust: "pcp,dscp", ecn: ECN, ecn_min_kb: 150, ecn_max_kb: 1499, pfc: enabled,
    pfc_priorities: [3], lldp: application TLV, exceptions: []}
vlan:
  description:
    - The VLAN with its members; C(unexpected_members) are those that were not asked for, trunks included. Its C(name)
      is always null.
    - Null if no VLAN was asked for or it does not exist yet (check mode).
  returned: success
  type: dict
  sample: {id: 111, name: null, members: [swp1, swp2], unexpected_members: []}
ports:
  description:
    - The requested ports. C(allowed_vlans) is that of trunks, C(addresses) that of routed ports.
    - C(counters) has what the release prints of drops of the link, and of discards, packets marked
      by ECN, PFC pauses and packets of RoCE traffic, all in packets since they were cleared.
    - C(pfc_watchdog) is V(enabled), V(disabled), or null if the release does not say.
  returned: success
  type: dict
  sample:
    swp1:
      mode: access
      access_vlan: 111
      mtu: 9216
      admin: up
      oper: up
      pfc_oper: enabled
      pfc_watchdog: disabled
      neighbors: [gpu01]
      counters: {rx_drops: 0, tx_drops: 0, rx_discards: 0, tx_discards: 0, ecn_marked: 0, rx_pfc_pause: 0,
        tx_pfc_pause: 0, rx_roce_packets: 0, tx_roce_packets: 0}
revision:
  description: The revision that this run applied, null if it applied none.
  returned: success
  type: str
  sample: '7'
previous_revision:
  description: The revision that was applied before, null if the release does not say.
  returned: success
  type: str
  sample: '6'
device_diff:
  description: The switch's own difference between the staged revision and the configuration before it.
  returned: success
  type: list
  elements: str
  sample: ['- nv set interface swp1-4 link mtu 1500', '+ nv set interface swp1-4 link mtu 9216']
pending_revisions:
  description: Revisions of other clients that are staged and not applied, with their changes. They are left alone.
  returned: success
  type: dict
rolled_back:
  description: Whether the switch has its previous configuration again, read after it was taken back.
  returned: failure, if a change was taken back
  type: bool
left_revision:
  description: A revision of this run that is left staged on the switch because it could not be deleted.
  returned: failure, if there is one
  type: str
"""

import contextlib
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._layer import RefusedError, exit_with, failing
from ..module_utils._nvue import arguments, rest, restore
from ..module_utils._nvue.nvue import NvueLayer
from ..module_utils._nvue.plan import CHOICES, DEFAULT_DOMAIN, request
from ..module_utils._switch.arguments import COMMON, LOGIN


def argument_spec() -> dict[str, dict[str, object]]:
    return {
        **LOGIN,
        **arguments.TLS,
        "system": {"type": "str", "required": True, "choices": ["cumulus"]},
        "port": {"type": "int", "default": arguments.PORT},
        **COMMON,
        "mode": {"type": "str", "default": "lossless", "choices": list(CHOICES)},
        "bridge_domain": {"type": "str", "default": DEFAULT_DOMAIN},
        "pfc_watchdog": {"type": "bool", "default": False},
        "apply_timeout": {"type": "int", "default": 300},
        "confirm_timeout": {"type": "int", "default": 300},
        "accept_warnings": {"type": "bool", "default": False},
    }


def check_times(params: dict[str, Any]) -> None:
    """The switch must not take the change back while this module still waits for links."""
    guard, links = params["confirm_timeout"], params["wait_for_links"]
    if guard and guard <= links:
        raise RefusedError(
            f"it has to be longer than wait_for_links ({links} s), or the switch would take the change back meanwhile",
            host=params["hostname"],
            thing="confirm_timeout",
            value=guard,
            remedy="use 300 or more, or 0 to apply without the guard",
        )
    if (limit := params["apply_timeout"]) <= 0:
        raise RefusedError("not a time", host=params["hostname"], thing="apply_timeout", value=limit, remedy="use 300")


def main() -> None:
    module = AnsibleModule(
        argument_spec=argument_spec(),
        mutually_exclusive=[("restore", name) for name in ("vlan", "mtu")],
        supports_check_mode=True,
    )
    params = module.params
    host = params["hostname"]
    options = ("save", "wait_for_links", "apply_timeout", "confirm_timeout", "accept_warnings", "rollback")
    with failing(module):
        check_times(params)
        session = rest.Session(arguments.endpoint(module))
        settings = {**{name: params[name] for name in options}, "read_only": module.check_mode}
        if params["restore"] is None:
            wanted = request(host, params)
            layer = NvueLayer(host, session, wanted, **settings)
        else:
            back, wanted = restore.request(host, params["restore"], params)
            layer = restore.RestoreLayer(host, session, wanted, back, **settings)
    with contextlib.closing(layer):
        exit_with(module, layer, wanted)


if __name__ == "__main__":
    main()
