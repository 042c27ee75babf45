"""SIMULATED ofed_info: answers only if ``guest.json`` says {"ofed": "5.2-2.2.4.0"}, as a missing package would not."""

from __future__ import annotations

import sys
from typing import Sequence

from .hardware import Hardware


def main(_name: str, argv: Sequence[str]) -> int:
    version = Hardware().guest.get("ofed")
    if not version:
        print("ofed_info: command not found (SIMULATED: no OFED on this disk)", file=sys.stderr)
        return 127
    if "-s" in argv:
        print(f"MLNX_OFED_LINUX-{version}:")
    elif "-n" in argv:
        print(version)
    else:
        print(f"MLNX_OFED_LINUX-{version} (OFED-{version.rsplit('.', 1)[0]}):\n\nSIMULATED: no packages listed")
    return 0
