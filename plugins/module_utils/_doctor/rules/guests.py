# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual machines with passthrough devices: QEMU, libvirt, cloud-hypervisor, Proxmox, vSphere. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, FACT, rule, sign

SIGNS = (
    # QEMU: hw/vfio/container.c, listener.c; cloud-hypervisor: vfio-ioctls.
    sign(
        "vfio_map",
        r"vfio_(?:container_)?dma_map\b.*= -\d+|VFIO_MAP_DMA failed|\bVfioDmaMap\b"
        r"|memory listener initiali[sz]ation failed"
        r"|vfio_pin_pages_remote|IOMMU_IOAS_MAP failed",
    ),
    # QEMU: util/oslib-posix.c, softmmu/physmem.c.
    sign(
        "guest_ram",
        r"unable to map backing store for guest RAM|cannot set up guest memory|Insufficient free host memory pages"
        r"|locking memory failed|failed to (?:mlock|lock) .{0,20}(?:guest|memory)"
        r"|preallocat\w+ .{0,20}(?:guest )?memory.{0,20}fail"
        r"|can't open backing store .*hugepages|not enough (?:huge ?pages|hugepage memory)"
        r"|hugepages?-\S+ .*Insufficient"
        r"|Insufficient hugepages",
    ),
    # QEMU: hw/vfio/pci.c; kernel: drivers/vfio, drivers/pci/pci.c.
    sign(
        "vfio_device",
        r"vfio: Unable to power on device|Unable to power on device, stuck in D3|no available reset mechanism"
        r"|depends on group \d+ which is not owned|failed to open /dev/vfio/\S*|error getting device from group"
        r"|failed to get (?:device|group) \d+|Cannot open iommu_group|no iommu_group (?:found|for device)"
        r"|has no IOMMU group"
        r"|failed to set iommu for container|No interrupt remapping support|allow_unsafe_interrupts"
        r"|Failed to bind PCI device|PCI device \S+ is in use by driver|not support passthrough of host PCI devices"
        r"|Non-endpoint PCI devices cannot be assigned|PCI device \S+ .{0,20}already in use by VMID|IOMMU not present"
        r"|ineligible for IOMMU domain attach|requested this device have a 1:1 IOMMU mapping"
        r"|BAR \d+: can't reserve \[mem|stuck in D3\b|Failed to mmap .*BAR"
        r"|atombios stuck in loop|vfio-pci .*(?:probe|binding).*fail|failed to add (?:device )?to (?:vfio )?group",
    ),
    sign(
        "device_asleep",
        r"not ready \d+ms after (?:resume|FLR|bus reset|PM D3hot->D0 transition|\w+ reset|\w+); giving up"
        r"|Unable to change power state from D3(?:cold|hot) to D0|Refused to change power state, currently in D3"
        r"|device inaccessible|Timed out waiting for pending transaction",
    ),
    # Firmware of a guest and its hypervisor: room for the BARs.
    sign(
        "guest_window",
        r"failed allocating new MMIO range|Failed moving device BAR|Address space limit 0x\w+ < 0x|phys-bits too low"
        r"|(?:HighMemoryMappedIoSpace|LowMemoryMappedIoSpace|X-PciMmio64Mb|pci-hole64-size|pciHole)"
        r"|Some PCI device resources are unassigned|PciBus: .*(?:out of resources|not enough)"
        r"|aperture .{0,40}(?:too small|exhaust)"
        r"|ACPI motherboard layout requires EFI|BAR\d? .{0,30}(?:larger|bigger) than .{0,20}(?:window|aperture|hole)",
    ),
    sign(
        "guest_large_gpu",
        r"(?:more than|over|>=?) ?16 ?GB? of (?:video |GPU )?memory|firmware\s*=?\s*\"?bios\"?|large BAR|high[- ]VRAM",
        FACT,
    ),
    # vSphere: what keeps a passthrough device or network adapter from a VM.
    sign(
        "directpath_memory",
        r"vmNptInsufficientMemoryReservation|\bmemory hot(?:-| )?(?:add|plug).{0,60}(?:passthrough|passthru|PCI)",
    ),
    sign(
        "directpath_vm",
        r"vmNpt(?!Insufficient)[A-Z]\w+|Failed to find a suitable device for pciPassthru"
        r"|No device is available for pciPassthru"
        r"|devices? \(pciPassthru\d+\) required by VM|One or more devices .{0,40}required by"
        r"|uses backing .{0,60}not accessible"
        r"|Could not (?:find|get) .{0,30}assignable|assignable hardware.{0,60}(?:fail|not|insufficient)"
        r"|AH .{0,40}(?:fail\w*|no suitable)|virtual function .{0,40}(?:not available|exhausted|in use)",
    ),
    sign(
        "directpath_host",
        r"hostNpt[A-Z]\w+|Enabled / Needs reboot|(?:passthrough|passthru) .{0,40}(?:needs?|requires?"
        r"|pending) (?:a )?(?:host )?reboot"
        r"|reboot .{0,30}(?:passthrough|passthru) (?:changes|configuration)|host does not support (?:passthrough"
        r"|passthru)",
    ),
    # vSphere and NVIDIA vGPU: resources of the GPU or its host driver.
    sign(
        "vgpu_host",
        r"Could not initialize plugin .*libnvidia-vgx|amount of graphics resource available .*insufficient"
        r"|Insufficient .{0,20}graphics resources?|vmiop_log: .*(?:error|fail)",
    ),
)

RULES = (
    rule(
        "vfio_map",
        "vfio_map",
        CANDIDATE,
        "memory_reservation memlock_host passthrough_device mmio_window",
        "kernel: drivers/vfio/vfio_iommu_type1.c: all memory of a guest is pinned (limit, memory), BARs have to "
        "fit the IOMMU",
    ),
    rule(
        "guest_ram",
        "guest_ram",
        CANDIDATE,
        "memory_reservation limits_host",
        "QEMU source: the host does not give the memory or huge pages that the guest is to have",
    ),
    rule(
        "vfio_device",
        "vfio_device",
        CANDIDATE,
        "passthrough_device numa_bios_setting gpu_fault",
        "QEMU source: hw/vfio/pci.c; kernel: drivers/vfio; libvirt: host device management",
    ),
    rule(
        "device_asleep",
        "device_asleep",
        CANDIDATE,
        "passthrough_device gpu_fault driver_bug",
        "kernel: drivers/pci/pci.c: the device does not come back from a reset or a sleep",
    ),
    rule(
        "guest_window",
        "guest_window",
        CANDIDATE,
        "mmio_window passthrough_device numa_bios_setting",
        "OVMF: 64-bit PCI aperture; kernel: drivers/pci/setup-bus.c; Hyper-V: discrete device assignment",
    ),
    rule(
        "power_on_large",
        "device_power_on guest_large_gpu",
        CANDIDATE,
        "mmio_window",
        "Broadcom KB 323402: BARs of more than 16 GB need EFI and the 64-bit window",
    ),
    rule(
        "directpath_memory",
        "directpath_memory",
        CANDIDATE,
        "memory_reservation",
        "vSphere API: VirtualMachineDeviceRuntimeInfo, reasons why DirectPath is not active",
    ),
    rule(
        "directpath_vm",
        "directpath_vm",
        CANDIDATE,
        "passthrough_device esxi_setting",
        "vSphere API: VirtualMachineDeviceRuntimeInfo; VMware: assignable hardware",
    ),
    rule(
        "directpath_host",
        "directpath_host",
        CANDIDATE,
        "esxi_setting passthrough_device",
        "vSphere API: HostPciPassthruInfo, host reasons why DirectPath is not active",
    ),
    rule(
        "vgpu_host",
        "vgpu_host",
        CANDIDATE,
        "driver_not_running passthrough_device esxi_setting",
        "NVIDIA vGPU user guide: troubleshooting on vSphere",
    ),
)
