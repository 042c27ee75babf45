#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: esxi_kernel_setting
short_description: Configure kernel settings of an ESXi host
version_added: 0.1.0
author:
  - rocemesh.multinode contributors (@rocemesh)
description:
  - Sets values of C(esxcli system settings kernel) on one ESXi host, through vCenter.
  - A kernel setting has a configured value and a value in force (runtime). This module sets the configured one.
    The value in force follows at the next reboot of the host, which this module never does.
  - The result says which settings still wait for a reboot, on every run, whoever configured them.
attributes:
  check_mode:
    support: full
    description: Shows what would be configured and changes nothing.
  diff_mode:
    support: full
    description: Shows the configured values before and after.
options:
  esxi_hostname:
    description: Name of the ESXi host as vCenter shows it, or its managed object id.
    type: str
    required: true
  settings:
    description:
      - Kernel settings and their values, for example C(atsSupport=true).
      - Names are compared without case. A name that the host does not know is an error that lists similar names.
      - Booleans may be given in any usual spelling.
    type: dict
    required: true
  allow_security_settings:
    description:
      - Permit settings that weaken the host, or that can keep a host with sealed configuration from booting, such as
        V(execInstalledOnly) and V(disableACSCheck).
    type: bool
    default: false
extends_documentation_fragment:
  - rocemesh.multinode.vsphere
  - rocemesh.multinode.vsphere.attributes
notes:
  - Not verified on hardware - from which ESXi build on V(atsSupport) exists, and the privilege that the account needs
    on the host beyond C(System.Read).
seealso:
  - module: rocemesh.multinode.esxi_reboot
"""

EXAMPLES = r"""
- name: Let PCIe devices use address translation services after the next reboot
  rocemesh.multinode.esxi_kernel_setting:
    hostname: vcenter.example.org
    username: automation@vsphere.local
    password: "{{ vcenter_password }}"
    esxi_hostname: esx01.example.org
    settings:
      atsSupport: true
  delegate_to: localhost
  register: kernel

- name: Say what waits for a reboot
  ansible.builtin.debug:
    var: kernel.reboot_reasons
"""

RETURN = r"""
esxi_host:
  description: Name of the host.
  returned: success
  type: str
  sample: esx01.example.org
esxi_host_moid:
  description: Managed object id of the host.
  returned: success
  type: str
  sample: host-21
settings:
  description: The managed settings after the run; in check mode, before it.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name in the host's own spelling.
      type: str
      sample: atsSupport
    type:
      description: Type as the host reports it.
      type: str
      sample: Bool
    configured:
      description: Value that the next boot uses.
      type: str
      sample: "TRUE"
    runtime:
      description: Value in force.
      type: str
      sample: "FALSE"
    default:
      description: Value that the release ships with.
      type: str
      sample: "FALSE"
    description:
      description: The host's own description.
      type: str
    previous_configured:
      description: Configured value before this run.
      type: str
      sample: "FALSE"
    reboot_required:
      description: Whether the configured value differs from the one in force.
      type: bool
operations:
  description:
    - What was done or, in check mode, would be done.
    - Each item has C(description), C(command), C(disrupts) and C(reboot).
  returned: success
  type: list
  elements: dict
undo:
  description: Commands that take the change back, in order.
  returned: success
  type: list
  elements: str
  sample: ["esxcli system settings kernel set --setting atsSupport --value FALSE"]
reboot_required:
  description: Whether a managed setting waits for a reboot of the host.
  returned: success
  type: bool
reboot_scope:
  description: What has to restart, V(none) or V(esxi_host).
  returned: success
  type: str
reboot_reasons:
  description: One sentence for each setting that waits.
  returned: success
  type: list
  elements: str
"""

from ..module_utils._vsphere.arguments import make_module, run_layer, vsphere_argument_spec
from ..module_utils._vsphere.layers import KernelLayer
from ..module_utils._vsphere.plan import KernelWanted


def main() -> None:
    module = make_module(
        argument_spec=vsphere_argument_spec(
            esxi_hostname={"type": "str", "required": True},
            settings={"type": "dict", "required": True},
            allow_security_settings={"type": "bool", "default": False},
        ),
        supports_check_mode=True,
    )
    wanted = KernelWanted(module.params["settings"], module.params["allow_security_settings"])
    run_layer(module, lambda connection: KernelLayer(connection, module.params["esxi_hostname"], wanted), wanted)


if __name__ == "__main__":
    main()
