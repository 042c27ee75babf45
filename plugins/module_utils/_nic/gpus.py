# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observes the NVIDIA GPUs of a node, their driver and Fabric Manager. Changes nothing, loads nothing.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from .._layer import ParseError
from .gpu_state import kind_of, parse_cuda, parse_fabric_version, parse_gpus, parse_unit
from .node import Node

CONTROL = "/dev/nvidiactl"
UNIT = "nvidia-fabricmanager"


def is_device(path: str) -> bool:
    try:
        return stat.S_ISCHR(os.stat(path).st_mode)
    except OSError:
        return False


class GpuReader(Node):
    """The GPUs of one node."""

    silent = "look at dmesg for NVRM and Xid"

    def __init__(self, host: str, *, timeout: float = 30.0, control: bool | None = None, **outside: Any) -> None:
        super().__init__(host, timeout=timeout, **outside)
        self._control = is_device(CONTROL) if control is None else control
        self._unreadable: list[dict[str, str]] = []

    def miss(self, what: str, why: str, remedy: str) -> None:
        self._unreadable.append({"what": what, "why": why, "remedy": remedy})

    def _gpus(self) -> list[dict[str, Any]] | None:
        """None: nobody could tell; an empty list: there is none."""
        done = self.tool("nvidia-smi", "-L")
        if done is None:
            return None
        if done.code != 0:
            words = (done.err.strip() or done.out.strip()).splitlines()
            self.miss("nvidia-smi -L", words[0] if words else f"exit code {done.code}", "dmesg | grep NVRM")
            return None
        try:
            return parse_gpus(done.out, self.host)
        except ParseError as error:
            self.miss("nvidia-smi -L", str(error), "report the quoted text; nothing was guessed from it")
            return None

    def _driver(self, answers: bool) -> dict[str, Any]:
        banner = self.tool("nvidia-smi") if answers else None
        installed = self.tool("modinfo", "-F", "version", "nvidia")
        licence = self.tool("modinfo", "-F", "license", "nvidia")
        return {
            "loaded": self.sysfs.read("module/nvidia/version"),
            "installed": installed.out.strip() if installed is not None and installed.code == 0 else "",
            "license": licence.out.strip() if licence is not None and licence.code == 0 else "",
            "cuda": parse_cuda(banner.out) if banner is not None and banner.code == 0 else "",
        }

    def _fabric(self) -> dict[str, Any]:
        version = self.tool("nv-fabricmanager", "--version")
        unit = self.tool("systemctl", "show", "-p", "LoadState,ActiveState,UnitFileState", UNIT)
        told = parse_unit(unit.out) if unit is not None and unit.code == 0 else {}
        return {
            "installed": version is not None or told.get("LoadState") == "loaded",
            "version": parse_fabric_version(version.out + version.err) if version is not None else "",
            "state": told.get("ActiveState", ""),
            "enabled": told.get("UnitFileState", ""),
        }

    def read(self) -> dict[str, Any]:
        pci = [
            {"address": function.address, "kind": kind_of(function.device_class, function.vendor)}
            for function in self.sysfs.bus()
        ]
        gpus = self._gpus()
        return {
            "gpus": gpus,
            "pci": [device for device in pci if device["kind"]],
            "driver": self._driver(gpus is not None),
            "fabric_manager": self._fabric(),
            "usable": bool(gpus) and self._control,
            "simulated": self.sysfs.simulated,
            "unreadable": list(self._unreadable),
        }
