"""SIMULATED flint / mstflint: the query only. Burning is refused: nothing here flashes firmware."""

from __future__ import annotations

from typing import List, Sequence

from .hardware import Hardware, device_guid, full_address, is_root, mst_started
from .nvconfig import simulated


def main(name: str, argv: Sequence[str]) -> int:
    hardware = Hardware()
    words: List[str] = list(argv)
    if words[:1] in (["-v"], ["--version"]):
        print(f"{name}, {'mstflint' if name == 'mstflint' else 'mft'} {hardware.tool_version}, SIMULATED")
        return 0
    if "-d" not in words or words.index("-d") + 2 >= len(words):
        print("-E- Missing device or command. (SIMULATED)")
        return 1
    device, command = words[words.index("-d") + 1], words[words.index("-d") + 2]
    address = full_address(device)
    if address is None and name == "flint" and mst_started(device):
        address = next((card["pci"] for card in hardware.cards if card.get("mst") == device), None)
    card = hardware.card(address) if address else None
    if card is None or not is_root():
        print(f"-E- Cannot open Device: {device}. No such file or directory. MFE_CR_ERROR")
        return 1
    if command not in ("q", "query"):
        print(f"-E- SIMULATED device: {command} is not simulated, nothing was done.")
        return 1
    digits = device_guid(card)
    for label, value in (
        ("Image type", "FS4"),
        ("FW Version", card.get("firmware", "N/A")),
        ("FW Release Date", "1.1.2026"),
        ("Product Version", card.get("firmware", "N/A")),
        ("Description", "UID                GuidsNumber"),
        ("Base GUID", f"{digits}        4"),
        ("Base MAC", f"{digits[:6]}{digits[-6:]}            4"),
        ("Image VSD", simulated("")),
        ("Device VSD", "N/A"),
        ("PSID", card.get("psid", "N/A")),
        ("Security Attributes", "N/A"),
    ):
        print(f"{label + ':':<23}{value}")
    return 0
