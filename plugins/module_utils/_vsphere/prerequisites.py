"""What GPUDirect between passthrough devices needs besides the peer-to-peer keys: computed, explained, never applied
by itself. Pure: no I/O.
"""

from __future__ import annotations

import dataclasses
from typing import Iterator

from .computed import alone, required_mmio_gb
from .devices import is_split, physical_gpu
from .keys import ABSENT, MMIO_SIZE_GB, NUMA_AFFINITY, USE_64BIT_MMIO, VmxWanted, gpu_key
from .state import NVIDIA, as_bool, pci_address
from .vm_state import VmState, describe_devices


@dataclasses.dataclass(frozen=True)
class Prerequisite:
    """One thing that must be right before the VM powers on or GPUDirect works.

    ``have`` and ``need`` as text; ``ok``: None if it is unknown; ``why``: what happens otherwise; ``how``: the
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


def _mmio(state: VmState) -> Iterator[Prerequisite]:
    have = state.value(MMIO_SIZE_GB) or ""
    need, how = required_mmio_gb(state)
    yield Prerequisite(
        USE_64BIT_MMIO,
        state.value(USE_64BIT_MMIO) or "not set",
        "TRUE",
        bool(as_bool(state.value(USE_64BIT_MMIO) or "")),
        "GPUs with more than 16 GB do not fit below 4 GB, and the power-on fails in module DevicePowerOn",
        "use_64bit_mmio: true",
    )
    yield Prerequisite(
        MMIO_SIZE_GB,
        have or "not set",
        "unknown" if need is None else f"at least {need}",
        None if need is None else have.isdigit() and int(have) >= need,
        how if need is None else f"{how}; with less the power-on fails in module DevicePowerOn",
        "mmio_size_gb: auto" if need is not None else "mmio_size_gb as a number",
    )


def checklist(state: VmState) -> Iterator[Prerequisite]:
    """Everything that the VM's configuration must have for its passthrough devices; empty for a VM without any."""
    if not state.devices:
        return
    yield Prerequisite(
        "memory reservation",
        "complete" if state.all_memory_reserved else "not fully reserved",
        "all guest memory reserved",
        state.all_memory_reserved,
        "devices write into guest memory directly, so a VM with such devices does not power on without",
        "reserve_memory: true",
    )
    if any(device.kind == "gpu" for device in state.devices):
        yield Prerequisite(
            "firmware",
            state.firmware or "unknown",
            "efi",
            state.firmware == "efi",
            "GPUs with large BARs need EFI",
            "install the guest for EFI; firmware: efi only where that was done",
        )
        yield from _mmio(state)
    by_address = {device.address: device for device in state.host_devices}
    for owned in state.devices:
        device = by_address.get(owned.address)
        if device is not None and device.passthru_enabled and device.passthru_active is False:
            yield Prerequisite(
                f"passthrough of {owned.address}",
                "enabled, not active",
                "active",
                False,
                "the host hands the device over only after its next reboot",
                "reboot the ESXi host",
            )


def prerequisites(state: VmState, wanted: VmxWanted) -> list[str]:
    """Sentences about everything that is missing, after what ``wanted`` sets itself."""
    found: list[str] = []
    if wanted.allow_p2p and not {"gpu", "nic"} <= {device.kind for device in state.devices}:
        has = describe_devices(state.devices) or "no passthrough device"
        found.append(f"{state.name}: peer-to-peer needs a GPU and a NIC in the VM; it has {has}")
    set_by_us = {
        "memory reservation": wanted.reserve_memory is True,
        "firmware": bool(wanted.firmware),
        USE_64BIT_MMIO: wanted.use_64bit_mmio is True,
        MMIO_SIZE_GB: wanted.mmio_size_gb is not None,
    }
    found += [p.sentence(state.name) for p in checklist(state) if p.ok is False and not set_by_us.get(p.thing, False)]
    others = (*_numa_sentences(state, wanted), *_stale_gpus(state, wanted), *_whole_gpus(state, wanted))
    return [*found, *(f"{state.name}: {text}" for text in others)]


def _numa_sentences(state: VmState, wanted: VmxWanted) -> Iterator[str]:
    relevant = [d for d in state.devices if d.kind in ("gpu", "nic")]
    nodes = {d.numa_node for d in relevant if d.numa_node is not None}
    devices = describe_devices(relevant)
    if alone({d: {d.numa_node} for d in relevant}):
        yield f"GPU and NIC sit on different NUMA nodes: {devices}"
    chosen = set(wanted.numa or ()) - {ABSENT}
    if chosen and nodes and not {str(node) for node in nodes} <= chosen:
        yield f"numa_node_affinity {','.join(sorted(chosen))} leaves out the node of its devices: {devices}"
    held = [node for node in state.numa_nodes if str(node.id) in chosen]
    where = "NUMA node {}".format(",".join(str(node.id) for node in held))
    cores, memory = sum(node.cores or node.cpus for node in held), sum(node.memory_mb for node in held)
    if held and cores and state.cpus > cores:
        yield f"{state.cpus} vCPUs are more than the {cores} cores of {where}; {NUMA_AFFINITY} makes them share these"
    if held and memory and state.memory_mb > memory:
        yield f"{state.memory_mb} MB do not fit into the {memory} MB of {where}; part of the memory will be remote"
    if chosen and state.cpu_hot_add:
        yield (
            "CPU hot add is on, which hides the NUMA nodes from the guest; switch it off for a VM that spans or is "
            "bound to nodes"
        )


def _stale_gpus(state: VmState, wanted: VmxWanted) -> Iterator[str]:
    """PCI addresses belong to one host: after a cold migration or a card swap the file may name another VM's."""
    gpus = {device.address for device in state.host_devices if device.vendor_id == NVIDIA}
    ours = {gpu_key(index).lower() for index in wanted.gpu_pci_ids}
    for key, address in sorted(state.gpu_keys().items()) if gpus else ():
        if key.lower() not in ours and not _is_gpu(state, address):
            yield (
                f"{key} names {address}, which is no NVIDIA GPU of its present host {state.host} "
                f"(there: {', '.join(sorted(gpus))}); correct it with gpu_pci_ids"
            )


def _is_gpu(state: VmState, address: str) -> bool:
    device = physical_gpu(state.host_devices, address)
    return device is not None and device.vendor_id == NVIDIA


def _whole_gpus(state: VmState, wanted: VmxWanted) -> Iterator[str]:
    """NVIDIA's guide: "If the GPU is in SR-IOV mode, you should specify a VF address"."""
    for index, address in sorted(wanted.gpu_pci_ids.items()):
        device = physical_gpu(state.host_devices, pci_address(address)) if address else None
        if device is not None and device.address == pci_address(address) and is_split(device):
            yield (
                f"{gpu_key(index)} names {address}, a GPU in SR-IOV mode as a whole; NVIDIA's guide asks for the "
                "address of one of its virtual functions then"
            )
