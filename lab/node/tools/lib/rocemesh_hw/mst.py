"""SIMULATED mst: starts and stops access through /dev/mst. Volatile, as on a real system: gone after a restart."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Dict, List, Sequence

from .hardware import Hardware, is_root, mst_directory, short_address


def names(hardware: Hardware) -> Dict[str, str]:
    """PCI address -> /dev/mst path, physical functions only."""
    found: Dict[str, str] = {}
    for index, card in enumerate(card for card in hardware.cards if not hardware.is_vf(card)):
        number = int(card["device_id"], 16)
        found[card["pci"]] = card.get("mst") or f"/dev/mst/mt{number}_pciconf{index}"
    return found


def start(hardware: Hardware) -> int:
    print("Starting MST (Mellanox Software Tools) driver set (SIMULATED)")
    print("Loading MST PCI module - Success")
    print("Loading MST PCI configuration module - Success")
    print("Create devices")
    os.makedirs(mst_directory(), exist_ok=True)
    for path in names(hardware).values():
        with open(os.path.join(mst_directory(), os.path.basename(path)), "w", encoding="utf-8"):
            pass
    print("Unloading MST PCI module (unused) - Success")
    return 0


def stop(_hardware: Hardware) -> int:
    print("Stopping MST (Mellanox Software Tools) driver set (SIMULATED)")
    if os.path.isdir(mst_directory()):
        shutil.rmtree(mst_directory())
    print("Unloading MST PCI configuration module (unused) - Success")
    return 0


def status(hardware: Hardware, verbose: bool) -> int:
    running = os.path.isdir(mst_directory())
    lines: List[str] = ["MST modules:", "------------", "    MST PCI module is not loaded"]
    lines.append(f"    MST PCI configuration module {'loaded' if running else 'is not loaded'}")
    paths = names(hardware)
    if verbose:
        lines += ["", "PCI devices:", "------------"]
        lines.append(f"{'DEVICE_TYPE':<24}{'MST':<30}{'PCI':<10}{'RDMA':<16}{'NET':<40}{'NUMA':<6}")
        for index, (address, path) in enumerate(paths.items()):
            card = hardware.card(address) or {}
            kind = f"{card.get('device_type', 'NA')}(rev:0)"
            net = f"net-{card['netdev']}" if card.get("netdev") else ""
            rdma, node = f"mlx5_{index}", card.get("numa_node", -1)
            shown = path if running else "NA"
            lines += [f"{kind:<24}{shown:<30}{short_address(address):<10}{rdma:<16}{net:<40}{node:<6}", ""]
    elif running:
        lines += ["", "MST devices:", "------------"]
        for address, path in paths.items():
            lines.append(f"{path:<32} - PCI configuration cycles access.")
            lines.append(f"{'':<35}domain:bus:dev.fn={address} addr.reg=88 data.reg=92 cr_bar.gw_offset=-1")
            lines.append(f"{'':<35}Chip revision is: 00")
        if not paths:
            lines.append("    No MST devices were found")
    print("\n".join(lines))
    return 0


def main(_name: str, argv: Sequence[str]) -> int:
    hardware = Hardware()
    command = argv[0] if argv else "help"
    if command == "version":
        print(f"mst, mft {hardware.tool_version}-1, SIMULATED")
        return 0
    if command not in ("start", "stop", "restart", "status"):
        print("    Usage: mst {start|stop|status [-v]|restart|version} (SIMULATED)")
        return 0 if command in ("help", "-h", "--help") else 1
    if not is_root():
        print("-E- You must be root to use mst tool", file=sys.stdout)
        return 1
    if command == "status":
        return status(hardware, "-v" in argv[1:])
    if command in ("stop", "restart"):
        stop(hardware)
    return start(hardware) if command in ("start", "restart") else 0
