"""SIMULATED systemd-detect-virt: a node is a VM of the simulated ESXi, whatever machine its container runs on.

The output is one word, so it cannot be marked. Fault ``virtualization`` "none" (``faults`` in nic.json): bare metal.
"""

from __future__ import annotations

import sys
from typing import Sequence

from .hardware import Hardware


def main(_name: str, argv: Sequence[str]) -> int:
    unknown = [word for word in argv if word not in ("--vm", "-v", "--quiet", "-q")]
    if unknown:
        print(f"systemd-detect-virt: {unknown[0]} is not simulated (SIMULATED)", file=sys.stderr)
        return 1
    word = str(Hardware().faults.get("virtualization") or "vmware")
    if not {"--quiet", "-q"} & set(argv):
        print(word)
    return int(word == "none")
