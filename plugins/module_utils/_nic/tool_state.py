"""What the helpers beside mlxconfig print (mst, mlxfwreset, lspci's VPD, systemd-detect-virt), as data. Pure: no I/O.

Sources: public transcripts of `mst status -v` and `mlxfwreset query`. Not verified on hardware.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import re

from .._layer import ParseError
from .state import full_address

VM = "vm"
BARE_METAL = "bare_metal"
UNKNOWN = "unknown"


_MST_MODULE = re.compile(r"^MST PCI(?: configuration)? module (?:is )?(?:not loaded|loaded)$")
_MST_ROW = re.compile(r"^(?:\S+\(rev:\w+\)|NA)\s+(/dev/mst/\S+|NA)\s+(\S+)(?:\s.*)?$")  # NA: a virtual function
_MST_NOISE = re.compile(r"^(-+|MST modules:|MST devices:|PCI devices:|DEVICE_TYPE\s.*|No MST devices were found.*)$")


def parse_mst_status(text: str, host: str) -> dict[str, str]:
    """``mst status -v``: PCI address -> /dev/mst path of started devices.

    pciconf numbers are not stable, so only the pairs are kept. "MST PCI module is not loaded" is normal.
    """
    seen = False
    paths: dict[str, str] = {}
    for line in text.splitlines():
        words = line.strip()
        row = _MST_ROW.match(words)
        if _MST_MODULE.match(words):
            seen = True
        elif row:
            address = full_address(row.group(2))
            if address is None:
                raise ParseError("a device without a PCI address", host=host, thing="mst status", raw=line)
            if row.group(1) != "NA":
                paths[address] = row.group(1)
        elif words and not _MST_NOISE.match(words):
            raise ParseError("an unknown line", host=host, thing="mst status", raw=text)
    if not seen:
        raise ParseError("no state of the MST modules", host=host, thing="mst status", raw=text)
    return paths


_RESET_HEADING = re.compile(r"^(Reset-[a-z]+)\b.*:\s*$")
_RESET_LINE = re.compile(r"^(\d+):\s+.*?\s*-\s*(Supported|Not Supported)\s*(?:\(default\))?\s*$", re.IGNORECASE)
_WARM_REBOOT = ("Reset-levels", "4")


def parse_reset_query(text: str, host: str) -> str:
    """``mlxfwreset -d BDF query``: ``power_cycle`` when a warm reboot (level 4) does not reset the card, ``reboot``
    when it does, '' when it does not say."""
    heading = kind = ""
    for line in text.splitlines():
        title, row = _RESET_HEADING.match(line), _RESET_LINE.match(line)
        if title:
            heading = title.group(1)
        elif row and heading:
            if (heading, row.group(1)) == _WARM_REBOOT:
                kind = "reboot" if row.group(2).lower() == "supported" else "power_cycle"
        elif re.match(r"^\d+:", line):
            raise ParseError("an unknown line about resets", host=host, thing="mlxfwreset query", raw=text)
    return kind


_SERIAL = re.compile(r"^\s*\[SN\] Serial number:\s*(\S+)\s*$", re.MULTILINE)


def parse_vpd_serial(text: str) -> str:
    """The serial number in ``lspci -vvv -s BDF``; '' when the vital product data are not there or not readable."""
    found = _SERIAL.search(text)
    return found.group(1) if found else ""


def environment_of(detect_code: int | None, detect_out: str, cpuinfo: str) -> str:
    """``vm``, ``bare_metal`` or ``unknown``.

    ``systemd-detect-virt --vm`` prints a name and ends with 0 in a VM; on bare metal it prints ``none`` and ends with
    another code. Without the program the CPU's own flag ``hypervisor`` counts (x86 only).
    """
    word = detect_out.strip()
    if detect_code is not None and word:
        return BARE_METAL if word == "none" else VM if detect_code == 0 else UNKNOWN
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    if flags is None:
        return UNKNOWN
    return VM if "hypervisor" in flags.group(1).split() else BARE_METAL
