"""The two files that are a VM's hardware: nic.json (flash of the card) and pci.json (the bus since power-on)."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from typing import Any

from . import ats, config, files

# The VM's disk image has MLNX_OFED of the guide on it; the tools of the node answer accordingly.
FACTORY_GUEST = {"ofed": "5.2-2.2.4.0"}


@contextlib.contextmanager
def locked(paths: config.Paths, vm: str) -> Iterator[None]:
    """The lock that the tools inside the node take as well (flock on the directory) before they write nic.json."""
    descriptor = os.open(paths.hw / vm, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def make_factory(paths: config.Paths, vm: str, *, replace: bool) -> bool:
    """Cards as delivered, a bus that was never powered; True if something was written."""
    directory = paths.hw / vm
    directory.mkdir(parents=True, exist_ok=True)
    if paths.nic(vm).exists() and not replace:
        return False
    with locked(paths, vm):
        files.write_json(paths.nic(vm), {"cards": ats.factory_cards(), "faults": {}})
        files.write_json(directory / "guest.json", FACTORY_GUEST)
        paths.pci(vm).unlink(missing_ok=True)
    return True


def read_nic(paths: config.Paths, vm: str) -> dict[str, Any]:
    content: dict[str, Any] = files.read_json(paths.nic(vm), {"cards": [], "faults": {}})
    return content


def read_pci(paths: config.Paths, vm: str) -> dict[str, Any]:
    content: dict[str, Any] = files.read_json(paths.pci(vm), {"functions": {}})
    return content


def set_cards(paths: config.Paths, vm: str, cards: list[ats.Card]) -> None:
    with locked(paths, vm):
        files.write_json(paths.nic(vm), {**read_nic(paths, vm), "cards": cards})


def set_tool_faults(paths: config.Paths, vm: str, faults: dict[str, Any]) -> None:
    with locked(paths, vm):
        files.write_json(paths.nic(vm), {**read_nic(paths, vm), "faults": faults})


def host_rebooted(paths: config.Paths, vm: str) -> list[tuple[str, str, Any, Any]]:
    """Next becomes current; returns (pci, parameter, before, after) of what changed."""
    with locked(paths, vm):
        nic = read_nic(paths, vm)
        changed = ats.waiting_parameters(nic["cards"])
        files.write_json(paths.nic(vm), {**nic, "cards": ats.after_host_reboot(nic["cards"])})
    return changed


def power_on(paths: config.Paths, vm: str, *, ats_runtime: bool, extra_config: dict[str, Any]) -> None:
    """The bus that the guest will see until the next power-on."""
    cards = read_nic(paths, vm)["cards"]
    functions = ats.pci_functions(cards, ats_runtime=ats_runtime, extra_config=extra_config)
    with locked(paths, vm):
        files.write_json(paths.pci(vm), {"functions": functions})
