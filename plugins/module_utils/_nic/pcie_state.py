# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The PCIe link of a function as the guest sees it: sysfs texts and configuration space. Pure: no I/O.

Offsets: PCI Local Bus Specification (status register 06h bit 4: capability list; 34h: its first entry) and PCI Express
Base Specification (capability 10h; Device Control at 08h, bits 7:5: MaxPayload of 128 << n bytes).

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import re

from .._layer import ParseError

_STATUS, _FIRST, _CAPABILITY_LIST = 0x06, 0x34, 0x10
_HEADER_BYTES = 64  # all that the kernel shows to a normal user
_PCI_EXPRESS, _DEVICE_CONTROL = 0x10, 0x08
_MOST = 48  # entries that fit into 256 bytes; a list that is longer goes round in circles
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


def parse_max_payload(config: bytes, host: str, where: str) -> int:
    """MaxPayload in force, in bytes, from the configuration space."""
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
            code = (config[at + _DEVICE_CONTROL] >> 5) & 7
            if code <= 5:
                return 128 << code
            break
        at = config[at + 1] & 0xFC
    raise ParseError("no PCI Express capability", host=host, thing=where, raw=config[:256].hex())
