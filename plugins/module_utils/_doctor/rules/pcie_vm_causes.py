# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCIe peer-to-peer, VMs and their ESXi hosts: what may be wrong, where one looks, what puts it right. Pure data."""

from __future__ import annotations

from ..model import Cause

_NCCL = "NCCL documentation: troubleshooting, PCI Access Control Services"

CAUSES = (
    Cause(
        "acs_redirects",
        "pcie_acs",
        "PCIe peer-to-peer between GPU and NIC is redirected or translated on its way (ACS, "
        "IOMMU, ATS), so it fails or crawls.",
        "on the physical host (of a VM: on the ESXi host)",
        "lspci -vvv | grep -E '^[0-9a-f]|ACSCtl"
        "|ATSCtl' (ESXi: lspci -v; esxcli system settings kernel list -o atsSupport); then one "
        "run with NCCL_NET_GDR_LEVEL=LOC",
        "bare metal: ACS off on the bridges of the path, IOMMU off or pt; VM: atsSupport, "
        "allowP2P, RelaxACSforP2P, ATS_ENABLED",
        _NCCL,
        role="esxi_host",
        cost=2,
        interrupts="bare metal: nothing, until the next boot; VM: the host",
    ),
    Cause(
        "relaxed_ordering",
        "pcie_acs",
        "PCIe writes are strictly ordered where relaxed ordering is needed for speed (VMs with "
        "ATS, some Intel and AMD hosts).",
        "where the job runs",
        "NCCL log: [RO]; echo $NCCL_IB_PCI_RELAXED_ORDERING $UCX_IB_PCI_RELAXED_ORDERING; "
        "mlxconfig -e query PCI_WR_ORDERING; one run each way",
        "NCCL_IB_PCI_RELAXED_ORDERING=1 (UCX_IB_PCI_RELAXED_ORDERING=y)",
        "NCCL documentation, NCCL_IB_PCI_RELAXED_ORDERING",
        cost=3,
    ),
    Cause(
        "gdr_broken",
        "guest_driver",
        "GPUDirect RDMA is tried and fails: peer memory module or DMA-BUF of driver and NIC do not fit.",
        "on the host that complains",
        "lsmod | grep -E 'peermem|nv_peer'; dmesg | grep -iE 'peermem|dmabuf'; one run with NCCL_NET_GDR_LEVEL=LOC",
        "load nvidia_peermem built for this OFED, or use DMA-BUF (open driver, kernel >= 5.12)",
        "NVIDIA GPUDirect RDMA documentation",
        role="guest",
        cost=3,
        interrupts="nothing",
    ),
    Cause(
        "gdr_distance",
        "topology",
        "NCCL thinks GPU and NIC too far apart for GPUDirect RDMA, or picks NICs badly: the PCIe "
        "tree that it sees (in a VM: flat) is not the real one.",
        "where the job runs",
        "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH: GPU Direct RDMA Disabled/Enabled, distance; "
        "NCCL_TOPO_DUMP_FILE; nvidia-smi topo -m",
        "NCCL_TOPO_FILE with the real tree, or NCCL_NET_GDR_LEVEL=PHB|SYS after a comparison",
        "NCCL documentation, NCCL_NET_GDR_LEVEL, NCCL_TOPO_FILE",
        role="run",
        cost=3,
    ),
    Cause(
        "numa_bios_setting",
        "numa_bios",
        "Memory, cores, GPU and NIC are not on the same NUMA node, or the BIOS decides against "
        "it (NPS, sub-NUMA, above-4G decoding, power profile).",
        "on the physical host",
        "numactl -H; nvidia-smi topo -m; lstopo; cpupower frequency-info; BIOS: NPS, Above 4G Decoding, SR-IOV",
        "bind ranks to the node of their GPU and NIC; set the BIOS in a window",
        "AMD and Intel tuning guides for NICs and GPUs",
        cost=2,
        interrupts="the host",
    ),
    Cause(
        "mmio_window",
        "vm_mmio",
        "The 64-bit MMIO window of the VM is off or smaller than the memory of its passthrough GPUs.",
        "on the ESXi host",
        "grep -E 'PCIPassthru|MMIO|DevicePowerOn' vmware.log; vim-cmd vmsvc/get.config VMID | grep -i mmio",
        "pciPassthru.use64bitMMIO=TRUE and pciPassthru.64bitMMIOSizeGB: twice the GPUs' memory, "
        "as power of two; EFI firmware",
        "Broadcom KB 323402 (2142307)",
        role="gpu_vm",
        cost=2,
        interrupts="the VM",
    ),
    Cause(
        "memory_reservation",
        "vm_memory",
        "A VM with passthrough devices needs its whole memory reserved, and it is not (or the host cannot give it).",
        "on the ESXi host",
        "grep -iE 'sched.mem|reservation' VM.vmx vmware.log; esxtop memory",
        "reserve all guest memory; no hot add; enough free memory on the host",
        "VMware: DirectPath I/O requirements",
        role="gpu_vm",
        cost=2,
        interrupts="the VM",
    ),
    Cause(
        "passthrough_device",
        "vm_passthrough",
        "The passthrough device of the VM is not what the host offers: other address, not "
        "enabled for passthrough, taken by another VM, P2P keys missing.",
        "on the ESXi host",
        "esxcli hardware pci pcipassthru list; grep -i pciPassthru VM.vmx; tail vmware.log vmkernel.log",
        "enable passthrough, attach the device again, allowP2P and RelaxACSforP2P",
        "VMware: DirectPath I/O",
        role="gpu_vm",
        cost=2,
        interrupts="the VM",
    ),
    Cause(
        "esxi_setting",
        "esxi_host",
        "A setting or state of the ESXi host: atsSupport, maintenance mode, power policy, lockdown, pending reboot.",
        "on the ESXi host",
        "esxcli system settings kernel list -o atsSupport; esxcli system maintenanceMode get; "
        "esxcli hardware power policy (host profile)",
        "set it, then restart the host in a window",
        "VMware documentation: kernel settings, maintenance mode",
        role="esxi_host",
        cost=2,
        interrupts="the host",
    ),
)
