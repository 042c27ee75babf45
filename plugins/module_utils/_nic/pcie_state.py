"""The PCIe link of a function as the guest sees it: sysfs texts and configuration space. Pure: no I/O.

Offsets: PCI Local Bus Specification (status register 06h bit 4: capability list; 34h: its first entry) and PCI Express
Base Specification (capability 10h; Device Control at 08h: bit 4 relaxed ordering, bits 7:5 MaxPayload and 14:12
MaxReadReq of 128 << n bytes; extended capabilities from 100h on: ATS 000Fh, its control at 06h, bit 15 enable; ACS
000Dh, its control at 06h: bits 2 and 3 redirect requests and completions, bit 6 lets translated ones go straight).

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .._layer import ParseError

_STATUS, _FIRST, _CAPABILITY_LIST = 0x06, 0x34, 0x10
_HEADER_BYTES = 64  # all that the kernel shows to a normal user
_PCI_EXPRESS, _DEVICE_CONTROL, _RELAXED_ORDERING = 0x10, 0x08, 0x10
_EXTENDED, _ALL_BYTES = 0x100, 4096
_ATS, _ATS_ENABLE = 0x000F, 0x8000
_ACS, _ACS_REDIRECT, _ACS_DIRECT_TRANSLATED = 0x000D, 0x000C, 0x0040
_MOST = 48  # entries that fit into 256 bytes; a list that is longer goes round in circles
MOST_LANES = 16  # of a slot
_SPEED = re.compile(r"(\d+(?:\.\d+)?) GT/s(?: PCIe)?")


def parse_link_speed(text: str, host: str, where: str) -> float:
    """Gigatransfers per second and lane, from ``16.0 GT/s PCIe`` (older kernels: ``16 GT/s``)."""
    found = _SPEED.fullmatch(text.strip())
    if not found:
        raise ParseError("no speed of a PCIe link", host=host, thing=where, raw=text)
    return float(found.group(1))


def parse_link_width(text: str, host: str, where: str) -> int:
    """Lanes; 0 and 255 are what a device without a link shows."""
    if not re.fullmatch(r"\d{1,3}", text.strip()) or int(text) in (0, 255):
        raise ParseError("no width of a PCIe link", host=host, thing=where, raw=text)
    return int(text)


class DeviceControl(NamedTuple):
    """Of one function: ``max_payload`` and ``max_read_request`` in bytes; ``relaxed_ordering``: whether it may ask."""

    max_payload: int
    max_read_request: int
    relaxed_ordering: bool


class Acs(NamedTuple):
    """Access control of a port. ``redirects``: requests between the devices below it go up to the root complex;
    ``direct_translated``: unless their address was translated by ATS."""

    redirects: bool
    direct_translated: bool


def parse_device_control(config: bytes, host: str, where: str) -> DeviceControl:
    """MaxPayload, MaxReadReq and relaxed ordering in force, from the configuration space."""
    if len(config) <= _HEADER_BYTES:
        raise ParseError(
            f"only {len(config)} bytes of configuration space are shown (a normal user sees no more)",
            host=host,
            thing=where,
            raw=config.hex(),
        )
    at = config[_FIRST] & 0xFC if config[_STATUS] & _CAPABILITY_LIST else 0
    for _entry in range(_MOST):
        if at < _HEADER_BYTES or at + _DEVICE_CONTROL + 2 > len(config):
            break
        if config[at] == _PCI_EXPRESS:
            control = int.from_bytes(config[at + _DEVICE_CONTROL : at + _DEVICE_CONTROL + 2], "little")
            payload, read = control >> 5 & 7, control >> 12 & 7
            if payload <= 5 and read <= 5:
                return DeviceControl(128 << payload, 128 << read, bool(control & _RELAXED_ORDERING))
            break
        at = config[at + 1] & 0xFC
    raise ParseError("no PCI Express capability", host=host, thing=where, raw=config[:256].hex())


def _extended_control(config: bytes, wanted: int, host: str, where: str) -> int | None:
    """The control register (06h) of an extended capability; None: the function does not have it."""
    if len(config) < _ALL_BYTES:
        raise ParseError(
            f"only {len(config)} of {_ALL_BYTES} bytes of configuration space are shown", host=host, thing=where, raw=""
        )
    at = _EXTENDED
    for _entry in range((_ALL_BYTES - _EXTENDED) // 4):
        header = int.from_bytes(config[at : at + 4], "little")
        if header in (0, 0xFFFFFFFF):
            return None
        if header & 0xFFFF == wanted and at + 8 <= _ALL_BYTES:
            return int.from_bytes(config[at + 6 : at + 8], "little")
        at = header >> 20 & 0xFFC
        if at == 0:
            return None
        if at < _EXTENDED:
            break
    raise ParseError("a list of extended capabilities without an end", host=host, thing=where, raw="")


def parse_ats(config: bytes, host: str, where: str) -> str:
    """``on``, ``off``, or ``absent``: the function has no such capability."""
    control = _extended_control(config, _ATS, host, where)
    return "absent" if control is None else "on" if control & _ATS_ENABLE else "off"


def parse_acs(config: bytes, host: str, where: str) -> Acs | None:
    """None: the port has no such capability, and redirects nothing."""
    control = _extended_control(config, _ACS, host, where)
    return None if control is None else Acs(bool(control & _ACS_REDIRECT), bool(control & _ACS_DIRECT_TRANSLATED))
