"""SIMULATED mlxfwreset / mstfwreset: a VM cannot reset a card whose bridge belongs to the hypervisor."""

from __future__ import annotations

from typing import List, Sequence

from .hardware import Hardware, full_address, is_root
from .nvconfig import version_tuple


def main(name: str, argv: Sequence[str]) -> int:
    hardware = Hardware()
    if not is_root():
        print("-E- Only root user can run this tool.")
        return 1
    words: List[str] = list(argv)
    device = ""
    if "-d" in words and words.index("-d") + 1 < len(words):
        device = words.pop(words.index("-d") + 1)
        words.remove("-d")
    words = [word for word in words if word not in ("-y", "--yes")]
    command = words[0] if words else ""
    if command in ("r", "reset"):
        # Older tools have no check for a VM and only fail at the bridge; neither version resets anything here.
        if version_tuple(hardware.tool_version) >= (4, 20):
            print("-E- The tool is not supported on virtual machines.")
        else:
            print("-E- Failed to get Bridge Device. You might be running on a Virtual Machine!")
        return 1
    address = full_address(device) or next((c["pci"] for c in hardware.cards if c.get("mst") == device), None)
    if address is None or hardware.card(address) is None:
        print(f"-E- Failed to Identify Device: {device}, mopen: No such file or directory\n.")
        return 1
    if command in ("q", "query"):
        print(f"{name}: SIMULATED\n")
        print("Reset-levels:")
        print('0: Driver, PCI link, network link will remain up ("live-Patch")  -Not Supported')
        print("3: Driver restart and PCI reset                                 -Not Supported")
        print("4: Warm Reboot                                                  -Supported     (default)")
        return 0
    print(f"-E- Unknown command: {command}")
    return 1
