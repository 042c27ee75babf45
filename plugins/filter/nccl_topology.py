"""Filter: NCCL's topology file for a VM, from ESXi's facts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: nccl_topology
short_description: Render NCCL's topology file for a VM from what ESXi knows about its devices
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - A VM hides the PCIe switch that its GPU and NIC share, so NCCL gives up GPUDirect RDMA. The file puts the switch
    back.
  - Takes the facts of the ESXi host (M(rocemesh.multinode.esxi_pci_info), without any filter) and what C(lspci) shows
    in the guest, and joins them. Where the two do not tell clearly which device is which, it refuses and shows both.
  - Written from NCCL's source. Not verified on hardware.
positional: _input, lspci, vm
options:
  _input:
    description:
      - What M(rocemesh.multinode.esxi_pci_info) returned for the host of the VM, or a list of what it returned for all
        hosts; the one that gave a device to this VM counts.
    type: raw
    required: true
  lspci:
    description: Output of C(lspci -D -vmm -n) in the guest.
    type: str
    required: true
  vm:
    description: Name of the VM in vCenter, or its managed object id.
    type: str
    required: true
  addresses:
    description: >-
      PCI address in the host to PCI address in the guest. Only needed for a VM with several alike devices in different
      places whose slots in the VM are not known on both sides (C(vm_slot) of the host's facts, C(PhySlot) of C(lspci)).
    type: dict
    default: {}
  link_speed:
    description: PCIe speed of the elements. Empty - NCCL reads what the guest shows, and takes 8 GT/s for the switches.
    type: str
    choices: ['', '2.5 GT/s', '5 GT/s', '8 GT/s', '16 GT/s', '32 GT/s']
    default: ''
  link_width:
    description: PCIe lanes of the elements. 0 - NCCL reads what the guest shows, and takes 16 for the switches.
    type: int
    default: 0
  strict:
    description: >-
      Whether unclear facts are an error. If not, the result has an empty C(xml) and the reason in C(refused).
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Write the topology of this VM
  ansible.builtin.copy:
    content: "{{ (pci | rocemesh.multinode.nccl_topology(lspci.stdout, inventory_hostname)).xml }}"
    dest: /etc/rocemesh/nccl/topology.xml
    mode: "0644"
"""

RETURN = r"""
_value:
  description: >-
    C(xml) (the file), C(vm), C(pairs) (each GPU with each NIC - C(gpu), C(nic), C(host_gpu), C(host_nic), C(relation)
    V(PIX), V(PXB), V(PHB) or V(SYS), C(shared_bridge)), C(level) (the distance of the worst GPU to its nearest NIC),
    C(gpudirect) (whether NCCL uses GPUDirect RDMA at this level by default), C(notes), C(refused) (why there is no
    file, empty if there is one).
  type: dict
"""

from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._layer import LayerError, RefusedError
from ..module_utils._site.nccl_topology import Topology, render
from ..module_utils._site.pci_places import parse_lspci


def nccl_topology(
    facts: Any,
    lspci: str,
    vm: str,
    *,
    addresses: Mapping[str, str] | None = None,
    link_speed: str = "",
    link_width: int = 0,
    strict: bool = True,
) -> dict[str, Any]:
    hosts = [facts] if isinstance(facts, Mapping) else facts
    if not isinstance(hosts, Sequence) or not all(
        isinstance(host, Mapping) and isinstance(host.get("devices"), list) for host in hosts
    ):
        raise AnsibleFilterError("nccl_topology: wants what esxi_pci_info returned, with its list of devices")
    own = [host for host in hosts if any(str(vm) in (row.get("vm"), row.get("vm_moid")) for row in host["devices"])]
    rows = own[0]["devices"] if own else hosts[0]["devices"] if len(hosts) == 1 else []
    try:
        if len(own) > 1:  # of two vCenters, or of two datacenters
            where = ", ".join(str(host.get("esxi_host")) for host in own)
            remedy = "give the facts of its host alone, or set gpu_vm_name to its managed object id"
            raise RefusedError("several ESXi hosts have it", host=str(vm), thing="VM", value=where, remedy=remedy)
        found = render(
            str(vm),
            [{**row, "vm": str(vm)} if str(vm) in (row.get("vm"), row.get("vm_moid")) else row for row in rows],
            parse_lspci(str(lspci), str(vm)),
            addresses=addresses,
            link_speed=str(link_speed),
            link_width=int(link_width),
        )
    except (LayerError, ValueError) as error:
        if strict:
            raise AnsibleFilterError(f"nccl_topology: {error}") from error
        return {**Topology("", str(vm), [], "", []).as_result(), "refused": str(error)}
    return {**found.as_result(), "refused": ""}


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"nccl_topology": nccl_topology}
