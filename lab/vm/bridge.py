"""What the switch carries, on the bridge in front of each VM: every frame, ARP and RoCE as well, by the sender's card.

The same four pieces as carrier.py has for the containers, in which a VM's guest has no part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .. import config

if TYPE_CHECKING:
    from ..carrier import Path


def _table(device: str) -> str:
    return f"switch_{device}"


def rules(arriving: tuple[Path, ...], cards: Mapping[str, str], device: str = "eth0") -> str:
    """Input of nft: the whole table, put in place at once. ``cards``: node -> MAC."""
    table = f"table bridge {_table(device)}"
    counters, lines = [], []
    for path in arriving:
        sender = f'iifname "{device}" ether saddr {cards[path.source]}'
        if 0 < path.limit < config.LINK_MTU:
            counters.append(f"counter {path.source}_long {{ }}")
            # What an interface hands to a bridge has lost its Ethernet header: this is the length of the packet.
            lines.append(f"{sender} meta length > {path.limit} counter name {path.source}_long drop")
        kind = "carried" if path.limit else "lost"
        counters.append(f"counter {path.source}_{kind} {{ }}")
        lines.append(f"{sender} counter name {path.source}_{kind} {'accept' if path.limit else 'drop'}")
    body = "\n".join([*counters, "chain forward {", "type filter hook forward priority 0; policy accept;", *lines, "}"])
    return f"{table} {{ }}\ndelete {table}\n{table} {{\n{body}\n}}\n"


def read_script(_arriving: tuple[Path, ...], device: str = "eth0") -> str:
    return f"nft -j reset counters table bridge {_table(device)}\n"


def apply_script(arriving: tuple[Path, ...], cards: Mapping[str, str], device: str = "eth0") -> str:
    return f"nft -f - <<'RULES'\n{rules(arriving, cards, device)}RULES\n"


def remove_script(device: str = "eth0") -> str:
    return f"nft delete table bridge {_table(device)} 2>/dev/null\ntrue\n"


def counted(text: str, cards: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Output of `nft -j reset counters` -> source node -> packets and bytes that arrived, packets too long to."""
    result: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        if not line.startswith('{"nftables"'):
            continue
        for item in json.loads(line)["nftables"]:
            source, _line, kind = item.get("counter", {}).get("name", "").rpartition("_")
            if source not in cards:
                continue
            entry = result.setdefault(source, {"packets": 0, "bytes": 0, "too_long": 0})
            if kind == "carried":
                entry["packets"] += item["counter"]["packets"]
                entry["bytes"] += item["counter"]["bytes"]
            elif kind == "long":
                entry["too_long"] += item["counter"]["packets"]
    return result
