"""SIMULATED setpci: reads the ATS extended capability and the ids; refuses every write."""

from __future__ import annotations

import re
import sys
from typing import List, Sequence

from .hardware import Hardware, is_root
from .lspci import Function, functions, id_filter, slot_filter

_OPERATION = re.compile(r"^([A-Za-z_0-9]+)(?:\+([0-9a-fA-F]+))?(?:\.([bwlBWL]))?(=.*)?$")
_PLAIN = {"VENDOR_ID": "vendor", "DEVICE_ID": "device"}


class Refusal(Exception):
    pass


def value_of(function: Function, name: str, offset: int) -> str:
    if name in _PLAIN:
        return str(getattr(function, _PLAIN[name]))
    # Without root libpci sees 64 bytes of configuration space and no capability list.
    if not function.has_ats or not is_root():
        raise Refusal(
            f"setpci: {function.address}: Instance #0 of Extended capability 000f not found"
            " - there are no capabilities with that id."
        )
    control = (0x8000 if function.view.get("ats_enabled") else 0) | (int(function.view.get("stu", 0)) & 0x1F)
    return f"{ {0: 0x000F, 4: 0x0000, 6: control}[offset]:04x}"


def run(argv: Sequence[str]) -> int:
    words: List[str] = list(argv)
    chosen = functions(Hardware())
    operations: List[str] = []
    while words:
        word = words.pop(0)
        if word == "--version":
            print("setpci version 3.6.4 (SIMULATED)")
            return 0
        if word in ("-v", "-f"):
            continue
        if word in ("-s", "-d"):
            if not words:
                raise Refusal(f"setpci: Option {word} requires an argument")
            value = words.pop(0)
            if word == "-d":
                chosen = [function for function in chosen if id_filter(value, function)]
                continue
            pattern = slot_filter(value)
            if pattern is None:
                raise Refusal(
                    "setpci: Unable to parse filter -s Invalid slot number.\nTry `setpci --help' for more information."
                )
            chosen = [function for function in chosen if pattern.match(function.address)]
            continue
        operations.append(word)
    if not chosen:
        print("setpci: Warning: No devices selected for operation group 1.", file=sys.stderr)
        return 0
    for operation in operations:
        found = _OPERATION.match(operation)
        name = found.group(1).upper() if found else ""
        offset = int(found.group(2) or "0", 16) if found else 0
        known = name in _PLAIN or (name == "ECAP_ATS" and offset in (0, 4, 6))
        if not found or not known:
            raise Refusal(f'setpci: Unknown register "{operation}".\nTry `setpci --help\' for more information.')
        if found.group(4):
            raise Refusal("setpci: SIMULATED device: writes to configuration space are not simulated.")
        for function in chosen:
            print(value_of(function, name, offset))
    return 0


def main(_name: str, argv: Sequence[str]) -> int:
    try:
        return run(argv)
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return 1
