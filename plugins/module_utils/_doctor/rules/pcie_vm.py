# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCIe peer-to-peer, and what a VM and its ESXi host have to do with it. Pure data.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

from typing import Match

from ..model import CANDIDATE, ECHO, FACT, LIKELY, PROVEN, Cause, rule, sign

_NCCL = "NCCL documentation: troubleshooting, PCI Access Control Services"


def _exceeds(match: Match[str]) -> bool:
    return int(match["needed"]) > int(match["limit"])


CAUSES = (
    Cause("acs_redirects", "pcie_acs", "PCIe peer-to-peer between GPU and NIC is redirected or translated on its way (ACS, IOMMU, ATS), so it fails or crawls.",
          "on the physical host (of a VM: on the ESXi host)", "lspci -vvv | grep -E '^[0-9a-f]|ACSCtl|ATSCtl' (ESXi: lspci -v; esxcli system settings kernel list -o atsSupport); then one run with NCCL_NET_GDR_LEVEL=LOC",
          "bare metal: ACS off on the bridges of the path, IOMMU off or pt; VM: atsSupport, allowP2P, RelaxACSforP2P, ATS_ENABLED", _NCCL, role="esxi_host", cost=2, interrupts="bare metal: nothing, until the next boot; VM: the host"),
    Cause("relaxed_ordering", "pcie_acs", "PCIe writes are strictly ordered where relaxed ordering is needed for speed (VMs with ATS, some Intel and AMD hosts).",
          "where the job runs", "NCCL log: [RO]; echo $NCCL_IB_PCI_RELAXED_ORDERING $UCX_IB_PCI_RELAXED_ORDERING; mlxconfig -e query PCI_WR_ORDERING; one run each way",
          "NCCL_IB_PCI_RELAXED_ORDERING=1 (UCX_IB_PCI_RELAXED_ORDERING=y)", "NCCL documentation, NCCL_IB_PCI_RELAXED_ORDERING", cost=3),
    Cause("gdr_broken", "guest_driver", "GPUDirect RDMA is tried and fails: peer memory module or DMA-BUF of driver and NIC do not fit.",
          "on the host that complains", "lsmod | grep -E 'peermem|nv_peer'; dmesg | grep -iE 'peermem|dmabuf'; one run with NCCL_NET_GDR_LEVEL=LOC",
          "load nvidia_peermem built for this OFED, or use DMA-BUF (open driver, kernel >= 5.12)", "NVIDIA GPUDirect RDMA documentation", role="guest", cost=3, interrupts="nothing"),
    Cause("gdr_distance", "topology", "NCCL thinks GPU and NIC too far apart for GPUDirect RDMA, or picks NICs badly: the PCIe tree that it sees (in a VM: flat) is not the real one.",
          "where the job runs", "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH: GPU Direct RDMA Disabled/Enabled, distance; NCCL_TOPO_DUMP_FILE; nvidia-smi topo -m",
          "NCCL_TOPO_FILE with the real tree, or NCCL_NET_GDR_LEVEL=PHB|SYS after a comparison", "NCCL documentation, NCCL_NET_GDR_LEVEL, NCCL_TOPO_FILE", role="run", cost=3),
    Cause("numa_bios_setting", "numa_bios", "Memory, cores, GPU and NIC are not on the same NUMA node, or the BIOS decides against it (NPS, sub-NUMA, above-4G decoding, power profile).",
          "on the physical host", "numactl -H; nvidia-smi topo -m; lstopo; cpupower frequency-info; BIOS: NPS, Above 4G Decoding, SR-IOV",
          "bind ranks to the node of their GPU and NIC; set the BIOS in a window", "AMD and Intel tuning guides for NICs and GPUs", cost=2, interrupts="the host"),
    Cause("mmio_window", "vm_mmio", "The 64-bit MMIO window of the VM is off or smaller than the memory of its passthrough GPUs.",
          "on the ESXi host", "grep -E 'PCIPassthru|MMIO|DevicePowerOn' vmware.log; vim-cmd vmsvc/get.config VMID | grep -i mmio",
          "pciPassthru.use64bitMMIO=TRUE and pciPassthru.64bitMMIOSizeGB: twice the GPUs' memory, as power of two; EFI firmware", "Broadcom KB 323402 (2142307)", role="gpu_vm", cost=2, interrupts="the VM"),
    Cause("memory_reservation", "vm_memory", "A VM with passthrough devices needs its whole memory reserved, and it is not (or the host cannot give it).",
          "on the ESXi host", "grep -iE 'sched.mem|reservation' VM.vmx vmware.log; esxtop memory", "reserve all guest memory; no hot add; enough free memory on the host", "VMware: DirectPath I/O requirements", role="gpu_vm", cost=2, interrupts="the VM"),
    Cause("passthrough_device", "vm_passthrough", "The passthrough device of the VM is not what the host offers: other address, not enabled for passthrough, taken by another VM, P2P keys missing.",
          "on the ESXi host", "esxcli hardware pci pcipassthru list; grep -i pciPassthru VM.vmx; tail vmware.log vmkernel.log", "enable passthrough, attach the device again, allowP2P and RelaxACSforP2P", "VMware: DirectPath I/O", role="gpu_vm", cost=2, interrupts="the VM"),
    Cause("esxi_setting", "esxi_host", "A setting or state of the ESXi host: atsSupport, maintenance mode, power policy, lockdown, pending reboot.",
          "on the ESXi host", "esxcli system settings kernel list -o atsSupport; esxcli system maintenanceMode get; esxcli hardware power policy (host profile)", "set it, then restart the host in a window", "VMware documentation: kernel settings, maintenance mode", role="esxi_host", cost=2, interrupts="the host"),
)

SIGNS = (
    sign("acs_redirect", r"ACSCtl:.*(?:ReqRedir\+|CmpltRedir\+|UpstreamFwd\+).*DirectTrans-|ACS (?:is |was |still )?(?:enabled|on)\b|PCI.{0,30}ACS .{0,20}enabled"),
    sign("acs_mention", r"\bACS\b.*(?:disabl\w+|setpci|override|redirect\w*|missing|setting)|pcie_acs_override|disable.{0,10}\bACS\b|setpci.*f2a", FACT),
    sign("acs_vm_good", r"ACSCtl:.*ReqRedir\+ CmpltRedir\+ UpstreamFwd\+.*DirectTrans\+", "normal"),
    sign("acs_off", r"ACSCtl:\s+SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-", "normal"),
    sign("ats_off", r"ATSCtl:\s*Enable-"),
    sign("ats_on", r"ATSCtl:\s*Enable\+", "normal"),
    sign("ats_mention", r"\bATS\b.*(?:enabl\w+|support\w*|disabl\w+|off\b|not\b)|\batsSupport\b", FACT),
    sign("esxi_ats_off", r"\batsSupport\b\s+\S+\s+(?:TRUE|FALSE)\s+FALSE\b|atsSupport.*(?:=|:)\s*FALSE|atsSupport\s+Bool\s+(?:TRUE|FALSE)\s+FALSE"),
    sign("iommu_fault", r"DMAR:.*(?:fault|DRHD: handling fault)|AMD-Vi:.*(?:IO_PAGE_FAULT|Event logged)|IO_PAGE_FAULT|arm-smmu.*(?:fault|event 0x)|iommu.*(?:page fault|translation fault)|(?:PTE|Present bit).*not set.*DMA|\[fault reason"),
    sign("iommu_on", r"iommu: Default domain type: Translated\b|DMAR: IOMMU enabled|intel_iommu=on(?!.*iommu=pt)|amd_iommu=on(?!.*iommu=pt)", FACT),
    sign("gdr_lower", r"GDRDMA.{0,60}(?:slower|lower|worse|half|drops?)|(?:slower|lower|worse).{0,60}(?:GDRDMA|GDR\b|GPUDirect)|NCCL_(?:NET_GDR_LEVEL=(?:0|LOC)|IB_CUDA_SUPPORT=0).{0,60}(?:works?|fine|ok|faster)|(?:works?|fine|faster|better).{0,60}(?:NCCL_NET_GDR_(?:LEVEL|DISABLE)|NCCL_IB_CUDA_SUPPORT=0|without (?:GDR|GPUDirect)|GDR (?:off|disabled))|wrong (?:data|results?).*(?:GDR|GPUDirect)|(?:p2p|peer[- ]to[- ]peer).*(?:corrupt\w*|wrong|hangs?|fails?|invalid|zeros?)"),
    sign("p2p_hang", r"simpleP2P.*(?:fail\w*|hang\w*)|p2pBandwidthLatencyTest.*(?:fail\w*|hang\w*|low\w*)|NCCL_P2P_DISABLE=1.{0,40}(?:works?|fine|helps?|resolves?|solves?|fixes)|(?:works?|fine|helps?|resolves?|solves?|fixes)\b.{0,40}NCCL_P2P_DISABLE=1|P2P.*(?:DMA|access).*(?:not supported|fail\w*)"),
    sign("relaxed_ordering", r"relaxed[- ]ordering|RELAXED_ORDERING|PCI_WR_ORDERING|(?:Emerald Rapids|Sapphire Rapids|Granite Rapids)", FACT),
    sign("read_req", r"MaxReadReq (?:128|256|512) bytes", FACT),
    sign("gdr_disabled", r"GPU Direct RDMA Disabled for (?:GPU|HCA)|GPU Direct RDMA disabled|distance \d+ > \d+|DMA-?BUF is (?:not )?(?:available|supported).*not|no GDRDMA|GDR(?:DMA)? (?:is )?(?:0|off|disabled|not (?:used|enabled))|without /?GDRDMA|nic not close to gpu|GPUDirect RDMA not enabled"),
    sign("topo_said", r"topolog\w+.*(?:wrong|missing|incorrect|flat|virtual|mismatch|not detected|fail\w*)|NCCL_TOPO_FILE|(?:Could not (?:open|find)|Failed to (?:open|load|read|parse)|XML (?:parse|import)).*(?:topo|xml)|virtualTopology\.xml|(?:PHB|SYS|NODE) .{0,20}(?:instead of|rather than) .{0,10}(?:PIX|PXB)|NET/\d.*(?:NUMA|different).*GPU|topo\w* (?:file|xml).*(?:not|invalid|fail)|NCCL WARN .*(?:topo|XML)|Attribute .* of node .* not found|no (?:path|topology)|graph/(?:xml|topo|search|paths)\.cc"),
    sign("topo_gpu_nic", r"\bGPU/[0-9A-F]+.*\bNIC/|=== System : maxBw|\+ PCI\[|NVLink\[", FACT),
    sign("cpu_amd", r"\bEPYC\b|\bThreadripper\b|AMD (?:Rome|Milan|Genoa|Turin)", FACT),
    sign("numa_said", r"\bNPS ?[0-4]\b|NUMA.{0,60}(?:cross\w*|remote|wrong|mismatch|different|node -1|not (?:the )?same|unbalanced|affinity|bind)|(?:cross|remote|wrong|different|other)[- ]NUMA|cross[- ]socket|QPI|UPI\b|sub-?NUMA|SNC\b|numa_balancing|xGMI|inter-?socket"),
    sign("bios_said", r"\bBIOS\b.*(?:setting|disabled|enabled|update|above ?4G|bifurcation|SR-?IOV|profile|power|C-?states?|determinism|option)|above 4G|Resizable BAR|SR-?IOV .*not (?:enabled|supported) (?:by|in).*(?:BIOS|platform|system)|not enough MMIO resources|BAR \d+: (?:no space|failed to assign|can't assign)|governor.*powersave|powersave governor|C-?states?\b.*(?:enabled|latency)|x2apic"),
    sign("in_vm", r"\bVM |\bVMs\b| VM\b|virtual machine|VMware|hypervisor|QEMU|KVM|vmxnet3|\bvSphere\b|DirectPath|passthrough|pass through|guest\b", FACT),
    sign("vm_host", r"\bESXi?\b|vmkernel|esxcli|\bvmx\|", FACT),
    sign("mmio_pages", r"total number of pages needed \((?P<needed>\d+)\) exceeds limit \((?P<limit>\d+)\)", test=_exceeds),
    sign("mmio_said", r"PCIPassthru: (?:total number of pages|Failed to (?:register|map) .*MMIO|.*exceeds limit)|64bitMMIO|use64bitMMIO|MMIO.{0,60}(?:too (?:small|large)|insufficient|exhaust\w*|not enough|exceed\w*|window|no space|out of)|(?:insufficient|not enough|no space for).{0,30}MMIO|no space for \[mem .*64bit"),
    sign("device_power_on", r"DevicePowerOn"),
    sign("nvrm_bar", r"PCI I/O region assigned to your NVIDIA device is invalid|BAR\d is 0M @ 0x0|NVRM: BAR\d is|can't (?:claim|assign).*BAR|BAR \d+.*\[mem .*64bit pref\].*(?:no space|failed|can't)"),
    sign("nvrm_probe", r"NVIDIA probe routine (?:failed|was not called)", ECHO),
    sign("memory_reserved", r"memory reservation|sched\.mem\.min|Invalid memory setting|memory.*(?:must|should|not|fully|entirely) (?:be )?(?:fully |entirely )?reserv\w+|reserve all (?:guest )?memory|Insufficient memory resources|Could not power on.*memory|failed to (?:reserve|allocate|lock) .*guest memory|cannot allocate memory.*vfio|VFIO_MAP_DMA|vfio_dma_map|vfio.*(?:-12|Cannot allocate memory)"),
    sign("passthrough_said", r"PCIPassthru: (?:Device|Failed to (?:find|open|attach|get)|device \S+ (?:is )?(?:not|barPhysAddr)|Attempting to map|selected device)|pciPassthru\d*\.(?:id|present|deviceId|systemId|vendorId|cfg)|(?:passthrough|pass-?through|passthru).{0,60}(?:fail\w*|not (?:supported|available|enabled|found|configured|active)|already in use|in use by|missing|denied|disabled|requires)|device .{0,60}(?:not (?:available|enabled) for passthrough|is not a passthrough|already in use|owned by another)|vfio-pci.*(?:fail\w*|not (?:viable|found)|reset|error)|group \d+ is not viable|allowP2P|RelaxACSforP2P|No host device .*backing|backing .*(?:not (?:found|available|valid)|invalid)|PCI passthrough device .*(?:invalid|not)|DirectPath.{0,60}(?:fail\w*|not|unable)|pciHole|reset_method|FLR"),
    sign("vmotion", r"(?:vMotion|migrat\w+|suspend|snapshot).{0,80}(?:passthrough|DirectPath|not (?:supported|allowed|possible))", FACT),
    sign("esxi_said", r"maintenance ?mode.{0,60}(?:fail\w*|stuck|hang\w*|cannot|not|timed|progress|entering)|(?:entering|stuck in|failed to enter) maintenance|(?:host|ESXi?).{0,50}(?:power (?:policy|management)|low power|balanced|lockdown|reboot (?:required|pending|is needed)|not responding|disconnected|incompatible)|PSOD|purple screen|lockdown mode|host is (?:low|not)|vmkernel.*(?:WARNING: PCI|ALERT)|esxcli.*(?:fail\w*|error|denied|Unable)|The operation is not allowed in the current state|host hardware.*not"),
    sign("vmx_power", r"vmx\|.*(?:failed|fail\b|error)|Failed to (?:power|start) (?:on )?.*(?:virtual machine|VM)|power on failed|Power On virtual machine.*(?:fail|error)", ECHO),
)

RULES = (
    rule("acs_set", "acs_redirect", CANDIDATE, "acs_redirects", _NCCL),
    rule("acs_set_slow", "acs_redirect wc_loc_prot|gdr_lower|p2p_hang", LIKELY, "acs_redirects", "two facts: the redirect bits, and peer-to-peer that fails or crawls"),
    rule("acs_said", "acs_mention", CANDIDATE, "acs_redirects", _NCCL),
    rule("gdr_worse", "gdr_lower", CANDIDATE, "acs_redirects gdr_broken gdr_distance driver_bug", _NCCL),
    rule("p2p_worse", "p2p_hang", CANDIDATE, "acs_redirects driver_bug numa_bios_setting", _NCCL + "; between GPUs of one host it is ACS, IOMMU or the driver"),
    rule("iommu", "iommu_fault", CANDIDATE, "acs_redirects passthrough_device gpu_fault", "kernel: an IOMMU refused an address: peer-to-peer through it, or a driver's fault"),
    rule("iommu_slow", "iommu_on slow|hang|wc_loc_prot|p2p_hang", CANDIDATE, "acs_redirects", _NCCL),
    rule("ats_off_vm", "ats_off in_vm|vm_host", CANDIDATE, "esxi_setting acs_redirects nic_firmware_setting", "PCI ATS: in a VM peer-to-peer is translated; Enable- means host or NIC do not"),
    rule("ats_off_slow", "ats_off slow", CANDIDATE, "acs_redirects esxi_setting nic_firmware_setting", "PCI ATS"),
    rule("ats_said", "ats_mention slow", CANDIDATE, "acs_redirects esxi_setting nic_firmware_setting", "PCI ATS"),
    rule("esxi_ats_seen", "esxi_ats_off slow|ats_off", LIKELY, "esxi_setting", "two facts: Runtime FALSE, and peer-to-peer that is slow or without ATS", explains="ats_off"),
    rule("esxi_ats", "esxi_ats_off", CANDIDATE, "esxi_setting", "esxcli: Runtime FALSE is what the host runs with", explains="ats_off"),
    rule("ordering", "relaxed_ordering slow", CANDIDATE, "relaxed_ordering", "NCCL documentation, NCCL_IB_PCI_RELAXED_ORDERING"),
    rule("slow_vm", "slow in_vm", CANDIDATE, "acs_redirects relaxed_ordering gdr_distance numa_bios_setting", "in a VM the bridges are hidden: ACS and ATS show on the host only"),
    rule("slow", "slow !in_vm", CANDIDATE, "acs_redirects gdr_distance numa_bios_setting nic_qos_differs", "the usual reasons for less than the link rate, cheapest look first"),
    rule("gdr_disabled", "gdr_disabled", CANDIDATE, "gdr_distance peermem_missing gdr_broken", "NCCL source: src/graph/paths.cc, ncclTopoCheckGdr"),
    rule("topology", "topo_said", CANDIDATE, "gdr_distance nccl_bug", "NCCL documentation, NCCL_TOPO_FILE"),
    rule("numa", "numa_said", CANDIDATE, "numa_bios_setting gdr_distance", "remote memory costs bandwidth and latency"),
    rule("epyc", "cpu_amd slow|numa_said", CANDIDATE, "numa_bios_setting", "AMD tuning guides: NPS decides how memory and PCIe are split"),
    rule("bios", "bios_said", CANDIDATE, "numa_bios_setting gpu_pcie_degraded", "tuning guides of server makers"),
    rule("mmio", "mmio_pages", PROVEN, "mmio_window", "the line holds both figures; Broadcom KB 323402", explains="device_power_on vmx_power nvrm_probe mmio_said passthrough_said in_vm"),
    rule("mmio_said", "mmio_said", CANDIDATE, "mmio_window numa_bios_setting", "Broadcom KB 323402"),
    rule("power_on", "device_power_on !memory_reserved", CANDIDATE, "mmio_window passthrough_device memory_reservation", "Broadcom KB 323402: DevicePowerOn, whatever the language"),
    rule("power_on_memory", "device_power_on|vmx_power memory_reserved", CANDIDATE, "memory_reservation", "VMware: passthrough needs all memory reserved"),
    rule("bars", "nvrm_bar", CANDIDATE, "mmio_window numa_bios_setting", "NVIDIA driver README: BARs without an address; in a VM the window, on metal Above 4G Decoding"),
    rule("bars_vm", "nvrm_bar|mmio_said in_vm|vm_host", CANDIDATE, "mmio_window", "a VM's firmware gives BARs room in its 64-bit window only"),
    rule("probe", "nvrm_probe !nvrm_bar", CANDIDATE, "driver_not_running mmio_window gpu_fault", "NVIDIA driver README"),
    rule("reservation", "memory_reserved", CANDIDATE, "memory_reservation", "VMware: DirectPath I/O requirements; vfio pins all of a guest's memory"),
    rule("passthrough", "passthrough_said", CANDIDATE, "passthrough_device mmio_window", "VMware: DirectPath I/O; kernel: vfio"),
    rule("esxi", "esxi_said", CANDIDATE, "esxi_setting passthrough_device", "VMware documentation"),
    rule("vm_power", "vmx_power !device_power_on|memory_reserved|mmio_said|passthrough_said", CANDIDATE, "passthrough_device mmio_window memory_reservation", "VMware documentation"),
)
