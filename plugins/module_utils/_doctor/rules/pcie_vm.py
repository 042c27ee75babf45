# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCIe peer-to-peer, and what a VM and its ESXi host have to do with it. Pure data."""

from __future__ import annotations

import re
from typing import Match

from ..model import CANDIDATE, ECHO, FACT, GOOD, LIKELY, PROVEN, rule, sign

_NCCL = "NCCL documentation: troubleshooting, PCI Access Control Services"


# "no ACS enabled", "whether ACS is on": what lspci prints needs no such care.
_DENIED = re.compile(r"\b(?:no|not|never|without|if|whether|check\w*|sure)\b[^.;]{0,40}$", re.IGNORECASE)


def _said(match: Match[str]) -> bool:
    return "ACSCtl" in match.group() or not _DENIED.search(match.string[: match.end()])


def _exceeds(match: Match[str]) -> bool:
    return int(match["needed"]) > int(match["limit"])


SIGNS = (
    sign(
        "acs_redirect",
        r"ACSCtl:.*(?:ReqRedir\+|CmpltRedir\+|UpstreamFwd\+).*DirectTrans-|ACS (?:is |was "
        r"|still )?(?:enabled|on)\b|PCI.{0,30}ACS .{0,20}enabled",
        test=_said,
    ),
    sign(
        "acs_mention",
        r"\bACS\b.*(?:disabl\w+|setpci|override|redirect\w*|missing|setting)|pcie_acs_override"
        r"|disable.{0,10}\bACS\b|setpci.*f2a",
        FACT,
    ),
    sign("acs_vm_good", r"ACSCtl:.*ReqRedir\+ CmpltRedir\+ UpstreamFwd\+.*DirectTrans\+", GOOD),
    sign("acs_off", r"ACSCtl:\s+SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-", GOOD),
    sign("ats_off", r"ATSCtl:\s*Enable-", FACT),
    sign("ats_on", r"ATSCtl:\s*Enable\+", GOOD),
    sign("ats_mention", r"\bATS\b.*(?:enabl\w+|support\w*|disabl\w+|off\b|not\b)|\batsSupport\b", FACT),
    sign(
        "esxi_ats_off",
        r"\batsSupport\b\s+\S+\s+(?:TRUE|FALSE)\s+FALSE\b|atsSupport.*(?:=|:)\s*FALSE"
        r"|atsSupport\s+Bool\s+(?:TRUE|FALSE)\s+FALSE",
    ),
    sign(
        "iommu_fault",
        r"DMAR:.*(?:fault|DRHD: handling fault)|AMD-Vi:.*(?:IO_PAGE_FAULT|Event logged)"
        r"|IO_PAGE_FAULT|arm-smmu.*(?:fault|event 0x)|iommu.*(?:page fault|translation fault)"
        r"|(?:PTE|Present bit).*not set.*DMA|\[fault reason",
    ),
    sign("esxi_iommu_fault", r"IOMMU Fault detected for"),
    sign(
        "iommu_on",
        r"iommu: Default domain type: Translated\b|DMAR: IOMMU enabled"
        r"|intel_iommu=on(?!.*iommu=pt)|amd_iommu=on(?!.*iommu=pt)",
        FACT,
    ),
    sign(
        "gdr_lower",
        r"GDRDMA.{0,60}(?:slower|lower|worse|half|drops?)|(?:slower|lower|worse).{0,60}(?:GDRDMA"
        r"|GDR\b|GPUDirect)|NCCL_(?:NET_GDR_LEVEL=(?:0|LOC)|IB_CUDA_SUPPORT=0).{0,60}(?:works?"
        r"|fine|ok|faster)|(?:works?|fine|faster|better).{0,60}(?:NCCL_NET_GDR_(?:LEVEL|DISABLE)"
        r"|NCCL_IB_CUDA_SUPPORT=0|without (?:GDR|GPUDirect)|GDR (?:off|disabled))|wrong (?:data"
        r"|results?).*(?:GDR|GPUDirect)|(?:p2p|peer[- ]to[- ]peer).*(?:corrupt\w*|wrong|hangs?"
        r"|fails?|invalid|zeros?)",
    ),
    sign(
        "p2p_hang",
        r"simpleP2P.*(?:fail\w*|hang\w*)|p2pBandwidthLatencyTest.*(?:fail\w*|hang\w*|low\w*)"
        r"|NCCL_P2P_DISABLE=1.{0,40}(?:works?|fine|helps?|resolves?|solves?|fixes)|(?:works?|fine"
        r"|helps?|resolves?|solves?|fixes)\b.{0,40}NCCL_P2P_DISABLE=1|P2P.*(?:DMA"
        r"|access).*(?:not supported|fail\w*)",
    ),
    sign(
        "relaxed_ordering",
        r"relaxed[- ]ordering|RELAXED_ORDERING|PCI_WR_ORDERING|(?:Emerald Rapids|Sapphire Rapids"
        r"|Granite Rapids)",
        FACT,
    ),
    sign("read_req", r"MaxReadReq (?:128|256|512) bytes", FACT),
    sign(
        "gdr_disabled",
        r"GPU Direct RDMA Disabled for GPU|GPU Direct RDMA disabled|distance \d+ > \d+"
        r"|DMA-?BUF is (?:not )?(?:available|supported).*not|no GDRDMA|GDR(?:DMA)? (?:is )?(?:0"
        r"|off|disabled|not (?:used|enabled))|without /?GDRDMA|nic not close to gpu"
        r"|GPUDirect RDMA not enabled",
    ),
    sign("gdr_disabled_hca", r"GPU Direct RDMA Disabled for HCA(?![^\n]*distance)"),
    sign("nccl_ib", r"NET/IB ?: ?(?:Using|GPU Direct)|Using network IB\b", FACT),
    sign(
        "topo_said",
        r"topolog\w+.*(?:wrong|missing|incorrect|flat|virtual|mismatch|not detected|fail\w*)"
        r"|NCCL_TOPO_FILE|(?:Could not (?:open|find)|Failed to (?:open|load|read|parse)"
        r"|XML (?:parse|import)).*(?:topo|xml)|virtualTopology\.xml|(?:PHB|SYS"
        r"|NODE) .{0,20}(?:instead of|rather than) .{0,10}(?:PIX|PXB)|NET/\d.*(?:NUMA"
        r"|different).*GPU|topo\w* (?:file|xml).*(?:not|invalid|fail)|NCCL WARN .*(?:topo|XML)"
        r"|Attribute .* of node .* not found|no (?:path|topology)|graph/(?:xml|topo|search"
        r"|paths)\.cc",
    ),
    sign("topo_gpu_nic", r"\bGPU/[0-9A-F]+.*\bNIC/|=== System : maxBw|\+ PCI\[|NVLink\[", FACT),
    sign("cpu_amd", r"\bEPYC\b|\bThreadripper\b|AMD (?:Rome|Milan|Genoa|Turin)", FACT),
    sign(
        "numa_said",
        r"\bNPS ?[0-4]\b|NUMA.{0,60}(?:cross\w*|remote|wrong|mismatch|different|node -1"
        r"|not (?:the )?same|unbalanced|affinity|bind)|(?:cross|remote|wrong|different"
        r"|other)[- ]NUMA|cross[- ]socket|QPI|UPI\b|sub-?NUMA|SNC\b|numa_balancing|xGMI"
        r"|inter-?socket",
    ),
    sign(
        "bios_said",
        r"^(?!.*\[Enabled\]).*\bBIOS\b.*(?:setting|disabled|enabled|update|above ?4G|bifurcation|SR-?IOV|profile"
        r"|power|C-?states?|determinism|option)|^(?!.*\[Enabled\]).*(?:above 4G|Resizable BAR)|SR-?IOV .*not (?:enabled"
        r"|supported) (?:by|in).*(?:BIOS|platform|system)|not enough MMIO resources"
        r"|^(?!.*(?:\bintel_pstate|amd[-_]pstate[-_]epp):).*governor.*powersave"
        r"|powersave governor|C-?states?\b.*(?:enabled|latency)|x2apic",
    ),
    sign(
        "in_vm",
        r"\bVM |\bVMs\b| VM\b|virtual machine|VMware|hypervisor|QEMU|KVM|vmxnet3|\bvSphere\b"
        r"|DirectPath|passthrough|pass through|guest\b",
        FACT,
    ),
    sign("vm_host", r"\bESXi?\b|vmkernel|esxcli|\bvmx\|", FACT),
    sign(
        "mmio_pages",
        r"total number of pages needed \((?P<needed>\d+)\) exceeds limit \((?P<limit>\d+)\)",
        test=_exceeds,
    ),
    sign(
        "mmio_said",
        r"PCIPassthru: (?:total number of pages|Failed to (?:register|map) .*MMIO"
        r"|.*exceeds limit)|64bitMMIO|use64bitMMIO|MMIO.{0,60}(?:too (?:small|large)|insufficient"
        r"|exhaust\w*|not enough|exceed\w*|window|no space|out of)|(?:insufficient|not enough"
        r"|no space for).{0,30}MMIO|no space for \[mem .*64bit",
    ),
    sign("device_power_on", r"DevicePowerOn"),
    sign(
        "nvrm_bar",
        r"PCI I/O region assigned to your NVIDIA device is invalid|BAR\d is 0M @ 0x0"
        r"|NVRM: BAR\d is|can't (?:claim|assign).*BAR|BAR \d+.*\[mem .*64bit pref\].*(?:no space"
        r"|failed|can't)",
    ),
    sign("nvrm_probe", r"NVIDIA probe routine (?:failed|was not called)", ECHO),
    sign(
        "memory_reserved",
        r"memory reservation|sched\.mem\.min|Invalid memory setting|memory.*(?:must|should|not"
        r"|fully|entirely) (?:be )?(?:fully |entirely )?reserv\w+|reserve all (?:guest )?memory"
        r"|Insufficient memory resources|Could not power on.*memory|failed to (?:reserve|allocate"
        r"|lock) .*guest memory|cannot allocate memory.*vfio|VFIO_MAP_DMA|vfio_dma_map"
        r"|vfio.*(?:-12|Cannot allocate memory)",
    ),
    sign(
        "passthrough_said",
        r"PCIPassthru: (?:Device|Failed to (?:find|open|attach|get)|device \S+ (?:is )?(?:not"
        r"|barPhysAddr)|Attempting to map|selected device)|pciPassthru\d*\.(?:id|present|deviceId"
        r"|systemId|vendorId|cfg)|(?:passthrough|pass-?through|passthru).{0,60}(?:fail\w*"
        r"|not (?:supported|available|enabled|found|configured|active)|already in use|in use by"
        r"|missing|denied|disabled|requires)|device .{0,60}(?:not (?:available"
        r"|enabled) for passthrough|is not a passthrough|already in use|owned by another)"
        r"|vfio-pci.*(?:fail\w*|not (?:viable|found)|reset|error)|group \d+ is not viable"
        r"|allowP2P|RelaxACSforP2P|No host device .*backing|backing .*(?:not (?:found|available"
        r"|valid)|invalid)|PCI passthrough device .*(?:invalid|not)|DirectPath.{0,60}(?:fail\w*"
        r"|not|unable)|pciHole|reset_method|\bFLR\b",
    ),
    sign(
        "device_not_free",
        r"is not a passthrough device|(?:device|PCIPassthru).{0,60}already in use"
        r"|not (?:available|enabled) for passthrough|owned by another|No host device .*backing",
        FACT,
    ),
    sign(
        "vmotion",
        r"(?:vMotion|migrat\w+|suspend|snapshot).{0,80}(?:passthrough|DirectPath|not (?:supported"
        r"|allowed|possible))",
        FACT,
    ),
    sign(
        "esxi_said",
        r"maintenance ?mode.{0,60}(?:fail\w*|stuck|hang\w*|cannot|not|timed|progress|entering)"
        r"|(?:entering|stuck in|failed to enter) maintenance|(?:host"
        r"|ESXi?).{0,50}(?:power (?:policy|management)|low power|balanced|lockdown"
        r"|reboot (?:required|pending|is needed)|not responding|disconnected|incompatible)|PSOD"
        r"|purple screen|lockdown mode|host is (?:low|not)|vmkernel.*(?:WARNING: PCI|ALERT)"
        r"|esxcli.*(?:fail\w*|error|denied|Unable)"
        r"|The operation is not allowed in the current state|host hardware.*not",
    ),
    sign(
        "vmx_power",
        r"vmx\|.*(?:failed|fail\b|error)|Failed to (?:power|start) (?:on )?.*(?:virtual machine"
        r"|VM)|power on failed|Power On virtual machine.*(?:fail|error)",
        ECHO,
    ),
)

RULES = (
    rule("acs_set", "acs_redirect", CANDIDATE, "acs_redirects", _NCCL),
    rule(
        "acs_set_slow",
        "acs_redirect wc_loc_prot|gdr_lower|p2p_hang",
        LIKELY,
        "acs_redirects",
        "two facts: the redirect bits, and peer-to-peer that fails or crawls",
    ),
    rule("acs_said", "acs_mention", CANDIDATE, "acs_redirects", _NCCL),
    rule("gdr_worse", "gdr_lower", CANDIDATE, "acs_redirects gdr_broken gdr_distance driver_bug", _NCCL),
    rule(
        "p2p_worse",
        "p2p_hang",
        CANDIDATE,
        "acs_redirects driver_bug numa_bios_setting",
        _NCCL + "; between GPUs of one host it is ACS, IOMMU or the driver",
    ),
    rule(
        "iommu",
        "iommu_fault",
        CANDIDATE,
        "acs_redirects passthrough_device gpu_fault",
        "kernel: an IOMMU refused an address: peer-to-peer through it, or a driver's fault",
    ),
    rule(
        "iommu_esxi",
        "esxi_iommu_fault",
        CANDIDATE,
        "driver_bug passthrough_device esxi_setting",
        "VMware: the vmkernel names device and driver whose DMA the IOMMU refused",
    ),
    rule("iommu_slow", "iommu_on slow|hang|wc_loc_prot|p2p_hang", CANDIDATE, "acs_redirects", _NCCL),
    rule(
        "ats_off_vm",
        "ats_off in_vm|vm_host",
        CANDIDATE,
        "esxi_setting acs_redirects nic_firmware_setting",
        "PCI ATS: in a VM peer-to-peer is translated; Enable- means host or NIC do not",
    ),
    rule("ats_off_slow", "ats_off slow", CANDIDATE, "acs_redirects esxi_setting nic_firmware_setting", "PCI ATS"),
    rule("ats_said", "ats_mention slow", CANDIDATE, "acs_redirects esxi_setting nic_firmware_setting", "PCI ATS"),
    rule(
        "esxi_ats_seen",
        "esxi_ats_off slow|ats_off",
        LIKELY,
        "esxi_setting",
        "two facts: Runtime FALSE, and peer-to-peer that is slow or without ATS",
        explains="ats_off",
    ),
    rule(
        "esxi_ats",
        "esxi_ats_off",
        CANDIDATE,
        "esxi_setting",
        "esxcli: Runtime FALSE is what the host runs with",
        explains="ats_off",
    ),
    rule(
        "ordering",
        "relaxed_ordering slow",
        CANDIDATE,
        "relaxed_ordering",
        "NCCL documentation, NCCL_IB_PCI_RELAXED_ORDERING",
    ),
    rule(
        "slow_vm",
        "slow in_vm",
        CANDIDATE,
        "acs_redirects relaxed_ordering gdr_distance numa_bios_setting",
        "in a VM the bridges are hidden: ACS and ATS show on the host only",
    ),
    rule(
        "slow",
        "slow !in_vm",
        CANDIDATE,
        "acs_redirects gdr_distance numa_bios_setting nic_qos_differs",
        "the usual reasons for less than the link rate, cheapest look first",
    ),
    rule(
        "gdr_disabled",
        "gdr_disabled",
        CANDIDATE,
        "gdr_distance peermem_missing gdr_broken",
        "NCCL source: src/graph/paths.cc, ncclTopoCheckGdr",
    ),
    rule(
        "gdr_disabled_hca",
        "gdr_disabled_hca nccl_ib",
        CANDIDATE,
        "peermem_missing gdr_broken gdr_distance",
        "NCCL source: src/transport/net.cc asks the network whether it registers GPU memory at all",
    ),
    rule(
        "gdr_disabled_other",
        "gdr_disabled_hca !nccl_ib",
        CANDIDATE,
        "gdr_distance peermem_missing",
        "NCCL source: src/transport/net.cc",
    ),
    rule("topology", "topo_said", CANDIDATE, "gdr_distance nccl_bug", "NCCL documentation, NCCL_TOPO_FILE"),
    rule("numa", "numa_said", CANDIDATE, "numa_bios_setting gdr_distance", "remote memory costs bandwidth and latency"),
    rule(
        "epyc",
        "cpu_amd slow|numa_said",
        CANDIDATE,
        "numa_bios_setting",
        "AMD tuning guides: NPS decides how memory and PCIe are split",
    ),
    rule("bios", "bios_said", CANDIDATE, "numa_bios_setting gpu_pcie_degraded", "tuning guides of server makers"),
    rule(
        "mmio",
        "mmio_pages",
        PROVEN,
        "mmio_window",
        "the line holds both figures; Broadcom KB 323402",
        explains="device_power_on vmx_power nvrm_probe mmio_said passthrough_said in_vm",
    ),
    rule("mmio_said", "mmio_said", CANDIDATE, "mmio_window numa_bios_setting", "Broadcom KB 323402"),
    rule(
        "power_on",
        "device_power_on !memory_reserved|device_not_free",
        CANDIDATE,
        "mmio_window passthrough_device memory_reservation",
        "Broadcom KB 323402: DevicePowerOn, whatever the language",
    ),
    rule(
        "power_on_memory",
        "device_power_on|vmx_power memory_reserved",
        CANDIDATE,
        "memory_reservation",
        "VMware: passthrough needs all memory reserved",
    ),
    rule(
        "power_on_device",
        "device_power_on|vmx_power device_not_free",
        CANDIDATE,
        "passthrough_device",
        "VMware: DirectPath I/O; which device cannot be given is the cause, DevicePowerOn only follows",
    ),
    rule(
        "bars",
        "nvrm_bar",
        CANDIDATE,
        "mmio_window numa_bios_setting",
        "NVIDIA driver README: BARs without an address; in a VM the window, on metal Above 4G Decoding",
    ),
    rule(
        "bars_vm",
        "nvrm_bar|mmio_said in_vm|vm_host",
        CANDIDATE,
        "mmio_window",
        "a VM's firmware gives BARs room in its 64-bit window only",
    ),
    rule(
        "probe", "nvrm_probe !nvrm_bar", CANDIDATE, "driver_not_running mmio_window gpu_fault", "NVIDIA driver README"
    ),
    rule(
        "reservation",
        "memory_reserved",
        CANDIDATE,
        "memory_reservation",
        "VMware: DirectPath I/O requirements; vfio pins all of a guest's memory",
    ),
    rule(
        "passthrough",
        "passthrough_said",
        CANDIDATE,
        "passthrough_device mmio_window",
        "VMware: DirectPath I/O; kernel: vfio",
    ),
    rule("esxi", "esxi_said", CANDIDATE, "esxi_setting passthrough_device", "VMware documentation"),
    rule(
        "vm_power",
        "vmx_power !device_power_on|memory_reserved|mmio_said|passthrough_said",
        CANDIDATE,
        "passthrough_device mmio_window memory_reservation",
        "VMware documentation",
    ),
)
