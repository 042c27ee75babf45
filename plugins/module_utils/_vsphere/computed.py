"""What "auto" comes to for one VM on its present host. What cannot be known is left alone, with the reason. Pure."""

from __future__ import annotations

import dataclasses
from typing import Mapping

from .._layer import RefusedError
from .devices import possible_nodes
from .gpus import gpu_memory_gb, mmio_size_for
from .keys import ABSENT, AUTO, MMIO_SIZE_GB, NUMA_AFFINITY, VmxWanted, gpu_key_index
from .vm_state import VGPU, PassthroughDevice, VmState, describe_devices, device_name


def gpu_addresses(state: VmState, wanted: VmxWanted) -> dict[int, str]:
    """Number of a device -> physical GPU that the file will name for it."""
    found = {}
    for key, address in state.gpu_keys().items():
        index = gpu_key_index(key)
        if index is not None:
            found[index] = address
    return {index: address for index, address in {**found, **wanted.gpu_pci_ids}.items() if address}


def alone(nodes: Mapping[PassthroughDevice, set[int | None]]) -> list[int]:
    """Nodes with GPUs that no NIC of the VM can be near, or NICs that no GPU can be near. ``nodes``: where each of its
    GPUs and NICs may be, None among them: unknown."""
    kinds = {device.kind for device in nodes}
    certain = {node for each in nodes.values() if len(each) == 1 for node in each if node is not None}
    return sorted(
        node for node in certain if {device.kind for device, each in nodes.items() if {node, None} & each} != kinds
    )


def numa_auto(state: VmState, wanted: VmxWanted) -> tuple[str | None, str]:
    """The nodes of the VM's NICs and GPUs: a VM of a whole host has some of both on each; or None, and why they are
    not known. Raises `RefusedError` where a GPU is known to have no NIC on its node, or a NIC no GPU."""
    relevant = [d for d in state.devices if d.kind in ("gpu", "nic")]
    if not relevant:
        return None, "the VM has no passthrough NIC or GPU to derive a NUMA node from"
    named = gpu_addresses(state, wanted)
    nodes = {device: possible_nodes(state, device, named) for device in relevant}
    if alone(nodes):
        raise RefusedError(
            f"GPU and NIC sit on different NUMA nodes of host {state.host}: {describe_devices(relevant)}; "
            "traffic between them would cross the sockets, so "
            "there is no right node; nothing was changed",
            host=state.name,
            thing=NUMA_AFFINITY,
            value=AUTO,
            remedy="give the VM a GPU and a NIC of one node (esxi_pci_info lists free ones), or name the nodes "
            "yourself if the loss is acceptable",
            topology=[dataclasses.asdict(d) for d in relevant],
        )
    open_ones = [device for device, each in nodes.items() if len(each) != 1 or None in each]
    if not open_ones:
        return ",".join(sorted({str(node) for each in nodes.values() for node in each})), ""
    return None, "; ".join(_why_open(state, device, nodes[device]) for device in open_ones)


def _why_open(state: VmState, device: PassthroughDevice, nodes: set[int | None]) -> str:
    if None in nodes and not device.is_chosen_at_power_on:
        return f"host {state.host} does not say which node {device_name(device)} belongs to"
    known = sorted(node for node in nodes if node is not None)
    where = (
        f"on host {state.host} it may be on node {' or '.join(map(str, known))}" if known else "its node is not known"
    )
    return f"{device_name(device)} is decided at the next power-on, {where}"


def required_mmio_gb(state: VmState) -> tuple[int | None, str]:
    """Return (size in GB or None if it cannot be computed, how it comes about)."""
    by_address = {device.address: device for device in state.host_devices}
    gpus = [d for d in state.devices if d.kind == "gpu"]
    if not gpus:
        return None, "the VM has no passthrough GPU"
    total, parts = 0, []
    for gpu in gpus:
        if gpu.assignment == VGPU or gpu.group is not None:
            return None, f"what {device_name(gpu)} needs is not known to vSphere"
        addresses = gpu.candidates if gpu.is_chosen_at_power_on else (gpu.address,)
        sizes = {
            gpu_memory_gb(by_address[address]) if address in by_address else None for address in addresses or ("",)
        }
        if None in sizes:
            return None, f"the memory of {device_name(gpu)} is not known"
        memory = max(size for size in sizes if size is not None)
        total += memory
        parts.append(f"{gpu.address or device_name(gpu)} has {memory} GB")
    size = mmio_size_for(total)
    return size, f"{', '.join(parts)}: {total} GB, rounded up to a power of two and doubled"


def mmio_auto(state: VmState) -> tuple[str | None, str]:
    """The size in GB, or None, and why it is not known."""
    need, how = required_mmio_gb(state)
    if need is None:
        return None, how
    have = state.value(MMIO_SIZE_GB) or ""
    enough = have.isdigit() and int(have) >= need and not int(have) & (int(have) - 1)
    return have if enough else str(need), ""


@dataclasses.dataclass(frozen=True)
class Resolved:
    """``wanted`` without any "auto"; ``left_alone``: one sentence for each wish that could not be computed."""

    wanted: VmxWanted
    left_alone: tuple[str, ...] = ()


def resolve(state: VmState, wanted: VmxWanted) -> Resolved:
    left: list[str] = []
    moved = wanted.planned_host and wanted.planned_host not in (state.host_moid, state.host)
    if moved and (wanted.numa not in (None, (ABSENT,)) or wanted.gpu_pci_ids):
        left.append(
            f"{state.name}: it is on host {state.host} now, and {NUMA_AFFINITY} and GPU addresses were made for host "
            f"{wanted.planned_host}; they are left alone. Run again without planned_host to make them for {state.host}"
        )
        wanted = dataclasses.replace(wanted, numa=None, gpu_pci_ids={})
    if wanted.numa == (AUTO,):
        nodes, reason = numa_auto(state, wanted)
        if nodes is None:
            left.append(
                f"{state.name}: {NUMA_AFFINITY} is left alone: {reason}. If you know the node, name it in "
                "numa_node_affinity"
            )
        wanted = dataclasses.replace(wanted, numa=None if nodes is None else tuple(nodes.split(",")))
    if wanted.mmio_size_gb == AUTO:
        size, reason = mmio_auto(state)
        if size is None:
            left.append(
                f"{state.name}: {MMIO_SIZE_GB} is left alone: {reason}. If you know the size, give it in "
                "mmio_size_gb: the memory of all GPUs of the VM, rounded up to a power of two, and doubled"
            )
        wanted = dataclasses.replace(wanted, mmio_size_gb=size)
    return Resolved(wanted, tuple(left))
