#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vcenter_site_info
short_description: Whether vCenter knows the hosts and VMs of a site, who else runs there, and what the account may do
version_added: 0.1.0
description:
  - Looks at all hosts and VMs of a site in one session, before anything is changed there. Changes nothing.
  - A host or VM that vCenter does not know is named in its row and does not fail the module. It fails only if vCenter
    cannot be reached or refuses the login.
  - Asks vCenter itself which privileges the account has on these objects (C(HasPrivilegeOnEntities)).
author: rocemesh.multinode contributors (@rocemesh)
options:
  hosts:
    description: ESXi hosts by their names in vCenter, or by managed object id.
    type: list
    elements: str
    default: []
  vms:
    description: VMs by their names in vCenter, or by managed object id.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - rocemesh.multinode.attributes.reads
  - rocemesh.multinode.vsphere
notes:
  - Not verified on hardware. The lab's account has every privilege; a lack of them is shown to govmomi's own roles.
seealso:
  - module: rocemesh.multinode.preflight
"""

EXAMPLES = r"""
- name: May this account do what the site needs
  rocemesh.multinode.vcenter_site_info:
    hostname: vcenter.example.com
    username: automation@vsphere.local
    password: "{{ vault_vcenter_password }}"
    hosts: "{{ groups['esxi_hosts'] }}"
    vms: "{{ groups['gpu_vms'] }}"
  delegate_to: localhost
  register: site

- name: Stop where a privilege is missing
  ansible.builtin.assert:
    that: site.missing_privileges | length == 0
    fail_msg: "{{ site.missing_privileges }}"
"""

RETURN = r"""
vcenter:
  description: The server as the module reached it.
  returned: success
  type: str
product:
  description: What the server says it is.
  returned: success
  type: str
account:
  description: The account of the session.
  returned: success
  type: str
clock_skew:
  description: Seconds that the server's clock is ahead of the clock where the module runs.
  returned: success
  type: float
hosts:
  description: >-
    One row per host asked for - C(asked), C(problem) (empty if it was found), C(name), C(moid), C(uuid),
    C(connection), C(maintenance), C(lockdown), C(power_policy) (as vSphere's clients call it; null if vCenter does not
    tell) and C(running_vms), the names of all VMs that run there.
  returned: success
  type: list
  elements: dict
vms:
  description: >-
    One row per VM asked for - C(asked), C(problem) (empty if it was found), C(name), C(moid), C(uuid) (of the
    instance), C(power), C(tools) (whether VMware Tools run), C(heartbeat) (C(green) to C(red), which is a guest that
    stopped answering; C(gray) without Tools) and C(esxi_host), each as vCenter tells it; C(devices), the host devices
    that vSphere chooses at power-on, each with C(assignment) (as in M(rocemesh.multinode.vmx_passthru)) and C(text).
  returned: success
  type: list
  elements: dict
missing_privileges:
  description: One row per privilege that the account lacks - C(privilege), C(on) (names of objects), C(needed_for).
  returned: success
  type: list
  elements: dict
"""

from ..module_utils._layer import failing
from ..module_utils._vsphere.arguments import endpoint_from, make_module, vsphere_argument_spec
from ..module_utils._vsphere.site_reading import read_site
from ..module_utils._vsphere.transport import Connection


def main() -> None:
    module = make_module(
        argument_spec=vsphere_argument_spec(
            hosts={"type": "list", "elements": "str", "default": []},
            vms={"type": "list", "elements": "str", "default": []},
        ),
        supports_check_mode=True,
    )
    with failing(module), Connection(endpoint_from(module.params)) as connection:
        result = read_site(connection, module.params["hosts"], module.params["vms"])
        module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
