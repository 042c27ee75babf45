# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observes the NVIDIA GPUs of a node, their driver and Fabric Manager. Changes nothing, loads nothing.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import os
import stat
import time
from typing import Any

from .._layer import ParseError
from .gpu_health import from_boot_on, parse_nvlinks, parse_state, parse_xids
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

    def __init__(
        self,
        host: str,
        *,
        timeout: float = 30.0,
        control: bool | None = None,
        booted: float | None = None,
        **outside: Any,
    ) -> None:
        super().__init__(host, timeout=timeout, **outside)
        # When the clock of the kernel log began.
        self._booted = time.time() - time.monotonic() if booted is None else booted
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

    def _state(self) -> list[dict[str, Any]] | None:
        """Of each GPU; None: nobody could tell."""
        done = self.tool("nvidia-smi", "-q", "-x")
        if done is None or done.code != 0:
            words = (done.err.strip() or done.out.strip()).splitlines() if done is not None else []
            if done is not None:
                self.miss("nvidia-smi -q -x", words[0] if words else f"exit code {done.code}", "dmesg | grep NVRM")
            return None
        try:
            found = parse_state(done.out, self.host)
        except ParseError as error:
            self.miss("nvidia-smi -q -x", str(error), "report the quoted text; nothing was guessed from it")
            return None
        links = self.tool("nvidia-smi", "nvlink", "-s")
        told = parse_nvlinks(links.out) if links is not None and links.code == 0 else {}
        for gpu in found:
            gpu["nvlinks_active"], gpu["nvlinks"] = told.get(gpu["uuid"], (None, None))
        return found

    def _xids(self) -> dict[str, Any]:
        """From the kernel's ring, or from the journal where the ring has lost the boot; neither: what there is."""
        texts = []
        for words in (("dmesg",), ("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-monotonic")):
            done = self.tool(*words)
            if done is not None and done.code == 0 and done.out.strip():
                texts.append(done.out)
                if from_boot_on(done.out):
                    return {"xids": parse_xids(done.out, self._booted), "since_boot": True}
        if not texts:
            self.miss("kernel log", "neither dmesg nor journalctl -k showed it", "run with become: true")
            return {"xids": None, "since_boot": False}
        longest = max(texts, key=len)
        self.miss("kernel log", "it no longer reaches back to the boot", "keep the journal (Storage=persistent)")
        return {"xids": parse_xids(longest, self._booted), "since_boot": False}

    def health(self, gpus: bool) -> dict[str, Any]:
        """Read-only, and only where a GPU is on the bus or shown."""
        if not gpus:
            return {"state": [], "xids": [], "since_boot": False}
        return {"state": self._state(), **self._xids()}

    def read(self, *, health: bool = False) -> dict[str, Any]:
        pci = [
            {"address": function.address, "kind": kind_of(function.device_class, function.vendor)}
            for function in self.sysfs.bus()
        ]
        gpus = self._gpus()
        on_bus = any(device["kind"] == "gpu" for device in pci)
        return {
            "gpus": gpus,
            "pci": [device for device in pci if device["kind"]],
            "driver": self._driver(gpus is not None),
            "fabric_manager": self._fabric(),
            "usable": bool(gpus) and self._control,
            **(self.health(bool(gpus) or on_bus) if health else {}),
            "simulated": self.sysfs.simulated,
            "unreadable": list(self._unreadable),
        }
