#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cumulus_roce
short_description: RoCE, VLAN, access ports and MTU of a Cumulus Linux switch
version_added: 0.1.0
description:
  - Puts a switch with NVIDIA Cumulus Linux into a RoCE mode, creates an isolated VLAN in its bridge, makes ports access
    ports of it, sets their MTU, and saves.
  - Cumulus Linux 5.x is configured through NVUE's REST API, in one HTTPS session. All changes are one revision. It is
    compared with what was planned, and applied so that the switch takes it back by itself unless it is confirmed; the
    confirmation is sent when the state was read again and is the wanted one.
  - Cumulus Linux 4.3 and 4.4 are configured with NCLU in one SSH session.
  - The RoCE mode is set only if it has to change, because that rewrites the buffers of every port.
  - Trunk and routed ports, members of bonds and ports with subinterfaces are refused, with the reason, before anything
    is sent.
  - Does not remove VLANs, and does not take ports out of the VLAN that are in it and not in O(ports); it reports them.
author:
  - rocemesh.multinode contributors (@rocemesh)
notes:
  - Has the options and the result of M(rocemesh.multinode.onyx_roce), except where the switch has no such thing. A VLAN
    has no name here, a change of the MTU has one method, and a snapshot is not needed where every revision stays on the
    switch.
  - Runs on the controller (C(delegate_to) localhost).
  - Tested against simulated switches. Not verified on hardware are the answers of NVUE to a confirmed apply
    (C(state-controls), C(confirm_yes), C(confirm_no)), the deletion of a staged revision, the shape of the exception
    list, how the API treats settings that somebody made for a range of ports, and with NCLU the line of the
    configuration that stands for RoCE.
options:
  mode:
    description:
      - V(lossless) is flow control (PFC) on priority 3 and congestion marking (ECN), V(lossy) is congestion marking
        alone.
      - V(semi-lossless) exists on Onyx only and is refused here.
      - V(absent) turns RoCE off.
      - A change rewrites buffers, scheduling and trust of every port of the switch. Traffic of any of them may stop for
        a moment.
    type: str
    choices: [lossless, semi-lossless, lossy, absent]
    default: lossless
  vlan:
    description:
      - Number of the VLAN for RDMA traffic, 1 to 4094. It is created in O(bridge_domain) if it does not exist.
      - VLANs and port modes are left alone if this is not set. Creating it disturbs no traffic; O(ports) does.
    type: int
  bridge_domain:
    description:
      - The VLAN-aware bridge of the VLAN. It is created if it does not exist.
      - V(br_default) with O(transport=nvue) and V(bridge) with O(transport=nclu) if this is not set.
      - Creating it disturbs no traffic. A port that moves from another bridge loses what it carries there, see
        O(allow_mode_change).
    type: str
  svi:
    description:
      - Whether to create the layer 3 interface of the VLAN too. An isolated RDMA network does not need one.
      - V(false) does not remove an existing one. Creating it does not disturb traffic.
    type: bool
    default: false
  ports:
    description:
      - Ports that become access ports of O(vlan) and get O(mtu), as ports and ranges such as V(swp1-4), V(swp9),
        V(swp10s0-3).
      - A range stays within one kind of ports or one split port, and all of its ports must exist.
      - A port that changes its VLAN loses its traffic for a moment, and its link may bounce. Ports that are as wanted
        are not touched.
    type: list
    elements: str
    default: []
  mtu:
    description:
      - MTU of O(ports) in bytes, 1500 to 9216. Use 9216 for hosts with 9000; it is the default of the switch.
      - Left alone if this is not set. A change may interrupt the link of the port for a moment.
    type: int
  allow_mode_change:
    description:
      - Ports that may become access ports although they are trunk or routed ports now, or belong to another bridge, as
        a list of ports and ranges; V(true) for all of O(ports). They lose the VLANs or addresses that they carry.
      - Members of bonds and ports with subinterfaces are always refused. Ports that carry nothing need no permission.
    type: raw
    default: false
  expected_neighbors:
    description:
      - Names of the hosts that may be behind a port that is changed, as LLDP announces them, with shell patterns such
        as V(gpu*), without regard to case. A name without a dot fits that host in any domain.
      - If it is not empty, a port that has a link is refused, before anything is sent, unless all its neighbors fit;
        also if nobody announces himself there. Ports without a link, and ports that are as wanted, are not looked at.
      - It guards the port settings. A change of the RoCE mode concerns every port, see O(allow_disruption).
    type: list
    elements: str
    default: []
  allow_unexpected_neighbors:
    description:
      - Ports that may be changed whoever is behind them, as a list of ports and ranges; V(true) for all of O(ports).
      - Whatever is behind such a port may lose its link for a moment, and its VLAN for good.
    type: raw
    default: false
  allow_disruption:
    description:
      - How far the changes may reach. What reaches further is refused before anything is sent, in check mode too.
      - V(any) allows a change of the RoCE mode, which may disturb every port of the switch.
      - V(requested_ports) allows that only if no port outside O(ports) has a link.
      - V(none) allows only what disturbs nobody, such as creating the VLAN.
    type: str
    choices: [any, requested_ports, none]
    default: any
  save:
    description:
      - When to write the applied configuration into the start-up configuration, after the verification.
      - V(when_clean) saves unless somebody else's changes were unsaved before this run, because saving would write
        those as well. Unsaved settings that belong to this request are no obstacle.
      - V(always) saves in any case, even if the only difference is that somebody else's changes are unsaved.
      - Saving disturbs no traffic.
      - V(never) does not save. A reboot of the switch then takes the changes back, unless it saves by itself, which is
        the default since 5.9; the module then warns.
      - With O(transport=nclu) a commit is always permanent, and this has no effect.
    type: str
    choices: [when_clean, always, never]
    default: when_clean
  wait_for_links:
    description:
      - Seconds to wait for links that were up before and that this run touched. The module fails, unconfirmed and
        unsaved, if one of them does not come back.
      - V(0) does not wait and only warns. Waiting itself has no effect on traffic.
    type: int
    default: 60
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
      - V(0) applies without that guard; see O(rollback). With O(transport=nclu) this has no effect, because
        C(net commit confirm) waits for a person at a keyboard.
    type: int
    default: 300
  accept_warnings:
    description:
      - Whether to go on if the switch asks "are you sure" before it applies the change, for example because files were
        edited by hand that it would overwrite, or because services would restart.
      - V(false) answers no. The module fails with the switch's warnings, and nothing has changed.
      - V(true) may restart services of the switch, with whatever traffic depends on them; the warnings name them.
      - With O(transport=nclu) this has no effect.
    type: bool
    default: false
  rollback:
    description:
      - Whether to take the change back if it fails or does not come into force and no confirmation guards it. NVUE
        applies the previous revision again if the switch says which one that was, else the old values; NCLU uses
        C(net rollback last). The module fails all the same.
      - Taking back a change disturbs the same traffic as the change did.
      - V(false) leaves what was applied, unsaved, and returns the commands in RV(undo).
    type: bool
    default: false
extends_documentation_fragment:
  - rocemesh.multinode.cumulus
  - rocemesh.multinode.cumulus.attributes
"""

EXAMPLES = r"""
- name: Lossless RoCE for four servers
  rocemesh.multinode.cumulus_roce:
    hostname: leaf01.example.com
    username: automation
    password: "{{ vault_switch_password }}"
    ca_path: "{{ inventory_dir }}/switch-ca.pem"
    mode: lossless
    vlan: 111
    ports: [swp1-4]
    mtu: 9216
  delegate_to: localhost

- name: See what would be sent, and whom it disturbs
  rocemesh.multinode.cumulus_roce:
    hostname: leaf01.example.com
    username: automation
    password: "{{ vault_switch_password }}"
    ca_path: "{{ inventory_dir }}/switch-ca.pem"
    vlan: 111
    ports: [swp1-4]
    mtu: 9216
  check_mode: true
  delegate_to: localhost
  register: plan

- name: The same on a switch with Cumulus Linux 4.3
  rocemesh.multinode.cumulus_roce:
    transport: nclu
    hostname: 192.0.2.11
    username: cumulus
    password: "{{ vault_switch_password }}"
    known_hosts: "{{ inventory_dir }}/known_hosts"
    vlan: 111
    ports: [swp1-4]
    mtu: 9216
    rollback: true
  delegate_to: localhost
"""

RETURN = r"""
operations:
  description: What was changed, or would be in check mode, in order.
  returned: success
  type: list
  elements: dict
  contains:
    description:
      description: One line for a person.
      type: str
    command:
      description:
        - The same as commands of the switch's command line, separated by line breaks. With O(transport=nvue) the API
          gets the equivalent trees, all of them in one revision.
      type: str
    disrupts:
      description: Whose traffic it disturbs, empty if nobody's.
      type: str
    reboot:
      description: Always V(none); a switch needs no restart for this.
      type: str
  sample:
    - description: 'ports swp1-4: MTU 1500 -> 9216'
      command: nv set interface swp1-4 link mtu 9216
      disrupts: ports swp1-4 are reconfigured; a link may bounce
      reboot: none
undo:
  description:
    - The commands that take the operations back, in the order in which they have to be given, before C(nv config apply)
      or C(net commit).
  returned: always, unless the request was refused
  type: list
  elements: str
reboot_required:
  description: Always V(false).
  returned: success
  type: bool
reboot_scope:
  description: Always V(none).
  returned: success
  type: str
reboot_reasons:
  description: Always empty.
  returned: success
  type: list
  elements: str
version:
  description: Release of the switch, as it says it.
  returned: success
  type: str
  sample: 5.11.0
roce:
  description:
    - The configured mode (V(absent) if RoCE is off) and what the switch says is in force. Thresholds are in thousands
      of bytes. With O(transport=nclu) the mode alone, since NCLU shows no more.
  returned: success
  type: dict
  sample:
    mode: lossless
    trust: pcp,dscp
    ecn: ECN
    ecn_min_kb: 150
    ecn_max_kb: 1499
    pfc: enabled
    pfc_priorities: [3]
    lldp: application TLV
    exceptions: []
vlan:
  description:
    - The VLAN with its members; C(unexpected_members) are those that were not asked for, trunks included. Its C(name)
      is always null.
    - Null if no VLAN was asked for or it does not exist yet (check mode).
  returned: success
  type: dict
  sample:
    id: 111
    name:
    members: [swp1, swp2]
    unexpected_members: []
ports:
  description:
    - The requested ports. C(counters) has what the release prints of drops of the link, and of discards, packets marked
      by ECN, PFC pauses and packets of RoCE traffic, all in packets since they were cleared.
    - C(pfc_watchdog) is the switch's own answer, null if it has none.
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
      pfc_watchdog: {state: disabled}
      neighbors: [gpu01]
      counters:
        rx_drops: 0
        tx_drops: 0
        rx_discards: 0
        tx_discards: 0
        ecn_marked: 0
        rx_pfc_pause: 0
        tx_pfc_pause: 0
        rx_roce_packets: 0
        tx_roce_packets: 0
saved:
  description: Whether the applied configuration survives a reboot of the switch.
  returned: success
  type: bool
unsaved_before:
  description: Whether changes were unsaved when the module started.
  returned: success
  type: bool
foreign_changes:
  description:
    - The unsaved settings of that moment that do not belong to this request, with C(+) if a reboot would lose them and
      C(-) if it would bring them back.
  returned: success
  type: list
  elements: str
  sample: ['+ nv set interface swp9 description uplink']
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
  description: Revisions that somebody else has staged and not applied, with what they change. They are left alone.
  returned: success
  type: dict
applied:
  description: The commands that are in force after the failure.
  returned: failure, if something was sent
  type: list
  elements: str
failed_operation:
  description: The change that was refused, or was under way when the session broke.
  returned: failure, if something was sent
  type: str
rolled_back:
  description: Whether the switch has its previous configuration again, read after it was taken back.
  returned: failure, if a change was taken back
  type: bool
left_revision:
  description: A revision of this run that is left staged on the switch because it could not be deleted.
  returned: failure, if there is one
  type: str
error_code:
  description:
    - Kind of the failure, one of V(refused), V(credentials), V(unreachable), V(unknown_format), V(apply_failed),
      V(conflict), V(not_found) and V(not_in_force).
  returned: failure
  type: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._cumulus import arguments, rest
from ..module_utils._cumulus.nvue import NvueLayer
from ..module_utils._cumulus.plan import DISRUPTIONS, MODES, Wanted, request
from ..module_utils._layer import LayerError, RefusedError, exit_with

SAVE_POLICIES = ("when_clean", "always", "never")


def argument_spec() -> dict[str, dict[str, object]]:
    return {
        **arguments.LOGIN,
        "mode": {"type": "str", "default": "lossless", "choices": list(MODES)},
        "vlan": {"type": "int"},
        "bridge_domain": {"type": "str"},
        "svi": {"type": "bool", "default": False},
        "ports": {"type": "list", "elements": "str", "default": []},
        "mtu": {"type": "int"},
        "allow_mode_change": {"type": "raw", "default": False},
        "expected_neighbors": {"type": "list", "elements": "str", "default": []},
        "allow_unexpected_neighbors": {"type": "raw", "default": False},
        "allow_disruption": {"type": "str", "default": "any", "choices": list(DISRUPTIONS)},
        "save": {"type": "str", "default": "when_clean", "choices": list(SAVE_POLICIES)},
        "wait_for_links": {"type": "int", "default": 60},
        "apply_timeout": {"type": "int", "default": 300},
        "confirm_timeout": {"type": "int", "default": 300},
        "accept_warnings": {"type": "bool", "default": False},
        "rollback": {"type": "bool", "default": False},
    }


def check_times(params: dict[str, Any]) -> None:
    """The switch must not take the change back while this module still waits for links."""
    guard, links = params["confirm_timeout"], params["wait_for_links"]
    if params["transport"] == "nvue" and 0 < guard <= links:
        raise RefusedError(
            f"it has to be longer than wait_for_links ({links} s), or the switch would take the change back meanwhile",
            host=params["hostname"],
            thing="confirm_timeout",
            value=guard,
            remedy="use 300 or more, or 0 to apply without the guard",
        )
    for name in ("timeout", "apply_timeout"):
        if params[name] <= 0:
            raise RefusedError("not a time", host=params["hostname"], thing=name, value=params[name], remedy="use 30")


def make_layer(module: AnsibleModule, wanted: Wanted) -> Any:
    """The layer for the transport: an `NvueLayer` or an `NcluLayer`."""
    params = module.params
    common = {
        "wait_for_links": params["wait_for_links"],
        "apply_timeout": params["apply_timeout"],
        "rollback": params["rollback"],
        "read_only": module.check_mode,
    }
    if params["transport"] == "nvue":
        return NvueLayer(
            params["hostname"],
            rest.Session(arguments.endpoint(params)),
            wanted,
            save=params["save"],
            confirm_timeout=params["confirm_timeout"],
            accept_warnings=params["accept_warnings"],
            **common,
        )
    from ..module_utils._cumulus import nclu  # noqa: PLC0415

    return nclu.NcluLayer(params["hostname"], lambda: arguments.shell(module), wanted, **common)


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        check_times(module.params)
        wanted = request(module.params["hostname"], module.params)
        layer = make_layer(module, wanted)
    except LayerError as error:
        module.fail_json(**error.as_result())
    try:
        exit_with(module, layer, wanted)
    finally:
        layer.close()


if __name__ == "__main__":
    main()
