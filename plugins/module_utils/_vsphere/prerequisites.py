# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What GPUDirect between passthrough devices needs besides the peer-to-peer keys: computed, explained, never applied
by itself. Pure: no I/O.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

from .state import MMIO_SIZE_GB, NUMA_AFFINITY, NVIDIA, USE_64BIT_MMIO, PciDevice, VmState, as_bool, describe_devices

if TYPE_CHECKING:
    from .plan import VmxWanted

# Memory of data-centre GPUs in GB, by PCI device id. A GPU's memory is (nearly) the size of its largest BAR, and
# vSphere does not tell BAR sizes. Another GPU is read from its name ("A100 PCIe 40GB"), or not at all.
GPU_MEMORY_GB = {
    0x1DB1: 16,  # V100 SXM2
    0x1DB4: 16,  # V100 PCIe
    0x1DB5: 32,  # V100 SXM2
    0x1DB6: 32,  # V100 PCIe
    0x1EB8: 16,  # T4
    0x20B0: 40,  # A100 SXM4
    0x20B2: 80,  # A100 SXM4
    0x20B5: 80,  # A100 PCIe
    0x20B7: 24,  # A30
    0x20F1: 40,  # A100 PCIe
    0x2235: 48,  # A40
    0x2236: 24,  # A10
    0x26B5: 48,  # L40
    0x26B9: 48,  # L40S
    0x27B8: 24,  # L4
    0x2330: 80,  # H100 SXM5
    0x2331: 80,  # H100 PCIe
}
_MEMORY_IN_NAME = re.compile(r"\b(\d{1,4})\s?GB\b", re.IGNORECASE)


def gpu_memory_gb(device: PciDevice) -> int | None:
    if device.vendor_id == NVIDIA and device.device_id in GPU_MEMORY_GB:
        return GPU_MEMORY_GB[device.device_id]
    match = _MEMORY_IN_NAME.search(device.device_name)
    return int(match.group(1)) if match else None


def mmio_size_for(memory_gb: int) -> int:
    """The power of two that covers ``memory_gb``, doubled: 16 -> 32, 40 -> 128, 80 -> 256, 160 -> 512."""
    size = 1
    while size < memory_gb:
        size *= 2
    return size * 2


def required_mmio_gb(state: VmState) -> tuple[int | None, str]:
    """Return (size in GB or None if it cannot be computed, how it comes about)."""
    by_address = {device.address: device for device in state.host_devices}
    gpus = [d for d in state.devices if d.kind == "gpu"]
    if not gpus:
        return None, "the VM has no passthrough GPU"
    total, parts = 0, []
    for gpu in gpus:
        device = by_address.get(gpu.address)
        memory = None if device is None else gpu_memory_gb(device)
        if memory is None:
            return None, f"the memory of {describe_devices([gpu])} is not known"
        total += memory
        parts.append(f"{gpu.address} has {memory} GB")
    size = mmio_size_for(total)
    return size, f"{', '.join(parts)}: {total} GB, rounded up to a power of two and doubled"


@dataclasses.dataclass(frozen=True)
class Prerequisite:
    """One thing that must be right before the VM powers on or GPUDirect works.

    ``have`` and ``need`` as text; ``ok``: None if it cannot be told; ``why``: what happens otherwise; ``how``: the
    option that makes this module set it, or what a person has to do.
    """

    thing: str
    have: str
    need: str
    ok: bool | None
    why: str
    how: str

    def sentence(self, vm: str) -> str:
        return f"{vm}: {self.thing} is {self.have}, needed: {self.need}; {self.why} ({self.how})"


def _mmio(state: VmState) -> list[Prerequisite]:
    have = state.value(MMIO_SIZE_GB) or ""
    need, how = required_mmio_gb(state)
    ok = None if need is None else have.isdigit() and int(have) >= need
    return [
        Prerequisite(
            USE_64BIT_MMIO,
            state.value(USE_64BIT_MMIO) or "not set",
            "TRUE",
            bool(as_bool(state.value(USE_64BIT_MMIO) or "")),
            "GPUs with more than 16 GB do not fit below 4 GB, and the power-on fails in module DevicePowerOn",
            "use_64bit_mmio: true",
        ),
        Prerequisite(
            MMIO_SIZE_GB,
            have or "not set",
            "unknown" if need is None else f"at least {need}",
            ok,
            how if need is None else f"{how}; with less the power-on fails in module DevicePowerOn",
            "mmio_size_gb: auto" if need is not None else "mmio_size_gb as a number",
        ),
    ]


def checklist(state: VmState) -> list[Prerequisite]:
    """Everything that the VM's configuration must have for its passthrough devices; empty for a VM without any."""
    if not state.devices:
        return []
    gpus = [d for d in state.devices if d.kind == "gpu"]
    found = [
        Prerequisite(
            "memory reservation",
            "complete" if state.memory_reserved else "not fully reserved",
            "all guest memory reserved",
            state.memory_reserved,
            "devices write into guest memory directly, so a VM with such devices does not power on without",
            "reserve_memory: true",
        )
    ]
    if gpus:
        found.append(
            Prerequisite(
                "firmware",
                state.firmware or "unknown",
                "efi",
                state.firmware == "efi",
                "GPUs with large BARs need EFI",
                "install the guest for EFI; firmware: efi only where that was done",
            )
        )
        found += _mmio(state)
    by_address = {device.address: device for device in state.host_devices}
    for owned in state.devices:
        device = by_address.get(owned.address)
        if device is not None and device.passthru_enabled and device.passthru_active is False:
            found.append(
                Prerequisite(
                    f"passthrough of {owned.address}",
                    "enabled, not active",
                    "active",
                    False,
                    "the host hands the device over only after its next reboot",
                    "reboot the ESXi host",
                )
            )
    return found


def prerequisites(state: VmState, wanted: VmxWanted) -> list[str]:
    """Sentences about everything that is missing, after what ``wanted`` sets itself."""
    found: list[str] = []
    gpus = [d for d in state.devices if d.kind == "gpu"]
    nics = [d for d in state.devices if d.kind == "nic"]
    if wanted.allow_p2p and not (gpus and nics):
        found.append(
            "{}: peer-to-peer needs a GPU and a NIC in the VM; it has {}".format(
                state.name, describe_devices(state.devices) or "no passthrough device"
            )
        )
    set_by_us = {
        "memory reservation": wanted.reserve_memory is not None,
        "firmware": bool(wanted.firmware),
        USE_64BIT_MMIO: wanted.use_64bit_mmio is not None,
        MMIO_SIZE_GB: wanted.mmio_size_gb is not None,
    }
    found += [p.sentence(state.name) for p in checklist(state) if p.ok is False and not set_by_us.get(p.thing, False)]
    found += _numa_sentences(state, wanted)
    found += _stale_gpus(state, wanted)
    return found


def _numa_sentences(state: VmState, wanted: VmxWanted) -> list[str]:
    found: list[str] = []
    relevant = [d for d in state.devices if d.kind in ("gpu", "nic")]
    nodes = {d.numa_node for d in relevant if d.numa_node is not None}
    if len(nodes) > 1:
        found.append(f"{state.name}: GPU and NIC sit on different NUMA nodes: {describe_devices(relevant)}")
    chosen: set[str] = set()
    if wanted.numa == ("auto",):
        chosen = {str(node) for node in nodes}
    elif wanted.numa:
        chosen = set(wanted.numa)
        if nodes and not {str(node) for node in nodes} <= chosen:
            found.append(
                "{}: numa_node_affinity {} leaves out the node of its devices: {}".format(
                    state.name, ",".join(wanted.numa), describe_devices(relevant)
                )
            )
    held = [node for node in state.numa_nodes if str(node.id) in chosen]
    where = "NUMA node {}".format(",".join(str(node.id) for node in held))
    cores, memory = sum(node.cores or node.cpus for node in held), sum(node.memory_mb for node in held)
    if held and cores and state.cpus > cores:
        found.append(
            f"{state.name}: {state.cpus} vCPUs are more than the {cores} cores of {where}; {NUMA_AFFINITY} makes them "
            "share these"
        )
    if held and memory and state.memory_mb > memory:
        found.append(
            f"{state.name}: {state.memory_mb} MB do not fit into the {memory} MB of {where}; part of the memory will "
            "be remote"
        )
    if wanted.numa and state.cpu_hot_add:
        found.append(
            f"{state.name}: CPU hot add is on, which hides the NUMA nodes from the guest; switch it off for a VM that "
            "spans or is bound to nodes"
        )
    return found


def _stale_gpus(state: VmState, wanted: VmxWanted) -> list[str]:
    """PCI addresses belong to one host: after a cold migration or a card swap the file may name somebody else's."""
    gpus = {device.address for device in state.host_devices if device.vendor_id == NVIDIA}
    if not gpus:
        return []
    ours = {f"pcipassthru{index}.cfg.gpu-pci-id" for index in wanted.gpu_pci_ids}
    return [
        f"{state.name}: {key} names {address}, which is no NVIDIA GPU of its present host {state.host} "
        f"(there: {', '.join(sorted(gpus))}); correct it with gpu_pci_ids"
        for key, address in sorted(state.gpu_keys().items())
        if address not in gpus and key.lower() not in ours
    ]


def as_results(state: VmState) -> list[dict[str, Any]]:
    return [dataclasses.asdict(prerequisite) for prerequisite in checklist(state)]
