"""Observes the NVIDIA GPUs of a node, their driver and Fabric Manager. Changes nothing, loads nothing.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import os
import stat
import time
from typing import Any, Callable

from .gpu_health import from_boot_on, parse_nvlinks, parse_state, parse_xids
from .gpu_state import kind_of, parse_cuda, parse_fabric_version, parse_gpus
from .interface_state import parse_pairs
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

    def _smi(self, parse: Callable[[str, str], list[dict[str, Any]]], *words: str) -> list[dict[str, Any]] | None:
        """None: not known; an empty list: there is none."""
        done = self.tool("nvidia-smi", *words)
        if done is None:
            return None
        what = " ".join(("nvidia-smi", *words))
        if done.code == 0 or "(UUID: " in done.out:  # one GPU that is lost fails the list of the others
            return self.parsed(what, parse, done.out, self.host)
        said = (done.err.strip() or done.out.strip()).splitlines()
        self.miss(what, said[0] if said else f"exit code {done.code}", "dmesg | grep NVRM")
        return None

    def _driver(self, answers: bool) -> dict[str, Any]:
        banner = self.tool("nvidia-smi") if answers else None
        return {
            "loaded": self.sysfs.read("module/nvidia/version"),
            "installed": self.output("modinfo", "-F", "version", "nvidia").strip(),
            "license": self.output("modinfo", "-F", "license", "nvidia").strip(),
            "cuda": parse_cuda(banner.out if banner else ""),  # a corrupted infoROM fails what it printed whole
        }

    def _fabric(self) -> dict[str, Any]:
        version = self.tool("nv-fabricmanager", "--version")
        unit = parse_pairs(self.output("systemctl", "show", "-p", "LoadState,ActiveState,UnitFileState", UNIT))
        return {
            "installed": version is not None or unit.get("LoadState") == "loaded",
            "version": parse_fabric_version(version.out + version.err) if version is not None else "",
            "state": unit.get("ActiveState", ""),
            "enabled": unit.get("UnitFileState", ""),
        }

    def _state(self) -> list[dict[str, Any]] | None:
        """Of each GPU; None: not known."""
        found = self._smi(parse_state, "-q", "-x")
        if found is None:
            return None
        links = parse_nvlinks(self.output("nvidia-smi", "nvlink", "-s"))
        for gpu in found:
            of_gpu = links.get(gpu["uuid"], (None, None, None))
            gpu["nvlinks_active"], gpu["nvlinks"], gpu["nvlinks_gb_s"] = of_gpu
        return found

    def _xids(self) -> dict[str, Any]:
        """From the kernel's ring, or from the journal where the ring has lost the boot; neither: what there is."""
        texts = []
        for words in (("dmesg",), ("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-monotonic")):
            text = self.output(*words)
            if text.strip():
                texts.append(text)
                if from_boot_on(text):
                    return {"xids": parse_xids(text, self._booted), "since_boot": True}
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
        gpus = self._smi(parse_gpus, "-L")
        on_bus = any(device["kind"] == "gpu" for device in pci)
        return {
            "gpus": gpus,
            "pci": [device for device in pci if device["kind"]],
            "driver": self._driver(gpus is not None),
            "fabric_manager": self._fabric(),
            "usable": bool(gpus) and self._control,
            **(self.health(bool(gpus) or on_bus) if health else {}),
            "simulated": self.sysfs.simulated,
            "unreadable": self.unreadable,
        }
