"""SIMULATED mlnx_qos and cma_roce_tos. What they set is gone after a restart of the node, as on a real card.

Trust dscp brings the driver's default table: priority = DSCP divided by 8.
"""

from __future__ import annotations

import getopt
import os
from typing import Any, Dict, List, Sequence

from . import runtime
from .hardware import Hardware, is_root


def network_root() -> str:
    return os.environ.get("LAB_NET_DIR") or "/sys/class/net"


def _dscp_table() -> List[str]:
    lines = []
    for priority in range(8):
        values = "".join(f"{dscp:02d}," for dscp in range(priority * 8 + 7, priority * 8 - 1, -1))
        lines += [f"\tprio:{priority} dscp:{values}"]
    return lines


def show(settings: Dict[str, Any]) -> str:
    lines = ["DCBX mode: OS controlled (SIMULATED)", f"Priority trust state: {settings['trust']}"]
    if settings["trust"] == "dscp":
        lines += ["dscp2prio mapping:", *_dscp_table()]
    lines += ["default priority:", "Cable len: 7", "PFC configuration:", "\tpriority    0   1   2   3   4   5   6   7"]
    lines.append("\tenabled     " + "".join(f"{bit}   " for bit in settings["pfc"]))
    for tc in sorted(set(settings["prio_tc"])):
        lines.append(f"tc: {tc} ratelimit: unlimited, tsa: vendor")
        lines += [f"\t priority:  {priority}" for priority, each in enumerate(settings["prio_tc"]) if each == tc]
    return "\n".join(lines)


class Refusal(Exception):
    """The text and the exit code of a refused call."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


def _list_of_eight(text: str, key: str, largest: int) -> List[int]:
    values = text.split(",")
    if len(values) != 8 or not all(value.isdigit() and int(value) <= largest for value in values):
        raise Refusal(f"{key} list must have 8 items")
    return [int(value) for value in values]


def _change(name: str, given: Dict[str, str]) -> None:
    settings = runtime.interface(name)
    trust = given.get("trust", settings["trust"])
    if trust not in ("pcp", "dscp"):
        raise Refusal("Invalid trust state command. Refer to the help.")
    settings["trust"] = trust
    for short, key, largest in (("f", "pfc", 1), ("p", "prio_tc", 7)):
        text = given.get(short, given.get(key))
        if text:
            settings[key] = _list_of_eight(text, key, largest)
    runtime.store({**runtime.load(), name: settings})


def mlnx_qos(argv: Sequence[str]) -> int:
    try:
        options, rest = getopt.gnu_getopt(list(argv), "i:f:p:h", ["interface=", "pfc=", "prio_tc=", "trust=", "help"])
    except getopt.GetoptError as error:
        raise Refusal(f"mlnx_qos: {error} (SIMULATED)", 2) from None
    given = {key.lstrip("-"): value for key, value in options}
    if {"h", "help"} & set(given):
        print("Usage: mlnx_qos -i <interface> [options] (SIMULATED)")
        return 0
    name = given.get("i", given.get("interface", ""))
    if rest or not name:
        raise Refusal("Bad arguments" if rest else "Interface name is required")
    hardware = Hardware()
    card = next((card for card in hardware.cards if card.get("netdev") == name), None)
    if card is None:
        raise Refusal(f"Netlink error: Operation not supported. see dmesg. (SIMULATED: {name} is no card's interface)")
    if {"f", "pfc", "p", "prio_tc", "trust"} & set(given):
        if not is_root() or hardware.is_vf(card):
            raise Refusal("Netlink error: Operation not permitted. see dmesg. (SIMULATED)")
        _change(name, given)
    print(show(runtime.interface(name)))
    return 0


def cma_roce_tos(argv: Sequence[str]) -> int:
    options, _rest = getopt.getopt(list(argv), "d:p:t:h")
    given = dict(options)
    if not is_root():
        print("You must be root to run this")
        return 1
    device = given.get("-d", "mlx5_0")
    if device not in [f"mlx5_{index}" for index, _card in enumerate(Hardware().cards)]:
        print(f"Failed to create configuration for {device}")
        return 1
    stored = runtime.load()
    tos = dict(stored.get("tos", {}))
    if "-t" in given:
        tos[device] = int(given["-t"])
        runtime.store({**stored, "tos": tos})
    print(tos.get(device, 0))
    return 0


def main(name: str, argv: Sequence[str]) -> int:
    try:
        return cma_roce_tos(argv) if name == "cma_roce_tos" else mlnx_qos(argv)
    except Refusal as refusal:
        print(refusal)
        return refusal.code
