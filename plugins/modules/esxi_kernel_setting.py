#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: esxi_kernel_setting
short_description: Configure kernel settings of ESXi hosts
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Sets values of C(esxcli system settings kernel) on one host, several hosts or all hosts of a cluster, through
    vCenter and in one session. ESXi shell and SSH are not used.
  - A kernel setting has a configured value and a value in force (runtime). This module sets the configured one.
    The value in force follows at the next reboot of the host, which this module never does.
  - All hosts are read and checked before the first one is written. If one of them does not answer or does not know a
    setting, no host is changed. Of several hosts the first is written alone, and the others side by side.
  - The result says which settings still wait for a reboot, on every run, also if another user configured them. With
    several hosts each command of C(undo) follows its host.
options:
  settings:
    description:
      - Kernel settings and their values, for example C(atsSupport=true). Nothing stops or restarts by setting them.
      - Names are compared without case. A name that the host does not know is an error that lists similar names.
      - Booleans may be given in any usual spelling. There is no default, a setting that is not named is left alone.
    type: dict
    required: true
  allow_security_settings:
    description:
      - Permit settings that weaken the host, or that can keep a host whose configuration is sealed by a TPM from
        booting at its next reboot - V(execInstalledOnly), the hyperthreading mitigations, and every name that begins
        with V(disable), such as V(disableACSCheck).
      - Without it a change of such a setting is refused and nothing is changed.
    type: bool
    default: false
extends_documentation_fragment:
  - rocemesh.multinode.attributes.changes
  - rocemesh.multinode.vsphere
  - rocemesh.multinode.vsphere.hosts
notes:
  - Not verified on hardware - from which ESXi build on V(atsSupport) exists, and the privilege that the account needs
    on the host beyond C(System.Read).
  - A host profile, or an image and configuration that vSphere Lifecycle Manager applies, may set a kernel setting back.
    The next run sees it.
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

- name: The same on a whole cluster, in one session
  rocemesh.multinode.esxi_kernel_setting:
    hostname: vcenter.example.org
    username: automation@vsphere.local
    password: "{{ vcenter_password }}"
    cluster: gpu-cluster
    settings:
      atsSupport: true
  delegate_to: localhost
  run_once: true

- name: Say what waits for a reboot
  ansible.builtin.debug:
    var: kernel.reboot_reasons
"""

RETURN = r"""
settings:
  description:
    - The managed settings after the run; in check mode, before it.
    - Each has C(name) in the host's own spelling, C(type) and C(description) as the host reports them, C(configured)
      (the value that the next boot uses), C(runtime) (in force), C(default) (of the release), C(previous_configured)
      (before this run) and C(reboot_required), whether the configured value differs from the one in force.
  returned: success, with one host
  type: list
  elements: dict
  sample: [{name: atsSupport, type: Bool, configured: "TRUE", runtime: "FALSE", reboot_required: true}]
hosts:
  description:
    - Each host with C(esxi_host), C(esxi_host_moid), C(esxi_host_uuid), C(settings) (see RV(settings)), C(changes) (one
      line for each setting that was or would be configured), C(reboot_required) and C(reboot_reasons). In the order in
      which they were named, of a cluster by name.
  returned: success
  type: list
  elements: dict
failed_hosts:
  description:
    - Hosts that could not be read or that refuse a setting before the first write; no host was changed then.
    - Hosts that did not take a write; C(applied) and C(undo) say what was done on the others.
  returned: failure of several hosts
  type: list
  elements: str
"""

from ..module_utils._vsphere.arguments import hosts_module, run_layer
from ..module_utils._vsphere.kernel import KernelLayer
from ..module_utils._vsphere.plan import KernelWanted
from ..module_utils._vsphere.transport import Connection


def main() -> None:
    module, names = hosts_module(
        settings={"type": "dict", "required": True},
        allow_security_settings={"type": "bool", "default": False},
    )
    params = module.params
    wanted = KernelWanted(params["settings"], params["allow_security_settings"])

    def make_layer(connection: Connection) -> KernelLayer:
        return KernelLayer(connection, connection.find_hosts(names, params["cluster"] or ""), wanted)

    run_layer(module, make_layer, wanted)


if __name__ == "__main__":
    main()
