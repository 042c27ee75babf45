"""SIMULATED lspci: the Mellanox and NVIDIA functions that the hypervisor shows this VM, in pciutils' formats.

Only the simulated bus is listed: a container's /sys shows the machine underneath, which a VM would not see.
Fault ``config_space_256`` (``faults`` in nic.json): the guest cannot read extended config space, so ATS is invisible.
"""

from __future__ import annotations

import getopt
import re
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .hardware import MELLANOX, MELLANOX_NAMES, NVIDIA, Hardware, is_root, short_address

CLASSES = {"0200": "Ethernet controller", "0207": "Infiniband controller", "0302": "3D controller"}
VENDORS = {MELLANOX: "Mellanox Technologies", NVIDIA: "NVIDIA Corporation"}
GPU_NAMES = {"20f1": "GA100 [A100 PCIe 40GB]", "20b5": "GA100 [A100 PCIe 80GB]", "2331": "GH100 [H100 PCIe]"}


class Function:
    """One PCI function as lspci sees it: nic.json knows the NICs; what is left in pci.json is a GPU."""

    def __init__(self, hardware: Hardware, address: str, view: Dict[str, Any]) -> None:
        card = hardware.card(address) or {}
        self.address = address
        self.card = card
        self.view = view
        self.vendor = str(view.get("vendor_id") or (MELLANOX if card else NVIDIA)).lower().replace("0x", "")
        device = str(card.get("device_id") or view.get("device_id") or "20f1")
        self.device = device.lower().replace("0x", "")
        self.device_class = str(card.get("class") or view.get("class") or ("0200" if card else "0302"))
        if self.vendor == MELLANOX:
            self.name = MELLANOX_NAMES.get(self.device, (f"Device {self.device}", False))[0]
        else:
            self.name = GPU_NAMES.get(self.device, f"Device {self.device}")
        self.extended = not hardware.faults.get("config_space_256")

    @property
    def has_ats(self) -> bool:
        return self.extended and bool(self.view.get("ats_capability"))


def functions(hardware: Hardware) -> List[Function]:
    return [Function(hardware, address, view) for address, view in hardware.functions.items()]


def slot_filter(text: str) -> Optional["re.Pattern[str]"]:
    """``[[[[<domain>]:]<bus>]:][<slot>][.[<func>]]`` -> a pattern for full addresses, None when it is no filter."""
    found = re.match(
        r"^(?:(?:([0-9a-fA-F]{0,4}|\*):)?([0-9a-fA-F]{1,2}|\*)?:)?([0-9a-fA-F]{1,2}|\*)?(?:\.([0-7]|\*)?)?$", text
    )
    if not found:
        return None

    def part(value: Optional[str], width: int) -> str:
        return r"[0-9a-f]+" if value in (None, "", "*") else f"{int(str(value), 16):0{width}x}"

    domain, bus, slot, function = found.groups()
    return re.compile(f"^{part(domain, 4)}:{part(bus, 2)}:{part(slot, 2)}\\.{part(function, 1)}$")


def id_filter(text: str, function: Function) -> bool:
    """``[<vendor>]:[<device>][:<class>]``."""
    wanted = [*text.lower().split(":"), "", ""][:3]
    have = (function.vendor, function.device, function.device_class)
    return all(want in ("", "*") or want.lstrip("0") == value.lstrip("0") for want, value in zip(wanted, have))


def verbose_lines(function: Function, level: int) -> List[str]:
    lines = [f"\tSubsystem: {VENDORS.get(function.vendor, function.vendor)} SIMULATED device"]
    if level > 1:
        lines.append(
            "\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+"
        )
    lines.append(f"\tNUMA node: {function.view['numa_node']}" if "numa_node" in function.view else "\tPhysical Slot: 1")
    if not is_root():
        # What a normal user gets; it says nothing about ATS and must not be read as "off".
        return [*lines, "\tCapabilities: <access denied>"]
    if function.card.get("serial"):
        lines += [
            "\tCapabilities: [48] Vital Product Data",
            f"\t\tProduct Name: SIMULATED {function.card.get('name', '')}".rstrip(),
            "\t\tRead-only fields:",
            f"\t\t\t[PN] Part number: {function.card.get('name', '')}",
            f"\t\t\t[SN] Serial number: {function.card['serial']}",
            "\t\tEnd",
        ]
    lines.append("\tCapabilities: [60] Express (v2) Endpoint, MSI 00")
    if function.has_ats:
        enabled = "+" if function.view.get("ats_enabled") else "-"
        lines.append("\tCapabilities: [480 v1] Address Translation Service (ATS)")
        if level > 1:
            lines += [
                "\t\tATSCap:\tInvalidate Queue Depth: 00",
                f"\t\tATSCtl:\tEnable{enabled}, Smallest Translation Unit: {int(function.view.get('stu', 0)):02x}",
            ]
    if function.card:
        lines.append("\tKernel driver in use: mlx5_core")
    return lines


def select(options: Sequence[Tuple[str, str]], hardware: Hardware) -> Optional[List[Function]]:
    """What -s and -d leave over; None when a filter cannot be read."""
    chosen = functions(hardware)
    for flag, value in options:
        if flag == "-s":
            pattern = slot_filter(value)
            if pattern is None:
                return None
            chosen = [function for function in chosen if pattern.match(function.address)]
        elif flag == "-d":
            chosen = [function for function in chosen if id_filter(value, function)]
    return chosen


def one_line(function: Function, flags: Sequence[str]) -> str:
    address = function.address if "-D" in flags else short_address(function.address)
    class_name = CLASSES.get(function.device_class, "Class")
    vendor = VENDORS.get(function.vendor, "Vendor")
    numeric = flags.count("-n")
    if "-m" in flags:
        cells = [(function.device_class, class_name), (function.vendor, vendor), (function.device, function.name)]
        text = [code if numeric == 1 else f"{name} [{code}]" if numeric else name for code, name in cells]
        return f'{address} "{text[0]}" "{text[1]}" "{text[2]}" -p00 "{text[1]}" "0000"'
    if numeric == 1:
        return f"{address} {function.device_class}: {function.vendor}:{function.device}"
    if numeric:
        codes = f"[{function.vendor}:{function.device}]"
        return f"{address} {class_name} [{function.device_class}]: {vendor} {function.name} {codes}"
    return f"{address} {class_name}: {vendor} {function.name}"


def main(_name: str, argv: Sequence[str]) -> int:
    try:
        options, rest = getopt.gnu_getopt(list(argv), "vnDmks:d:xtbqQP", ["version", "help"])
    except getopt.GetoptError as error:
        print(f"lspci: {error}", file=sys.stderr)
        return 1
    flags = [flag for flag, _value in options]
    if rest or "--help" in flags:
        print("Usage: lspci [<switches>] (SIMULATED)", file=sys.stderr)
        return 1
    if "--version" in flags:
        print("lspci version 3.6.4 (SIMULATED)")
        return 0
    chosen = select(options, Hardware())
    if chosen is None:
        print("lspci: -s: Invalid slot number", file=sys.stderr)
        return 1
    for function in chosen:
        print(one_line(function, flags))
        if "-v" in flags:
            print("\n".join(verbose_lines(function, flags.count("-v"))) + "\n")
    return 0
