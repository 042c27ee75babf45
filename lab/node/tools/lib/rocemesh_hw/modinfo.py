"""SIMULATED modinfo: the modules of the simulated drivers. Every other module is asked of the real program.

``guest.json``: "ofed" gives mlx5_core its version; "modules" {name: {field: value}} adds modules or fields; null takes
a module off the disk.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Optional, Sequence

from .hardware import Hardware

REAL = "/usr/sbin/modinfo"


def disk(hardware: Hardware) -> Dict[str, Optional[Dict[str, Any]]]:
    """Module name -> its fields as on the node's disk."""
    ofed = str(hardware.guest.get("ofed") or "")
    version = ofed.rsplit(".", 1)[0] if ofed else ""
    modules: Dict[str, Optional[Dict[str, Any]]] = {
        "mlx5_core": {
            "filename": "/lib/modules/SIMULATED/updates/dkms/mlx5_core.ko",
            "version": version,
            "srcversion": "SIMULATED" + (version or "INBOX"),
            "license": "Dual BSD/GPL",
            "intree": "" if version else "Y",
        },
        "nvidia": {
            "filename": "/lib/modules/SIMULATED/updates/dkms/nvidia.ko",
            "version": "470.57.02",
            "license": "NVIDIA",
        },
        "nvidia_peermem": None,
        "nv_peer_mem": None,
    }
    modules.update(hardware.guest.get("modules") or {})
    return modules


def main(_name: str, argv: Sequence[str]) -> int:
    words = list(argv)
    field = words.pop(words.index("-F") + 1) if "-F" in words[:-1] else None
    names = [word for word in words if not word.startswith("-")]
    known = disk(Hardware())
    if len(names) != 1 or names[0] not in known:
        if os.access(REAL, os.X_OK):
            os.execv(REAL, ["modinfo", *argv])
        print(f"modinfo: ERROR: Module {' '.join(names)} not found.", file=sys.stderr)
        return 1
    fields = known[names[0]]
    if fields is None:
        print(f"modinfo: ERROR: Module {names[0]} not found.", file=sys.stderr)
        return 1
    if field is None:
        print("\n".join(f"{key + ':':<16}{value}" for key, value in fields.items() if value))
    elif fields.get(field):
        print(fields[field])
    return 0
