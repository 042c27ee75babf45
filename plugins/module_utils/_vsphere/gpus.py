"""How much memory a GPU has, and how much 64-bit MMIO space that takes. Pure.

A GPU's memory is (nearly) the size of its largest BAR, and vSphere does not tell BAR sizes.
"""

from __future__ import annotations

import re

from .state import NVIDIA, PciDevice

# PCI device id -> memory in GB. Device ids: README of NVIDIA's open-gpu-kernel-modules ("Compatible GPUs") and the
# pci.ids database. Sizes: the product's name there, NVIDIA's MIG user guide ("Supported GPUs"), its data sheets.
GPU_MEMORY_GB = {
    0x1DB1: 16,  # V100 SXM2
    0x1DB4: 16,  # V100 PCIe
    0x1DB5: 32,  # V100 SXM2
    0x1DB6: 32,  # V100 PCIe
    0x1EB8: 16,  # T4
    0x20B0: 40,  # A100 SXM4
    0x20B2: 80,  # A100 SXM4
    0x20B3: 64,  # A100 SXM, 64 GB
    0x20B5: 80,  # A100 PCIe
    0x20B7: 24,  # A30
    0x20BD: 40,  # A800 SXM4
    0x20F1: 40,  # A100 PCIe
    0x20F3: 80,  # A800 SXM4
    0x20F5: 80,  # A800 PCIe
    0x20F6: 40,  # A800 Active
    0x2230: 48,  # RTX A6000
    0x2235: 48,  # A40
    0x2236: 24,  # A10
    0x2237: 24,  # A10G
    0x25B6: 16,  # A16 (each of its four GPUs) and A2
    0x2321: 94,  # H100 NVL
    0x2322: 80,  # H800 PCIe
    0x2324: 80,  # H800 SXM5
    0x2329: 96,  # H20
    0x2330: 80,  # H100 SXM5
    0x2331: 80,  # H100 PCIe
    0x2335: 141,  # H200 SXM
    0x233A: 94,  # H800 NVL
    0x233B: 141,  # H200 NVL
    0x2342: 96,  # GH200; "120GB" and "480GB" in its names are the memory of the CPU
    0x26B1: 48,  # RTX 6000 Ada
    0x26B5: 48,  # L40
    0x26B8: 24,  # L40G
    0x26B9: 48,  # L40S
    0x26BA: 48,  # L20
    0x27B8: 24,  # L4
    0x2901: 180,  # B200
    0x2909: 168,  # HGX B200, 168 GB
    0x2941: 192,  # GB200
    0x2BB5: 96,  # RTX PRO 6000 Blackwell Server Edition
    0x3182: 288,  # B300 SXM6; its BAR is 512 GB
    0x31C2: 288,  # GB300
    0x31C3: 288,  # GB300
}
_MEMORY_IN_NAME = re.compile(r"\b(\d{1,4})\s?GB\b", re.IGNORECASE)


def gpu_memory_gb(device: PciDevice) -> int | None:
    """The table first: a name may speak of other memory than the GPU's own."""
    if device.vendor_id == NVIDIA and device.device_id in GPU_MEMORY_GB:
        return GPU_MEMORY_GB[device.device_id]
    match = _MEMORY_IN_NAME.search(device.device_name)
    return int(match.group(1)) if match else None


def mmio_size_for(memory_gb: int) -> int:
    """The power of two that covers ``memory_gb``, doubled: 16 -> 32, 40 -> 128, 80 -> 256, 160 -> 512."""
    return 2 << (memory_gb - 1).bit_length()
