#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_info
short_description: RDMA devices of a node, with everything that RoCE and GPUDirect depend on
version_added: 0.1.0
description:
  - Reads devices, interfaces, firmware, MTU, GIDs, trust mode and flow control, drivers, peer memory and counters of a
    node. Changes nothing.
  - Works for a normal user. What cannot be read is null and is listed in RV(unreadable) with the reason and what to do;
    it is never filled with a likely value.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.reads
  - rocemesh.multinode.attributes.node
author: rocemesh.multinode contributors (@rocemesh)
requirements:
  - C(ibv_devinfo) for the active MTU, C(mlnx_qos) or C(dcb) (iproute2 5.11) for trust mode and flow control,
    C(ethtool) for the counters of priorities, C(modinfo) for drivers on the disk. All of them are optional.
options:
  device:
    description: RDMA devices as in C(/sys/class/infiniband), for example V(mlx5_0), or V(auto) alone for all of them.
    type: list
    elements: str
    default: [auto]
  gather_counters:
    description: Read the counters of each port too. For a difference around a run take them before and after it.
    type: bool
    default: true
  gather_node:
    description:
      - Read drivers, peer memory and links of GPUs too. Without them RV(driver), RV(peer_memory), RV(holders) and
        RV(gpu_links) are left out, and a reading is quicker.
    type: bool
    default: true
  gather_path:
    description:
      - Read what lies between GPU and NIC too (RV(path)). Its parts need root; the firmware's settings need
        C(mlxconfig) or C(mstconfig).
    type: bool
    default: false
  tool_timeout:
    description: Seconds to wait for one call of a tool. A tool that does not answer is named in RV(unreadable).
    type: int
    default: 20
notes:
  - Not verified on hardware. Formats are those of public transcripts and of the sources of mlnx-tools and iproute2.
seealso:
  - module: rocemesh.multinode.mlxconfig_ats
"""

EXAMPLES = r"""
- name: Look at the RDMA devices
  rocemesh.multinode.rdma_info:
  register: rdma

- name: Say which GID index carries RoCE v2 over IPv4
  ansible.builtin.debug:
    msg: "{{ item.name }} port {{ item.port }}: {{ item.roce_gid_index }}"
  loop: "{{ rdma.devices }}"
  loop_control:
    label: "{{ item.name }}"

- name: Stop if trust mode or flow control could not be read
  ansible.builtin.assert:
    that: rdma.devices | selectattr('qos', 'none') | length == 0
    fail_msg: "{{ rdma.unreadable }}"
"""

RETURN = r"""
hostname:
  description: What the node calls itself.
  returned: success
  type: str
  sample: gpu01
boot_id:
  description: Id that the kernel made at its start; another one in a later reading means that the node was restarted.
  returned: success
  type: str
  sample: 0b0c2d5e-6f1a-4a53-9d3e-2a1b7c9d0e1f
devices:
  description:
    - One entry per port of a device. A value that cannot be read is null and named in C(unreadable), the part of
      RV(unreadable) that is about this port.
    - C(name) is the RDMA device, C(port) the number of the port, C(netdev) its interface, empty if it has none, C(pci)
      the PCI address with domain, C(device_id) that of PCI. C(firmware) is the running one, C(psid) the board id of its
      image. C(node_guid) is that of the device, C(sys_image_guid) that of the card, which its functions share. C(is_vf)
      is whether it is a virtual function of a card that this machine owns itself.
    - C(link_layer) is V(Ethernet) (RoCE) or V(InfiniBand), C(state) that of the port (V(ACTIVE)), C(rate) as the driver
      prints it.
    - C(active_mtu) is the RDMA MTU in bytes, from C(ibv_devinfo), and C(max_mtu) the largest. RoCE reaches 4096 with an
      interface MTU (C(netdev_mtu), in bytes) of 4200 or more.
    - C(pcie) is the PCIe link of the function, C(current_link_speed) and C(max_link_speed) in GT/s per lane,
      C(current_link_width) and C(max_link_width) in lanes, C(max_payload) (MaxPayload in force, needs root) in bytes.
      In a VM it is what the host passes on. C(numa_node) is the one that the guest sees; -1 is normal in a VM with a
      flat bus.
    - C(gids) is the GID table without empty entries (C(index), C(gid), C(type), C(netdev), C(ipv4), and of a VLAN
      C(vlan_of), the interface below it). C(roce_gid_index) is the index for RoCE v2 over IPv4, on the interface of the
      port if it has one there, null if there is none, and C(roce_gid_ipv4) the IPv4 address of that GID.
    - C(qos) has trust mode and flow control (C(trust), C(pfc_priorities), C(dscp_prio), C(prio_tc), C(source)). The
      keys of the two maps are numbers as text. Null if nothing could tell.
    - C(ecn) has the priorities with congestion notification (C(np) sends the notices, C(rp) obeys them), as OFED's
      driver tells. Null with a driver that does not.
    - C(roce_tos) is the default ToS of rdma_cm applications, null if its configfs directory does not exist, and
      C(traffic_class) the one that the driver forces on every RoCE connection, null if none.
    - C(counters) has C(counters), C(hw_counters) and C(ethtool) (priorities and discards only), each name to number.
  returned: success
  type: list
  elements: dict
  sample:
    - name: mlx5_0
      port: 1
      netdev: ens192
      pci: "0000:3b:00.0"
      active_mtu: 4096
      pcie: {"current_link_speed": 16.0, "current_link_width": 16, "max_payload": 256}
      gids: [{"index": 3, "gid": "0000:0000:0000:0000:0000:ffff:0a4e:000b", "type": "RoCE v2", "netdev": "ens192",
              "vlan_of": "", "ipv4": "10.78.0.11"}]
      roce_gid_index: 3
      qos: {"trust": "dscp", "pfc_priorities": [3], "dscp_prio": {"26": 3}, "prio_tc": {"3": 3}, "source": "dcb"}
interfaces:
  description: Interfaces that have an address, RDMA or not (C(name), C(addresses)). Null if C(ip) could not tell.
  returned: success
  type: list
  elements: dict
  sample: [{"name": "ens160", "addresses": ["192.0.2.11/24"]}]
driver:
  description:
    - C(product) (V(MLNX_OFED), V(DOCA-OFED), V(inbox)), C(version) and C(source) of the distribution; version and
      source version of C(mlx5_core) C(loaded) and C(installed); C(in_tree), C(kernel).
    - C(reload_required) is true if the loaded module is not the one on the disk, null if that is unknown.
  returned: if O(gather_node=true)
  type: dict
  sample: {"product": "DOCA-OFED", "version": "3.2.1", "loaded": true, "reload_required": false}
peer_memory:
  description:
    - How an RDMA device can reach GPU memory. C(modules) (loaded, installed, version), C(memory_peers) (clients in the
      kernel), C(dma_buf) (null if it is unknown), C(usable) (names of the ways that are ready).
    - C(dma_buf) is inferred from the kernel's version and the licence of the C(nvidia) module.
  returned: if O(gather_node=true)
  type: dict
  sample: {"usable": ["nvidia_peermem"], "dma_buf": false}
holders:
  description: Modules outside the driver that hold C(ib_core). A restart of the driver fails while they are loaded.
  returned: if O(gather_node=true)
  type: list
  elements: str
  sample: [nvidia_peermem]
gpu_links:
  description:
    - Link between each GPU and RDMA device as C(nvidia-smi topo -m) tells (C(gpu), C(nic), C(link), C(gdr_by_default)).
    - NCCL uses GPUDirect by default only over V(PIX) and V(PXB); a VM with a flat bus shows V(PHB) or V(SYS).
  returned: if O(gather_node=true)
  type: list
  elements: dict
path:
  description:
    - C(machine) (V(vm), V(bare_metal), V(unknown)), C(links) (as RV(gpu_links)),
      C(gpus) (C(pci), C(numa_node)), and C(nics), RDMA device to its facts.
    - Of each device C(pci), C(numa_node), C(max_payload) and C(max_read_request) in bytes, C(relaxed_ordering) (RlxdOrd
      of DevCtl), C(iommu) (V(none), or the type of its group, V(identity), V(DMA), V(DMA-FQ)), C(ats)
      (V(on), V(off), V(absent)), C(ports_above) (C(pci) and C(acs), whether the port C(redirects)
      and lets translated requests go straight, C(direct_translated)) and C(firmware) (C(ATS_ENABLED) and
      C(PCI_WR_ORDERING) as they are now).
    - In a VM C(ports_above) is null, the ports that it sees are the hypervisor's.
  returned: if O(gather_path=true)
  type: dict
unreadable:
  description: What could not be read (C(what)), the error as it was seen (C(why)) and what to do (C(remedy)).
  returned: success
  type: list
  elements: dict
  sample: [{"what": "active MTU", "why": "ibv_devinfo is not installed", "remedy": "install ibverbs-utils"}]
error_code:
  description: Class of the failure, V(refused) for a device that is not there.
  returned: failure
  type: str
"""

import platform

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._layer import failing
from ..module_utils._nic.rdma import RdmaReader
from ..module_utils._nic.transport import Sysfs


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "device": {"type": "list", "elements": "str", "default": ["auto"]},
            "gather_counters": {"type": "bool", "default": True},
            "gather_node": {"type": "bool", "default": True},
            "gather_path": {"type": "bool", "default": False},
            "tool_timeout": {"type": "int", "default": 20},
        },
        supports_check_mode=True,
    )
    options = module.params
    if options["tool_timeout"] < 1:
        module.fail_json(msg=f"{platform.node()}: tool_timeout is {options['tool_timeout']}; give a second or more.")
    with failing(module):
        boot_id = Sysfs().read("/proc/sys/kernel/random/boot_id")
        reader = RdmaReader(platform.node(), timeout=options["tool_timeout"], boot_id=boot_id)
        gather = (options[f"gather_{part}"] for part in ("counters", "node", "path"))
        module.exit_json(changed=False, **reader.read(options["device"], *gather))


if __name__ == "__main__":
    main()
