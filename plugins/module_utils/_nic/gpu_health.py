"""The state of GPUs as ``nvidia-smi -q -x``, ``nvidia-smi nvlink -s`` and the kernel log tell it: the parsers. Pure.

What a GPU does not have ("N/A", an element that its driver does not know) is None, and never 0 or "off".

Sources: nvidia-smi(1) and its schemas nvsmi_device_v11 to v13 (drivers 470 to 590; the text of an element changed its
name between them, the XML changes less than the columns of --query-gpu, which refuses a whole query because of one
name), NVIDIA's "XID Errors".

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import re
import time
from typing import Any, Iterator
from xml.etree import ElementTree

from .._layer import ParseError

# What slows a GPU down because something is wrong. A power cap is usual under load, idle clocks are usual without.
SLOWDOWNS = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
_REASON = re.compile(r"^clocks_(?:event|throttle)_reason_(\w+)$")
_GPU_LINE = re.compile(r"^GPU \d+: .*\(UUID: (\S+)\)")
_LINK_LINE = re.compile(r"^\s+Link \d+: (?:(\d+(?:\.\d+)?) GB/s|\S+)")
# Of NVLink 5 the driver says how bad it is: one that is not fatal stops no GPU (NVIDIA's catalogue of Xids).
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)(?: GPU-[^)]*)?\): (\d+)\b(?!, \w+ +Nonfatal\b)")
# Printed once per load, by the open module in other words than by the other one.
_LOADED = re.compile(r"NVRM: loading NVIDIA UNIX ")
_SINCE_BOOT = re.compile(r"^\[ *(\d+\.\d+)\]")
_BOOT = re.compile(r"^\[ *0\.0+\]", re.MULTILINE)
_ADDRESS = re.compile(r"^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?$")


def bus_address(text: str) -> str:
    """One spelling for all: 00000000:3B:00.0 of nvidia-smi and 0000:3b:00 of the kernel log are 0000:3b:00.0."""
    found = _ADDRESS.match(text.strip().lower())
    if not found:
        return text.strip().lower()
    domain, bus, device, function = found.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function or '0'}"


def parse_state(text: str, host: str) -> list[dict[str, Any]]:
    """``nvidia-smi -q -x``: one entry per GPU, in its order."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ParseError(f"no XML ({error})", host=host, thing="nvidia-smi -q -x", raw=text[:2000]) from error
    if root.tag != "nvidia_smi_log":
        raise ParseError("no log of nvidia-smi", host=host, thing="nvidia-smi -q -x", raw=text[:2000])
    return [_gpu(index, gpu) for index, gpu in enumerate(root.findall("gpu"))]


def _gpu(index: int, gpu: ElementTree.Element) -> dict[str, Any]:
    link = "pci/pci_gpu_link_info"
    return {
        "index": index,
        "uuid": _text(gpu, "uuid"),
        "name": _text(gpu, "product_name"),
        "bus": bus_address(gpu.get("id") or _text(gpu, "pci/pci_bus_id")),
        "persistence": _truth(gpu, "persistence_mode"),
        "performance_state": _text(gpu, "performance_state", "pstate"),
        "ecc": _truth(gpu, "ecc_mode/current_ecc"),
        "ecc_corrected": _errors(gpu, "_correctable", "single_bit"),
        "ecc_uncorrected": _errors(gpu, "uncorrectable", "double_bit"),
        "remap_failed": _truth(gpu, "remapped_rows/remapped_row_failure"),
        "remap_pending": _any(
            _truth(gpu, "remapped_rows/remapped_row_pending"),
            _truth(gpu, "retired_pages/pending_retirement", "retired_pages/pending_blacklist"),
        ),
        "pcie_width": _number(gpu, f"{link}/link_widths/current_link_width"),
        "pcie_width_most": _number(gpu, f"{link}/link_widths/max_link_width"),
        "pcie_gen": _number(gpu, f"{link}/pcie_gen/current_link_gen"),
        "pcie_gen_most": _number(gpu, f"{link}/pcie_gen/max_link_gen"),
        "slowed": sorted(reason for reason in _reasons(gpu) if reason in SLOWDOWNS),
        "fabric": _text(gpu, "fabric/state"),
        "fabric_status": _text(gpu, "fabric/status"),
        "recovery": _recovery(gpu),
    }


def _text(gpu: ElementTree.Element, *paths: str) -> str:
    """The first that is there; '' for what the GPU does not have."""
    for path in paths:
        found = gpu.find(path)
        text = ((found.text if found is not None else "") or "").strip()
        if text and text != "N/A" and not text.startswith(("[", "Requested functionality")):
            return text
    return ""


def _truth(gpu: ElementTree.Element, *paths: str) -> bool | None:
    return {"Enabled": True, "Yes": True, "Disabled": False, "No": False}.get(_text(gpu, *paths))


def _any(*values: bool | None) -> bool | None:
    known = [value for value in values if value is not None]
    return any(known) if known else None


def _number(gpu: ElementTree.Element, path: str) -> int | None:
    found = re.match(r"\d+", _text(gpu, path))
    return int(found.group()) if found else None


def _errors(gpu: ElementTree.Element, ending: str, old: str) -> int | None:
    """Since the driver was loaded. Older GPUs have a total of their own; the parts of newer ones are added up."""
    total = _number(gpu, f"ecc_errors/volatile/{old}/total")
    if total is not None:
        return total
    volatile = gpu.find("ecc_errors/volatile")
    parts = [part for part in (volatile if volatile is not None else ()) if ending in part.tag]
    counts = [int(part.text or "") for part in parts if (part.text or "").strip().isdigit()]
    return sum(counts) if counts else None


def _reasons(gpu: ElementTree.Element) -> Iterator[str]:
    for folder in ("clocks_event_reasons", "clocks_throttle_reasons"):
        for reason in gpu.findall(f"{folder}/*"):
            named = _REASON.match(reason.tag)
            if named and (reason.text or "").strip() == "Active":
                yield named.group(1)


def _recovery(gpu: ElementTree.Element) -> str:
    """What the driver itself asks for, '' for nothing: newer drivers name it, older ones say whether a reset is due."""
    action = _text(gpu, "gpu_recovery_action")
    if action:
        return "" if action == "None" else action
    return "GPU Reset" if _truth(gpu, "gpu_reset_status/reset_required") else ""


def parse_nvlinks(text: str) -> dict[str, tuple[int, int, float | None]]:
    """``nvidia-smi nvlink -s``: UUID to links that are active, links in all, and GB/s of all of them per direction
    (None: none is active); a GPU without NVLink is not there. One whose links are all inactive does not list them."""
    found: dict[str, tuple[int, int, float | None]] = {}
    uuid = ""
    for line in text.splitlines():
        gpu, link = _GPU_LINE.match(line), _LINK_LINE.match(line)
        if gpu:
            uuid = gpu.group(1)
        elif uuid and "all links are inActive" in line:
            found[uuid] = (0, 0, 0.0)
        elif link and uuid:
            active, links, rate = found.get(uuid, (0, 0, 0.0))
            found[uuid] = active + bool(link.group(1)), links + 1, max(rate or 0.0, float(link.group(1) or 0))
    return {uuid: (some, all_, round(all_ * (rate or 0.0), 3) or None) for uuid, (some, all_, rate) in found.items()}


def parse_xids(text: str, booted: float) -> list[dict[str, Any]]:
    """The kernel log: each Xid of each GPU once, with how often it came and when last; those before the driver was
    loaded for the last time by themselves. ``booted``: when the log's clock began, in seconds since 1970."""
    counts: dict[tuple[str, int], dict[str, Any]] = {}
    settled: list[dict[str, Any]] = []
    for line in text.splitlines():
        if _LOADED.search(line):
            settled += [dict(entry, earlier=True) for entry in counts.values()]
            counts = {}
        for found in _XID.finditer(line):
            key = bus_address(found.group(1)), int(found.group(2))
            entry = counts.setdefault(key, {"bus": key[0], "xid": key[1], "count": 0, "earlier": False, "last": ""})
            entry["count"] += 1
            moment = _SINCE_BOOT.match(line)
            if moment:
                entry["last"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(booted + float(moment.group(1))))
    return settled + list(counts.values())


def from_boot_on(text: str) -> bool:
    """Whether a kernel log (``dmesg``, ``journalctl -o short-monotonic``) begins at the boot; a full ring loses it."""
    return _BOOT.search(text) is not None
