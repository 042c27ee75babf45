#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: esxi_window
short_description: Who may open maintenance windows, and whose maintenance mode a host is in
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Takes, renews or gives back the lease of the datacenters that the named hosts are in. Only the holder of the lease
    opens maintenance windows there.
  - Reads for each host its boot time, whether it is in maintenance mode, who entered it, and whether vCenter's records
    prove that an interrupted run of this collection did. Any other maintenance mode is a warning.
  - The lease is the definition of a custom attribute C(rocemesh.lease.ID), which vCenter lets only one caller create.
    Its value on the datacenter names the run, the controller, and when the lease ends.
attributes:
  check_mode:
    support: full
    description: Takes no lease and gives none back. Refusals are the same as in a real run.
  diff_mode:
    support: none
    description: Nothing that a difference would show is kept.
options:
  esxi_hostnames:
    description: Names of the ESXi hosts as vCenter shows them, or their managed object ids.
    type: list
    elements: str
    required: true
  lease:
    description:
      - V(free) fails if another run that may be alive holds the lease, and changes nothing. V(held) takes the lease, or
        renews the one that this run has. V(released) gives it back, and leaves another run's alone. V(ignored) does not
        look at it.
    type: str
    choices: [free, held, released, ignored]
    default: free
extends_documentation_fragment:
  - rocemesh.multinode.vsphere
  - rocemesh.multinode.vsphere.lease
notes:
  - The account needs the privileges C(Global.ManageCustomFields) on the root folder and C(Global.SetCustomField) on the
    datacenter.
  - A lease counts as dead when its time is over, or when its holder ran on this machine and the process is not there
    any more.
  - Logged in to a standalone ESXi host there is no lease, because it has no custom attributes.
seealso:
  - module: rocemesh.multinode.esxi_reboot
"""

EXAMPLES = r"""
- name: Check that no other run is active
  rocemesh.multinode.esxi_window:
    hostname: vcenter.example.org
    username: automation@vsphere.local
    password: "{{ vcenter_password }}"
    esxi_hostnames: [esx01.example.org, esx02.example.org]
  delegate_to: localhost
  register: windows

- name: Open maintenance windows
  rocemesh.multinode.esxi_window:
    hostname: vcenter.example.org
    username: automation@vsphere.local
    password: "{{ vcenter_password }}"
    esxi_hostnames: [esx01.example.org, esx02.example.org]
    lease: held
  delegate_to: localhost
"""

RETURN = r"""
run:
  description: Name of this run.
  returned: success
  type: str
  sample: 3f2a9c0d1e5b
hosts:
  description:
    - Each host, in the order of O(esxi_hostnames), with C(given) (the name in the option), C(esxi_host),
      C(esxi_host_moid), C(vcenter_uuid), C(connection_state), C(boot_time), C(in_maintenance), C(marked) (a run of this
      collection left its mark), C(recoverable) (an interrupted run of this collection is proved to have entered) and
      C(story) (who).
  returned: success
  type: list
  elements: dict
"""

from ..module_utils._layer import failing
from ..module_utils._vsphere.arguments import LEASE, endpoint_from, lease_from, make_module, vsphere_argument_spec
from ..module_utils._vsphere.transport import Connection
from ..module_utils._vsphere.windows import Windows


def main() -> None:
    module = make_module(
        argument_spec=vsphere_argument_spec(
            esxi_hostnames={"type": "list", "elements": "str", "required": True},
            lease={"type": "str", "choices": ["free", "held", "released", "ignored"], "default": "free"},
            **LEASE,
        ),
        supports_check_mode=True,
    )
    params = module.params
    wanted = lease_from(params)
    with failing(module), Connection(endpoint_from(params)) as connection:
        windows = Windows(connection, wanted, params["esxi_hostnames"])
        changed = windows.settle(params["lease"], module.check_mode)
        hosts = windows.hosts()
        for warning in windows.warnings:
            module.warn(warning)
        module.exit_json(changed=changed, run=wanted.run.name, hosts=hosts, vcenter_uuid=connection.instance)


if __name__ == "__main__":
    main()
