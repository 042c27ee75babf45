"""What the helpers beside mlxconfig print (mst, mlxfwreset, lspci's VPD, systemd-detect-virt), as data. Pure: no I/O.

Sources: public transcripts of `mst start`, `mst status [-v]` and `mlxfwreset query`. Not verified on hardware.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Mapping

from .._layer import ParseError
from .state import full_address

VM = "vm"
BARE_METAL = "bare_metal"
UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True)
class MstStatus:
    """``paths``: PCI address -> /dev/mst path of started devices. "MST PCI module is not loaded" is normal."""

    started: bool
    paths: Mapping[str, str]


_MST_MODULE = re.compile(r"^MST PCI( configuration)? module (?:is )?(not loaded|loaded)$")
_MST_PATH = re.compile(r"^(/dev/mst/\S+)\s+-\s")
_MST_DOMAIN = re.compile(r"domain:bus:dev\.fn=(\S+)")
_MST_ROW = re.compile(r"^\S+\(rev:\w+\)\s+(/dev/mst/\S+|NA)\s+(\S+)(?:\s.*)?$")
_MST_NOISE = re.compile(
    r"^(-+|MST modules:|MST devices:|PCI devices:|DEVICE_TYPE\s.*|Chip revision is:.*|No MST devices were found.*)$"
)


def parse_mst_status(text: str, host: str) -> MstStatus:
    """``mst status`` and ``mst status -v``; pciconf numbers are not stable, so only the pairs are kept."""
    started = False
    seen = False
    paths: dict[str, str] = {}
    path = ""
    for line in text.splitlines():
        words = line.strip()
        module, row = _MST_MODULE.match(words), _MST_ROW.match(words)
        named, domain = _MST_PATH.match(words), _MST_DOMAIN.search(words)
        if module:
            seen = True
            started = started or (bool(module.group(1)) and module.group(2) == "loaded")
        elif row:
            address = full_address(row.group(2))
            if address is None:
                raise ParseError("a device without a PCI address", host=host, thing="mst status", raw=line)
            if row.group(1) != "NA":
                paths[address] = row.group(1)
        elif named:
            path = named.group(1)
        elif domain:
            address = full_address(domain.group(1))
            if address is None or not path:
                raise ParseError("a device without a path", host=host, thing="mst status", raw=line)
            paths[address] = path
        elif words and not _MST_NOISE.match(words):
            raise ParseError("an unknown line", host=host, thing="mst status", raw=text)
    if not seen:
        raise ParseError("no state of the MST modules", host=host, thing="mst status", raw=text)
    return MstStatus(started, paths)


@dataclasses.dataclass(frozen=True)
class ResetChoice:
    """One line of ``mlxfwreset query``, for example level 4, "Warm Reboot", supported, default."""

    number: int
    name: str
    supported: bool
    default: bool


_RESET_HEADING = re.compile(r"^(Reset-[a-z]+)\b.*:\s*$")
_RESET_LINE = re.compile(r"^(\d+):\s+(.*?)\s*-\s*(Supported|Not Supported)\s*(\(default\))?\s*$", re.IGNORECASE)


def parse_reset_query(text: str, host: str) -> dict[str, tuple[ResetChoice, ...]]:
    """``mlxfwreset -d BDF query`` -> "Reset-levels", "Reset-types", "Reset-sync" -> the choices that it lists."""
    found: dict[str, tuple[ResetChoice, ...]] = {}
    heading = ""
    for line in text.splitlines():
        title, row = _RESET_HEADING.match(line), _RESET_LINE.match(line)
        if title:
            heading = title.group(1)
            found[heading] = ()
        elif row and heading:
            number, name, support, default = row.groups()
            choice = ResetChoice(int(number), name, support.lower() == "supported", bool(default))
            found[heading] = (*found[heading], choice)
        elif re.match(r"^\d+:", line):
            raise ParseError("an unknown line about resets", host=host, thing="mlxfwreset query", raw=text)
    return found


_WARM_REBOOT = 4


def reboot_kind_of(choices: Mapping[str, tuple[ResetChoice, ...]]) -> str:
    """``power_cycle`` when the card says that a warm reboot does not reset it, ``reboot`` when it does, else ''."""
    for choice in choices.get("Reset-levels", ()):
        if choice.number == _WARM_REBOOT:
            return "reboot" if choice.supported else "power_cycle"
    return ""


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
