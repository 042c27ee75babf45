"""SIMULATED configuration spaces: what sysfs shows of a NIC and of the ports above it, as far as anybody here reads it.

PCI Express capability at 60h (Device Control at 68h), extended capabilities from 100h: an empty vendor one, ATS at 480h
as this card has it, and for ports ACS at 220h. Offsets and bits: PCI Express Base Specification.
"""

from __future__ import annotations

import struct
from typing import Any, Dict, Optional

_ALL, _SHORT = 4096, 256
_VENDOR, _ATS, _ACS = 0x000B, 0x000F, 0x000D
_ATS_AT, _ACS_AT = 0x480, 0x220


def _space(control: int) -> bytearray:
    space = bytearray(_ALL)
    space[0x06] = 0x10
    space[0x34] = 0x60
    space[0x60:0x62] = bytes([0x10, 0])
    struct.pack_into("<H", space, 0x68, control)
    return space


def _extended(space: bytearray, kind: int, at: int, control: int) -> None:
    """One capability behind the empty one at 100h."""
    struct.pack_into("<I", space, 0x100, _VENDOR | 1 << 16 | at << 20)
    struct.pack_into("<I", space, at, kind | 1 << 16)
    struct.pack_into("<H", space, at + 6, control)


def endpoint(card: Dict[str, Any], view: Dict[str, Any], extended: bool = True) -> bytes:
    """``card``: ``max_payload`` and ``max_read_request`` in bytes, ``relaxed_ordering``; ``view``: ATS of this VM."""
    payload = (int(card.get("max_payload", 256)) // 128).bit_length() - 1
    read = (int(card.get("max_read_request", 4096)) // 128).bit_length() - 1
    space = _space(payload << 5 | read << 12 | (0x10 if card.get("relaxed_ordering", True) else 0))
    struct.pack_into("<I", space, 0x100, _VENDOR | 1 << 16)
    if view.get("ats_capability"):
        stu = int(view.get("stu", 0)) & 0x1F
        _extended(space, _ATS, _ATS_AT, (0x8000 if view.get("ats_enabled") else 0) | stu)
    return bytes(space[: _ALL if extended else _SHORT])


def switch_port(acs: Optional[int]) -> bytes:
    """``acs``: its control register, None: no such capability."""
    space = _space(0x2810)
    struct.pack_into("<I", space, 0x100, _VENDOR | 1 << 16)
    if acs is not None:
        _extended(space, _ACS, _ACS_AT, acs)
    return bytes(space)
