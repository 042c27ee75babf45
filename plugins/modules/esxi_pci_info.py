#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: esxi_pci_info
short_description: PCI devices of ESXi hosts, with their NUMA nodes and the VMs that own them
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Lists the PCI devices of one host, several hosts or all hosts of a cluster (side by side, in one session) and joins
    what vSphere keeps apart - the device, its passthrough state, the NUMA node that it belongs to, and the VM that owns
    it.
  - RV(numa_locality) names the NICs and GPUs of each node. A VM for GPUDirect RDMA must be given both from one node.
options:
  address:
    description: Only devices at these PCI addresses. The segment may be left out.
    type: list
    elements: str
    default: []
  vendor_id:
    description: Only devices of this vendor, for example V(0x15b3).
    type: str
  device_id:
    description: Only devices with this id, for example V(0x101d).
    type: str
  kind:
    description: Only devices of this kind.
    type: str
    choices: [nic, gpu, bridge, other]
  passthru_capable:
    description: Only devices that can (or cannot) be passed through to a VM.
    type: bool
  gather_esxcli:
    description: Also read C(esxcli hardware pci list) for driver, VMkernel name and owner of each device.
    type: bool
    default: false
extends_documentation_fragment:
  - rocemesh.multinode.attributes.reads
  - rocemesh.multinode.vsphere
  - rocemesh.multinode.vsphere.hosts
notes:
  - NUMA nodes come from the host's own description of its nodes. Not verified on hardware for SR-IOV virtual functions.
seealso:
  - module: rocemesh.multinode.vmx_passthru
"""

EXAMPLES = r"""
- name: Find the ConnectX-6 Dx ports and their NUMA nodes
  rocemesh.multinode.esxi_pci_info:
    hostname: vcenter.example.org
    username: automation@vsphere.local
    password: "{{ vcenter_password }}"
    esxi_hostname: esx01.example.org
    vendor_id: "0x15b3"
    device_id: "0x101d"
  delegate_to: localhost
  register: pci

- name: The GPUs of a whole cluster, in one session
  rocemesh.multinode.esxi_pci_info:
    hostname: vcenter.example.org
    username: automation@vsphere.local
    password: "{{ vcenter_password }}"
    cluster: gpu-cluster
    kind: gpu
  delegate_to: localhost
  run_once: true

- name: Show what is free on node 0
  ansible.builtin.debug:
    msg: "{{ pci.devices | selectattr('numa_node', 'eq', 0) | selectattr('vm', 'none') | map(attribute='address') }}"
"""

RETURN = r"""
hosts:
  description:
    - Each host with C(esxi_host), C(esxi_host_moid), C(devices), C(numa_nodes), C(numa_locality) and C(vms), which are
      described below. In the order in which they were named, of a cluster by name.
  returned: success, with O(esxi_hostnames), or with O(cluster) alone
  type: list
  elements: dict
failed_hosts:
  description: Hosts that could not be read.
  returned: failure of several hosts
  type: list
  elements: str
devices:
  description:
    - The devices that pass the filters, by C(address) (PCI address with segment, in lower case), with C(kind) (V(nic),
      V(gpu), V(bridge) or V(other), from the PCI class), C(vendor_id), C(device_id), C(subvendor_id), C(subdevice_id),
      C(class_id), C(vendor_name) and C(device_name).
    - C(numa_node) is null if the host places the device in none. With O(gather_esxcli) a node that only C(esxcli) names
      is taken from there.
    - C(parent_bridge) is the address of the bridge above the device, C(root_port) that of the topmost one, empty if the
      host names none, and C(root_complex) segment and bus of that bridge, or of the device itself.
    - C(passthru) has C(capable), C(enabled), C(active) and C(dependent_device); null where vSphere says nothing. Its
      C(mode) and C(configurable_modes) are the DirectPath modes of the device, such as V(directPath),
      V(enhancedDirectPath) and V(vGpuSameSize); null and empty before API 9.1. Its C(reboot_required) is true where
      C(enabled) comes into force only at the next reboot of the host.
    - C(sriov) is the SR-IOV state, null if the device has none. C(esxcli) has the columns of C(esxcli hardware pci
      list) for the device, null without O(gather_esxcli).
    - C(vm) is the name of the VM that owns the device, null if none does, with C(vm_moid), C(vm_power_state) and
      C(vm_slot), the number of the slot of that VM that the device is in; Linux in the VM shows the same one
      (C(PhySlot)).
  returned: success, with O(esxi_hostname)
  type: list
  elements: dict
  sample: [{address: "0000:3b:00.0", kind: nic, vendor_id: "0x15b3", device_id: "0x101d", root_complex: "0000:3a"}]
numa_nodes:
  description: NUMA nodes with C(id), C(cpus), C(memory_mb) and C(pci_addresses).
  returned: success, with O(esxi_hostname)
  type: list
  elements: dict
numa_locality:
  description: For each NUMA node (and V(unknown)), the addresses of C(nics) and C(gpus) that can be passed through.
  returned: success, with O(esxi_hostname)
  type: dict
  sample: {'0': {nics: ['0000:3b:00.0'], gpus: ['0000:3d:00.0']}}
vms:
  description:
    - VMs of the host that own devices, with C(name), C(moid), C(power_state), C(devices), C(numa_nodes),
      C(same_numa_node) (false if a GPU and a NIC of the VM sit on different nodes, null if a node is unknown) and
      C(same_root_complex) (false if peer-to-peer traffic between them crosses the CPU).
  returned: success, with O(esxi_hostname)
  type: list
  elements: dict
"""

from typing import Any, Callable

from ..module_utils._layer import RefusedError, failing
from ..module_utils._vsphere.arguments import endpoint_from, hosts_module
from ..module_utils._vsphere.inventory import PciFilter, pci_reports
from ..module_utils._vsphere.state import pci_address, pci_id
from ..module_utils._vsphere.transport import Connection


def filter_from(params: dict[str, Any]) -> PciFilter:
    """Raises `RefusedError` for an address or id that is not one."""

    def parsed(parse: Callable[[str], Any], thing: str, value: str) -> Any:
        try:
            return parse(value)
        except ValueError as error:
            raise RefusedError(
                str(error),
                host=params["esxi_hostname"] or params["hostname"],
                thing=thing,
                value=value,
                remedy="write 0000:3b:00.0 and 0x15b3",
            ) from error

    addresses = tuple(parsed(pci_address, "address", text) for text in params["address"])
    ids = {name: parsed(pci_id, name, params[name]) for name in ("vendor_id", "device_id") if params[name] is not None}
    return PciFilter(addresses, kind=params["kind"], passthru_capable=params["passthru_capable"], **ids)


def main() -> None:
    module, names = hosts_module(
        address={"type": "list", "elements": "str", "default": []},
        vendor_id={"type": "str"},
        device_id={"type": "str"},
        kind={"type": "str", "choices": ["nic", "gpu", "bridge", "other"]},
        passthru_capable={"type": "bool"},
        gather_esxcli={"type": "bool", "default": False},
    )
    params = module.params
    with failing(module):
        wanted = filter_from(params)
        with Connection(endpoint_from(params)) as connection:
            hosts = connection.find_hosts(names, params["cluster"] or "")
            reports = pci_reports(connection, hosts, wanted, params["gather_esxcli"])
        module.exit_json(changed=False, **(reports[0] if params["esxi_hostname"] else {"hosts": reports}))


if __name__ == "__main__":
    main()
