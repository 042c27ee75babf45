"""SIMULATED ibv_devinfo: the header lines that scripts read."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, Sequence

from .hardware import Hardware, device_guid
from .qos import network_root


def guid(card: Dict[str, Any]) -> str:
    digits = device_guid(card)
    return ":".join(digits[index : index + 4] for index in range(0, 16, 4))


# Headers that RoCE puts before the payload, as the kernel counts them: GRH 40, UDP 8, BTH 12, XRC 4, atomic 28, ICRC 4.
_ROCE_HEADERS = 96


def active_mtu(card: Dict[str, Any]) -> str:
    """The largest RDMA MTU that fits into the interface's own: ``4096 (5)`` from an MTU of 4192 on."""
    try:
        with open(os.path.join(network_root(), card.get("netdev", ""), "mtu"), encoding="utf-8") as handle:
            payload = int(handle.read()) - _ROCE_HEADERS
    except OSError:
        payload = 0
    fitting = [(size, code) for code, size in enumerate((256, 512, 1024, 2048, 4096), 1) if size <= payload]
    size, code = fitting[-1] if fitting else (256, 1)
    return f"{size} ({code})"


def describe(name: str, card: Dict[str, Any]) -> str:
    lines = [f"hca_id:\t{name}"]
    for label, tabs, value in (
        ("transport", 3, "InfiniBand (0)"),
        ("fw_ver", 4, card.get("firmware", "")),
        ("node_guid", 3, guid(card)),
        ("sys_image_guid", 3, guid(card)),
        ("vendor_id", 3, "0x02c9"),
        ("vendor_part_id", 3, str(int(card["device_id"], 16))),
        ("hw_ver", 4, "0x0"),
        ("board_id", 3, card.get("psid", "")),
        ("phys_port_cnt", 3, "1"),
    ):
        lines.append(f"\t{label}:" + "\t" * tabs + value)
    lines.append("\t\tport:\t1")
    for label, value in (
        ("state", "PORT_ACTIVE (4)"),
        ("max_mtu", "4096 (5)"),
        ("active_mtu", active_mtu(card)),
        ("link_layer", "Ethernet"),
    ):
        lines.append(f"\t\t\t{label}:\t\t{value}")
    return "\n".join(lines) + "\n"


def main(_name: str, argv: Sequence[str]) -> int:
    words: List[str] = list(argv)
    cards = {f"mlx5_{index}": card for index, card in enumerate(Hardware().cards)}
    if not cards:
        print("No IB devices found", file=sys.stderr)
        return 255
    if "-l" in words:
        print(f"{len(cards)} HCA{'s' if len(cards) > 1 else ''} found:")
        print("\n".join(f"\t{name}" for name in cards) + "\n")
        return 0
    wanted = words[words.index("-d") + 1 : words.index("-d") + 2] if "-d" in words else list(cards)
    if any(name not in cards for name in wanted):
        print(f"IB device '{wanted[0]}' wasn't found", file=sys.stderr)
        return 255
    for name in wanted:
        print(describe(name, cards[name]))
    return 0
