"""The keys and fields of a VM that this collection may write, and what a caller can want of them. Pure."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Mapping

ALLOW_P2P = "pciPassthru.allowP2P"
RELAX_ACS = "pciPassthru.RelaxACSforP2P"
USE_64BIT_MMIO = "pciPassthru.use64bitMMIO"
MMIO_SIZE_GB = "pciPassthru.64bitMMIOSizeGB"
NUMA_AFFINITY = "numa.nodeAffinity"
# Option and field of the keys that are true or false.
TRUTHS = {"allow_p2p": ALLOW_P2P, "relax_acs": RELAX_ACS, "use_64bit_mmio": USE_64BIT_MMIO}
# Options whose key can be removed from the VM's file by their name; the others say so themselves.
REMOVABLE = {**TRUTHS, "mmio_size_gb": MMIO_SIZE_GB}
GPU_KEY = re.compile(r"^pciPassthru(\d{1,3})\.cfg\.gpu-pci-id$", re.IGNORECASE)

# The only keys that this collection ever writes. hostd keeps keys of its own beside them, some with the same prefixes.
OWNED_KEYS = frozenset(key.lower() for key in (*TRUTHS.values(), MMIO_SIZE_GB, NUMA_AFFINITY))
MEMORY_FIELD, RESERVATION_FIELD, FIRMWARE_FIELD = (
    "memoryReservationLockedToMax",
    "memoryAllocation.reservation",
    "firmware",
)

AUTO, ABSENT = "auto", "absent"

# Passthrough devices of one VM, from Broadcom KB 309986: by hardware version, and where one hardware version has two
# limits, by the release of the host.
DEVICES_BY_HARDWARE = ((21, 128), (20, 64), (0, 16))
MOST_DEVICES = 128


def most_devices(hardware_version: int, host_release: str) -> int:
    """How many passthrough devices such a VM may have; the largest known limit where the hardware version is not."""
    if not hardware_version:
        return MOST_DEVICES
    if hardware_version == 20 and re.match(r"8\.0\.0(\.|$)", host_release):
        return 32
    return next(limit for least, limit in DEVICES_BY_HARDWARE if hardware_version >= least)


def gpu_key(index: int) -> str:
    return f"pciPassthru{index}.cfg.gpu-pci-id"


def gpu_key_index(key: str) -> int | None:
    match = GPU_KEY.match(key)
    return None if match is None else int(match.group(1))


def is_owned(key: str) -> bool:
    index = gpu_key_index(key)
    return key.lower() in OWNED_KEYS or (index is not None and index < MOST_DEVICES)


@dataclasses.dataclass(frozen=True)
class VmxWanted:
    """What the VM's file shall say; None (for ``firmware``: empty) leaves a key alone.

    ``numa``: (AUTO,), (ABSENT,) to remove the key, or node numbers as text. ``mmio_size_gb``: a number or AUTO.
    ``reserve_memory`` and ``firmware`` are no keys but fields of the VM's configuration. ``planned_host``: managed
    object id or name of the host that ``numa`` and ``gpu_pci_ids`` were made for; "" for the VM's present host.
    ``absent``: options of `REMOVABLE` whose key is to be removed, whatever they say.
    ``plan_only``: check mode, where a forbidden power-off is shown instead of refused.
    """

    allow_p2p: bool | None = True
    relax_acs: bool | None = True
    use_64bit_mmio: bool | None = None
    mmio_size_gb: int | str | None = None
    reserve_memory: bool | None = None
    firmware: str = ""
    allow_shared_gpu: bool = False
    numa: tuple[str, ...] | None = None
    gpu_pci_ids: Mapping[int, str] = dataclasses.field(default_factory=dict)
    absent: tuple[str, ...] = ()
    planned_host: str = ""
    power_policy: str = "fail"
    final_power: str = "as_found"
    plan_only: bool = False

    def arguments(self) -> dict[str, Any]:
        """The module's own options for the same wish: what a later call needs to do exactly this."""
        return {
            **{name: getattr(self, name) for name in TRUTHS},
            "mmio_size_gb": None if self.mmio_size_gb is None else str(self.mmio_size_gb),
            "reserve_memory": self.reserve_memory,
            "firmware": self.firmware or None,
            "allow_shared_gpu": self.allow_shared_gpu,
            "absent": list(self.absent),
            "numa_node_affinity": None if self.numa is None else list(self.numa),
            "gpu_pci_ids": {str(index): address for index, address in self.gpu_pci_ids.items()},
        }
