#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: switch_roce_info
short_description: Read RoCE, ports, neighbors and counters of a switch
version_added: 0.1.0
description:
  - Reads, in one login, the RoCE mode with what is in force, VLANs, ports, LLDP neighbors, counters (PFC pauses, ECN
    marks, discards) and whether the configuration is saved.
  - Reads Onyx and NX-OS, EOS and SONiC with commands over SSH, Cumulus Linux with NVUE's REST API.
  - Judges the result, see RV(switch), but fails only if the switch cannot be reached or understood.
  - Sends only reading commands and requests; traffic and power are not affected.
author: rocemesh.multinode contributors (@rocemesh)
notes:
  - Runs on the controller (C(delegate_to) localhost). The switch itself needs no Python.
  - With V(onyx), not verified on hardware are the JSON shapes of C(counters pfc) and of several ports in
    C(congestion-control). A table that cannot be read is named in C(unreadable) of RV(switch) with the text of the
    switch.
  - With V(cumulus), not verified on hardware are the places of the counters per port, which moved between releases; a
    counter that a release does not print is left out.
  - With V(sonic), the account has to be in the groups that may run C(show); C(show runningconfiguration all) uses
    C(sudo) by itself. A switch of several ASICs is refused.
  - With V(eos), the account needs privilege 15 without C(enable), with C(aaa authorization exec default local), for the
    running configuration, of which only the QoS of ports is kept. The default map from DSCP to traffic class is not
    printed. The one of EOS's manual counts (24 to 31 are traffic class 3), with the lines that change it, and a routed
    port trusts DSCP. Whether PFC is in operation is not known, only whether it is configured.
  - V(nxos) is made for Nexus 9000. The account needs the role C(network-operator). Of the running configuration only
    the QoS of ports is kept.
  - RoCE packets that come in are counted by priority neither with V(sonic) nor with V(eos) and V(nxos), so
    C(rx_roce_packets) is not there. With V(eos) C(tx_roce_packets) is not there either, and with V(nxos)
    C(ecn_marked). Frames of PFC are those of all priorities with V(eos) and V(nxos).
  - 'V(sonic), V(eos) and V(nxos) are not verified on hardware: made from public outputs (V(sonic):
    sonic-net/sonic-utilities; V(eos): aristanetworks/anta, aristanetworks/avd, amd/node-scraper; V(nxos): cisco.nxos,
    NX-API reference, published configurations).'
options:
  system:
    description:
      - What the switch runs. V(onyx) is NVIDIA Onyx, V(cumulus) NVIDIA Cumulus Linux 5.x, V(sonic) SONiC, V(eos) Arista
        EOS, V(nxos) Cisco NX-OS. No effect on traffic.
      - O(known_hosts) and O(host_key_checking) serve all systems but V(cumulus), which has O(validate_certs) and
        O(ca_path).
    type: str
    required: true
    choices: [onyx, cumulus, sonic, eos, nxos]
  port:
    description:
      - TCP port of the switch's SSH server, or of NVUE's REST API with O(system=cumulus).
      - 22, or 8765 with O(system=cumulus), if this is not set. No effect on traffic.
    type: int
  mode:
    description:
      - The RoCE mode that ought to be, V(lossless) (PFC and ECN on O(priority)), V(lossy) (ECN alone) or V(absent).
        Another one becomes one of the C(problems) of RV(switch).
      - V(semi-lossless) exists with O(system=onyx) alone, the modes after V(lossy) with O(system=cumulus) alone; other
        systems refuse them. A variant such as V(lossless-single-ipool) is right where V(lossless) ought to be.
      - If it is not set, any mode is right and only contradictions within it are problems.
      - No effect on the switch or on traffic.
    type: str
    choices: [lossless, semi-lossless, lossy, lossless-single-ipool, lossy-multi-tc, dci-1, dci-custom, absent]
  ports:
    description:
      - The ports to look at, as the switch calls them, and ranges of them that count up the last number.
      - All ports if this is empty. A port that does not exist is an error. No effect on traffic.
    type: list
    elements: str
    default: []
  priority:
    description: The priority of RoCE traffic, 0 to 7, on which PFC and ECN ought to be in force. No effect on traffic.
    type: int
    default: 3
  bridge_domain:
    description:
      - The bridge whose VLANs are looked at. With O(system=cumulus) alone.
      - V(br_default) if this is not set. No effect on traffic.
    type: str
  vlan:
    description:
      - The VLAN that access ports have to be in, and that trunks have to carry. Any if it is not set. No effect on
        traffic.
      - Neither with O(system=onyx) nor with O(system=cumulus).
    type: int
  mtu:
    description:
      - The least MTU in bytes of the ports, that of the hosts. A larger one is right. Any if it is not set. No effect
        on traffic.
      - Neither with O(system=onyx) nor with O(system=cumulus).
    type: int
  port_mode:
    description:
      - What the ports have to be, access ports, trunks, or routed ports with an address each. Any if it is not set. No
        effect on traffic.
      - Neither with O(system=onyx) nor with O(system=cumulus).
    type: str
    choices: [access, trunk, routed]
extends_documentation_fragment:
  - rocemesh.multinode.attributes.reads
  - rocemesh.multinode.switch
  - rocemesh.multinode.switch.ssh
  - rocemesh.multinode.switch.https
seealso:
  - module: rocemesh.multinode.onyx_roce
  - module: rocemesh.multinode.switch_roce
"""

EXAMPLES = r"""
- name: Look at the four server ports of an Onyx switch
  rocemesh.multinode.switch_roce_info:
    system: onyx
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
    that: leaf.switch.healthy
    fail_msg: "{{ leaf.switch.problems | join('; ') }}"

- name: Look at an Arista switch whose ports must be trunks
  rocemesh.multinode.switch_roce_info:
    system: eos
    hostname: leaf02.example.com
    username: reader
    password: "{{ vault_switch_password }}"
    known_hosts: "{{ inventory_dir }}/known_hosts"
    ports: [Ethernet1/1-4]
    port_mode: trunk
    vlan: 111
  delegate_to: localhost
"""

RETURN = r"""
switch:
  description:
    - What was read. The keys are the same with every system, as far as the switch has the thing.
    - C(version) is the release of the switch. With V(onyx) C(model) is what C(show version) calls the model (many
      switches say only V(x86onie)), C(serial) the serial number of the system, and C(role) that in the prompt,
      V(master), V(standby) or V(unknown), empty if it has none.
    - C(roce) has the configured C(mode) (V(absent) if RoCE is off) and what is in force, in the words of the switch.
      Thresholds are in thousands of bytes. Null if it could not be read. Its C(dscp_priorities) is the map in force,
      C(traffic_classes) and C(pools) are Onyx's.
    - C(vlans) has VLANs by number, with C(members), the ports and bonds that carry them, and C(name) with V(onyx).
      C(svis) has the numbers of those that have a layer 3 interface.
    - C(ports) has the ports. C(mode) is access, trunk, hybrid, routed, lag (member of C(lag)), bond (member of
      C(bond)), used (for something else), none or unknown; C(mtu) is in bytes; C(carries) is what the port carries, for
      a person.
    - C(counters) of a port has what the release prints of rx_drops, tx_drops, rx_discards, tx_discards,
      tx_hoq_discards, ecn_marked, rx_pfc_pause, tx_pfc_pause (O(priority)), rx_roce_packets and tx_roce_packets, all in
      packets since they were cleared.
    - RoCE packets are those with DSCP 8 * O(priority) + 2 (26 with priority 3). Congestion notifications (DSCP 48) must
      be in another priority, without PFC. C(roce_priority) and C(cnp_priority) of a port are what its map makes of
      them.
    - C(saved) is whether the running configuration survives a reload of the switch, null if that is not known. With
      V(onyx) and V(cumulus) C(unsaved_changes) has lines that a reload would lose (C(+)) or bring back (C(-)). With
      V(onyx) C(files) has the names of the configuration files on the switch. With V(cumulus) C(staged_changes) has
      changes that are staged and not applied, by revision, and C(other_qos) QoS settings besides RoCE, as commands,
      which may contradict its template.
    - C(unreadable) has what could not be read, as C(what), and why, as C(reason) with the text of the switch.
    - C(problems) is what contradicts RoCE on the ports, one sentence each, empty if RoCE is off and may be. C(healthy)
      is whether there is none. C(warnings) has what RoCE works without, such as the PFC watchdog, not with V(onyx).
    - With V(sonic), V(eos) and V(nxos) C(findings) has C(code), C(place) (a port, empty for the whole switch),
      C(thing), C(found), C(expected) and C(remedy) of each problem and warning. Codes are V(mode), V(mtu),
      V(port_mode), V(vlan), V(address), V(network), V(trust), V(dscp), V(cnp), V(ecn), V(pfc), V(pfc_oper) and
      V(pfc_watchdog).
  returned: success
  type: dict
  sample:
    version: 3.10.4006
    roce: {mode: lossless, trust: L3, ecn: 'ecn, absolute', pfc: enabled, pfc_priorities: [3], exceptions: []}
    vlans: {"111": {name: rdma, members: [1/1, 1/2]}}
    svis: []
    ports:
      1/1:
        mode: access
        access_vlan: 111
        mtu: 9216
        admin: up
        oper: up
        trust: L3
        pfc_oper: enabled
        neighbors: [{system: gpu01, port: eth0, description: ""}]
        counters: {rx_discards: 0, tx_discards: 0, ecn_marked: 12, rx_pfc_pause: 3, tx_pfc_pause: 0}
    saved: true
    unreadable: []
    problems: []
    healthy: true
"""

import contextlib
from typing import Any, Mapping

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils._eos import reading as eos
from ..module_utils._layer import RefusedError, failing
from ..module_utils._nvue import arguments, rest
from ..module_utils._nvue import info as nvue
from ..module_utils._nvue import plan as nvue_plan
from ..module_utils._nvue.reading import NvueReader
from ..module_utils._nxos import reading as nxos
from ..module_utils._onyx import info as onyx
from ..module_utils._onyx import plan as onyx_plan
from ..module_utils._onyx import transport
from ..module_utils._sonic import reading as sonic
from ..module_utils._switch.arguments import LOGIN, SSH
from ..module_utils._switch.judge import PORT_MODES
from ..module_utils._switch.request import PRIORITY
from ..module_utils._switch.ssh import settings_from
from ..module_utils._switch.survey import survey

READERS = {"sonic": sonic.read, "eos": eos.read, "nxos": nxos.read}
# Options that say what ought to be, and that not every system has.
ONLY: Mapping[str, tuple[str, ...]] = {
    "bridge_domain": ("cumulus",),
    **dict.fromkeys(("vlan", "mtu", "port_mode"), tuple(READERS)),
}


def refuse_foreign(params: Mapping[str, Any]) -> None:
    """Raise for an option, or a mode, that the system does not have."""
    host, system = params["hostname"], params["system"]
    for name, systems in ONLY.items():
        if params[name] is not None and system not in systems:
            raise RefusedError(
                f"it exists with {', '.join(systems)}, not with {system}",
                host=host,
                thing=name,
                value=params[name],
                remedy="leave it out",
            )
    if system == "onyx" and params["mode"] not in (None, *onyx_plan.MODES):
        raise RefusedError(
            "not a RoCE mode of Onyx",
            host=host,
            thing="mode",
            value=params["mode"],
            remedy=f"choose one of {', '.join(onyx_plan.MODES)}",
        )


def read_onyx(params: Mapping[str, Any]) -> dict[str, Any]:
    host = params["hostname"]
    wanted = onyx_plan.request(host, {key: params[key] for key in ("ports", "priority")})
    with contextlib.closing(transport.OnyxSession(settings_from(params))) as session:
        return onyx.survey(host, session, wanted.ports, params["mode"], wanted.priority)


def read_cumulus(module: AnsibleModule) -> dict[str, Any]:
    params, host = module.params, module.params["hostname"]
    # Refuses what is no port before the login.
    wanted = nvue_plan.request(host, {key: params[key] for key in ("ports", "bridge_domain", "mode", "priority")})
    with contextlib.closing(rest.Session(arguments.endpoint(module))) as session:
        reader = NvueReader(host, session, wanted.domain)
        return nvue.survey(reader, wanted.ports, params["mode"], wanted.priority)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **LOGIN,
            **SSH,
            **arguments.TLS,
            "system": {"type": "str", "required": True, "choices": ["onyx", "cumulus", *READERS]},
            "port": {"type": "int"},
            "mode": {"type": "str", "choices": list(nvue_plan.CHOICES)},
            "ports": {"type": "list", "elements": "str", "default": []},
            "priority": {"type": "int", "default": PRIORITY},
            "bridge_domain": {"type": "str"},
            "vlan": {"type": "int"},
            "mtu": {"type": "int"},
            "port_mode": {"type": "str", "choices": list(PORT_MODES)},
        },
        supports_check_mode=True,
    )
    params = module.params
    system = params["system"]
    if transport.IMPORT_ERROR and system != "cumulus":
        module.fail_json(msg=missing_required_lib("netmiko[par4]"), exception=transport.IMPORT_ERROR)
    with failing(module):
        refuse_foreign(params)
        if system == "cumulus":
            found = read_cumulus(module)
        elif system == "onyx":
            found = read_onyx(params)
        else:
            found = survey(params, READERS[system])
        module.exit_json(changed=False, switch=found)


if __name__ == "__main__":
    main()
