"""The two state files of one simulated GPU VM, and nothing else.

``nic.json`` is the flash of the physical cards, ``pci.json`` is what the hypervisor shows this VM since its last
power-on. The tools write one thing only: a parameter's ``next`` in ``nic.json``. ``current`` and ``pci.json`` belong to
whoever plays the physics. A missing ``pci.json`` means that the VM was never powered on: no device is on its bus.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Tuple

DEFAULT_DIR = "/var/lib/lab-hw"
DEFAULT_TOOL_VERSION = "4.16.1"  # the MFT that MLNX_OFED 5.2 carries

MELLANOX = "15b3"
NVIDIA = "10de"

# PCI id -> (name in the PCI id database, virtual function). Decimal of the id is the number in /dev/mst/mtNNNN.
MELLANOX_NAMES: Dict[str, Tuple[str, bool]] = {
    "1013": ("MT27700 Family [ConnectX-4]", False),
    "1014": ("MT27700 Family [ConnectX-4 Virtual Function]", True),
    "1015": ("MT27710 Family [ConnectX-4 Lx]", False),
    "1017": ("MT27800 Family [ConnectX-5]", False),
    "1018": ("MT27800 Family [ConnectX-5 Virtual Function]", True),
    "1019": ("MT28800 Family [ConnectX-5 Ex]", False),
    "101b": ("MT28908 Family [ConnectX-6]", False),
    "101c": ("MT28908 Family [ConnectX-6 Virtual Function]", True),
    "101d": ("MT2892 Family [ConnectX-6 Dx]", False),
    "101e": ("ConnectX Family mlx5Gen Virtual Function", True),
    "101f": ("MT2894 Family [ConnectX-6 Lx]", False),
    "1021": ("MT2910 Family [ConnectX-7]", False),
    "a2d6": ("MT42822 BlueField-2 integrated ConnectX-6 Dx network controller", False),
}

_BDF = re.compile(r"^(?:([0-9a-fA-F]{1,4}):)?([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})\.([0-7])$")


def full_address(text: str) -> Optional[str]:
    """``3b:00.0`` or ``0000:3b:00.0`` -> ``0000:3b:00.0``; None when it is no PCI address."""
    found = _BDF.match(text)
    if not found:
        return None
    domain, bus, slot, function = found.groups()
    return f"{int(domain or '0', 16):04x}:{int(bus, 16):02x}:{int(slot, 16):02x}.{function}"


def short_address(address: str) -> str:
    return address[5:] if address.startswith("0000:") else address


class Hardware:
    """Reads both files once; `store_next` is the only writer."""

    def __init__(self, directory: Optional[str] = None) -> None:
        self.directory = directory or os.environ.get("LAB_HW_DIR") or DEFAULT_DIR
        self.nic = self._read("nic.json")
        self.pci = self._read("pci.json")
        self.guest = self._read("guest.json")

    def _read(self, name: str) -> Dict[str, Any]:
        try:
            with open(os.path.join(self.directory, name), encoding="utf-8") as handle:
                content = json.load(handle)
        except FileNotFoundError:
            return {}
        if not isinstance(content, dict):
            raise SystemExit(f"lab: {os.path.join(self.directory, name)} is not a JSON object")
        return content

    @property
    def faults(self) -> Dict[str, Any]:
        return dict(self.nic.get("faults") or {})

    @property
    def tool_version(self) -> str:
        return str(self.faults.get("tool_version") or self.nic.get("tool_version") or DEFAULT_TOOL_VERSION)

    @property
    def functions(self) -> Dict[str, Dict[str, Any]]:
        """Every PCI function that this VM sees, by full address, in bus order."""
        functions = self.pci.get("functions") or {}
        return {address: functions[address] for address in sorted(functions)}

    @property
    def cards(self) -> List[Dict[str, Any]]:
        """The Mellanox functions that are on this VM's bus."""
        on_bus = self.functions
        return [card for card in self.nic.get("cards", []) if card["pci"] in on_bus]

    def card(self, address: str) -> Optional[Dict[str, Any]]:
        return next((card for card in self.cards if card["pci"] == address), None)

    def is_vf(self, card: Dict[str, Any]) -> bool:
        return card.get("kind") == "vf" or MELLANOX_NAMES.get(card["device_id"], ("", False))[1]

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = os.open(self.directory, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def store_next(self, address: str, values: Dict[str, int]) -> None:
        """Write ``next`` of one physical card. Functions with the same ``serial`` are one card and share the flash."""
        with self._locked():
            nic = self._read("nic.json")
            hit = next(card for card in nic["cards"] if card["pci"] == address)
            serial = hit.get("serial")
            for card in nic["cards"]:
                if card is not hit and (not serial or card.get("serial") != serial):
                    continue
                for name, value in values.items():
                    if name in card.get("params", {}):
                        card["params"][name]["next"] = value
            self._replace("nic.json", nic)

    def _replace(self, name: str, content: Dict[str, Any]) -> None:
        target = os.path.join(self.directory, name)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=self.directory)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
                json.dump(content, handle, indent=1)
                handle.write("\n")
                handle.flush()
                os.fsync(handle.fileno())
            # The physics outside the node may run as another user: mkstemp's 0600 and root would lock it out.
            before = os.stat(target)
            os.chmod(temporary, before.st_mode & 0o777)
            with contextlib.suppress(PermissionError):
                os.chown(temporary, before.st_uid, before.st_gid)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


def is_root() -> bool:
    return os.geteuid() == 0


def device_guid(card: Dict[str, Any]) -> str:
    """A stable 16-digit GUID for one card: real ones are burnt in, this one comes from the serial or the address."""
    seed = str(card.get("serial") or card["pci"].rsplit(".", 1)[0]) + str(card.get("psid", ""))
    return "0c42a1" + hashlib.sha256(seed.encode()).hexdigest()[:10]


def mst_directory() -> str:
    return os.environ.get("LAB_MST_DIR") or "/dev/mst"


def mst_started(path: str) -> bool:
    return os.path.exists(os.path.join(mst_directory(), os.path.basename(path)))
