#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: mlxconfig_ats
short_description: Enable Address Translation Services in ConnectX cards, and tell whether they are in force
version_added: 0.1.0
description:
  - Sets C(ATS_ENABLED) in the stored configuration of every ConnectX card of a node with C(mlxconfig) or C(mstconfig).
  - Reports three values (default, current, next boot) and the ATS capability of the PCI function, and names the layer
    that is to blame when they do not agree. The next-boot value is never taken for the state of the card.
  - The stored value is loaded only when the slot of the card is reset. In a VM with a passed-through card that is a
    reboot of the ESXi host, not of the guest. C(reboot_required) stays true on later runs until it has happened.
  - Never flashes firmware, never resets a card, never restarts anything.
author: rocemesh.multinode contributors (@rocemesh)
requirements:
  - C(mlxconfig) (MFT, MLNX_OFED) or C(mstconfig) (mstflint), 4.13 or newer, on the node
  - C(lspci) and C(setpci) (pciutils) on the node
  - Python 3.8 or newer on the node
extends_documentation_fragment: [rocemesh.multinode.attributes.changes, rocemesh.multinode.attributes.fails]
attributes:
  check_mode:
    support: full
    description: Can run in check mode and predicts the result; only queries are sent to the card.
options:
  device:
    description:
      - The functions, or V(auto) alone for every Mellanox network function. A function is named by its PCI address as
        C(lspci -D) prints it, its network interface or its RDMA device; a card by its GUID or its serial number.
      - Both functions of a two-port card may be named; the card is then set once.
    type: list
    elements: str
    default: [auto]
  state:
    description:
      - V(enabled) and V(disabled) store the value for the next boot.
      - V(queried) changes nothing.
    type: str
    choices: [enabled, disabled, queried]
    default: enabled
  tool:
    description: The program to use. V(auto) takes C(mlxconfig), else C(mstconfig).
    type: str
    choices: [auto, mlxconfig, mstconfig]
    default: auto
  query_timeout:
    description: Seconds to wait for one call of a tool.
    type: int
    default: 60
  missing_parameter:
    description:
      - What to do with a card that cannot be set because its firmware has no C(ATS_ENABLED), because it is a virtual
        function, or because the tool is too old. V(fail) stops before anything is changed, V(warn) leaves it out.
    type: str
    choices: [fail, warn]
    default: fail
  verify_pci:
    description: Read the ATS capability of each PCI function.
    type: bool
    default: true
  bare_metal:
    description:
      - What O(state=enabled) does on a machine that is not a VM. ATS serves a card behind a hypervisor; on bare metal
        it slows PCI down, and other tools of the vendor set it to 0 there.
      - V(refuse) stops before anything is changed. V(allow) stores the value; C(reboot_scope) then means the machine
        itself.
      - What the machine is, C(systemd-detect-virt --vm) says, or the CPU flag C(hypervisor). If neither does, nothing
        is refused.
    type: str
    choices: [refuse, allow]
    default: refuse
  require_active:
    description:
      - Fail unless every function has ATS in force, that is current value true and C(Enable+) on the bus. The message
        says which layer has to act. In check mode this is a warning.
      - On firmware that does not report a current value C(Enable+) alone counts.
      - Needs O(verify_pci=true).
    type: bool
    default: false
  host_boot_time:
    description:
      - When the ESXi host of this VM booted last, in seconds since the epoch or ISO 8601 with a time zone.
      - Together with O(settled_since) a guard against endless reboots.
    type: str
  settled_since:
    description:
      - When the next-boot value was stored, in the same formats. If the host booted later and the card still has
        not loaded it, the module fails and advises to power the server off and on.
    type: str
notes:
  - Give root (C(become)). Without it the tools report a missing device.
  - Not verified on hardware. Formats are those of tool versions 4.13 to 4.36.
seealso:
  - module: rocemesh.multinode.esxi_reboot
  - module: rocemesh.multinode.esxi_kernel_setting
"""

EXAMPLES = r"""
- name: Enable ATS in every ConnectX card of the VM
  rocemesh.multinode.mlxconfig_ats:
    state: enabled
  become: true
  register: ats

- name: Say which VMs wait for a reboot of their ESXi host
  ansible.builtin.debug:
    msg: "{{ ats.reboot_reasons }}"
  when: ats.reboot_required

- name: Prove that ATS is in force, after the host was rebooted
  rocemesh.multinode.mlxconfig_ats:
    state: queried
    require_active: true
  become: true

- name: One card only, through mstflint
  rocemesh.multinode.mlxconfig_ats:
    device: ["0000:3b:00.0"]
    tool: mstconfig
  become: true
"""

RETURN = r"""
active:
  description: Whether ATS is in force on every function, from the current value and the PCI function.
  returned: success
  type: bool
  sample: false
devices:
  description:
    - One entry per PCI function. A value that the card or the bus does not tell is null, a text that is not known is
      empty.
    - C(pci) is the address with domain, C(mst) the path in C(/dev/mst), C(device_id) that of PCI, C(card) the key of
      the physical card, which its functions share, C(is_vf) whether it is a virtual function. C(device_type), C(name)
      (part number), C(description), C(psid) (board id of the firmware image) and C(firmware) (running) are as the tool
      prints them.
    - C(supported) is whether the parameter can be set through this function, C(default), C(current) (loaded) and
      C(next) (stored, loaded at the next reset of the slot) are its values, C(requested) the wanted one (null for
      O(state=queried)), C(reboot_required) whether the loaded value is not the stored one.
    - C(pci_ats) is the ATS capability of the function (C(present), C(enabled), C(stu)), null when not read, and
      C(config_space_bytes) the size of the configuration space that the guest sees (4096; 256 or 64 when it is cut).
    - C(active) is whether ATS is in force on this function, and C(diagnosis) one of V(active), V(nic_ready),
      V(pending), V(disabled), V(disable_pending), V(host_not_enabled), V(capability_hidden), V(current_unknown),
      V(inconsistent), V(unsupported), V(virtual_function), V(tool_too_old).
    - C(layer) is who has to act, one of V(none), V(nic), V(nic_firmware), V(guest), V(esxi_host) and
      V(esxi_host_or_vm), and C(messages) the diagnosis and the next step in words.
  returned: success
  type: list
  elements: dict
  sample: [{pci: "0000:3b:00.0", device_id: 101d, device_type: ConnectX6DX, diagnosis: pending, layer: esxi_host}]
reboot_kind:
  description:
    - V(none), V(reboot) or V(power_cycle). What the tool asked for when it stored the value in this run; on later
      runs what C(mlxfwreset query) says of a warm reboot, V(reboot) where nothing can be asked; V(unknown) when the
      tool asked for neither.
  returned: success
  type: str
  sample: reboot
environment:
  description: V(vm), V(bare_metal) or V(unknown).
  returned: success
  type: str
  sample: vm
tool:
  description: Program that was used.
  returned: success
  type: str
  sample: mstconfig
tool_version:
  description: Version of it.
  returned: success
  type: str
  sample: 4.21.0
diagnosis:
  description:
    - Diagnosis of the first function that is at fault, one of those in RV(devices), or V(bare_metal).
    - For a failure of the tool its class, one of V(cannot_open), V(lockdown), V(unidentified), V(livefish),
      V(unsupported_device), V(no_devices), V(no_nv_access), V(needs_power_cycle), V(partial), V(read_only),
      V(not_configurable), V(aborted), V(set_failed), V(bad_argument).
  returned: failure, where one is known
  type: str
  sample: host_not_enabled
"""

import platform

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._layer import exit_with, failing
from ..module_utils._nic import wishes


def main() -> None:
    module = AnsibleModule(
        argument_spec=wishes.ATS, supports_check_mode=True, required_by={"settled_since": ["host_boot_time"]}
    )
    options, host = module.params, platform.node()
    if options["require_active"] and not options["verify_pci"]:
        module.fail_json(
            msg=f"{host}: require_active needs verify_pci: the card alone cannot prove that ATS is in force."
        )
    with failing(module):
        layer, wanted = wishes.ats(options, host)
    exit_with(module, layer, wanted)


if __name__ == "__main__":
    main()
